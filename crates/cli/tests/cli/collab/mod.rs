//! The `collaboration/` tree from outside: JSON-RPC, the command line of agents.md, and the files themselves.

mod again;
mod command_line;
mod edits;
mod event_files;
mod files;
mod originals;
mod races;
mod rpc;
mod watching;

use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running `comity rpc`.
pub struct Rpc {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Rpc {
    /// Starts one for a root.
    pub fn start(root: &Path, agent: &str) -> Rpc {
        Rpc::with(root, agent, &[])
    }

    pub fn with(root: &Path, agent: &str, vars: &[(&str, &str)]) -> Rpc {
        let named: Vec<(&str, &str)> =
            [("COMITY_AGENT", agent)].iter().chain(vars).copied().collect();
        Rpc::unnamed(root, &named)
    }

    /// Starts one that nobody gave a name.
    pub fn unnamed(root: &Path, vars: &[(&str, &str)]) -> Rpc {
        let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
        command.arg("rpc").env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", root).env("USER", "tester");
        command.env("COLLAB_ROOT", root).current_dir("/").envs(vars.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Rpc { child, input, output, next: 0 }
    }

    /// Sends a line and reads the line that answers it.
    pub fn raw(&mut self, line: &[u8]) -> String {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer
    }

    /// Calls a method; the answer is the whole object.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": format!("collab.{method}"), "params": params});
        let answer: Value =
            serde_json::from_str(&self.raw(request.to_string().as_bytes())).unwrap();
        assert_eq!(answer["id"], self.next, "{answer}");
        answer
    }

    /// Calls a method that has to succeed.
    pub fn ok(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.call(method, params);
        assert!(answer.get("error").is_none(), "{method} {params}: {answer}");
        answer["result"].clone()
    }

    /// Calls a method that has to fail; returns what it says.
    pub fn fails(&mut self, method: &str, params: &Value) -> String {
        let answer = self.call(method, params);
        assert_eq!(answer["error"]["code"], -32603, "{method} {params}: {answer}");
        answer["error"]["message"].as_str().unwrap().to_owned()
    }

    /// Ends it by a signal, with its input open.
    pub fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    /// Ends it by the end of its input; returns what it said beside its answers.
    pub fn end(mut self) -> String {
        drop(self.input.take());
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.child.stderr.take().unwrap(), &mut said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{said}");
        said
    }
}

/// A root without git and without anything in it.
pub fn empty_root() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::without_git();
    let root = sandbox.root.clone();
    (sandbox, root)
}

pub fn state_file(root: &Path, kind: &str) -> PathBuf {
    root.join("collaboration/state").join(format!("{kind}.json"))
}

/// Reads a state file, which has to be JSON.
pub fn state(root: &Path, kind: &str) -> Value {
    let text = std::fs::read_to_string(state_file(root, kind)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{kind}: {error}: {text}"))
}

/// Returns the titles in `tasks.json`, in its order.
pub fn titles(root: &Path) -> Vec<Value> {
    let tasks = state(root, "tasks")["tasks"].clone();
    tasks.as_array().unwrap().iter().map(|task| task["title"].clone()).collect()
}

/// Changes a state file as another tool does: read, change, write beside, replace.
pub fn edit(root: &Path, kind: &str, change: impl FnOnce(&mut Value)) {
    let mut value = state(root, kind);
    change(&mut value);
    write_state(root, kind, &value);
}

pub fn write_state(root: &Path, kind: &str, value: &Value) {
    let path = state_file(root, kind);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let beside = path.with_extension("edit");
    std::fs::write(&beside, serde_json::to_string_pretty(value).unwrap() + "\n").unwrap();
    std::fs::rename(beside, path).unwrap();
}

pub fn entry<'v>(document: &'v Value, kind: &str, id: &str) -> &'v Value {
    let list = document[kind].as_array().unwrap();
    list.iter().find(|entry| entry["id"] == id).unwrap_or_else(|| panic!("no {id} in {document}"))
}

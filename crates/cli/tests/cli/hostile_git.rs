//! A repository whose settings and attributes name programs: comity asks git and runs none of them.

use crate::collab::Rpc;
use crate::runs::{DONE, wait_for, with_agent};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Settings that name a program.
const SETTINGS: [&str; 30] = [
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.askPass",
    "core.sshCommand",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "alias.status",
    "alias.frob",
    "credential.helper",
    "diff.external",
    "diff.evil.command",
    "diff.evil.textconv",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "merge.evil.driver",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "interactive.diffFilter",
    "pager.log",
    "pager.diff",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "sequence.editor",
    "trailer.evil.command",
    "uploadpack.packObjectsHook",
    "sendemail.smtpServer",
    "web.browser",
];

/// Settings that make git use one of them.
const SWITCHES: [(&str, &str); 11] = [
    ("log.showSignature", "true"),
    ("diff.submodule", "diff"),
    ("status.submoduleSummary", "true"),
    ("submodule.recurse", "true"),
    ("filter.evil.required", "true"),
    ("commit.gpgSign", "true"),
    ("core.untrackedCache", "true"),
    ("format.pretty", "raw"),
    ("protocol.allow", "always"),
    ("protocol.ext.allow", "always"),
    ("protocol.file.allow", "always"),
];

const HOOKS: [&str; 10] = [
    "reference-transaction",
    "post-index-change",
    "pre-commit",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "pre-auto-gc",
    "pre-push",
    "fsmonitor-watchman",
    "update",
];

const ATTRIBUTES: &str = "* filter=evil diff=evil merge=evil\n";

/// A repository with a submodule and a signed commit, and programs that say that they ran.
struct Hostile {
    sandbox: Sandbox,
    /// The settings before they turned hostile, of the repository and of its submodule.
    before: Vec<(PathBuf, String)>,
}

impl Hostile {
    fn new() -> Hostile {
        let sandbox = Sandbox::new();
        let root = sandbox.root.clone();
        let sub = root.join("sub");
        std::fs::create_dir(&sub).unwrap();
        sandbox.git(&sub, &["init", "--quiet", "--initial-branch=main"]);
        std::fs::write(sub.join("s"), "1").unwrap();
        sandbox.commit(&sub, "Sub");
        sandbox.write(
            ".gitmodules",
            "[submodule \"sub\"]\n path = sub\n url = ./sub\n ignore = none\n",
        );
        sandbox.write(".gitattributes", ATTRIBUTES);
        sandbox.write("kept.rs", "1\n");
        sandbox.commit(&root, "With a submodule");
        for id in ["T1", "T2", "T3"] {
            let more: &[&str] = if id == "T2" { &["--no-git-commit"] } else { &["--no-new-deps"] };
            sandbox
                .json(&[&["task", "create", "Work", "--id", id, "--gate", "tests"], more].concat());
        }
        let configs = [root.join(".git/config"), sub.join(".git/config")];
        let before = configs.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()));
        Hostile { sandbox, before: before.to_vec() }
    }

    fn ran_file(&self) -> PathBuf {
        self.sandbox.outside().join("ran")
    }

    /// What ran since the last question.
    fn ran(&self) -> String {
        let ran = std::fs::read_to_string(self.ran_file()).unwrap_or_default();
        let _ = std::fs::remove_file(self.ran_file());
        ran
    }

    /// Writes a program that says its name.
    fn canary(&self, dir: &str, name: &str) -> String {
        let path = self.sandbox.outside().join(dir).join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = format!("#!/bin/sh\necho {dir}/{name} >> {}\n", self.ran_file().display());
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    /// Makes the settings hostile.
    fn plant(&self) {
        for (place, (config, before)) in self.before.iter().enumerate() {
            let dir = config.parent().unwrap();
            let mut text = before.clone();
            let mut set = |key: &str, value: &str| {
                let (section, name) = key.rsplit_once('.').unwrap();
                let (section, sub) = section.split_once('.').unwrap_or((section, ""));
                let head = if sub.is_empty() {
                    section.to_owned()
                } else {
                    format!("{section} \"{sub}\"")
                };
                text.push_str(&format!("[{head}]\n\t{name} = \"{value}\"\n"));
            };
            for key in SETTINGS {
                let program = self.canary(&format!("setting{place}"), key);
                let bang = if key.starts_with("alias") { "!" } else { "" };
                set(key, &format!("{bang}{program}"));
            }
            SWITCHES.iter().for_each(|(key, value)| set(key, value));
            for hook in HOOKS {
                self.canary(&format!("hooks{place}"), hook);
                std::fs::copy(
                    self.sandbox.outside().join(format!("hooks{place}")).join(hook),
                    dir.join("hooks").join(hook),
                )
                .unwrap();
            }
            let hooks = self.sandbox.outside().join(format!("hooks{place}"));
            set("core.hooksPath", &hooks.display().to_string());
            std::fs::write(config, text).unwrap();
            std::fs::create_dir_all(dir.join("info")).unwrap();
            std::fs::write(dir.join("info/attributes"), ATTRIBUTES).unwrap();
            std::fs::write(dir.parent().unwrap().join(".gitattributes"), ATTRIBUTES).unwrap();
        }
    }

    /// Works with settings that are as they were.
    fn meanwhile<T>(&self, work: impl FnOnce(&Sandbox) -> T) -> T {
        for (config, before) in &self.before {
            std::fs::write(config, before).unwrap();
            let dir = config.parent().unwrap();
            let _ = std::fs::remove_file(dir.join("info/attributes"));
            HOOKS.iter().for_each(|hook| {
                let _ = std::fs::remove_file(dir.join("hooks").join(hook));
            });
        }
        let done = work(&self.sandbox);
        self.ran();
        self.plant();
        done
    }

    fn by(&self, agent: &str, args: &[&str]) -> Value {
        let answer = self.sandbox.comity().by(agent).args(args).json();
        assert_eq!(self.ran(), "", "{args:?}");
        answer
    }
}

/// Puts a signature on the commit that is checked out, as nobody has to have made it.
fn sign(sandbox: &Sandbox) {
    let root = &sandbox.root;
    let text = sandbox.git(root, &["cat-file", "commit", "HEAD"]);
    let (head, message) = text.split_once("\n\n").unwrap();
    let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----";
    let file = sandbox.outside().join("signed");
    std::fs::write(&file, format!("{head}\n{signature}\n\n{message}\n")).unwrap();
    let name = file.display().to_string();
    let signed = sandbox.git(root, &["hash-object", "-t", "commit", "-w", &name]);
    sandbox.git(root, &["reset", "--quiet", "--soft", &signed]);
}

#[test]
fn no_program_that_a_repository_names_is_run() {
    let hostile = Hostile::new();
    let root = hostile.sandbox.root.clone();
    hostile.plant();
    for args in [&["status"][..], &["log", "-p"], &["update-ref", "refs/x", "HEAD"]] {
        let mut git = std::process::Command::new("git");
        git.current_dir(&root).env("HOME", hostile.sandbox.outside()).args(args).output().unwrap();
        assert_ne!(hostile.ran(), "", "the canaries sing for git {args:?}");
    }
    hostile.by("ada", &["task", "start", "T1"]);
    hostile.meanwhile(|sandbox| {
        sandbox.git(&root, &["switch", "--quiet", "-c", "work"]);
        sandbox.write("kept.rs", "2\n");
        sandbox.write("Cargo.toml", "[package]\nname = \"x\"\n");
        std::fs::write(root.join("sub/s"), "2").unwrap();
        sandbox.commit(&root.join("sub"), "Sub goes on");
        sandbox.commit(&root, "Work");
        sign(sandbox);
        sandbox.write("kept.rs", "3\n");
        std::fs::write(root.join("sub/s"), "3").unwrap();
    });
    hostile.by("ada", &["guard", "check", "T1"]);
    let refs = "refs/heads/work 1111111111111111111111111111111111111111 refs/heads/work 0000000000000000000000000000000000000000\n";
    hostile.sandbox.comity().by("ada").args(&["guard", "push", "origin", "url"]).stdin(refs).json();
    hostile.by("ada", &["gate", "record", "T1", "tests", "pass", "--new"]);
    let run = ["with", "--task", "T1", "--gate", "tests", "--", "true"];
    assert_eq!(hostile.sandbox.comity().by("ada").args(&run).done().exit, 0);
    assert_eq!(hostile.ran(), "", "{run:?}");
    hostile.by("ada", &["task", "submit", "T1"]);
    hostile.by("human:ann", &["task", "approve", "T1"]);
    hostile.by("human:ann", &["task", "merge", "T1"]);
    hostile.meanwhile(|sandbox| {
        sandbox.git(&root, &["stash", "--quiet"]);
        sandbox.git(&root, &["switch", "--quiet", "main"]);
        sandbox.write("other.rs", "1\n");
        sandbox.git(&root, &["add", "other.rs"]);
        sandbox.git(&root, &["commit", "--quiet", "-m", "Other"]);
        sandbox.git(&root, &["merge", "--quiet", "--squash", "work"]);
        sandbox.git(&root, &["commit", "--quiet", "-m", "Squashed"]);
    });
    hostile.by("human:ann", &["task", "done", "T1"]);
    hostile.by("ada", &["task", "start", "T2"]);
    hostile.sandbox.write("kept.rs", "4\n");
    hostile.sandbox.write("new.rs", "4\n");
    hostile.by("ada", &["gate", "record", "T2", "tests", "pass", "--new"]);
    let task = hostile.by("ada", &["task", "submit", "T2"])["task"].clone();
    let commit = task["commit"].as_str().unwrap();
    let kept =
        hostile.meanwhile(|sandbox| sandbox.git(&root, &["show", &format!("{commit}:kept.rs")]));
    assert_eq!(kept, "4", "the snapshot has the file as it lies there");
    let mut rpc = Rpc::start(&root, "ada");
    rpc.ok("transition_task", &json!({"id": "T3", "new_status": "in_progress"}));
    hostile.meanwhile(|sandbox| sandbox.commit(&root, "Work on T3"));
    rpc.ok("transition_task", &json!({"id": "T3", "new_status": "review"}));
    assert_eq!(hostile.ran(), "");
    rpc.end();
    for args in [&["status"][..], &["init", "--yes"], &["doctor"], &["whoami"], &["task", "list"]] {
        hostile.by("human:ann", args);
    }
    hostile.by("human:ann", &["export", "collab", "collaboration"]);
    hostile.by("human:ann", &["sync", "collab"]);
}

#[test]
fn an_object_that_a_partial_clone_lacks_is_not_fetched() {
    let hostile = Hostile::new();
    let root = hostile.sandbox.root.clone();
    hostile.by("ada", &["task", "start", "T1"]);
    let blob = hostile.meanwhile(|sandbox| {
        sandbox.git(&root, &["switch", "--quiet", "-c", "work"]);
        sandbox.git(&root, &["rm", "--quiet", "kept.rs"]);
        sandbox.write("moved.rs", "1\n2\n");
        sandbox.commit(&root, "Work");
        sandbox.git(&root, &["rev-parse", "main:kept.rs"])
    });
    let object = root.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    std::fs::remove_file(object).unwrap();
    let config = root.join(".git/config");
    let url = hostile.canary("remote", "ext");
    let text = std::fs::read_to_string(&config).unwrap()
        + &format!(
            "[remote \"origin\"]\n\turl = \"ext::{url}\"\n\tpromisor = true\n\
             [core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n"
        );
    std::fs::write(config, text).unwrap();
    let (error, exit) = hostile
        .sandbox
        .comity()
        .by("ada")
        .args(&["--repo", "tool", "task", "submit", "T1"])
        .refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("unobserved"), 3), "{error}");
    assert_eq!(hostile.ran(), "");
}

#[test]
fn neither_a_clients_hook_nor_a_landing_runs_a_program_of_the_repository() {
    let hostile = Hostile::new();
    let root = hostile.sandbox.root.clone();
    hostile.plant();
    let by = "claude-code:11111111";
    hostile.by(by, &["task", "start", "T1"]);
    hostile.sandbox.comity().by("bob").args(&["lease", "acquire", "kept.rs", "--ttl", "1s"]).json();
    assert_eq!(hostile.ran(), "");
    let hook = |event: &str, tool: &str, input: &Value| {
        let text = json!({"session_id": "s-11111111", "cwd": root, "hook_event_name": event,
            "tool_name": tool, "tool_input": input});
        let call = hostile.sandbox.comity().env("CLAUDECODE", "1");
        let done =
            call.args(&["guard", "hook", "--client", "claude"]).stdin(&text.to_string()).done();
        assert_eq!((done.exit, hostile.ran().as_str()), (0, ""), "{event}: {}", done.stderr);
        done.stdout
    };
    let shell = json!({"command": "make"});
    hook("PreToolUse", "Bash", &shell);
    // Of the same length, so that git has to read the file; and one inside of the submodule.
    hostile.sandbox.write("kept.rs", "2\n");
    std::fs::write(root.join("sub/s"), "2").unwrap();
    let told = hook("PostToolUse", "Bash", &shell);
    assert!(told.contains("kept.rs (bob)"), "{told}");
    hook("PreToolUse", "Edit", &json!({"file_path": "new.rs"}));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let lines = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n{last}\n");
    hostile.meanwhile(|sandbox| {
        sandbox.git(&root, &["checkout", "--quiet", "kept.rs"]);
        sandbox.write("both.rs", &lines("1", "8"));
        sandbox.git(&root, &["add", "both.rs"]);
        sandbox.git(&root, &["commit", "--quiet", "-m", "Both"]);
        sandbox.git(&root, &["switch", "--quiet", "-c", "work"]);
        sandbox.write("both.rs", &lines("one", "8"));
        sandbox.git(&root, &["add", "both.rs"]);
    });
    hostile.by(by, &["guard", "commit"]);
    // Both sides change the file, so that a merge driver would be asked.
    hostile.meanwhile(|sandbox| {
        sandbox.git(&root, &["commit", "--quiet", "-m", "Work"]);
        sandbox.git(&root, &["switch", "--quiet", "main"]);
        sandbox.write("both.rs", &lines("1", "eight"));
        sandbox.git(&root, &["commit", "--quiet", "-m", "Other", "both.rs"]);
    });
    hostile.by(by, &["gate", "record", "T1", "tests", "pass", "--commit", "work"]);
    hostile.by(by, &["task", "submit", "T1", "--branch", "work"]);
    hostile.by("human:ann", &["task", "approve", "T1"]);
    hostile.by("human:ann", &["task", "land", "T1"]);
    let landed = std::fs::read_to_string(root.join("both.rs")).unwrap();
    assert_eq!(landed, lines("one", "eight"), "the work tree was brought along");
}

#[test]
fn carrying_a_run_to_other_hosts_runs_no_program_of_either_repository() {
    let work = "echo 1 > date; git add date; git commit -q -m 'feat(T1): dates'";
    let sandbox = with_agent(&format!("{work}\n{DONE}"), "");
    let remote = sandbox.outside().join("remote.git").display().to_string();
    sandbox.git(&sandbox.root, &["init", "--quiet", "--bare", &remote]);
    let ran = sandbox.outside().join("ran");
    let evil = sandbox.outside().join("evil.sh");
    std::fs::write(&evil, format!("#!/bin/sh\necho $0 $* >> {}\n", ran.display())).unwrap();
    std::fs::set_permissions(&evil, PermissionsExt::from_mode(0o755)).unwrap();
    let program = evil.display().to_string();
    for name in ["core.sshCommand", "remote.origin.receivepack", "remote.origin.uploadpack"] {
        sandbox.git(&sandbox.root, &["config", name, &program]);
    }
    let remote_dir = PathBuf::from(&remote);
    for dir in [sandbox.root.join(".git/hooks"), remote_dir.join("hooks")] {
        for hook in ["pre-push", "pre-receive", "update", "post-receive", "reference-transaction"] {
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::copy(&evil, dir.join(hook)).unwrap();
        }
    }
    let url = |url: &str| sandbox.git(&sandbox.root, &["config", "remote.origin.url", url]);
    let run = ["run", "developer", "--task", "T1", "--label", "os=linux", "--driver", "script"];
    let asks = || sandbox.comity().by("human:ann").args(&run).done();
    url("ssh://h.invalid/x");
    let said = asks();
    assert_ne!(said.exit, 0, "{}", said.stdout);
    assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap_or_default());
    // The refused run is none, and the next one goes where the remote is.
    url(&remote);
    assert_eq!(asks().exit, 0);
    let heads = sandbox.git(&remote_dir, &["for-each-ref", "--format=%(refname)"]);
    assert!(heads.contains("/base"), "{heads}");
    let worker = ["worker", "--capacity", "1", "--label", "os=linux"];
    let mut at_work = sandbox.comity().by("human:ann").args(&worker).spawn();
    wait_for("a worker has done it", || {
        sandbox.json(&["runs"]).to_string().contains("\"state\":\"succeeded\"")
    });
    at_work.kill().unwrap();
    at_work.wait().unwrap();
    let heads = sandbox.git(&remote_dir, &["for-each-ref", "--format=%(refname)"]);
    assert!(heads.contains("/head"), "what it did was pushed: {heads}");
    assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap_or_default());
}

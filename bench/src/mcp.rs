//! `comity mcp` beside a server of the same library whose tool does nothing: a read, and a durable claim.

use crate::cli::{Project, binary, fill_tasks};
use crate::process::{STEP, cpu_of_threads};
use crate::stats::{at_fraction, median, ms};
use crate::table::Table;
use crate::{Outcome, Scale};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt};
use rmcp::transport::io::stdio_pipes;
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The step that is the bare server.
pub const BARE: &str = "mcp-bare";
/// Calls that one client has under way.
const AT_ONCE: [usize; 2] = [1, 16];
/// The two servers take turns this often.
const ROUNDS: usize = 5;
/// Threads of the bare server, as many as comity's.
const WORKERS: usize = 2;

/// A server whose every tool answers with the same text.
#[derive(Clone)]
struct Bare {
    answer: Value,
}

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut result = CallToolResult::success(vec![ContentBlock::text(self.answer.to_string())]);
        result.structured_content = Some(self.answer.clone());
        Ok(result.into())
    }
}

/// Serves on stdin and stdout until they are closed.
pub fn serve_bare(arguments: &[String]) -> Outcome<()> {
    let answer = serde_json::from_str(arguments.first().ok_or("an answer is missing")?)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    runtime.block_on(async {
        Bare { answer }.serve(stdio_pipes()).await?.waiting().await?;
        Ok(())
    })
}

/// A running server and the client that talks to it.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    fn start(mut command: Command) -> Outcome<Server> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut server = Server { child, input, output, next: 1 };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"}});
        server
            .send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}))?;
        server.receive()?;
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    fn send(&mut self, message: &Value) -> Outcome<()> {
        let input = self.input.as_mut().ok_or("the server's input is closed")?;
        input.write_all(format!("{message}\n").as_bytes())?;
        Ok(input.flush()?)
    }

    fn receive(&mut self) -> Outcome<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    fn call(&mut self, tool: &str, (thread, arguments): &Call) -> Outcome<u64> {
        let id = self.next;
        self.next += 1;
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"threadId": thread}});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))?;
        Ok(id)
    }

    /// Makes calls, so many under way at once; returns how long each took, in milliseconds, and the last answer.
    fn calls(&mut self, at_once: usize, tool: &str, all: &[Call]) -> Outcome<(Vec<f64>, Value)> {
        let (mut begun, mut times) = (BTreeMap::new(), Vec::new());
        let (mut left, mut last) = (all.iter(), Value::Null);
        for arguments in left.by_ref().take(at_once) {
            begun.insert(self.call(tool, arguments)?, Instant::now());
        }
        while !begun.is_empty() {
            let answer = self.receive()?;
            let now = Instant::now();
            let id = answer.get("id").and_then(Value::as_u64).ok_or("an answer without an id")?;
            let start = begun.remove(&id).ok_or("an answer to nothing")?;
            times.push(ms(now.duration_since(start)));
            if answer.pointer("/result/isError") == Some(&Value::Bool(true)) {
                return Err(format!("refused: {answer}").into());
            }
            last = answer.pointer("/result/structuredContent").cloned().ok_or("no content")?;
            if let Some(arguments) = left.next() {
                begun.insert(self.call(tool, arguments)?, Instant::now());
            }
        }
        Ok((times, last))
    }

    fn end(mut self) -> Outcome<()> {
        drop(self.input.take());
        self.child.wait()?;
        Ok(())
    }
}

/// A call: the session that makes it, which is an agent, and its arguments.
type Call = (String, Value);

/// What the calls of one tool took.
#[derive(Default)]
struct Line {
    times: Vec<f64>,
    cpu: Duration,
}

impl Line {
    fn add(
        &mut self,
        server: &mut Server,
        at_once: usize,
        tool: &str,
        all: &[Call],
    ) -> Outcome<()> {
        let before = cpu_of_threads(server.child.id())?;
        self.times.extend(server.calls(at_once, tool, all)?.0);
        self.cpu += cpu_of_threads(server.child.id())?.saturating_sub(before);
        Ok(())
    }

    /// The median, the 99th percentile, and CPU time a call in microseconds.
    fn cells(&self) -> [f64; 3] {
        #[expect(clippy::cast_precision_loss, reason = "a number of calls is small")]
        let calls = self.times.len().max(1) as f64;
        let cpu = self.cpu.as_secs_f64() * 1e6 / calls;
        [median(&self.times), at_fraction(&self.times, 0.99), cpu]
    }
}

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let (reads, claims) = (scale.of(2_000, 200), scale.of(200, 20));
    let project = Project::new(Some(binary()?))?;
    fill_tasks(&project.store(), claims * ROUNDS * AT_ONCE.len() * 2, 1)?;
    let mut command = project.comity("x");
    command.env_remove("COMITY_AGENT").args(["mcp", "--client", "codex"]);
    let mut comity = Server::start(command)?;
    let by = |session: usize, arguments: Value| (format!("session-{session:08}"), arguments);
    let look = |number: usize| json!({"what": "task", "id": format!("T{number}")});
    // Whoever reads holds a task, as agents do.
    comity.calls(1, "claim_task", &[by(0, json!({"id": "T1"}))])?;
    let same = by(0, look(1));
    let (_, answer) = comity.calls(1, "look_up", std::slice::from_ref(&same))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args([STEP, BARE, &answer.to_string()]);
    let mut bare = Server::start(command)?;
    let (sync, _) = crate::machine::sync_latency()?;
    let mut table = Table::new(&["at once", "call", "p50 ms", "p99 ms", "÷ bare", "CPU µs"]);
    // Every fifth task waits for another one. Each claim is that of an agent that holds nothing.
    let mut free = (2_usize..).filter(|number| number % 5 != 0);
    for at_once in AT_ONCE {
        let [mut plain, mut read, mut other, mut claim] = [(); 4].map(|()| Line::default());
        for _ in 0..ROUNDS {
            let looks = vec![same.clone(); reads];
            let others: Vec<Call> = (0..reads).map(|n| by(0, look(1 + n % claims))).collect();
            let wanted = free.by_ref().take(claims);
            let wanted: Vec<Call> =
                wanted.map(|task| by(task, json!({"id": format!("T{task}")}))).collect();
            plain.add(&mut bare, at_once, "look_up", &looks)?;
            read.add(&mut comity, at_once, "look_up", &looks)?;
            other.add(&mut comity, at_once, "look_up", &others)?;
            claim.add(&mut comity, at_once, "claim_task", &wanted)?;
        }
        let [bare50, ..] = plain.cells();
        for (name, line) in [
            ("bare", &plain),
            ("look_up of one task", &read),
            ("look_up of one task after the other", &other),
            ("claim_task", &claim),
        ] {
            let [p50, p99, cpu] = line.cells();
            table.row(vec![
                at_once.to_string(),
                name.to_owned(),
                format!("{p50:.3}"),
                format!("{p99:.3}"),
                format!("{:.2}", p50 / bare50),
                format!("{cpu:.0}"),
            ]);
        }
    }
    comity.end()?;
    bare.end()?;
    table.print("mcp: tools over stdio beside a tool that does nothing");
    println!(
        "\nBoth servers use the same library, threads and pipes, and take turns. The bare tool answers with the text that \
         `look_up` of a task answers with, and does nothing else. One client has 1 or 16 calls under way. The agent that looks \
         up holds a task; each claim is that of another agent, and answers after its commit is on the disk. One sync takes \
         {sync:.2} ms. CPU is that of all threads of the server. Targets: a read ÷ bare ≤ 2; a claim takes at most twice the \
         bare tool's time and one sync."
    );
    Ok(())
}

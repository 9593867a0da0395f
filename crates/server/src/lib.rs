//! The door for agents: MCP on stdin and stdout and over HTTP, with tokens that say who calls.
//!
//! A tool is a call of operations of the table, never a second implementation. Only `comity mcp` and `comity serve` start the
//! runtime that is in here.

#![deny(clippy::print_stdout, clippy::print_stderr)]
mod beside;
mod http;
mod mcp;
mod runtime;
pub mod sessions;
pub mod tokens;

pub use http::{Listen, Listening, REMARKS_HEADER, RunDoor, link, running, serve};
pub use mcp::{forward, serve_stdio};

use comity_core::command::{Command, RunChange};
use comity_core::hint::{op, say};
use comity_core::refusal::{Code, Refusal};
use comity_core::run::run_of;
use comity_engine::{Caller, Service};
use comity_project::Context;

/// One project, with its store open for many callers.
#[derive(Clone)]
pub struct Served {
    pub context: Context,
    pub service: Service,
    /// Whether the server runs inside a run that comity started: then a call may wait for longer.
    pub in_run: bool,
    /// comity itself, where runs may be started.
    pub program: Option<std::path::PathBuf>,
}

impl Served {
    /// Opens a project that is set up: a client that is started somewhere else must not leave a store behind.
    pub fn open(context: Context, in_run: bool) -> Result<Served, Refusal> {
        let context = context.for_many();
        if !context.store.exists() {
            let message = format!("there is no store for {}", context.root.dir.display());
            let hint = say("a person runs ").quote(op("init")).say(" in the project first");
            return Err(Refusal::new(Code::StoreUnavailable, message).hint(hint));
        }
        let service = context.shared_service()?;
        Ok(Served { context, service, in_run, program: None })
    }

    /// A run whose agent waits for an answer waits itself. One that cannot wait now goes on.
    fn waits_for(&self, caller: &Caller, decision: &str) {
        let Some(run) = run_of(&caller.actor).filter(|_| self.in_run) else { return };
        let change = RunChange::Wait { decision: decision.to_owned() };
        let command = Command::RunChange { id: run.to_string(), change };
        drop(self.service.run(caller, command));
    }
}

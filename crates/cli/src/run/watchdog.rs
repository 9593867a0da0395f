//! `comity watchdog`

use crate::context::Context;
use crate::human::{self, Screen, Shape};
use crate::output::{self, Reply};
use crate::store::Access;
use comity_core::command::Command;
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How often it looks. Every mutation applies what has expired anyway, so that this is for projects
/// where nobody does anything.
const LOOK_EVERY: Duration = Duration::from_secs(5);

pub(super) fn run(context: &Context, once: bool, json: bool) -> Result<Reply, Refusal> {
    let mut engine = context.engine(Access::Write)?;
    // Not as the caller, whose fence and registration have nothing to do with it.
    let mut request = context.request(Command::Sweep);
    request.actor = AgentId::watchdog();
    request.fence = None;
    if once {
        let answer = engine.execute(request)?;
        return Ok(Reply::new(answer, Shape::Sweep));
    }
    // Stopping a watchdog is no failure. Nothing is lost: a sweep is one transaction.
    for signal in [SIGINT, SIGTERM] {
        let now = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_shutdown(signal, 0, now).map_err(|error| {
            Refusal::new(Code::Internal, format!("cannot listen for signals: {error}"))
        })?;
    }
    if !json {
        output::remark("watching; end with Ctrl-C");
    }
    loop {
        let answer = engine.execute(request.clone())?;
        if answer.get("events").and_then(Value::as_u64).unwrap_or(0) > 0 {
            let written = if json {
                output::line(&answer)
            } else {
                output::text(&human::render(&Shape::Sweep, &answer, &Screen::detect()))
            };
            if written.is_err() {
                return Ok(Reply::printed());
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

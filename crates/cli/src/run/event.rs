//! `comity event …`

use super::{execute, query};
use crate::args::EventCommand;
use crate::context::Context;
use crate::human::{self, Screen, Shape};
use crate::output::{self, Reply};
use crate::store::Access;
use comity_core::command::Command;
use comity_core::refusal::Refusal;
use comity_engine::{EventFilter, Query};
use serde_json::{Map, Value};
use std::io::Read;

/// The longest event that is read from stdin; the rules allow less.
const EVENT_BYTES_MAX: u64 = 1024 * 1024;

pub(super) fn run(context: &Context, command: EventCommand, json: bool) -> Result<Reply, Refusal> {
    match command {
        EventCommand::Emit { event } => {
            let event = object(&event)?;
            execute(context, Command::EmitEvent { event }, Shape::Event)
        }
        EventCommand::List { task, kind, since, all_repos, page } => {
            let filter = EventFilter { task, event: kind, since, all_repos, page: page.into() };
            query(context, Query::Events(filter), Shape::Events)
        }
        EventCommand::Tail { from } => tail(context, from, json),
    }
}

fn object(text: &str) -> Result<Map<String, Value>, Refusal> {
    let piped;
    let text = if text == "-" {
        piped = stdin()?;
        piped.as_str()
    } else {
        text
    };
    let example = "for example '{\"event\":\"commit_pushed\",\"task\":\"T1\"}'";
    match serde_json::from_str(text) {
        Ok(Value::Object(event)) => Ok(event),
        Ok(_) => Err(Refusal::input("the event is not a JSON object").hint(example)),
        Err(error) => Err(Refusal::input(format!("the event is not JSON: {error}")).hint(example)),
    }
}

fn stdin() -> Result<String, Refusal> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(EVENT_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| Refusal::input(format!("cannot read stdin: {error}")))?;
    if bytes.len() as u64 > EVENT_BYTES_MAX {
        return Err(Refusal::input(format!("the event is longer than {EVENT_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| Refusal::input("the event is not UTF-8"))
}

fn tail(context: &Context, from: Option<u64>, json: bool) -> Result<Reply, Refusal> {
    // Opened for writing, so that a store that is not there yet can be waited for.
    let mut engine = context.engine(Access::Write)?;
    let mut show = |event: &Value| {
        let written = if json {
            output::line(event)
        } else {
            output::text(&human::event_line(event, &Screen::detect()))
        };
        // Whoever read us has gone: nothing is left to do.
        written.is_ok()
    };
    engine.tail(&context.asker(), from, &mut show)?;
    Ok(Reply::printed())
}

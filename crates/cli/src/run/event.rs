//! `comity event …`

#![deny(clippy::wildcard_enum_match_arm)]

use super::{execute, show};
use crate::args::EventCommand;
use crate::human::{self, Screen};
use crate::output::{self, Reply};
use comity_api::{EmitEvent, EventFilter, EventView, TailEvents, op};
use comity_core::refusal::Refusal;
use comity_engine::{Stop, StreamHandler};
use comity_project::Context;
use comity_project::store::Access;
use serde_json::{Map, Value};

/// The longest event that is read from stdin; the rules allow less.
const EVENT_BYTES_MAX: usize = 1024 * 1024;

pub(super) fn run(context: &Context, command: EventCommand, json: bool) -> Result<Reply, Refusal> {
    match command {
        EventCommand::Emit { event } => {
            let event = object(&event)?;
            execute::<op::EventEmit>(context, EmitEvent { event }, human::event::one)
        }
        EventCommand::List { task, kind, since, all_repos, page } => {
            let (limit, after) = (page.limit.map(usize::from), page.after);
            let filter = EventFilter { task, event: kind, since, all_repos, limit, after };
            show::<op::EventList>(context, filter, human::event::list)
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
    let example = "give an object such as '{\"event\":\"commit_pushed\",\"task\":\"T1\"}'";
    match serde_json::from_str(text) {
        Ok(Value::Object(event)) => Ok(event),
        Ok(_) => Err(Refusal::input("the event is not a JSON object").hint(example)),
        Err(error) => Err(Refusal::input(format!("the event is not JSON: {error}")).hint(example)),
    }
}

fn stdin() -> Result<String, Refusal> {
    let read = crate::stdin::read(EVENT_BYTES_MAX);
    let bytes = read.map_err(|error| Refusal::input(format!("cannot read stdin: {error}")))?;
    if bytes.len() > EVENT_BYTES_MAX {
        return Err(Refusal::input(format!("the event is longer than {EVENT_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| Refusal::input("the event is not UTF-8"))
}

fn tail(context: &Context, from: Option<u64>, json: bool) -> Result<Reply, Refusal> {
    // Opened for writing, so that a store that is not there yet can be waited for.
    let service = context.service(Access::Write)?;
    let show = move |event: &EventView| {
        let written = if json {
            output::line(event)
        } else {
            human::cleaned(event).map_err(std::io::Error::other).and_then(|cleaned| {
                let event = cleaned.as_ref().unwrap_or(event);
                output::text(&human::event::line(event, &Screen::detect()))
            })
        };
        // Whoever read us has gone: nothing is left to do.
        written.is_ok()
    };
    let (caller, input, stop) = (context.caller(), TailEvents { from }, Stop::default());
    StreamHandler::<op::EventTail>::stream(&service, &caller, input, Box::new(show), &stop)?;
    Ok(Reply::printed())
}

//! The header for whoever goes on after a crash.

use super::find;
use comity_api::{ById, EventFilter, MissionAnswer, RenderedTask, Since, op};
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Caller, Service};
use comity_protocol::neotx::crash::{self, Logged};
use comity_protocol::neotx::resume::{self, Form};

pub fn resume(service: &Service, caller: &Caller, id: &str) -> Result<RenderedTask, Refusal> {
    let id = find::task(service, caller, id)?;
    let MissionAnswer { task, mission } = service.call::<op::TaskMission>(caller, ById { id })?;
    let wanted = EventFilter { task: Some(task.id.clone()), ..EventFilter::default() };
    let mut events = find::events(service, caller, wanted)?;
    // Who logs a milestone does not say what it is working on.
    if let Some(first) = events.iter().find(|event| event.event == "task_claimed") {
        let (event, since) = (Some("note".to_owned()), Some(Since::Seq(first.seq)));
        let notes =
            find::events(service, caller, EventFilter { event, since, ..EventFilter::default() })?;
        events.extend(notes.into_iter().filter(|note| note.task.is_none()));
        events.sort_by_key(|event| event.seq);
    }
    let events = events.iter().map(|event| Logged {
        name: &event.event,
        agent: &event.agent,
        about_it: event.task.is_some(),
        fields: &event.fields,
    });
    let Some(found) = crash::of_log(&task, events, Some(mission.instruction)) else {
        let message = format!("no attempt of {} has failed or been reclaimed", task.id);
        return Err(
            Refusal::new(Code::InvalidTransition, message).hint("begin with its mission instead")
        );
    };
    let text = resume::render(&found, Form::Each);
    Ok(RenderedTask { kind: "resume".to_owned(), id: task.id, text, yaml: None })
}

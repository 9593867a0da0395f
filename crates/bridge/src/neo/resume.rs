//! The header for whoever goes on after a crash.

use super::find;
use comity_api::{ById, EventFilter, MissionAnswer, RenderedTask, op};
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Caller, Service};
use comity_protocol::neotx::crash;
use comity_protocol::neotx::resume::{self, Form};

pub fn resume(service: &Service, caller: &Caller, id: &str) -> Result<RenderedTask, Refusal> {
    let id = find::task(service, caller, id)?;
    let MissionAnswer { task, mission } = service.call::<op::TaskMission>(caller, ById { id })?;
    let wanted = EventFilter { task: Some(task.id.clone()), ..EventFilter::default() };
    let events = find::events(service, caller, wanted)?;
    let events = events.iter().map(|event| (event.event.as_str(), &event.fields));
    let Some(found) = crash::of_log(&task, events, Some(mission.instruction)) else {
        let message = format!("no attempt of {} has failed or been reclaimed", task.id);
        return Err(
            Refusal::new(Code::InvalidTransition, message).hint("begin with its mission instead")
        );
    };
    let text = resume::render(&found, Form::Each);
    Ok(RenderedTask { kind: "resume".to_owned(), id: task.id, text, yaml: None })
}

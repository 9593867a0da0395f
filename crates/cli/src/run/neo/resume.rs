//! `contract render resume ID`: the header for whoever goes on after a crash.

use super::find;
use crate::output::Reply;
use comity_api::{ById, EventFilter, MissionAnswer, RenderedTask, op};
use comity_core::refusal::{Code, Refusal};
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::neotx::crash;
use comity_protocol::neotx::resume::{self, Form};

pub(in crate::run) fn render(context: &Context, id: &str) -> Result<Reply, Refusal> {
    let (service, caller) = (context.service(Access::Read)?, context.caller());
    let id = find::task(&service, &caller, id)?;
    let MissionAnswer { task, mission } = service.call::<op::TaskMission>(&caller, ById { id })?;
    let wanted = EventFilter { task: Some(task.id.clone()), ..EventFilter::default() };
    let events = find::events(&service, &caller, &wanted)?;
    let events = events.iter().map(|event| (event.event.as_str(), &event.fields));
    let Some(found) = crash::of_log(&task, events, Some(mission.instruction)) else {
        let message = format!("no attempt of {} has failed or been reclaimed", task.id);
        return Err(Refusal::new(Code::InvalidTransition, message)
            .hint(format!("write its mission: comity contract render mission {}", task.id)));
    };
    let text = resume::render(&found, Form::Each);
    let shown = if text.ends_with('\n') { text.clone() } else { format!("{text}\n") };
    let answer = RenderedTask { kind: "resume".to_owned(), id: task.id, text, yaml: None };
    Ok(Reply::text(answer, shown))
}

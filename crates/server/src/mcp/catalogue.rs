//! What the server offers beside its tools: resources to read, prompts to start from, and its own instructions.

use crate::Served;
use comity_api::{ById, EventFilter, Nothing, op};
use comity_core::refusal::{Code, Refusal};
use comity_engine::Caller;
use rmcp::model::{Prompt, PromptArgument, Resource, ResourceTemplate};
use serde_json::Value;
use std::fmt::Write as _;

/// What every client is told when it connects.
pub const INSTRUCTIONS: &str = "comity keeps agents that share this repository out of each other's way. \
Loop: claim_task, lease_files before you edit a file outside your task, work on the claim's branch, record what happens, \
submit_work. A refusal says why and has a hint: follow the hint. Changes to files that others hold cannot be merged. \
Ask with ask, do not guess. 15 minutes without a call lose the claim: record a heartbeat in between. \
Read `news` in answers: it has answers to your questions and new instructions.";

const BOARD: &str = "comity://board";
const TASK: &str = "comity://task/";
const LOG: &str = "/log";
/// Events in the log of a task.
const EVENTS_MAX: usize = 200;

/// Names the resource that has what an answer was too short for.
pub fn whole(answer: &Value) -> String {
    match answer.pointer("/task/id").and_then(Value::as_str) {
        Some(id) => format!("{TASK}{id}"),
        None => BOARD.to_owned(),
    }
}

pub fn resources() -> Vec<Resource> {
    let board = Resource::new(BOARD, "board").with_title("Board");
    vec![board.with_description("All tasks by status").with_mime_type("text/markdown")]
}

pub fn templates() -> Vec<ResourceTemplate> {
    let of = |uri: String, name: &str, title: &str, description: &str| {
        ResourceTemplate::new(uri, name)
            .with_title(title)
            .with_description(description)
            .with_mime_type("application/json")
    };
    vec![
        of(format!("{TASK}{{id}}"), "task", "Task", "A task with all its fields"),
        of(
            format!("{TASK}{{id}}{LOG}"),
            "task-log",
            "Log of a task",
            "A task's events, one a line",
        ),
    ]
}

impl Served {
    /// Reads a resource: its type and its text.
    pub fn read_resource(
        &self,
        caller: &Caller,
        uri: &str,
    ) -> Result<(&'static str, String), Refusal> {
        if uri == BOARD {
            let board = self.service.call::<op::ReportBoard>(caller, Nothing {})?;
            return Ok(("text/markdown", board.report.unwrap_or_default()));
        }
        let unknown = || Refusal::new(Code::NotFound, format!("there is no resource {uri:?}"));
        let id = uri.strip_prefix(TASK).ok_or_else(unknown)?;
        let lines = match id.strip_suffix(LOG) {
            Some(id) => {
                let (task, limit) = (Some(id.to_owned()), Some(EVENTS_MAX));
                let input = EventFilter { task, limit, ..EventFilter::default() };
                let events = self.service.call::<op::EventList>(caller, input)?.events;
                let mut lines = String::new();
                for event in &events {
                    let _ = writeln!(lines, "{}", super::tools::json_of(event)?);
                }
                lines
            }
            None => {
                let shown =
                    self.service.call::<op::TaskShow>(caller, ById { id: id.to_owned() })?;
                super::tools::json_of(&shown)?.to_string()
            }
        };
        Ok(("application/json", lines))
    }
}

pub fn prompts() -> Vec<Prompt> {
    let task = |required| {
        let argument = PromptArgument::new("task").with_description("The id of a task");
        Some(vec![argument.with_required(required)])
    };
    vec![
        Prompt::new("start_work", Some("Claim a task and work on it"), task(false))
            .with_title("Start work"),
        Prompt::new("hand_off", Some("Leave a task so that another agent can go on"), task(true))
            .with_title("Hand off"),
        Prompt::new("review", Some("Review the work on a task"), task(true)).with_title("Review"),
    ]
}

/// Returns the text of a prompt; none where there is no such prompt.
pub fn prompt(name: &str, task: Option<&str>) -> Option<String> {
    let id = task.unwrap_or("TASK");
    Some(match name {
        "start_work" => {
            let which = match task {
                Some(id) => format!("Call claim_task with id {id}."),
                None => "Call claim_task.".to_owned(),
            };
            format!(
                "{which} Read its mission, and work on its branch. Before you edit a file that the task does not \
                 declare, call lease_files. After each step call record. Commit the work, run its tests, record each \
                 gate, and hand the work in with submit_work and the commit. If you need something that you may not \
                 decide, call ask; if you cannot go on without it, submit_work with outcome blocked."
            )
        }
        "hand_off" => format!(
            "Leave task {id} so that another agent can go on. Commit what is finished. Call record with kind milestone: \
             what is done, what is left, what you found out, which commit it is. Call remember for what later work needs. \
             Then call release with the task and the reason."
        ),
        "review" => format!(
            "Review task {id}. Call review_task with verdict take. Call look_up with what task, and look at its \
             requirements, checklist, gates and commit. Read the change and run its tests yourself. Then call review_task \
             with verdict approve, or with request_changes and a reason that says what to change."
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_are_short() {
        assert!(INSTRUCTIONS.len() <= 150 * 4, "{}", INSTRUCTIONS.len());
    }

    #[test]
    fn every_prompt_that_is_listed_has_a_text() {
        for listed in prompts() {
            assert!(prompt(&listed.name, Some("T1")).unwrap().contains("T1"), "{}", listed.name);
        }
        assert_eq!(prompt("other", None), None);
    }
}

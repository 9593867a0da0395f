//! What the log of a task says about its last crash: the header for whoever goes on.

use super::resume::{Completed, Resumption};
use comity_core::view::TaskView;
use serde_json::{Map, Value};

/// Reads the events of a task, by their names and fields, oldest first; none when no attempt of it has failed or been
/// reclaimed.
pub fn of_log<'e>(
    task: &TaskView,
    events: impl IntoIterator<Item = (&'e str, &'e Map<String, Value>)>,
    original: Option<String>,
) -> Option<Resumption> {
    let (mut run, mut commit, mut crash) = (None, None, None);
    let mut completed = Vec::new();
    for (name, fields) in events {
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        match name {
            "task_claimed" => run = text("assignee"),
            "commit_pushed" => commit = text("commit").or_else(|| text("sha")),
            "subtask_completed" => {
                let task = text("subtask").unwrap_or_default();
                completed.push(Completed { task, commit: commit.take() });
            }
            "status_changed" if fields.get("uses_attempt") == Some(&Value::Bool(true)) => {
                let why = text("reason").unwrap_or_else(|| "it ended without a word".to_owned());
                crash = Some((run.clone(), why));
            }
            _ => {}
        }
    }
    let (run, why) = crash?;
    let open = task.subtasks.iter().find(|step| !step.complete);
    Some(Resumption {
        previous_run: run_of(run.as_deref().unwrap_or("unknown")).to_owned(),
        completed,
        failed_at: open.map_or_else(|| task.id.clone(), |step| step.id.clone()),
        error: format!("{why} (attempt {} of {})", task.attempts, task.max_attempts),
        original,
    })
}

/// The run in the id of one of neo's agents; any other agent stands for its own run.
fn run_of(agent: &str) -> &str {
    let run = agent.strip_prefix("neo:").and_then(|rest| rest.split_once(':'));
    run.map_or(agent, |(_, run)| run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_run_and_an_agent_without_one_are_told_apart() {
        assert_eq!(run_of("neo:developer:3f2a91bc-77aa"), "3f2a91bc-77aa");
        assert_eq!((run_of("neo:developer"), run_of("codex-cli")), ("neo:developer", "codex-cli"));
    }

    #[test]
    fn a_task_that_never_crashed_has_no_header() {
        let task: TaskView = serde_json::from_str(
            r#"{
            "id": "T1", "number": 1, "version": 1, "repo": "r", "title": "t", "description": "",
            "type": null, "complexity": null, "deliverable": "code", "status": "queued",
            "priority": "P2", "labels": [], "role": null, "assignee": null, "reviewer": null,
            "fence": null, "dependencies": [], "blockers": [], "files": [], "branch": null,
            "commit": null, "pr": null, "merged_sha": null, "round": 0, "requirements": [],
            "dod": [], "gates": [], "constraints": {}, "context": {}, "timeout_seconds": 0,
            "attempts": 1, "max_attempts": 3, "needs": null, "epic": null, "prd": null,
            "initiative": null, "parent": null, "external_ids": {},
            "subtasks": [{"id": "T1-01", "text": "a", "complete": true},
                {"id": "T1-02", "text": "b", "complete": false}],
            "decisions": [], "retry_at": null, "claim": null, "created_by": "x",
            "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"
        }"#,
        )
        .unwrap();
        let events = [
            ("task_claimed", json!({"assignee": "neo:developer:run-7"})),
            ("commit_pushed", json!({"commit": "abc1234"})),
            ("subtask_completed", json!({"subtask": "T1-01"})),
            ("status_changed", json!({"uses_attempt": true, "reason": "no life"})),
        ];
        let of_first = |count: usize| {
            let events = events.iter().take(count);
            of_log(&task, events.map(|(name, fields)| (*name, fields.as_object().unwrap())), None)
        };
        assert_eq!(of_first(3), None);
        let found = of_first(4).unwrap();
        let header = super::super::resume::render(&found, super::super::resume::Form::Each);
        assert_eq!(
            header,
            "RESUMING FROM CRASH\nPrevious run: run-7\nCompleted tasks: T1-01 (commit abc1234)\n\
             Failed at: T1-02 — error: no life (attempt 1 of 3)\n\
             Resume: start from T1-02, skip completed tasks above.\n"
        );
    }
}

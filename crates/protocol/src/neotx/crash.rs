//! What the log of a task says about its last crash: the header for whoever goes on.

use super::resume::{Completed, Resumption};
use comity_core::status::Status;
use comity_core::view::TaskView;
use serde_json::{Map, Value};

/// An event of the log.
#[derive(Clone, Copy, Debug)]
pub struct Logged<'e> {
    pub name: &'e str,
    /// Who made it.
    pub agent: &'e str,
    /// Whether it is about the task; a note may be about no task at all.
    pub about_it: bool,
    pub fields: &'e Map<String, Value>,
}

/// Reads the events of a task and the notes about none, oldest first; none when no attempt of it has failed or been
/// reclaimed.
pub fn of_log<'e>(
    task: &TaskView,
    events: impl IntoIterator<Item = Logged<'e>>,
    original: Option<String>,
) -> Option<Resumption> {
    let (mut run, mut commit, mut crash) = (None, None, None);
    let mut holder: Option<String> = None;
    let mut completed: Vec<Completed> = Vec::new();
    for Logged { name, agent, about_it, fields } in events {
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        match name {
            "task_claimed" => {
                run = text("assignee");
                holder.clone_from(&run);
            }
            "note" if about_it || holder.as_deref() == Some(agent) => {
                let done = text("text").filter(|_| text("type").as_deref() == Some("milestone"));
                if let Some(done) = done.as_deref().and_then(milestone) {
                    completed.retain(|known| known.task != done.task);
                    completed.push(done);
                }
            }
            "commit_pushed" => commit = text("commit").or_else(|| text("sha")),
            "subtask_completed" => {
                let task = text("subtask").unwrap_or_default();
                completed.push(Completed { task, commit: commit.take() });
            }
            "status_changed" if fields.get("uses_attempt") == Some(&Value::Bool(true)) => {
                let why = text("reason").unwrap_or_else(|| "it ended without a word".to_owned());
                crash = Some((run.clone(), why));
                holder = None;
            }
            "status_changed" => {
                let to = text("new_status").and_then(|word| Status::parse(&word).ok());
                holder = holder.filter(|_| to.is_some_and(Status::is_held));
            }
            _ => {}
        }
    }
    let (run, why) = crash?;
    let open = task.subtasks.iter().find(|step| !step.complete).map(|step| step.id.clone());
    let failed_at = open.or_else(|| next_of_plan(&completed)).unwrap_or_else(|| task.id.clone());
    Some(Resumption {
        previous_run: run_of(run.as_deref().unwrap_or("unknown")).to_owned(),
        completed,
        failed_at,
        error: format!("{why} (attempt {} of {})", task.attempts, task.max_attempts),
        original,
    })
}

/// Reads `T1 done — commit abc1234`, which a developer logs after each commit.
pub fn milestone(text: &str) -> Option<Completed> {
    let mut words = text.split_whitespace();
    let (task, done) = (words.next()?, words.next()?);
    let mut rest = words.filter(|word| !["—", "–", "--", "-"].contains(word));
    let commit = match (rest.next(), rest.next()) {
        (None, _) => None,
        (Some("commit"), Some(sha)) => Some(sha.trim_end_matches(['.', ',']).to_owned()),
        _ => return None,
    };
    let named = !task.contains([',', '(', ')']) && done.trim_end_matches(':') == "done";
    let is_sha = |sha: &String| sha.len() >= 4 && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    (named && commit.as_ref().is_none_or(is_sha))
        .then(|| Completed { task: task.to_owned(), commit })
}

/// The step after the last of those that are called `T1`, `T2`, …; a plan has them in this order.
pub fn next_of_plan(completed: &[Completed]) -> Option<String> {
    let number = |done: &Completed| done.task.strip_prefix('T')?.parse::<u64>().ok();
    let last = completed.iter().filter_map(number).max()?;
    Some(format!("T{}", last.checked_add(1)?))
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
    fn a_milestone_after_a_commit_is_a_checkpoint_and_any_other_is_none() {
        let read = |text: &str| milestone(text).map(|done| (done.task, done.commit));
        let done =
            |task: &str, commit: Option<&str>| Some((task.to_owned(), commit.map(str::to_owned)));
        assert_eq!(read("T1 done — commit abc1234"), done("T1", Some("abc1234")));
        assert_eq!(read("T12 done - commit abc1234."), done("T12", Some("abc1234")));
        assert_eq!(read("T2 done"), done("T2", None));
        for other in ["Resuming from crash at T2 — skipping T1..T1", "T1 done with errors", "done"]
        {
            assert_eq!(read(other), None, "{other}");
        }
        let plan = [milestone("T2 done").unwrap(), milestone("T1 done").unwrap()];
        assert_eq!(next_of_plan(&plan).as_deref(), Some("T3"));
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
            let events = events.iter().take(count).map(|(name, fields)| Logged {
                name,
                agent: "x",
                about_it: true,
                fields: fields.as_object().unwrap(),
            });
            of_log(&task, events, None)
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

//! Events in words: one sentence about who acts, the same at every door.

use comity_api::EventView;
use serde_json::Value;

/// Characters of a commit's name.
const COMMIT_CHARS: usize = 10;

/// The fields of one event, as texts of one line.
struct Fields<'e>(&'e EventView);

impl Fields<'_> {
    /// A field as text; empty where there is none.
    fn of(&self, key: &str) -> String {
        match self.0.fields.get(key) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.replace('\n', " "),
            Some(Value::Array(items)) => items
                .iter()
                .map(plain)
                .filter(|item| !item.is_empty())
                .collect::<Vec<_>>()
                .join(", "),
            Some(other) => plain(other),
        }
    }

    /// The same with something before it, where there is any.
    fn with(&self, before: &str, key: &str) -> String {
        let text = self.of(key);
        if text.is_empty() { text } else { format!("{before}{text}") }
    }

    fn commit(&self, before: &str, key: &str) -> String {
        let text: String = self.of(key).chars().take(COMMIT_CHARS).collect();
        if text.is_empty() { text } else { format!("{before}{text}") }
    }

    fn money(&self, before: &str, key: &str) -> String {
        let dollars = self.0.fields.get(key).and_then(Value::as_f64);
        dollars.map(|dollars| format!("{before}${dollars:.2}")).unwrap_or_default()
    }

    fn is(&self, key: &str, value: &str) -> bool {
        self.0.text(key) == Some(value)
    }

    fn has(&self, key: &str) -> bool {
        self.0.fields.get(key).is_some_and(|value| !value.is_null())
    }
}

/// A value within a list, or the one value of an object such as `{"role":"critic"}`.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace('\n', " "),
        Value::Object(map) => map.values().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Says what somebody did, without the reason.
pub fn what(event: &EventView) -> String {
    let it = Fields(event);
    if event.fields.get("reported").and_then(Value::as_bool) == Some(true) {
        if let Some(said) = of_guard(event, &it) {
            return said;
        }
        let said = it.with(": ", "text") + &it.with(": ", "result");
        return format!("reports {}{said}", event.event);
    }
    of_task(event, &it)
        .or_else(|| of_people(event, &it))
        .or_else(|| of_runs(event, &it))
        .unwrap_or_else(|| event.event.replace('_', " "))
}

/// What comity's own hooks report.
fn of_guard(event: &EventView, it: &Fields) -> Option<String> {
    match event.event.as_str() {
        "write_refused" => Some(format!("was refused {}", it.of("path"))),
        "write_seen" => Some(format!("wrote {}, held by {}", it.of("path"), it.of("holder"))),
        _ => None,
    }
}

fn of_task(event: &EventView, it: &Fields) -> Option<String> {
    Some(match event.event.as_str() {
        "task_created" => format!("created it: {}", it.of("title")),
        "task_updated" => format!("changed {}", changed(event)),
        "task_assigned" if it.has("assignee") => format!("reserved it for {}", it.of("assignee")),
        "task_assigned" => "freed it for anybody".to_owned(),
        "task_linked" => format!("linked it to {} {}", it.of("provider"), it.of("value")),
        "task_claimed" => format!("claimed it{}", it.with(" on ", "branch")),
        "dependency_added" => format!("lets it wait for {}", it.of("on")),
        "dependency_removed" => format!("lets it wait no longer for {}", it.of("on")),
        "status_changed" => {
            let needs = it.with(", needs ", "needs");
            format!("{} → {}{needs}", it.of("old_status"), it.of("new_status"))
        }
        "file_locked" => format!("leased {}", it.of("path")),
        "lease_renewed" => format!("renewed the lease on {}", it.of("path")),
        "lease_released" => format!("gave {} back", it.of("path")),
        "locks_reclaimed" => {
            format!("took back what {} held without a sign of life", it.of("owner"))
        }
        "review_requested" => format!("submitted it for review{}", it.commit(" at ", "commit")),
        "pr_opened" => format!("opened {}", it.of("pr")),
        "review_taken" => "took the review".to_owned(),
        "review_feedback" if it.is("status", "changes_requested") => "sent it back".to_owned(),
        "review_feedback" => "reviewed it".to_owned(),
        "approved" => format!("approved it{}", it.commit(" at ", "commit")),
        "merged" if it.has("sha") => format!("merged it as {}", it.commit("", "sha")),
        "merged" if it.has("unmerged") => "finished it without a merge".to_owned(),
        "merged" => "finished it".to_owned(),
        "released" if it.has("tag") => {
            format!("released {}{}", it.of("tag"), it.with(" with ", "tasks"))
        }
        "released" => "gave it back".to_owned(),
        "tests_run" => {
            let verdict = if it.is("result", "pass") { "passes" } else { "fails" };
            let report = it.with(", see ", "report");
            format!("{} {verdict} ({}){report}", it.of("gate"), it.of("tier"))
        }
        "gate_waived" => format!("waived {}", it.of("gate")),
        "item_checked" => format!("{}: {}", it.of("item"), it.of("state")),
        "subtask_started" => format!("began {}: {}", it.of("subtask"), it.of("notes")),
        "subtask_completed" => format!("completed {}: {}", it.of("subtask"), it.of("notes")),
        "result_reported" => format!("handed a result in: {}", it.of("status")),
        "context_reset" => format!("goes on in a fresh context{}", it.with(" with ", "subtask")),
        "error" => "stopped it".to_owned(),
        "merge_queued" => format!("queued {} to be merged", it.commit("", "commit")),
        "merge_started" => format!("merges {} into {}", it.of("tasks"), it.of("target")),
        "merge_landed" => {
            format!("landed {} on {}{}", it.of("tasks"), it.of("target"), it.commit(" as ", "sha"))
        }
        "merge_ejected" => {
            let why = it.with(": the gate ", "gate") + &it.with(": ", "paths");
            format!("took it out of the merge queue of {}{why}", it.of("target"))
        }
        "merge_probed" => {
            let other = it.with(" and ", "b");
            let verdict = if it.is("state", "clean") { "merge" } else { "conflict" };
            format!("{}{other}: they {verdict}{}", it.of("a"), it.with(" in ", "paths"))
        }
        "outside_refused" => {
            let (by, wish, issue) = (it.of("by"), it.of("wish"), it.of("issue"));
            format!("refused {wish} of {by} at {issue}{}", it.with(": ", "why"))
        }
        "issue_paused" => format!("writes no more to {}{}", it.of("issue"), it.with(": ", "cause")),
        "issue_resumed" => format!("writes to {} again", it.of("issue")),
        "text_accepted" => format!("accepted the text of {}", it.of("issue")),
        _ => return None,
    })
}

fn of_people(event: &EventView, it: &Fields) -> Option<String> {
    let memory = || it.with(" ", "memory");
    let directive = || it.with(" ", "directive");
    Some(match event.event.as_str() {
        "decision_asked" => format!("asks {} ({})", it.of("question"), it.of("decision")),
        "decision_answered" if it.is("state", "defaulted") => {
            format!(
                "{} got no answer in time; its default applies: {}",
                it.of("decision"),
                it.of("answer")
            )
        }
        "decision_answered" => {
            let text = it.with(", ", "text");
            format!("answered {}: {}{text}", it.of("decision"), it.of("answer"))
        }
        "decision_expired" => format!("{} got no answer in time", it.of("decision")),
        "agent_registered" => format!("registered {}{}", it.of("id"), it.with(" as ", "roles")),
        "agent_updated" => format!("changed {}{}", it.of("id"), it.with(" to ", "roles")),
        "agent_described" => format!("described {}", it.of("id")),
        "memory_written" => format!("remembers{}: {}", memory(), it.of("text")),
        "memory_updated" => format!("changed the memory{}: {}", memory(), it.of("text")),
        "memory_superseded" => format!("replaced the memory{} by {}", memory(), it.of("by")),
        "memory_forgotten" => format!("forgot the memory{}", memory()),
        "memory_expired" => format!("the memory{} has expired", memory()),
        "directive_created" => format!("gave the directive{}: {}", directive(), it.of("text")),
        "directive_toggled" => {
            let on = event.fields.get("enabled").and_then(Value::as_bool) == Some(true);
            format!("switched the directive{} {}", directive(), if on { "on" } else { "off" })
        }
        "directive_triggered" => {
            format!("followed the directive{}{}", directive(), it.with(" at ", "trigger"))
        }
        "directive_deleted" => format!("deleted the directive{}", directive()),
        "taken_over" => {
            let what = it.of("decision") + &it.of("memory") + &it.of("directive");
            format!("took {what} over from another system")
        }
        "note" => format!("{}: {}", it.of("type"), it.of("text")),
        "change_noted" => format!("changed {}: {}", it.of("paths"), it.of("text")),
        "message_sent" => format!("tells {}: {}", it.of("to"), it.of("text")),
        "pad_written" => format!("wrote the pad {}, version {}", it.of("scope"), it.of("version")),
        "interface_published" => {
            format!("published the interface {}, version {}", it.of("name"), it.of("version"))
        }
        "repository_set" => {
            let fold = event.fields.get("fold_case").and_then(Value::as_bool) == Some(true);
            format!("set that case in paths {}", if fold { "does not count" } else { "counts" })
        }
        "events_lost" => {
            format!(
                "goes on without the events {} to {}, which are gone",
                it.of("first"),
                it.of("last")
            )
        }
        "clock_corrected" => {
            format!("set the time of the log back from {}", it.of("log_time"))
        }
        _ => return None,
    })
}

fn of_runs(event: &EventView, it: &Fields) -> Option<String> {
    let run = it.of("run");
    Some(match event.event.as_str() {
        "run_queued" => format!("queued the run {run}"),
        "run_started" => format!("started the run {run}{}", it.with(" on ", "host")),
        "run_progressed" => {
            format!("{run} is at turn {}{}", it.of("turn"), it.money(" and cost ", "cost_usd"))
        }
        "run_waiting" => format!("{run} waits for {}", it.of("decision")),
        "run_paused" => format!("paused the run {run}{}", it.with(" until ", "until")),
        "run_resumed" => format!("resumed the run {run}"),
        "run_ended" => format!("{run} has {}", ended(&it.of("state"))),
        "run_lost" => format!("{run} was not heard of any more"),
        "checkpoint" => {
            format!("{run} committed{}: {}", it.commit(" ", "sha"), it.of("subject"))
        }
        "seat_taken" => format!("took the seat {}{}", it.of("seat"), it.with(" on ", "host")),
        "seat_left" => format!("left the seat {}", it.of("seat")),
        "supervised" => {
            let because = it.with(": ", "because");
            format!("{} for {}, rule {}{because}", it.of("action"), it.of("subject"), it.of("rule"))
        }
        "budget_set" => {
            let limit = it.money(" ", "usd") + &it.with(" tokens ", "tokens");
            let limit = limit + &it.with(" seconds ", "seconds") + &it.with(" runs ", "runs");
            let of = format!("{}, per {}", it.of("scope"), it.of("per"));
            match limit.is_empty() {
                true => format!("removed the budget of {of}"),
                false => format!("set the budget of {of}:{limit}"),
            }
        }
        "budget_reserved" => format!("kept{} for {run}", it.money(" ", "usd")),
        "budget_settled" => format!("{run} spent{}", it.money(" ", "usd")),
        "budget_released" => format!("freed{} that was kept for {run}", it.money(" ", "usd")),
        "budget_breached" => {
            let (spent, limit) = (it.money(": ", "spent"), it.money(" of ", "limit"));
            format!("the budget of {} is used up{spent}{limit}", it.of("scope"))
        }
        _ => return None,
    })
}

/// The states in which a run ends, after "has".
fn ended(state: &str) -> String {
    match state {
        "stopped" => "been stopped".to_owned(),
        "lost" => "been lost".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the reason that was given, if one was.
pub fn why(event: &EventView) -> Option<String> {
    let keys: &[&str] = match event.event.as_str() {
        "subtask_started" | "subtask_completed" => &[],
        "merged" => &["unmerged"],
        _ => &["reason", "notes"],
    };
    let given = |key: &&str| event.text(key).filter(|text| !text.is_empty());
    keys.iter().find_map(given).map(|text| text.replace('\n', " "))
}

/// The fields that an update names.
fn changed(event: &EventView) -> String {
    let fields = event.fields.iter().filter(|(key, value)| *key != "via" && !value.is_null());
    let names: Vec<String> = fields.map(|(key, _)| key.replace('_', " ")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_core::event::Event;
    use comity_core::time::Timestamp;
    use serde_json::json;

    fn event(name: &str, fields: &Value) -> EventView {
        EventView {
            seq: 1,
            ts: Timestamp::from_ms(0),
            event: name.to_owned(),
            v: 1,
            repo: "tool".to_owned(),
            agent: "ada".to_owned(),
            task: None,
            fields: fields.as_object().cloned().unwrap_or_default(),
            prev: String::new(),
            hash: String::new(),
        }
    }

    #[test]
    fn every_event_that_comity_writes_has_a_sentence_of_its_own() {
        for name in Event::NAMES {
            let one = event(name, &json!({}));
            let it = Fields(&one);
            let told = of_task(&one, &it).or_else(|| of_people(&one, &it));
            assert!(told.or_else(|| of_runs(&one, &it)).is_some(), "{name} has no sentence");
        }
    }

    #[test]
    fn sentences_name_what_matters_and_reasons_stand_apart() {
        for (name, fields, said, reason) in [
            (
                "released",
                json!({"tag": "v1", "tasks": ["T1", "T2"]}),
                "released v1 with T1, T2",
                None,
            ),
            ("released", json!({"reason": "ill"}), "gave it back", Some("ill")),
            ("run_ended", json!({"run": "R1", "state": "stopped"}), "R1 has been stopped", None),
            (
                "message_sent",
                json!({"to": {"role": "critic"}, "text": "hi"}),
                "tells critic: hi",
                None,
            ),
            ("message_sent", json!({"to": "all", "text": "hi"}), "tells all: hi", None),
            (
                "merged",
                json!({"unmerged": "no code"}),
                "finished it without a merge",
                Some("no code"),
            ),
            (
                "directive_toggled",
                json!({"directive": "I1", "enabled": false}),
                "switched the directive I1 off",
                None,
            ),
            (
                "merge_probed",
                json!({"a": "R1", "b": "R2", "state": "conflict", "paths": ["x"]}),
                "R1 and R2: they conflict in x",
                None,
            ),
            (
                "deploy",
                json!({"reported": true, "text": "it is out"}),
                "reports deploy: it is out",
                None,
            ),
            ("moon_landing", json!({}), "moon landing", None),
            (
                "budget_set",
                json!({"scope": "repo", "per": "day", "usd": 10.0, "runs": 3}),
                "set the budget of repo, per day: $10.00 runs 3",
                None,
            ),
            (
                "budget_set",
                json!({"scope": "repo", "per": "day", "usd": null}),
                "removed the budget of repo, per day",
                None,
            ),
        ] {
            let event = event(name, &fields);
            assert_eq!((what(&event).as_str(), why(&event).as_deref()), (said, reason));
        }
    }
}

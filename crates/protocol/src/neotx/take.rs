//! Turns neo's decisions, directives, memories and tasks into comity's commands.

use super::records::{DECISION_KEYS, DIRECTIVE_KEYS, MEMORY_COLUMNS, Record, TASK_COLUMNS};
use crate::plan::{
    Earlier, LeftOut, Plan, Planned, Target, arrange, bounded, task_id, title, without_equal,
};
use comity_core::command::{NewDirective, NewMemory, NewTask, Question};
use comity_core::decision::{Addressee, DecisionOption, DecisionType, read_answer};
use comity_core::directive::Trigger;
use comity_core::directive_duration::End;
use comity_core::memory::MemoryType;
use comity_core::task::{Deliverable, Priority};
use comity_core::time::{Millis, Timestamp};
use serde_json::{Map, Value};

pub const PROVIDER: &str = "neo";
/// What the tags begin with that keep columns of a memory which callers may set.
const TAG: &str = "neo:";
const DEADLINE_MAX: Millis = Millis::from_secs(366 * 86_400);
/// Columns of a memory that callers may set and that have no field. Nothing else is ever read from a tag.
const TAGGED: &[&str] = &["source", "category", "severity", "outcome"];
const BESIDE: &[&str] = &[
    "source",
    "created_at",
    "last_accessed_at",
    "access_count",
    "outcome",
    "run_id",
    "category",
    "severity",
];

#[derive(Clone, Debug, PartialEq)]
pub struct TakenDecision {
    pub item: String,
    pub question: Question,
    pub answer: Option<String>,
    pub other: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TakenDirective {
    pub item: String,
    pub new: NewDirective,
    pub enabled: bool,
    pub other: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TakenMemory {
    pub item: String,
    pub new: NewMemory,
    pub other: Map<String, Value>,
}

fn time(record: &Record, key: &str) -> Option<Timestamp> {
    record.text(key).and_then(Timestamp::parse)
}

fn kept(record: &Record, always: &[&str], known: &[&str]) -> Record {
    let mut out = Record::new();
    for key in always {
        out.set(key, record.get(key).cloned().unwrap_or_default());
    }
    for (key, value) in record.others(known) {
        out.set(&key, value);
    }
    out
}

pub fn decision(record: &Record, now: Timestamp) -> Result<TakenDecision, String> {
    let item = record.text("id").ok_or("id is missing")?.to_owned();
    let question = record.text("question").ok_or("question is missing")?.to_owned();
    let options = options(record)?;
    let kind = record.text("type").unwrap_or("generic");
    let wanted = match (kind, options.is_empty()) {
        ("approval", true) => DecisionType::Approval,
        (_, true) => DecisionType::Free,
        (_, false) => DecisionType::Choice,
    };
    let mut kept = kept(record, &["createdAt", "expiresAt", "metadata"], DECISION_KEYS);
    if !is_whole(record.get("options"), &options) {
        kept.set("options", record.get("options").cloned().unwrap_or_default());
    }
    if record.text("source") != Some("supervisor") {
        kept.set("source", record.get("source").cloned().unwrap_or_default());
    }
    let answer = record.text("answer").map(str::to_owned);
    let default = record.text("defaultAnswer").map(str::to_owned);
    // neo takes any answer. If the answer is none of the options, the options are kept in the origin.
    let strange = |text: &String| read_answer(wanted, &options, text).is_err();
    let free = answer.as_ref().is_some_and(strange) || default.as_ref().is_some_and(strange);
    let (wanted, options) = if free && wanted != DecisionType::Free {
        kept.set("options", record.get("options").cloned().unwrap_or_default());
        (DecisionType::Free, Vec::new())
    } else {
        (wanted, options)
    };
    let by_itself = if wanted == DecisionType::Approval { "approval" } else { "generic" };
    if kind != by_itself {
        kept.set("type", kind);
    }
    for key in ["answeredAt", "expiredAt"] {
        kept.set(key, record.get(key).cloned().unwrap_or_default());
    }
    let expires = match (time(record, "expiresAt"), answer.is_some()) {
        // An answered question gets no deadline, so that it does not expire during the import.
        (_, true) | (None, false) => None,
        // A deadline beyond comity's limit becomes none; neo's value is kept in the origin.
        (Some(at), false) if at.since(now) > DEADLINE_MAX => None,
        (Some(at), false) => Some(Millis::from_ms(at.since(now).ms().max(1))),
    };
    Ok(TakenDecision {
        item,
        question: Question {
            question,
            task: None,
            options,
            kind: (wanted != DecisionType::Choice).then_some(wanted),
            context: record.text("context").map(str::to_owned),
            default,
            to: Some(Addressee::Planner),
            expires,
            proposes: None,
        },
        answer,
        other: kept.map().clone(),
    })
}

fn options(record: &Record) -> Result<Vec<DecisionOption>, String> {
    let list = match record.get("options") {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err("options must be a list".to_owned()),
    };
    let one = |(place, option): (usize, &Value)| {
        let text = |key: &str| option.get(key).and_then(Value::as_str).map(str::to_owned);
        let key = text("key").ok_or_else(|| format!("options[{place}].key is missing"))?;
        Ok(DecisionOption { key, label: text("label"), description: text("description") })
    };
    list.iter().enumerate().map(one).collect()
}

/// Tells whether options say nothing that has no field, and leave nothing out that is written for them.
fn is_whole(given: Option<&Value>, options: &[DecisionOption]) -> bool {
    let keys = |option: &Value| option.as_object().map_or(0, Map::len);
    let read = |option: &DecisionOption| 2 + usize::from(option.description.is_some());
    let list = given.and_then(Value::as_array).into_iter().flatten();
    list.zip(options).all(|(given, option)| option.label.is_some() && keys(given) == read(option))
}

pub fn directive(record: &Record) -> Result<TakenDirective, String> {
    let item = record.text("id").ok_or("id is missing")?.to_owned();
    let text = record.text("action").ok_or("action is missing")?.to_owned();
    let trigger = Trigger::parse(record.text("trigger").unwrap_or("idle"))
        .map_err(|refusal| refusal.message)?;
    let priority = match record.get("priority") {
        None => 0,
        // comity's lowest priority is 0, so a negative one becomes 0.
        Some(value) if value.as_f64().is_some_and(|rank| rank < 0.0) => 0,
        Some(value) => value.as_u64().ok_or_else(|| format!("priority {value} is no number"))?,
    };
    let kept = kept(record, &["createdAt", "lastTriggeredAt"], DIRECTIVE_KEYS);
    Ok(TakenDirective {
        item,
        new: NewDirective {
            text,
            trigger,
            priority,
            description: record.text("description").map(str::to_owned),
            duration: None,
            end: time(record, "expiresAt").map_or(End::Never, End::At),
        },
        enabled: record.get("enabled") != Some(&Value::Bool(false)),
        other: kept.map().clone(),
    })
}

pub fn memory(row: &Map<String, Value>, now: Timestamp) -> Result<TakenMemory, String> {
    let record = Record::from_map(row.clone());
    let item = record.text("id").ok_or("id is missing")?.to_owned();
    let text = record.text("content").ok_or("content is missing")?.to_owned();
    let kind = match (record.text("type").unwrap_or_default(), record.text("subtype")) {
        ("knowledge", Some("procedure")) | ("procedure", _) => MemoryType::Procedure,
        ("knowledge" | "fact", _) => MemoryType::Fact,
        ("warning" | "feedback", _) => MemoryType::Feedback,
        ("focus", _) => MemoryType::Focus,
        (other, _) => return Err(format!("there is no memory of the type {other:?}")),
    };
    let expires = match time(&record, "expires_at") {
        Some(at) if at <= now => return Err("it has expired".to_owned()),
        other => other.map(|at| at.since(now)).filter(|length| *length <= DEADLINE_MAX),
    };
    let tags = record.text("tags").unwrap_or("[]");
    let tags: Vec<String> =
        serde_json::from_str(tags).map_err(|_| "tags must be a list of texts".to_owned())?;
    let kept = kept(&record, BESIDE, MEMORY_COLUMNS);
    let scope = record.text("scope").map(str::to_owned);
    let new = NewMemory { text, kind, scope, tags, expires, task: None, supersedes: None };
    Ok(TakenMemory { item, new, other: kept.map().clone() })
}

pub fn column_tag(column: &str, value: &str) -> String {
    format!("{TAG}{column}={value}")
}

/// Divides the tags of a memory into people's own and the columns that are kept.
pub fn kept_columns(tags: &[String]) -> (Vec<String>, Record) {
    let (mut own, mut kept) = (Vec::new(), Record::new());
    for tag in tags {
        match tag.strip_prefix(TAG).and_then(|rest| rest.split_once('=')) {
            Some((column, value)) if TAGGED.contains(&column) => kept.set(column, value),
            _ => own.push(tag.clone()),
        }
    }
    (own, kept)
}

pub fn memory_words(kind: MemoryType) -> (&'static str, Option<&'static str>) {
    match kind {
        MemoryType::Fact => ("knowledge", Some("fact")),
        MemoryType::Procedure => ("knowledge", Some("procedure")),
        MemoryType::Feedback => ("warning", None),
        MemoryType::Focus => ("focus", None),
    }
}

/// Reads the rows of tasks as a plan; they may name those of earlier imports, and tasks that were exported.
pub fn tasks(rows: &[Map<String, Value>], earlier: &Earlier) -> Plan {
    let mut plan = Plan::default();
    for row in rows {
        let record = Record::from_map(row.clone());
        let Some(item) = record.text("id").map(str::to_owned) else {
            plan.left_out.push(LeftOut::new("?", "a task", "it has no id"));
            continue;
        };
        if plan.tasks.iter().any(|task| task.item == item) {
            continue;
        }
        let task = task(&item, &record, &mut plan.left_out);
        plan.tasks.push(task);
    }
    if !plan.tasks.is_empty() {
        let why = "the log has its own times: those of the import";
        plan.left_out.push(LeftOut::new("*", "created_at, updated_at of tasks", why));
    }
    arrange(plan, earlier)
}

fn priority(item: &str, record: &Record, left: &mut Vec<LeftOut>) -> Option<Priority> {
    let value = record.get("priority")?;
    let priority = value.as_str().and_then(|word| Priority::parse(word).ok());
    if priority.is_none() {
        let why = "it is none of critical, high, medium and low";
        left.push(LeftOut::new(item, format!("priority {value}"), why));
    }
    priority
}

fn task(item: &str, record: &Record, left: &mut Vec<LeftOut>) -> Planned {
    let mut context = Map::new();
    for (key, column) in [("scope", "scope"), ("retrieve", "context")] {
        if let Some(text) = record.text(column) {
            let text = bounded(item, column, text.to_owned(), left);
            context.insert(key.to_owned(), Value::from(text));
        }
    }
    let mut new = NewTask {
        id: Some(task_id("neo", item)),
        title: title(item, record.text("title").unwrap_or("(no title)"), left),
        priority: priority(item, record, left),
        initiative: record.text("initiative").map(str::to_owned),
        deliverable: Deliverable::None,
        context,
        ..NewTask::default()
    };
    let status = record.text("status").unwrap_or("pending");
    let why = format!("{status} in neo");
    let target = match status {
        "done" => Target::Done { why },
        "blocked" => Target::Blocked { needs: "it is blocked in neo".to_owned() },
        "abandoned" => Target::Abandoned { why },
        "pending" => Target::Queued,
        other => {
            without_equal(item, other, left);
            if other != "in_progress" {
                new.blockers.push(bounded(item, "the blocker", format!("{other} in neo"), left));
            }
            Target::Queued
        }
    };
    for (column, _) in record.others(TASK_COLUMNS) {
        left.push(LeftOut::new(item, format!("column {column}"), "a task has no such field"));
    }
    let run = record.text("run_id").map(|run| ("run".to_owned(), run.to_owned()));
    Planned {
        item: item.to_owned(),
        new,
        depends_on: record.text("depends_on").map(str::to_owned).into_iter().collect(),
        links: run.into_iter().collect(),
        target,
        ..Planned::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::Lines;
    use super::*;
    use serde_json::json;

    const NOW: i64 = 1_767_225_600_000;

    fn decisions() -> Vec<TakenDecision> {
        let text = include_str!("../../tests/golden/neotx/decisions.jsonl");
        let now = Timestamp::from_ms(NOW + 86_400_000 * 3);
        let lines = Lines::read(text.as_bytes());
        lines.records().into_iter().map(|record| decision(record, now).unwrap()).collect()
    }

    #[test]
    fn decisions_become_questions_with_what_has_no_field_beside_them() {
        let taken = decisions();
        let first = &taken[0].question;
        assert_eq!(first.options.len(), 2);
        assert_eq!(first.default.as_deref(), Some("sqlite"));
        assert_eq!(first.expires, None, "a deadline in a hundred years");
        assert_eq!(first.context.as_deref(), Some("Ten users"), "nothing stands in the text");
        assert_eq!(taken[0].item, "dec_0123456789abcdef0123");
        assert_eq!(taken[0].other["metadata"], json!({"ticketId": "X-1"}));
        assert_eq!(taken[1].question.kind, Some(DecisionType::Approval));
        assert_eq!(taken[2].other["colour"], "blue");
        assert_eq!(taken[2].other["source"], "developer");
        assert_eq!(taken[2].answer.as_deref(), Some("only X"));
        assert_eq!(taken[3].question.expires, Some(Millis::from_ms(1)), "long expired");
    }

    #[test]
    fn an_answer_that_is_no_option_is_free_text_with_the_options_kept() {
        let record = Record::new()
            .with("id", "dec_1")
            .with("question", "q")
            .with("options", json!([{"key": "a", "label": "A"}]))
            .with("answer", "neither");
        let taken = decision(&record, Timestamp::from_ms(NOW)).unwrap();
        assert_eq!(taken.question.kind, Some(DecisionType::Free));
        assert_eq!(taken.other["options"], json!([{"key": "a", "label": "A"}]));
        assert!(decision(&Record::new(), Timestamp::from_ms(NOW)).is_err());
    }

    #[test]
    fn options_that_say_more_or_less_than_a_field_has_are_kept_as_they_came() {
        let plain =
            json!([{"key": "a", "label": "A", "description": "d"}, {"key": "b", "label": "B"}]);
        for (options, kept) in [
            (plain, false),
            (json!([{"key": "a"}]), true),
            (json!([{"key": "a", "label": "A", "colour": "red"}]), true),
        ] {
            let record = Record::new().with("id", "dec_1").with("question", "q");
            let taken =
                decision(&record.with("options", options), Timestamp::from_ms(NOW)).unwrap();
            assert_eq!(taken.other.contains_key("options"), kept, "{:?}", taken.other);
            assert_eq!(taken.question.options[0].key, "a");
        }
    }

    #[test]
    fn a_word_of_neos_that_has_no_place_is_listed_and_an_unknown_state_is_kept_back() {
        let row = json!({"id": "mem_a", "title": "t", "status": "paused", "priority": "urgent"});
        let plan = tasks(&[row.as_object().unwrap().clone()], &Earlier::default());
        let left: Vec<&str> = plan.left_out.iter().map(|left| left.what.as_str()).collect();
        assert_eq!(left[..2], ["priority \"urgent\"", "status paused"]);
        assert_eq!(plan.tasks[0].new.blockers, ["paused in neo"]);
    }

    #[test]
    fn memories_keep_their_columns_beside_them_and_only_what_callers_may_set_is_a_tag() {
        let row = json!({"id": "mem_1", "type": "knowledge", "subtype": "procedure", "scope": "/srv",
            "content": "run it", "source": "developer", "tags": "[\"ci\"]", "access_count": 7,
            "created_at": "2026-01-01T00:00:00.000Z", "expires_at": null});
        let taken = memory(row.as_object().unwrap(), Timestamp::from_ms(NOW)).unwrap();
        assert_eq!(taken.new.kind, MemoryType::Procedure);
        assert_eq!(taken.new.tags, ["ci"]);
        assert_eq!(
            (&taken.other["source"], &taken.other["access_count"]),
            (&json!("developer"), &json!(7))
        );
        let tags = ["neo:id=mem_2", "neo:created_at=x", "neo:outcome=good"].map(str::to_owned);
        let (own, kept) = kept_columns(&tags);
        assert_eq!((own.len(), kept.text("id"), kept.text("outcome")), (2, None, Some("good")));
        for bad in [json!({}), json!({"id": "m", "content": "c", "type": "episode"})] {
            assert!(memory(bad.as_object().unwrap(), Timestamp::from_ms(NOW)).is_err());
        }
    }

    #[test]
    fn directives_and_tasks_are_read() {
        let text = include_str!("../../tests/golden/neotx/directives.jsonl");
        let taken: Vec<TakenDirective> = Lines::read(text.as_bytes())
            .records()
            .into_iter()
            .map(|it| directive(it).unwrap())
            .collect();
        assert_eq!((taken[0].new.priority, taken[0].enabled), (5, true));
        assert_eq!((taken[1].new.trigger, taken[1].enabled), (Trigger::Startup, false));
        let last = Record::new().with("id", "dir_1").with("action", "a").with("priority", -3);
        assert_eq!(directive(&last).unwrap().new.priority, 0, "last there is last here");
        let row = |id: &str, status: &str, on: Value| {
            let value = json!({"id": id, "title": id, "scope": "/srv", "status": status,
                "priority": "high", "depends_on": on, "run_id": "r1"});
            value.as_object().unwrap().clone()
        };
        let rows = [
            row("mem_a", "done", Value::Null),
            row("mem_b", "in_progress", json!("mem_a")),
            row("mem_c", "abandoned", json!("mem_zzz")),
        ];
        let plan = tasks(&rows, &Earlier::default());
        let states: Vec<&str> = plan.tasks.iter().map(|task| task.target.as_str()).collect();
        assert_eq!(states, ["done", "queued", "abandoned"]);
        assert_eq!(plan.tasks[1].depends_on, ["mem_a"]);
        assert_eq!(plan.left_out.len(), 3);
    }
}

//! beads: `issues.jsonl`, one issue a line, read as a plan of tasks.

use crate::plan::{
    Earlier, Fields, ITEMS_MAX, LeftOut, Plan, Planned, Problem, Reading, Target, add_part,
    bounded, leave, locate, notes, one_line, repeated, requirements, task_id, title, without_equal,
};
use comity_core::command::NewTask;
use comity_core::ids::AgentId;
use comity_core::limits::{LIST_ENTRIES_MAX, WORD_BYTES_MAX};
use comity_core::task::{Deliverable, Priority};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

pub const PROVIDER: &str = "beads";

/// What is kept with the task as a reference, for want of a field of its own.
const REFERENCES: [&str; 4] = ["external_ref", "created_by", "owner", "work_type"];

const TIMES: [&str; 3] = ["created_at", "updated_at", "closed_at"];

/// What is read of a comment; its number names nothing here.
const COMMENT_KEYS: [&str; 5] = ["id", "issue_id", "author", "text", "created_at"];

const LINK_KEYS: [&str; 4] = ["issue_id", "depends_on_id", "id", "type"];

/// Who made a link, and when: what every link has and none can be given here.
const LINK_TIMES: [(&str, &str); 2] =
    [("created_at", "created_at of dependencies"), ("created_by", "created_by of dependencies")];

/// Reads `issues.jsonl`; its issues may name those of earlier imports. Everything that is wrong with it comes back at
/// once.
pub fn read(text: &str, earlier: &Earlier) -> Result<Plan, Vec<Problem>> {
    let mut reader = Reader { earlier, read: Reading::default() };
    let mut seen = Seen::new();
    for (place, line) in text.lines().enumerate() {
        let number = place + 1;
        let line = line.trim_start_matches('\u{feff}');
        if line.trim().is_empty() {
            continue;
        }
        if reader.read.plan.tasks.len() >= ITEMS_MAX {
            reader.read.problem(
                "",
                Some(number),
                format!("the file has more than {ITEMS_MAX} issues"),
            );
            break;
        }
        let before = reader.read.problems.len();
        reader.line(line, number, &mut seen);
        locate(line, number, reader.read.problems.get_mut(before..).unwrap_or_default());
    }
    infer_parents(&mut reader.read.plan.tasks, earlier);
    reader.read.finish(earlier)
}

type Seen = BTreeMap<String, (usize, Map<String, Value>)>;

struct Reader<'e> {
    earlier: &'e Earlier,
    read: Reading,
}

impl Reader<'_> {
    fn line(&mut self, line: &str, number: usize, seen: &mut Seen) {
        let map = match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(map)) => map,
            Ok(_) => return self.read.problem("", Some(number), "each line must be an object"),
            Err(error) => return self.read.problems.push(Problem::json(&error, number)),
        };
        self.read.problems.extend(repeated(line, number));
        let id = map.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        match seen.get(&id) {
            Some((_, before)) if *before == map => {}
            Some((first, _)) => {
                let what = format!("line {first} already has {id}, with other values");
                self.read.problem("", Some(number), what);
            }
            None => {
                if !id.is_empty() {
                    seen.insert(id, (number, map.clone()));
                }
                self.issue(map, number);
            }
        }
    }

    fn issue(&mut self, map: Map<String, Value>, line: usize) {
        let left = &mut self.read.plan.left_out;
        let mut fields = Fields::new(map, "", Some(line), &mut self.read.problems);
        if let Some(other) = fields.text("_type").filter(|kind| kind != "issue") {
            left.push(LeftOut::new(format!("line {line}"), other, "only issues become tasks"));
            return;
        }
        let (id, heading) = (fields.required("id"), fields.required("title"));
        let status = fields.text("status").unwrap_or_else(|| "open".to_owned());
        let (Some(id), heading) = (id, heading) else { return };
        if status == "tombstone" || fields.take("deleted_at").is_some() {
            let why = match self.earlier.task_of(&id) {
                Some(task) => format!("it was deleted; {task} can be abandoned"),
                None => "it was deleted".to_owned(),
            };
            left.push(LeftOut::new(id, "the issue", why));
            return;
        }
        let mut new = new_task(&id, &heading.unwrap_or_default(), &mut fields, left);
        let assignee = fields.text("assignee");
        let reason = fields.text("close_reason");
        let deferred = fields.text("defer_until");
        let target = state(&id, &status, reason, assignee.as_deref(), left);
        outside_reason(&id, &status, deferred, &mut new, left);
        reserve(&id, assignee, &target, &mut new, left);
        let notes = comments(&id, &mut fields, left);
        let mut task = Planned { item: id, new, notes, target, ..Planned::default() };
        for key in REFERENCES {
            let value = fields.text(key).and_then(|text| one_line(&task.item, key, &text, left));
            task.links.extend(value.map(|value| (key.to_owned(), value)));
        }
        dependencies(&mut fields, &mut task, left, &mut self.read.times);
        leave(fields, &task.item, &TIMES, &mut self.read.times, left);
        self.read.plan.tasks.push(task);
    }
}

fn new_task(id: &str, heading: &str, fields: &mut Fields<'_>, left: &mut Vec<LeftOut>) -> NewTask {
    let kind = fields.text("issue_type").or_else(|| fields.text("type"));
    let criteria = fields.text("acceptance_criteria").unwrap_or_default();
    let epic = kind.as_deref() == Some("epic");
    let mut text = fields.text("description").unwrap_or_default();
    for (field, heading) in [("design", "Design"), ("notes", "Notes")] {
        add_part(&mut text, heading, &fields.text(field).unwrap_or_default());
    }
    NewTask {
        id: Some(task_id("bd", id)),
        title: title(id, heading, left),
        description: bounded(id, "the description", text, left),
        priority: priority(fields),
        kind: kind.and_then(|text| one_line(id, "the type", &text, left)),
        labels: labels(id, fields.texts("labels"), left),
        requirements: requirements(id, &criteria, left),
        deliverable: if epic { Deliverable::None } else { Deliverable::default() },
        ..NewTask::default()
    }
}

fn priority(fields: &mut Fields<'_>) -> Option<Priority> {
    let value = fields.take("priority")?;
    match value.as_u64() {
        Some(rank @ 0..=4) => u8::try_from(rank).ok().map(Priority::from_rank),
        _ => {
            fields.problem("priority", format!("must be a number from 0 to 4, not {value}"));
            None
        }
    }
}

pub(crate) fn labels(id: &str, given: Vec<String>, left: &mut Vec<LeftOut>) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for label in given {
        let label = label.trim().to_owned();
        let fits = !label.is_empty()
            && label.len() <= WORD_BYTES_MAX
            && !label.chars().any(char::is_control)
            && labels.len() < LIST_ENTRIES_MAX;
        if !fits {
            let why = "a label is one line of at most 200 bytes, and a task has at most 200 labels";
            left.push(LeftOut::new(id, format!("label {:?}", crate::plan::short(&label)), why));
        } else if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

fn state(
    id: &str,
    status: &str,
    reason: Option<String>,
    assignee: Option<&str>,
    left: &mut Vec<LeftOut>,
) -> Target {
    match status {
        "closed" => {
            let by = assignee.map(|who| format!(" (assignee {who})")).unwrap_or_default();
            let said = reason.map(|text| format!(": {text}")).unwrap_or_default();
            let why = format!("closed in beads{by}{said}");
            return Target::Done { why: bounded(id, "the reason", why, left) };
        }
        "blocked" => return Target::Blocked { needs: "it is blocked in beads".to_owned() },
        "open" | "deferred" => {}
        other => without_equal(id, other, left),
    }
    if let Some(text) = reason {
        left.push(LeftOut::new(id, format!("close_reason {text:?}"), "the issue is not closed"));
    }
    Target::Queued
}

/// Keeps back what is on ice, and what is in a state that we do not know.
fn outside_reason(
    id: &str,
    status: &str,
    until: Option<String>,
    new: &mut NewTask,
    left: &mut Vec<LeftOut>,
) {
    let text = match (status, until) {
        ("closed", Some(until)) => {
            let what = format!("defer_until {until}");
            return left.push(LeftOut::new(id, what, "the issue is closed"));
        }
        (_, Some(until)) => format!("deferred in beads until {until}"),
        ("open" | "in_progress" | "hooked" | "blocked" | "closed", None) => return,
        (other, None) => format!("{other} in beads"),
    };
    new.blockers.push(bounded(id, "the blocker", text, left));
}

pub(crate) fn reserve(
    id: &str,
    assignee: Option<String>,
    target: &Target,
    new: &mut NewTask,
    left: &mut Vec<LeftOut>,
) {
    // What is settled or before a critic is reserved for nobody; the reason of the step says who had it.
    let open = matches!(target, Target::Queued | Target::Blocked { .. });
    let Some(who) = assignee.filter(|_| open) else { return };
    match AgentId::parse(who.trim()) {
        Ok(agent) => new.assignee = Some(agent),
        Err(_) => {
            let why = "this is no agent's id, so the task is reserved for nobody";
            left.push(LeftOut::new(id, format!("assignee {who:?}"), why));
        }
    }
}

fn comments(id: &str, fields: &mut Fields<'_>, left: &mut Vec<LeftOut>) -> Vec<String> {
    let mut said_there = Vec::new();
    for (place, value) in fields.list("comments").into_iter().enumerate() {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        unknown(id, &format!("comments[{place}]"), &value, &COMMENT_KEYS, left);
        match text("text") {
            Some(said) if said.trim().is_empty() => {
                left.push(LeftOut::new(id, format!("comments[{place}]"), "the comment is empty"));
            }
            Some(said) => {
                let author = text("author").unwrap_or_else(|| "somebody".to_owned());
                let at = text("created_at").map(|at| format!(", {at}")).unwrap_or_default();
                said_there.push(format!("Comment in beads by {author}{at}: {said}"));
            }
            None => fields.problem(&format!("comments[{place}].text"), "text is missing"),
        }
    }
    notes(id, said_there, left)
}

fn dependencies(
    fields: &mut Fields<'_>,
    task: &mut Planned,
    left: &mut Vec<LeftOut>,
    times: &mut BTreeSet<&'static str>,
) {
    for (place, mut value) in fields.list("dependencies").into_iter().enumerate() {
        for (key, named) in LINK_TIMES {
            let there = value.as_object_mut().and_then(|link| link.shift_remove(key));
            times.extend(there.map(|_| named));
        }
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let given = value.as_str().map(str::to_owned);
        unknown(&task.item, &format!("dependencies[{place}]"), &value, &LINK_KEYS, left);
        let Some(on) = given.or_else(|| text("depends_on_id")).or_else(|| text("id")) else {
            let path = format!("dependencies[{place}].depends_on_id");
            fields.problem(&path, "depends_on_id is missing");
            continue;
        };
        // A link is kept with the issue that it starts from.
        if text("issue_id").is_some_and(|from| from != task.item) {
            let what = format!("dependencies[{place}]");
            left.push(LeftOut::new(&task.item, what, "the link starts from another issue"));
            continue;
        }
        let kind = text("type").unwrap_or_else(|| "blocks".to_owned());
        match kind.as_str() {
            "blocks" | "blocked-by" | "waits-for" => task.depends_on.push(on),
            "parent-child" if task.parent.is_none() => task.parent = Some(on),
            "parent-child" => left.push(LeftOut::new(
                &task.item,
                format!("parent {on}"),
                "a task has at most one parent",
            )),
            other => left.push(LeftOut::new(
                &task.item,
                format!("link {other} to {on}"),
                "comity takes over only blocks, blocked-by, waits-for and parent-child",
            )),
        }
    }
}

/// Lists what is said in a comment or a link besides what is read of it.
fn unknown(item: &str, path: &str, value: &Value, known: &[&str], left: &mut Vec<LeftOut>) {
    let Some(map) = value.as_object() else { return };
    let nothing = |value: &Value| matches!(value, Value::Null) || *value == "" || *value == "{}";
    for (key, _) in
        map.iter().filter(|(key, value)| !known.contains(&key.as_str()) && !nothing(value))
    {
        left.push(LeftOut::new(item, format!("{path}.{key}"), "comity has no field for it"));
    }
}

/// `bd-1.2` is a part of `bd-1` also where no link says so.
fn infer_parents(tasks: &mut [Planned], earlier: &Earlier) {
    let known: BTreeSet<String> = tasks.iter().map(|task| task.item.clone()).collect();
    for task in tasks {
        if task.parent.is_some() {
            continue;
        }
        let parent = task
            .item
            .rsplit_once('.')
            .filter(|(_, part)| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
        task.parent = parent
            .map(|(parent, _)| parent.to_owned())
            .filter(|parent| known.contains(parent) || earlier.has(parent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = include_str!("../tests/golden/beads/issues.jsonl");

    fn read(text: &str) -> Result<Plan, Vec<Problem>> {
        super::read(text, &Earlier::default())
    }

    fn task<'a>(plan: &'a Plan, item: &str) -> &'a Planned {
        plan.tasks.iter().find(|task| task.item == item).unwrap()
    }

    #[test]
    fn issues_become_tasks_with_links_and_states() {
        let plan = read(FILE).unwrap();
        let items: Vec<&str> = plan.tasks.iter().map(|task| task.item.as_str()).collect();
        assert_eq!(items, ["bd-1", "bd-1.1", "bd-1.2", "bd-a1b2", "bd-ice", "bd-odd", "bd-stop"]);
        let part = task(&plan, "bd-1.2");
        assert_eq!(part.parent.as_deref(), Some("bd-1"));
        assert_eq!(part.depends_on, ["bd-1.1"]);
        assert_eq!(part.new.priority, Some(Priority::from_rank(0)));
        assert_eq!(part.new.requirements, ["GET /users answers", "bad ids answer 404"]);
        assert_eq!(
            part.new.description,
            "Serve users.\n\n## Design\n\nA table.\n\n## Notes\n\nSoon."
        );
        assert_eq!(part.new.assignee.as_ref().map(AgentId::as_str), Some("ann"));
        assert_eq!(
            part.notes,
            ["Comment in beads by ann, 2026-01-04T10:00:00Z: Half of it is there."]
        );
        let closed = task(&plan, "bd-1.1");
        assert_eq!(
            closed.target,
            Target::Done { why: "closed in beads (assignee bob): merged".to_owned() }
        );
        assert_eq!(closed.links, [("external_ref".to_owned(), "gh-9".to_owned())]);
        assert_eq!(task(&plan, "bd-ice").new.blockers, ["deferred in beads until 2026-09-01"]);
        assert_eq!(task(&plan, "bd-odd").new.blockers, ["awaiting_qa in beads"]);
        assert!(matches!(task(&plan, "bd-stop").target, Target::Blocked { .. }));
    }

    #[test]
    fn what_has_no_place_is_listed() {
        let plan = read(FILE).unwrap();
        let left: Vec<String> =
            plan.left_out.iter().map(|left| format!("{}: {}", left.item, left.what)).collect();
        assert_eq!(
            left,
            [
                "bd-1.1: field estimated_minutes",
                "bd-1.2: the line breaks of the title",
                "bd-1.2: status in_progress",
                "bd-a1b2: link related to bd-1",
                "bd-a1b2: link discovered-from to bd-1.1",
                "bd-odd: status awaiting_qa",
                "bd-gone: the issue",
                "*: closed_at, created_at, created_at of dependencies, created_by of dependencies, updated_at",
                "bd-a1b2: dependency on bd-missing",
            ]
        );
    }

    #[test]
    fn every_problem_comes_at_once_with_its_line() {
        let text = "{\"id\":\"a\",\"title\":\"x\",\"priority\":9}\n{oops\n[]\n{\"title\":\"no id\"}\n\
                    {\"id\":\"b\",\"title\":\"y\"}\n{\"id\":\"b\",\"title\":\"z\"}\n\
                    {\"id\":\"c\",\"title\":\"t\",\"labels\":[1],\"dependencies\":[{}]}";
        let problems = read(text).unwrap_err();
        let said: Vec<String> = problems
            .iter()
            .map(|p| format!("{}:{} {}", p.line.unwrap(), p.path, p.message))
            .collect();
        assert_eq!(
            said,
            [
                "1:priority must be a number from 0 to 4, not 9",
                "2: not valid JSON: key must be a string",
                "3: each line must be an object",
                "4:id id is missing",
                "6: line 5 already has b, with other values",
                "7:labels[0] must be a text, not a number",
                "7:dependencies[0].depends_on_id depends_on_id is missing",
            ]
        );
    }

    #[test]
    fn every_problem_has_its_column() {
        let text = "{\"id\":\"a\",\"title\":\"é\",\"priority\":9,\"labels\":[\"x\", 1]}\n[]\n\
                    {\"id\":\"b\",\"title\":\"y\",\"title\":\"z\"}\n  {\"title\":\"no id\"}";
        let said: Vec<String> = read(text)
            .unwrap_err()
            .iter()
            .map(|p| format!("{}:{} {} {}", p.line.unwrap(), p.column.unwrap(), p.path, p.message))
            .collect();
        assert_eq!(
            said,
            [
                "1:34 priority must be a number from 0 to 4, not 9",
                "1:51 labels[1] must be a text, not a number",
                "2:1  each line must be an object",
                "3:23 title the key is given twice; which value counts?",
                "4:3 id id is missing",
            ]
        );
    }

    #[test]
    fn what_does_not_fit_is_cut_or_left_out_and_the_issue_stays() {
        let long = "x".repeat(70_000);
        let text = format!(
            "{{\"id\":\"a\",\"title\":\"t\",\"status\":\"closed\",\"defer_until\":\"2030-01-01\",\
             \"acceptance_criteria\":\"{long}\",\"issue_type\":\"a\\nb\",\"external_ref\":\"{long}\",\
             \"close_reason\":\"{long}\",\"comments\":[{{\"author\":\"ann\",\"text\":\"{long}\"}}],\
             \"description\":\"\\u001b[1mbold\"}}"
        );
        let plan = read(&text).unwrap();
        let issue = task(&plan, "a");
        assert!(issue.new.blockers.is_empty(), "what is closed is not on ice");
        assert_eq!(issue.new.kind.as_deref(), Some("a b"));
        assert_eq!(issue.new.description, "[1mbold");
        let left: Vec<&str> = plan.left_out.iter().map(|left| left.what.as_str()).collect();
        assert_eq!(
            left,
            [
                "1 control characters of the description",
                "the line breaks of the type",
                "the end of the acceptance criteria",
                "the end of the reason",
                "defer_until 2030-01-01",
                "the end of comment 1",
                "the end of external_ref",
            ]
        );
    }

    #[test]
    fn a_comment_that_says_nothing_is_listed_and_the_rest_is_taken() {
        let text =
            "{\"id\":\"a\",\"title\":\"t\",\"comments\":[{\"text\":\" \"},{\"text\":\"hi\"}]}";
        let plan = read(text).unwrap();
        assert_eq!(task(&plan, "a").notes, ["Comment in beads by somebody: hi"]);
        assert_eq!(plan.left_out[0].what, "comments[0]");
    }

    #[test]
    fn what_is_said_in_links_and_comments_besides_is_listed() {
        let text = "{\"id\":\"a\",\"title\":\"t\",\"comments\":[{\"id\":7,\"text\":\"hi\",\"mood\":\"x\"}],\
                    \"dependencies\":[{\"issue_id\":\"a\",\"depends_on_id\":\"b\",\"type\":\"blocks\",\
                    \"created_by\":\"ann\",\"metadata\":\"{}\",\"thread_id\":\"t-1\"}]}\n\
                    {\"id\":\"b\",\"title\":\"u\"}";
        let plan = read(text).unwrap();
        let left: Vec<&str> = plan.left_out.iter().map(|left| left.what.as_str()).collect();
        assert_eq!(
            left,
            ["comments[0].mood", "dependencies[0].thread_id", "created_by of dependencies"]
        );
    }

    #[test]
    fn the_same_line_twice_is_one_issue() {
        let line = "{\"id\":\"a\",\"title\":\"x\"}";
        assert_eq!(read(&format!("\u{feff}{line}\n\n{line}\n")).unwrap().tasks.len(), 1);
        assert_eq!(read("").unwrap(), Plan::default());
    }
}

//! Task Master: `tasks.json`, tagged (`{"master":{"tasks":[…]}}`) or plain (`{"tasks":[…]}`), read as a plan.

use crate::beads::{labels, reserve};
use crate::plan::{
    Earlier, Fields, ITEMS_MAX, LeftOut, Plan, Planned, Problem, Reading, Target, add_part,
    bounded, leave, locate, one_line, repeated, requirements, task_id, title, without_equal,
};
use comity_core::command::NewTask;
use comity_core::ids::TaskId;
use comity_core::limits::PATTERNS_MAX;
use comity_core::pattern::Pattern;
use comity_core::task::Priority;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

pub const PROVIDER: &str = "taskmaster";

const MAIN_TAG: &str = "master";

const TIMES: [&str; 3] = ["createdAt", "updatedAt", "previousStatus"];

const PARTS: [(&str, &str); 6] = [
    ("details", "Details"),
    ("implementationApproach", "Approach"),
    ("codebasePatterns", "Patterns of the code"),
    ("technicalConstraints", "Technical constraints"),
    ("testStrategy", "Test strategy"),
    ("complexityReasoning", "Complexity"),
];

/// Reads `tasks.json`; its items may name those of earlier imports. Everything that is wrong with it comes back at once.
pub fn read(text: &str, earlier: &Earlier) -> Result<Plan, Vec<Problem>> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = Reader::default();
    let value = serde_json::from_str::<Value>(text);
    if value.is_ok() {
        reader.read.problems.extend(repeated(text, 1));
    }
    match value {
        Ok(Value::Object(map)) if map.get("tasks").is_some_and(Value::is_array) => {
            reader.tag(MAIN_TAG, "", map);
        }
        Ok(Value::Object(map)) => reader.tags(map),
        Ok(_) => reader.read.problem("", None, "must be an object with tasks or with tags"),
        Err(error) => reader.read.problems.push(Problem::json(&error, 1)),
    }
    locate(text, 1, &mut reader.read.problems);
    reader.read.finish(earlier)
}

#[derive(Default)]
struct Reader {
    read: Reading,
    seen: BTreeSet<String>,
}

#[derive(Default)]
struct Place<'a> {
    tag: &'a str,
    path: String,
    parent: Option<&'a str>,
    siblings: BTreeSet<String>,
}

/// The whole id of a subtask: it may carry its parent's number already.
fn inside(parent: &str, id: &str) -> String {
    if id.contains('.') { id.to_owned() } else { format!("{parent}.{id}") }
}

impl Place<'_> {
    fn item(&self, id: &str) -> String {
        if self.tag == MAIN_TAG { id.to_owned() } else { format!("{}:{id}", self.tag) }
    }

    /// What a dependency means: an item of the tag that it names, else a neighbour among the subtasks, else an item of
    /// this tag.
    fn names(&self, id: &str) -> String {
        if let Some((tag, id)) = id.rsplit_once(':') {
            return Place { tag, ..Place::default() }.item(id);
        }
        let beside = self.parent.map(|parent| inside(parent, id));
        match beside.filter(|full| self.siblings.contains(full)) {
            Some(full) => self.item(&full),
            None => self.item(id),
        }
    }
}

impl Reader {
    fn tags(&mut self, map: Map<String, Value>) {
        if !map.values().any(|tag| tag.get("tasks").is_some()) {
            let why = "the file has neither `tasks` nor a tag with tasks";
            return self.read.problem("", None, why);
        }
        for (tag, value) in map {
            match value {
                Value::Object(inner) if inner.contains_key("tasks") => {
                    self.tag(&tag, &format!("{tag}."), inner);
                }
                _ => self.read.plan.left_out.push(LeftOut::new(
                    "*",
                    tag,
                    "it is not a tag with tasks",
                )),
            }
        }
    }

    fn tag(&mut self, tag: &str, path: &str, mut map: Map<String, Value>) {
        match map.shift_remove("tasks") {
            Some(Value::Array(tasks)) => {
                let place = Place { tag, path: format!("{path}tasks"), ..Place::default() };
                self.items(tasks, &place);
            }
            _ => self.read.problem(&format!("{path}tasks"), None, "must be a list"),
        }
        for (field, _) in map {
            let what = format!("{path}{field}");
            self.read.plan.left_out.push(LeftOut::new("*", what, "comity takes over only tasks"));
        }
    }

    fn items(&mut self, values: Vec<Value>, place: &Place<'_>) {
        for (number, value) in values.into_iter().enumerate() {
            let path = format!("{}[{number}]", place.path);
            if self.read.plan.tasks.len() >= ITEMS_MAX {
                return self.read.problem(
                    &path,
                    None,
                    format!("the file has more than {ITEMS_MAX} tasks"),
                );
            }
            match value {
                Value::Object(map) => self.item(map, &path, place),
                _ => self.read.problem(&path, None, "must be an object"),
            }
        }
    }

    fn item(&mut self, map: Map<String, Value>, path: &str, place: &Place<'_>) {
        let left = &mut self.read.plan.left_out;
        let mut fields = Fields::new(map, path, None, &mut self.read.problems);
        let (id, heading) = (fields.id("id"), fields.required("title"));
        let subtasks = fields.list("subtasks");
        let Some(id) = id else { return };
        let id = place.parent.map_or_else(|| id.clone(), |parent| inside(parent, &id));
        let id = unrepeated(&id, place, &mut self.seen, left);
        let item = place.item(&id);
        let status = fields.text("status").unwrap_or_else(|| "pending".to_owned());
        let mut new = fields_of(&item, &mut fields, left);
        new.id = Some(given_id(place.tag, &id));
        new.title = title(&item, &heading.unwrap_or_default(), left);
        let tag = Some(place.tag).filter(|tag| *tag != MAIN_TAG);
        new.initiative = tag.and_then(|tag| one_line(&item, "the tag", tag, left));
        let assignee = fields.text("assignee");
        let target = state(&item, &status, assignee.as_deref(), &mut new, left);
        reserve(&item, assignee, &target, &mut new, left);
        let depends_on = dependencies(&mut fields, place);
        for repeated in ["parentId", "parentTaskId"] {
            fields.take(repeated);
        }
        leave(fields, &item, &TIMES, &mut self.read.times, left);
        self.read.plan.tasks.push(Planned {
            item,
            new,
            depends_on,
            parent: place.parent.map(|parent| place.item(parent)),
            target,
            ..Planned::default()
        });
        self.subtasks(subtasks, path, place.tag, &id);
    }

    fn subtasks(&mut self, values: Vec<Value>, path: &str, tag: &str, parent: &str) {
        let id = |value: &Value| match value.get("id") {
            Some(Value::Number(number)) => Some(inside(parent, &number.to_string())),
            Some(Value::String(text)) => Some(inside(parent, text.trim())),
            _ => None,
        };
        let siblings = values.iter().filter_map(id).collect();
        let path = format!("{path}.subtasks");
        // The format has one level of parts; a deeper one is refused before it could go on for ever.
        if parent.matches('.').count() > 8 {
            return self.read.problem(&path, None, "subtasks are nested too deep");
        }
        self.items(values, &Place { tag, path, parent: Some(parent), siblings });
    }
}

/// The tool itself has written files in which several items share an id: the first one keeps it.
fn unrepeated(
    id: &str,
    place: &Place<'_>,
    seen: &mut BTreeSet<String>,
    left: &mut Vec<LeftOut>,
) -> String {
    let mut given = id.to_owned();
    let mut count = 1;
    while !seen.insert(place.item(&given)) {
        count += 1;
        given = format!("{id}-{count}");
    }
    if count > 1 {
        let why = format!("an earlier item has the id {}", place.item(id));
        left.push(LeftOut::new(place.item(&given), format!("id {}", place.item(id)), why));
    }
    given
}

fn given_id(tag: &str, id: &str) -> String {
    if tag == MAIN_TAG {
        return task_id("tm", id);
    }
    let plain = format!("tm-{tag}-{id}");
    if TaskId::parse(&plain).is_ok() { plain } else { task_id("tm", &format!("{tag}-{id}")) }
}

fn fields_of(item: &str, fields: &mut Fields<'_>, left: &mut Vec<LeftOut>) -> NewTask {
    let mut description = fields.text("description").unwrap_or_default();
    for (field, heading) in PARTS {
        add_part(&mut description, heading, &text_or_list(fields, field));
    }
    let (files, about) = files(item, fields, left);
    add_part(&mut description, "Relevant files", &about.join("\n"));
    NewTask {
        description: bounded(item, "the description", description, left),
        priority: priority(fields),
        kind: fields.text("category").and_then(|text| one_line(item, "category", &text, left)),
        complexity: complexity(item, fields, left),
        labels: labels(item, fields.texts("tags"), left),
        requirements: requirements(item, &text_or_list(fields, "acceptanceCriteria"), left),
        files,
        ..NewTask::default()
    }
}

/// A field that is a text in one layout and a list in the other.
fn text_or_list(fields: &mut Fields<'_>, field: &str) -> String {
    match fields.take(field) {
        Some(Value::String(text)) => text,
        Some(Value::Array(values)) => {
            let line = |value: &Value| match value {
                Value::String(text) => format!("- {text}"),
                other => format!("- {other}"),
            };
            values.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        Some(other) => {
            fields.problem(field, format!("must be a text or a list, not {other}"));
            String::new()
        }
        None => String::new(),
    }
}

fn priority(fields: &mut Fields<'_>) -> Option<Priority> {
    let text = fields.text("priority")?;
    let priority = Priority::parse(&text).ok();
    if priority.is_none() {
        fields.problem("priority", format!("must be low, medium, high or critical, not {text:?}"));
    }
    priority
}

fn complexity(item: &str, fields: &mut Fields<'_>, left: &mut Vec<LeftOut>) -> Option<u32> {
    let value = fields.take("complexity")?;
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    if number.is_none() {
        let why = "a task's complexity is a whole number";
        left.push(LeftOut::new(item, format!("complexity {value}"), why));
    }
    number
}

/// Files that will be changed are declared; what is only to be read is not. What is said about them is a part of the
/// description.
fn files(
    item: &str,
    fields: &mut Fields<'_>,
    left: &mut Vec<LeftOut>,
) -> (Vec<String>, Vec<String>) {
    let (mut files, mut about) = (Vec::new(), Vec::new());
    for value in fields.list("relevantFiles") {
        let path = value.get("path").or(Some(&value)).and_then(Value::as_str).unwrap_or_default();
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let (action, what) = (text("action"), text("description"));
        if !action.is_empty() || !what.is_empty() {
            let action = if action.is_empty() { String::new() } else { format!(" ({action})") };
            let what = if what.is_empty() { String::new() } else { format!(": {what}") };
            about.push(format!("- {path}{action}{what}"));
        }
        for (key, _) in value.as_object().into_iter().flatten() {
            if !["path", "action", "description"].contains(&key.as_str()) {
                let what = format!("relevant file {path:?}, field {key}");
                left.push(LeftOut::new(item, what, "a file has no such field"));
            }
        }
        let not_declared = if action == "reference" {
            "the file is only to be read"
        } else if Pattern::parse(path).is_err() {
            "it is not a path of the project"
        } else if files.len() >= PATTERNS_MAX {
            "the task already has as many files as a task may have"
        } else {
            if !files.iter().any(|file| file == path) {
                files.push(path.to_owned());
            }
            continue;
        };
        left.push(LeftOut::new(item, format!("relevant file {path:?}"), not_declared));
    }
    (files, about)
}

fn dependencies(fields: &mut Fields<'_>, place: &Place<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for (number, value) in fields.list("dependencies").into_iter().enumerate() {
        match value {
            Value::Number(id) => names.push(place.names(&id.to_string())),
            Value::String(id) => names.push(place.names(id.trim())),
            other => {
                let path = format!("dependencies[{number}]");
                fields.problem(&path, format!("must be an id, not {other}"));
            }
        }
    }
    names
}

fn state(
    item: &str,
    status: &str,
    assignee: Option<&str>,
    new: &mut NewTask,
    left: &mut Vec<LeftOut>,
) -> Target {
    let by = assignee.map(|who| format!(" (assignee {who})")).unwrap_or_default();
    let why = || format!("{status} in Task Master{by}");
    match status {
        "pending" => {}
        "done" | "completed" => return Target::Done { why: why() },
        "review" => return Target::Review { why: why() },
        "cancelled" => return Target::Abandoned { why: why() },
        "blocked" => return Target::Blocked { needs: "it is blocked in Task Master".to_owned() },
        "deferred" => new.blockers.push("deferred in Task Master".to_owned()),
        other => {
            without_equal(item, other, left);
            if other != "in-progress" {
                let blocker = format!("{other} in Task Master");
                new.blockers.push(bounded(item, "the blocker", blocker, left));
            }
        }
    }
    Target::Queued
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGGED: &str = include_str!("../tests/golden/taskmaster/tagged.json");
    const LEGACY: &str = include_str!("../tests/golden/taskmaster/legacy.json");

    fn read(text: &str) -> Result<Plan, Vec<Problem>> {
        super::read(text, &Earlier::default())
    }

    fn task<'a>(plan: &'a Plan, item: &str) -> &'a Planned {
        plan.tasks.iter().find(|task| task.item == item).unwrap()
    }

    fn left(plan: &Plan) -> Vec<String> {
        plan.left_out.iter().map(|left| format!("{}: {}", left.item, left.what)).collect()
    }

    #[test]
    fn tags_tasks_and_subtasks_become_tasks() {
        let plan = read(TAGGED).unwrap();
        let ids: Vec<(&str, &str)> = plan
            .tasks
            .iter()
            .map(|task| (task.item.as_str(), task.new.id.as_deref().unwrap()))
            .collect();
        assert_eq!(
            ids,
            [
                ("1", "tm-1"),
                ("2", "tm-2"),
                ("2.1", "tm-2.1"),
                ("2.2", "tm-2.2"),
                ("3", "tm-3"),
                ("4", "tm-4"),
                ("auth v2:1", "tm-auth-v2-1-6f79c4872fd4"),
            ]
        );
        let two = task(&plan, "2");
        assert_eq!(two.depends_on, ["1"]);
        assert_eq!(two.new.files, ["src/cli.ts"]);
        assert_eq!(two.new.complexity, Some(7));
        assert_eq!(two.new.labels, ["cli"]);
        assert_eq!(
            two.new.description,
            "Commands.\n\n## Details\n\nUse a library.\n\n## Test strategy\n\nRun each.\n\n\
             ## Relevant files\n\n- src/cli.ts (modify): entry\n- docs/spec.md (reference): what"
        );
        let part = task(&plan, "2.2");
        assert_eq!(part.parent.as_deref(), Some("2"));
        assert_eq!(part.depends_on, ["2.1", "3"]);
        assert_eq!(part.new.requirements, ["Prints help", "Prints the version"]);
        assert!(matches!(task(&plan, "1").target, Target::Done { .. }));
        assert!(matches!(task(&plan, "3").target, Target::Review { .. }));
        assert!(matches!(task(&plan, "4").target, Target::Abandoned { .. }));
        assert_eq!(task(&plan, "auth v2:1").new.initiative.as_deref(), Some("auth v2"));
        assert_eq!(
            left(&plan),
            [
                "2: relevant file \"docs/spec.md\"",
                "2.1: status in-progress",
                "4: field metadata",
                "*: master.metadata",
                "*: createdAt, previousStatus",
            ]
        );
    }

    #[test]
    fn the_layout_without_tags_is_read_too() {
        let plan = read(LEGACY).unwrap();
        assert_eq!(plan.tasks.len(), 2);
        assert_eq!(task(&plan, "2").depends_on, ["1"]);
        assert_eq!(task(&plan, "2").new.blockers, ["deferred in Task Master"]);
        assert_eq!(left(&plan), ["*: meta"]);
    }

    #[test]
    fn items_that_share_an_id_are_told_apart() {
        let text = r#"{"tasks":[{"id":4,"title":"a","subtasks":[{"id":4,"title":"b"},
                       {"id":4,"title":"c"},{"id":5,"title":"d","dependencies":[4]}]}]}"#;
        let plan = read(text).unwrap();
        let items: Vec<&str> = plan.tasks.iter().map(|task| task.item.as_str()).collect();
        assert_eq!(items, ["4", "4.4", "4.4-2", "4.5"]);
        assert_eq!(task(&plan, "4.5").depends_on, ["4.4"]);
        assert_eq!(left(&plan), ["4.4-2: id 4.4"]);
    }

    #[test]
    fn a_dependency_names_a_neighbour_a_task_or_an_item_of_another_tag() {
        let text = r#"{"master":{"tasks":[
            {"id":1,"title":"a","subtasks":[{"id":"1.1","title":"b"},{"id":"2","title":"c"},
             {"id":3,"title":"d","dependencies":["1.1",2,"2.1","ui:1"]}]},
            {"id":2,"title":"e","subtasks":[{"id":1,"title":"f"}]}]},
            "ui":{"tasks":[{"id":1,"title":"g","dependencies":["master:2.1"]}]}}"#;
        let plan = read(text).unwrap();
        assert_eq!(task(&plan, "1.3").depends_on, ["1.1", "1.2", "2.1", "ui:1"]);
        assert_eq!(task(&plan, "ui:1").depends_on, ["2.1"]);
        assert!(left(&plan).is_empty(), "{:?}", left(&plan));
    }

    #[test]
    fn a_key_that_is_given_twice_is_a_problem() {
        let text = "{\"master\":{\"tasks\":[\n {\"id\":1,\"title\":\"a\",\"status\":\"done\",\"status\":\"pending\"}]}}";
        let problems = read(text).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path, "master.tasks[0].status");
        assert_eq!((problems[0].line, problems[0].column), (Some(2), Some(38)));
    }

    #[test]
    fn every_problem_comes_at_once_with_its_path() {
        let text = r#"{"tasks":[{"title":"x"},7,{"id":1,"title":"a","priority":"soon"},
                       {"id":"1","title":"b","dependencies":[{}],"subtasks":[{"id":1}]}]}"#;
        let said: Vec<String> =
            read(text).unwrap_err().iter().map(|p| format!("{}: {}", p.path, p.message)).collect();
        assert_eq!(
            said,
            [
                "tasks[0].id: id is missing",
                "tasks[1]: must be an object",
                "tasks[2].priority: must be low, medium, high or critical, not \"soon\"",
                "tasks[3].dependencies[0]: must be an id, not {}",
                "tasks[3].subtasks[0].title: title is missing",
            ]
        );
        let places: Vec<(usize, usize)> =
            read(text).unwrap_err().iter().map(|p| (p.line.unwrap(), p.column.unwrap())).collect();
        assert_eq!(places, [(1, 11), (1, 25), (1, 58), (2, 62), (2, 78)]);
        assert_eq!(read("{").unwrap_err()[0].line, Some(1));
        let on_an_empty_line = &read("{\"tasks\":[\n").unwrap_err()[0];
        assert_eq!((on_an_empty_line.line, on_an_empty_line.column), (Some(2), Some(1)));
        for bad in ["[]", "{}", "null", "{\"a\":{\"b\":1}}", "{\"tasks\":{}}"] {
            assert_eq!(read(bad).unwrap_err().len(), 1, "{bad}");
        }
    }
}

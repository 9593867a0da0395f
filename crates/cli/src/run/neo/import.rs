//! `comity import neo DIR`: what a supervisor keeps, taken over by ordinary commands.

use super::{directories, find};
use crate::context::Context;
use crate::human::{Shape, now};
use crate::output::Reply;
use crate::run::import::carry;
use crate::store::Access;
use comity_core::command::{Command, Request};
use comity_core::refusal::Refusal;
use comity_core::view::{DecisionView, TaskView};
use comity_engine::Engine;
use comity_protocol::neotx::ids::Thing;
use comity_protocol::neotx::records::{
    ACTIVITY_FILE, DECISIONS_FILE, DIRECTIVES_FILE, INBOX_FILE, LOG_BUFFER_FILE, MEMORY_FILE,
    Record,
};
use comity_protocol::neotx::take::{self, TakenDecision};
use comity_protocol::neotx::words;
use comity_protocol::plan::LeftOut;
use comity_store::neo::Row;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

pub(in crate::run) fn import(context: &Context, dir: &Path) -> Result<Reply, Refusal> {
    let mut taking = Taking {
        context,
        engine: context.engine(Access::Write)?,
        left_out: Vec::new(),
        counts: BTreeMap::new(),
        tasks: json!([]),
        changed: json!([]),
    };
    for dir in directories::supervisors(dir)? {
        taking.supervisor(&dir)?;
    }
    let count = |name: &str| {
        let (new, old) = taking.counts.get(name).copied().unwrap_or_default();
        json!({"imported": new, "existing": old})
    };
    let answer = json!({
        "imported": taking.counts.values().map(|(new, _)| new).sum::<usize>(),
        "existing": taking.counts.values().map(|(_, old)| old).sum::<usize>(),
        "decisions": count("decisions"),
        "directives": count("directives"),
        "memories": count("memories"),
        "tasks": taking.tasks,
        "changed": taking.changed,
        "left_out": taking.left_out,
    });
    Ok(Reply::new(answer, Shape::Import))
}

/// Files of a supervisor that are not taken over.
const OTHER_FILES: &[(&str, &str)] = &[
    (LOG_BUFFER_FILE, "what agents logged stays neo's; new entries go into the log here"),
    (ACTIVITY_FILE, "what neo did stays neo's; the log here has what is done here"),
    (INBOX_FILE, "messages are for the supervisor that runs there"),
    ("events.jsonl", "events are for the supervisor that runs there"),
    ("children.json", "processes are not taken over"),
];

struct Taking<'c> {
    context: &'c Context,
    engine: Engine,
    left_out: Vec<LeftOut>,
    /// New ones and those that were here already, by their plural name.
    counts: BTreeMap<&'static str, (usize, usize)>,
    tasks: Value,
    changed: Value,
}

impl Taking<'_> {
    fn supervisor(&mut self, dir: &Path) -> Result<(), Refusal> {
        let (decisions, bad) = directories::lines(&dir.join(DECISIONS_FILE))?;
        self.left_out.extend(bad);
        self.decisions(&decisions)?;
        let (directives, bad) = directories::lines(&dir.join(DIRECTIVES_FILE))?;
        self.left_out.extend(bad);
        self.directives(&directives)?;
        self.other_files(dir);
        let file = dir.join(MEMORY_FILE);
        if !file.exists() {
            return Ok(());
        }
        let tables = comity_store::neo::read(&file).map_err(|error| {
            Refusal::input(error.to_string()).hint("is it a SQLite file that neo wrote?")
        })?;
        self.memories(&tables.memories)?;
        let rows = self.not_ours(tables.tasks)?;
        if rows.is_empty() {
            return Ok(());
        }
        let mut answer = carry::out(self.context, take::PROVIDER, &take::tasks(&rows))?;
        let number = |key: &str| {
            let number = answer.get(key).and_then(Value::as_u64).unwrap_or(0);
            usize::try_from(number).unwrap_or(usize::MAX)
        };
        let (new, old) = (number("imported"), number("existing"));
        self.count("tasks", new, old);
        for (key, into) in [("tasks", &mut self.tasks), ("changed", &mut self.changed)] {
            if let (Some(Value::Array(more)), Value::Array(all)) =
                (answer.get_mut(key).map(Value::take), into)
            {
                all.extend(more);
            }
        }
        let left = answer.get("left_out").and_then(Value::as_array).cloned().unwrap_or_default();
        for entry in &left {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            self.left_out.push(LeftOut::new(text("item"), text("what"), text("why")));
        }
        Ok(())
    }

    /// Rows of tasks that were made here and written by an export are here already; neo's word about them is said.
    fn not_ours(&mut self, rows: Vec<Row>) -> Result<Vec<Row>, Refusal> {
        let here = find::tasks(&mut self.engine, self.context)?;
        let by_id: BTreeMap<String, &TaskView> = here
            .iter()
            .filter(|task| !task.external_ids.contains_key(take::PROVIDER))
            .map(|task| (find::task_id(task), task))
            .collect();
        let mut others = Vec::new();
        for row in rows {
            let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
            let Some(task) = by_id.get(text("id")) else {
                others.push(row);
                continue;
            };
            self.count("tasks", 0, 1);
            if let Value::Array(tasks) = &mut self.tasks {
                tasks.push(json!({
                    "item": text("id"), "id": task.id, "status": task.status, "title": task.title,
                }));
            }
            if text("status") != words::task_status(task.status)
                && let Value::Array(changed) = &mut self.changed
            {
                let entry = json!({"item": text("id"), "id": task.id, "fields": ["status"]});
                changed.push(entry);
            }
        }
        Ok(others)
    }

    /// What else a supervisor keeps has no place here, and that is said.
    fn other_files(&mut self, dir: &Path) {
        for (file, why) in OTHER_FILES {
            let there = std::fs::metadata(dir.join(file)).is_ok_and(|data| data.len() > 0);
            if there {
                self.left(file, "the file", *why);
            }
        }
    }

    fn count(&mut self, name: &'static str, new: usize, old: usize) {
        let counted = self.counts.entry(name).or_default();
        counted.0 += new;
        counted.1 += old;
    }

    fn request(&self, command: Command) -> Request {
        Request { key: None, ..self.context.request(command) }
    }

    fn left(&mut self, item: &str, what: &str, why: impl Into<String>) {
        self.left_out.push(LeftOut::new(item, what, why));
    }

    fn decisions(&mut self, records: &[Record]) -> Result<(), Refusal> {
        let here = find::decisions(&mut self.engine, self.context, true)?;
        let by_id: BTreeMap<String, &DecisionView> =
            here.iter().map(|decision| (find::decision_id(decision), decision)).collect();
        let (mut asks, mut answers): (Vec<TakenDecision>, Vec<(String, String, String)>) =
            (Vec::new(), Vec::new());
        for record in records {
            let taken = match take::decision(record, now()) {
                Ok(taken) => taken,
                Err(why) => {
                    self.left(record.text("id").unwrap_or("?"), "the decision", why);
                    continue;
                }
            };
            let Some(there) = by_id.get(&taken.item) else {
                // Our own numbers only name what is here.
                if Thing::Decision.number(&taken.item).is_some() {
                    self.left(&taken.item, "the decision", "it was written by another store");
                } else {
                    asks.push(taken);
                }
                continue;
            };
            self.count("decisions", 0, 1);
            if let (Some(answer), "open") = (taken.answer, there.state.as_str()) {
                answers.push((taken.item, there.id.clone(), answer));
            }
        }
        self.ask(asks, &mut answers);
        let commands = answers.iter().map(|(_, id, answer)| {
            self.request(Command::DecisionAnswer { id: id.clone(), answer: answer.clone() })
        });
        let requests: Vec<Request> = commands.collect();
        let done = self.engine.execute_all(requests);
        for ((item, id, _), answer) in answers.into_iter().zip(done) {
            if let Err(refusal) = answer {
                let why = format!("{}; {id} stays open", refusal.message);
                self.left(&item, "the answer", why);
            }
        }
        Ok(())
    }

    /// Asks what is new, and notes the answers that are to follow.
    fn ask(&mut self, asks: Vec<TakenDecision>, answers: &mut Vec<(String, String, String)>) {
        let requests: Vec<Request> = asks
            .iter()
            .map(|taken| self.request(Command::DecisionAsk(Box::new(taken.question.clone()))))
            .collect();
        let done = self.engine.execute_all(requests);
        for (taken, answer) in asks.into_iter().zip(done) {
            match answer {
                Ok(asked) => {
                    self.count("decisions", 1, 0);
                    let id = asked.pointer("/decision/id").and_then(Value::as_str);
                    if let (Some(id), Some(text)) = (id, taken.answer) {
                        answers.push((taken.item, id.to_owned(), text));
                    }
                }
                Err(refusal) => self.left(&taken.item, "the decision", refusal.message),
            }
        }
    }

    fn directives(&mut self, records: &[Record]) -> Result<(), Refusal> {
        let here = find::directives(&mut self.engine, self.context)?;
        let ids: Vec<String> = here.iter().map(find::directive_id).collect();
        for record in records {
            let taken = match take::directive(record) {
                Ok(taken) => taken,
                Err(why) => {
                    self.left(record.text("id").unwrap_or("?"), "the directive", why);
                    continue;
                }
            };
            if ids.contains(&taken.item) {
                self.count("directives", 0, 1);
                continue;
            }
            let create = Command::DirectiveCreate(Box::new(taken.new));
            match self.engine.execute(self.request(create)) {
                Ok(made) => {
                    self.count("directives", 1, 0);
                    let id = made.pointer("/directive/id").and_then(Value::as_str);
                    if let (Some(id), false) = (id, taken.enabled) {
                        let off =
                            Command::DirectiveToggle { id: id.to_owned(), enabled: Some(false) };
                        self.engine.execute(self.request(off))?;
                    }
                }
                Err(refusal) => self.left(&taken.item, "the directive", refusal.message),
            }
        }
        Ok(())
    }

    fn memories(&mut self, rows: &[Row]) -> Result<(), Refusal> {
        let here = find::memories(&mut self.engine, self.context)?;
        let ids: Vec<String> = here.iter().map(find::memory_id).collect();
        let mut items = Vec::new();
        let mut requests = Vec::new();
        for row in rows {
            match take::memory(row, now()) {
                Ok(taken) if ids.contains(&taken.item) => self.count("memories", 0, 1),
                Ok(taken) => {
                    items.push(taken.item);
                    requests.push(self.request(Command::MemoryWrite(Box::new(taken.new))));
                }
                Err(why) => {
                    let id = row.get("id").and_then(Value::as_str).unwrap_or("?");
                    self.left(id, "the memory", why);
                }
            }
        }
        let done = self.engine.execute_all(requests);
        for (item, answer) in items.into_iter().zip(done) {
            match answer {
                Ok(_) => self.count("memories", 1, 0),
                Err(refusal) => self.left(&item, "the memory", refusal.message),
            }
        }
        Ok(())
    }
}

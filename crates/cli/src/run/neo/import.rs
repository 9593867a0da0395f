//! `comity import neo DIR`: what a supervisor keeps, taken over by ordinary commands.

use super::files::{self, Files};
use super::met::{self, Met};
use super::{decision, directive, find, memory, task};
use crate::context::Context;
use crate::human::{Shape, now};
use crate::output::Reply;
use crate::run::import::carry;
use crate::store::Access;
use comity_core::chain::Hash;
use comity_core::command::{Adoption, Command, Request};
use comity_core::origin::Origin;
use comity_core::refusal::{Code, Refusal};
use comity_core::view::{DecisionView, TaskView};
use comity_engine::Engine;
use comity_protocol::neotx::merge::{Base, Bases, changed_there};
use comity_protocol::neotx::records::{
    ACTIVITY_FILE, DECISION_OUTCOMES, INBOX_FILE, LOG_BUFFER_FILE, Record,
};
use comity_protocol::neotx::{take, words};
use comity_protocol::plan::{LeftOut, Source};
use comity_store::neo::Row;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub(in crate::run) fn import(context: &Context, dir: &std::path::Path) -> Result<Reply, Refusal> {
    // One at a time: two that look at the same moment would both find nothing here.
    let _hold = met::hold(context)?;
    let all = files::read(dir)?;
    let mut engine = context.engine(Access::Write)?;
    let gone = find::gone(&mut engine, context)?;
    let mut taking = Taking {
        context,
        engine,
        gone,
        left_out: Vec::new(),
        counts: BTreeMap::new(),
        tasks: Vec::new(),
        changed: Vec::new(),
    };
    for files in &all {
        taking.supervisor(files)?;
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

/// What is put in the place of a secret.
const REDACTED: &str = "[redacted";

struct Taking<'c> {
    context: &'c Context,
    engine: Engine,
    /// What was deleted here stays deleted.
    gone: find::Gone,
    left_out: Vec<LeftOut>,
    /// New ones and those that were here already, by their plural name.
    counts: BTreeMap<&'static str, (usize, usize)>,
    tasks: Vec<Value>,
    changed: Vec<Value>,
}

impl Taking<'_> {
    fn supervisor(&mut self, files: &Files) -> Result<(), Refusal> {
        self.left_out.extend(files.unusable());
        let mut met = Met::load(self.context, &files.dir)?;
        let decisions = files.decisions.lines.records();
        self.decisions(&decisions)?;
        let directives = files.directives.lines.records();
        self.directives(&directives)?;
        self.other_files(files);
        self.memories(&files.tables.memories)?;
        self.tasks(&files.tables.tasks)?;
        // What both are now is what the next edit is compared with.
        let here = find::decisions(&mut self.engine, self.context, true)?;
        let ours: Vec<_> = here.iter().map(|it| (decision::record(it), it.id.clone())).collect();
        self.meet(&mut met.decisions, &decisions, &ours, OF_DECISIONS);
        let here = find::directives(&mut self.engine, self.context)?;
        let ours: Vec<_> = here.iter().map(|it| (directive::record(it), it.id.clone())).collect();
        self.meet(&mut met.directives, &directives, &ours, Keys::default());
        let rows = |rows: &[Row]| rows.iter().cloned().map(Record::from_map).collect::<Vec<_>>();
        let here = find::memories(&mut self.engine, self.context, false)?;
        let ours: Vec<_> = here.iter().map(|it| (memory::record(it), it.id.clone())).collect();
        let theirs = rows(&files.tables.memories);
        self.meet(&mut met.memories, &theirs.iter().collect::<Vec<_>>(), &ours, Keys::default());
        let here = find::tasks(&mut self.engine, self.context)?;
        let ids = here.iter().map(|it| it.id.clone());
        let ours: Vec<_> = task::records(&here).into_iter().zip(ids).collect();
        let theirs = rows(&files.tables.tasks);
        let of_tasks = Keys { follow: super::export::FOLLOWS, ..Keys::default() };
        self.meet(&mut met.tasks, &theirs.iter().collect::<Vec<_>>(), &ours, of_tasks);
        met.save(self.context, &files.dir)
    }

    /// Says what changed over there since both met, and remembers what has just met.
    fn meet(
        &mut self,
        bases: &mut Bases,
        theirs: &[&Record],
        ours: &[(Record, String)],
        keys: Keys,
    ) {
        let by_id: BTreeMap<&str, &(Record, String)> =
            ours.iter().filter_map(|it| Some((it.0.text("id")?, it))).collect();
        for theirs in theirs {
            let Some(id) = theirs.text("id") else { continue };
            let Some((ours, here)) = by_id.get(id) else { continue };
            let Some(base) = bases.get(id) else {
                bases.insert(id.to_owned(), Base::taken(theirs, ours, keys.outcome));
                continue;
            };
            let fields = changed_there(theirs, ours, base, keys.follow);
            let said = |entry: &&mut Value| entry.get("item") == Some(&json!(id));
            match self.changed.iter_mut().find(said) {
                _ if fields.is_empty() => {}
                Some(entry) => entry["fields"] = json!(fields),
                None => self.changed.push(json!({"item": id, "id": here, "fields": fields})),
            }
        }
    }

    /// Takes tasks over by the way that every tracker's tasks go.
    fn tasks(&mut self, rows: &[Row]) -> Result<(), Refusal> {
        let here = find::tasks(&mut self.engine, self.context)?;
        let rows = self.not_ours(rows, &here);
        if rows.is_empty() {
            return Ok(());
        }
        let source = Source::new(take::PROVIDER)?;
        let earlier = source.earlier_as(&here, |task| Some(find::task_id(task)));
        let plan = take::tasks(&rows, &earlier);
        let answer = carry::out(&mut self.engine, self.context, take::PROVIDER, &plan)?;
        let number = |key: &str| {
            let number = answer.get(key).and_then(Value::as_u64).unwrap_or(0);
            usize::try_from(number).unwrap_or(usize::MAX)
        };
        self.count("tasks", number("imported"), number("existing"));
        let list =
            |key: &str| answer.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        self.tasks.extend(list("tasks"));
        self.changed.extend(list("changed"));
        for entry in list("left_out") {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            self.left_out.push(LeftOut::new(text("item"), text("what"), text("why")));
        }
        for task in list("tasks") {
            let text = |key: &str| task.get(key).and_then(Value::as_str).unwrap_or_default();
            let planned = plan.tasks.iter().find(|planned| planned.item == text("item"));
            if planned.is_some_and(|planned| planned.new.title != text("title")) {
                self.redacted(text("item"), "", text("title"));
            }
        }
        Ok(())
    }

    /// Rows of tasks that were made here and written by an export are here already; neo's word about them is said.
    fn not_ours(&mut self, rows: &[Row], here: &[TaskView]) -> Vec<Row> {
        let by_id: BTreeMap<String, &TaskView> = here
            .iter()
            .filter(|task| !task.external_ids.contains_key(take::PROVIDER))
            .map(|task| (find::task_id(task), task))
            .collect();
        let mut others = Vec::new();
        for row in rows {
            let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
            let Some(task) = by_id.get(text("id")) else {
                others.push(row.clone());
                continue;
            };
            self.count("tasks", 0, 1);
            self.tasks.push(json!({
                "item": text("id"), "id": task.id, "status": task.status, "title": task.title,
            }));
            if text("status") != words::task_status(task.status) {
                let entry = json!({"item": text("id"), "id": task.id, "fields": ["status"]});
                self.changed.push(entry);
            }
        }
        others
    }

    /// What else a supervisor keeps has no place here, and that is said.
    fn other_files(&mut self, files: &Files) {
        for (file, why) in OTHER_FILES {
            let there = std::fs::metadata(files.dir.join(file)).is_ok_and(|data| data.len() > 0);
            if there {
                self.left(&format!("{}{file}", files.prefix), "the file", *why);
            }
        }
    }

    fn count(&mut self, name: &'static str, new: usize, old: usize) {
        let counted = self.counts.entry(name).or_default();
        counted.0 += new;
        counted.1 += old;
    }

    fn left(&mut self, item: &str, what: &str, why: impl Into<String>) {
        self.left_out.push(LeftOut::new(item, what, why));
    }

    /// Says when a text is not here as it is there.
    fn redacted(&mut self, item: &str, sent: &str, here: &str) {
        if here != sent && here.contains(REDACTED) && !sent.contains(REDACTED) {
            let why = "it is taken out of what is kept here; neo's file keeps it";
            self.left(item, "a secret or an e-mail address", why);
        }
    }

    /// A request that takes one thing over. Its key is made of neo's id, so that whoever sends it again, from wherever,
    /// takes nothing over twice.
    fn request(&self, what: &Taken) -> Request {
        let origin = Origin {
            source: take::PROVIDER.to_owned(),
            item: what.item.clone(),
            other: what.other.clone(),
        };
        let adoption = Adoption {
            origin,
            made: Box::new(what.made.clone()),
            answer: what.answer.clone(),
            disabled: what.disabled,
        };
        let hash = Hash::of(format!("{}\n{}", self.context.repo, what.item).as_bytes()).to_string();
        let key = Some(format!("neo:{}", hash.get(..32).unwrap_or_default()));
        let command = Command::TakeOver(Box::new(adoption));
        Request { key, fence: None, ..self.context.request(command) }
    }

    /// Takes things over, each whole or not at all. An answer that the importer may not give is left out and said.
    fn take_over(&mut self, plural: &'static str, name: &str, mut things: Vec<Taken>) {
        let answers = self.engine.execute_all(things.iter().map(|it| self.request(it)).collect());
        let mut again = Vec::new();
        for (thing, answer) in things.iter_mut().zip(answers) {
            match answer {
                Ok(made) => {
                    self.count(plural, 1, 0);
                    let sent = json!(thing.made).to_string();
                    let mut here = made;
                    // Unknown keys are redacted, too, but that is no loss to anybody who reads the thing here.
                    let fields = here.get_mut(name).and_then(Value::as_object_mut);
                    let _ = fields.and_then(|fields| fields.remove("origin"));
                    self.redacted(&thing.item, &sent, &here.to_string());
                }
                Err(refusal) if refusal.code == Code::IdempotencyMismatch => {
                    self.count(plural, 0, 1);
                }
                Err(refusal) if thing.answer.is_some() => {
                    let why = format!("{}; it stays open", refusal.message);
                    self.left(&thing.item, "the answer", why);
                    thing.answer = None;
                    again.push(thing.clone());
                }
                Err(refusal) => self.left(&thing.item, &format!("the {name}"), refusal.message),
            }
        }
        if !again.is_empty() {
            self.take_over(plural, name, again);
        }
    }

    fn decisions(&mut self, records: &[&Record]) -> Result<(), Refusal> {
        let here = find::decisions(&mut self.engine, self.context, true)?;
        let by_id: BTreeMap<String, &DecisionView> =
            here.iter().map(|decision| (find::decision_id(decision), decision)).collect();
        let (mut new, mut answers) = (Vec::new(), Vec::new());
        for record in records {
            let taken = match take::decision(record, now()) {
                Ok(taken) => taken,
                Err(why) => {
                    self.left(record.text("id").unwrap_or("?"), "the decision", why);
                    continue;
                }
            };
            match by_id.get(&taken.item) {
                Some(there) => {
                    self.count("decisions", 0, 1);
                    if let (Some(answer), "open") = (taken.answer, there.state.as_str()) {
                        answers.push((taken.item, there.id.clone(), answer));
                    }
                }
                None => new.push(Taken {
                    item: taken.item,
                    made: Command::DecisionAsk(Box::new(taken.question)),
                    answer: taken.answer,
                    disabled: false,
                    other: taken.other,
                }),
            }
        }
        self.take_over("decisions", "decision", new);
        let requests = answers.iter().map(|(_, id, answer)| {
            let command = Command::DecisionAnswer { id: id.clone(), answer: answer.clone() };
            Request { key: None, ..self.context.request(command) }
        });
        let done = self.engine.execute_all(requests.collect());
        for ((item, id, _), answer) in answers.into_iter().zip(done) {
            if let Err(refusal) = answer {
                let why = format!("{}; {id} stays open", refusal.message);
                self.left(&item, "the answer", why);
            }
        }
        Ok(())
    }

    fn directives(&mut self, records: &[&Record]) -> Result<(), Refusal> {
        let here = find::directives(&mut self.engine, self.context)?;
        let ids: BTreeSet<String> = here.iter().map(find::directive_id).collect();
        let mut new = Vec::new();
        for record in records {
            match take::directive(record) {
                Ok(taken) if ids.contains(&taken.item) => self.count("directives", 0, 1),
                Ok(taken) if self.gone.directives.contains(&taken.item) => {
                    self.left(&taken.item, "the directive", DELETED);
                }
                Ok(taken) => {
                    let rank = record.get("priority").filter(|_| taken.new.priority == 0);
                    if let Some(low) = rank.filter(|rank| rank.as_f64().is_some_and(|it| it < 0.0))
                    {
                        let what = format!("priority {low}");
                        self.left(&taken.item, &what, "0 is the lowest here");
                    }
                    new.push(Taken {
                        item: taken.item,
                        made: Command::DirectiveCreate(Box::new(taken.new)),
                        answer: None,
                        disabled: !taken.enabled,
                        other: taken.other,
                    });
                }
                Err(why) => self.left(record.text("id").unwrap_or("?"), "the directive", why),
            }
        }
        self.take_over("directives", "directive", new);
        Ok(())
    }

    fn memories(&mut self, rows: &[Row]) -> Result<(), Refusal> {
        let here = find::memories(&mut self.engine, self.context, true)?;
        let ids: BTreeSet<String> = here.iter().map(find::memory_id).collect();
        let mut new = Vec::new();
        for row in rows {
            match take::memory(row, now()) {
                Ok(taken) if ids.contains(&taken.item) => self.count("memories", 0, 1),
                Ok(taken) if self.gone.memories.contains(&taken.item) => {
                    self.left(&taken.item, "the memory", DELETED);
                }
                Ok(taken) => new.push(Taken {
                    item: taken.item,
                    made: Command::MemoryWrite(Box::new(taken.new)),
                    answer: None,
                    disabled: false,
                    other: taken.other,
                }),
                Err(why) => {
                    let id = row.get("id").and_then(Value::as_str).unwrap_or("?");
                    self.left(id, "the memory", why);
                }
            }
        }
        self.take_over("memories", "memory", new);
        Ok(())
    }
}

/// Keys of one kind of thing that are not compared like the others.
#[derive(Clone, Copy, Default)]
struct Keys {
    /// They only change with others.
    follow: &'static [&'static str],
    /// They say what came of the thing.
    outcome: &'static [&'static str],
}

const OF_DECISIONS: Keys = Keys { follow: &[], outcome: DECISION_OUTCOMES };

/// Why something does not come back.
const DELETED: &str = "it was deleted here; an export takes it out there";

/// One thing on its way.
#[derive(Clone)]
struct Taken {
    item: String,
    made: Command,
    answer: Option<String>,
    disabled: bool,
    other: Map<String, Value>,
}

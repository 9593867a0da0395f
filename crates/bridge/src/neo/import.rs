//! Imports a supervisor's decisions, directives, memories and tasks by ordinary commands.

use super::files::{self, Files};
use super::seen::{self, Seen};
use super::{costs, find, records};
use crate::Bridge;
use crate::import::carry;
use comity_api::{
    DecisionAnswer, DirectiveAnswer, ImportChange, ImportCounts, ImportDirectory, ImportReport,
    ImportedTask, ListDirectives, ListMemories, MemoryAnswer,
};
use comity_core::chain::Hash;
use comity_core::command::{Adoption, Command, Made, Request};
use comity_core::origin::Origin;
use comity_core::refusal::{Code, Refusal};
use comity_core::view::{DecisionView, DirectiveView, MemoryView, TaskView};
use comity_engine::{Caller, Keyed, Reply as Answer, Service};
use comity_project::Context;
use comity_protocol::neotx::changes::{Base, Bases};
use comity_protocol::neotx::records::{
    ACTIVITY_FILE, DECISION_OUTCOMES, INBOX_FILE, LOG_BUFFER_FILE, MEMORY_FILE, Record,
};
use comity_protocol::neotx::{take, words};
use comity_protocol::plan::{LeftOut, Source};
use comity_store::neo::Row;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub fn import(
    bridge: &Bridge,
    caller: &Caller,
    ImportDirectory { dir, with_state }: &ImportDirectory,
) -> Result<ImportReport, Refusal> {
    let Bridge { context, service } = bridge;
    // Two imports that run at once would both find nothing in comity, and import everything twice.
    let _hold = seen::hold(context)?;
    let home = context.cwd.join(dir);
    let all = files::read(&home)?;
    let keyed = keyed(caller, &all, *with_state)?;
    let first = keyed.as_ref().map(|keyed| service.remembered(keyed)).transpose()?.flatten();
    if let Some(first) = first {
        return Ok(first);
    }
    let deleted = find::deleted(service, caller)?;
    let report = ImportReport {
        decisions: Some(ImportCounts::default()),
        directives: Some(ImportCounts::default()),
        memories: Some(ImportCounts::default()),
        ..ImportReport::default()
    };
    let with_state = *with_state;
    let mut taking = Taking { context, service, caller, with_state, deleted, report };
    for files in &all {
        taking.supervisor(files)?;
    }
    let mut report = taking.report;
    report.left_out.extend(costs::left_out(&home));
    if let Some(keyed) = keyed {
        report = service.remember(&keyed, report)?;
    }
    Ok(report)
}

/// Binds the caller's key to what is in the files.
fn keyed(caller: &Caller, all: &[Files], with_state: bool) -> Result<Option<Keyed>, Refusal> {
    let Some(key) = &caller.key else { return Ok(None) };
    let files = all.iter().map(|files| (files.dir.display().to_string(), files.digests()));
    let states = if with_state { " with states" } else { "" };
    let input = format!("import neo{states}\n{}", json!(files.collect::<Vec<_>>()));
    Keyed::new(caller.clone(), key, &input).map(Some)
}

/// Files of a supervisor that are not imported.
const OTHER_FILES: &[(&str, &str)] = &[
    (LOG_BUFFER_FILE, "agents' log entries stay in neo; new entries go into comity's log"),
    (ACTIVITY_FILE, "neo's activity stays in neo"),
    (INBOX_FILE, "its messages are for neo's supervisor"),
    ("events.jsonl", "its events are for neo's supervisor"),
    ("children.json", "processes are not imported"),
];

/// What is put in the place of a secret.
const REDACTED: &str = "[redacted";

/// What neo keeps besides tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Decision,
    Directive,
    Memory,
}

impl Kind {
    fn whole(self) -> &'static str {
        match self {
            Kind::Decision => "the decision",
            Kind::Directive => "the directive",
            Kind::Memory => "the memory",
        }
    }

    /// What comity made of a record, as text. comity redacts unknown keys, too. Nobody reads them here, so they are left
    /// out.
    fn made(self, answer: Answer) -> Result<String, Refusal> {
        Ok(match self {
            Kind::Decision => {
                let DecisionAnswer { decision } = answer.take()?;
                json!(DecisionView { origin: None, ..decision }).to_string()
            }
            Kind::Directive => {
                let DirectiveAnswer { directive } = answer.take()?;
                json!(DirectiveView { origin: None, ..directive }).to_string()
            }
            Kind::Memory => {
                let MemoryAnswer { memory } = answer.take()?;
                json!(MemoryView { origin: None, ..memory }).to_string()
            }
        })
    }
}

struct Taking<'c> {
    context: &'c Context,
    service: &'c Service,
    caller: &'c Caller,
    with_state: bool,
    deleted: find::Deleted,
    report: ImportReport,
}

impl Taking<'_> {
    fn supervisor(&mut self, files: &Files) -> Result<(), Refusal> {
        self.report.left_out.extend(files.unusable());
        let mut seen = Seen::load(self.context, &files.dir)?;
        let decisions = files.decisions.lines.records();
        self.decisions(&decisions)?;
        let directives = files.directives.lines.records();
        self.directives(&directives)?;
        self.other_files(files);
        self.memories(&files.tables.memories)?;
        self.tasks(files)?;
        // The next export compares with what both sides have now.
        let here = find::decisions(self.service, self.caller, find::settled())?;
        let ours: Vec<_> = here.iter().map(|it| (records::decision(it), it.id.clone())).collect();
        self.note(&mut seen.decisions, &decisions, &ours, DECISION_OUTCOMES);
        let here = find::directives(self.service, self.caller, ListDirectives::default())?;
        let ours: Vec<_> = here.iter().map(|it| (records::directive(it), it.id.clone())).collect();
        self.note(&mut seen.directives, &directives, &ours, &[]);
        let rows = |rows: &[Row]| rows.iter().cloned().map(Record::from_map).collect::<Vec<_>>();
        let here = find::memories(self.service, self.caller, ListMemories::default())?;
        let ours: Vec<_> = here.iter().map(|it| (records::memory(it), it.id.clone())).collect();
        let theirs = rows(&files.tables.memories);
        self.note(&mut seen.memories, &theirs.iter().collect::<Vec<_>>(), &ours, &[]);
        let here = self.service.all_tasks(self.caller)?;
        let ids = here.iter().map(|it| it.id.clone());
        let ours: Vec<_> = records::tasks(&here).into_iter().zip(ids).collect();
        let theirs = rows(&files.tables.tasks);
        self.note(&mut seen.tasks, &theirs.iter().collect::<Vec<_>>(), &ours, &[]);
        seen.files = files.digests().into_iter().collect();
        seen.save(self.context, &files.dir)
    }

    /// Notes what is new in both places, and reports what neo changed since the last import.
    fn note(
        &mut self,
        bases: &mut Bases,
        theirs: &[&Record],
        ours: &[(Record, String)],
        outcomes: &[&str],
    ) {
        let by_id: BTreeMap<&str, &(Record, String)> =
            ours.iter().filter_map(|it| Some((it.0.text("id")?, it))).collect();
        for theirs in theirs {
            let Some(id) = theirs.text("id") else { continue };
            let Some((ours, here)) = by_id.get(id) else { continue };
            let Some(base) = bases.get(id) else {
                bases.insert(id.to_owned(), Base::imported(theirs, ours, outcomes));
                continue;
            };
            let fields = base.changed_there(theirs, ours);
            let changed = &mut self.report.changed;
            match changed.iter_mut().find(|entry| entry.item == id) {
                _ if fields.is_empty() => {}
                Some(entry) => entry.fields = fields,
                None => {
                    changed.push(ImportChange { item: id.to_owned(), id: here.clone(), fields });
                }
            }
        }
    }

    /// Imports tasks as every tracker's tasks are imported.
    fn tasks(&mut self, files: &Files) -> Result<(), Refusal> {
        let here = self.service.all_tasks(self.caller)?;
        let rows = self.not_ours(&files.tables.tasks, &here);
        if rows.is_empty() {
            return Ok(());
        }
        let source =
            Source::new(take::PROVIDER)?.in_file(&format!("{}{MEMORY_FILE}", files.prefix));
        let earlier = source.earlier_as(&here, |task| Some(find::task_id(task)));
        let plan = take::tasks(&rows, &earlier);
        let done = carry::out(self.service, self.caller, source, &plan, self.with_state)?;
        self.report.imported += done.imported;
        self.report.existing += done.existing;
        self.report.changed.extend(done.changed);
        self.report.left_out.extend(done.left_out);
        for task in &done.tasks {
            let planned = plan.tasks.iter().find(|planned| planned.item == task.item);
            if planned.is_some_and(|planned| planned.new.title != task.title) {
                self.redacted(&task.item, "", &task.title);
            }
        }
        self.report.tasks.extend(done.tasks);
        Ok(())
    }

    /// Leaves out rows of tasks that were made in comity and written by an export. A status that neo changed is reported.
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
            self.report.existing += 1;
            self.report.tasks.push(ImportedTask::of(text("id"), task));
            if text("status") != words::task_status(task.status) {
                self.report.changed.push(ImportChange {
                    item: text("id").to_owned(),
                    id: task.id.clone(),
                    fields: vec!["status".to_owned()],
                });
            }
        }
        others
    }

    /// Reports the supervisor's other files, which comity does not import.
    fn other_files(&mut self, files: &Files) {
        for (file, why) in OTHER_FILES {
            let there = std::fs::metadata(files.dir.join(file)).is_ok_and(|data| data.len() > 0);
            if there {
                self.left(&format!("{}{file}", files.prefix), "the file", *why);
            }
        }
    }

    fn count(&mut self, kind: Kind, new: usize, old: usize) {
        let report = &mut self.report;
        report.imported += new;
        report.existing += old;
        let counts = match kind {
            Kind::Decision => &mut report.decisions,
            Kind::Directive => &mut report.directives,
            Kind::Memory => &mut report.memories,
        };
        let counts = counts.get_or_insert_default();
        counts.imported += new;
        counts.existing += old;
    }

    fn left(&mut self, item: &str, what: &str, why: impl Into<String>) {
        self.report.left_out.push(LeftOut::new(item, what, why));
    }

    /// Reports that comity redacted a text.
    fn redacted(&mut self, item: &str, sent: &str, here: &str) {
        if here != sent && here.contains(REDACTED) && !sent.contains(REDACTED) {
            let why = "comity redacts it; neo's file keeps it";
            self.left(item, "a secret or an e-mail address", why);
        }
    }

    /// The request that imports one record. Its key is made of neo's id, so that the record is never imported twice.
    fn request(&self, what: &Taken) -> Request {
        let origin = Origin {
            source: take::PROVIDER.to_owned(),
            item: what.item.clone(),
            other: what.other.clone(),
        };
        let adoption = Adoption {
            origin,
            made: what.made.clone(),
            answer: what.answer.clone(),
            disabled: what.disabled,
        };
        let hash = Hash::of(format!("{}\n{}", self.context.repo, what.item).as_bytes()).to_string();
        let key = Some(format!("neo:{}", hash.get(..32).unwrap_or_default()));
        let command = Command::TakeOver(Box::new(adoption));
        Request { key, fence: None, ..self.caller.request(command) }
    }

    /// Imports records, each of them whole or not at all. An answer that the importer may not give is left out and reported.
    fn take_over(&mut self, kind: Kind, mut things: Vec<Taken>) -> Result<(), Refusal> {
        let requests = things.iter().map(|it| self.request(it)).collect();
        let answers = self.service.execute_all(requests);
        let mut again = Vec::new();
        for (thing, answer) in things.iter_mut().zip(answers) {
            match answer {
                Ok(answer) => {
                    self.count(kind, 1, 0);
                    let sent = json!(thing.made).to_string();
                    self.redacted(&thing.item, &sent, &kind.made(answer)?);
                }
                Err(refusal) if refusal.code == Code::IdempotencyMismatch => {
                    self.count(kind, 0, 1);
                }
                Err(refusal) if thing.answer.is_some() => {
                    let why = format!("{}; it stays open", refusal.message);
                    self.left(&thing.item, "the answer", why);
                    thing.answer = None;
                    again.push(thing.clone());
                }
                Err(refusal) => self.left(&thing.item, kind.whole(), refusal.message),
            }
        }
        if again.is_empty() { Ok(()) } else { self.take_over(kind, again) }
    }

    fn decisions(&mut self, records: &[&Record]) -> Result<(), Refusal> {
        let here = find::decisions(self.service, self.caller, find::settled())?;
        let by_id: BTreeMap<String, &DecisionView> =
            here.iter().map(|decision| (find::decision_id(decision), decision)).collect();
        let (mut new, mut answers) = (Vec::new(), Vec::new());
        let now = self.service.store_time()?;
        for record in records {
            let taken = match take::decision(record, now) {
                Ok(taken) => taken,
                Err(why) => {
                    self.left(record.text("id").unwrap_or("?"), Kind::Decision.whole(), why);
                    continue;
                }
            };
            match by_id.get(&taken.item) {
                Some(there) => {
                    self.count(Kind::Decision, 0, 1);
                    if let (Some(answer), "open") = (taken.answer, there.state.as_str()) {
                        answers.push((taken.item, there.id.clone(), answer));
                    }
                }
                None => new.push(Taken {
                    item: taken.item,
                    made: Made::Decision(Box::new(taken.question)),
                    answer: taken.answer,
                    disabled: false,
                    other: taken.other,
                }),
            }
        }
        self.take_over(Kind::Decision, new)?;
        let requests = answers.iter().map(|(_, id, answer)| {
            let command = Command::DecisionAnswer { id: id.clone(), answer: answer.clone() };
            Request { key: None, ..self.caller.request(command) }
        });
        let done = self.service.execute_all(requests.collect());
        for ((item, id, _), answer) in answers.into_iter().zip(done) {
            if let Err(refusal) = answer {
                let why = format!("{}; {id} stays open", refusal.message);
                self.left(&item, "the answer", why);
            }
        }
        Ok(())
    }

    fn directives(&mut self, records: &[&Record]) -> Result<(), Refusal> {
        let here = find::directives(self.service, self.caller, ListDirectives::default())?;
        let ids: BTreeSet<String> = here.iter().map(find::directive_id).collect();
        let mut new = Vec::new();
        for record in records {
            match take::directive(record) {
                Ok(taken) if ids.contains(&taken.item) => self.count(Kind::Directive, 0, 1),
                Ok(taken) if self.deleted.directives.contains(&taken.item) => {
                    self.left(&taken.item, Kind::Directive.whole(), DELETED);
                }
                Ok(taken) => {
                    let rank = record.get("priority").filter(|_| taken.new.priority == 0);
                    if let Some(low) = rank.filter(|rank| rank.as_f64().is_some_and(|it| it < 0.0))
                    {
                        let what = format!("priority {low}");
                        self.left(&taken.item, &what, "comity's lowest priority is 0");
                    }
                    new.push(Taken {
                        item: taken.item,
                        made: Made::Directive(Box::new(taken.new)),
                        answer: None,
                        disabled: !taken.enabled,
                        other: taken.other,
                    });
                }
                Err(why) => {
                    self.left(record.text("id").unwrap_or("?"), Kind::Directive.whole(), why);
                }
            }
        }
        self.take_over(Kind::Directive, new)
    }

    fn memories(&mut self, rows: &[Row]) -> Result<(), Refusal> {
        let all = ListMemories { all: true, ..ListMemories::default() };
        let here = find::memories(self.service, self.caller, all)?;
        let ids: BTreeSet<String> = here.iter().map(find::memory_id).collect();
        let now = self.service.store_time()?;
        let mut new = Vec::new();
        for row in rows {
            match take::memory(row, now) {
                Ok(taken) if ids.contains(&taken.item) => self.count(Kind::Memory, 0, 1),
                Ok(taken) if self.deleted.memories.contains(&taken.item) => {
                    self.left(&taken.item, Kind::Memory.whole(), DELETED);
                }
                Ok(taken) => new.push(Taken {
                    item: taken.item,
                    made: Made::Memory(Box::new(taken.new)),
                    answer: None,
                    disabled: false,
                    other: taken.other,
                }),
                Err(why) => {
                    let id = row.get("id").and_then(Value::as_str).unwrap_or("?");
                    self.left(id, Kind::Memory.whole(), why);
                }
            }
        }
        self.take_over(Kind::Memory, new)
    }
}

const DELETED: &str = "it was deleted in comity; the next export removes it from neo's files";

#[derive(Clone)]
struct Taken {
    item: String,
    made: Made,
    answer: Option<String>,
    disabled: bool,
    other: Map<String, Value>,
}

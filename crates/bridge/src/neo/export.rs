//! Writes what changed in comity since the last import or export into neo's files.
//!
//! The export refuses to write a file that changed since comity last read or wrote it.

use super::files::{self, Files};
use super::seen::{self, Seen};
use super::{find, records};
use crate::Bridge;
use comity_api::{ListDirectives, ListMemories, NeoDirectory, NeoExport, NeoExported};
use comity_core::hint::{op, say};
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Caller, Service};
use comity_project::Context;
use comity_protocol::neotx::changes::{Sides, Steps, steps};
use comity_protocol::neotx::lines::{Change, Lines};
use comity_protocol::neotx::records::{MEMORY_FILE, Record};
use comity_protocol::plan::LeftOut;
use comity_store::neo::{Changes, Row, TableChanges};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub fn export(
    Bridge { context, service }: &Bridge,
    caller: &Caller,
    NeoDirectory { dir, overwrite }: &NeoDirectory,
) -> Result<NeoExport, Refusal> {
    let _hold = seen::hold(context)?;
    let ours = Ours::read(service, caller)?;
    let targets = files::targets(&context.cwd.join(dir))?;
    let mut elsewhere = BTreeSet::new();
    for other in targets.others.iter().chain(&targets.beside) {
        elsewhere.extend(Seen::load(context, other)?.ids().cloned());
    }
    // Everything is read and compared before the first file is written.
    let mut written = vec![Target::read(context, targets.first.clone())?];
    for other in &targets.others {
        written.push(Target::read(context, other.clone())?);
    }
    if !*overwrite {
        refuse_changed(&written, dir)?;
    }
    for (place, target) in written.iter_mut().enumerate() {
        if place == 0 {
            target.compare(&ours, &elsewhere);
        } else {
            let known: BTreeSet<String> = target.seen.ids().cloned().collect();
            let not_theirs = ours.ids().filter(|id| !known.contains(*id)).cloned().collect();
            target.compare(&ours, &not_theirs);
        }
    }
    write(context, &mut written)?;
    let exported = NeoExported {
        decisions: ours.decisions.len(),
        directives: ours.directives.len(),
        memories: ours.memories.len(),
        tasks: ours.tasks.len(),
    };
    let left_out = written.into_iter().flat_map(|target| target.left).collect();
    // Named as the caller names it.
    let from = if Path::new(dir).is_absolute() { Path::new("") } else { &context.cwd };
    let first = targets.first.strip_prefix(from).unwrap_or(&targets.first);
    Ok(NeoExport { exported, dir: first.display().to_string(), left_out })
}

/// Refuses to write files that changed since comity last read or wrote them.
fn refuse_changed(targets: &[Target], dir: &str) -> Result<(), Refusal> {
    let changed: Vec<String> = targets.iter().flat_map(Target::changed_files).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let message =
        format!("neo's files changed since comity last read or wrote them: {}", changed.join(", "));
    let (import, export) = (op("import.neo").arg("dir", dir), op("export.neo"));
    let export = export.arg("dir", dir).flag("overwrite");
    let hint = say("nothing was written; run ").quote(import).say(" first, or ").quote(export);
    Err(Refusal::new(Code::EtagMismatch, message).hint(hint).detail("files", json!(changed)))
}

/// Everything that comity has, in neo's words.
struct Ours {
    decisions: Vec<Record>,
    directives: Vec<Record>,
    memories: Vec<Record>,
    tasks: Vec<Record>,
    deleted: find::Deleted,
    ids: BTreeSet<String>,
}

impl Ours {
    fn read(service: &Service, caller: &Caller) -> Result<Ours, Refusal> {
        let decisions: Vec<Record> = find::decisions(service, caller, find::settled())?
            .iter()
            .map(records::decision)
            .collect();
        let directives: Vec<Record> = find::directives(service, caller, ListDirectives::default())?
            .iter()
            .map(records::directive)
            .collect();
        let memories: Vec<Record> = find::memories(service, caller, ListMemories::default())?
            .iter()
            .map(records::memory)
            .collect();
        let tasks = records::tasks(&service.all_tasks(caller)?);
        let all = [&decisions, &directives, &memories, &tasks];
        let ids = all.into_iter().flatten().filter_map(|it| it.text("id")).map(str::to_owned);
        let ids = ids.collect();
        let deleted = find::deleted(service, caller)?;
        Ok(Ours { decisions, directives, memories, tasks, deleted, ids })
    }

    fn ids(&self) -> impl Iterator<Item = &String> {
        self.ids.iter().chain(&self.deleted.memories).chain(&self.deleted.directives)
    }
}

/// One supervisor's directory and what the export does to it.
struct Target {
    files: Files,
    changes: Changes,
    seen: Seen,
    left: Vec<LeftOut>,
}

impl Target {
    fn read(context: &Context, dir: PathBuf) -> Result<Target, Refusal> {
        std::fs::create_dir_all(&dir)
            .map_err(|error| Refusal::input(format!("cannot make {}: {error}", dir.display())))?;
        let files = Files::read(dir, false)?;
        let seen = Seen::load(context, &files.dir)?;
        let left = files.unusable();
        Ok(Target { files, changes: Changes::default(), seen, left })
    }

    /// The paths of the files that are not as comity last read or wrote them.
    fn changed_files(&self) -> Vec<String> {
        let digests = self.files.digests().into_iter();
        let changed = digests.filter(|(name, now)| self.seen.files.get(name) != Some(now));
        changed.map(|(name, _)| self.files.dir.join(name).display().to_string()).collect()
    }

    /// Finds what the export has to write, for each kind of record.
    fn compare(&mut self, ours: &Ours, elsewhere: &BTreeSet<String>) {
        let (none, deleted, seen) = (BTreeSet::new(), &ours.deleted, &mut self.seen);
        let kinds = [
            (&mut self.files.decisions, &ours.decisions, &none, &mut seen.decisions),
            (
                &mut self.files.directives,
                &ours.directives,
                &deleted.directives,
                &mut seen.directives,
            ),
        ];
        for (file, ours, deleted, bases) in kinds {
            if !file.is_there() {
                bases.clear();
            }
            let theirs = by_id(file.lines.records());
            let steps = steps(&Sides { theirs, ours, deleted, elsewhere }, bases);
            in_lines(&mut file.lines, steps, &mut self.left);
        }
        let tables = &self.files.tables;
        let unreadable = tables.unreadable.iter().map(|(_, id)| id.clone());
        let elsewhere = &elsewhere.iter().cloned().chain(unreadable).collect();
        let kinds = [
            (
                &tables.memories,
                &ours.memories,
                &deleted.memories,
                &mut seen.memories,
                &mut self.changes.memories,
            ),
            (&tables.tasks, &ours.tasks, &none, &mut seen.tasks, &mut self.changes.tasks),
        ];
        for (rows, ours, deleted, bases, changes) in kinds {
            if !self.files.has_tables {
                bases.clear();
            }
            let rows: Vec<Record> = rows.iter().cloned().map(Record::from_map).collect();
            let theirs = by_id(rows.iter().collect());
            let steps = steps(&Sides { theirs, ours, deleted, elsewhere }, bases);
            in_rows(changes, steps, &mut self.left);
        }
    }
}

fn by_id(records: Vec<&Record>) -> BTreeMap<&str, &Record> {
    records.into_iter().filter_map(|record| Some((record.text("id")?, record))).collect()
}

fn report_removed(left: &mut Vec<LeftOut>, steps: &Steps) {
    let why = "neo removed it; it is not written again";
    left.extend(steps.removed_there.iter().map(|id| LeftOut::new(id, "the whole", why)));
}

fn in_lines(lines: &mut Lines, steps: Steps, left: &mut Vec<LeftOut>) {
    report_removed(left, &steps);
    for (id, change) in &steps.change {
        lines.change(id, change);
    }
    for id in &steps.remove {
        lines.remove(id);
    }
    for record in steps.add {
        lines.add(record);
    }
}

fn in_rows(changes: &mut TableChanges, steps: Steps, left: &mut Vec<LeftOut>) {
    report_removed(left, &steps);
    let row = |(id, change): (String, Change)| {
        let mut row = Row::from_iter([("id".to_owned(), Value::from(id))]);
        row.extend(change.set);
        row.extend(change.unset.into_iter().map(|column| (column, Value::Null)));
        row
    };
    changes.change = steps.change.into_iter().map(row).collect();
    changes.remove = steps.remove;
    changes.add = steps.add.iter().map(|record| record.map().clone()).collect();
}

/// Writes every file beside its place, then puts all of them into their places.
fn write(context: &Context, targets: &mut [Target]) -> Result<(), Refusal> {
    let (mut lines, mut tables) = (Vec::new(), Vec::new());
    for target in &mut *targets {
        let files = &target.files;
        target.seen.files = files.digests().into_iter().collect();
        for file in [&files.decisions, &files.directives] {
            lines.extend(file.prepare()?.inspect(|new| target.seen.files.extend([new.digest()])));
        }
        if target.changes != Changes::default() || !files.has_tables {
            let path = files.dir.join(MEMORY_FILE);
            let pending = comity_store::neo::prepare(&path, &target.changes)
                .map_err(|error| Refusal::input(error.to_string()).hint("nothing was written"))?;
            if files::digest_of(&pending.before) != files::digest_of(&files.tables) {
                return Err(files::written_meanwhile(&path));
            }
            let digest = files::digest_of(&pending.after);
            target.seen.files.insert(MEMORY_FILE.to_owned(), digest);
            tables.push(pending);
        }
    }
    lines.iter().try_for_each(files::Prepared::is_current)?;
    for file in lines {
        file.keep()?;
    }
    for pending in tables {
        pending.keep().map_err(|error| Refusal::input(error.to_string()))?;
    }
    targets.iter().try_for_each(|target| target.seen.save(context, &target.files.dir))
}

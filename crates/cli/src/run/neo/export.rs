//! `comity export neo DIR`: neo's files, in which only what changed here is changed.

use super::files::{self, Files};
use super::met::{self, Met};
use super::{decision, directive, find, memory, task};
use crate::context::Context;
use crate::human::{Shape, clean_text};
use crate::output::Reply;
use crate::store::Access;
use comity_core::refusal::Refusal;
use comity_protocol::neotx::lines::{Change, Lines};
use comity_protocol::neotx::merge::{Bases, Sides, Steps, steps};
use comity_protocol::neotx::records::{MEMORY_FILE, Record};
use comity_protocol::plan::LeftOut;
use comity_store::neo::{Changes, Row, TableChanges};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Columns of a task that only change with others.
pub(super) const FOLLOWS: &[&str] = &["updated_at"];

pub(in crate::run) fn export(context: &Context, dir: &Path) -> Result<Reply, Refusal> {
    let _hold = met::hold(context)?;
    let ours = Ours::read(context)?;
    let targets = files::targets(dir)?;
    let mut elsewhere = BTreeSet::new();
    for other in targets.others.iter().chain(&targets.beside) {
        elsewhere.extend(Met::load(context, other)?.ids().cloned());
    }
    // Everything is read and merged before the first file is written.
    let mut written = vec![Target::read(context, targets.first.clone(), &ours, &elsewhere)?];
    for other in &targets.others {
        let known: BTreeSet<String> = Met::load(context, other)?.ids().cloned().collect();
        let not_theirs = ours.ids().filter(|id| !known.contains(*id)).cloned().collect();
        written.push(Target::read(context, other.clone(), &ours, &not_theirs)?);
    }
    write(context, &written)?;
    let left: Vec<&LeftOut> = written.iter().flat_map(|target| &target.left).collect();
    let counts = json!({
        "decisions": ours.decisions.len(), "directives": ours.directives.len(),
        "memories": ours.memories.len(), "tasks": ours.tasks.len(),
    });
    let dir = targets.first.display().to_string();
    let number = |key: &str| counts.get(key).cloned().unwrap_or_default();
    let mut said = format!(
        "written to {}: decisions {}, directives {}, memories {}, tasks {}\n",
        clean_text(&dir),
        number("decisions"),
        number("directives"),
        number("memories"),
        number("tasks"),
    );
    for one in &left {
        let line = format!("  {}  {}: {}", one.item, one.what, one.why);
        said.push_str(&clean_text(&line.replace('\n', " ")));
        said.push('\n');
    }
    let answer = json!({"exported": counts, "dir": dir, "left_out": left});
    Ok(Reply::new(answer, Shape::Text(said)))
}

/// What is here, in neo's words.
struct Ours {
    decisions: Vec<Record>,
    directives: Vec<Record>,
    memories: Vec<Record>,
    tasks: Vec<Record>,
    gone: find::Gone,
    ids: BTreeSet<String>,
}

impl Ours {
    fn read(context: &Context) -> Result<Ours, Refusal> {
        let mut engine = context.engine(Access::Read)?;
        let decisions: Vec<Record> =
            find::decisions(&mut engine, context, true)?.iter().map(decision::record).collect();
        let directives: Vec<Record> =
            find::directives(&mut engine, context)?.iter().map(directive::record).collect();
        let memories: Vec<Record> =
            find::memories(&mut engine, context, false)?.iter().map(memory::record).collect();
        let tasks = task::records(&find::tasks(&mut engine, context)?);
        let all = [&decisions, &directives, &memories, &tasks];
        let ids = all.into_iter().flatten().filter_map(|it| it.text("id")).map(str::to_owned);
        let ids = ids.collect();
        let gone = find::gone(&mut engine, context)?;
        Ok(Ours { decisions, directives, memories, tasks, gone, ids })
    }

    fn ids(&self) -> impl Iterator<Item = &String> {
        self.ids.iter().chain(&self.gone.memories).chain(&self.gone.directives)
    }
}

/// One supervisor's directory as it is to be.
struct Target {
    files: Files,
    changes: Changes,
    met: Met,
    left: Vec<LeftOut>,
}

impl Target {
    fn read(
        context: &Context,
        dir: PathBuf,
        ours: &Ours,
        not_here: &BTreeSet<String>,
    ) -> Result<Target, Refusal> {
        std::fs::create_dir_all(&dir)
            .map_err(|error| Refusal::input(format!("cannot make {}: {error}", dir.display())))?;
        let files = Files::read(dir, false)?;
        files.decisions.is_whole()?;
        files.directives.is_whole()?;
        let met = Met::load(context, &files.dir)?;
        let left = files.unusable();
        let mut target = Target { files, changes: Changes::default(), met, left };
        target.merge(ours, not_here);
        Ok(target)
    }

    /// Finds what changes, of each kind of thing.
    fn merge(&mut self, ours: &Ours, not_here: &BTreeSet<String>) {
        let none = BTreeSet::new();
        let kinds = [
            (&mut self.files.decisions, &ours.decisions, &none, &mut self.met.decisions),
            (
                &mut self.files.directives,
                &ours.directives,
                &ours.gone.directives,
                &mut self.met.directives,
            ),
        ];
        for (file, ours, gone, bases) in kinds {
            let there = file.is_there();
            let lines = &mut file.lines;
            let not_here: BTreeSet<String> = not_here.union(&lines.untouchable).cloned().collect();
            let known = there.then_some(&*bases);
            let steps = {
                let theirs = by_id(lines.records());
                steps(&Sides {
                    theirs,
                    ours,
                    gone,
                    not_here: &not_here,
                    bases: known,
                    follows: &[],
                })
            };
            *bases = in_lines(lines, steps, &mut self.left);
        }
        let tables = &self.files.tables;
        let odd = tables.unreadable.iter().map(|(_, id)| id.clone());
        let not_here: BTreeSet<String> = not_here.iter().cloned().chain(odd).collect();
        let kinds = [
            (
                &tables.memories,
                &ours.memories,
                &ours.gone.memories,
                &mut self.met.memories,
                &mut self.changes.memories,
            ),
            (&tables.tasks, &ours.tasks, &none, &mut self.met.tasks, &mut self.changes.tasks),
        ];
        for (rows, ours, gone, bases, changes) in kinds {
            let rows: Vec<Record> = rows.iter().cloned().map(Record::from_map).collect();
            let known = self.files.has_tables.then_some(&*bases);
            let theirs = by_id(rows.iter().collect());
            let sides =
                Sides { theirs, ours, gone, not_here: &not_here, bases: known, follows: FOLLOWS };
            *bases = in_rows(changes, steps(&sides), &mut self.left);
        }
    }
}

fn by_id(records: Vec<&Record>) -> BTreeMap<&str, &Record> {
    records.into_iter().filter_map(|record| Some((record.text("id")?, record))).collect()
}

fn say(left: &mut Vec<LeftOut>, steps: &[(String, String, &'static str)]) {
    left.extend(steps.iter().map(|(id, what, why)| LeftOut::new(id, what, *why)));
}

/// Carries steps out in a file of lines.
fn in_lines(lines: &mut Lines, steps: Steps, left: &mut Vec<LeftOut>) -> Bases {
    say(left, &steps.left);
    for (id, change) in &steps.change {
        lines.change(id, change);
    }
    for id in &steps.remove {
        lines.remove(id);
    }
    for record in steps.add {
        lines.add(record);
    }
    steps.bases
}

/// Carries steps out in a table.
fn in_rows(changes: &mut TableChanges, steps: Steps, left: &mut Vec<LeftOut>) -> Bases {
    say(left, &steps.left);
    let row = |(id, change): (String, Change)| {
        let mut row = Row::from_iter([("id".to_owned(), Value::from(id))]);
        row.extend(change.set);
        row.extend(change.unset.into_iter().map(|column| (column, Value::Null)));
        row
    };
    changes.change = steps.change.into_iter().map(row).collect();
    changes.remove = steps.remove;
    changes.add = steps.add.iter().map(|record| record.map().clone()).collect();
    steps.bases
}

/// Writes everything, and only then puts anything into its place.
fn write(context: &Context, targets: &[Target]) -> Result<(), Refusal> {
    let (mut lines, mut tables) = (Vec::new(), Vec::new());
    for target in targets {
        let files = &target.files;
        for file in [&files.decisions, &files.directives] {
            lines.extend(file.prepare()?);
        }
        if target.changes != Changes::default() || !files.has_tables {
            let pending = comity_store::neo::prepare(&files.dir.join(MEMORY_FILE), &target.changes)
                .map_err(|error| Refusal::input(error.to_string()).hint("nothing was written"))?;
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
    targets.iter().try_for_each(|target| target.met.save(context, &target.files.dir))
}

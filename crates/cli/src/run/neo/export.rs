//! `comity export neo DIR`: neo's files, with what is in them and not here left as it is.

use super::{decision, directive, directories, find, memory, task};
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use crate::store::Access;
use comity_core::refusal::{Code, Refusal};
use comity_protocol::neotx::records::{
    DECISIONS_FILE, DIRECTIVES_FILE, MEMORY_FILE, Record, write_lines,
};
use comity_store::neo::Tables;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

pub(in crate::run) fn export(context: &Context, dir: &Path) -> Result<Reply, Refusal> {
    let mut engine = context.engine(Access::Read)?;
    let decisions: Vec<Record> =
        find::decisions(&mut engine, context, true)?.iter().map(decision::record).collect();
    let directives: Vec<Record> =
        find::directives(&mut engine, context)?.iter().map(directive::record).collect();
    let memories: Vec<Record> =
        find::memories(&mut engine, context)?.iter().map(memory::record).collect();
    let all = find::tasks(&mut engine, context)?;
    let ids: BTreeMap<&str, String> =
        all.iter().map(|task| (task.id.as_str(), find::task_id(task))).collect();
    let tasks: Vec<Record> = all
        .iter()
        .map(|it| {
            let first = it.dependencies.first().and_then(|id| ids.get(id.as_str()));
            task::record(it, first.cloned())
        })
        .collect();
    let target = directories::target(dir);
    std::fs::create_dir_all(&target).map_err(|error| failed(&target, &error))?;
    let counts = json!({
        "decisions": decisions.len(), "directives": directives.len(),
        "memories": memories.len(), "tasks": tasks.len(),
    });
    lines(&target.join(DECISIONS_FILE), decisions)?;
    lines(&target.join(DIRECTIVES_FILE), directives)?;
    let rows = |records: Vec<Record>| records.iter().map(|it| it.map().clone()).collect();
    let tables = Tables { memories: rows(memories), tasks: rows(tasks) };
    comity_store::neo::write(&target.join(MEMORY_FILE), &tables)
        .map_err(|error| Refusal::input(error.to_string()))?;
    let dir = target.display().to_string();
    let number = |key: &str| counts.get(key).cloned().unwrap_or_default();
    let said = format!(
        "written to {}: decisions {}, directives {}, memories {}, tasks {}\n",
        crate::human::clean_text(&dir),
        number("decisions"),
        number("directives"),
        number("memories"),
        number("tasks"),
    );
    Ok(Reply::new(json!({"exported": counts, "dir": dir}), Shape::Text(said)))
}

fn failed(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::input(format!("cannot write {}: {error}", path.display()))
}

/// Writes records into a file of lines. A line of an id that is not ours stays where it is; a line that cannot be
/// read would be lost, so then nothing is written.
fn lines(path: &Path, records: Vec<Record>) -> Result<(), Refusal> {
    let (mut kept, bad) = directories::lines(path)?;
    if let Some(first) = bad.first() {
        let message = format!("{}, {}: {}", path.display(), first.what, first.why);
        return Err(Refusal::new(Code::ContractInvalid, message)
            .hint("mend or remove that line first; nothing of this file was written"));
    }
    let places: BTreeMap<String, usize> = kept
        .iter()
        .enumerate()
        .filter_map(|(place, record)| Some((record.text("id")?.to_owned(), place)))
        .collect();
    for record in records {
        let place = record.text("id").and_then(|id| places.get(id));
        match place.and_then(|place| kept.get_mut(*place)) {
            Some(before) => *before = record,
            None => kept.push(record),
        }
    }
    replace(path, &write_lines(&kept)).map_err(|error| failed(path, &error))
}

/// Replaces a file at once, so that nobody reads half of it.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

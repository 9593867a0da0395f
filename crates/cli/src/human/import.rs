//! What an import did: the report, and its words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BOLD, DIM, WARN, count, paint};
use comity_core::status::Status;
use comity_core::view::TaskView;
use comity_protocol::plan::LeftOut;
use serde::{Deserialize, Serialize};

/// Most lines of a kind that a screen gets; programs get them all.
const LINES_MAX: usize = 40;

/// What an import did. Only a source that has more than tasks counts the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportReport {
    pub imported: usize,
    pub existing: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Counts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directives: Option<Counts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memories: Option<Counts>,
    pub tasks: Vec<ImportedTask>,
    pub changed: Vec<Changed>,
    pub left_out: Vec<LeftOut>,
    /// Nothing was done; this is what would be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub imported: usize,
    pub existing: usize,
}

/// An item of the other tool, and the task that it is here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedTask {
    pub item: String,
    pub id: String,
    pub status: Status,
    pub title: String,
}

impl ImportedTask {
    pub fn of(item: &str, task: &TaskView) -> ImportedTask {
        let (id, title) = (task.id.clone(), task.title.clone());
        ImportedTask { item: item.to_owned(), id, status: task.status, title }
    }
}

/// An item that was changed over there after it was imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    pub item: String,
    pub id: String,
    pub fields: Vec<String>,
}

pub fn import(report: &ImportReport, screen: &Screen) -> String {
    let old = match report.existing {
        0 => String::new(),
        1 => ", 1 was already here".to_owned(),
        there => format!(", {there} were already here"),
    };
    let would = if report.dry_run { "would be " } else { "" };
    let mut out = format!("{} {would}imported{old}\n", taken_over(report));
    let mut table = Table::new(&["ITEM", "TASK", "STATUS", "TITLE"], "TITLE");
    for task in report.tasks.iter().take(LINES_MAX) {
        table.row(vec![
            plain(&task.item),
            (task.id.clone(), BOLD),
            plain(task.status.as_str()),
            plain(&task.title),
        ]);
    }
    out.push_str(&table.lines(screen, 3, "  "));
    out.push_str(&rest(report.tasks.len()));
    if !report.changed.is_empty() {
        out.push_str("\nChanged in the other tool since, and left as they are here:\n");
        for entry in report.changed.iter().take(LINES_MAX) {
            let fields = entry.fields.join(", ");
            out.push_str(&format!("  {}  {fields}\n", paint(BOLD, &entry.id)));
        }
        out.push_str(&rest(report.changed.len()));
    }
    if !report.left_out.is_empty() {
        out.push_str(&format!("\n{}\n", paint(WARN, "Not imported:")));
        for LeftOut { item, what, why } in report.left_out.iter().take(LINES_MAX) {
            let why = paint(DIM, &format!("— {why}"));
            out.push_str(&format!("  {}  {what} {why}\n", paint(BOLD, item)));
        }
        out.push_str(&rest(report.left_out.len()));
    }
    out
}

/// Counts each kind of thing that is new here; where there are tasks only, those also when none is.
fn taken_over(report: &ImportReport) -> String {
    let mut tasks = report.imported;
    let mut kinds = Vec::new();
    let besides = [
        (report.decisions, "decision", "decisions"),
        (report.directives, "directive", "directives"),
        (report.memories, "memory", "memories"),
    ];
    for (counts, one, many) in besides {
        let new = counts.unwrap_or_default().imported;
        tasks = tasks.saturating_sub(new);
        kinds.extend((new > 0).then(|| count(new, one, many)));
    }
    if tasks > 0 || report.decisions.is_none() {
        kinds.push(count(tasks, "task", "tasks"));
    }
    if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") }
}

fn rest(all: usize) -> String {
    match all.checked_sub(LINES_MAX) {
        None | Some(0) => String::new(),
        Some(more) => format!("  … and {more} more; --json has them all\n"),
    }
}

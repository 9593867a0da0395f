//! What an import did, in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BOLD, WARN, count, paint, wrap};
use comity_api::{ImportReport, NeoExport};
use comity_protocol::plan::LeftOut;

/// Most lines of a kind that a screen gets; programs get them all.
const LINES_MAX: usize = 40;

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
            let told = wrap(&format!("- {item}: {what} — {why}"), "    ", screen.columns);
            out.push_str(&format!("  {}", told.trim_start()));
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

pub fn neo_export(export: &NeoExport, _: &Screen) -> String {
    let written = &export.exported;
    let mut out = format!(
        "written to {}: decisions {}, directives {}, memories {}, tasks {}\n",
        export.dir, written.decisions, written.directives, written.memories, written.tasks,
    );
    for LeftOut { item, what, why } in &export.left_out {
        out.push_str(&format!("  {item}  {what}: {why}").replace('\n', " "));
        out.push('\n');
    }
    out
}

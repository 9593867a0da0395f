//! What an import did, in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BOLD, DIM, WARN, count, list, paint, text, texts};
use serde_json::Value;

/// Most lines of a kind that a screen gets; programs get them all.
const LINES_MAX: usize = 40;

pub(super) fn import(answer: &Value, screen: &Screen) -> String {
    let number = |key: &str| answer.get(key).and_then(Value::as_u64).unwrap_or(0);
    let tasks = list(answer, "tasks");
    let mut out = if answer.get("dry_run").is_some() {
        format!("{} would be taken over\n", count(tasks.len(), "task", "tasks"))
    } else {
        let new = usize::try_from(number("imported")).unwrap_or(usize::MAX);
        let old = match number("existing") {
            0 => String::new(),
            there => format!(", {there} were here already"),
        };
        format!("{} taken over{old}\n", count(new, "task", "tasks"))
    };
    let mut table = Table::new(&["ITEM", "TASK", "STATUS", "TITLE"], "TITLE");
    for task in tasks.iter().take(LINES_MAX) {
        table.row(vec![
            plain(text(task, "item").to_owned()),
            (text(task, "id").to_owned(), BOLD),
            plain(text(task, "status").to_owned()),
            plain(text(task, "title").to_owned()),
        ]);
    }
    out.push_str(&table.lines(screen, 3, "  "));
    out.push_str(&rest(tasks.len()));
    let changed = list(answer, "changed");
    if !changed.is_empty() {
        out.push_str("\nChanged over there since, and left as they are here:\n");
        for entry in changed.iter().take(LINES_MAX) {
            let fields = texts(entry, "fields").join(", ");
            out.push_str(&format!("  {}  {fields}\n", paint(BOLD, text(entry, "id"))));
        }
        out.push_str(&rest(changed.len()));
    }
    let left = list(answer, "left_out");
    if !left.is_empty() {
        out.push_str(&format!("\n{}\n", paint(WARN, "Not taken over:")));
        for entry in left.iter().take(LINES_MAX) {
            let (item, what) = (text(entry, "item"), text(entry, "what"));
            let why = paint(DIM, &format!("— {}", text(entry, "why")));
            out.push_str(&format!("  {}  {what} {why}\n", paint(BOLD, item)));
        }
        out.push_str(&rest(left.len()));
    }
    out
}

fn rest(all: usize) -> String {
    match all.checked_sub(LINES_MAX) {
        None | Some(0) => String::new(),
        Some(more) => format!("  … and {more} more; --json has them all\n"),
    }
}

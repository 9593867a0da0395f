//! What an import did, in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BOLD, DIM, WARN, count, list, paint, text, texts};
use serde_json::Value;

/// Most lines of a kind that a screen gets; programs get them all.
const LINES_MAX: usize = 40;

pub(super) fn import(answer: &Value, screen: &Screen) -> String {
    let tasks = list(answer, "tasks");
    let old = match number(answer, "/existing") {
        0 => String::new(),
        1 => ", 1 was here already".to_owned(),
        there => format!(", {there} were here already"),
    };
    let would = if answer.get("dry_run").is_some() { "would be " } else { "" };
    let mut out = format!("{} {would}taken over{old}\n", taken_over(answer));
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

fn number(answer: &Value, at: &str) -> usize {
    let number = answer.pointer(at).and_then(Value::as_u64).unwrap_or(0);
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// What an import may bring besides tasks: the plural, which is its name in the answer, and the singular.
const BESIDES: [(&str, &str); 3] =
    [("decisions", "decision"), ("directives", "directive"), ("memories", "memory")];

/// Counts each kind of thing that is new here; where there are tasks only, those also when none is.
fn taken_over(answer: &Value) -> String {
    let mut tasks = number(answer, "/imported");
    let mut kinds = Vec::new();
    for (many, one) in BESIDES {
        let new = number(answer, &format!("/{many}/imported"));
        tasks = tasks.saturating_sub(new);
        kinds.extend((new > 0).then(|| count(new, one, many)));
    }
    let only_tasks = answer.get("decisions").is_none();
    if tasks > 0 || only_tasks {
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

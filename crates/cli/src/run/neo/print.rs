//! neo's way of printing: ticks and crosses, tables with a rule.

use crate::output::{self, Reply};
use crate::terminal::{Ink, neutral, paint};
use crate::wording;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Timestamp;
use serde::Serialize;

const EXIT: u8 = 1;

pub(super) fn success(message: &str) -> String {
    format!("{} {}\n", paint(Ink::Good, "✓"), neutral(message))
}

/// Refuses in neo's words, without a hint.
pub(super) fn refuse<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::input(message))
}

/// Prints a refusal as neo does, with a hint where neo's words have none.
pub(super) fn failed(refusal: &Refusal) -> Reply {
    let line = format!("{} {}\n", paint(Ink::Bad, "✗"), neutral(&refusal.message));
    output::aside(&line);
    let said = matches!(refusal.code, Code::InvalidInput | Code::NotFound);
    if !(said && refusal.next_step() == refusal.code.default_hint()) {
        output::remark(&format!("  {}", wording::next_step(refusal)));
    }
    Reply::printed().exit(EXIT)
}

/// Says in neo's words that no record has that id.
pub(super) fn not_found(mut refusal: Refusal, what: &str, list: &str, id: &str) -> Refusal {
    if refusal.code == Code::NotFound {
        refusal.message = format!("{what} not found: {id}");
        return refusal.hint(format!("see `comity neo {list} list`"));
    }
    refusal
}

/// Prints JSON over several lines, as neo does.
pub(super) fn json(value: &impl Serialize) -> Reply {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    // A closed pipe is no error: the reader has seen enough.
    let _ = output::raw(&format!("{text}\n"));
    Reply::printed()
}

/// A table: headings, a rule, rows; two blanks between columns.
pub(super) fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| neutral(cell)).collect()).collect();
    let count = |text: &str| text.chars().count();
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(column, head)| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| count(cell));
            cells.chain([count(head)]).max().unwrap_or(0)
        })
        .collect();
    let padded = |cells: &[String]| {
        let pad = |(cell, width): (&String, &usize)| {
            format!("{cell}{}", " ".repeat(width.saturating_sub(count(cell))))
        };
        cells.iter().zip(&widths).map(pad).collect::<Vec<_>>().join("  ")
    };
    let heads: Vec<String> = heads.iter().map(ToString::to_string).collect();
    let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    let mut out = format!("{}\n{}\n", paint(Ink::Bold, &padded(&heads)), rule.join("──"));
    for row in &rows {
        out.push_str(&padded(row));
        out.push('\n');
    }
    out
}

/// Cuts a text for a column and ends it with a mark, which replaces the last character.
pub(super) fn cut(text: &str, most: usize, end: &str) -> String {
    let line = text.replace('\n', " ");
    if line.chars().count() <= most {
        return line;
    }
    line.chars().take(most.saturating_sub(1)).chain(end.chars()).collect()
}

/// How long ago something was, in neo's units.
pub(super) fn ago(time: Timestamp) -> String {
    let seconds = crate::human::now().since(time).ms() / 1000;
    match seconds {
        0..60 => format!("{seconds}s ago"),
        60..3600 => format!("{}m ago", seconds / 60),
        _ => format!("{}h ago", seconds / 3600),
    }
}

//! Columns without borders on a terminal, tabs without headings elsewhere.

use super::Screen;
use super::words::{BOLD, PLAIN, cut, paint, width};
use crate::terminal::Ink;

const GAP: usize = 2;
/// What the widest column keeps at least.
const FLEX_MIN: usize = 12;

/// A table; one column gives way when the screen is narrow.
pub(super) struct Table {
    heads: Vec<&'static str>,
    flexible: usize,
    rows: Vec<Vec<(String, Ink)>>,
}

impl Table {
    pub(super) fn new(heads: &[&'static str], flexible: &str) -> Table {
        let flexible = heads.iter().position(|head| *head == flexible).unwrap_or(0);
        Table { heads: heads.to_vec(), flexible, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: Vec<(String, Ink)>) {
        self.rows.push(cells);
    }

    /// Writes the rows alone, aligned and indented, also where nobody looks; one column gives way.
    pub(super) fn lines(&mut self, screen: &Screen, flexible: usize, indent: &str) -> String {
        self.flexible = flexible;
        let widths = self.widths(screen.columns.saturating_sub(indent.len()));
        self.rows.iter().map(|row| format!("{indent}{}", line(row, &widths))).collect()
    }

    pub(super) fn render(&self, screen: &Screen) -> String {
        if !screen.terminal {
            let line = |row: &Vec<(String, Ink)>| {
                let cells: Vec<String> =
                    row.iter().map(|(text, _)| text.replace('\n', " ")).collect();
                cells.join("\t") + "\n"
            };
            return self.rows.iter().map(line).collect();
        }
        let widths = self.widths(screen.columns);
        let heads = self.heads.iter().map(|head| ((*head).to_owned(), BOLD)).collect();
        std::iter::once(&heads).chain(&self.rows).map(|row| line(row, &widths)).collect()
    }

    fn widths(&self, columns: usize) -> Vec<usize> {
        let natural = |index: usize, head: &&str| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            cells.map(|(text, _)| width(text)).chain([width(head)]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> =
            self.heads.iter().enumerate().map(|(index, head)| natural(index, head)).collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        let total: usize = widths.iter().sum::<usize>() + gaps;
        if total > columns
            && let Some(flexible) = widths.get_mut(self.flexible)
        {
            *flexible = flexible.saturating_sub(total - columns).max(FLEX_MIN.min(*flexible));
        }
        widths
    }
}

fn line(row: &[(String, Ink)], widths: &[usize]) -> String {
    let mut out = String::new();
    let mut pending = 0;
    for ((text, style), room) in row.iter().zip(widths) {
        let text = cut(text, *room);
        if !text.is_empty() {
            out.push_str(&" ".repeat(pending));
            out.push_str(&paint(*style, &text));
            pending = 0;
        }
        pending += room - width(&text).min(*room) + GAP;
    }
    out.push('\n');
    out
}

pub(super) fn plain(text: impl Into<String>) -> (String, Ink) {
    (text.into(), PLAIN)
}

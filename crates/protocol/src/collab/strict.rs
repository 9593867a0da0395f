//! What a JSON reader would change without a word: a key that is there twice, an integer that is too large.

use super::Problem;
use std::collections::BTreeSet;

/// An open object or list.
enum Open<'t> {
    Object(BTreeSet<&'t str>, String),
    List(usize),
}

/// Finds both in a text that is known to be JSON.
pub(super) fn lossy(text: &str) -> Vec<Problem> {
    let mut scan = Scan { text, at: 0, open: Vec::new(), problems: Vec::new() };
    scan.run();
    let Scan { problems, .. } = scan;
    problems.into_iter().map(|(at, path, message)| placed(text, at, path, message)).collect()
}

/// Reads bytes as text, or says where that ends.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, Vec<Problem>> {
    std::str::from_utf8(bytes).map_err(|error| {
        let head = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let head = String::from_utf8_lossy(head);
        vec![placed(&head, head.len(), String::new(), "not UTF-8".to_owned())]
    })
}

fn placed(text: &str, at: usize, path: String, message: String) -> Problem {
    let (line, column) = line_and_column(text, at);
    Problem { message, path, line, column }
}

/// Returns line and column of a place in a text.
pub(super) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let head = text.get(..at).unwrap_or(text);
    let start = head.rfind('\n').map_or(0, |at| at + 1);
    let column = head.get(start..).unwrap_or_default().chars().count() + 1;
    (head.matches('\n').count() + 1, column)
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    open: Vec<Open<'t>>,
    problems: Vec<(usize, String, String)>,
}

impl<'t> Scan<'t> {
    fn run(&mut self) {
        let mut key_next = false;
        while let Some(byte) = self.text.as_bytes().get(self.at).copied() {
            match byte {
                b'{' => {
                    self.open.push(Open::Object(BTreeSet::new(), String::new()));
                    key_next = true;
                }
                b'[' => self.open.push(Open::List(0)),
                b'}' | b']' => {
                    self.open.pop();
                    key_next = false;
                }
                b',' => match self.open.last_mut() {
                    Some(Open::List(n)) => *n += 1,
                    Some(Open::Object(..)) => key_next = true,
                    None => {}
                },
                b'"' => {
                    let start = self.at;
                    let word = self.string();
                    if key_next {
                        self.key(start, word);
                        key_next = false;
                    }
                    continue;
                }
                b'-' | b'0'..=b'9' => {
                    self.number();
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Moves past a string and returns its text between the quotes.
    fn string(&mut self) -> &'t str {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut at = start;
        while let Some(byte) = bytes.get(at).copied().filter(|byte| *byte != b'"') {
            at += if byte == b'\\' { 2 } else { 1 };
        }
        self.at = at + 1;
        self.text.get(start..at).unwrap_or_default()
    }

    fn key(&mut self, at: usize, word: &'t str) {
        let path = self.path();
        let Some(Open::Object(known, now)) = self.open.last_mut() else { return };
        word.clone_into(now);
        if !known.insert(word) {
            let path = if path.is_empty() { word.to_owned() } else { format!("{path}.{word}") };
            self.problems.push((at, path, format!("the key {word:?} is there twice")));
        }
    }

    fn number(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        let whole = !word.contains(['.', 'e', 'E']);
        if whole && word.parse::<i64>().is_err() && word.parse::<u64>().is_err() {
            let message = format!("the number {word} is too large to be kept as it is");
            let path = self.value_path();
            self.problems.push((self.at, path, message));
        }
        self.at += end.max(1);
    }

    /// Where the innermost open object or list is.
    fn path(&self) -> String {
        let depth = self.open.len().saturating_sub(1);
        joined(self.open.get(..depth).unwrap_or_default())
    }

    fn value_path(&self) -> String {
        joined(&self.open)
    }
}

fn joined(open: &[Open<'_>]) -> String {
    let mut path = String::new();
    for step in open {
        match step {
            Open::Object(_, key) if path.is_empty() => path.push_str(key),
            Open::Object(_, key) => path.push_str(&format!(".{key}")),
            Open::List(n) => path.push_str(&format!("[{n}]")),
        }
    }
    path
}

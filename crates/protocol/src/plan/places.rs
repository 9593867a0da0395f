//! Where things stand in a JSON text: the places of paths, and keys that are given twice.
//!
//! The text has been read already; this goes over it once more, because the reader of JSON keeps no places and lets
//! the last of two equal keys win.

use super::Problem;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Says where problems are: fills in line and column of those that have none. The text starts at a line.
pub(crate) fn locate(text: &str, first_line: usize, problems: &mut [Problem]) {
    let lost = |problem: &&mut Problem| problem.column.is_none();
    let mut wanted = BTreeSet::new();
    for problem in problems.iter_mut().filter(lost) {
        wanted.extend(prefixes(&problem.path).map(str::to_owned));
    }
    if wanted.is_empty() {
        return;
    }
    let found = Scan::over(text, &wanted).places;
    let at = positions(text, first_line, found.values().copied().collect());
    for problem in problems.iter_mut().filter(lost) {
        let offset = prefixes(&problem.path).find_map(|path| found.get(path));
        if let Some((line, column)) = offset.and_then(|offset| at.get(offset)) {
            problem.line = Some(*line);
            problem.column = Some(*column);
        }
    }
}

/// Returns a problem for each key that is given twice in one object: one of its values would be lost.
pub(crate) fn repeated(text: &str, first_line: usize) -> Vec<Problem> {
    let found = Scan::over(text, &BTreeSet::new()).repeated;
    if found.is_empty() {
        return Vec::new();
    }
    let at = positions(text, first_line, found.iter().map(|(_, offset)| *offset).collect());
    let problem = |(path, offset): (String, usize)| {
        let (line, column) = at.get(&offset).copied().unzip();
        let message = "the key is given twice; which value counts?".to_owned();
        Problem { message, path, line, column }
    };
    found.into_iter().map(problem).collect()
}

/// A path and everything that it is in, from the inside out.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| {
        let end = path.rfind(['.', '[']).unwrap_or(0);
        (!path.is_empty()).then(|| path.get(..end).unwrap_or_default())
    })
}

/// Turns offsets into lines and columns, both from one, in one pass.
fn positions(
    text: &str,
    first_line: usize,
    offsets: BTreeSet<usize>,
) -> BTreeMap<usize, (usize, usize)> {
    let mut positions = BTreeMap::new();
    let mut wanted = offsets.into_iter().peekable();
    let (mut line, mut column) = (first_line, 1);
    for (offset, c) in text.char_indices() {
        if wanted.next_if_eq(&offset).is_some() {
            positions.insert(offset, (line, column));
        }
        if wanted.peek().is_none() {
            break;
        }
        (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    positions
}

/// A walk over JSON text. Depth is bounded by whoever read the text before.
struct Scan<'t> {
    text: &'t str,
    at: usize,
    path: String,
    wanted: &'t BTreeSet<String>,
    places: BTreeMap<String, usize>,
    repeated: Vec<(String, usize)>,
}

impl<'t> Scan<'t> {
    fn over(text: &'t str, wanted: &'t BTreeSet<String>) -> Scan<'t> {
        let (places, repeated) = (BTreeMap::new(), Vec::new());
        let mut scan = Scan { text, at: 0, path: String::new(), wanted, places, repeated };
        scan.value();
        scan
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Steps over white space, and over whatever else in valid JSON stands between two things.
    fn next(&mut self, between: &[u8]) -> Option<u8> {
        while let Some(byte) = self.byte() {
            if !byte.is_ascii_whitespace() && !between.contains(&byte) {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    fn value(&mut self) {
        let first = self.next(b":,");
        if self.wanted.contains(&self.path) {
            self.places.entry(self.path.clone()).or_insert(self.at);
        }
        match first {
            Some(b'{') => self.object(),
            Some(b'[') => self.list(),
            Some(b'"') => {
                self.quoted();
            }
            _ => {
                while self.byte().is_some_and(|b| !b",]} \t\r\n".contains(&b)) {
                    self.at += 1;
                }
            }
        }
    }

    fn object(&mut self) {
        self.at += 1;
        let mut keys: HashSet<String> = HashSet::new();
        let before = self.path.len();
        while let Some(byte) = self.next(b",") {
            if byte != b'"' {
                break;
            }
            let start = self.at;
            let quoted = self.quoted();
            let key: String = serde_json::from_str(quoted).unwrap_or_else(|_| quoted.to_owned());
            if before > 0 {
                self.path.push('.');
            }
            self.path.push_str(&key);
            if !keys.insert(key) {
                self.repeated.push((self.path.clone(), start));
            }
            self.value();
            self.path.truncate(before);
        }
        self.at += 1;
    }

    fn list(&mut self) {
        self.at += 1;
        let before = self.path.len();
        let mut place = 0;
        while let Some(byte) = self.next(b",") {
            if byte == b']' {
                break;
            }
            self.path.push_str(&format!("[{place}]"));
            self.value();
            self.path.truncate(before);
            place += 1;
        }
        self.at += 1;
    }

    fn quoted(&mut self) -> &'t str {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.byte() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
        self.text.get(start..self.at).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(path: &str) -> Problem {
        Problem { message: String::new(), path: path.to_owned(), line: None, column: None }
    }

    #[test]
    fn a_path_is_found_or_the_deepest_part_of_it_that_is_there() {
        let text = "{\"é\": 1,\n \"a\": [ {\"b\": \"x\\\"y\"}, 7]}";
        let mut problems =
            ["", "a", "a[0].b", "a[0].c", "a[1]", "a[9].z", "é"].map(problem).to_vec();
        locate(text, 5, &mut problems);
        let at: Vec<(usize, usize)> =
            problems.iter().map(|p| (p.line.unwrap(), p.column.unwrap())).collect();
        assert_eq!(at, [(5, 1), (6, 7), (6, 15), (6, 9), (6, 24), (6, 7), (5, 7)]);
    }

    #[test]
    fn a_key_that_is_given_twice_is_found_at_any_depth_and_however_it_is_written() {
        let text = r#"{"a":1,"b":[{"c":{},"d":"}","c":2}],"\u0061":3}"#;
        let found: Vec<(String, usize)> =
            repeated(text, 1).into_iter().map(|p| (p.path, p.column.unwrap())).collect();
        assert_eq!(found, [("b[0].c".to_owned(), 29), ("a".to_owned(), 37)]);
        assert!(repeated(r#"{"a":{"a":[{"a":1},{"a":1}]}}"#, 1).is_empty());
    }
}

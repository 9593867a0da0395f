//! Where problems of a JSON file are, and keys that it gives twice.

use super::Problem;
use crate::document::{Flaw, FlawKind, Place, flaws, read_file};

/// Fills in line and column of the problems that have none. The text starts at a line of its file.
pub(crate) fn locate(text: &str, first_line: usize, problems: &mut [Problem]) {
    let is_lost = |problem: &Problem| problem.column.is_none();
    if !problems.iter().any(is_lost) {
        return;
    }
    let Some(root) = read_file(text) else { return };
    for problem in problems.iter_mut().filter(|problem| is_lost(problem)) {
        let (line, column) = line_and_column(root.place_of(&problem.path), first_line);
        problem.line = Some(line);
        problem.column = Some(column);
    }
}

/// Returns a problem for each key that one object gives twice: one of the two values would be lost.
pub(crate) fn repeated(text: &str, first_line: usize) -> Vec<Problem> {
    let Some(root) = read_file(text) else { return Vec::new() };
    let is_repeated = |kind: &FlawKind| matches!(kind, FlawKind::RepeatedKey(_));
    let found = flaws(&root).into_iter().filter(|flaw| is_repeated(&flaw.kind));
    let problem = |flaw: Flaw| {
        let (line, column) = line_and_column(flaw.at, first_line);
        let message = "the key is given twice; which value counts?".to_owned();
        Problem { message, path: flaw.path, line: Some(line), column: Some(column) }
    };
    found.map(problem).collect()
}

fn line_and_column(at: Place, first_line: usize) -> (usize, usize) {
    let (line, column) = at.numbers();
    (first_line + line - 1, column)
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

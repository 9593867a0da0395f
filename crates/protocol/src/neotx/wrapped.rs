//! Contracts in the text of an agent's last message: bare, in a fence, or after some prose.

use super::is_report;
use crate::document::{self, Data, Entry, Fault, Node, Place};

/// The line that names the pull request, outside the contract.
const PR_LINE: &str = "PR_URL:";
/// What a report says that cannot be read.
const REPORT_WORDS: [&str; 3] = ["\"status\"", "\"verdict\"", "\"findings\""];
/// Most objects in prose that are looked at, from the end.
const OBJECTS_MAX: usize = 50;

/// Reads a contract that may stand in prose. Of several the last report is meant: what follows it may be code or output.
pub fn read(text: &str) -> Result<Node, Fault> {
    let whole = document::read(text);
    if whole.as_ref().is_ok_and(|tree| matches!(tree.data, Data::Map(_))) {
        return whole;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut fault = None;
    let mut object = None;
    let mut report = None;
    for part in parts(&lines).iter().rev().take(OBJECTS_MAX) {
        match part.read(&lines) {
            Ok(tree) if is_report(&tree) => {
                report = Some(tree);
                break;
            }
            Ok(tree) if matches!(tree.data, Data::Map(_)) => object = object.or(Some(tree)),
            Ok(_) => {}
            // The last word of an agent, even if it cannot be read, is not replaced by an earlier one.
            Err(wrong) if part.is_meant_as_report(&lines) => return Err(wrong),
            Err(wrong) if part.named => fault = fault.or(Some(wrong)),
            Err(_) => {}
        }
    }
    let mut tree = match (report.or(object), fault) {
        (Some(tree), _) => tree,
        (None, Some(fault)) => return Err(fault),
        (None, None) => whole?,
    };
    if let (Data::Map(entries), Some((url, at))) = (&mut tree.data, pull_request(text))
        && !entries.iter().any(|entry| entry.key == "pr_url")
    {
        let value = Node { data: Data::Text(url), at, plain: true };
        entries.push(Entry { key: "pr_url".to_owned(), key_at: at, value });
    }
    Ok(tree)
}

/// Lines of a text that may be a contract.
struct Part {
    first: usize,
    end: usize,
    /// Whether a fence says that it is JSON or YAML.
    named: bool,
}

impl Part {
    fn lines<'l>(&self, lines: &'l [&'l str]) -> &'l [&'l str] {
        lines.get(self.first..self.end).unwrap_or_default()
    }

    /// Reads the part, with the places that it has in the whole text.
    fn read(&self, lines: &[&str]) -> Result<Node, Fault> {
        let above = u32::try_from(self.first).unwrap_or(u32::MAX);
        match document::read(&self.lines(lines).join("\n")) {
            Ok(mut tree) => {
                move_down(&mut tree, above);
                Ok(tree)
            }
            Err(fault) => Err(Fault { at: below(fault.at, above), ..fault }),
        }
    }

    fn is_meant_as_report(&self, lines: &[&str]) -> bool {
        let says = |line: &&str| REPORT_WORDS.iter().any(|word| line.contains(word));
        self.named && self.lines(lines).iter().any(says)
    }
}

fn below(at: Place, above: u32) -> Place {
    Place { line: at.line.saturating_add(above), ..at }
}

fn move_down(node: &mut Node, above: u32) {
    node.at = below(node.at, above);
    match &mut node.data {
        Data::List(items) => items.iter_mut().for_each(|item| move_down(item, above)),
        Data::Map(entries) => {
            for entry in entries {
                entry.key_at = below(entry.key_at, above);
                move_down(&mut entry.value, above);
            }
        }
        Data::Null | Data::Bool(_) | Data::Number(_) | Data::Text(_) => {}
    }
}

/// Fenced blocks, and objects between them that begin a line, in the order of the text.
fn parts(lines: &[&str]) -> Vec<Part> {
    let mut found = Vec::new();
    let mut open: Option<(usize, Option<Part>)> = None;
    let mut after = 0;
    let mut unclosed = 0;
    for (number, line) in lines.iter().enumerate() {
        let bare = line.trim_start();
        let ticks = bare.len() - bare.trim_start_matches('`').len();
        let word = bare.trim_start_matches('`').trim();
        match &mut open {
            Some((fence, part)) if ticks >= *fence && word.is_empty() => {
                found.extend(part.take().map(|part| Part { end: number, ..part }));
                open = None;
            }
            Some(_) => {}
            None if ticks >= 3 => {
                let named = matches!(word, "json" | "yaml" | "yml");
                let part = Part { first: number + 1, end: number + 1, named };
                open = Some((ticks, (named || word.is_empty()).then_some(part)));
            }
            // Looking for an end that is not there costs the rest of the text each time.
            None if line.starts_with('{') && number >= after && unclosed < OBJECTS_MAX => {
                match end_of_object(lines, number) {
                    Some(end) => {
                        found.push(Part { first: number, end, named: false });
                        after = end;
                    }
                    None => unclosed += 1,
                }
            }
            None => {}
        }
    }
    found
}

/// The line after the object that begins on a line: where its braces are closed, outside of texts.
fn end_of_object(lines: &[&str], start: usize) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (number, line) in lines.iter().enumerate().skip(start) {
        for c in line.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                '{' if !quoted => depth += 1,
                '}' if !quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 {
            return Some(number + 1);
        }
    }
    None
}

/// `PR_URL: https://…` on a line of its own.
pub fn pull_request(text: &str) -> Option<(String, Place)> {
    text.lines().enumerate().find_map(|(number, line)| {
        let url = line.strip_prefix(PR_LINE)?.split_whitespace().next()?;
        let is_url = url.starts_with("https://") || url.starts_with("http://");
        let line = u32::try_from(number).ok()?.saturating_add(1);
        is_url.then(|| (url.to_owned(), Place { line, column: 1 }))
    })
}

/// The number in a pull request's URL.
pub fn pull_request_number(url: &str) -> Option<u64> {
    let digits: String =
        url.split_once("/pull/")?.1.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contract_is_found_in_prose_with_its_places() {
        let text = "All done.\n\nPR_URL: https://github.com/a/b/pull/17\n\n```json\n{\n  \"status\": \"DONE\"\n}\n```\nBye\n";
        let tree = read(text).unwrap();
        assert_eq!(tree.get("status").unwrap().at.line, 7);
        let url = tree.get("pr_url").unwrap().text().unwrap();
        assert_eq!(pull_request_number(url), Some(17));
    }

    #[test]
    fn of_several_the_last_is_meant_and_code_is_not() {
        let text = "```json\n{\"a\":1}\n```\n```ts\nlet x: y = {};\n```\n```json\n{\"b\":2}\n```\n";
        assert!(read(text).unwrap().get("b").is_some());
        assert!(read("Here it is:\n{\n \"c\": 3\n}\n").unwrap().get("c").is_some());
        assert!(read("{\"a\":1}").unwrap().get("a").is_some());
    }

    #[test]
    fn code_and_output_after_a_report_do_not_hide_it() {
        let report = "```json\n{\"task_id\":\"T6\",\"status\":\"DONE\"}\n```\n";
        for after in [
            "```ts\nlet x: y = {};\n```\n",
            "```\nwarning: unused\n```\n",
            "```\nnot yaml: [\n```\n",
            "```json\n{\"scripts\": {\"test\": \"vitest\"}}\n```\n",
            "{ not json\n",
            "```json\n{\n```\n",
        ] {
            let text = format!("I did it.\n\n{report}\nThe change:\n\n{after}");
            assert!(read(&text).unwrap().get("status").is_some(), "{text}");
        }
        let broken = format!("{report}\n```json\n{{\"status\": \"BLOCKED\",\n```\n");
        assert!(read(&broken).is_err(), "the last word cannot be read");
        let bare = "Done:\n{\n  \"status\": \"DONE\",\n  \"notes\": \"a } in it\"\n}\n\n```ts\n{ x }\n```\n";
        assert_eq!(read(bare).unwrap().get("status").unwrap().at.line, 3);
    }

    #[test]
    fn what_is_no_contract_is_a_fault_or_no_object() {
        for text in ["", "just words", "```json\n{\n```", "{\"a\":"] {
            let read = read(text);
            assert!(read.is_err() || !matches!(read.unwrap().data, Data::Map(_)), "{text:?}");
        }
    }
}

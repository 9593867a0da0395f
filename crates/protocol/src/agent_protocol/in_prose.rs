//! Missions and results as agents write them: bare, or in the one block of a message that is one.

use super::{mission_check, result};
use crate::blocks::{self, BLOCKS_MAX};
use crate::contract::Mode;
use crate::document::{self, Data, Fault, Node, Place};
use std::collections::BTreeMap;

/// Spaces before the fence of a contract; one that is further in is part of a text.
const INDENT_MAX: usize = 1;
/// Keys of a contract in a text that cannot be read, from which on it is meant as one.
const MEANT_MIN: usize = 2;

/// What is looked for.
struct Wanted {
    what: &'static str,
    keys: &'static [&'static str],
    /// Whether a tree has its marks, and not those of the other contract of the protocol.
    fits: fn(&Node) -> bool,
}

const MISSION: Wanted = Wanted {
    what: "mission",
    keys: &["version", "task_id", "epic_id", "prd_id", "instruction", "context"],
    fits: |tree| mission_check::marks("", Some(tree)) > 0,
};

const RESULT: Wanted = Wanted {
    what: "result",
    keys: &["version", "task_id", "status", "files_modified", "log", "completed_at"],
    fits: |tree| result::marks("", Some(tree)) > 0 && mission_check::marks("", Some(tree)) == 0,
};

/// Reads a mission.
pub fn mission(text: &str, mode: Mode) -> Result<Node, Fault> {
    read(text, mode, &MISSION)
}

/// Reads a result.
pub fn result(text: &str, mode: Mode) -> Result<Node, Fault> {
    read(text, mode, &RESULT)
}

/// The original reads bare documents, and comity writes no others; what is around a contract is left aside only
/// where neither is asked for.
fn read(text: &str, mode: Mode, wanted: &Wanted) -> Result<Node, Fault> {
    let whole = document::read(text);
    if mode != Mode::Full || whole.as_ref().is_ok_and(|tree| matches!(tree.data, Data::Map(_))) {
        return whole;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = blocks::of(&lines);
    blocks.retain(|block| block.indent <= INDENT_MAX);
    if blocks.len() > BLOCKS_MAX {
        let message = format!("more than {BLOCKS_MAX} blocks; leave the {} alone", wanted.what);
        return Err(Fault { message, at: Place::START });
    }
    let mut found = Vec::new();
    for block in &blocks {
        let read = block.read(&lines);
        let fits = match &read {
            Ok(tree) => (wanted.fits)(tree),
            Err(_) => meant(numbered(&lines).skip(block.first).take(block.len()), wanted).is_some(),
        };
        if fits {
            found.push((block.first, read));
        }
    }
    // A contract without a fence that has a mistake is not replaced by what it quotes.
    let is_outside = |(number, _): &(usize, &str)| !blocks.iter().any(|block| block.has(*number));
    if let Some(first) = meant(numbered(&lines).filter(is_outside), wanted) {
        found.push((first, whole.clone()));
        found.sort_by_key(|(first, _)| *first);
    }
    // Without any, the only block that names its language is meant.
    let mut named = blocks.iter().filter(|block| block.named);
    match (found.len(), named.next(), named.next()) {
        (0, Some(only), None) => only.read(&lines),
        (0 | 1, ..) => found.pop().map_or(whole, |(_, read)| read),
        _ => Err(several(&found, wanted)),
    }
}

fn numbered<'l>(lines: &'l [&'l str]) -> impl Iterator<Item = (usize, &'l str)> {
    lines.iter().copied().enumerate()
}

/// Returns the first line that is meant as part of the contract, whether or not it can be read.
fn meant<'l>(lines: impl Iterator<Item = (usize, &'l str)>, wanted: &Wanted) -> Option<usize> {
    let quotes = ['"', '\''];
    let key_of = |line: &str| {
        let (key, _) = line.trim_start().split_once(':')?;
        let key = key.trim_start_matches(quotes).trim_end().trim_end_matches(quotes);
        wanted.keys.iter().position(|wanted| *wanted == key)
    };
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    for (number, line) in lines {
        if let Some(key) = key_of(line) {
            seen.entry(key).or_insert(number);
        }
    }
    seen.values().min().copied().filter(|_| seen.len() >= MEANT_MIN)
}

fn several(found: &[(usize, Result<Node, Fault>)], wanted: &Wanted) -> Fault {
    let lines: Vec<String> = found.iter().map(|(first, _)| (first + 1).to_string()).collect();
    let second = found.get(1).map_or(0, |(first, _)| *first);
    let line = u32::try_from(second).unwrap_or(u32::MAX).saturating_add(1);
    let message = format!(
        "this text has {} parts that could be the {} (lines {}); leave one",
        found.len(),
        wanted.what,
        lines.join(", ")
    );
    Fault { message, at: Place { line, column: 1 } }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = include_str!("../../goldens/result.yaml");

    fn fenced(text: &str) -> String {
        format!("```yaml\n{text}```\n")
    }

    fn line_of(text: &str, key: &str) -> u32 {
        result(text, Mode::Full).unwrap().get(key).unwrap().at.line
    }

    #[test]
    fn the_one_block_that_is_a_result_is_read_with_its_places() {
        let block = fenced(RESULT);
        let bare = line_of(RESULT, "status");
        for (text, above) in [
            (block.clone(), 1),
            (format!("All done: see below.\n\n{block}\nBye: now.\n"), 3),
            (format!("~~~YAML title=x\n{RESULT}~~~\n"), 1),
            (format!("```\n{RESULT}```\n"), 1),
            (format!("Never closed.\n```yml\n{RESULT}"), 2),
            (format!("```sh\nmake: all\n```\n```yaml\nname: ci\n```\n{block}"), 7),
            (format!("```yaml\nname: ci\n```\r\n{}", block.replace('\n', "\r\n")), 4),
            (
                format!(
                    "The mission was\n```yaml\ntask_id: T1\nversion: '1'\nepic_id: E1\n```\n{block}"
                ),
                7,
            ),
        ] {
            assert_eq!(line_of(&text, "status"), bare + above, "{text}");
            let tree = result(&text, Mode::Full).unwrap();
            assert_eq!(tree.to_value(), document::read(RESULT).unwrap().to_value());
            for mode in [Mode::Compat, Mode::Strict] {
                let read = result(&text, mode);
                assert!(read.is_err() || !matches!(read.unwrap().data, Data::Map(_)), "{mode:?}");
            }
        }
        let json = "Here:\n\n{\n \"version\": \"1\", \"task_id\": \"T1\",\n \"status\": \"failed\"}\nBye\n";
        assert_eq!(line_of(json, "status"), 5);
    }

    #[test]
    fn a_fence_inside_a_text_is_part_of_it() {
        let message = "|\n      ran:\n      ```\n      make\n      ```\n";
        let text = format!(
            "```yaml\nversion: '1'\ntask_id: T1\nlog:\n  - message: {message}completed_at: now\n```\n"
        );
        assert_eq!(line_of(&text, "completed_at"), 10);
    }

    #[test]
    fn of_two_blocks_none_is_taken() {
        let (good, broken) = (fenced(RESULT), fenced("version: '1'\nstatus: [\n"));
        for text in
            [format!("{good}\n{good}"), format!("{good}{broken}"), format!("{broken}{good}")]
        {
            let fault = result(&text, Mode::Full).unwrap_err();
            assert!(fault.message.starts_with("this text has 2 parts that could be the result"));
            let second = text.match_indices("```yaml").nth(1).unwrap().0;
            assert_eq!(fault.at.line, Place::after(&text[..second]).line + 1);
            assert!(fault.message.contains(&format!("(lines 2, {})", fault.at.line)), "{fault}");
        }
        let bare = format!("version: '1'\nstatus: [\n\n{good}");
        let fault = result(&bare, Mode::Full).unwrap_err();
        assert!(fault.message.contains("(lines 1, 5)"), "what stands outside is meant: {fault}");
        let many = "```yaml\na: 1\n```\n".repeat(51);
        assert!(result(&many, Mode::Full).unwrap_err().message.starts_with("more than 50 blocks"));
    }

    #[test]
    fn what_cannot_be_read_says_where_in_the_whole_text() {
        let fault =
            result(&format!("Done.\n\n{}", fenced("version: '1'\ntask_id: [\n")), Mode::Full);
        assert!(fault.unwrap_err().at.line >= 5);
        let only = "Done.\n\n```yaml\nnothing: here\n```\n";
        assert_eq!(result(only, Mode::Full).unwrap().get("nothing").unwrap().at.line, 4);
        assert_eq!(result("just: [prose", Mode::Full), document::read("just: [prose"));
    }
}

//! Missions and results as agents write them: bare, or in the one block of a message that is one.

use super::{mission_check, result};
use crate::blocks::{self, BLOCKS_MAX, Block};
use crate::contract::Mode;
use crate::document::{self, Data, Fault, Node, Place};
use std::collections::{BTreeMap, BTreeSet};

/// A fence with more spaces before it belongs to a text inside the contract. List items have up to this many.
const INDENT_MAX: usize = 3;
/// An unreadable text counts as a contract if it has at least this many of the keys.
const MEANT_MIN: usize = 2;

pub(super) struct Wanted {
    what: &'static str,
    keys: &'static [&'static str],
    /// Keys that the other contracts do not have, or not together.
    own: &'static [&'static [&'static str]],
    /// Whether a tree has its marks, and not those of the other contract of the protocol.
    fits: fn(&Node) -> bool,
}

pub(super) const MISSION: Wanted = Wanted {
    what: "mission",
    keys: &["version", "task_id", "epic_id", "prd_id", "instruction", "context"],
    own: &[&["epic_id"], &["prd_id"], &["instruction"]],
    fits: |tree| mission_check::marks("", Some(tree)) > 0,
};

pub(super) const RESULT: Wanted = Wanted {
    what: "result",
    keys: &["version", "task_id", "status", "files_modified", "log", "completed_at"],
    own: &[&["version", "task_id"], &["log"], &["completed_at"]],
    fits: |tree| result::marks("", Some(tree)) > 0 && mission_check::marks("", Some(tree)) == 0,
};

pub fn mission(text: &str, mode: Mode) -> Result<Node, Fault> {
    read(text, mode, &MISSION)
}

pub fn result(text: &str, mode: Mode) -> Result<Node, Fault> {
    read(text, mode, &RESULT)
}

pub(super) fn is_meant(text: &str, wanted: &Wanted) -> bool {
    let lines = blocks::lines(text);
    let blocks = blocks::of(&lines);
    let (may_be, code): (Vec<&Block>, Vec<&Block>) =
        blocks.iter().partition(|block| block.may_be_contract());
    let looked_at = may_be.into_iter().take(BLOCKS_MAX);
    let read = looked_at.filter(|block| block.read(&lines).is_ok()).chain(code);
    let unread = blocks::outside(&lines, read);
    let seen: BTreeSet<&str> = unread.filter_map(|(_, line)| key_of(line)).collect();
    let there = |keys: &&&[&str]| keys.iter().all(|key| seen.contains(key));
    wanted.own.iter().filter(there).count() >= MEANT_MIN
}

/// Other text may stand around the contract only in `Mode::Full`: the original tool reads bare documents, and comity writes
/// bare documents.
fn read(text: &str, mode: Mode, wanted: &Wanted) -> Result<Node, Fault> {
    let whole = document::read(text);
    if mode != Mode::Full || whole.as_ref().is_ok_and(|tree| matches!(tree.data, Data::Map(_))) {
        return whole;
    }
    let lines = blocks::lines(text);
    let (mut blocks, code): (Vec<Block>, Vec<Block>) =
        blocks::of(&lines).into_iter().partition(Block::may_be_contract);
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
            Err(_) => {
                let numbered = lines.iter().copied().enumerate();
                meant(numbered.skip(block.first).take(block.len()), wanted).is_some()
            }
        };
        if fits {
            found.push((block.first, read));
        }
    }
    // A faulty contract without a fence is not replaced by a contract that it quotes.
    let outside = blocks::outside(&lines, blocks.iter().chain(&code));
    if let Some(first) = meant(outside, wanted) {
        found.push((first, whole.clone()));
        found.sort_by_key(|(first, _)| *first);
    }
    // If no block fits, the only block that names JSON or YAML counts.
    let mut named = blocks.iter().filter(|block| block.is_named());
    match (found.len(), named.next(), named.next()) {
        (0, Some(only), None) => only.read(&lines),
        (0 | 1, ..) => found.pop().map_or(whole, |(_, read)| read),
        _ => Err(several(&found, wanted)),
    }
}

/// Returns the first line that has a key of the contract, if there are enough keys.
fn meant<'l>(lines: impl Iterator<Item = (usize, &'l str)>, wanted: &Wanted) -> Option<usize> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, line) in lines {
        if let Some(key) = key_of(line).filter(|key| wanted.keys.contains(key)) {
            seen.entry(key).or_insert(number);
        }
    }
    seen.values().min().copied().filter(|_| seen.len() >= MEANT_MIN)
}

fn key_of(line: &str) -> Option<&str> {
    let quotes = ['"', '\''];
    let (key, _) = line.trim_start().split_once(':')?;
    Some(key.trim_start_matches(quotes).trim_end().trim_end_matches(quotes))
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
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;

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
    fn a_fence_further_in_than_the_keys_closes_nothing() {
        for inside in ["  ```\n  make\n  ```\n", " ```\n", "   ```sh\n   make\n   ```\n"] {
            let early = format!("notes: |\n{inside}{RESULT}more: 1\n");
            let late = format!("{RESULT}notes: |\n{inside}more: 1\n");
            for text in [early, late] {
                let bare = document::read(&text).unwrap().to_value();
                let message = format!("Done.\n\n{}Bye.\n", fenced(&text));
                assert_eq!(result(&message, Mode::Full).unwrap().to_value(), bare, "{message}");
                let unnamed = message.replace("```yaml", "```");
                assert_eq!(result(&unnamed, Mode::Full).unwrap().to_value(), bare, "{unnamed}");
            }
        }
        // Keys that are less far in than their fence leave its end open, and nothing is dropped.
        let less = format!(
            "-\n  ```yaml\n{RESULT}notes: |\n  ```\n  make\n  ```\nissue: []\n  ```\nBye.\n"
        );
        assert!(result(&less, Mode::Full).is_err());
    }

    #[test]
    fn code_in_another_language_is_no_result() {
        let (shape, block) = ("version: string;\nstatus: Status;\nlog: Line[];\n", fenced(RESULT));
        for language in ["ts", "diff", "c++", "text title=x"] {
            let code = format!("```{language}\n{shape}```\n");
            for text in [format!("{code}{block}"), format!("Done.\n{block}{code}")] {
                assert!(result(&text, Mode::Full).is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn a_byte_order_mark_hides_nothing_and_moves_no_place() {
        let json = document::read(RESULT).unwrap().to_value().to_string();
        for (text, line, column) in
            [(format!("{}Bye.\n", fenced(RESULT)), 2, 1), (format!("{json}\nBye.\n"), 1, 2)]
        {
            let tree = result(&format!("\u{feff}{text}"), Mode::Full).unwrap();
            assert_eq!(tree, result(&text, Mode::Full).unwrap());
            assert_eq!(tree.entry("version").unwrap().key_at, Place { line, column });
        }
    }

    #[test]
    fn a_fence_may_name_a_file_and_stand_in_a_list() {
        let block = fenced(RESULT);
        for info in ["yaml:result.yaml", "YAML{1,2}", "yaml, title"] {
            let text = format!("Done.\n{}", block.replace("yaml", info));
            assert!(result(&text, Mode::Full).is_ok(), "{text}");
        }
        for indent in 1..=3 {
            let text = format!("1. Done.\n{}", moved_in(&block, indent));
            let tree = result(&text, Mode::Full).unwrap();
            assert_eq!(tree.to_value(), document::read(RESULT).unwrap().to_value());
            let column = u32::try_from(indent).unwrap() + 1;
            assert_eq!(tree.entry("version").unwrap().key_at, Place { line: 3, column });
        }
        let deep = format!("- Done.\n{}", moved_in(&block, 4));
        assert!(result(&deep, Mode::Full).is_err(), "this is code");
    }

    fn moved_in(text: &str, indent: usize) -> String {
        text.lines().map(|line| format!("{}{line}\n", " ".repeat(indent))).collect()
    }

    fn any_text() -> impl Strategy<Value = String> {
        let line = select(vec![
            "```",
            "```yaml",
            "~~~",
            "  ```",
            "    ```",
            "``` x",
            "status: failed",
            "log:",
            "---",
            "{",
            "}",
            "",
            "made it",
            "- a",
            "# b",
            " c",
            "\t```",
            "> d",
        ]);
        vec(line, 0..7).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #[test]
        fn in_a_fence_a_result_reads_as_it_does_bare(
            texts in vec(any_text(), 4),
            mark in select(vec!["```", "~~~", "````"]),
            info in select(vec!["yaml", "", "yml x"]),
            indent in 0usize..4,
        ) {
            let line = |message: &str| json!({"level": "info", "message": message, "timestamp": "2025-01-15"});
            let value = json!({
                "version": "1", "task_id": "T1", "notes": texts[0], "status": "completed",
                "files_modified": [], "log": [line(&texts[1]), line(&texts[2])],
                "issues": [{"type": "concern", "description": texts[3]}],
                "completed_at": "2025-01-15",
            });
            let bare = document::to_yaml(&value, &document::Style::default());
            prop_assert_eq!(&document::read(&bare).unwrap().to_value(), &value);
            let block = moved_in(&format!("{mark}{info}\n{bare}{mark}\n"), indent);
            let text = format!("Here it is.\n\n{block}\nBye.\n");
            prop_assert_eq!(result(&text, Mode::Full).unwrap().to_value(), value, "{}", text);
        }
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

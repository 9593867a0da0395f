//! Contracts in the text of an agent's last message: bare, in a fence, or after some prose.

use super::is_report;
use crate::blocks::{self, BLOCKS_MAX, Block};
use crate::document::{self, Data, Entry, Fault, Node, Place};

const PR_LINE: &str = "PR_URL:";
/// A block that cannot be read counts as a report if it has one of these keys.
const REPORT_KEYS: [&str; 3] = ["status", "verdict", "findings"];

/// Reads a contract that may stand in prose. The last report counts; code or output may follow it.
pub fn read(text: &str) -> Result<Node, Fault> {
    let whole = document::read(text);
    if whole.as_ref().is_ok_and(|tree| matches!(tree.data, Data::Map(_))) {
        return whole;
    }
    let lines = blocks::lines(text);
    let mut fault = None;
    let mut object = None;
    let mut report = None;
    let blocks = blocks::of(&lines);
    let may_be = blocks.iter().rev().filter(|block| block.may_be_contract());
    for block in may_be.take(BLOCKS_MAX) {
        match block.read(&lines) {
            Ok(tree) if is_report(&tree) => {
                report = Some(tree);
                break;
            }
            Ok(tree) if matches!(tree.data, Data::Map(_)) => object = object.or(Some(tree)),
            Ok(_) => {}
            // An unreadable last report is not replaced by an earlier one.
            Err(wrong) if is_meant_as_report(block, &lines) => return Err(wrong),
            Err(wrong) if block.is_named() => fault = fault.or(Some(wrong)),
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

fn is_meant_as_report(block: &Block, lines: &[&str]) -> bool {
    let says = |line: &&str| {
        let in_json = |key: &&str| line.contains(&format!("\"{key}\""));
        let in_yaml =
            |key: &&str| line.strip_prefix(*key).is_some_and(|rest| rest.starts_with(':'));
        REPORT_KEYS.iter().any(|key| in_json(key) || in_yaml(key))
    };
    block.is_named() && block.lines(lines).iter().any(says)
}

pub fn pull_request(text: &str) -> Option<(String, Place)> {
    text.lines().enumerate().find_map(|(number, line)| {
        let url = line.strip_prefix(PR_LINE)?.split_whitespace().next()?;
        let is_url = url.starts_with("https://") || url.starts_with("http://");
        let line = u32::try_from(number).ok()?.saturating_add(1);
        is_url.then(|| (url.to_owned(), Place { line, column: 1 }))
    })
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
        assert_eq!(url, "https://github.com/a/b/pull/17");
    }

    #[test]
    fn a_byte_order_mark_hides_no_contract() {
        let text = "\u{feff}{\"status\": \"DONE\"}\nBye\n";
        assert_eq!(read(text).unwrap().get("status").unwrap().at, Place { line: 1, column: 12 });
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
        let loose = "```\nwarning: unused\n  ```\n";
        let text = report.replace("DONE", "BLOCKED") + loose + report;
        assert_eq!(read(&text).unwrap().get("status").unwrap().text(), Some("DONE"), "{text}");
        let broken = format!("{report}\n```json\n{{\"status\": \"BLOCKED\",\n```\n");
        assert!(read(&broken).is_err(), "the last word cannot be read");
        let broken = format!("{report}\n```yaml\nstatus: BLOCKED\nconcerns: [\n```\n");
        assert!(read(&broken).is_err(), "nor in YAML");
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

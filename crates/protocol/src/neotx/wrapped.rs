//! Contracts in the text of an agent's last message: bare, in a fence, or after some prose.

use crate::document::{self, Data, Entry, Fault, Node, Place};

/// The line that names the pull request, outside the contract.
const PR_LINE: &str = "PR_URL:";

/// Reads a contract that may stand in prose. Of several fenced ones the last is meant: it is the report.
pub fn read(text: &str) -> Result<Node, Fault> {
    let whole = document::read(text);
    let mut tree = match (&whole, last_fence(text)) {
        (Ok(tree), _) if matches!(tree.data, Data::Map(_)) => return whole,
        (_, Some(block)) => document::read(&block)?,
        (_, None) => match last_object(text) {
            Some(block) => document::read(&block).or(whole)?,
            None => whole?,
        },
    };
    if let (Data::Map(entries), Some((url, at))) = (&mut tree.data, pull_request(text))
        && !entries.iter().any(|entry| entry.key == "pr_url")
    {
        let value = Node { data: Data::Text(url), at, plain: true };
        entries.push(Entry { key: "pr_url".to_owned(), key_at: at, value });
    }
    Ok(tree)
}

/// The last fenced block that looks like a contract, on its own lines: what came before is blank, so that
/// places stay those of the whole text.
fn last_fence(text: &str) -> Option<String> {
    let mut found = None;
    let mut open: Option<(String, String)> = None;
    for (number, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        let ticks: String = bare.chars().take_while(|c| *c == '`').collect();
        match &mut open {
            Some((fence, block)) => {
                if ticks.len() >= fence.len() && bare.trim_end() == ticks {
                    let (_, block) = open.take().unwrap_or_default();
                    if block.trim_start().starts_with('{') || block.contains(':') {
                        found = Some(block);
                    }
                } else {
                    block.push_str(line);
                    block.push('\n');
                }
            }
            None if ticks.len() >= 3 => {
                let word = bare.trim_start_matches('`').trim();
                if matches!(word, "" | "json" | "yaml" | "yml") {
                    open = Some((ticks, "\n".repeat(number + 1)));
                } else {
                    open = Some((ticks, String::new()));
                }
            }
            None => {}
        }
    }
    found.filter(|block| block.starts_with('\n'))
}

/// From the last line that begins an object to the end of the last line that ends one.
fn last_object(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.iter().rposition(|line| line.trim_end().ends_with('}'))?;
    let start = lines.iter().take(end + 1).rposition(|line| line.starts_with('{'))?;
    let block = lines.get(start..=end)?.join("\n");
    Some("\n".repeat(start) + &block)
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
    fn what_is_no_contract_is_a_fault_or_no_object() {
        for text in ["", "just words", "```json\n{\n```", "{\"a\":"] {
            let read = read(text);
            assert!(read.is_err() || !matches!(read.unwrap().data, Data::Map(_)), "{text:?}");
        }
    }
}

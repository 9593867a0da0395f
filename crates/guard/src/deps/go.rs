//! Go modules.

use super::Names;

/// What `require` names, on one line or in a block; what only others need is marked and not counted.
pub(super) fn manifest(text: &str) -> Option<Names> {
    let mut names = Names::new();
    let mut block = "";
    for line in text.lines() {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        let words: Vec<&str> = code.split_whitespace().collect();
        let wanted = match words.as_slice() {
            [verb, "("] => {
                block = verb;
                None
            }
            [")"] => {
                block = "";
                None
            }
            ["require" | "tool", module, ..] => Some(*module),
            [module, ..] if block == "require" || block == "tool" => Some(*module),
            _ => None,
        };
        if let Some(module) = wanted
            && !comment.trim().starts_with("indirect")
        {
            names.insert(module.trim_matches('"').to_owned());
        }
    }
    Some(names)
}

pub(super) fn sum(text: &str) -> Option<Names> {
    Some(
        text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect(),
    )
}

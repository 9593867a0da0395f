//! Go modules.

use super::{Names, place};
use std::collections::BTreeSet;

/// One line of a go.mod: its verb, its words, and what is said behind them.
struct Line<'t> {
    verb: &'t str,
    words: Vec<&'t str>,
    comment: &'t str,
}

/// Reads the lines of blocks like single ones.
fn lines(text: &str) -> Vec<Line<'_>> {
    let mut found = Vec::new();
    let mut block: Option<&str> = None;
    for line in text.lines() {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        let code = code.trim();
        if let Some(verb) = code.strip_suffix('(') {
            block = Some(verb.trim());
        } else if code == ")" {
            block = None;
        } else {
            let mut words = code.split_whitespace();
            let verb = block.or_else(|| words.next()).unwrap_or_default();
            found.push(Line { verb, words: words.collect(), comment: comment.trim() });
        }
    }
    found
}

fn plain(word: &str) -> String {
    word.trim_matches('"').to_owned()
}

/// Tells whether a word is a directory, and not a module.
fn is_path(word: &str) -> bool {
    word.starts_with(['.', '/'])
}

/// What `require` names, except for what is marked as needed by others, and what `replace` puts in its place. What is replaced by a
/// directory of the repository is its own; in a go.work, `use` of another directory is a dependency.
pub(super) fn manifest(text: &str, dir: &str) -> Option<Names> {
    let mut names = Names::new();
    let mut own = BTreeSet::new();
    for Line { verb, words, comment } in lines(text) {
        match (verb, words.as_slice()) {
            ("require" | "tool", [module, rest @ ..]) if !comment.starts_with("indirect") => {
                names.insert(plain(module), rest.join(" "));
            }
            ("use", [target]) if place::inside(dir, &plain(target)).is_none() => {
                names.insert(plain(target), String::new());
            }
            ("replace", [module, ..]) => {
                let mut after = words.iter().skip_while(|word| **word != "=>").skip(1);
                let target = after.next().map(|word| plain(word)).unwrap_or_default();
                if is_path(&target) && place::inside(dir, &target).is_some() {
                    own.insert(plain(module));
                } else if is_path(&target) {
                    names.insert(place::from(&plain(module), &target), String::new());
                } else if !target.is_empty() {
                    names.insert(target, after.copied().collect::<String>());
                }
            }
            _ => {}
        }
    }
    names.retain(|name, _| !own.contains(name));
    Some(names)
}

/// The directories that a go.work uses.
pub(super) fn used(text: &str, dir: &str) -> Vec<String> {
    let words = lines(text).into_iter().filter(|line| line.verb == "use");
    let target = |line: Line<'_>| place::inside(dir, &plain(line.words.first()?));
    words.filter_map(target).collect()
}

/// The name that a go.mod gives to its module.
pub(super) fn module(text: &str) -> Option<String> {
    let line = lines(text).into_iter().find(|line| line.verb == "module")?;
    line.words.first().map(|word| plain(word))
}

/// What is marked as needed by others.
pub(super) fn indirect(text: &str, _dir: &str) -> Option<Names> {
    let marked = |line: &Line<'_>| line.verb == "require" && line.comment.starts_with("indirect");
    let module = |line: Line<'_>| Some(line.words.first()?.trim_matches('"').to_owned());
    let named = lines(text).into_iter().filter(marked).filter_map(module);
    Some(named.map(|name| (name, String::new())).collect())
}

pub(super) fn sum(text: &str, _dir: &str) -> Option<Names> {
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    Some(names.map(|name| (name.to_owned(), String::new())).collect())
}

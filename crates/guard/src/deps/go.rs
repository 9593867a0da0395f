//! Go modules.

use super::Names;

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

/// What `require` names, except for what is marked as needed by others, and what `replace` puts in its place.
pub(super) fn manifest(text: &str, _dir: &str) -> Option<Names> {
    let mut names = Names::new();
    for Line { verb, words, comment } in lines(text) {
        let plain = |word: &str| word.trim_matches('"').to_owned();
        match (verb, words.as_slice()) {
            ("require" | "tool", [module, rest @ ..]) if !comment.starts_with("indirect") => {
                names.insert(plain(module), rest.join(" "));
            }
            ("replace", words) => {
                let mut after = words.iter().skip_while(|word| **word != "=>").skip(1);
                let target = after.next().copied().unwrap_or_default();
                let own = target.starts_with("./") || target.starts_with("../");
                if !target.is_empty() && !own {
                    names.insert(plain(target), after.copied().collect::<String>());
                }
            }
            _ => {}
        }
    }
    Some(names)
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

//! setup.py: the lists of `setup()`, as far as they are written out.

use super::Names;
use super::python::requirement;

const KEYS: [&str; 4] = ["install_requires", "setup_requires", "tests_require", "extras_require"];

/// Names that a list may be made of.
const NAMES_MAX: usize = 64;

/// A piece of Python.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Text(String),
    Word(String),
    Sign(char),
    /// The end of a line that is not inside of brackets.
    End,
}

/// Takes a text in quotes, which begins with its first quote; returns how long it is.
fn text_in(code: &str, quote: char) -> (String, usize) {
    let long: String = [quote; 3].iter().collect();
    let mark = if code.starts_with(&long) { long } else { quote.to_string() };
    let inside = code.get(mark.len()..).unwrap_or_default();
    let mut escaped = false;
    let end = inside.char_indices().find(|(place, c)| {
        let ends = !escaped && inside.get(*place..).is_some_and(|rest| rest.starts_with(&mark));
        escaped = *c == '\\' && !escaped;
        ends || (*c == '\n' && mark.len() == 1)
    });
    let end = end.map_or(inside.len(), |(place, _)| place);
    let text = inside.get(..end).unwrap_or_default().to_owned();
    (text, (mark.len() * 2 + end).min(code.len()))
}

fn tokens(code: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let (mut rest, mut depth) = (code, 0_usize);
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '#' => length = rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => {
                let (text, long) = text_in(rest, c);
                length = long;
                found.push(Token::Text(text));
            }
            '\n' if depth == 0 => found.push(Token::End),
            // The line goes on.
            '\\' => length = if rest.starts_with("\\\n") { 2 } else { 1 },
            c if c.is_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
                length = end.unwrap_or(rest.len());
                let after = rest.get(length..).unwrap_or_default();
                // `r"…"` and the like are texts.
                if !(length <= 2 && after.starts_with(['"', '\''])) {
                    found.push(Token::Word(rest.get(..length).unwrap_or_default().to_owned()));
                }
            }
            c if c.is_whitespace() => {}
            c => {
                match c {
                    '[' | '(' | '{' => depth += 1,
                    ']' | ')' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                found.push(Token::Sign(c));
            }
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    found
}

/// The tokens of one value: up to a comma, a closing bracket or an end of line that is not inside of it.
fn value(tokens: &[Token]) -> &[Token] {
    let mut depth = 0_usize;
    let end = tokens.iter().position(|token| {
        match token {
            Token::Sign('[' | '(' | '{') => depth += 1,
            Token::Sign(']' | ')' | '}') if depth == 0 => return true,
            Token::Sign(']' | ')' | '}') => depth -= 1,
            Token::Sign(',') | Token::End => return depth == 0,
            _ => {}
        }
        false
    });
    tokens.get(..end.unwrap_or(tokens.len())).unwrap_or_default()
}

/// What is given to a name: by `=`, `+=`, `:`, or by a call of one of the ways in which lists grow.
fn given<'t>(all: &'t [Token], name: &str) -> Vec<&'t [Token]> {
    let mut found = Vec::new();
    for (place, token) in all.iter().enumerate() {
        let after = all.get(place + 1..).unwrap_or_default();
        let value_after = |skip: usize| value(after.get(skip..).unwrap_or_default());
        let is_word = *token == Token::Word(name.to_owned());
        let is_text = *token == Token::Text(name.to_owned());
        match after {
            [Token::Sign('='), Token::Sign('='), ..] => {}
            [Token::Sign('='), ..] if is_word => found.push(value_after(1)),
            [Token::Sign('+'), Token::Sign('='), ..] if is_word => found.push(value_after(2)),
            [Token::Sign(':'), ..] if is_text => found.push(value_after(1)),
            [Token::Sign(']'), Token::Sign('='), ..] if is_text => found.push(value_after(2)),
            [Token::Sign(']'), Token::Sign('+'), Token::Sign('='), ..] if is_text => {
                found.push(value_after(3));
            }
            [Token::Sign('.'), Token::Word(way), Token::Sign('('), ..]
                if is_word && ["append", "extend", "insert"].contains(&way.as_str()) =>
            {
                let rest = after.get(3..).unwrap_or_default();
                let skip = if way == "insert" { value(rest).len() + 1 } else { 0 };
                found.push(value(rest.get(skip..).unwrap_or_default()));
            }
            _ => {}
        }
    }
    found
}

/// Calls that give back what they are given.
const SAME: [&str; 4] = ["list", "tuple", "set", "sorted"];

/// Texts of a value, and the names that it has beside them. Names of extras are followed by a colon, and what is given to a
/// function is none of the value.
fn parts(tokens: &[Token]) -> (Vec<&str>, Vec<&str>) {
    let (mut texts, mut words) = (Vec::new(), Vec::new());
    let mut calls: Vec<bool> = Vec::new();
    let mut called = false;
    for (place, token) in tokens.iter().enumerate() {
        let in_call = calls.contains(&true);
        match (token, tokens.get(place + 1)) {
            (Token::Text(_), Some(Token::Sign(':'))) => {}
            (Token::Text(text), _) if !in_call => texts.push(text.as_str()),
            (Token::Word(word), _) if !in_call && !SAME.contains(&word.as_str()) => {
                words.push(word.as_str());
            }
            (Token::Sign('(' | '[' | '{'), _) => calls.push(called),
            (Token::Sign(')' | ']' | '}'), _) => drop(calls.pop()),
            _ => {}
        }
        called = matches!(token, Token::Word(word) if !SAME.contains(&word.as_str()));
    }
    (texts, words)
}

/// What the lists name; one that is not written out is named as such.
pub(super) fn manifest(text: &str, _dir: &str) -> Option<Names> {
    let all = tokens(text);
    let mut names = Names::new();
    for key in KEYS {
        let mut known: Vec<&str> = vec![key];
        let mut next = 0;
        // A list may be made of others that have names themselves.
        while let Some(name) = known.get(next).copied() {
            next += 1;
            let values = given(&all, name);
            let is_unknown = (values.is_empty() && name != key) || next > NAMES_MAX;
            if is_unknown {
                names.insert(format!("{key} that is computed"), String::new());
            }
            if next > NAMES_MAX {
                break;
            }
            for value in values {
                let (texts, words) = parts(value);
                names.extend(texts.into_iter().filter_map(requirement));
                let new = words.into_iter().filter(|word| !known.contains(word));
                let new: Vec<&str> = new.collect();
                known.extend(new);
            }
        }
    }
    Some(names)
}

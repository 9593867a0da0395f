//! Texts on their way to GitHub and back: marks of what comity wrote, mentions that call nobody, bounds.

use comity_core::chain::Hash;

/// GitHub takes 65,536 characters; what is cut says so.
const TEXT_CHARS_MAX: usize = 60_000;
const MARK: &str = "<!-- comity op=";
const MARK_END: &str = " -->";
/// Characters of a hash that people repeat.
const SHOWN: usize = 8;

/// Ends a text with the marks of what it says.
pub fn marked(text: &str, ops: &[String]) -> String {
    format!("{}\n\n{MARK}{}{MARK_END}", text.trim_end(), ops.join(","))
}

/// Returns the marks at the end of a text. What others wrote has none, whatever it says: the caller knows the author.
pub fn marks(text: &str) -> Vec<String> {
    let last = text.trim_end().lines().last().unwrap_or_default().trim();
    let inside = last.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(MARK_END));
    inside.into_iter().flat_map(|ops| ops.split(',')).map(str::to_owned).collect()
}

/// Returns the engine that a mark names.
pub fn engine_of(op: &str) -> Option<&str> {
    let engine = op.split('/').next()?;
    let is_hex = engine.len() == SHOWN && engine.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then_some(engine)
}

/// Makes a text safe to post: it mentions nobody, hides nothing, and is short enough.
pub fn outgoing(text: &str) -> String {
    let mut out = String::new();
    let mut fence = None;
    for line in text.split_inclusive('\n') {
        // Nobody is called inside code, and what is there has to stay as it is.
        let was_inside = fence.is_some();
        fence = after_line(fence, line);
        if was_inside || fence.is_some() {
            out.push_str(line);
        } else {
            calm(line, &mut out);
        }
    }
    cut(&out)
}

fn calm(line: &str, out: &mut String) {
    let mut before = ' ';
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(c);
        let names = chars.peek().is_some_and(char::is_ascii_alphanumeric);
        if c == '@' && names && !before.is_ascii_alphanumeric() {
            out.push_str("<!-- -->");
        }
        before = c;
    }
}

/// Returns the fence that is open after a line.
fn after_line<'t>(open: Option<&'t str>, line: &'t str) -> Option<&'t str> {
    let line = line.trim();
    let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
    match (open, mark) {
        (None, Some(_)) => {
            let sign = &line[..1];
            let length = line.len() - line.trim_start_matches(sign).len();
            Some(&line[..length])
        }
        (Some(fence), Some(_))
            if line.starts_with(fence) && line.chars().all(|c| fence.starts_with(c)) =>
        {
            None
        }
        (open, _) => open,
    }
}

/// Cuts a text that is too long; a fence that is open there is closed.
fn cut(text: &str) -> String {
    let mut chars = text.char_indices();
    let Some((end, _)) = chars.nth(TEXT_CHARS_MAX) else { return text.to_owned() };
    let left = text[end..].chars().count();
    let kept = &text[..end];
    let fence = kept.lines().fold(None, after_line);
    let close = fence.map(|fence| format!("\n{fence}")).unwrap_or_default();
    format!("{kept}{close}\n\n(comity left out {left} more characters)")
}

/// Returns the hash of what an issue says. How its lines end does not count.
pub fn hash(title: &str, body: &str) -> String {
    let text = format!("{}\n{}", title.trim(), body.replace("\r\n", "\n"));
    Hash::of(text.as_bytes()).to_string()
}

/// Returns the part of a hash that people repeat.
pub fn short(hash: &str) -> &str {
    hash.get(..SHOWN).unwrap_or(hash)
}

/// Takes out what a reader on GitHub does not see.
pub fn without_hidden(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        out.push_str(&rest[..start]);
        match rest[start..].find("-->") {
            Some(end) => rest = &rest[start + end + 3..],
            None => return out,
        }
    }
    out.push_str(rest);
    out
}

/// Reads `accept HASH` as the whole of an answer.
pub fn accepts(answer: &str) -> Option<String> {
    let mut words = answer.split_whitespace();
    let accept = words.next()?.eq_ignore_ascii_case("accept");
    let hash = words.next()?.trim_matches('`').to_ascii_lowercase();
    let is_hash = hash.len() == SHOWN && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (accept && is_hash && words.next().is_none()).then_some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_from_the_last_line_only() {
        let ops = vec!["0a1b2c3d/7.aabbcc/claim".to_owned(), "0a1b2c3d/9.aabbcc/done".to_owned()];
        let text = marked("Hello\n", &ops);
        assert_eq!(marks(&text), ops);
        assert_eq!(marks(&text.replace('\n', "\r\n")), ops);
        assert_eq!(engine_of(&ops[0]), Some("0a1b2c3d"));
        assert!(marks(&format!("{text}\nmore")).is_empty());
        assert!(marks("<!-- comity op=x").is_empty());
        assert_eq!(engine_of("someone"), None);
    }

    #[test]
    fn a_text_mentions_nobody_and_fits() {
        assert_eq!(
            outgoing("ask @ann, é@eve or a@b.c, @ and @-"),
            "ask @<!-- -->ann, é@<!-- -->eve or a@b.c, @ and @-"
        );
        let code = "```yaml\nfiles:\n  - \"@scope/x.mjs\"\n```";
        assert_eq!(
            outgoing(&format!("@ann\n{code}\n@bob")),
            format!("@<!-- -->ann\n{code}\n@<!-- -->bob")
        );
        let cut = outgoing(&format!("```\n{}", "x".repeat(70_000)));
        assert!(
            cut.contains("\n```\n\n(comity left out"),
            "a fence is closed before the cut is said"
        );
        let long = outgoing(&"ü".repeat(70_000));
        assert!(long.chars().count() < 65_536);
        assert!(long.ends_with("(comity left out 10000 more characters)"));
    }

    #[test]
    fn a_text_is_the_same_however_its_lines_end() {
        assert_eq!(hash("a ", "b\r\nc"), hash("a", "b\nc"));
        assert_ne!(hash("a", "b"), hash("a", "c"));
        assert_eq!(short(&hash("a", "b")).len(), 8);
    }

    #[test]
    fn what_is_hidden_does_not_count() {
        assert_eq!(without_hidden("a<!-- b\n -->c<!-- d"), "ac");
        assert_eq!(accepts(" Accept `0a1B2c3d`\n").as_deref(), Some("0a1b2c3d"));
        for no in ["accept", "accept 0a1b2c3", "accept 0a1b2c3d now", "accepts 0a1b2c3d"] {
            assert_eq!(accepts(no), None, "{no}");
        }
    }
}

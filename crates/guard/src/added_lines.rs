//! Lines that a difference adds, and the secrets among them.

use crate::git::Git;
use comity_engine::redact;
use serde_json::{Value, json};

/// Secrets that are named; one is enough to refuse.
const NAMED_MAX: usize = 20;

/// Lines that stand together in a new file.
#[derive(Debug, PartialEq)]
struct Hunk {
    path: String,
    first: usize,
    text: String,
}

/// Lists secrets in the lines that a difference adds, each with file, line and rule; none when git cannot tell. `compared` says
/// to git what is compared.
pub(crate) fn secrets(git: &Git, compared: &[&str]) -> Option<Vec<Value>> {
    let mut args =
        vec!["diff", "-U0", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/"];
    args.extend(compared);
    let git = git.clone().setting("core.quotePath".to_owned(), "false".into());
    let output = git.output(&args).filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut found = Vec::new();
    for hunk in hunks(&text) {
        for (at, rule) in redact::found(&hunk.text) {
            let before = hunk.text.get(..at).unwrap_or_default();
            let line = hunk.first + before.matches('\n').count();
            let message = format!("{}:{line} has what looks like a secret ({rule})", hunk.path);
            found.push(
                json!({"constraint": "secrets", "path": hunk.path, "line": line, "rule": rule,
                "message": message}),
            );
        }
    }
    found.truncate(NAMED_MAX);
    Some(found)
}

/// Reads the added lines of a difference without context. Each hunk says how many lines follow, so that no line of a file is
/// taken for a line of git.
fn hunks(text: &str) -> Vec<Hunk> {
    let mut found: Vec<Hunk> = Vec::new();
    let (mut path, mut left) = (String::new(), (0_usize, 0_usize));
    for line in text.lines() {
        if left.0 > 0 && line.starts_with('-') {
            left.0 -= 1;
        } else if left.1 > 0
            && let Some(added) = line.strip_prefix('+')
        {
            left.1 -= 1;
            if let Some(hunk) = found.last_mut() {
                hunk.text.push_str(added);
                hunk.text.push('\n');
            }
        } else if let Some(name) = line.strip_prefix("+++ ") {
            path = name.trim_matches('"').trim_start_matches("b/").trim_end().to_owned();
        } else if let Some((gone, first, added)) = places(line) {
            left = (gone, added);
            found.push(Hunk { path: path.clone(), first, text: String::new() });
        }
    }
    found.retain(|hunk| !hunk.text.is_empty());
    found
}

/// Reads `@@ -a,b +c,d @@` as b, c and d.
fn places(line: &str) -> Option<(usize, usize, usize)> {
    let mut words = line.strip_prefix("@@ -")?.split(' ');
    let number = |text: &str| text.parse::<usize>().ok();
    let pair = |word: &str| match word.split_once(',') {
        Some((at, count)) => Some((number(at)?, number(count)?)),
        None => Some((number(word)?, 1)),
    };
    let (_, gone) = pair(words.next()?)?;
    let (first, added) = pair(words.next()?.strip_prefix('+')?)?;
    Some((gone, first, added))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_lines_are_read_with_their_numbers_and_files() {
        let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-+++ b/no\n+++ b/file\n+two\n\
                    @@ -9,0 +11 @@\n+last\n\\ No newline at end of file\n\
                    diff --git a/y b/y\n--- a/y\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n";
        let hunk = |first, text: &str| Hunk { path: "x".into(), first, text: text.into() };
        assert_eq!(hunks(text), [hunk(1, "++ b/file\ntwo\n"), hunk(11, "last\n")]);
    }
}

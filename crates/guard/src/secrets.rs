//! Secrets in lines that a change adds.

use crate::git::Git;
use comity_engine::redact::secrets;

/// Secrets that are named.
const FOUND_MAX: usize = 100;
const MARKER: &str = "[redacted:";

/// A line that looks like it has a secret. The line itself is told nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Secret {
    pub path: String,
    pub line: usize,
    pub rule: String,
}

/// Finds secrets in the lines that a diff adds; `what` is what `git diff` compares. None when git cannot tell.
pub(crate) fn added(git: &Git, what: &[&str]) -> Option<Vec<Secret>> {
    let plain = ["diff", "--no-color", "--no-renames", "--text", "-U0", "--dst-prefix=b/"];
    let output = git.output(&[&plain[..], what].concat()).filter(|out| out.status.success())?;
    Some(find(&String::from_utf8_lossy(&output.stdout)))
}

fn find(diff: &str) -> Vec<Secret> {
    let (mut path, mut line) = (String::new(), 0);
    let mut left = 0;
    let mut found = Vec::new();
    for text in diff.lines() {
        if left == 0 {
            if let Some(name) = text.strip_prefix("+++ ") {
                let name = name.trim_end_matches('\t').trim_matches('"');
                path = name.strip_prefix("b/").unwrap_or(name).to_owned();
            } else if let Some((from, count)) = hunk(text) {
                (line, left) = (from, count);
            }
            continue;
        }
        let Some(text) = text.strip_prefix('+') else { continue };
        left -= 1;
        let clean = secrets(text);
        // A marker that was there before is no secret.
        let rule = clean.split(MARKER).nth(1).filter(|_| *clean != *text);
        if let Some(rule) = rule.map(|rule| rule.split([':', ']']).next().unwrap_or_default()) {
            found.push(Secret { path: path.clone(), line, rule: rule.to_owned() });
        }
        line += 1;
        if found.len() >= FOUND_MAX {
            break;
        }
    }
    found
}

/// Reads `@@ -1,2 +3,4 @@`: the first added line, and how many there are.
fn hunk(text: &str) -> Option<(usize, usize)> {
    let new = text.strip_prefix("@@ -")?.split(' ').nth(1)?.strip_prefix('+')?;
    let (from, count) = new.split_once(',').unwrap_or((new, "1"));
    Some((from.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_lines_are_looked_at_and_a_line_that_looks_like_a_header_is_one_of_them() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let diff = format!(
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-old {token}\n+fine\n+++ {token}\n\
             @@ -9,0 +11 @@ fn\n+let t = \"{token}\";\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+ok\n"
        );
        let found = find(&diff);
        let short: Vec<(&str, usize)> =
            found.iter().map(|one| (one.path.as_str(), one.line)).collect();
        assert_eq!(short, [("x", 2), ("x", 11)]);
        assert!(found.iter().all(|one| !one.rule.is_empty() && !one.rule.contains("ghp_")));
    }
}

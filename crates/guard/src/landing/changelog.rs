//! A line in the project's list of changes for each task that lands.

use crate::diff::text_at;
use crate::git::Git;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Task;

/// The heading that lines are put below.
const HEADING: &str = "unreleased";

/// Returns the same commit with a line for the task in the file; the commit as it is, where there is no such file or heading.
pub(super) fn with_line(
    git: &Git,
    commit: &str,
    file: &str,
    task: &Task,
) -> Result<String, Refusal> {
    let line = format!("- {} ({})", task.title, task.id);
    let Some(text) = text_at(git, commit, file).and_then(|text| inserted(&text, &line)) else {
        return Ok(commit.to_owned());
    };
    let failed = || Refusal::new(Code::Internal, format!("git could not write {file}"));
    let dir = tempfile::tempdir().map_err(|_| failed())?;
    let own = git.clone().with("GIT_INDEX_FILE", dir.path().join("index"));
    let hashed = git.fed(&["hash-object", "-w", "--stdin"], text);
    let hashed = hashed.filter(|output| output.status.success()).ok_or_else(failed)?;
    let blob = String::from_utf8_lossy(&hashed.stdout).trim().to_owned();
    let mode = own.line(&["ls-tree", "--format=%(objectmode)", commit, "--", file]);
    let entry = format!("{},{blob},{file}", mode.ok_or_else(failed)?);
    let added = own.does(&["read-tree", commit])
        && own.does(&["update-index", "--add", "--cacheinfo", &entry]);
    let tree = own.line(&["write-tree"]).filter(|_| added).ok_or_else(failed)?;
    amended(git, commit, &tree).ok_or_else(failed)
}

/// Makes the same commit with another tree.
fn amended(git: &Git, commit: &str, tree: &str) -> Option<String> {
    let object = git.output(&["cat-file", "commit", commit])?;
    let text = String::from_utf8(object.stdout).ok().filter(|_| object.status.success())?;
    let (_, rest) = text.split_once('\n')?;
    let made =
        git.fed(&["hash-object", "-t", "commit", "-w", "--stdin"], format!("tree {tree}\n{rest}"))?;
    let made = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    (!made.is_empty()).then_some(made)
}

/// Puts a line at the end of the section of what is not released yet; none where there is no such section, or where it has the
/// line already.
fn inserted(text: &str, line: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let is_heading = |text: &str| text.starts_with('#');
    let level = |text: &str| text.chars().take_while(|c| *c == '#').count();
    let begin =
        lines.iter().position(|text| is_heading(text) && text.to_lowercase().contains(HEADING))?;
    let after = lines.iter().enumerate().skip(begin + 1);
    let depth = level(lines.get(begin)?);
    let end = after.clone().find(|(_, text)| is_heading(text) && level(text) <= depth);
    let end = end.map_or(lines.len(), |(place, _)| place);
    let section = lines.get(begin..end)?;
    if section.contains(&line) {
        return None;
    }
    let last = section.iter().rposition(|text| !text.trim().is_empty()).unwrap_or(0);
    let mut all = lines.clone();
    if last == 0 {
        all.insert(begin + 1, "");
        all.insert(begin + 2, line);
    } else {
        all.insert(begin + last + 1, line);
    }
    Some(all.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_comes_at_the_end_of_the_section_of_what_is_not_released() {
        let text = "# Changes\n\n## Unreleased\n\n### Added\n\n- a\n\n## 1.0\n\n- old\n";
        let new = inserted(text, "- b (T1)").unwrap();
        assert_eq!(new, text.replace("- a\n", "- a\n- b (T1)\n"));
        assert_eq!(inserted(&new, "- b (T1)"), None, "once");
        assert_eq!(
            inserted("## [Unreleased]\n\n## 1.0\n", "- b").unwrap(),
            "## [Unreleased]\n\n- b\n\n## 1.0\n"
        );
        assert_eq!(inserted("# Changes\n", "- b"), None);
    }
}

//! The commit message template: `type(task-id): summary`, then why, what, tests and risks.

pub const TYPES: [&str; 9] =
    ["feat", "fix", "refactor", "test", "docs", "chore", "perf", "build", "ci"];

const SECTIONS: [&str; 4] = ["Why", "Touches", "Tests", "Risks"];

/// How a message begins that git, or a forge's merge button, writes by itself.
const WRITTEN_BY_GIT: [&str; 12] = [
    "Merge branch '",
    "Merge branches '",
    "Merge remote-tracking branch '",
    "Merge remote-tracking branches '",
    "Merge tag '",
    "Merge commit '",
    "Merge pull request #",
    "Revert \"",
    "Reapply \"",
    "fixup! ",
    "squash! ",
    "amend! ",
];

/// Returns everything that is wrong with a commit message, each with its line; nothing means that it is fine.
pub fn check(message: &str) -> Vec<(usize, String)> {
    let lines: Vec<(usize, &str)> = message
        .lines()
        .enumerate()
        .map(|(n, line)| (n + 1, line.trim_end()))
        // Git's own remarks are no part of the message; below the scissors nothing is.
        .take_while(|(_, line)| !line.starts_with("# ------------------------ >8"))
        .filter(|(_, line)| !line.starts_with('#'))
        .collect();
    let Some(start) = lines.iter().position(|(_, line)| !line.is_empty()) else {
        return vec![(1, "the message is empty".to_owned())];
    };
    let lines = lines.get(start..).unwrap_or_default();
    let mut problems = Vec::new();
    if let Some((n, first)) = lines.first() {
        // A merge or a revert is written by git.
        if WRITTEN_BY_GIT.iter().any(|word| first.starts_with(word)) {
            return problems;
        }
        problems.extend(header(first).into_iter().map(|problem| (*n, problem)));
    }
    if let Some((n, second)) = lines.get(1)
        && !second.is_empty()
    {
        problems.push((*n, "the line after the summary is not empty".to_owned()));
    }
    problems.extend(sections(lines.get(1..).unwrap_or_default()));
    problems
}

fn header(line: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let Some((head, summary)) = line.split_once(':') else {
        return vec![format!("{line:?} is not of the form type(task-id): summary")];
    };
    match head.split_once('(').and_then(|(kind, rest)| Some((kind, rest.strip_suffix(')')?))) {
        None => problems.push(format!("{head:?} is not of the form type(task-id)")),
        Some((kind, task)) => {
            if !TYPES.contains(&kind) {
                problems.push(format!("type {kind:?} is none of {}", TYPES.join(", ")));
            }
            if comity_core::ids::TaskId::parse(task).is_err() {
                problems.push(format!("{task:?} is not a task id"));
            }
        }
    }
    match summary.strip_prefix(' ').map(str::trim) {
        None | Some("") => problems.push("the summary is missing after `: `".to_owned()),
        Some(_) => {}
    }
    problems
}

fn sections(lines: &[(usize, &str)]) -> Vec<(usize, String)> {
    let end = lines.last().map_or(1, |(n, _)| *n);
    let mut problems = Vec::new();
    let mut before = 0;
    for name in SECTIONS {
        let found = lines.iter().position(|(_, line)| is_section(line, name));
        let Some(at) = found else {
            let shown = if name == "Risks" { "Risks/Mitigations" } else { name };
            problems.push((end, format!("the section `{shown}:` is missing")));
            continue;
        };
        let line = lines.get(at).map_or(end, |(n, _)| *n);
        if at < before {
            problems.push((line, format!("the section `{name}:` is out of order")));
        }
        before = before.max(at);
        if is_hollow(lines.get(at..).unwrap_or_default()) {
            problems.push((line, format!("the section `{name}:` is empty")));
        }
    }
    problems
}

fn is_section(line: &str, name: &str) -> bool {
    let Some((head, _)) = line.split_once(':') else { return false };
    head == name || (name == "Risks" && (head == "Risks/Mitigations" || head == "Risk"))
}

/// A line such as `Signed-off-by: Ann`, which git adds below the message.
fn is_trailer(line: &str) -> bool {
    let Some((token, value)) = line.split_once(": ") else { return false };
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    token.contains('-') && token.chars().all(fits) && !value.trim().is_empty()
}

fn is_hollow(lines: &[(usize, &str)]) -> bool {
    let Some(((_, first), rest)) = lines.split_first() else { return true };
    let said = first.split_once(':').is_some_and(|(_, text)| !text.trim().is_empty());
    let is_next = |line: &str| SECTIONS.iter().any(|name| is_section(line, name));
    !said
        && rest
            .iter()
            .take_while(|(_, line)| !is_next(line))
            .all(|(_, line)| line.is_empty() || is_trailer(line))
}

//! The how-tos, word for word: their commands run in a shell, their people use octokit, and what they say is to be seen is.

use crate::field_of;
use comity_standin::{ANN, Engine, Field, REPO, Seed, repository};
use std::collections::BTreeMap;

/// A block of a page: its language and its lines.
fn blocks(page: &str) -> Vec<(String, Vec<String>)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, Vec<String>)> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(language), None) => open = Some((language.to_owned(), Vec::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, lines))) => lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    blocks
}

/// The entries of a block; a text of several lines is indented.
fn entries(lines: &[String]) -> BTreeMap<String, String> {
    let mut entries: BTreeMap<String, String> = BTreeMap::new();
    let mut last = String::new();
    for line in lines {
        if line.starts_with("  ") || line.is_empty() {
            let text = entries.get_mut(&last).unwrap();
            text.push_str(line.strip_prefix("  ").unwrap_or_default());
            text.push('\n');
            continue;
        }
        let (key, value) = line.split_once(':').unwrap();
        let value = value.trim().trim_matches('"');
        let value = if value == "|" { "" } else { value };
        key.clone_into(&mut last);
        entries.insert(last.clone(), value.to_owned());
    }
    entries
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect()
}

fn shell(engine: &Engine, lines: &[String]) -> String {
    let who = match lines[0].as_str() {
        "# the agent" => "agent.dev.1",
        "# the planner" => "agent.pm.1",
        _ => ANN,
    };
    let done = engine.shell(who, &format!("set -e\n{}\n", lines.join("\n")));
    assert_eq!(done.exit, 0, "{lines:?}: {done:?}");
    done.stdout + &done.stderr
}

fn on_github(field: &Field, who: &str, said: &BTreeMap<String, String>) {
    let body = said.get("body").map_or("", String::as_str);
    let given = |name: &str| said.get(name).map(String::as_str);
    let mut args = vec![who, REPO];
    let labels = given("labels").map(list).unwrap_or_default();
    if let Some(title) = given("open") {
        args.extend(["open", title, body]);
        args.extend(labels.iter().map(String::as_str));
    } else if let Some(number) = given("comment") {
        args.extend(["say", number, body]);
    } else if let (Some(number), Some(word)) = (given("label"), given("add")) {
        args.extend(["label", number, word]);
    } else if let Some(number) = given("merge") {
        args.extend(["merge", number]);
    } else {
        panic!("nobody can do this: {said:?}");
    }
    field.hub.script("person.mjs", &args).unwrap();
}

fn shows(field: &Field, said: &BTreeMap<String, String>) {
    let number: u64 = said["issue"].parse().unwrap();
    let mut labels = list(&said["labels"]);
    labels.sort();
    assert_eq!(field.labels(number), labels, "{said:?}");
    if let Some(logins) = said.get("assigned") {
        assert_eq!(field.assignees(number), list(logins), "{said:?}");
    }
    let state = said.get("state").map_or("open", String::as_str);
    assert_eq!(field.issue(number)["state"], state, "{said:?}");
    if let Some(text) = said.get("says") {
        let comments = field.said(number);
        assert!(comments.iter().any(|one| one.contains(text)), "{said:?}: {comments:?}");
    }
}

fn follow(name: &str, other: &str) {
    let page = std::fs::read_to_string(repository().join("docs/how-to").join(name)).unwrap();
    let mut seed = Seed::default();
    seed.repositories.push("ann/middleware".to_owned());
    seed.levels.push(("ann/middleware".to_owned(), "comity-bot".to_owned(), "write".to_owned()));
    let Some(field) = field_of(other, "", &seed) else { return };
    let engine = field.engine("one");
    let mut printed = String::new();
    let mut tried = 0;
    for (language, lines) in blocks(&page) {
        let first = lines.first().cloned().unwrap_or_default();
        match language.as_str() {
            "sh" => printed = shell(&engine, &lines),
            "text" => {
                for line in &lines {
                    assert!(printed.contains(line), "{line:?} is not in: {printed}");
                }
            }
            "yaml" if first == "# then GitHub shows" => shows(&field, &entries(&lines[1..])),
            "yaml" => {
                let who = first.strip_prefix("# on GitHub, ").unwrap();
                on_github(&field, who, &entries(&lines[1..]));
            }
            _ => continue,
        }
        tried += 1;
    }
    assert!(tried > 15, "{tried}");
    assert_eq!(engine.sync()["writes"], 0, "nothing is left to be said");
}

#[test]
fn ace_on_github() {
    follow("run-ace-on-github.md", "neo");
}

#[test]
fn neo_on_github() {
    follow("run-neo-on-github.md", "ace");
}

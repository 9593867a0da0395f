//! What a ticket is, where it does not say so itself: its type, how much work it is, when it is done, and whether it is
//! clear enough.

use crate::search_terms::{split, stem};
use crate::task::Task;
use serde::Deserialize;
use std::collections::BTreeSet;

/// A list of words, each in any of its forms.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Vec<String>")]
struct Words(BTreeSet<String>);

impl From<Vec<String>> for Words {
    fn from(words: Vec<String>) -> Words {
        Words(words.iter().map(|word| stem(word)).collect())
    }
}

impl Words {
    fn has(&self, word: &str) -> bool {
        self.0.contains(&stem(word))
    }
}

/// The words and numbers of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triage {
    #[serde(rename = "type")]
    kinds: Kinds,
    complexity: Complexity,
    criteria: Criteria,
    vague: Vague,
    /// The priority of a ticket that names none.
    pub priority: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kinds {
    bug: Words,
    feature: Words,
    chore: Words,
    deletion: Words,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Complexity {
    /// Up to so many files, so many points.
    files: Vec<(usize, u32)>,
    more: u32,
    none: u32,
    tiny: Tiny,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tiny {
    words: Words,
    points: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Criteria {
    bug: String,
    feature: String,
    chore: String,
    deletion: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vague {
    words: usize,
    any: Words,
}

/// What was found out about a ticket.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated {
    /// `bug`, `feature` or `chore`.
    pub kind: &'static str,
    /// Something is to be removed: how far has to be said first.
    pub deletion: bool,
    pub complexity: u32,
    /// The criteria, where the ticket has none.
    pub derived: Option<String>,
    pub vague: bool,
}

/// The points that work is estimated with.
const POINTS: [u32; 7] = [1, 2, 3, 5, 8, 13, 21];

impl Triage {
    /// Tells whether a text begins as a ticket does: with one of the words that say what is to be done.
    pub fn begins_a_ticket(&self, text: &str) -> bool {
        let kinds = &self.kinds;
        let lists = [&kinds.bug, &kinds.feature, &kinds.chore, &kinds.deletion];
        let first = split(text).into_iter().next();
        first.is_some_and(|word| lists.iter().any(|list| list.has(&word)))
    }

    pub(super) fn read(table: toml::Table) -> Result<Triage, String> {
        toml::Value::Table(table).try_into().map_err(|error| format!("triage: {error}"))
    }

    pub fn evaluate(&self, task: &Task) -> Evaluated {
        let words: Vec<String> = split(&task.title);
        let (kind, deletion) = self.kind(task, &words);
        let has_criteria = !task.dod.is_empty() || !task.requirements.is_empty();
        let derived = (!has_criteria).then(|| self.criteria(kind, deletion, &task.title));
        let vague = derived.is_some()
            && ((task.files.is_empty() && words.len() <= self.vague.words)
                || words.iter().any(|word| self.vague.any.has(word)));
        let complexity = self.points(task, &words);
        Evaluated { kind, deletion, complexity, derived, vague }
    }

    /// The earliest word of the title that is in a list decides.
    fn kind(&self, task: &Task, words: &[String]) -> (&'static str, bool) {
        let kinds = &self.kinds;
        let lists = [
            ("chore", true, &kinds.deletion),
            ("bug", false, &kinds.bug),
            ("feature", false, &kinds.feature),
            ("chore", false, &kinds.chore),
        ];
        let found = words.iter().find_map(|word| {
            lists.iter().find(|(_, _, list)| list.has(word)).map(|(kind, del, _)| (*kind, *del))
        });
        let (kind, deletion) = found.unwrap_or(("feature", false));
        match task.kind.as_deref() {
            Some("bug" | "fix") => ("bug", deletion),
            Some("feature") => ("feature", deletion),
            Some("chore" | "refactor") => ("chore", deletion),
            Some(_) | None => (kind, deletion),
        }
    }

    fn points(&self, task: &Task, words: &[String]) -> u32 {
        let rules = &self.complexity;
        if let Some(given) = task.complexity {
            return POINTS.into_iter().find(|points| *points >= given).unwrap_or(given);
        }
        let tiny = &rules.tiny;
        if task.files.len() <= 1 && words.iter().any(|word| tiny.words.has(word)) {
            return tiny.points;
        }
        if task.files.is_empty() {
            return rules.none;
        }
        if task.files.iter().any(|file| file.contains("**")) {
            return rules.more;
        }
        let count = task.files.len();
        let fits = rules.files.iter().find(|(most, _)| count <= *most);
        fits.map_or(rules.more, |(_, points)| *points)
    }

    fn criteria(&self, kind: &str, deletion: bool, title: &str) -> String {
        let text = match (deletion, kind) {
            (true, _) => &self.criteria.deletion,
            (_, "bug") => &self.criteria.bug,
            (_, "chore") => &self.criteria.chore,
            _ => &self.criteria.feature,
        };
        text.replace("{title}", title)
    }

    /// Returns what a ticket wants to have removed: what follows the word that says so.
    pub fn object(&self, title: &str) -> String {
        let mut words = title.split_whitespace();
        for word in words.by_ref() {
            if split(word).iter().any(|word| self.kinds.deletion.has(word)) {
                break;
            }
        }
        let rest: Vec<&str> = words.collect();
        if rest.is_empty() { title.to_owned() } else { rest.join(" ") }
    }
}

/// Tells whether a text has one of some words, or another form of one.
pub fn has_word(text: &str, words: &[String]) -> bool {
    let words = Words::from(words.to_vec());
    split(text).iter().any(|word| words.has(word))
}

/// Returns the stems of a text that say what it is about.
pub fn stems(text: &str) -> BTreeSet<String> {
    const SMALL: usize = 3;
    split(text).into_iter().filter(|word| word.chars().count() >= SMALL).map(|w| stem(&w)).collect()
}

/// Fewest stems that two similar titles share.
const COMMON_MIN: usize = 2;

/// Tells by their numbers of stems whether two titles are about the same: two stems in common, and half of all.
pub fn are_similar(stems: usize, of_other: usize, common: usize) -> bool {
    let all = stems + of_other - common;
    common >= COMMON_MIN && 2 * common >= all
}

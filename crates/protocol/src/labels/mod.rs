//! States as labels or as the field of a board: from labels to a state and back, what may follow what, and what
//! counts when two are set. The state itself is comity's; labels show it.

mod builtin;
mod outside;
mod own;
mod settle;

pub(crate) use builtin::word_for;
pub use outside::{Outside, Wish};
pub use own::BadKey;
pub use settle::Settled;

use comity_core::role::Role;
use comity_core::status::Status;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    Labels,
    Field,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issue {
    Open,
    Completed,
    NotPlanned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark<'a> {
    pub word: Option<&'a str>,
    pub issue: Issue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub add: Vec<String>,
    /// Labels to take away, as they are written there.
    pub remove: Vec<String>,
    pub issue: Issue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    name: String,
    carrier: Carrier,
    words: BTreeMap<Status, String>,
    roles: Vec<(Role, String)>,
    role_prefix: Option<String>,
}

/// A word that stands for several states is read as the first of them here: as the one that says least about
/// what others have done.
fn read_order() -> impl Iterator<Item = Status> {
    let late = [Status::Claimed, Status::ChangesRequested, Status::Approved, Status::Merging];
    Status::ALL.into_iter().filter(move |status| !late.contains(status)).chain(late)
}

impl Dialect {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Returns its words for states, each once, in the order of a task's life.
    pub fn words(&self) -> Vec<&str> {
        let mut words: Vec<&str> = Vec::new();
        for status in read_order() {
            if let Some(word) = self.words.get(&status)
                && !words.iter().any(|known| same(known, word))
            {
                words.push(word);
            }
        }
        words
    }

    pub fn mark(&self, status: Status) -> Mark<'_> {
        let issue = match status {
            Status::Done => Issue::Completed,
            Status::Abandoned => Issue::NotPlanned,
            _ => Issue::Open,
        };
        Mark { word: self.words.get(&status).map(String::as_str), issue }
    }

    /// Returns what a word and the issue say; none for an open issue without a word of this dialect.
    pub fn status(&self, word: Option<&str>, issue: Issue) -> Option<Status> {
        let says = |status: Status| {
            word.zip(self.words.get(&status)).is_some_and(|(word, known)| same(word, known))
        };
        match issue {
            Issue::Open => read_order().find(|status| says(*status)),
            Issue::NotPlanned => Some(Status::Abandoned),
            // Some dialects have one word for what is given up; closed with that word it is not done.
            Issue::Completed if says(Status::Abandoned) && !says(Status::Done) => {
                Some(Status::Abandoned)
            }
            Issue::Completed => Some(Status::Done),
        }
    }

    pub fn states_in<'a>(&self, labels: &'a [String]) -> Vec<&'a str> {
        let known = |label: &&String| self.words.values().any(|word| same(word, label));
        labels.iter().filter(known).map(String::as_str).collect()
    }

    /// Returns what must be done so that the labels show a state and no other. Foreign labels are left alone.
    pub fn change(&self, labels: &[String], to: Status) -> Change {
        let mark = self.mark(to);
        let present = self.states_in(labels);
        let is_wanted = |label: &str| mark.word.is_some_and(|word| same(word, label));
        let add = mark.word.filter(|_| !present.iter().any(|label| is_wanted(label)));
        let remove = present.iter().filter(|label| !is_wanted(label)).map(|l| (*l).to_owned());
        Change {
            add: add.map(str::to_owned).into_iter().collect(),
            remove: remove.collect(),
            issue: mark.issue,
        }
    }

    /// Returns the words that may follow while a task has a state, by the table of transitions. One word shows
    /// several states, and what may follow differs between them.
    pub fn next(&self, status: Status) -> Vec<&str> {
        let now = self.mark(status).word;
        let follows = |next: &&str| {
            let shows = |to: &Status| self.mark(*to).word.is_some_and(|word| same(word, next));
            !now.is_some_and(|now| same(now, next)) && status.next().iter().any(shows)
        };
        self.words().into_iter().filter(follows).collect()
    }

    pub fn role(&self, labels: &[String]) -> Option<Role> {
        let listed = |label: &String| {
            self.roles.iter().find(|(_, word)| same(word, label)).map(|(role, _)| *role)
        };
        let prefixed = |label: &String| {
            let prefix = self.role_prefix.as_deref()?;
            let head = label.get(..prefix.len())?;
            let name = label.get(prefix.len()..)?;
            same(head, prefix).then(|| Role::parse(name).ok())?
        };
        labels.iter().find_map(|label| listed(label).or_else(|| prefixed(label)))
    }

    pub fn role_word(&self, role: Role) -> Option<&str> {
        self.roles.iter().find(|(known, _)| *known == role).map(|(_, word)| word.as_str())
    }

    /// Returns the same dialect with the spelling that a board or repository has, or the words it does not have.
    pub fn spelled(&self, available: &[String]) -> Result<Dialect, Vec<String>> {
        let mut out = self.clone();
        let mut missing = Vec::new();
        for word in out.words.values_mut() {
            match available.iter().find(|there| same(there, word)) {
                Some(there) => word.clone_from(there),
                None if missing.contains(word) => {}
                None => missing.push(word.clone()),
            }
        }
        if missing.is_empty() { Ok(out) } else { Err(missing) }
    }
}

/// Hosts compare labels and field values without regard to case.
fn same(a: &str, b: &str) -> bool {
    plain(a) == plain(b)
}

fn plain(word: &str) -> String {
    word.trim().to_lowercase()
}

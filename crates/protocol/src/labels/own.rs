//! A project's own words for the states and roles.

use super::{Carrier, Dialect, builtin, same};
use comity_core::role::Role;
use comity_core::status::Status;
use std::collections::BTreeMap;

/// Characters of a label, as GitHub allows them.
const WORD_CHARS_MAX: usize = 50;
const NEEDED: [Status; 5] =
    [Status::Queued, Status::InProgress, Status::Review, Status::Done, Status::Blocked];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadKey {
    pub key: String,
    pub message: String,
}

fn bad(key: impl Into<String>, message: impl Into<String>) -> BadKey {
    BadKey { key: key.into(), message: message.into() }
}

impl Dialect {
    /// Makes the dialect of a project: one of comity's by name, or the project's own words.
    ///
    /// States without a word show as the state they come from: claimed and changes requested as in progress,
    /// approved and merging as review, failed as blocked. What is abandoned needs no word.
    pub fn configured(
        name: Option<&str>,
        states: &BTreeMap<String, String>,
        roles: &BTreeMap<String, String>,
    ) -> Result<Dialect, BadKey> {
        match name {
            Some("own") | None if !states.is_empty() => own(states, roles),
            Some("own") => Err(bad("dialect", "the dialect own needs a table labels.states")),
            name => {
                let name = name.unwrap_or("neo");
                let mut dialect = Dialect::named(name).ok_or_else(|| {
                    let names = builtin::NAMES.join(", ");
                    bad(
                        "dialect",
                        format!("comity knows no dialect {name:?}; choose one of {names}, own"),
                    )
                })?;
                if !states.is_empty() {
                    return Err(bad(
                        "dialect",
                        format!("the dialect {name:?} has its own states; leave out labels.states"),
                    ));
                }
                if !roles.is_empty() {
                    dialect.roles = read_roles(roles, &dialect)?;
                    dialect.role_prefix = None;
                }
                Ok(dialect)
            }
        }
    }
}

fn own(
    states: &BTreeMap<String, String>,
    roles: &BTreeMap<String, String>,
) -> Result<Dialect, BadKey> {
    let mut words = BTreeMap::new();
    for (name, word) in states {
        let key = format!("states.{name}");
        let status = Status::parse(name).map_err(|refusal| bad(&key, refusal.message))?;
        words.insert(status, checked(&key, word)?);
    }
    for status in NEEDED {
        if !words.contains_key(&status) {
            return Err(bad("states", format!("the state {status} has no word")));
        }
    }
    for status in Status::ALL {
        let like = words.get(&kin(status)).cloned();
        if let (false, Some(word)) = (words.contains_key(&status), like) {
            words.insert(status, word);
        }
    }
    tell_apart(&words)?;
    let mut dialect = Dialect {
        name: "own".to_owned(),
        carrier: Carrier::Labels,
        words,
        roles: Vec::new(),
        role_prefix: None,
    };
    dialect.roles = read_roles(roles, &dialect)?;
    Ok(dialect)
}

/// A word may stand for several states only where it is read as one that is shown the same: as what they come
/// from, or closed.
fn tell_apart(words: &BTreeMap<Status, String>) -> Result<(), BadKey> {
    let alike = |a: Status, b: Status| {
        words.get(&a).zip(words.get(&b)).is_some_and(|(one, other)| same(one, other))
    };
    let rest = Status::ALL.into_iter().filter(|status| !NEEDED.contains(status));
    let order: Vec<Status> = NEEDED.into_iter().chain(rest).collect();
    for (place, status) in order.iter().enumerate() {
        for other in order.iter().skip(place + 1) {
            let (one, two) = (kin(*status), kin(*other));
            let closed = match (one, two) {
                (Status::Done, Status::Review) | (Status::Review, Status::Done) => {
                    alike(Status::Review, Status::Done)
                }
                (Status::Blocked | Status::Done, Status::Abandoned) => true,
                _ => false,
            };
            if alike(*status, *other) && one != two && !closed {
                return Err(bad(
                    format!("states.{other}"),
                    format!("this word already stands for {status}"),
                ));
            }
        }
    }
    Ok(())
}

/// The state whose word a state has when it has none of its own.
fn kin(status: Status) -> Status {
    match status {
        Status::Claimed | Status::ChangesRequested => Status::InProgress,
        Status::Approved | Status::Merging => Status::Review,
        Status::Failed => Status::Blocked,
        other => other,
    }
}

fn read_roles(
    roles: &BTreeMap<String, String>,
    dialect: &Dialect,
) -> Result<Vec<(Role, String)>, BadKey> {
    let mut out: Vec<(Role, String)> = Vec::new();
    for (name, word) in roles {
        let key = format!("roles.{name}");
        let role = Role::parse(name).map_err(|refusal| bad(&key, refusal.message))?;
        let word = checked(&key, word)?;
        let taken = out.iter().any(|(_, known)| same(known, &word))
            || dialect.words.values().any(|known| same(known, &word));
        if taken {
            return Err(bad(key, format!("another state or role already has the word {word:?}")));
        }
        out.push((role, word));
    }
    Ok(out)
}

fn checked(key: &str, word: &str) -> Result<String, BadKey> {
    let word = word.trim();
    if word.is_empty() || word.chars().any(char::is_control) {
        return Err(bad(key, format!("{word:?} cannot be a label")));
    }
    if word.chars().count() > WORD_CHARS_MAX {
        return Err(bad(key, format!("a label has at most {WORD_CHARS_MAX} characters")));
    }
    Ok(word.to_owned())
}

//! A change that somebody made outside: what it asks for, and whether it can be.

use super::{Dialect, Issue, Mark, plain};
use comity_core::policy::Policy;
use comity_core::role::{Role, Verb};
use comity_core::status::Status;
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outside {
    Agrees,
    Wish(Wish),
    /// It asks for one that cannot follow: it is put back, and this is said.
    Refused(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub from: Status,
    pub steps: Vec<Status>,
}

impl Dialect {
    /// Compares what an issue shows with the state of its task. A task with code is finished by way of merging.
    pub fn outside(&self, known: Status, seen: Mark<'_>, code: bool) -> Outside {
        let shown = self.mark(known);
        if alike(shown, seen) {
            return Outside::Agrees;
        }
        let Some(to) = self.status(seen.word, seen.issue) else {
            return withdrawn(known, shown);
        };
        let reopened = known.is_finished() && seen.issue == Issue::Open;
        let to = if reopened && (to == known || alike_words(shown.word, seen.word)) {
            Status::Queued
        } else {
            to
        };
        match self.way(known, to, code) {
            Some(steps) => Outside::Wish(Wish { from: known, steps }),
            None => Outside::Refused(format!(
                "a task that is {known} cannot become {to}; comity puts back {}",
                shown.word.unwrap_or("no label")
            )),
        }
    }

    /// The shortest way that shows nothing else in between; it ends as soon as the wish is shown.
    fn way(&self, from: Status, to: Status, code: bool) -> Option<Vec<Status>> {
        let shows = |status: Status, like: Status| alike(self.mark(status), self.mark(like));
        let mut before: BTreeMap<Status, Status> = BTreeMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for next in at.next().iter().copied() {
                let skips_merge = code && at == Status::Approved && next == Status::Done;
                let near = next == to || shows(next, from) || shows(next, to);
                if near && !skips_merge && next != from && !before.contains_key(&next) {
                    before.insert(next, at);
                    queue.push_back(next);
                }
            }
        }
        let mut steps = vec![to];
        while let Some(earlier) = before.get(steps.last()?) {
            if *earlier == from {
                steps.reverse();
                let end = steps.iter().position(|status| shows(*status, to)).unwrap_or(0);
                steps.truncate(end + 1);
                return Some(steps);
            }
            steps.push(*earlier);
        }
        None
    }
}

/// Taking the label away from a waiting task withdraws it until the label is back; elsewhere it means nothing.
fn withdrawn(known: Status, shown: Mark<'_>) -> Outside {
    if known == Status::Queued {
        return Outside::Wish(Wish { from: known, steps: vec![Status::Blocked] });
    }
    let word = shown.word.unwrap_or("its label");
    Outside::Refused(format!("a task that is {known} keeps its label; comity puts back {word}"))
}

fn alike(a: Mark<'_>, b: Mark<'_>) -> bool {
    a.issue == b.issue && alike_words(a.word, b.word)
}

fn alike_words(a: Option<&str>, b: Option<&str>) -> bool {
    a.map(plain) == b.map(plain)
}

impl Wish {
    pub fn verbs(&self) -> Vec<Verb> {
        let mut at = self.from;
        let mut verbs = Vec::new();
        for step in &self.steps {
            verbs.push(verb(at, *step));
            at = *step;
        }
        verbs
    }

    /// Returns the first thing on the way that these roles may not do; a person may do all of it.
    pub fn forbidden(&self, policy: &Policy, roles: &[Role], person: bool) -> Option<Verb> {
        if person {
            return None;
        }
        self.verbs().into_iter().find(|verb| !policy.allows(roles, *verb))
    }
}

fn verb(from: Status, to: Status) -> Verb {
    match to {
        Status::Queued if from.is_finished() => Verb::Reopen,
        Status::Queued if from.is_held() => Verb::Release,
        Status::Queued if from == Status::Blocked => Verb::Unblock,
        Status::Queued => Verb::Requeue,
        Status::Claimed => Verb::Claim,
        Status::InProgress => Verb::Start,
        Status::Review => Verb::Submit,
        Status::ChangesRequested => Verb::RequestChanges,
        Status::Approved => Verb::Approve,
        Status::Merging => Verb::Merge,
        Status::Done => Verb::Done,
        Status::Blocked => Verb::Block,
        Status::Failed => Verb::Fail,
        Status::Abandoned => Verb::Abandon,
    }
}

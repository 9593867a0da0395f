//! Decides whether two patterns can cover the same path, with such a path as the proof.
//!
//! The decision is a breadth-first search over pairs of states of the two automata, together with
//! how the current segment of the path begins, so that only valid paths are found. Nothing is made
//! deterministic: the work is at most four visits for each of |A|·|B| pairs.

use super::automaton::{ACCEPT, Id, Nfa, Step};
use super::class::Common;
use super::glob::{Literal, Scope, Shape, strip_segments};
use super::{CaseRule, Pattern};

/// Returns a path that both patterns cover, if there is one.
///
/// The answer is exact but for two cases, in which it errs towards an overlap and the witness may
/// not be covered by both: patterns read under different case rules, and a combining mark directly
/// after a wildcard, where the witness found need not be composed (NFC).
#[must_use]
pub fn overlap(a: &Pattern, b: &Pattern) -> Option<String> {
    if a.case_rule() != b.case_rule() {
        return mixed_rules(a, b);
    }
    if !prefix_may_overlap(a, b) {
        return None;
    }
    match (a.shape(), b.shape()) {
        (Shape::Literal(left), Shape::Literal(right)) => literals(left, right),
        (Shape::Glob { automaton, .. }, Shape::Literal(literal)) => {
            glob_and_literal((a, automaton), (b, literal))
        }
        (Shape::Literal(literal), Shape::Glob { automaton, .. }) => {
            glob_and_literal((b, automaton), (a, literal))
        }
        (Shape::Glob { automaton: left, .. }, Shape::Glob { automaton: right, .. }) => {
            Search::new(left, right, a.case_rule()).run().map(|path| readable(path, a, b))
        }
    }
}

/// Tells from the literal ends alone whether an overlap is still possible.
///
/// Never rejects two patterns that overlap; an index may use the same two facts.
#[must_use]
pub fn prefix_may_overlap(a: &Pattern, b: &Pattern) -> bool {
    let (left, right) = (a.literal_prefix(), b.literal_prefix());
    let (left_tail, right_tail) = (a.literal_tail(), b.literal_tail());
    (strip_segments(left, right).is_some() || strip_segments(right, left).is_some())
        && (left_tail.ends_with(right_tail) || right_tail.ends_with(left_tail))
}

/// A store has one rule, so this is a caller's mistake; folding both sides finds every overlap.
fn mixed_rules(a: &Pattern, b: &Pattern) -> Option<String> {
    let fold = |pattern: &Pattern| Pattern::parse_with(pattern.as_str(), CaseRule::Insensitive);
    match (fold(a), fold(b)) {
        (Ok(a), Ok(b)) => overlap(&a, &b),
        _ => Some(a.literal_prefix().to_owned()),
    }
}

/// Both prefixes are known to be comparable: the deeper literal lies within the other one.
fn literals(a: &Literal, b: &Literal) -> Option<String> {
    let deeper = if a.path.len() >= b.path.len() { a } else { b };
    let other = if a.path.len() >= b.path.len() { b } else { a };
    let same = deeper.path.len() == other.path.len();
    let itself =
        deeper.scope == Scope::ItselfAndBelow && (!same || other.scope == Scope::ItselfAndBelow);
    Some(match (itself, deeper.path.as_str()) {
        (true, path) => path.to_owned(),
        (false, "") => "a".to_owned(),
        (false, path) => format!("{path}/a"),
    })
}

fn glob_and_literal(glob: (&Pattern, &Nfa), literal: (&Pattern, &Literal)) -> Option<String> {
    let path = &literal.1.path;
    if literal.1.scope == Scope::ItselfAndBelow && glob.0.covers_text(path) {
        return Some(path.clone());
    }
    // A literal always compiles; if it did not, "overlap" would be the safe answer.
    let Some(automaton) = literal.1.automaton() else { return Some(path.clone()) };
    Search::new(glob.1, &automaton, glob.0.case_rule())
        .run()
        .map(|path| readable(path, glob.0, literal.0))
}

/// Turns a file name such as `.rs`, the shortest match of `*.rs`, into `a.rs` where that holds.
fn readable(path: String, a: &Pattern, b: &Pattern) -> String {
    let at = path.rfind('/').map_or(0, |slash| slash + 1);
    if !path.get(at..).is_some_and(|name| name.starts_with('.')) {
        return path;
    }
    let mut named = path.clone();
    named.insert(at, 'a');
    if a.covers_text(&named) && b.covers_text(&named) { named } else { path }
}

/// How the current segment of the path begins; `.` and `..` are no segments of a valid path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Segment {
    Empty,
    Dot,
    DotDot,
    Named,
}

impl Segment {
    fn bit(self) -> u8 {
        match self {
            Self::Empty => 1,
            Self::Dot => 2,
            Self::DotDot => 4,
            Self::Named => 8,
        }
    }

    fn after_dot(self) -> Self {
        match self {
            Self::Empty => Self::Dot,
            Self::Dot => Self::DotDot,
            Self::DotDot | Self::Named => Self::Named,
        }
    }
}

/// A pair of states that was reached, and how.
#[derive(Clone, Copy)]
struct Visit {
    left: Id,
    right: Id,
    segment: Segment,
    /// The character consumed to get here, none for a free step.
    consumed: Option<char>,
    /// The visit before this one; the first visit names itself.
    before: u32,
}

struct Search<'p> {
    left: &'p Nfa,
    right: &'p Nfa,
    rule: CaseRule,
    /// One bit per kind of segment start, for each pair.
    seen: Vec<u8>,
    visits: Vec<Visit>,
    /// Visits whose path has the present length; free steps add to it.
    now: Vec<u32>,
    /// Visits whose path is one character longer.
    next: Vec<u32>,
}

impl<'p> Search<'p> {
    fn new(left: &'p Nfa, right: &'p Nfa, rule: CaseRule) -> Self {
        let seen = vec![0; left.len() * right.len()];
        Self { left, right, rule, seen, visits: Vec::new(), now: Vec::new(), next: Vec::new() }
    }

    /// Returns a shortest path that both automata accept.
    fn run(mut self) -> Option<String> {
        let first = Visit {
            left: self.left.start(),
            right: self.right.start(),
            segment: Segment::Empty,
            consumed: None,
            before: 0,
        };
        self.enter(first);
        loop {
            while let Some(number) = self.now.pop() {
                let visit = *self.visits.get(usize::try_from(number).ok()?)?;
                if visit.left == ACCEPT && visit.right == ACCEPT && visit.segment == Segment::Named
                {
                    return Some(self.path_to(number));
                }
                self.advance(number, visit);
            }
            if self.next.is_empty() {
                return None;
            }
            std::mem::swap(&mut self.now, &mut self.next);
        }
    }

    fn advance(&mut self, number: u32, visit: Visit) {
        let (left, right) = (*self.left.state(visit.left), *self.right.state(visit.right));
        let free = Visit { consumed: None, before: number, ..visit };
        // A pure choice must be taken before anything is consumed, so its partner can wait: that
        // saves most of the pairs in which both sides could move freely.
        if !right.is_choice() || left.is_choice() {
            for id in left.free() {
                self.enter(Visit { left: id, ..free });
            }
        }
        if !left.is_choice() {
            for id in right.free() {
                self.enter(Visit { right: id, ..free });
            }
        }
        if left.is_choice() || right.is_choice() {
            return;
        }
        let step = Visit { left: left.next, right: right.next, ..free };
        if let (Step::Slash, Step::Slash) = (left.step, right.step) {
            if visit.segment == Segment::Named {
                self.enter(Visit { segment: Segment::Empty, consumed: Some('/'), ..step });
            }
            return;
        }
        let Common { dot, other } = self.left.common(left.step, self.right, right.step, self.rule);
        if other.is_some() {
            self.enter(Visit { segment: Segment::Named, consumed: other, ..step });
        }
        // After a named start a dot leads nowhere that another character does not.
        if dot && (other.is_none() || visit.segment != Segment::Named) {
            let segment = visit.segment.after_dot();
            self.enter(Visit { segment, consumed: Some('.'), ..step });
        }
    }

    /// Records a visit unless an earlier one can do at least as much.
    fn enter(&mut self, visit: Visit) {
        let pair = usize::from(visit.left) * self.right.len() + usize::from(visit.right);
        let Some(seen) = self.seen.get_mut(pair) else { return };
        // Whatever may follow another start may also follow a named one.
        if *seen & (visit.segment.bit() | Segment::Named.bit()) != 0 {
            return;
        }
        *seen |= visit.segment.bit();
        let Ok(number) = u32::try_from(self.visits.len()) else { return };
        self.visits.push(visit);
        if visit.consumed.is_some() { self.next.push(number) } else { self.now.push(number) }
    }

    fn path_to(&self, last: u32) -> String {
        let mut path = Vec::new();
        let mut number = last;
        while let Some(visit) = usize::try_from(number).ok().and_then(|at| self.visits.get(at)) {
            path.extend(visit.consumed);
            if visit.before == number {
                break;
            }
            number = visit.before;
        }
        path.into_iter().rev().collect()
    }
}

//! Compiles tokens to a small nondeterministic automaton and runs it over a path.
//!
//! The automaton is built from the end. What follows a token is kept as several entries, because
//! the meaning of `/` and `**` depends on what stands beside them in the written-out alternative.
//! So braces need no expansion and the automaton stays as short as the pattern.

use super::class::{CharClass, Common};
use super::parse::Node;
use super::{CaseRule, class::ASCII_VALID};

/// The most states of one automaton: bounds an overlap to 1.4 million pairs, below 0.1 s. A
/// pattern of 1,024 bytes without braces stays below it.
const STATES_MAX: usize = 1200;

/// The most states while building, before those that nothing reaches are dropped.
const BUILT_MAX: usize = 8 * STATES_MAX;

/// The one accepting state.
pub(super) const ACCEPT: Id = 0;

/// The number of a state.
pub(super) type Id = u16;

/// What a state consumes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Nothing,
    Char(char),
    Slash,
    /// Any character but the separator.
    Any,
    /// A class, by its number.
    Class(u16),
}

/// One state: at most one consuming step and two free ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) step: Step,
    pub(super) next: Id,
    free: [Option<Id>; 2],
}

const DEAD: State = State { step: Step::Nothing, next: ACCEPT, free: [None, None] };

impl State {
    /// Returns the states reachable without consuming.
    pub(super) fn free(&self) -> impl Iterator<Item = Id> {
        self.free.into_iter().flatten()
    }

    /// Tells whether the state can only be left by a free step.
    pub(super) fn is_choice(&self) -> bool {
        matches!((self.step, self.free), (Step::Nothing, [Some(_), _]))
    }
}

/// A nondeterministic automaton over path characters.
#[derive(Clone, Debug)]
pub(super) struct Nfa {
    states: Vec<State>,
    classes: Vec<CharClass>,
    start: Id,
}

impl Nfa {
    /// Compiles tokens, or gives nothing if they need too many states.
    pub(super) fn compile(nodes: Vec<Node>) -> Option<Self> {
        let mut builder = Builder { states: vec![DEAD], classes: Vec::new(), overflow: false };
        // An alternative that ends after a '/' covers all below it.
        let below = builder.segments(Some(ACCEPT), None);
        let end =
            Entries { start: below, inside: ACCEPT, open: None, end: Some(ACCEPT), skip: None };
        let entries = builder.sequence(nodes, end);
        let Builder { states, classes, overflow } = builder;
        let (states, start) = reachable(&states, entries.start);
        (!overflow && states.len() <= STATES_MAX).then_some(Self { states, classes, start })
    }

    pub(super) fn start(&self) -> Id {
        self.start
    }

    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    pub(super) fn state(&self, id: Id) -> &State {
        self.states.get(usize::from(id)).unwrap_or(&DEAD)
    }

    fn class(&self, number: u16) -> Option<&CharClass> {
        self.classes.get(usize::from(number))
    }

    fn takes(&self, step: Step, c: char) -> bool {
        match step {
            Step::Nothing => false,
            Step::Char(own) => own == c,
            Step::Slash => c == '/',
            Step::Any => c != '/',
            Step::Class(number) => self.class(number).is_some_and(|class| class.contains(c)),
        }
    }

    /// Returns what a step has in common with a step of another automaton, the separator apart.
    pub(super) fn common(&self, own: Step, other: &Self, theirs: Step, rule: CaseRule) -> Common {
        match (own, theirs) {
            (Step::Any, Step::Any) => {
                Common { dot: ASCII_VALID >> b'.' & 1 == 1, other: Some('a') }
            }
            (Step::Char(c), _) if other.takes(theirs, c) => Common::one(c),
            (_, Step::Char(c)) if self.takes(own, c) => Common::one(c),
            (Step::Class(number), Step::Any) => {
                self.class(number).map_or_else(Common::default, |class| class.common(None, rule))
            }
            (Step::Any, Step::Class(number)) => {
                other.class(number).map_or_else(Common::default, |class| class.common(None, rule))
            }
            (Step::Class(ours), Step::Class(number)) => self
                .class(ours)
                .zip(other.class(number))
                .map_or_else(Common::default, |(a, b)| a.common(Some(b), rule)),
            _ => Common::default(),
        }
    }

    pub(super) fn accepts(&self, path: &str) -> bool {
        let mut round = 1;
        let mut seen = vec![0; self.states.len()];
        let mut active = Vec::new();
        let mut next = Vec::new();
        self.enter(self.start, round, &mut seen, &mut active);
        for c in path.chars() {
            round += 1;
            for id in active.drain(..) {
                let state = self.state(id);
                if self.takes(state.step, c) {
                    self.enter(state.next, round, &mut seen, &mut next);
                }
            }
            if next.is_empty() {
                return false;
            }
            std::mem::swap(&mut active, &mut next);
        }
        active.contains(&ACCEPT)
    }

    /// Adds a state and all it reaches freely; `seen` holds the round a state was last added in.
    fn enter(&self, id: Id, round: u32, seen: &mut [u32], active: &mut Vec<Id>) {
        let mut at = active.len();
        let mut add = |id: Id, active: &mut Vec<Id>| {
            if let Some(mark) = seen.get_mut(usize::from(id))
                && *mark != round
            {
                *mark = round;
                active.push(id);
            }
        };
        add(id, active);
        while let Some(&id) = active.get(at) {
            at += 1;
            for free in self.state(id).free() {
                add(free, active);
            }
        }
    }
}

/// Keeps what the start reaches, renumbered in that order: pairs of states are the cost of an
/// overlap, and entries that the context never uses would multiply them.
fn reachable(states: &[State], start: Id) -> (Vec<State>, Id) {
    let mut number: Vec<Option<Id>> = vec![None; states.len()];
    let mut order: Vec<Id> = Vec::with_capacity(states.len());
    let mut visit = |id: Id, order: &mut Vec<Id>| {
        let Some(slot) = number.get_mut(usize::from(id)) else { return ACCEPT };
        *slot.get_or_insert_with(|| {
            order.push(id);
            Id::try_from(order.len() - 1).unwrap_or(ACCEPT)
        })
    };
    visit(ACCEPT, &mut order);
    let start = visit(start, &mut order);
    let mut kept = Vec::with_capacity(states.len());
    while let Some(&id) = order.get(kept.len()) {
        let mut state = states.get(usize::from(id)).copied().unwrap_or(DEAD);
        if !matches!(state.step, Step::Nothing) {
            state.next = visit(state.next, &mut order);
        }
        state.free = state.free.map(|free| free.map(|free| visit(free, &mut order)));
        kept.push(state);
    }
    (kept, start)
}

/// The ways to enter what follows a token.
#[derive(Clone, Copy)]
struct Entries {
    /// At the start of a segment.
    start: Id,
    /// Inside a segment.
    inside: Id,
    /// Inside a segment, where neither a separator nor the end follows.
    open: Option<Id>,
    /// The accepting state, where the end may follow.
    end: Option<Id>,
    /// Behind the separator that follows, for a `**` that stands for no segment at all.
    skip: Option<Id>,
}

impl Entries {
    /// Returns the entries of a token that is neither separator nor `**`.
    fn plain(id: Id) -> Self {
        Self { start: id, inside: id, open: Some(id), end: None, skip: None }
    }
}

struct Builder {
    states: Vec<State>,
    classes: Vec<CharClass>,
    overflow: bool,
}

impl Builder {
    fn push(&mut self, step: Step, next: Id, free: [Option<Id>; 2]) -> Id {
        if self.states.len() >= BUILT_MAX {
            self.overflow = true;
            return ACCEPT;
        }
        let id = Id::try_from(self.states.len()).unwrap_or(ACCEPT);
        self.states.push(State { step, next, free });
        id
    }

    /// Adds a state that consumes any run within a segment.
    fn run(&mut self, free: [Option<Id>; 2]) -> Id {
        let id = self.push(Step::Any, ACCEPT, free);
        self.aim(id, id);
        id
    }

    fn aim(&mut self, id: Id, next: Id) {
        if let Some(state) = self.states.get_mut(usize::from(id)) {
            state.next = next;
        }
    }

    /// Adds one or more whole segments before `then`; `none` is entered for no segment.
    fn segments(&mut self, then: Option<Id>, none: Option<Id>) -> Id {
        let slash = self.push(Step::Slash, ACCEPT, [None, None]);
        let inside = self.run([Some(slash), then]);
        let start = self.push(Step::Any, inside, [none, None]);
        self.aim(slash, start);
        start
    }

    fn sequence(&mut self, nodes: Vec<Node>, end: Entries) -> Entries {
        nodes.into_iter().rev().fold(end, |after, node| self.node(node, after))
    }

    fn node(&mut self, node: Node, after: Entries) -> Entries {
        match node {
            Node::Char(c) => Entries::plain(self.push(Step::Char(c), after.inside, [None, None])),
            Node::Any => Entries::plain(self.push(Step::Any, after.inside, [None, None])),
            Node::Class(_, class) => {
                let number = u16::try_from(self.classes.len()).unwrap_or(u16::MAX);
                self.classes.push(class);
                Entries::plain(self.push(Step::Class(number), after.inside, [None, None]))
            }
            Node::Star | Node::ManyStars => Entries::plain(self.run([Some(after.inside), None])),
            Node::Slash => {
                let id = self.push(Step::Slash, after.start, [None, None]);
                Entries {
                    // A separator with nothing before it is the second of "//".
                    start: after.start,
                    inside: id,
                    open: None,
                    end: None,
                    skip: Some(after.start),
                }
            }
            Node::DoubleStar => self.double_star(after),
            Node::Group(branches) => self.group(branches, after),
        }
    }

    fn double_star(&mut self, after: Entries) -> Entries {
        let inside = self.run([Some(after.inside), None]);
        // The loop over segments has its own separator, so it needs no entry to the one after it.
        let whole = (after.end.is_some() || after.skip.is_some())
            .then(|| self.segments(after.end, after.skip));
        let part = after.open.map(|open| self.run([Some(open), None]));
        let start = self.fork([part, whole].into_iter().flatten().collect());
        Entries { start: start.unwrap_or(inside), ..Entries::plain(inside) }
    }

    fn group(&mut self, branches: Vec<Vec<Node>>, after: Entries) -> Entries {
        let all: Vec<Entries> =
            branches.into_iter().map(|branch| self.sequence(branch, after)).collect();
        let inside: Vec<Id> = all.iter().map(|entries| entries.inside).collect();
        let start: Vec<Id> = all.iter().map(|entries| entries.start).collect();
        let open: Vec<Id> = all.iter().filter_map(|entries| entries.open).collect();
        // Most groups start with plain text; then one fork serves all three entries.
        let shared = (start == inside, open == inside);
        let inside = self.fork(inside).unwrap_or(after.inside);
        let start = if shared.0 { inside } else { self.fork(start).unwrap_or(after.start) };
        let open = if shared.1 { Some(inside) } else { self.fork(open) };
        let end = all.iter().find_map(|entries| entries.end);
        let skip = self.fork(all.iter().filter_map(|entries| entries.skip).collect());
        Entries { start, inside, open, end, skip }
    }

    /// Adds a free choice between states.
    fn fork(&mut self, mut ids: Vec<Id>) -> Option<Id> {
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter()
            .reduce(|chosen, id| self.push(Step::Nothing, ACCEPT, [Some(chosen), Some(id)]))
    }
}

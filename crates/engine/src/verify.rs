//! Proof that the store is what the log says: the chain, and the projections replayed from it.
//!
//! Memory is bounded: entities are replayed in parts of a fixed size, one pass over the log for each.

use crate::service::Service;
use comity_api::{RebuildAnswer, Rebuilt, VerifyAnswer};
use comity_core::chain::{Head, Stored};
use comity_core::decide::due_at;
use comity_core::event::{Draft, Event, Placed};
use comity_core::facts::Facts;
use comity_core::hint::{op, say};
use comity_core::ids::{AgentId, RepoName, TaskId};
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_core::state::{Key, State};
use comity_core::time::Timestamp;
use comity_core::via::Via;
use comity_store::{Changes, EventQuery, ReadTx, Rows, Store};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Events read at a time.
const EVENTS_PAGE: usize = 2_000;
/// Rows compared or written at a time.
const ROWS_PAGE: usize = 1_000;
/// Entities replayed in one pass; more of them take more passes, not more memory.
const ENTITIES_PER_PASS: usize = 100_000;
/// Names that are shared at a time.
const NAMES_MAX: usize = 10_000;
/// Events that bring an entity into being that stays.
const CREATIONS: [&str; 11] = [
    "task_created",
    "decision_asked",
    "agent_registered",
    "memory_written",
    "directive_created",
    "run_queued",
    "change_noted",
    "merged",
    "message_sent",
    "pad_written",
    "interface_published",
];
/// Problems listed; beyond that they are only counted.
const PROBLEMS_MAX: usize = 100;

/// One part of the entities: those whose key falls into it.
#[derive(Clone, Copy)]
struct Part {
    number: u64,
    of: u64,
}

impl Part {
    fn has(self, key: &Key) -> bool {
        if self.of == 1 {
            return true;
        }
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        hasher.finish() % self.of == self.number
    }
}

#[derive(Default)]
struct Findings {
    problems: Vec<String>,
    total: usize,
}

impl Findings {
    fn add(&mut self, problem: String) {
        self.total += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    fn list(mut self) -> Vec<String> {
        if self.total > self.problems.len() {
            self.problems.push(format!("… and {} more", self.total - self.problems.len()));
        }
        self.problems
    }
}

fn each_event(
    tx: &mut (impl ReadTx + ?Sized),
    mut each: impl FnMut(&Stored),
) -> Result<(), Refusal> {
    let mut query = EventQuery { limit: EVENTS_PAGE, ..EventQuery::default() };
    loop {
        let events = tx.events(&query)?;
        let Some(last) = events.last() else { return Ok(()) };
        query.after = last.seq;
        events.iter().for_each(&mut each);
    }
}

/// Reads events. Names that come again are shared, so that keys with the same one are told apart fast.
#[derive(Default)]
struct EventReader {
    repos: HashMap<String, RepoName>,
    agents: HashMap<String, AgentId>,
}

fn shared<T: Clone>(
    known: &mut HashMap<String, T>,
    text: &str,
    parse: fn(&str) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    if let Some(name) = known.get(text) {
        return Ok(name.clone());
    }
    if known.len() >= NAMES_MAX {
        known.clear();
    }
    let name = parse(text)?;
    known.insert(text.to_owned(), name.clone());
    Ok(name)
}

impl EventReader {
    fn placed(&mut self, stored: &Stored) -> Option<Result<Placed, String>> {
        let body = stored.body.as_ref()?;
        let event = match Event::decode(&stored.event, body) {
            Ok(event) => event,
            Err(error) => return Some(Err(format!("event {}: {error}", stored.seq))),
        };
        let read = || -> Result<Placed, Refusal> {
            Ok(Placed {
                seq: stored.seq,
                ts: stored.ts,
                draft: Draft {
                    repo: shared(&mut self.repos, &stored.repo, RepoName::parse)?,
                    agent: shared(&mut self.agents, &stored.agent, AgentId::parse)?,
                    task: stored.task.as_deref().map(TaskId::parse).transpose()?,
                    event,
                    via: Via::of_body(body),
                },
            })
        };
        Some(read().map_err(|refusal| format!("event {}: {}", stored.seq, refusal.message)))
    }
}

/// Replays one part of the entities.
fn replay(
    tx: &mut (impl ReadTx + ?Sized),
    part: Part,
    findings: &mut Findings,
) -> Result<State, Refusal> {
    let mut state = State::default();
    let mut reader = EventReader::default();
    each_event(tx, |stored| apply(&mut state, &mut reader, stored, part, findings))?;
    Ok(state)
}

/// Replays events that are at hand.
pub(crate) fn replayed(events: &[Stored]) -> Result<State, Refusal> {
    const WHOLE: Part = Part { number: 0, of: 1 };
    let (mut state, mut findings) = (State::default(), Findings::default());
    let mut reader = EventReader::default();
    events.iter().for_each(|stored| apply(&mut state, &mut reader, stored, WHOLE, &mut findings));
    match findings.problems.into_iter().next() {
        None => Ok(state),
        Some(problem) => Err(Refusal::new(Code::Internal, problem)),
    }
}

fn apply(
    state: &mut State,
    reader: &mut EventReader,
    stored: &Stored,
    part: Part,
    findings: &mut Findings,
) {
    match reader.placed(stored) {
        Some(Ok(placed)) => {
            state.apply(&placed, |key| part.has(key));
        }
        Some(Err(problem)) => findings.add(problem),
        None => {}
    }
}

fn size(state: &State) -> usize {
    let kept = state.memories.len() + state.directives.len() + state.past_leases.len();
    let kept = kept + state.posts.len() + state.runs.len() + state.budgets.len();
    state.tasks.len() + state.leases.len() + state.decisions.len() + state.agents.len() + kept
}

/// What the first pass found out.
struct Chain {
    head: Head,
    /// The whole state, when it is small enough to be kept.
    state: Option<State>,
    entities: usize,
}

fn check_chain(tx: &mut (impl ReadTx + ?Sized), findings: &mut Findings) -> Result<Chain, Refusal> {
    const WHOLE: Part = Part { number: 0, of: 1 };
    let mut head = Head::default();
    let mut state = Some(State::default());
    let mut entities = 0;
    let mut reader = EventReader::default();
    each_event(tx, |stored| {
        if let Some(problem) = stored.problem_after(&head) {
            findings.add(problem);
        }
        head = stored.head();
        if CREATIONS.contains(&stored.event.as_str()) {
            entities += 1;
        }
        if let Some(kept) = &mut state {
            apply(kept, &mut reader, stored, WHOLE, findings);
            if size(kept) > ENTITIES_PER_PASS {
                state = None;
            }
        }
    })?;
    let recorded = tx.head()?;
    if recorded != head {
        findings
            .add(format!("the log ends at {} ({}), not at {}", head.seq, head.hash, recorded.seq));
    }
    Ok(Chain { head, state, entities })
}

fn compare(
    tx: &mut (impl ReadTx + ?Sized),
    mut replayed: State,
    part: Part,
    findings: &mut Findings,
) -> Result<(), Refusal> {
    let mut after: Option<Key> = None;
    loop {
        let rows = tx.entities(after.as_ref(), ROWS_PAGE)?;
        let Some((last, _)) = rows.last() else { break };
        after = Some(last.clone());
        for (key, row) in rows {
            if part.has(&key) {
                let expected = replayed.take(&key);
                match expected {
                    Some(expected) if expected == row => {}
                    Some(_) => {
                        findings.add(format!("{}: the row differs from the log", name(&key)));
                    }
                    None => findings.add(format!("{}: the log has no such row", name(&key))),
                }
            }
        }
    }
    for key in replayed.keys() {
        findings.add(format!("{}: the row is missing", name(&key)));
    }
    Ok(())
}

fn name(key: &Key) -> String {
    match key {
        Key::Repo(repo) => format!("counters of {repo}"),
        Key::Task(repo, id) => format!("task {id} of {repo}"),
        Key::Lease(repo, id) => format!("lease {id} of {repo}"),
        Key::Decision(repo, id) => format!("decision {id} of {repo}"),
        Key::Agent(id) => format!("agent {id}"),
        Key::Memory(repo, id) => format!("memory {id} of {repo}"),
        Key::Directive(repo, id) => format!("directive {id} of {repo}"),
        Key::PastLease(repo, id) => format!("ended lease {id} of {repo}"),
        Key::Post(repo, id) => format!("post {id} of {repo}"),
        Key::Run(repo, id) => format!("run {id} of {repo}"),
        Key::Budget(repo, scope) => format!("budget {scope} of {repo}"),
    }
}

fn parts(entities: usize) -> impl Iterator<Item = Part> {
    let of = u64::try_from(entities.div_ceil(ENTITIES_PER_PASS)).unwrap_or(1).max(1);
    (0..of).map(move |number| Part { number, of })
}

impl Service {
    /// Checks the chain of the log and the projections against it.
    pub fn verify(&self) -> Result<VerifyAnswer, Refusal> {
        self.read_stored(verify)
    }

    /// Writes every projected row anew from the log, in one transaction.
    pub fn rebuild(&self) -> Result<RebuildAnswer, Refusal> {
        let policy = self.settings().policy.clone();
        self.with_store(move |store| rebuild(store, &policy))
    }
}

fn verify(tx: &mut dyn ReadTx) -> Result<VerifyAnswer, Refusal> {
    let mut findings = Findings::default();
    let chain = check_chain(tx, &mut findings)?;
    match chain.state {
        Some(state) => compare(tx, state, Part { number: 0, of: 1 }, &mut findings)?,
        None => {
            for part in parts(chain.entities) {
                // Problems of the log itself are known from the first pass.
                let state = replay(tx, part, &mut Findings::default())?;
                compare(tx, state, part, &mut findings)?;
            }
        }
    }
    if let Some(gone) = tx.gone()? {
        findings.add(gone.to_string());
    }
    tx.mismatches()?.into_iter().for_each(|problem| findings.add(problem));
    Ok(VerifyAnswer {
        ok: findings.total == 0,
        events: chain.head.seq.0,
        head: chain.head.hash.to_string(),
        problems: findings.list(),
    })
}

pub(crate) fn rebuild(store: &mut dyn Store, policy: &Policy) -> Result<RebuildAnswer, Refusal> {
    let mut tx = store.write()?;
    let mut findings = Findings::default();
    let chain = check_chain(tx.as_mut(), &mut findings)?;
    if findings.total > 0 {
        return Err(Refusal::new(Code::Internal, "the log itself is damaged; nothing was rebuilt")
            .hint(
                say("restore the store from a backup; ")
                    .quote(op("log.verify"))
                    .say(" lists what is wrong"),
            )
            .detail("problems", findings.list()));
    }
    tx.clear_projections()?;
    let mut rebuilt = Rebuilt::default();
    let moment = tx.moment()?;
    for part in parts(chain.entities) {
        let state = replay(tx.as_mut(), part, &mut findings)?;
        let mut facts = Facts::at(moment, chain.head);
        let all = state.keys();
        facts.state = state;
        all.iter().for_each(|key| *count(&mut rebuilt, key) += 1);
        for some in all.chunks(ROWS_PAGE) {
            let dirty: BTreeSet<Key> = some.iter().cloned().collect();
            let due: BTreeMap<Key, Option<Timestamp>> =
                dirty.iter().map(|key| (key.clone(), due_at(&facts, key, policy))).collect();
            tx.write_rows(&Rows { facts: &facts, dirty: &dirty, due: &due })?;
        }
    }
    let (facts, none, no_due) = (Facts::at(moment, chain.head), BTreeSet::new(), BTreeMap::new());
    tx.commit(Changes {
        events: &[],
        rows: Rows { facts: &facts, dirty: &none, due: &no_due },
        presence: &[],
        saved: &[],
        kept: &[],
    })?;
    Ok(RebuildAnswer { rebuilt, events: chain.head.seq.0, head: chain.head.hash.to_string() })
}

fn count<'a>(rebuilt: &'a mut Rebuilt, key: &Key) -> &'a mut usize {
    match key {
        Key::Repo(_) => &mut rebuilt.repos,
        Key::Task(..) => &mut rebuilt.tasks,
        Key::Lease(..) => &mut rebuilt.leases,
        Key::Decision(..) => &mut rebuilt.decisions,
        Key::Agent(_) => &mut rebuilt.agents,
        Key::Memory(..) => &mut rebuilt.memories,
        Key::Directive(..) => &mut rebuilt.directives,
        Key::PastLease(..) => &mut rebuilt.past_leases,
        Key::Post(..) => &mut rebuilt.posts,
        Key::Run(..) => &mut rebuilt.runs,
        Key::Budget(..) => &mut rebuilt.budgets,
    }
}

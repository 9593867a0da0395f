//! A batch of commands in one transaction: expire, decide, apply, append, commit, acknowledge.
//!
//! A refusal is decided before anything is written, so it spoils nothing for the rest of the batch.

use crate::answer::{self, Answer, Reply};
use crate::commits::Commits;
use crate::intake::Prepared;
use crate::service::Settings;
use comity_api::{Reclaimed, SweptAnswer};
use comity_core::chain::{Hash, Stored};
use comity_core::command::Command;
use comity_core::decide::{Outcome, Swept, decide, due_at, foreseen, needs, sweep};
use comity_core::event::{Draft, Event};
use comity_core::facts::{Facts, Halt, Need, Ruling, Saved};
use comity_core::hint::say;
use comity_core::ids::{AgentId, Fence};
use comity_core::limits;
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_core::state::Key;
use comity_core::time::{Millis, Timestamp};
use comity_core::via::Via;
use comity_store::{Changes, ReadTx, Rows, Store, StoreError, WriteTx};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Loads that one rule may ask for; far above what any needs, so that a bug cannot loop for ever.
const LOADS_MAX: usize = 20_000;

/// Loads for a whole batch before its first rule runs: what was asked for, more candidates, leases near them.
const LOADS_AHEAD: usize = 3;

/// How often a transaction is run whose connection breaks.
const TRIES_MAX: usize = 8;
/// After so much time it is not run again.
const TRIES_TIME: Duration = Duration::from_secs(30);
/// Characters of an idempotency key that comity makes.
const MADE_KEY_CHARS: usize = 32;

/// Runs a rule, loading what it asks for until it answers.
pub(crate) fn settle<T>(
    tx: &mut (impl ReadTx + ?Sized),
    facts: &mut Facts,
    mut rule: impl FnMut(&Facts) -> Ruling<T>,
) -> Result<T, Refusal> {
    for _ in 0..LOADS_MAX {
        match rule(facts) {
            Ok(answer) => return Ok(answer),
            Err(Halt::Refuse(refusal)) => return Err(*refusal),
            Err(Halt::Need(need)) => {
                tx.load(&[need], facts)?;
            }
        }
    }
    Err(Refusal::new(Code::Internal, "BUG: a rule asked for more state without end"))
}

/// Starts the facts of a transaction, with what may have expired.
pub(crate) fn open_facts(
    tx: &mut (impl ReadTx + ?Sized),
    policy: &Policy,
    due_max: usize,
) -> Result<Facts, StoreError> {
    let moment = tx.moment()?;
    let head = tx.head()?;
    let mut facts = Facts::at(moment, head);
    facts.case_rule = policy.case_rule();
    let due = tx.due(moment.now, due_max)?;
    if !due.is_empty() {
        let wanted: Vec<Need> = due.iter().cloned().map(Need::Entity).collect();
        tx.load(&wanted, &mut facts)?;
    }
    facts.put_due(due);
    Ok(facts)
}

/// Runs a batch; the answers come in the order of the requests, after the commit. When the connection to the store
/// breaks and nothing was stored, the batch is run again.
pub fn run_batch(
    store: &mut dyn Store,
    settings: &Settings,
    requests: &[Prepared],
) -> Vec<Result<Reply, Refusal>> {
    run_counted(store, settings, requests, &Commits::default())
}

/// Does the same, and counts what was committed.
pub(crate) fn run_counted(
    store: &mut dyn Store,
    settings: &Settings,
    requests: &[Prepared],
    commits: &Commits,
) -> Vec<Result<Reply, Refusal>> {
    let mut tries = Tries::new();
    loop {
        match try_batch(store, settings, requests, commits) {
            Tried::Lost(_) if tries.go_on() => {}
            Tried::Lost(answers) | Tried::Settled(answers) => return answers,
        }
    }
}

/// Counts how often something was tried whose connection broke.
pub(crate) struct Tries {
    start: Instant,
    failed: usize,
}

impl Tries {
    pub(crate) fn new() -> Tries {
        Tries { start: Instant::now(), failed: 0 }
    }

    /// Notes a failure; tells whether it may be tried again.
    pub(crate) fn go_on(&mut self) -> bool {
        self.failed += 1;
        self.failed < TRIES_MAX && self.start.elapsed() < TRIES_TIME
    }
}

type Answers = Vec<Result<Reply, Refusal>>;

/// What became of a batch.
enum Tried {
    Settled(Answers),
    /// The connection broke. Nothing was stored.
    Lost(Answers),
}

impl Tried {
    /// Gives every request the same refusal.
    fn failed(requests: &[Prepared], error: &StoreError) -> Tried {
        let answers = requests.iter().map(|_| Err(error.to_refusal())).collect();
        Tried::after(answers, matches!(error, StoreError::Lost(_)))
    }

    fn after(answers: Answers, lost: bool) -> Tried {
        if lost { Tried::Lost(answers) } else { Tried::Settled(answers) }
    }
}

fn try_batch(
    store: &mut dyn Store,
    settings: &Settings,
    requests: &[Prepared],
    commits: &Commits,
) -> Tried {
    let mut tx = match store.write() {
        Ok(tx) => tx,
        Err(error) => return Tried::failed(requests, &error),
    };
    let mut batch = match Batch::open(tx.as_mut(), settings) {
        Ok(batch) => batch,
        Err(error) => return Tried::failed(requests, &error),
    };
    let answers = match batch.run_all(tx.as_mut(), requests) {
        Ok(answers) => answers,
        Err(refusal) => {
            let answers = requests.iter().map(|_| Err(refusal.clone())).collect();
            return Tried::after(answers, tx.is_lost());
        }
    };
    if tx.is_lost() {
        return Tried::Lost(answers);
    }
    // A command that failed after its first event must not be stored in part, nor refused and yet stored.
    if let Some(refusal) = batch.broken.take() {
        return Tried::Settled(answers.into_iter().map(|a| a.and(Err(refusal.clone()))).collect());
    }
    let keys = std::mem::take(&mut batch.keys);
    let accepted = answers.iter().filter(|answer| answer.is_ok()).count();
    let began = Instant::now();
    match batch.commit(tx, accepted > 0) {
        Ok(facts) => {
            if let Some(facts) = facts {
                commits.add(began.elapsed(), accepted);
                store.keep(facts);
            }
            Tried::Settled(answers)
        }
        // Nothing is acknowledged that is not durable; what was refused stays refused.
        Err(error) => {
            let refused = |(answer, key): (Result<Reply, Refusal>, Option<String>)| {
                answer.and(Err(ask_again(&error, key)))
            };
            let answers = answers.into_iter().zip(keys).map(refused).collect();
            Tried::after(answers, matches!(error, StoreError::Lost(_)))
        }
    }
}

/// Words a failed commit. If it may have been carried out, the same key finds its answer later.
fn ask_again(error: &StoreError, key: Option<String>) -> Refusal {
    let refusal = error.to_refusal();
    match key {
        Some(key) if refusal.code == Code::Unconfirmed => refusal
            .hint(say("ask again with ").arg("idempotency_key", &key))
            .detail("idempotency_key", key),
        _ => refusal,
    }
}

/// Returns the answer that was given under a key, unless the key was used for something else.
pub(crate) fn first_answer(
    saved: &Saved,
    key: &str,
    input: Option<Hash>,
) -> Result<String, Refusal> {
    if Some(saved.input) != input {
        let message = format!("the key {key:?} was used for another command");
        return Err(Refusal::new(Code::IdempotencyMismatch, message).detail("key", key));
    }
    Ok(saved.answer.clone())
}

struct Batch<'s> {
    settings: &'s Settings,
    facts: Facts,
    events: Vec<Stored>,
    presence: Vec<(AgentId, Option<Fence>, Timestamp)>,
    saved: Vec<(AgentId, String, Saved)>,
    later: Vec<(Key, Timestamp)>,
    expired: Vec<Draft>,
    /// The idempotency key of each request, given or made.
    keys: Vec<Option<String>>,
    /// Commits wait for a standby, and may end without an answer.
    replicated: bool,
    /// Why nothing of this batch may be committed.
    broken: Option<Refusal>,
}

impl<'s> Batch<'s> {
    fn open(tx: &mut dyn WriteTx, settings: &'s Settings) -> Result<Batch<'s>, StoreError> {
        Ok(Batch {
            settings,
            facts: open_facts(tx, &settings.policy, limits::EXPIRED_MAX)?,
            events: Vec::new(),
            presence: Vec::new(),
            saved: Vec::new(),
            later: Vec::new(),
            expired: Vec::new(),
            keys: Vec::new(),
            replicated: tx.is_replicated(),
            broken: None,
        })
    }

    fn run_all(&mut self, tx: &mut dyn WriteTx, requests: &[Prepared]) -> Result<Answers, Refusal> {
        let opened_by = requests.first().map(|first| first.request.via.clone()).unwrap_or_default();
        self.expire(tx, &opened_by)?;
        let wanted: BTreeSet<Need> =
            requests.iter().flat_map(|prepared| needs(&prepared.request)).collect();
        let wanted: Vec<Need> =
            wanted.into_iter().filter(|need| !self.facts.has_answer(need)).collect();
        self.load(tx, wanted, requests)?;
        Ok(requests.iter().map(|prepared| self.run(tx, prepared)).collect())
    }

    fn expire(&mut self, tx: &mut dyn WriteTx, via: &Via) -> Result<(), Refusal> {
        let policy = &self.settings.policy;
        let Swept { events, later } = settle(tx, &mut self.facts, |facts| sweep(facts, policy))?;
        self.later = later;
        for draft in events {
            // A run that goes on elsewhere acts in a session of its own.
            let own = draft.via != Via::default();
            let draft = if own { draft } else { Draft { via: via.clone(), ..draft } };
            self.expired.push(draft.clone());
            self.append(draft)?;
        }
        Ok(())
    }

    /// Loads what the commands surely need, and what claims will likely need after that, in a few round trips for
    /// all of them instead of one for each.
    fn load(
        &mut self,
        tx: &mut dyn WriteTx,
        mut needs: Vec<Need>,
        requests: &[Prepared],
    ) -> Result<(), StoreError> {
        for _ in 0..LOADS_AHEAD {
            if needs.is_empty() {
                break;
            }
            tx.load(&needs, &mut self.facts)?;
            needs = foreseen(&self.facts, requests.iter().map(|prepared| &prepared.request));
        }
        Ok(())
    }

    fn append(&mut self, draft: Draft) -> Result<(), Refusal> {
        let prev = self.facts.head.hash;
        let placed = self.facts.apply(draft);
        let stored = Stored::seal(&placed, prev)
            .map_err(|error| Refusal::new(Code::Internal, format!("BUG: an event: {error}")))?;
        self.facts.head.hash = stored.hash;
        self.events.push(stored);
        Ok(())
    }

    fn run(&mut self, tx: &mut dyn WriteTx, prepared: &Prepared) -> Result<Reply, Refusal> {
        let request = &prepared.request;
        self.keys.push(request.key.clone());
        if let Some(answer) = self.remembered(tx, prepared)? {
            return Ok(Reply::Again(answer));
        }
        let policy = &self.settings.policy;
        let outcome = settle(tx, &mut self.facts, |facts| decide(facts, request, policy))?;
        let done = self.carry_out(tx, prepared, outcome);
        if let Err(refusal) = &done {
            self.broken = Some(refusal.clone());
        }
        done
    }

    /// Applies what was decided and makes the answer. No rule refuses any more; only the store can fail.
    fn carry_out(
        &mut self,
        tx: &mut dyn WriteTx,
        prepared: &Prepared,
        outcome: Outcome,
    ) -> Result<Reply, Refusal> {
        let request = &prepared.request;
        let first = self.events.len();
        let Outcome { events, answer } = outcome;
        let silent = events.is_empty();
        for draft in events {
            self.append(draft)?;
        }
        let every = if silent { self.patience(tx, &request.actor)? } else { Millis::default() };
        if request.command != Command::Sweep
            && self.facts.touch(&request.actor, request.fence, every)
        {
            self.presence.push((request.actor.clone(), request.fence, self.facts.moment.now));
        }
        let own = self.events.get(first..).unwrap_or_default();
        let answer = if request.command == Command::Sweep {
            Answer::Swept(self.swept())
        } else {
            let policy = self.settings.policy.checked_by(&request.observed);
            answer::render(tx, &mut self.facts, request, &answer, own, &policy)?
        };
        let reply = Reply::New(answer);
        if let Some((key, input)) = self.key_of(prepared, silent) {
            let saved = Saved { input, answer: reply.text()?, at: self.facts.moment.now };
            self.facts.remember(request.actor.clone(), key.clone(), saved.clone());
            self.saved.push((request.actor.clone(), key, saved));
        }
        Ok(reply)
    }

    /// Returns the key that the answer is remembered under. Where a commit may end without an answer, a command without
    /// a key gets one: it is made of the caller, the input and the end of the log, so the same key is never made for two
    /// commands.
    fn key_of(&mut self, prepared: &Prepared, silent: bool) -> Option<(String, Hash)> {
        let request = &prepared.request;
        let input = prepared.input?;
        if let Some(key) = &request.key {
            return Some((key.clone(), input));
        }
        if !self.replicated || silent {
            return None;
        }
        let made = format!("{}\n{}\n{input}", self.facts.head.hash, request.actor);
        let mut key = Hash::of(made.as_bytes()).to_string();
        key.truncate(MADE_KEY_CHARS);
        if let Some(last) = self.keys.last_mut() {
            *last = Some(key.clone());
        }
        Some((key, input))
    }

    /// Returns the answer that was given under the same key before.
    fn remembered(
        &mut self,
        tx: &mut dyn WriteTx,
        prepared: &Prepared,
    ) -> Result<Option<String>, Refusal> {
        let request = &prepared.request;
        let Some(key) = &request.key else { return Ok(None) };
        let saved =
            settle(tx, &mut self.facts, |facts| Ok(facts.saved(&request.actor, key)?.cloned()))?;
        saved.map(|saved| first_answer(&saved, key, prepared.input)).transpose()
    }

    /// How old a bare sign of life may be before the next one is written: never so old that a grant of
    /// the agent could run out in between.
    fn patience(&mut self, tx: &mut dyn WriteTx, agent: &AgentId) -> Result<Millis, Refusal> {
        let shortest = answer::shortest_ttl(tx, &mut self.facts, agent)?;
        let quarter = shortest.map_or(limits::PRESENCE_EVERY, |ttl| Millis::from_ms(ttl.ms() / 4));
        Ok(quarter.min(limits::PRESENCE_EVERY))
    }

    fn swept(&self) -> SweptAnswer {
        let mut ended = Reclaimed::default();
        for draft in &self.expired {
            match &draft.event {
                Event::LocksReclaimed(body) => {
                    ended.leases.extend(body.locks.iter().map(|lock| lock.lock_id.to_string()));
                }
                Event::StatusChanged(_) => {
                    let id = draft.task.as_ref().map(ToString::to_string).unwrap_or_default();
                    if !ended.tasks.contains(&id) {
                        ended.tasks.push(id);
                    }
                }
                Event::DecisionAnswered(body) => ended.decisions.push(body.decision.to_string()),
                Event::DecisionExpired(body) => ended.decisions.push(body.decision.to_string()),
                Event::MemoryExpired(body) => ended.memories.push(body.memory.to_string()),
                Event::DirectiveDeleted(body) => ended.directives.push(body.directive.to_string()),
                _ => {}
            }
        }
        SweptAnswer { reclaimed: ended, events: self.expired.len() }
    }

    /// Commits, if there is anything to, and then returns what is stored now. If there is nothing, an answer may still
    /// rest on what others have stored.
    fn commit(
        mut self,
        tx: Box<dyn WriteTx + '_>,
        rests_on_it: bool,
    ) -> Result<Option<Facts>, StoreError> {
        let dirty = self.facts.take_dirty();
        let quiet = self.events.is_empty() && self.presence.is_empty() && self.saved.is_empty();
        // Putting off what turned out to be alive is worth a write of its own only in bulk.
        if quiet && self.later.len() < limits::EXPIRED_MAX / 2 {
            return if rests_on_it { tx.confirm().map(|()| None) } else { Ok(None) };
        }
        let policy = &self.settings.policy;
        let mut due: BTreeMap<Key, Option<Timestamp>> =
            self.later.iter().map(|(key, at)| (key.clone(), Some(*at))).collect();
        for key in &dirty {
            due.insert(key.clone(), due_at(&self.facts, key, policy));
        }
        tx.commit(Changes {
            events: &self.events,
            rows: Rows { facts: &self.facts, dirty: &dirty, due: &due },
            presence: &self.presence,
            saved: &self.saved,
            kept: &[],
        })?;
        Ok(Some(self.facts))
    }
}

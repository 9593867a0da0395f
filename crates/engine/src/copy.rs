//! Moving house: a store's log is appended to another one byte for byte, its state is built anew from it,
//! and what stays outside the log is carried along. No event is added.

use crate::batch::settle;
use crate::service::Service;
use comity_api::CopyAnswer;
use comity_core::chain::{Head, Stored};
use comity_core::facts::{Entity, Facts, Ruling, Saved};
use comity_core::hint::{op, say};
use comity_core::ids::{AgentId, Fence, Seq};
use comity_core::refusal::{Code, Refusal};
use comity_core::state::Key;
use comity_core::time::Timestamp;
use comity_store::{Changes, EventQuery, ReadTx, Rows, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Events, agents or answers that are carried in one transaction.
const PAGE: usize = 2_000;

/// What a transaction of a copy writes.
#[derive(Default)]
struct Load {
    events: Vec<Stored>,
    presence: Vec<(AgentId, Option<Fence>, Timestamp)>,
    saved: Vec<(AgentId, String, Saved)>,
    kept: Vec<(String, String, Option<Vec<u8>>)>,
}

impl Service {
    /// Closes this store, because it has moved; none opens it again.
    pub fn close(&self, reason: Option<&str>) -> Result<(), Refusal> {
        let reason = reason.map(str::to_owned);
        self.with_store(move |store| Ok(store.close(reason.as_deref())?))
    }

    /// Tells whether this store was closed before.
    pub fn is_closed(&self) -> Result<bool, Refusal> {
        self.with_store(|store| match store.write() {
            Ok(_) => Ok(false),
            Err(StoreError::Closed(_)) => Ok(true),
            Err(error) => Err(error.into()),
        })
    }

    /// Writes this store as it is at one moment into a new SQLite file; `false` when it has to be copied event by event.
    pub fn backup(&self, to: &Path) -> Result<bool, Refusal> {
        let to = to.to_owned();
        self.with_store(move |store| Ok(store.backup(&to)?))
    }

    /// Names the agents that hold something here now: they would go on writing.
    pub fn at_work(&self) -> Result<Vec<String>, Refusal> {
        self.read_stored(at_work)
    }

    /// Copies this store into another one, which is empty or holds the beginning of the same log; a copy
    /// that was cut off goes on where it ended. `progress` hears of events done and in all.
    pub fn copy_to(
        &self,
        to: &Service,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<CopyAnswer, Refusal> {
        let head = self.log_end()?;
        let start = to.log_end()?;
        self.check_beginning(&start, &head)?;
        let copied = self.copy_events(to, start, head, &mut progress)?;
        to.rebuild()?;
        self.copy_signs(to)?;
        self.copy_answers(to)?;
        self.copy_kept(to)?;
        verified(self, "source")?;
        verified(to, "target")?;
        let (here, there) = (self.log_end()?, to.log_end()?);
        if here != there {
            let text = format!("the source grew to event {} during the copy", here.seq);
            return Err(Refusal::new(Code::NotReady, text).hint(
                say("run the command again to copy the rest, or with ")
                    .mention("fence_writers")
                    .say(" to stop the writers"),
            ));
        }
        Ok(CopyAnswer {
            from: self.store_url(),
            to: to.store_url(),
            events: there.seq.0,
            copied,
            head: there.hash.to_string(),
        })
    }

    fn log_end(&self) -> Result<Head, Refusal> {
        self.read_stored(|tx| Ok(tx.head()?))
    }

    /// Refuses a target that holds another log.
    fn check_beginning(&self, start: &Head, head: &Head) -> Result<(), Refusal> {
        if start.seq == Seq(0) {
            return Ok(());
        }
        let before = Seq(start.seq.0 - 1);
        let query = EventQuery { after: before, limit: 1, ..EventQuery::default() };
        let same = self.read_stored(|tx| Ok(tx.events(&query)?))?;
        let same = same.first().is_some_and(|event| event.head() == *start);
        if start.seq <= head.seq && same {
            return Ok(());
        }
        let text = format!("the target already has another log, with {} events", start.seq);
        Err(Refusal::input(text).hint("copy into an empty store"))
    }

    fn copy_events(
        &self,
        to: &Service,
        start: Head,
        end: Head,
        progress: &mut impl FnMut(u64, u64),
    ) -> Result<u64, Refusal> {
        let mut last = start;
        while last.seq < end.seq {
            progress(last.seq.0, end.seq.0);
            let query = EventQuery { after: last.seq, limit: PAGE, ..EventQuery::default() };
            let mut events = self.read_stored(|tx| Ok(tx.events(&query)?))?;
            events.retain(|event| event.seq <= end.seq);
            for event in &events {
                if let Some(problem) = event.problem_after(&last) {
                    return Err(Refusal::new(Code::Internal, format!("the source: {problem}"))
                        .hint(say("see ").quote(op("log.verify"))));
                }
                last = event.head();
            }
            if events.is_empty() {
                return Err(Refusal::new(Code::Internal, "the source's log ends too early"));
            }
            carry(to, Load { events, ..Load::default() })?;
        }
        progress(end.seq.0, end.seq.0);
        Ok(end.seq.0 - start.seq.0)
    }

    fn copy_signs(&self, to: &Service) -> Result<(), Refusal> {
        let mut after: Option<AgentId> = None;
        loop {
            let page = self.read_stored(|tx| Ok(tx.agents(after.as_ref(), PAGE)?))?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(last.id.clone());
            let mut load = Load::default();
            for (agent, presence) in page {
                let general = presence.general.map(|at| (agent.id.clone(), None, at));
                load.presence.extend(general);
                let grants = presence.by_fence.into_iter();
                load.presence.extend(grants.map(|(f, at)| (agent.id.clone(), Some(f), at)));
            }
            carry(to, load)?;
        }
    }

    fn copy_answers(&self, to: &Service) -> Result<(), Refusal> {
        let mut after: Option<(AgentId, String)> = None;
        loop {
            let saved = self.read_stored(|tx| Ok(tx.saved(after.as_ref(), PAGE)?))?;
            let Some((actor, key, _)) = saved.last() else { return Ok(()) };
            after = Some((actor.clone(), key.clone()));
            carry(to, Load { saved, ..Load::default() })?;
        }
    }

    fn copy_kept(&self, to: &Service) -> Result<(), Refusal> {
        let mut after: Option<(String, String)> = None;
        loop {
            let page = self.read_stored(|tx| Ok(tx.kept_rows(after.as_ref(), PAGE)?))?;
            let Some((space, key, _)) = page.last() else { return Ok(()) };
            after = Some((space.clone(), key.clone()));
            let kept = page.into_iter().map(|(space, key, value)| (space, key, Some(value)));
            carry(to, Load { kept: kept.collect(), ..Load::default() })?;
        }
    }
}

fn at_work(tx: &mut dyn ReadTx) -> Result<Vec<String>, Refusal> {
    let (moment, head) = (tx.moment()?, tx.head()?);
    let mut after: Option<Key> = None;
    let mut holders: BTreeSet<String> = BTreeSet::new();
    loop {
        let page = tx.entities(after.as_ref(), PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(holders.into_iter().collect()) };
        after = Some(last.clone());
        for (key, entity) in page {
            let mut facts = Facts::at(moment, head);
            facts.put(key, Some(entity.clone()));
            let holder = settle(tx, &mut facts, |facts| holder(facts, &entity))?;
            holders.extend(holder);
        }
    }
}

/// Returns who holds an entity, if it is held and the holder lives.
fn holder(facts: &Facts, entity: &Entity) -> Ruling<Option<String>> {
    match entity {
        Entity::Task(task) => {
            let Some(claim) = &task.claim else { return Ok(None) };
            let live = facts.claim_expiry(claim)? > facts.moment.now;
            Ok(live.then(|| claim.agent.to_string()))
        }
        Entity::Lease(lease) => Ok(facts.is_live(lease)?.then(|| lease.owner.to_string())),
        Entity::Repo(_)
        | Entity::Decision(_)
        | Entity::Agent(_)
        | Entity::Memory(_)
        | Entity::Directive(_)
        | Entity::PastLease(_)
        | Entity::Run(_)
        | Entity::Budget(_)
        | Entity::Post(_) => Ok(None),
    }
}

fn carry(to: &Service, load: Load) -> Result<(), Refusal> {
    to.with_store(move |store| {
        let tx = store.write()?;
        let (facts, dirty, due) = (Facts::default(), BTreeSet::new(), BTreeMap::new());
        let rows = Rows { facts: &facts, dirty: &dirty, due: &due };
        let Load { events, presence, saved, kept } = &load;
        Ok(tx.commit(Changes { events, rows, presence, saved, kept })?)
    })
}

fn verified(service: &Service, which: &str) -> Result<(), Refusal> {
    let report = service.verify()?;
    if report.ok {
        return Ok(());
    }
    Err(Refusal::new(Code::Internal, format!("the {which} does not verify"))
        .hint(say("see ").quote(op("log.verify")).say(" there"))
        .detail("problems", report.problems))
}

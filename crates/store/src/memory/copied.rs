//! The model of a store that is somewhere else, as one transaction sees it.

use super::data::Data;
use crate::clock::{ManualClock, Reading};
use crate::transaction_time::ClockNote;
use crate::{EventQuery, ReadTx, Rows, StoreError};
use comity_core::facts::Facts;
use comity_core::ids::{AgentId, Seq};
use comity_core::state::Key;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Entities that are read at once.
const PAGE: usize = 2_000;

pub(super) fn all(tx: &mut dyn ReadTx) -> Result<(Data, Arc<ManualClock>), StoreError> {
    let moment = tx.moment()?;
    let reading = Reading { wall_ms: moment.now.ms(), ..Reading::default() };
    let mut data = Data { noted: Some(ClockNote::of(&reading, moment.woke_at)), ..Data::default() };
    let last = Seq(tx.head()?.seq.0.saturating_sub(1));
    data.events = tx.events(&EventQuery { after: last, limit: 1, ..EventQuery::default() })?;
    rows(tx, &mut data)?;
    // Whose time is not up yet stays as it is while the clock stands still.
    let due = tx.due(moment.now, usize::MAX)?;
    data.due.extend(due.into_iter().map(|key| (key, moment.now)));
    signs(tx, &mut data)?;
    answers(tx, &mut data)?;
    kept(tx, &mut data)?;
    Ok((data, ManualClock::at(reading)))
}

fn rows(tx: &mut dyn ReadTx, data: &mut Data) -> Result<(), StoreError> {
    let mut after: Option<Key> = None;
    loop {
        let page = tx.entities(after.as_ref(), PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = Some(last.clone());
        let (mut facts, mut dirty) = (Facts::default(), BTreeSet::new());
        for (key, entity) in page {
            dirty.insert(key.clone());
            facts.put(key, Some(entity));
        }
        data.write_rows(&Rows { facts: &facts, dirty: &dirty, due: &BTreeMap::new() });
    }
}

fn signs(tx: &mut dyn ReadTx, data: &mut Data) -> Result<(), StoreError> {
    let mut after: Option<AgentId> = None;
    loop {
        let page = tx.agents(after.as_ref(), PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = Some(last.id.clone());
        for (agent, presence) in page {
            data.presence.extend(presence.general.map(|at| ((agent.id.clone(), None), at)));
            let grants = presence.by_fence.into_iter();
            data.presence.extend(grants.map(|(fence, at)| ((agent.id.clone(), Some(fence)), at)));
        }
    }
}

fn kept(tx: &mut dyn ReadTx, data: &mut Data) -> Result<(), StoreError> {
    let mut after: Option<(String, String)> = None;
    loop {
        let page = tx.kept_rows(after.as_ref(), PAGE)?;
        let Some((space, key, _)) = page.last() else { return Ok(()) };
        after = Some((space.clone(), key.clone()));
        data.kept.extend(page.into_iter().map(|(space, key, value)| ((space, key), value)));
    }
}

fn answers(tx: &mut dyn ReadTx, data: &mut Data) -> Result<(), StoreError> {
    let mut after: Option<(AgentId, String)> = None;
    loop {
        let page = tx.saved(after.as_ref(), PAGE)?;
        let Some((actor, key, _)) = page.last() else { return Ok(()) };
        after = Some((actor.clone(), key.clone()));
        data.saved.extend(page.into_iter().map(|(actor, key, saved)| ((actor, key), saved)));
    }
}

//! Everything that a repository has now, from one snapshot.

use crate::read::Reader;
use comity_api::{
    AgentFilter, DecisionFilter, LeaseFilter, ListDirectives, ListMemories, RepositoryExport,
    RunFilter, TaskFilter,
};
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::Refusal;

/// Asks for one page after the other.
fn all<T>(
    mut page: impl FnMut(Option<String>) -> Result<(Vec<T>, Option<String>), Refusal>,
) -> Result<Vec<T>, Refusal> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let (rows, next) = page(after)?;
        all.extend(rows);
        match next {
            Some(next) => after = Some(next),
            None => return Ok(all),
        }
    }
}

impl Reader<'_> {
    pub(crate) fn export(&mut self) -> Result<RepositoryExport, Refusal> {
        let limit = Some(PAGE_MAX);
        let head = self.tx.head()?;
        Ok(RepositoryExport {
            repo: self.caller.repo.to_string(),
            exported_at: self.facts.moment.now,
            seq: head.seq.0,
            head: head.hash.to_string(),
            tasks: all(|after| {
                let filter = TaskFilter { all: true, limit, after, ..TaskFilter::default() };
                let page = self.tasks(&filter)?;
                Ok((page.tasks, page.next))
            })?,
            leases: all(|after| {
                let page = self.leases(&LeaseFilter { limit, after, ..LeaseFilter::default() })?;
                Ok((page.leases, page.next))
            })?,
            agents: all(|after| {
                let page = self.agents(&AgentFilter { limit, after })?;
                Ok((page.agents, page.next))
            })?,
            decisions: all(|after| {
                let page = self.decisions(&DecisionFilter { all: true, limit, after })?;
                Ok((page.decisions, page.next))
            })?,
            memories: all(|after| {
                let wanted = ListMemories { all: true, limit, after, ..ListMemories::default() };
                let page = self.memories(&wanted)?;
                Ok((page.memories, page.next))
            })?,
            directives: all(|after| {
                let wanted = ListDirectives { limit, after, ..ListDirectives::default() };
                let page = self.directives(&wanted)?;
                Ok((page.directives, page.next))
            })?,
            runs: all(|after| {
                let page = self.runs(&RunFilter { limit, after, ..RunFilter::default() })?;
                Ok((page.runs, page.next))
            })?,
        })
    }
}

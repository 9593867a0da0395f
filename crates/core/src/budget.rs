//! Budgets: what may be spent, what was spent, and what is kept for live runs, in one scope.
//!
//! Money is reserved before it is spent. A run counts in every scope that it belongs to: its repository, its task,
//! its agent and itself.

use crate::ids::{DecisionId, RepoName, RunId, TaskId};
use crate::money::Usd;
use crate::refusal::Refusal;
use crate::run::{Run, check_name};
use crate::time::Timestamp;
use crate::word_enum::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a budget is for: `repo`, `task:T1`, `agent:developer` or `run:R1`. It is kept as text, so that every store
/// has the same order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scope(Arc<str>);

/// A scope, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    Repo,
    Task(TaskId),
    Agent(String),
    Run(RunId),
}

impl Scope {
    pub fn parse(text: &str) -> Result<Scope, Refusal> {
        Scope(text.into()).read().map(|_| Scope(text.into()))
    }

    pub fn repo() -> Scope {
        Scope("repo".into())
    }

    pub fn task(id: &TaskId) -> Scope {
        Scope(format!("task:{id}").into())
    }

    fn agent(name: &str) -> Scope {
        Scope(format!("agent:{name}").into())
    }

    pub fn run(id: RunId) -> Scope {
        Scope(format!("run:{id}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn read(&self) -> Result<Of, Refusal> {
        let wrong = || {
            Refusal::input(format!("scope {:?} is not known", crate::ids::shorten(&self.0)))
                .hint("a scope is repo, task:ID, agent:NAME or run:ID")
        };
        if &*self.0 == "repo" {
            return Ok(Of::Repo);
        }
        let (kind, name) = self.0.split_once(':').ok_or_else(wrong)?;
        match kind {
            "task" => Ok(Of::Task(TaskId::parse(name)?)),
            "agent" => check_name(name).map(|()| Of::Agent(name.to_owned())),
            "run" => RunId::parse(name).map(Of::Run).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }

    /// Returns every scope that a run counts in, the widest first. What a run spends that another one started counts for
    /// the task of that one, too.
    pub fn of_run(run: RunId, task: &TaskId, above: Option<&TaskId>, agent: &str) -> Vec<Scope> {
        let above = above.filter(|above| *above != task).map(Scope::task);
        let own = [Scope::task(task), Scope::agent(agent), Scope::run(run)];
        [Scope::repo()].into_iter().chain(above).chain(own).collect()
    }

    pub fn of(run: &Run) -> Vec<Scope> {
        Scope::of_run(run.id, &run.task, run.parent_task.as_ref(), &run.agent)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> String {
        scope.0.as_ref().to_owned()
    }
}

impl TryFrom<String> for Scope {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Scope, Refusal> {
        Scope::parse(&text)
    }
}

word_enum! {
    /// How long spending is added up. Days and months are those of UTC.
    #[derive(Default, JsonSchema)]
    pub enum Per as "period" {
        #[default]
        Total => "total",
        Day => "day",
        Month => "month",
    }
}

/// The most that may be spent in one period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    pub usd: Option<Usd>,
    pub runs: Option<u64>,
}

/// What was spent since a period began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// The day or month, as a number.
    pub since: i64,
    pub usd: Usd,
    pub runs: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub repo: RepoName,
    pub scope: Scope,
    pub caps: BTreeMap<Per, Cap>,
    pub spent: BTreeMap<Per, Spent>,
    /// Live runs, with what is kept for each.
    pub live: BTreeMap<RunId, Usd>,
    /// The question that was asked when it was used up.
    pub decision: Option<DecisionId>,
    /// The number of the last run. Only that of a repository is looked at.
    pub last_run: u64,
}

/// Why something does not fit into a budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Excess {
    pub scope: Scope,
    pub per: Per,
    pub limit: Limit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    Usd { cap: Usd, spent: Usd, reserved: Usd, wanted: Usd },
    Runs { cap: u64, spent: u64 },
}

fn period(per: Per, at: Timestamp) -> i64 {
    match per {
        Per::Total => 0,
        Per::Day => at.day(),
        Per::Month => at.month(),
    }
}

impl Budget {
    pub fn new(repo: RepoName, scope: Scope) -> Budget {
        Budget {
            repo,
            scope,
            caps: BTreeMap::new(),
            spent: BTreeMap::new(),
            live: BTreeMap::new(),
            decision: None,
            last_run: 0,
        }
    }

    pub fn spent(&self, per: Per, now: Timestamp) -> Spent {
        let since = period(per, now);
        let kept = self.spent.get(&per).copied().filter(|spent| spent.since == since);
        kept.unwrap_or(Spent { since, ..Spent::default() })
    }

    pub fn reserved(&self) -> Usd {
        self.live.values().copied().sum()
    }

    fn add(&mut self, at: Timestamp, usd: Usd, runs: u64) {
        for per in Per::ALL {
            let spent = self.spent(per, at);
            let spent = Spent { usd: spent.usd.plus(usd), runs: spent.runs + runs, ..spent };
            self.spent.insert(per, spent);
        }
    }

    /// Keeps an amount for a run. The first time counts the run.
    pub(crate) fn reserve(&mut self, run: RunId, usd: Usd, at: Timestamp) {
        self.last_run = self.last_run.max(run.0);
        if !self.live.contains_key(&run) {
            self.add(at, Usd::ZERO, 1);
        }
        let kept = self.live.entry(run).or_default();
        *kept = kept.plus(usd);
    }

    pub(crate) fn settle(&mut self, run: RunId, usd: Usd, at: Timestamp) {
        if let Some(kept) = self.live.get_mut(&run) {
            *kept = kept.less(usd);
        }
        self.add(at, usd, 0);
    }

    /// Returns every cap that an amount and a number of further runs do not fit into. `default` stands where no
    /// cap is set for a period.
    pub fn excess(
        &self,
        usd: Usd,
        runs: u64,
        now: Timestamp,
        default: &BTreeMap<Per, Cap>,
    ) -> Vec<Excess> {
        let mut found = Vec::new();
        for per in Per::ALL {
            let Some(cap) = self.caps.get(&per).or_else(|| default.get(&per)) else { continue };
            let spent = self.spent(per, now);
            let reserved = self.reserved();
            let over = |limit| Excess { scope: self.scope.clone(), per, limit };
            if let Some(cap) = cap.usd
                && spent.usd.plus(reserved).plus(usd) > cap
            {
                let (spent, wanted) = (spent.usd, usd);
                found.push(over(Limit::Usd { cap, spent, reserved, wanted }));
            }
            if let Some(cap) = cap.runs
                && spent.runs + runs > cap
            {
                found.push(over(Limit::Runs { cap, spent: spent.runs }));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Millis;

    #[test]
    fn scopes_read_back_as_they_are_written() {
        for text in ["repo", "task:T1", "agent:developer", "run:R7"] {
            assert_eq!(Scope::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "org", "task:", "task", "run:7", "agent:show", "team:x"] {
            assert!(Scope::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_was_spent_yesterday_does_not_count_today_but_in_total() {
        let repo = RepoName::parse("a/b").unwrap();
        let mut budget = Budget::new(repo, Scope::repo());
        let one = Usd::from_micros(1_000_000);
        let at = Timestamp::parse("2026-01-31T23:59:00Z").unwrap();
        budget.reserve(RunId(1), one, at);
        budget.settle(RunId(1), one, at);
        let later = at.plus(Millis::from_secs(120));
        assert_eq!(budget.spent(Per::Day, at).usd, one);
        assert_eq!(budget.spent(Per::Day, later).usd, Usd::ZERO);
        assert_eq!(budget.spent(Per::Month, later).runs, 0);
        assert_eq!(budget.spent(Per::Total, later), Spent { since: 0, usd: one, runs: 1 });
    }

    #[test]
    fn what_is_kept_for_live_runs_is_not_free() {
        let repo = RepoName::parse("a/b").unwrap();
        let mut budget = Budget::new(repo, Scope::repo());
        let one = Usd::from_micros(1_000_000);
        let now = Timestamp::from_ms(0);
        budget.caps.insert(Per::Total, Cap { usd: Some(one), runs: Some(1) });
        let none = BTreeMap::new();
        assert!(budget.excess(one, 1, now, &none).is_empty());
        budget.reserve(RunId(1), one, now);
        assert_eq!(budget.excess(Usd::from_micros(1), 1, now, &none).len(), 2);
        budget.settle(RunId(1), one, now);
        assert_eq!(budget.reserved(), Usd::ZERO);
        assert_eq!(budget.excess(Usd::from_micros(1), 0, now, &none).len(), 1);
    }
}

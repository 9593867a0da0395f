//! Looking up runs, budgets and costs as they are in effect.

use crate::batch::settle;
use crate::pages::{id_after, limit, page};
use crate::read::Reader;
use comity_api::{
    BudgetsAnswer, CostAnswer, CostBy, CostFilter, CostView, PartView, RunAnswer, RunFilter,
    RunsPage, SumView,
};
use comity_core::budget::{Budget, Per, Scope};
use comity_core::decide::{find_run, find_task};
use comity_core::ids::RunId;
use comity_core::limits::PAGE_MAX;
use comity_core::money::Usd;
use comity_core::refusal::Refusal;
use comity_core::run::{CostBasis, Run, Tokens};
use comity_core::time::Timestamp;
use comity_core::view;
use comity_store::RunQuery;

impl Reader<'_> {
    pub(crate) fn run(&mut self, id: &str) -> Result<RunAnswer, Refusal> {
        let repo = &self.caller.repo;
        let run =
            settle(self.tx, &mut self.facts, |facts| find_run(facts, repo, id).map(view::run))?;
        Ok(RunAnswer { run })
    }

    /// Lists runs by number.
    pub(crate) fn runs(&mut self, wanted: &RunFilter) -> Result<RunsPage, Refusal> {
        let limit = limit(wanted.limit)?;
        let repo = self.caller.repo.clone();
        let task = match &wanted.task {
            Some(text) => Some(settle(self.tx, &mut self.facts, |facts| {
                find_task(facts, &repo, text).map(|task| task.id.clone())
            })?),
            None => None,
        };
        let after = id_after(wanted.after.as_deref(), RunId::parse)?;
        let mut query = RunQuery { repo, task, live_only: false, after, limit: PAGE_MAX };
        let fits = |run: &Run| {
            (wanted.status.is_empty() || wanted.status.contains(&run.state))
                && wanted.agent.as_ref().is_none_or(|agent| run.agent == *agent)
        };
        let mut found = Vec::new();
        while found.len() <= limit {
            let stored = self.tx.runs(&query)?;
            let Some(last) = stored.last() else { break };
            query.after = Some(last.id);
            for run in stored {
                let run = self.effective(run);
                found.extend(fits(&run).then(|| view::run(&run)));
            }
        }
        let (runs, next) = page(found, limit, |run| run.id.clone().unwrap_or_default());
        Ok(RunsPage { runs, next })
    }

    /// What has expired is applied to the facts; a run that they know is newer there.
    pub(crate) fn effective(&self, run: Run) -> Run {
        let known = self.facts.state.runs.get(&(run.repo.clone(), run.id));
        known.cloned().unwrap_or(run)
    }

    /// Returns the live runs of the repository, as far as a page goes.
    pub(crate) fn live_runs(&mut self) -> Result<Vec<Run>, Refusal> {
        let repo = self.caller.repo.clone();
        let query = RunQuery { repo, task: None, live_only: true, after: None, limit: PAGE_MAX };
        let stored = self.tx.runs(&query)?;
        let runs: Vec<Run> = stored.into_iter().map(|run| self.effective(run)).collect();
        Ok(runs.into_iter().filter(|run| run.state.is_live()).collect())
    }

    pub(crate) fn spent_today(&mut self) -> Result<Usd, Refusal> {
        let (repo, now) = (self.caller.repo.clone(), self.facts.moment.now);
        settle(self.tx, &mut self.facts, |facts| {
            let budget = facts.budget(&repo, &Scope::repo())?;
            Ok(budget.map(|budget| budget.spent(Per::Day, now).usd).unwrap_or_default())
        })
    }

    /// Lists the budgets that are set, and those of the settings.
    pub(crate) fn budgets(&mut self) -> Result<BudgetsAnswer, Refusal> {
        let repo = self.caller.repo.clone();
        let mut all: Vec<Budget> = Vec::new();
        loop {
            let last = all.last().map(|budget| budget.scope.clone());
            let stored = self.tx.budgets(&repo, last.as_ref(), PAGE_MAX)?;
            if stored.is_empty() {
                break;
            }
            all.extend(stored);
        }
        for budget in &mut all {
            let place = (repo.clone(), budget.scope.clone());
            if let Some(known) = self.facts.state.budgets.get(&place) {
                budget.clone_from(known);
            }
        }
        if !all.iter().any(|budget| budget.scope == Scope::repo()) {
            all.insert(0, Budget::new(repo, Scope::repo()));
        }
        let (policy, now) = (&self.policy.fleet, self.facts.moment.now);
        let budgets = all.iter().flat_map(|budget| view::budget(budget, policy, now)).collect();
        Ok(BudgetsAnswer { budgets })
    }

    pub(crate) fn cost(&mut self, wanted: &CostFilter) -> Result<CostAnswer, Refusal> {
        let today = self.facts.moment.now.day();
        let mut cost = CostView {
            today: SumView::default(),
            all: SumView::default(),
            reserved_usd: Usd::ZERO,
            unpriced_runs: 0,
        };
        let repo = self.caller.repo.clone();
        let mut query =
            RunQuery { repo, task: None, live_only: false, after: None, limit: PAGE_MAX };
        loop {
            let stored = self.tx.runs(&query)?;
            let Some(last) = stored.last() else { break };
            query.after = Some(last.id);
            for run in stored {
                let run = self.effective(run);
                cost.reserved_usd = cost.reserved_usd.plus(run.reserved);
                cost.unpriced_runs += u64::from(run.cost_basis == Some(CostBasis::Unpriced));
                add_run(&mut cost, &run, wanted.by, today);
            }
        }
        Ok(CostAnswer { cost })
    }
}

fn add_run(cost: &mut CostView, run: &Run, by: CostBy, today: i64) {
    let began = run.created_at.day();
    let day_of = |day: i64| date(day);
    if by == CostBy::Day {
        for spent in &run.days {
            add(&mut cost.all, &day_of(spent.day), spent.usd, spent.tokens, 0);
        }
        add(&mut cost.all, &day_of(began), Usd::ZERO, Tokens::default(), 1);
    } else {
        add(&mut cost.all, &name(run, by), run.cost, run.tokens, 1);
    }
    let spent = run.days.iter().find(|spent| spent.day == today);
    if spent.is_none() && began != today {
        return;
    }
    let (usd, tokens) = spent.map(|spent| (spent.usd, spent.tokens)).unwrap_or_default();
    let under = if by == CostBy::Day { day_of(today) } else { name(run, by) };
    add(&mut cost.today, &under, usd, tokens, 1);
}

fn date(day: i64) -> String {
    const DAY_MS: i64 = 86_400_000;
    const DATE_CHARS: usize = 10;
    Timestamp::from_ms(day * DAY_MS).to_string().chars().take(DATE_CHARS).collect()
}

fn name(run: &Run, by: CostBy) -> String {
    match by {
        CostBy::Agent => run.agent.clone(),
        CostBy::Task => run.task.to_string(),
        CostBy::Repo => run.repo.to_string(),
        CostBy::Model => run.model.clone().unwrap_or_else(|| run.driver.clone()),
        CostBy::Run => run.id.to_string(),
        CostBy::Day => date(run.created_at.day()),
    }
}

fn add(sum: &mut SumView, under: &str, usd: Usd, tokens: Tokens, runs: u64) {
    sum.usd = sum.usd.plus(usd);
    sum.tokens = sum.tokens.plus(tokens);
    sum.runs += runs;
    let part: &mut PartView = sum.by.entry(under.to_owned()).or_default();
    part.usd = part.usd.plus(usd);
    part.tokens = part.tokens.plus(tokens);
    part.runs += runs;
}

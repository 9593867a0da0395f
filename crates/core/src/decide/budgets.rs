//! Budgets: reserved before spending, settled per call, and what happens when one is used up.

use super::{Answer, Rule};
use crate::budget::{Cap, Excess, Limit, Of, Per, Scope};
use crate::command::{NewBudget, RunProgress};
use crate::decision::{
    Addressee, Decision, DecisionOption, DecisionPurpose, DecisionState, DecisionType,
};
use crate::event::{
    BudgetBreached, BudgetReserved, BudgetSet, BudgetSettled, DecisionAsked, Event, RunPaused,
    RunProgressed, RunResumed,
};
use crate::facts::Ruling;
use crate::ids::{DecisionId, RunId, TaskId};
use crate::money::Usd;
use crate::refusal::{Code, Refusal};
use crate::role::Role;
use crate::run::{CostBasis, Run, RunState, Tokens};
use serde_json::{Value, json};

/// The answers to the question what becomes of runs whose budget is used up.
const RAISE: &str = "raise";
const STOP: &str = "stop";
const FINISH: &str = "finish";

impl Rule<'_> {
    /// Returns every cap that a further amount does not fit into.
    fn excess(&self, scopes: &[Scope], usd: Usd, runs: u64) -> Ruling<Vec<Excess>> {
        let mut found = Vec::new();
        for scope in scopes {
            let default = self.policy.fleet.default_caps(scope);
            let new = crate::budget::Budget::new(self.request.repo.clone(), scope.clone());
            let budget = self.facts.budget(&self.request.repo, scope)?.unwrap_or(&new);
            found.extend(budget.excess(usd, runs, self.now(), &default));
        }
        Ok(found)
    }

    pub(super) fn fits_budgets(&self, scopes: &[Scope], wanted: Usd) -> Ruling<()> {
        let excess = self.excess(scopes, wanted, 1)?;
        if excess.is_empty() {
            return Ok(());
        }
        let told: Vec<String> = excess.iter().map(sentence).collect();
        let listed: Vec<Value> = excess.iter().map(|one| listed(one, wanted)).collect();
        Err(Refusal::new(Code::BudgetExceeded, told.join("; ")).detail("scopes", listed).into())
    }

    pub(super) fn reserve(&mut self, task: &TaskId, run: RunId, usd: Usd, scopes: Vec<Scope>) {
        let body = BudgetReserved { run, usd, scopes };
        self.push(Some(task), Event::BudgetReserved(body));
    }

    /// A highest cost that was named is the budget of the run itself.
    pub(super) fn cap_run(&mut self, run: RunId, usd: Usd) {
        self.set_cap(Scope::run(run), Per::Total, Cap { usd: Some(usd), runs: None });
    }

    fn set_cap(&mut self, scope: Scope, per: Per, cap: Cap) {
        let Cap { usd, runs } = cap;
        let body = BudgetSet { scope, per, usd, tokens: None, seconds: None, runs };
        self.push(None, Event::BudgetSet(body));
    }

    pub(super) fn set_budget(&mut self, new: &NewBudget) -> Ruling<Answer> {
        let scope = Scope::parse(&new.scope)?;
        let repo = &self.request.repo;
        match scope.read()? {
            Of::Task(id) => drop(self.task(id.as_str())?),
            Of::Run(id) => drop(super::runs::find_run(self.facts, repo, &id.to_string())?),
            Of::Repo | Of::Agent(_) => {}
        }
        let default = self.policy.fleet.default_caps(&scope);
        let set = self.facts.budget(repo, &scope)?.and_then(|budget| budget.caps.get(&new.per));
        let before = set.or_else(|| default.get(&new.per)).copied().unwrap_or_default();
        let lowers = |old: Option<u64>, new: Option<u64>| match (old, new) {
            (Some(old), Some(new)) => new <= old,
            (None, _) => true,
            (Some(_), None) => false,
        };
        let lower = lowers(before.usd.map(Usd::micros), new.usd.map(Usd::micros))
            && lowers(before.runs, new.runs);
        // A planner may spend less, and only a person more.
        if !(lower && self.roles.contains(&Role::Planner)) {
            self.require_person("set this budget; a planner may lower one")?;
        }
        self.set_cap(scope.clone(), new.per, Cap { usd: new.usd, runs: new.runs });
        Ok(Answer::Budget(scope))
    }

    /// Records what a run did, settles each call, and keeps enough for the next turn or pauses the run.
    pub(super) fn progress(&mut self, run: &Run, progress: &RunProgress) -> Ruling<Answer> {
        let is_working = matches!(
            run.state,
            RunState::Starting | RunState::Running | RunState::Waiting | RunState::Paused
        );
        if !is_working {
            self.run_may_become(run, RunState::Running)?;
        }
        let scopes = self.known_scopes(run)?;
        let mut after = run.clone();
        for call in &progress.calls {
            let usd = call.usd.unwrap_or_default();
            let body = BudgetSettled {
                run: run.id,
                call: call.call.clone(),
                usd,
                tokens: call.tokens,
                estimated: call.basis == CostBasis::Estimated,
                scopes: scopes.clone(),
            };
            after.cost = after.cost.plus(usd);
            after.tokens = after.tokens.plus(call.tokens);
            after.reserved = after.reserved.less(usd);
            after.last_calls.push(usd);
            after.cost_basis = Some(weakest(after.cost_basis, call.basis));
            self.push(Some(&run.task), Event::BudgetSettled(Box::new(body)));
        }
        let excess_calls = after.last_calls.len().saturating_sub(crate::run::CALLS_KEPT);
        after.last_calls.drain(..excess_calls);
        let body = RunProgressed {
            run: run.id,
            turn: progress.turn.unwrap_or(run.turns),
            tokens: after.tokens,
            cost_usd: after.cost,
            cost_basis: after.cost_basis,
            head: progress.head.clone(),
            session: progress.session.clone(),
            pr: None,
        };
        self.push(Some(&run.task), Event::RunProgressed(Box::new(body)));
        if !progress.calls.is_empty() && run.state != RunState::Paused {
            self.keep_for_next_turn(&after, run, scopes)?;
        }
        Ok(Answer::Run(run.id))
    }

    fn keep_for_next_turn(&mut self, after: &Run, before: &Run, scopes: Vec<Scope>) -> Ruling<()> {
        let further = after.next_turn();
        if further == Usd::ZERO {
            return Ok(());
        }
        // The facts do not have the calls yet: what they cost beyond the reserve is spent, too.
        let beyond = after.cost.less(before.cost).less(before.reserved);
        let excess = self.excess(&scopes, further.plus(beyond), 0)?;
        match excess.iter().find_map(|one| match one.limit {
            Limit::Usd { cap, spent, reserved, .. } => Some((one, cap, spent, reserved)),
            Limit::Runs { .. } => None,
        }) {
            None => {
                self.reserve(&after.task, after.id, further, scopes);
                Ok(())
            }
            Some((one, limit, spent, reserved)) => {
                let cost = after.cost.less(before.cost);
                let freed = before.reserved.less(after.reserved);
                let (spent, reserved) = (spent.plus(cost), reserved.less(freed));
                self.breach(after, one, limit, (spent, reserved))
            }
        }
    }

    /// Pauses a run whose budget is used up, and asks what to do: once for all runs of the budget.
    fn breach(
        &mut self,
        run: &Run,
        excess: &Excess,
        limit: Usd,
        (spent, reserved): (Usd, Usd),
    ) -> Ruling<()> {
        let repo = &self.request.repo;
        let asked = self.facts.budget(repo, &excess.scope)?.and_then(|budget| budget.decision);
        let open = match asked {
            Some(id) => self.facts.decision(repo, id)?.filter(|d| d.state == DecisionState::Open),
            None => None,
        };
        let decision = match open {
            Some(decision) => decision.id,
            None => self.ask_about_budget(excess, limit, spent)?,
        };
        let (scope, per) = (excess.scope.clone(), excess.per);
        let body = BudgetBreached { scope, per, limit, spent, reserved, run: run.id, decision };
        self.push(Some(&run.task), Event::BudgetBreached(body));
        let reason = Some(format!("the budget {} is used up", excess.scope));
        let body = RunPaused { run: run.id, reason, until: None, decision: Some(decision) };
        self.push(Some(&run.task), Event::RunPaused(body));
        Ok(())
    }

    fn ask_about_budget(&mut self, excess: &Excess, limit: Usd, spent: Usd) -> Ruling<DecisionId> {
        let id = DecisionId(self.facts.counters(&self.request.repo)?.decisions + 1);
        let option = |key: &str, label: &str| DecisionOption {
            key: key.to_owned(),
            label: Some(label.to_owned()),
            description: None,
        };
        let scope = &excess.scope;
        let question = format!("The budget {scope} is used up: {spent} of {limit}. What now?");
        let asked = DecisionAsked {
            kind: DecisionType::Choice,
            options: vec![
                option(RAISE, "Go on with twice the budget; 'raise: 20' sets it to $20"),
                option(STOP, "Stop the runs that wait for it"),
                option(FINISH, "Let these runs end what they began, beyond the budget"),
            ],
            to: Addressee::Person,
            purpose: DecisionPurpose::Budget,
            budget: Some(Box::new((scope.clone(), excess.per))),
            ..DecisionAsked::free(id, &question, None)
        };
        self.push(None, Event::DecisionAsked(Box::new(asked)));
        Ok(id)
    }

    /// Does what a person answered about a budget, to every run that waits for the answer.
    pub(super) fn follow_budget_answer(
        &mut self,
        decision: &Decision,
        key: &str,
        text: Option<&str>,
    ) -> Ruling<()> {
        let Some((scope, per)) = decision.budget.as_deref() else { return Ok(()) };
        let repo = self.request.repo.clone();
        let Some(budget) = self.facts.budget(&repo, scope)? else { return Ok(()) };
        let mut waiting = Vec::new();
        for id in budget.live.keys() {
            let run = self.facts.run(&repo, *id)?;
            waiting.extend(run.filter(|run| run.waiting_on == Some(decision.id)));
        }
        let mut room = None;
        if key == RAISE {
            let default = self.policy.fleet.default_caps(scope);
            let cap = budget.caps.get(per).or_else(|| default.get(per)).copied();
            let cap = raised(cap.unwrap_or_default(), text)?;
            self.set_cap(scope.clone(), *per, cap);
            let used = budget.spent(*per, self.now()).usd.plus(budget.reserved());
            room = cap.usd.map(|usd| usd.less(used));
        }
        for run in waiting {
            match key {
                STOP => {
                    let reason = Some(format!("{}: {key}", decision.id));
                    let end = crate::command::RunChange::Stop { now: false, reason };
                    self.change_run(&run.id.to_string(), &end)?;
                }
                FINISH => self.let_go_on(run, run.next_turn())?,
                _ => {
                    let further = self.within(run, scope, room)?;
                    room = room.map(|room| room.less(further));
                    self.let_go_on(run, further)?;
                }
            }
        }
        Ok(())
    }

    /// Returns what a run wants for its next turn, if it fits into a raised budget and into its others.
    fn within(&self, run: &Run, raised: &Scope, room: Option<Usd>) -> Ruling<Usd> {
        let further = run.next_turn();
        let others: Vec<Scope> = Scope::of(run).into_iter().filter(|of| of != raised).collect();
        let fits = room.is_none_or(|room| further <= room);
        let fits = fits && self.excess(&others, further, 0)?.is_empty();
        Ok(if fits { further } else { Usd::ZERO })
    }

    fn let_go_on(&mut self, run: &Run, further: Usd) -> Ruling<()> {
        if run.state != RunState::Paused {
            return Ok(());
        }
        if further > Usd::ZERO {
            let scopes = self.known_scopes(run)?;
            self.reserve(&run.task, run.id, further, scopes);
        }
        let by = self.request.actor.clone();
        let body = RunResumed { run: run.id, by, fresh: false };
        self.push(Some(&run.task), Event::RunResumed(body));
        Ok(())
    }

    /// A run whose model has no price is charged what was kept for it.
    pub(super) fn charge_unpriced(&mut self, run: &Run) {
        let body = BudgetSettled {
            run: run.id,
            call: "unpriced".to_owned(),
            usd: run.reserved,
            tokens: Tokens::default(),
            estimated: true,
            scopes: Scope::of(run),
        };
        self.push(Some(&run.task), Event::BudgetSettled(Box::new(body)));
    }
}

/// The cost of a run is no better known than that of its worst known call.
fn weakest(before: Option<CostBasis>, new: CostBasis) -> CostBasis {
    before.map_or(new, |before| before.max(new))
}

fn raised(cap: Cap, text: Option<&str>) -> Result<Cap, Refusal> {
    let Some(text) = text else {
        let twice = cap.usd.map(|usd| usd.plus(usd));
        return Ok(Cap { usd: twice, ..cap });
    };
    let amount = text.trim().trim_start_matches('$').parse().ok().and_then(Usd::from_dollars);
    let usd = amount.filter(|usd| Some(*usd) > cap.usd).ok_or_else(|| {
        Refusal::new(Code::InvalidAnswer, format!("{text:?} is not a higher number of dollars"))
            .hint("answer 'raise', or 'raise: N' with the new budget in dollars")
    })?;
    Ok(Cap { usd: Some(usd), ..cap })
}

fn sentence(excess: &Excess) -> String {
    let (scope, per) = (&excess.scope, excess.per);
    match excess.limit {
        Limit::Usd { cap, spent, reserved, wanted } => format!(
            "the budget {scope} ({per}) is {cap}: {spent} spent, {reserved} kept for runs, {wanted} more wanted"
        ),
        Limit::Runs { cap, spent } => {
            format!("the budget {scope} ({per}) is {cap} runs, and there were {spent}")
        }
    }
}

fn listed(excess: &Excess, wanted: Usd) -> Value {
    let (scope, per) = (excess.scope.to_string(), excess.per);
    match excess.limit {
        Limit::Usd { cap, spent, reserved, .. } => json!({
            "scope": scope, "per": per, "limit": cap, "spent": spent, "reserved": reserved,
            "wanted": wanted,
        }),
        Limit::Runs { cap, spent } => json!({
            "scope": scope, "per": per, "limit": cap, "spent": spent, "reserved": 0, "wanted": 1,
        }),
    }
}

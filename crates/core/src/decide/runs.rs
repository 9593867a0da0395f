//! Runs: dispatch with claim and reservation in one go, what their keepers report, and their end.

use super::access::not_found;
use super::together::Ahead;
use super::{Answer, Rule};
use crate::budget::Scope;
use crate::command::{ClaimWish, Command, NewRun, RunChange, RunEnd, TaskVerb};
use crate::event::{
    AgentRegistered, BudgetReleased, Checkpoint, Draft, Event, RunEnded, RunPaused, RunQueued,
    RunResumed, RunStarted, RunWaiting, StatusChanged, TaskUpdated,
};
use crate::facts::{Facts, Ruling};
use crate::hint::{op, say};
use crate::ids::{AgentId, Fence, RepoName, RunId, TaskId};
use crate::limits;
use crate::refusal::{Code, Refusal};
use crate::role::Verb;
use crate::run::{
    CostBasis, Run, RunError, RunFault, RunState, Stage, check_name, identity, run_of,
};
use crate::status::Status;
use crate::task::Task;
use crate::via::Via;
use serde_json::{Map, Value};

/// Finds a run by its id.
pub fn find_run<'a>(facts: &'a Facts, repo: &RepoName, text: &str) -> Ruling<&'a Run> {
    let id = read_run(text)?;
    facts.run(repo, id)?.ok_or_else(|| not_found("run", text).into())
}

pub(super) fn read_run(text: &str) -> Result<RunId, Refusal> {
    RunId::parse(text).ok_or_else(|| {
        Refusal::input(format!("run id {:?} is not valid", crate::ids::shorten(text)))
            .hint(say("a run id looks like R7; list the runs with ").quote(op("runs")))
    })
}

/// How a run acts: under a name of its own, in a session of its own.
pub(super) struct Acting {
    pub(super) id: RunId,
    identity: AgentId,
    via: Via,
}

impl Acting {
    pub(super) fn of(run: &Run, host: Option<String>) -> Acting {
        let via = via(&run.driver, run.id, host);
        Acting { id: run.id, identity: run.identity.clone(), via }
    }
}

fn via(driver: &str, run: RunId, host: Option<String>) -> Via {
    let (client, session) = (Some(driver.to_owned()), Some(run.to_string()));
    Via { client, session, host, ..Via::default() }
}

impl Rule<'_> {
    pub(super) fn dispatch_run(&mut self, new: &NewRun) -> Ruling<Answer> {
        check_name(&new.agent)?;
        self.require(Verb::Dispatch)?;
        let repo = self.request.repo.clone();
        let mut ahead = self.ahead();
        let task = self.task_for_run(&mut ahead, new)?;
        let number = self.facts.budget(&repo, &Scope::repo())?.map_or(0, |all| all.last_run) + 1;
        let id = RunId(number);
        let acting = Acting {
            id,
            identity: identity(&new.agent, id)?,
            via: via(&new.driver, id, self.request.via.host.clone()),
        };
        self.not_in_loop(&task)?;
        self.not_live_already(&task, new)?;
        let parent = self.starter(&ahead, &task, new)?;
        self.design_is_there(&mut ahead, &task, new)?;
        let wanted = new.max_cost.unwrap_or(self.policy.fleet.run_usd);
        let above = parent.as_ref().map(|(_, task)| task);
        let scopes = Scope::of_run(id, &task, above, &new.agent);
        self.fits_budgets(&scopes, wanted)?;
        if let Some(branch) = &new.branch {
            self.work_on(&mut ahead, &task, branch)?;
        }
        let fence = self.hand_task_to(&mut ahead, &acting, &task, new.stage)?;
        let resumed_from = new.resumed_from.as_deref().map(read_run).transpose()?;
        let (parent, parent_task) = parent.unzip();
        let now =
            ahead.facts().task(&repo, &task)?.ok_or_else(|| not_found("task", task.as_str()))?;
        let queued = RunQueued {
            run: id,
            agent: new.agent.clone(),
            driver: new.driver.clone(),
            model: new.model.clone(),
            stage: new.stage,
            meta: self.meta(new, &task),
            branch: new.branch.clone().or_else(|| now.branch.clone()),
            base: new.base.clone(),
            prompt_sha256: new.prompt_sha256.clone(),
            prompt_bytes: new.prompt_bytes,
            sandbox: new.sandbox.clone(),
            priority: now.priority,
            labels: new.labels.clone(),
            resumed_from,
            parent,
            parent_task,
            attempt: now.attempts + 1,
            rule: new.rule.clone(),
            identity: acting.identity.clone(),
            writable: new.writable,
            fence,
            ttl: self.policy.fleet.ttl,
            pr: now.pr.clone(),
        };
        self.push(Some(&task), Event::RunQueued(Box::new(queued)));
        self.reserve(&task, id, wanted, scopes);
        if let Some(max) = new.max_cost {
            self.cap_run(id, max);
        }
        Ok(Answer::Run(id))
    }

    /// Returns the facts about a run: what the caller knows, with the ticket and the stage where it does not say them.
    fn meta(&self, new: &NewRun, task: &TaskId) -> Map<String, Value> {
        let mut meta = new.meta.clone();
        for (key, value) in [("ticketId", task.as_str()), ("stage", new.stage.as_str())] {
            meta.entry(key).or_insert_with(|| Value::String(value.to_owned()));
        }
        meta
    }

    /// Returns the live run that the caller acts in.
    pub(super) fn acting_run(&self) -> Ruling<Option<&Run>> {
        let (actor, repo) = (&self.request.actor, &self.request.repo);
        let Some(id) = run_of(actor) else { return Ok(None) };
        let run = self.facts.run(repo, id)?;
        Ok(run.filter(|run| run.identity == *actor && run.state.is_live()))
    }

    /// Whoever acts in a run acts as long as the run lives.
    pub(super) fn run_is_live(&self) -> Ruling<()> {
        let (actor, repo) = (&self.request.actor, &self.request.repo);
        let Some(id) = run_of(actor) else { return Ok(()) };
        match self.facts.run(repo, id)? {
            Some(run) if run.identity == *actor && !run.state.is_live() => {
                let message = format!("{actor} acts no more: {id} is {}", run.state);
                Err(Refusal::new(Code::StaleFence, message)
                    .hint(say("see ").quote(op("run.show").id(&id)))
                    .detail("run", id.to_string())
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// An agent in a run works on the task of the run and on no other.
    pub(super) fn is_task_of_run(&self, owner: &AgentId, task: &Task) -> Ruling<()> {
        let Some(id) = run_of(owner) else { return Ok(()) };
        match self.facts.run(&self.request.repo, id)? {
            Some(run) if run.identity == *owner && run.task != task.id => {
                let message = format!("{owner} works on {} and cannot claim {}", run.task, task.id);
                Err(Refusal::new(Code::RoleForbidden, message)
                    .hint("finish the task of the run; the other one is for another run")
                    .detail("task", run.task.as_str())
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// There is no run without a task: where none is named, one is made.
    fn task_for_run(&mut self, ahead: &mut Ahead, new: &NewRun) -> Ruling<TaskId> {
        if let Some(text) = &new.task {
            return Ok(self.task(text)?.id.clone());
        }
        let Some(made) = &new.new_task else {
            return Err(Refusal::input("a run needs a task or a prompt").into());
        };
        let Answer::Task(id) = self.in_turn(ahead, Command::CreateTask(made.clone()))? else {
            return Err(Refusal::new(Code::Internal, "BUG: creating a task made none").into());
        };
        Ok(id)
    }

    /// All runs of a task work on one branch: the one that was named last.
    fn work_on(&mut self, ahead: &mut Ahead, id: &TaskId, branch: &str) -> Ruling<()> {
        let task = ahead.facts().task(&self.request.repo, id)?;
        if task.is_some_and(|task| task.branch.as_deref() != Some(branch)) {
            let body = TaskUpdated { branch: Some(branch.to_owned()), ..TaskUpdated::default() };
            self.push_ahead(ahead, Some(id), Event::TaskUpdated(Box::new(body)));
        }
        Ok(())
    }

    /// One live run per task and stage, and one that writes per task.
    fn not_live_already(&self, task: &TaskId, new: &NewRun) -> Ruling<()> {
        let repo = &self.request.repo;
        let live = |scope: &Scope| -> Ruling<Vec<RunId>> {
            let budget = self.facts.budget(repo, scope)?;
            Ok(budget.map(|budget| budget.live.keys().copied().collect()).unwrap_or_default())
        };
        for id in live(&Scope::task(task))? {
            let Some(run) = self.facts.run(repo, id)? else { continue };
            if run.stage == new.stage || (run.writable && new.writable) {
                let message =
                    format!("{id} ({}, {}) is at work on {task} already", run.agent, run.state);
                return Err(Refusal::new(Code::RunLive, message)
                    .hint(say("wait for it, or stop it with ").quote(op("run.stop").id(&id)))
                    .detail("run", id.to_string())
                    .into());
            }
        }
        let all = live(&Scope::repo())?.len();
        if all >= self.policy.fleet.queue {
            let message = format!("{all} runs are live or wait already");
            return Err(Refusal::new(Code::LimitExceeded, message)
                .detail("limit", self.policy.fleet.queue)
                .into());
        }
        Ok(())
    }

    /// Gives the task to the run: its claim and leases, or its review. Returns the fence of the run.
    fn hand_task_to(
        &mut self,
        ahead: &mut Ahead,
        acting: &Acting,
        id: &TaskId,
        stage: Stage,
    ) -> Ruling<Fence> {
        let body = AgentRegistered {
            id: acting.identity.clone(),
            roles: vec![stage.role()],
            skills: Vec::new(),
        };
        let event = match self.facts.agent(&acting.identity)? {
            Some(_) => Event::AgentUpdated(body),
            None => Event::AgentRegistered(body),
        };
        self.push_ahead(ahead, None, event);
        if !stage.claims() {
            let seq = self.next_seq();
            self.as_run(ahead, acting, None, TaskVerb::Review.on(id.to_string(), None))?;
            return fence(seq);
        }
        self.put_back(ahead, id)?;
        let seq = self.next_seq();
        let wish = ClaimWish {
            id: Some(id.to_string()),
            ttl: Some(self.policy.fleet.ttl),
            ..ClaimWish::default()
        };
        self.as_run(ahead, acting, None, Command::Claim(wish))?;
        // Leases of others that have run out are reclaimed before the claim.
        let repo = &self.request.repo;
        let claim = ahead.facts().task(repo, id)?.and_then(|task| task.claim.as_ref());
        claim.map_or_else(|| fence(seq), |claim| Ok(claim.fence))
    }

    /// Work that was sent back or failed goes on under another name: it is queued first.
    fn put_back(&mut self, ahead: &mut Ahead, id: &TaskId) -> Ruling<()> {
        let found = ahead.facts().task(&self.request.repo, id)?;
        let Some(task) =
            found.filter(|task| matches!(task.status, Status::ChangesRequested | Status::Failed))
        else {
            return Ok(());
        };
        let why = Some("an agent goes on with it".to_owned());
        let change = StatusChanged::new(task.status, Status::Queued, why);
        let events = super::queue::with_consequence(ahead.facts(), task, change, None)?;
        for event in events {
            self.push_ahead(ahead, Some(id), event);
        }
        Ok(())
    }

    pub(super) fn push_ahead(&mut self, ahead: &mut Ahead, task: Option<&TaskId>, event: Event) {
        self.push(task, event);
        if let Some(draft) = self.events.last() {
            ahead.follow(draft);
        }
    }

    /// Does something in the name of a run.
    pub(super) fn as_run(
        &mut self,
        ahead: &mut Ahead,
        acting: &Acting,
        fence: Option<Fence>,
        command: Command,
    ) -> Ruling<Answer> {
        self.in_turn_as(ahead, &acting.identity, &acting.via, fence, command)
    }

    pub(super) fn change_run(&mut self, id: &str, change: &RunChange) -> Ruling<Answer> {
        let run = find_run(self.facts, &self.request.repo, id)?;
        if let Some(given) = self.request.fence
            && (given != run.fence || !run.state.is_live())
        {
            let message = format!("fence {given} does not belong to a live run {}", run.id);
            return Err(Refusal::new(Code::StaleFence, message)
                .detail("fence", given.get())
                .detail("run", run.id.to_string())
                .into());
        }
        match change {
            RunChange::Stop { now, reason } => return self.stop_run(run, *now, reason.as_ref()),
            RunChange::Pause { .. } | RunChange::Resume { .. } if !self.keeps(run) => {
                self.require(Verb::Dispatch)?;
            }
            RunChange::Pause { .. }
            | RunChange::Resume { .. }
            | RunChange::Take { .. }
            | RunChange::Progress(_)
            | RunChange::Complete { .. }
            | RunChange::Wait { .. }
            | RunChange::End(_)
            | RunChange::HandOver { .. }
            | RunChange::Checkpoint { .. } => {
                if !self.keeps(run) {
                    self.require(Verb::Work)?;
                }
            }
        }
        self.change_kept_run(run, change)
    }

    /// The keeper of a run acts under the name of the run.
    fn keeps(&self, run: &Run) -> bool {
        run.identity == self.request.actor
    }

    fn change_kept_run(&mut self, run: &Run, change: &RunChange) -> Ruling<Answer> {
        let task = &run.task;
        match change {
            RunChange::Take { workspace, driver_version, sandbox, session, worker } => {
                self.run_may_become(run, RunState::Starting)?;
                let body = RunStarted {
                    run: run.id,
                    worker: worker.clone().unwrap_or_else(|| self.request.actor.clone()),
                    host: self.request.via.host.clone(),
                    workspace: workspace.clone(),
                    fence: run.fence,
                    driver_version: driver_version.clone(),
                    sandbox: sandbox.clone(),
                    session: session.clone(),
                };
                self.push(Some(task), Event::RunStarted(Box::new(body)));
                self.begin_work(run)?;
            }
            RunChange::Progress(progress) => return self.progress(run, progress),
            RunChange::Complete { evidence, summary } => {
                return self.complete_objective(run, evidence, summary.as_ref());
            }
            RunChange::Wait { decision } => {
                self.run_may_become(run, RunState::Waiting)?;
                let decision = self.decision(decision)?.id;
                self.push(Some(task), Event::RunWaiting(RunWaiting { run: run.id, decision }));
            }
            RunChange::Pause { reason, until, decision } => {
                self.run_may_become(run, RunState::Paused)?;
                let decision = decision.as_ref().map(|id| self.decision(id)).transpose()?;
                let (reason, until) = (reason.clone(), *until);
                let decision = decision.map(|one| one.id);
                let body = RunPaused { run: run.id, reason, until, decision };
                self.push(Some(task), Event::RunPaused(body));
            }
            RunChange::Resume { fresh } => {
                if run.state != RunState::Paused {
                    return Err(wrong_state(run, "not paused").into());
                }
                let by = self.request.actor.clone();
                let body = RunResumed { run: run.id, by, fresh: *fresh };
                self.push(Some(task), Event::RunResumed(body));
            }
            RunChange::Stop { now, reason } => return self.stop_run(run, *now, reason.as_ref()),
            RunChange::End(end) => return self.end_run(run, end),
            RunChange::HandOver { pr, text } => self.handed_over(run, pr.as_ref(), text),
            RunChange::Checkpoint { sha, subject, step } => {
                if !run.state.is_live() {
                    return Err(wrong_state(run, "and takes no more commits").into());
                }
                self.at_most("milestones", run.milestones.len() + 1, MILESTONES_MAX)?;
                let (sha, subject, step) = (sha.clone(), subject.clone(), step.clone());
                let body = Checkpoint { run: run.id, sha, subject, step };
                self.push(Some(task), Event::Checkpoint(body));
            }
        }
        Ok(Answer::Run(run.id))
    }

    fn at_most(&self, what: &str, count: usize, most: usize) -> Ruling<()> {
        if count <= most {
            return Ok(());
        }
        let message = format!("a run has at most {most} {what}");
        Err(Refusal::new(Code::LimitExceeded, message).detail("limit", most).into())
    }

    fn begin_work(&mut self, run: &Run) -> Ruling<()> {
        let task = self.facts.task(&self.request.repo, &run.task)?;
        if task.is_some_and(|task| task.status == Status::Claimed && holds(run, task)) {
            let mut ahead = self.ahead();
            let acting = Acting::of(run, self.request.via.host.clone());
            let start = Command::Start { id: run.task.to_string(), ttl: None, reason: None };
            // A run that waited for a worker was not heard of for long; whoever takes it names the fence itself.
            self.as_run(&mut ahead, &acting, None, start)?;
        }
        Ok(())
    }

    pub(super) fn run_may_become(&self, run: &Run, to: RunState) -> Ruling<()> {
        if run.state.may_become(to) {
            return Ok(());
        }
        let allowed: Vec<&str> = run.state.next().iter().map(|state| state.as_str()).collect();
        let message = format!("{} is {}, which does not lead to {to}", run.id, run.state);
        Err(Refusal::new(Code::InvalidTransition, message)
            .hint(say("see ").quote(op("run.show").id(&run.id)))
            .detail("run", run.id.to_string())
            .detail("state", run.state.as_str())
            .detail("wanted", to.as_str())
            .detail("allowed", allowed)
            .into())
    }

    /// Ends a run that nobody wants any more. Its keeper sees that and ends the process.
    fn stop_run(&mut self, run: &Run, now: bool, reason: Option<&String>) -> Ruling<Answer> {
        if !self.keeps(run) {
            self.require(Verb::Dispatch)?;
        }
        if !run.state.is_live() {
            return Err(wrong_state(run, "and cannot be stopped").into());
        }
        let how = if now { "stopped at once" } else { "stopped" };
        let by = format!("{how} by {}", self.request.actor);
        let reason = Some(reason.map_or_else(|| by.clone(), |why| format!("{by}: {why}")));
        let end = RunEnd {
            state: RunState::Stopped,
            reason,
            error: None,
            exit: None,
            head: None,
            wip: None,
            report_kind: None,
            steps: Vec::new(),
            said: Map::new(),
        };
        self.end_run(run, &end)
    }

    /// Ends a run. What its report asks for happens in the same transaction, and a task that it still holds then is
    /// let go.
    pub(super) fn end_run(&mut self, run: &Run, end: &RunEnd) -> Ruling<Answer> {
        self.may_end(run, end.state)?;
        self.at_most("steps in its report", end.steps.len(), limits::STEPS_MAX)?;
        let acting = Acting::of(run, self.request.via.host.clone());
        let mut ahead = self.ahead();
        self.follow_report(&mut ahead, &acting, run, end)?;
        let mut end = end.clone();
        let still_held = self.held_after(&ahead, run)?;
        if end.state == RunState::Succeeded && still_held {
            let message = match run.stage {
                Stage::Develop => "the run ended without handing its task in",
                Stage::Plan => "the run ended without a plan",
                Stage::Review | Stage::Scout => "the run ended without a report",
            };
            end.state = RunState::Failed;
            end.error = Some(RunError::new(RunFault::BadReport, message));
        }
        let unpriced = run.cost_basis == Some(CostBasis::Unpriced);
        if unpriced {
            self.charge_unpriced(run);
        }
        let reviews = self.facts.task(&self.request.repo, &run.task)?;
        let pr =
            ahead.facts().task(&self.request.repo, &run.task)?.and_then(|task| task.pr.clone());
        let event =
            ended(run, &end, reviews, self.now().since(run.alive_since()).ms(), unpriced, pr);
        self.push(Some(&run.task), event);
        let scopes = self.known_scopes(run)?;
        let left = self.facts.run(&self.request.repo, run.id)?.map_or(run.reserved, |r| r.reserved);
        let body = BudgetReleased { run: run.id, usd: left, scopes };
        self.push(Some(&run.task), Event::BudgetReleased(body));
        if still_held {
            self.let_go(ahead, &acting, run, &end)?;
        }
        Ok(Answer::Run(run.id))
    }

    fn may_end(&self, run: &Run, state: RunState) -> Ruling<()> {
        // Whoever ran successfully has passed through `finishing` on the way.
        let finishes = run.state.may_become(RunState::Finishing) && state == RunState::Succeeded;
        if finishes || run.state.may_become(state) && !state.is_live() {
            return Ok(());
        }
        self.run_may_become(run, state)?;
        Err(Refusal::input(format!("{state} is no end of a run")).into())
    }

    pub(super) fn held_after(&self, ahead: &Ahead, run: &Run) -> Ruling<bool> {
        let task = ahead.facts().task(&self.request.repo, &run.task)?;
        Ok(task.is_some_and(|task| holds(run, task)))
    }

    /// Returns the scopes of a run, with each of them looked at.
    pub(super) fn known_scopes(&self, run: &Run) -> Ruling<Vec<Scope>> {
        let scopes = Scope::of(run);
        for scope in &scopes {
            self.facts.budget(&self.request.repo, scope)?;
        }
        Ok(scopes)
    }
}

/// Commits and steps of one run that are kept.
const MILESTONES_MAX: usize = 500;

fn fence(seq: u64) -> Ruling<Fence> {
    Ok(Fence::new(seq).ok_or_else(|| Refusal::new(Code::Internal, "no seq is left"))?)
}

pub(super) fn holds(run: &Run, task: &Task) -> bool {
    task.claim.as_ref().is_some_and(|claim| claim.agent == run.identity)
}

pub(super) fn wrong_state(run: &Run, why: &str) -> Refusal {
    Refusal::new(Code::InvalidTransition, format!("{} is {}, {why}", run.id, run.state))
        .detail("run", run.id.to_string())
        .detail("state", run.state.as_str())
}

/// Names the run as the reviewer whose review ends with it.
pub(super) fn reviewer(run: &Run, task: Option<&Task>) -> Option<AgentId> {
    let is_own = |task: &Task| task.review_taken && task.reviewer.as_ref() == Some(&run.identity);
    task.is_some_and(is_own).then(|| run.identity.clone())
}

fn ended(
    run: &Run,
    end: &RunEnd,
    task: Option<&Task>,
    lived_ms: i64,
    unpriced: bool,
    pr: Option<String>,
) -> Event {
    let basis = if unpriced { Some(CostBasis::Estimated) } else { run.cost_basis };
    Event::RunEnded(Box::new(RunEnded {
        run: run.id,
        state: end.state,
        reason: end.reason.clone(),
        error: end.error.clone(),
        exit: end.exit,
        head: end.head.clone().or_else(|| run.head.clone()),
        wip: end.wip.clone(),
        report_kind: end.report_kind.clone(),
        turns: run.turns,
        tokens: run.tokens,
        cost_usd: if unpriced { run.cost.plus(run.reserved) } else { run.cost },
        cost_basis: basis,
        duration_seconds: u64::try_from(lived_ms / 1000).unwrap_or_default(),
        said: end.said.clone(),
        frees_review_of: reviewer(run, task),
        pr,
    }))
}

/// What happens to a run that nobody was heard of for too long.
pub(super) fn lost(
    run: &Run,
    task: Option<&Task>,
    last_seen: crate::time::Timestamp,
) -> Vec<Draft> {
    let event = if run.state == RunState::Queued {
        let message = "nobody took the run in time";
        let end = RunEnd {
            state: RunState::Failed,
            reason: Some(message.to_owned()),
            error: Some(RunError::new(RunFault::Spawn, message)),
            exit: None,
            head: None,
            wip: None,
            report_kind: None,
            steps: Vec::new(),
            said: Map::new(),
        };
        ended(run, &end, task, 0, false, None)
    } else {
        let frees_review_of = reviewer(run, task);
        let (run, host) = (run.id, run.host.clone());
        Event::RunLost(crate::event::RunLost { run, host, last_seen, frees_review_of })
    };
    let body = BudgetReleased { run: run.id, usd: run.reserved, scopes: Scope::of(run) };
    let by_watchdog = |event| Draft::by_watchdog(run.repo.clone(), Some(run.task.clone()), event);
    vec![by_watchdog(event), by_watchdog(Event::BudgetReleased(body))]
}

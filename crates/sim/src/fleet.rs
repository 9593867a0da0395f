//! A fleet in simulated time: two supervisors and their seat, runs whose agents do well or badly or vanish, a person who
//! answers, and whatever goes wrong with messages and clocks.

use crate::audit::{Violation, check_rows, violation};
use crate::chance::Chance;
use crate::world::refused;
use comity_core::command::{
    Command, ModelCall, NewRun, NewTask, Question, Request, RunChange, RunEnd, RunProgress,
    SeatChange, Submission, TaskVerb,
};
use comity_core::decision::{Decision, DecisionState, DecisionType};
use comity_core::ids::{AgentId, Fence, RepoName};
use comity_core::money::Usd;
use comity_core::observed::{ClaimSeen, FileChange, MergeSeen, Observed, RulesSeen, WorkSeen};
use comity_core::refusal::Code;
use comity_core::role::Role;
use comity_core::run::{CostBasis, Run, RunError, RunFault, RunState, Stage, Tokens};
use comity_core::seat::SUPERVISOR;
use comity_core::status::Status;
use comity_core::supervise::{Deed, Dispatch, Settings as Rules, Step, Table, View, due};
use comity_core::task::{Deliverable, Task};
use comity_core::time::Millis;
use comity_core::via::Via;
use comity_engine::{Answer, Caller, Reply, Service, Settings};
use comity_store::memory::MemoryStore;
use comity_store::{Clock, ManualClock, Reader, Store};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a fleet is simulated.
#[derive(Clone, Debug)]
pub struct FleetPlan {
    pub seed: u64,
    pub beats: u64,
    /// Tickets that are there from the start; more come.
    pub tickets: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct FleetReport {
    pub steps: u64,
    pub runs: u64,
    pub done: u64,
    /// How often the seat changed hands.
    pub seats: u64,
    /// Runs × their simulated time.
    pub agent_hours: f64,
}

/// One of the two supervisors.
#[derive(Default)]
struct Sitter {
    fence: Option<Fence>,
    /// Until when it does nothing, by the clock.
    silent_until_ms: i64,
}

struct Fleet {
    chance: Chance,
    clock: Arc<ManualClock>,
    service: Service,
    reader: Box<dyn Reader>,
    repo: RepoName,
    table: Table,
    rules: Rules,
    sitters: [Sitter; 2],
    /// For how many beats a step has been due although it could be taken.
    waited: BTreeMap<String, u64>,
    report: FleetReport,
}

/// Beats in which a step that can be taken may stay due.
const BEATS_MAX: u64 = 2;

/// Runs a plan; a property that does not hold ends it.
pub fn run_fleet(plan: &FleetPlan) -> Result<FleetReport, Violation> {
    let mut fleet = Fleet::new(plan)?;
    for number in 0..plan.tickets {
        fleet.ticket(number)?;
    }
    for beat in 0..plan.beats {
        fleet.beat(beat).map_err(|found| violation(format!("beat {beat}: {found}")))?;
    }
    let (view, _) = fleet.view()?;
    fleet.report.runs = view.runs.len() as u64;
    fleet.report.done = view.tasks.iter().filter(|task| task.status == Status::Done).count() as u64;
    Ok(fleet.report)
}

impl Fleet {
    fn new(plan: &FleetPlan) -> Result<Fleet, Violation> {
        let clock = ManualClock::new();
        let shared: Arc<dyn Clock> = clock.clone();
        let store = MemoryStore::new(shared);
        let reader = store.reader()?;
        let service = Service::inline(Box::new(store), Settings::default())
            .map_err(|error| refused(&error))?;
        let fleet = Fleet {
            chance: Chance::new(plan.seed),
            clock,
            service,
            reader,
            repo: RepoName::parse("sim/fleet").map_err(|error| refused(&error))?,
            table: Table::built_in().map_err(violation)?,
            rules: Rules { max_runs: 8, max_per_repo: 8, ..Rules::default() },
            sitters: Default::default(),
            waited: BTreeMap::new(),
            report: FleetReport::default(),
        };
        let roles = vec![Role::Planner, Role::Critic, Role::Integrator, Role::Watchdog];
        let id = AgentId::parse("supervisor").map_err(|error| refused(&error))?;
        fleet.must("human:sim", Command::AgentRegister { id, roles, skills: Vec::new() })?;
        Ok(fleet)
    }

    fn caller(&self, who: &str) -> Result<Caller, Violation> {
        let id = AgentId::parse(who).map_err(|error| refused(&error))?;
        Ok(Caller::new(id, self.repo.clone()))
    }

    fn request(
        &self,
        who: &str,
        fence: Option<Fence>,
        command: Command,
    ) -> Result<Request, Violation> {
        let caller = Caller { fence, ..self.caller(who)? };
        Ok(Request { via: Via::default(), ..caller.request(command) })
    }

    fn must(&self, who: &str, command: Command) -> Result<(), Violation> {
        let request = self.request(who, None, command)?;
        self.service.execute(request).map(drop).map_err(|error| refused(&error))
    }

    fn view(&self) -> Result<(View, comity_core::time::Timestamp), Violation> {
        let caller = self.caller("supervisor")?;
        self.service.supervision(&caller, &self.rules).map_err(|error| refused(&error))
    }

    fn ticket(&mut self, number: u64) -> Result<(), Violation> {
        const VERBS: [&str; 6] = ["Add", "Fix", "Refactor", "Remove", "Build", "Improve"];
        let verb = self.chance.pick(&VERBS).copied().unwrap_or("Add");
        let files = (0..self.chance.below(4)).map(|n| format!("src/{number}-{n}.rs")).collect();
        let requirements =
            if self.chance.percent(50) { vec!["it works".to_owned()] } else { Vec::new() };
        let words = ["alpha", "beta", "gamma", "delta", "omega", "sigma", "kappa"];
        let name =
            |place: u64| words.get(usize::try_from(place % 7).unwrap_or(0)).copied().unwrap_or("x");
        let title = format!("{verb} {} {} part{number}", name(number), name(number / 7));
        let new = NewTask { title, files, requirements, ..NewTask::default() };
        self.must("human:sim", Command::CreateTask(Box::new(new)))
    }

    fn beat(&mut self, beat: u64) -> Result<(), Violation> {
        self.pass_time();
        if self.chance.percent(10) {
            self.ticket(1_000 + beat)?;
        }
        self.runs()?;
        self.person()?;
        let acted = self.supervisors()?;
        check_rows(self.reader.read()?.as_mut())?;
        if acted { self.nothing_waits() } else { Ok(()) }
    }

    fn pass_time(&mut self) {
        let ms = match self.chance.below(40) {
            0 => {
                let jump = self.chance.between(-600_000, 600_000);
                self.clock.set(|reading| reading.wall_ms += jump);
                0
            }
            1 => self.chance.between(60_000, 900_000),
            _ => self.chance.between(1_000, 30_000),
        };
        self.clock.pass(Millis::from_ms(ms));
        let hours = ms as f64 / 3_600_000.0;
        self.report.agent_hours += hours * self.rules.max_per_repo as f64;
    }

    /// Both supervisors: one sits, one stands by; either may die or freeze at any moment, and come back with an old fence.
    fn supervisors(&mut self) -> Result<bool, Violation> {
        let wall = self.clock.read().wall_ms;
        let mut acted = false;
        for place in 0..self.sitters.len() {
            let fate = self.chance.below(60);
            let Some(sitter) = self.sitters.get_mut(place) else { continue };
            if sitter.silent_until_ms > wall {
                continue;
            }
            match fate {
                // It dies, and comes back without its fence.
                0 | 1 => {
                    *sitter = Sitter { fence: None, silent_until_ms: wall + 20_000 };
                    continue;
                }
                // It freezes, and goes on as if nothing had happened.
                2 => {
                    sitter.silent_until_ms = wall + 200_000;
                    continue;
                }
                _ => {}
            }
            if sitter.fence.is_none() {
                let ttl = self.rules.seat_ttl;
                let take = Command::Seat(SeatChange::Take { seat: SUPERVISOR.to_owned(), ttl });
                let request = self.request("supervisor", None, take)?;
                match self.service.execute(request) {
                    Ok(Reply::New(Answer::Seat(answer))) => {
                        let fence = answer.seat.and_then(|seat| Fence::new(seat.fence));
                        if let Some(sitter) = self.sitters.get_mut(place) {
                            sitter.fence = fence;
                        }
                        self.report.seats += 1;
                    }
                    Ok(_) => return Err(violation("a seat was answered with something else")),
                    Err(refusal) if refusal.code == Code::SeatHeld => continue,
                    Err(refusal) => return Err(refused(&refusal)),
                }
            }
            acted |= self.supervise(place)?;
        }
        Ok(acted)
    }

    /// Does what is due; tells whether it had the seat.
    fn supervise(&mut self, place: usize) -> Result<bool, Violation> {
        let fence = self.sitters.get(place).and_then(|sitter| sitter.fence);
        let beat = self.request("supervisor", fence, Command::Heartbeat)?;
        let _ = self.service.execute(beat);
        let (view, now) = self.view()?;
        let caller = self.caller("supervisor")?;
        let steps = due(&view, &self.table, now);
        let steps = self.service.not_done(&caller, &steps).map_err(|error| refused(&error))?;
        let mut waited = BTreeMap::new();
        for step in steps {
            let taken = self.take(&view, &step, fence)?;
            match taken {
                Took::Done => self.report.steps += 1,
                // Somebody else sits there by now.
                Took::SeatLost => {
                    if let Some(sitter) = self.sitters.get_mut(place) {
                        sitter.fence = None;
                    }
                    return Ok(false);
                }
                Took::NotNow => {}
                Took::Refused => {
                    let before = self.waited.get(&step.key()).copied().unwrap_or(0);
                    waited.insert(step.key(), before + 1);
                }
            }
        }
        self.waited = waited;
        Ok(true)
    }

    /// After a beat of whoever has the seat, nothing is due that could have been done.
    fn nothing_waits(&self) -> Result<(), Violation> {
        match self.waited.iter().find(|(_, beats)| **beats > BEATS_MAX) {
            Some((key, beats)) => Err(violation(format!("{key} is due for {beats} beats"))),
            None => Ok(()),
        }
    }

    fn take(&mut self, view: &View, step: &Step, fence: Option<Fence>) -> Result<Took, Violation> {
        let task = step.task.as_ref().and_then(|id| view.tasks.iter().find(|task| task.id == *id));
        let commands = match &step.deed {
            Deed::Write(commands) | Deed::Gates(commands) | Deed::Discard(_, commands) => {
                commands.clone()
            }
            Deed::Ask(_) => Vec::new(),
            Deed::Push(run) => {
                let (pr, text) = (Some(PR.to_owned()), "pushed".to_owned());
                let (id, change) = (run.to_string(), RunChange::HandOver { pr, text });
                vec![Command::RunChange { id, change }]
            }
            Deed::Land(id) => {
                vec![Command::Land { id: id.to_string(), merged: MERGED.to_owned(), reason: None }]
            }
            Deed::Dispatch(new) => {
                let mut before = new.before.clone();
                before.push(Command::RunDispatch(Box::new(dispatched(new, step))));
                before
            }
        };
        let supervise = Command::Supervise(Box::new(step.supervision(commands)));
        let mut request = self.request("supervisor", fence, supervise)?;
        request.key = Some(step.key());
        request.observed = seen(task);
        let doubled = self.chance.percent(10).then(|| request.clone());
        let answer = self.service.execute(request);
        if let Some(again) = doubled {
            // The same message once more changes nothing.
            let before = self.service.log_head().map_err(|error| refused(&error))?;
            let second = self.service.execute(again);
            let after = self.service.log_head().map_err(|error| refused(&error))?;
            if answer.is_ok() && (second.is_err() || before != after) {
                return Err(violation(format!("{} happened twice", step.key())));
            }
        }
        match answer {
            Ok(_) => Ok(Took::Done),
            Err(refusal) => match refusal.code {
                Code::StaleFence => Ok(Took::SeatLost),
                Code::BudgetExceeded
                | Code::LeaseHeld
                | Code::NotReady
                | Code::RunLive
                | Code::LimitExceeded
                | Code::LoopGuard => Ok(Took::NotNow),
                Code::Internal => Err(refused(&refusal)),
                _ => {
                    // Whatever changed between the look and the step is looked at again.
                    Ok(Took::Refused)
                }
            },
        }
    }

    /// Every live run does something, or nothing at all any more.
    fn runs(&mut self) -> Result<(), Violation> {
        let (view, _) = self.view()?;
        for run in view.runs.iter().filter(|run| run.state.is_live()) {
            let task = view.tasks.iter().find(|task| task.id == run.task);
            let who = run.identity.to_string();
            let change = match (run.state, self.chance.below(30)) {
                (RunState::Queued, 0) => continue,
                (RunState::Queued, _) => RunChange::Take {
                    worker: None,
                    workspace: None,
                    driver_version: None,
                    sandbox: None,
                    session: None,
                },
                (_, 0) => continue,
                (RunState::Waiting | RunState::Paused, _) => {
                    let beat = self.request(&who, Some(run.fence), Command::Heartbeat)?;
                    let _ = self.service.execute(beat);
                    continue;
                }
                (_, 1 | 2) => end(RunState::Failed, Some(self.fault()), Map::new(), Vec::new()),
                (_, 3..=9) => self.reported(run, task),
                (_, 10 | 11) if run.stage == Stage::Plan => {
                    self.ask_design(run)?;
                    continue;
                }
                _ => self.progressed(),
            };
            let command = Command::RunChange { id: run.id.to_string(), change };
            let mut request = self.request(&who, Some(run.fence), command)?;
            request.observed = seen(task);
            if let Err(refusal) = self.service.execute(request)
                && refusal.code == Code::Internal
            {
                return Err(refused(&refusal));
            }
        }
        Ok(())
    }

    fn fault(&mut self) -> RunFault {
        const FAULTS: [RunFault; 6] = [
            RunFault::Crash,
            RunFault::Stall,
            RunFault::RateLimit,
            RunFault::NoResult,
            RunFault::Api,
            RunFault::Auth,
        ];
        self.chance.pick(&FAULTS).copied().unwrap_or(RunFault::Crash)
    }

    fn progressed(&mut self) -> RunChange {
        let call = ModelCall {
            call: format!("c{}", self.chance.below(1_000_000_000)),
            tokens: Tokens::default(),
            usd: Some(Usd::from_micros(self.chance.below(300_000))),
            basis: CostBasis::Reported,
        };
        RunChange::Progress(Box::new(RunProgress { calls: vec![call], ..RunProgress::default() }))
    }

    fn ask_design(&mut self, run: &Run) -> Result<(), Violation> {
        let who = run.identity.to_string();
        let question = Question {
            question: format!("Design approval for {}", run.task),
            task: None,
            options: Vec::new(),
            kind: Some(DecisionType::Approval),
            context: Some("a design".to_owned()),
            default: None,
            to: None,
            expires: None,
            proposes: None,
        };
        let asked = Command::DecisionAsk(Box::new(question));
        let request = self.request(&who, None, asked)?;
        let Ok(Reply::New(Answer::Decision(answer))) = self.service.execute(request) else {
            return Ok(());
        };
        let (id, decision) = (run.id.to_string(), answer.decision.id);
        let change = RunChange::Wait { decision };
        let wait = self.request(&who, Some(run.fence), Command::RunChange { id, change })?;
        let _ = self.service.execute(wait);
        Ok(())
    }

    /// What a run reports that comes to its end, well or not.
    fn reported(&mut self, run: &Run, task: Option<&Task>) -> RunChange {
        let id = run.task.to_string();
        let chosen = self.chance.below(10);
        let (said, steps) = match run.stage {
            Stage::Plan => (
                json!({"plan_path": PLAN, "summary": "a plan"}),
                vec![TaskVerb::Release.on(id, Some("the report is in".to_owned()))],
            ),
            Stage::Develop => {
                let submit =
                    Command::Submit(Submission { id: id.clone(), ..Submission::default() });
                let questions = vec!["Which one?".to_owned()];
                let needs = Some("a word".to_owned());
                let block =
                    Command::Block { id, needs, questions, retry_after: None, reason: None };
                match chosen {
                    0 => (json!({"status": "BLOCKED"}), vec![block]),
                    1 => (json!({"status": "DONE", "recommendation": "discard"}), Vec::new()),
                    2 => {
                        let concerns = json!(["a breaking interface"]);
                        (
                            json!({"status": "DONE_WITH_CONCERNS", "concerns": concerns}),
                            vec![submit],
                        )
                    }
                    3 => (json!({"status": "DONE", "recommendation": "pr"}), vec![submit]),
                    _ => (json!({"status": "DONE", "notes": "done"}), vec![submit]),
                }
            }
            Stage::Review => {
                let back = chosen < 3;
                let verb = if back { TaskVerb::RequestChanges } else { TaskVerb::Approve };
                let verdict = if back { "CHANGES_REQUESTED" } else { "APPROVED" };
                let said = json!({"verdict": verdict, "spec_compliance": "PASS"});
                (said, vec![verb.on(id, Some("a review".to_owned()))])
            }
            Stage::Scout => (json!({"summary": "found nothing"}), Vec::new()),
        };
        let said = said.as_object().cloned().unwrap_or_default();
        let _ = task;
        end(RunState::Succeeded, None, said, steps)
    }

    /// A person answers something now and then.
    fn person(&mut self) -> Result<(), Violation> {
        let (view, _) = self.view()?;
        let open: Vec<&Decision> =
            view.decisions.iter().filter(|one| one.state == DecisionState::Open).collect();
        for decision in open {
            if !self.chance.percent(30) {
                continue;
            }
            let options: Vec<&str> = match decision.kind {
                DecisionType::Approval => vec!["approved", "approved_with_changes: x", "rejected"],
                DecisionType::Choice => {
                    decision.options.iter().map(|option| option.key.as_str()).collect()
                }
                DecisionType::Free => vec!["yes"],
            };
            let answer = self.chance.pick(&options).copied().unwrap_or("yes").to_owned();
            let command = Command::DecisionAnswer { id: decision.id.to_string(), answer };
            let request = self.request("human:sim", None, command)?;
            if let Err(refusal) = self.service.execute(request)
                && refusal.code == Code::Internal
            {
                return Err(refused(&refusal));
            }
        }
        Ok(())
    }
}

enum Took {
    Done,
    /// It is refused for a reason that will pass.
    NotNow,
    Refused,
    SeatLost,
}

const PLAN: &str = ".comity/specs/plan.md";
const MERGED: &str = "0bad1dea";
const PR: &str = "https://example.org/pull/1";

fn end(
    state: RunState,
    fault: Option<RunFault>,
    said: Map<String, Value>,
    steps: Vec<Command>,
) -> RunChange {
    RunChange::End(Box::new(RunEnd {
        state,
        reason: None,
        error: fault.map(|kind| RunError::new(kind, "it broke")),
        exit: None,
        head: None,
        wip: None,
        report_kind: None,
        steps,
        said,
    }))
}

fn dispatched(new: &Dispatch, step: &Step) -> NewRun {
    let stage = match new.agent.as_str() {
        "architect" => Stage::Plan,
        "reviewer" => Stage::Review,
        "scout" => Stage::Scout,
        _ => Stage::Develop,
    };
    let made = NewTask {
        title: new.prompt.clone().unwrap_or_default(),
        deliverable: Deliverable::None,
        ..NewTask::default()
    };
    NewRun {
        agent: new.agent.clone(),
        task: new.task.as_ref().map(ToString::to_string),
        new_task: new.task.is_none().then(|| Box::new(made)),
        stage,
        writable: matches!(stage, Stage::Plan | Stage::Develop),
        driver: "sim".to_owned(),
        model: None,
        branch: None,
        base: None,
        meta: Map::new(),
        prompt_sha256: String::new(),
        prompt_bytes: 0,
        sandbox: None,
        labels: Vec::new(),
        resumed_from: new.resumed_from.map(|run| run.to_string()),
        parent: None,
        rule: Some(step.rule.clone()),
        max_cost: None,
        skip_design: None,
    }
}

/// What a door sees: good work, a merge that has it, the plan in its branch.
fn seen(task: Option<&Task>) -> Observed {
    let task_version = task.map(|task| task.version).unwrap_or_default();
    let path = "src/a.rs".to_owned();
    let action = comity_core::command::FileAction::Modified;
    let files = vec![FileChange { path, action, moved_from: None }];
    let work = WorkSeen {
        task_version,
        commit: "c0ffee1".to_owned(),
        base: "b45e".to_owned(),
        files,
        ..WorkSeen::default()
    };
    let merge = MergeSeen {
        task_version,
        merged: MERGED.to_owned(),
        contains: true,
        added: Vec::new(),
        subject: None,
        files: Vec::new(),
    };
    Observed {
        claim: Some(ClaimSeen { base: "b45e".to_owned(), head: None }),
        work: Some(work),
        merge: Some(merge),
        plan: Some(PLAN.to_owned()),
        rules: Some(RulesSeen::NoneThere),
        ..Observed::default()
    }
}

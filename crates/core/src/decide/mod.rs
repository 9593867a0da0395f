//! Deciding: a command against the facts gives events or a refusal. Pure.
//!
//! Every rule keeps the same order of refusals: input → not found → fence → transition → role →
//! holder → preconditions.

mod access;
mod adopt;
mod agents;
mod breakdown;
mod budgets;
mod claim;
mod create;
mod decisions;
mod directives;
mod edit;
mod finish;
mod foreseen;
mod gates;
mod handed_in;
mod import;
mod input;
mod land;
mod leases;
mod memories;
mod mend;
mod merging;
mod notes;
mod objectives;
mod outside;
mod posts;
mod queue;
mod repository;
mod results;
mod review;
mod run_again;
mod run_guards;
mod run_input;
mod run_reports;
mod runs;
mod seats;
mod stop;
mod supervise;
mod sweep;
mod together;
mod work;

pub use access::{find_decision, find_task, not_found};
pub use claim::{BRANCH_WORDS, branch_name, linked_issue, slug, waits_for_others};
pub use directives::find_directive;
pub use edit::unknown_name;
pub use foreseen::foreseen;
pub use gates::{
    BuiltIn, Missing, REVIEW_GATE, checklist_missing, gate_state, known_gate, missing_for_approval,
    required_gates, review_is_waived,
};
pub use handed_in::{DEPS_GATE, Violation, examine, refuse_work, shared_words};
pub use import::{kept_back, kept_state};
pub use input::{check as check_input, check_filter};
pub use land::{land_words, refuse_landing};
pub use leases::{Conflict, conflicts, overlapping};
pub use memories::find_memory;
pub use posts::{find_interface, pad_scope};
pub use run_reports::PLAN_PATH;
pub use runs::find_run;
pub use sweep::{Swept, due_at, sweep};

use crate::budget::Scope;
use crate::command::{Command, LeaseChange, MergeStep, ReportedFile, Request, RunChange, TaskVerb};
use crate::directive::Directive;
use crate::event::{AgentRegistered, Draft, Event, StatusChanged};
use crate::facts::{Facts, Need, Ruling};
use crate::ids::{AgentId, DecisionId, DirectiveId, LeaseId, MemoryId, RepoName, RunId, TaskId};
use crate::land::LeaseViolation;
use crate::memory::Memory;
use crate::observed::SharedWith;
use crate::policy::Policy;
use crate::post::PostId;
use crate::refusal::{Code, Refusal};
use crate::role::{Role, Verb};
use crate::state::Key;
use crate::status::Status;
use crate::task::Task;
use crate::time::Timestamp;

/// What a command is answered with; the entities are read after its events are applied.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Task(TaskId),
    /// A task that was handed in, with what should be said beside it.
    HandedIn(TaskId, HandedIn),
    /// Several tasks, in the order they were given.
    Tasks(Vec<TaskId>),
    /// A gate of a task.
    Gate(TaskId, String),
    /// A task that was claimed, with the leases that came with it.
    Claimed(TaskId, Vec<LeaseId>),
    Leases(Vec<LeaseId>),
    /// Leases that are no more.
    Released(Vec<LeaseId>),
    Agent(AgentId),
    Decision(DecisionId),
    /// A question that was answered, and the task that the answer made.
    Answered(DecisionId, Option<TaskId>),
    Memory(MemoryId),
    Forgotten(Box<Memory>),
    Directive(DirectiveId),
    Post(PostId),
    Deleted(Box<Directive>),
    Run(RunId),
    Budget(Scope),
    Seat(String),
    /// The event at this place in [`Outcome::events`].
    Event(usize),
    Swept,
}

/// What is said beside a task that was handed in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HandedIn {
    /// Changed files that the task neither declared nor leased.
    pub undeclared: Vec<String>,
    /// Other live claims that the check was shared with.
    pub shared_with: Vec<SharedWith>,
    /// Changes of files that others had leased, which the settings or a waiver let pass.
    pub violations: Vec<LeaseViolation>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub events: Vec<Draft>,
    pub answer: Answer,
}

/// Names what a command will surely want to see, so that a batch can be loaded at once.
pub fn needs(request: &Request) -> Vec<Need> {
    let repo = &request.repo;
    let mut needs = vec![
        Need::Entity(Key::Agent(request.actor.clone())),
        Need::Entity(Key::Repo(repo.clone())),
    ];
    if let Some(key) = &request.key {
        needs.push(Need::Saved(request.actor.clone(), key.clone()));
    }
    if let Command::LeaseFor { owner, .. } = &request.command {
        needs.push(Need::Entity(Key::Agent(owner.clone())));
    }
    let command = &request.command;
    if let Command::Claim(wish) = command
        && wish.id.is_none()
    {
        needs.push(Need::Candidates(repo.clone(), None));
        needs.push(Need::Preferred(repo.clone(), request.actor.clone()));
    }
    if let Command::Lease(LeaseChange::Acquire { patterns, .. })
    | Command::LeaseFor { command: LeaseChange::Acquire { patterns, .. }, .. } = command
    {
        for text in patterns {
            if let Ok(prefix) = crate::pattern::Pattern::prefix_of(text) {
                needs.push(Need::LeasesNear(repo.clone(), prefix));
            }
        }
    }
    let mut tasks: Vec<&str> = if let Command::Several { ids, .. } = command {
        ids.iter().map(String::as_str).collect()
    } else {
        command.task_ref().into_iter().collect()
    };
    if let Command::ImportTask(imported) = command {
        let new = &imported.task;
        tasks.extend(new.depends_on.iter().chain(&new.id).chain(&new.parent).map(String::as_str));
    }
    let tasks = tasks.into_iter().filter_map(|text| TaskId::parse(text).ok());
    needs.extend(tasks.map(|id| Need::Entity(Key::Task(repo.clone(), id))));
    needs.extend(kept_ref(command).and_then(|text| kept_key(repo, text)).map(Need::Entity));
    needs
}

/// Returns the memory, directive or run that a command names.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not named here is loaded when it is needed"
)]
fn kept_ref(command: &Command) -> Option<&str> {
    match command {
        Command::MemoryUpdate { id, .. }
        | Command::MemoryForget { id }
        | Command::DirectiveToggle { id, .. }
        | Command::DirectiveTrigger { id }
        | Command::DirectiveDelete { id }
        | Command::RunChange { id, .. } => Some(id),
        Command::MemoryWrite(new) => new.supersedes.as_deref(),
        _ => None,
    }
}

fn kept_key(repo: &RepoName, text: &str) -> Option<Key> {
    if let Some(run) = RunId::parse(text) {
        return Some(Key::Run(repo.clone(), run));
    }
    let memory = || MemoryId::parse(text).map(|id| Key::Memory(repo.clone(), id));
    let directive = || DirectiveId::parse(text).map(|id| Key::Directive(repo.clone(), id));
    memory().or_else(directive)
}

pub fn decide(facts: &Facts, request: &Request, policy: &Policy) -> Ruling<Outcome> {
    let judging = policy.checked_by(&request.observed);
    let mut rule = Rule::new(facts, request, &judging);
    rule.meet_actor()?;
    let answer = rule.dispatch(&request.command)?;
    // Only what would pass has to be looked at: a refusal is one, whatever the settings are.
    rule.rules_were_seen()?;
    Ok(Outcome { events: rule.events, answer })
}

/// Decides whether the caller of a request may use a verb at all, whatever it is about. An operation of many steps asks before
/// its first one.
pub fn permit(facts: &Facts, request: &Request, policy: &Policy, verb: Verb) -> Ruling<()> {
    let mut rule = Rule::new(facts, request, policy);
    rule.meet_actor()?;
    rule.require(verb)
}

/// Why a task is where it was before.
const UNDONE: &str = "taken back";

/// A rule at work: what it sees, and the events it has made so far.
struct Rule<'a> {
    facts: &'a Facts,
    request: &'a Request,
    policy: &'a Policy,
    events: Vec<Draft>,
    roles: Vec<Role>,
    /// Whose leases a lease command is about, when the caller names somebody.
    owner: Option<&'a AgentId>,
    /// When that owner took its leases elsewhere.
    since: Option<Timestamp>,
    /// The files that the result lists which is handed in.
    listed: Option<&'a [ReportedFile]>,
}

impl<'a> Rule<'a> {
    fn new(facts: &'a Facts, request: &'a Request, policy: &'a Policy) -> Rule<'a> {
        Rule {
            facts,
            request,
            policy,
            events: Vec::new(),
            roles: Vec::new(),
            owner: None,
            since: None,
            listed: None,
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm a command, and no arm with a rule in it")]
    fn dispatch(&mut self, command: &'a Command) -> Ruling<Answer> {
        match command {
            Command::CreateTask(new) => self.create_task(new),
            Command::CreateTasks { tasks } => self.create_tasks(tasks),
            Command::ImportTask(task) => self.import_task(task),
            Command::Several { ids, steps } => self.several(ids, steps),
            Command::UpdateTask { id, changes, constraints, if_match } => {
                self.update(id, changes, constraints, *if_match)
            }
            Command::Depend { id, on, remove: false, awaits_unknown } => {
                self.add_dependency(id, on, *awaits_unknown)
            }
            Command::Depend { id, on, remove: true, .. } => self.remove_dependency(id, on),
            Command::Assign { id, agent, new } => self.assign(id, agent.as_ref(), *new),
            Command::Link { id, provider, key, value } => self.link(id, provider, key, value),
            Command::Claim(wish) => self.claim(wish),
            Command::Start { id, ttl, reason } => self.start(id, *ttl, reason.as_ref()),
            Command::Submit(submission) => match &submission.report {
                Some(report) => self.submit_result(submission, report),
                None => self.submit(submission),
            },
            Command::Move { verb, id, reason } => self.move_task(*verb, id, reason.as_ref()),
            Command::Undo { id, version, verb } => self.undo(id, *version, *verb),
            Command::Done { id, merged, unmerged, reason } => {
                self.done(id, merged.as_ref(), *unmerged, reason.as_ref())
            }
            Command::Land { id, merged, reason } => self.land(id, merged, reason.as_ref()),
            Command::Block { id, needs, questions, retry_after, reason } => {
                self.block(id, needs.as_ref(), questions, *retry_after, reason.as_ref())
            }
            Command::Check { id, item, waive, reason } => {
                self.check_item(id, item, *waive, reason.as_ref())
            }
            Command::Subtask { id, step, text } => self.subtask(id, *step, text),
            Command::Transition { id, status, reason, needs } => {
                self.transition(id, *status, reason.as_ref(), needs.as_ref())
            }
            Command::Lease(command) => self.lease_command(command),
            Command::LeaseFor { owner, since, command } => {
                self.lease_command_for(owner, *since, command)
            }
            Command::Sweep => Ok(Answer::Swept),
            Command::SetRepository { fold_case, keep } => self.set_repository(*fold_case, *keep),
            Command::AgentRegister { id, roles, skills } => self.register(id, roles, skills),
            Command::AgentDescribe { id, roles, skills, about } => {
                self.describe(id, roles, skills.as_ref(), about)
            }
            Command::Handoff { id, subtask } => self.hand_off(id, subtask.as_ref()),
            Command::Heartbeat => self.heartbeat(),
            Command::Mend(mend) => self.mend(mend),
            Command::GateRecord { id, gate, pass, report, commit, new } => {
                self.record(id, gate, *pass, report.as_ref(), commit.as_ref(), *new)
            }
            Command::GateWaive { id, gate, reason } => self.waive(id, gate, reason),
            Command::DecisionAsk(question) => self.ask(question),
            Command::DecisionAnswer { id, answer } => self.answer(id, answer),
            Command::MemoryWrite(new) => self.remember(new),
            Command::MemoryUpdate { id, changes } => self.update_memory(id, changes),
            Command::MemoryForget { id } => self.forget(id),
            Command::DirectiveCreate(new) => self.direct(new),
            Command::DirectiveToggle { id, enabled } => self.toggle(id, *enabled),
            Command::DirectiveTrigger { id } => self.trigger(id),
            Command::DirectiveDelete { id } => self.take_back(id),
            Command::TakeOver(adoption) => self.take_over(adoption),
            Command::AnswerTask(given) => self.answer_task(given),
            Command::Intervene { id, feedback } => self.intervene(id, feedback),
            Command::Note { kind, text, task } => self.note(kind, text, task.as_ref()),
            Command::NoteChange { text, paths, task } => {
                self.note_change(text, paths, task.as_ref())
            }
            Command::Tell { to, text } => self.tell(to, text),
            Command::PadWrite(given) => self.write_pad(given),
            Command::InterfacePublish(given) => self.publish(given),
            Command::Outside { task, note } => self.note_outside(task.as_ref(), note),
            Command::EmitEvent { event } => self.emit(event),
            Command::RunDispatch(new) => self.dispatch_run(new),
            Command::RunChange { id, change } => self.change_run(id, change),
            Command::BudgetSet(new) => self.set_budget(new),
            Command::MergeStep(step) => self.merge_step(step),
            Command::Release(new) => self.release_tag(new),
            Command::Seat(change) => self.change_seat(change),
            Command::Supervise(step) => self.supervise(step),
        }
    }

    fn move_task(&mut self, verb: TaskVerb, id: &str, reason: Option<&String>) -> Ruling<Answer> {
        match verb {
            TaskVerb::Review => self.take_review(id, reason),
            TaskVerb::Approve => self.approve(id, reason),
            TaskVerb::RequestChanges => self.request_changes(id, reason),
            TaskVerb::Merge => self.merge(id, reason),
            TaskVerb::Unblock => self.unblock(id, reason),
            TaskVerb::Fail => self.fail(id, reason.map(String::as_str), None),
            TaskVerb::Release => self.release(id, reason),
            TaskVerb::Abandon => self.abandon(id, reason),
            TaskVerb::Requeue => self.requeue(id, reason),
            TaskVerb::Reopen => self.reopen(id, reason),
        }
    }

    /// Takes the caller's own last command back. Whoever blocked a task may take that back without the role to unblock.
    fn undo(&mut self, id: &str, version: u64, verb: TaskVerb) -> Ruling<Answer> {
        let task = self.task(id)?;
        self.version_fits(task, Some(version))?;
        if verb == TaskVerb::Unblock {
            self.roles.push(Role::Watchdog);
        }
        self.move_task(verb, id, Some(&UNDONE.to_owned()))
    }

    /// Registers an actor that is new here, and learns its roles.
    fn meet_actor(&mut self) -> Ruling<()> {
        let actor = &self.request.actor;
        if actor.is_file() {
            self.roles = vec![Role::Implementer];
            return Ok(());
        }
        if actor.is_github() {
            // It speaks for nobody: it keeps the record, and hands over what GitHub says, such as a merge.
            self.roles = vec![Role::Planner, Role::Integrator];
            return Ok(());
        }
        self.run_is_live()?;
        if let Some(agent) = self.facts.agent(actor)? {
            self.roles.clone_from(&agent.roles);
            return Ok(());
        }
        if actor.is_person() {
            self.push(None, registration(actor, Vec::new()));
            return Ok(());
        }
        if self.policy.registration_required && !matches!(self.request.command, Command::Sweep) {
            return Err(Refusal::new(Code::RoleForbidden, format!("{actor} is not registered"))
                .hint(access::how_to_register(actor))
                .into());
        }
        if matches!(self.request.command, Command::Sweep) {
            return Ok(());
        }
        self.roles = vec![Role::Implementer];
        self.push(None, registration(actor, self.roles.clone()));
        Ok(())
    }

    fn push(&mut self, task: Option<&TaskId>, event: Event) {
        self.events.push(Draft {
            repo: self.request.repo.clone(),
            agent: self.request.actor.clone(),
            task: task.cloned(),
            event,
            via: self.request.via.clone(),
        });
    }

    /// Adds what was not made by this caller, but noticed by this request.
    fn append(&mut self, draft: Draft) {
        self.events.push(Draft { via: self.request.via.clone(), ..draft });
    }

    /// Pushes a change of status and what follows from it; the rules call it after their checks.
    fn push_step(&mut self, task: &Task, change: StatusChanged) -> Ruling<()> {
        for event in queue::with_consequence(self.facts, task, change, None)? {
            self.push(Some(&task.id), event);
        }
        Ok(())
    }

    fn step(&mut self, task: &Task, to: Status, reason: Option<&String>) -> Ruling<()> {
        self.push_step(task, StatusChanged::new(task.status, to, reason.cloned()))
    }

    fn now(&self) -> Timestamp {
        self.facts.moment.now
    }

    /// Returns the seq that the next pushed event will get.
    fn next_seq(&self) -> u64 {
        self.facts.head.seq.0 + 1 + self.events.len() as u64
    }

    fn is_person(&self) -> bool {
        self.request.actor.is_person()
    }
}

fn registration(actor: &AgentId, roles: Vec<Role>) -> Event {
    Event::AgentRegistered(AgentRegistered { id: actor.clone(), roles, skills: Vec::new() })
}

impl Command {
    /// Returns the task that the command names, as the caller wrote it.
    pub fn task_ref(&self) -> Option<&str> {
        match self {
            Command::Several { ids, .. } => match ids.as_slice() {
                [id] => Some(id),
                _ => None,
            },
            Command::UpdateTask { id, .. }
            | Command::Depend { id, .. }
            | Command::Assign { id, .. }
            | Command::Link { id, .. }
            | Command::Start { id, .. }
            | Command::Move { id, .. }
            | Command::Undo { id, .. }
            | Command::Done { id, .. }
            | Command::Land { id, .. }
            | Command::Block { id, .. }
            | Command::Check { id, .. }
            | Command::Subtask { id, .. }
            | Command::Transition { id, .. }
            | Command::GateRecord { id, .. }
            | Command::Handoff { id, .. }
            | Command::GateWaive { id, .. }
            | Command::Intervene { id, .. } => Some(id),
            Command::AnswerTask(given) => Some(&given.id),
            Command::Submit(submission) => Some(&submission.id),
            Command::Claim(wish) => wish.id.as_deref(),
            Command::RunChange { change: RunChange::End(end), .. } => {
                end.steps.iter().find_map(Command::task_ref)
            }
            Command::RunDispatch(new) => new.task.as_deref(),
            Command::MergeStep(MergeStep::Eject(eject)) => Some(&eject.id),
            Command::Supervise(step) => step.task.as_deref(),
            Command::Lease(LeaseChange::Acquire { task, .. })
            | Command::LeaseFor { command: LeaseChange::Acquire { task, .. }, .. }
            | Command::Note { task, .. }
            | Command::Outside { task, .. }
            | Command::NoteChange { task, .. } => task.as_deref(),
            Command::DecisionAsk(question) => question.task.as_deref(),
            Command::MemoryWrite(new) => new.task.as_deref(),
            Command::InterfacePublish(given) => given.task.as_deref(),
            Command::EmitEvent { event } => event.get("task").and_then(|task| task.as_str()),
            Command::CreateTask(_)
            | Command::CreateTasks { .. }
            | Command::ImportTask(_)
            | Command::AgentDescribe { .. }
            | Command::Lease(_)
            | Command::LeaseFor { .. }
            | Command::Sweep
            | Command::SetRepository { .. }
            | Command::AgentRegister { .. }
            | Command::Heartbeat
            | Command::Mend(_)
            | Command::DecisionAnswer { .. }
            | Command::MemoryUpdate { .. }
            | Command::MemoryForget { .. }
            | Command::DirectiveCreate(_)
            | Command::DirectiveToggle { .. }
            | Command::DirectiveTrigger { .. }
            | Command::DirectiveDelete { .. }
            | Command::Tell { .. }
            | Command::PadWrite(_)
            | Command::RunChange { .. }
            | Command::BudgetSet(_)
            | Command::MergeStep(_)
            | Command::Release(_)
            | Command::Seat(_)
            | Command::TakeOver(_) => None,
        }
    }
}

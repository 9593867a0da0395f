//! What the `collab.*` methods do, for both doors: JSON-RPC and the command line.

use super::answers::{
    Assigned, Created, FileText, Fine, Leased, LogFile, Reclaimed, StateData, Suggested, Tasks,
};
use super::documents::fresh;
use super::exporter::{Exporter, Tell, say};
use super::history::History;
use super::sync::{Syncer, whole_task};
use super::tree::Tree;
use crate::Bridge;
use comity_api::{
    AcquireLeases, Assign, Depend, DescribeAgent, EmitEvent, Link, Nothing, Operation,
    RegisterAgent, ReleaseLeases, RenewLeases, Several, SuggestAgents, TaskFilter, TaskStep,
    Transition, TreeDirectory, UpdateTask, op,
};
use comity_core::command::Command;
use comity_core::ids::AgentId;
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::time::Millis;
use comity_core::view::TaskView;
use comity_engine::{Answered, Caller, Handler, Service};
use comity_project::Context;
use comity_project::store::Access;
use comity_protocol::collab::{
    Patch, StateFile as Kind, etag, large_integer, lock_id, normal_event, parse_lock_id, pretty,
    read_agent, read_json, task_record, told_needs,
};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// What generated ids start with. The tree's own server writes numbers with three digits and no zero before them, so
/// that both can make tasks at the same moment.
pub(super) const ID_PREFIX: &str = "task-0";

/// Why a call failed, in the words of the tree's own tools where they have some.
#[derive(Clone, Debug)]
pub struct Failure {
    pub message: String,
    pub refusal: Option<Refusal>,
}

impl Failure {
    pub fn input(message: impl Into<String>) -> Failure {
        let message = message.into();
        Failure { refusal: Some(Refusal::input(message.clone())), message }
    }

    fn said(message: impl Into<String>, refusal: Refusal) -> Failure {
        Failure { message: message.into(), refusal: Some(refusal) }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure { message: refusal.message.clone(), refusal: Some(refusal) }
    }
}

pub struct Collab {
    context: Context,
    service: Service,
    pub(super) tree: Tree,
    exporter: Exporter,
    /// Where it is written what other tools call their leases.
    history: History,
    ttl: Option<Millis>,
    tell: Tell,
    /// The names of the rows whose handlers were called.
    #[cfg(test)]
    called: std::sync::Mutex<Vec<&'static str>>,
}

impl Collab {
    /// Opens the root: what is in its tree is taken over first.
    pub fn open(context: Context, ttl: Option<Millis>, tell: Tell) -> Result<Collab, Refusal> {
        let context = context.for_many();
        let dir = context.root.dir.join("collaboration");
        let own = Bridge { service: context.service(Access::Write)?, context: context.clone() };
        let mut syncer = Syncer::open(&own, &context.caller(), &dir)?;
        let first = syncer.once(false);
        say(&tell, &first);
        first?;
        let tree = Tree::new(dir, &context.root.dir);
        let history = History::open(&context.beside_store(), &tree)?;
        let service = context.service(Access::Write)?;
        let exporter = Exporter::start(syncer, Arc::clone(&tell))?;
        Ok(Collab {
            context,
            service,
            tree,
            exporter,
            history,
            ttl,
            tell,
            #[cfg(test)]
            called: std::sync::Mutex::default(),
        })
    }

    /// Whoever starts the server without a name, and is no agent client, answers for all who use it. Where nobody plans,
    /// that one does: the person behind the process says so.
    pub fn plans_where_nobody_does(&self) -> Result<(), Refusal> {
        let (caller, actor) = (self.context.caller(), &self.context.actor);
        let login = actor.as_str().strip_prefix("script:");
        let Some(login) = login.filter(|_| self.context.via.client.is_none()) else {
            return Ok(());
        };
        let agents = self.service.collab_state(&caller)?.agents;
        if agents.iter().any(|(agent, ..)| agent.roles.contains(&Role::Planner)) {
            return Ok(());
        }
        let person = Caller { actor: AgentId::parse(&format!("human:{login}"))?, ..caller };
        let roles = vec![Role::Implementer, Role::Planner];
        let register = RegisterAgent { id: actor.clone(), roles, skills: Vec::new() };
        self.service.call::<op::AgentRegister>(&person, register)?;
        self.exporter.changed();
        (self.tell)(&format!("comity: nobody plans here yet; {actor} is a planner from now on"));
        Ok(())
    }

    /// Returns what writes the tree from another thread, when the process is told to stop.
    pub fn last_export(&self) -> impl FnOnce() + Send + 'static {
        let (export, tell) = (self.exporter.last_export(), Arc::clone(&self.tell));
        move || say(&tell, &export())
    }

    /// Calls an operation that changes something.
    fn operate<O: Operation>(&self, input: O::Input) -> Result<O::Output, Failure>
    where
        Service: Handler<O>,
    {
        let answered = self.handled::<O>(&self.service, input)?;
        answered.remarks.iter().for_each(|remark| (self.tell)(&format!("comity: {remark}")));
        self.exporter.changed();
        Ok(answered.output)
    }

    /// Calls the handler of a row: whatever a method does to the store goes this way.
    fn handled<O: Operation>(
        &self,
        handler: &impl Handler<O>,
        input: O::Input,
    ) -> Result<Answered<O::Output>, Refusal> {
        #[cfg(test)]
        if let Ok(mut called) = self.called.lock() {
            called.push(O::ROW.name);
        }
        handler.handle(&self.context.caller(), input)
    }

    fn ask<O: Operation>(&self, input: O::Input) -> Result<O::Output, Refusal>
    where
        Service: Handler<O>,
    {
        Ok(self.handled::<O>(&self.service, input)?.output)
    }

    fn export_now(&self) -> Result<(), Failure> {
        let tree = TreeDirectory { dir: None };
        self.handled::<op::SyncCollab>(&self.exporter, tree).map(drop).map_err(Failure::from)
    }

    /// Finds a task by its whole id. One that is not there may just have been written into the file.
    fn task(&self, id: &str) -> Result<TaskView, Failure> {
        let caller = self.context.caller();
        if let Some(task) = whole_task(&self.service, &caller, id)? {
            return Ok(task);
        }
        self.export_now()?;
        whole_task(&self.service, &caller, id)?.ok_or_else(|| {
            let refusal = Refusal::new(Code::NotFound, format!("there is no task {id:?}"));
            Failure::said("Task not found", refusal)
        })
    }

    pub fn file_text(&self, path: &Path) -> Result<FileText, Failure> {
        self.export_now()?;
        let bytes = self.tree.read(path)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(FileText { text, etag: etag(&bytes) })
    }

    /// What the file holds; where it cannot be read, what it would hold.
    pub fn state_file(&mut self, kind: Kind) -> Result<StateData, Failure> {
        self.export_now()?;
        let bytes = self.tree.read(&self.tree.state(kind)).ok().flatten().unwrap_or_default();
        if let Ok(data) = read_json(&String::from_utf8_lossy(&bytes)) {
            return Ok(StateData { data, etag: etag(&bytes) });
        }
        let state = self.service.collab_state(&self.context.caller())?;
        self.history.load();
        let data = fresh(kind, &state, &self.history.progress.outside, None);
        let etag = etag(pretty(&data).as_bytes());
        Ok(StateData { data, etag })
    }

    /// Lists tasks. A word that is no status is the status of none.
    pub fn list_tasks(
        &self,
        status: Option<&str>,
        assignee: Option<&str>,
    ) -> Result<Tasks, Failure> {
        if !self.exporter.is_untouched() {
            self.export_now()?;
        }
        let is_meant = |known: &Status| status.is_none_or(|word| known.as_str() == word);
        let statuses: Vec<Status> = Status::ALL.into_iter().filter(is_meant).collect();
        let assignee = assignee.map(AgentId::parse).transpose();
        let mut tasks = Vec::new();
        let (Ok(assignee), false) = (assignee, statuses.is_empty()) else {
            return Ok(Tasks { tasks });
        };
        let limit = Some(PAGE_MAX);
        let mut filter = TaskFilter { statuses, assignee, limit, ..TaskFilter::default() };
        loop {
            let page = self.ask::<op::TaskList>(filter.clone())?;
            tasks.extend(page.tasks.iter().map(task_record));
            match page.next {
                None => return Ok(Tasks { tasks }),
                next => filter.after = next,
            }
        }
    }

    pub fn create_task(
        &self,
        id: Option<String>,
        mut record: Map<String, Value>,
    ) -> Result<Created, Failure> {
        // A task begins in the queue, now.
        for key in ["id", "status", "created_at", "updated_at"] {
            record.shift_remove(key);
        }
        let needs = record.shift_remove("needs").filter(Value::is_string);
        let mut patch = Patch::read(&record).map_err(|problems| worded(&problems))?;
        // It counts when the task is blocked.
        needs.into_iter().for_each(|needs| patch.extra("needs", needs));
        let mut new = patch.new_task(id);
        new.id_prefix = Some(ID_PREFIX.to_owned());
        Ok(Created { id: self.operate::<op::TaskCreate>(new)?.task.id })
    }

    /// Changes a task to what a part of an entry of `tasks.json` says.
    pub fn update_task(&self, id: &str, record: &Map<String, Value>) -> Result<Fine, Failure> {
        let patch = Patch::read(record).map_err(|problems| worded(&problems))?;
        let task = self.task(id)?;
        if let [reference, ..] = patch.lost_references(&task).as_slice() {
            let said = format!("external_ids: {reference} is changed, not taken away");
            return Err(Failure::input(said));
        }
        let steps = patch.commands(&task, &self.context.actor, None);
        if !steps.is_empty() {
            self.several(steps).map_err(|failure| match patch.status {
                Some(wanted) => transition_words(failure, task.status, wanted),
                None => failure,
            })?;
        }
        Ok(Fine::YES)
    }

    /// Changes a task in several ways, all or none.
    fn several(&self, steps: Vec<Command>) -> Result<(), Failure> {
        let steps: Result<_, Refusal> = steps.into_iter().map(step_of).collect();
        self.operate::<op::TaskSeveral>(Several { ids: Vec::new(), steps: steps? }).map(drop)
    }

    pub fn transition_task(
        &self,
        id: String,
        status: Status,
        reason: Option<String>,
        needs: Option<String>,
    ) -> Result<Fine, Failure> {
        let task = self.task(&id)?;
        let needs = needs.or_else(|| told_needs(&task, status)).or_else(|| reason.clone());
        let needs = needs.filter(|_| status == Status::Blocked);
        // A task that is assigned to somebody is claimed for that one.
        let to = Patch::to(status);
        let steps = to.commands(&task, &self.context.actor, reason.as_deref());
        let done = if steps.iter().any(|step| matches!(step, Command::Claim(_))) {
            self.several(steps)
        } else {
            self.operate::<op::TaskTransition>(Transition { id, status, reason, needs }).map(drop)
        };
        done.map_err(|failure| transition_words(failure, task.status, status))?;
        Ok(Fine::YES)
    }

    pub fn suggest_assignee(&self, labels: Vec<String>) -> Result<Suggested, Failure> {
        let input = SuggestAgents { labels, role: None };
        let answer = self.ask::<op::AgentSuggest>(input)?;
        // Who answers for others does no work of its own.
        let server = self.context.actor.as_str();
        let first = answer.suggestions.into_iter().find(|one| one.agent != server);
        Ok(Suggested { assignee: first.map(|first| first.agent) })
    }

    pub fn auto_assign(
        &self,
        id: String,
        labels: Option<Vec<String>>,
    ) -> Result<Assigned, Failure> {
        let task = self.task(&id)?;
        if let Some(claim) = task.claim {
            return Ok(Assigned { assignee: Some(claim.agent), updated: false });
        }
        let Suggested { assignee } = self.suggest_assignee(labels.unwrap_or(task.labels))?;
        let updated = assignee.is_some();
        if let Some(agent) = &assignee {
            let agent = Some(AgentId::parse(agent)?);
            self.operate::<op::TaskAssign>(Assign { id, agent, new: false })?;
        }
        Ok(Assigned { assignee, updated })
    }

    /// Links a task. The value is a text or a number.
    pub fn link_external(
        &self,
        id: String,
        provider: String,
        key: String,
        given: &Value,
    ) -> Result<Fine, Failure> {
        let text = large_integer(given).or_else(|| given.as_str());
        let value = text.map_or_else(|| given.to_string(), str::to_owned);
        let task = self.task(&id)?;
        let keep = Patch::reference(&task, &provider, &key, given);
        let link = Link { id, provider, key, value };
        let keep = keep.commands(&task, &self.context.actor, None);
        let keep = keep.into_iter().filter(|step| matches!(step, Command::UpdateTask { .. }));
        let steps: Vec<Command> = std::iter::once(link.clone().into()).chain(keep).collect();
        match self.several(steps) {
            // Whoever may link a task may not change it in every case: then the number is kept as a text.
            Err(Failure { refusal: Some(refusal), .. }) if refusal.code == Code::RoleForbidden => {
                self.operate::<op::TaskLink>(link)?;
            }
            done => done?,
        }
        Ok(Fine::YES)
    }

    pub fn emit_event(&self, event: Map<String, Value>) -> Result<Fine, Failure> {
        let event = normal_event(event).into_event();
        self.operate::<op::EventEmit>(EmitEvent { event })?;
        Ok(Fine::YES)
    }

    pub fn acquire_lease(
        &mut self,
        path: &str,
        owner: AgentId,
        purpose: Option<String>,
    ) -> Result<Leased, Failure> {
        let wanted = AcquireLeases {
            patterns: vec![self.context.root_mapper().pattern(path)?],
            purpose,
            ttl: self.ttl,
            owner: Some(owner),
            ..AcquireLeases::default()
        };
        let answer = self
            .operate::<op::LeaseAcquire>(wanted)
            .map_err(|failure| self.held_words(failure, path))?;
        let none = || Refusal::new(Code::Internal, "the answer has no lease");
        let lease = answer.leases.first().ok_or_else(none)?;
        Ok(Leased { lock_id: self.wire_id(&lease.lock_id) })
    }

    pub fn renew_lease(&mut self, text: &str, owner: &AgentId) -> Result<Fine, Failure> {
        self.change_lease(text, |collab, id| {
            let (ids, owner) = (vec![id], Some(owner.clone()));
            collab.operate::<op::LeaseRenew>(RenewLeases { ids, ttl: None, owner }).map(drop)
        })
    }

    pub fn release_lease(&mut self, text: &str, owner: &AgentId) -> Result<Fine, Failure> {
        self.change_lease(text, |collab, id| {
            let (ids, owner) = (vec![id], Some(owner.clone()));
            collab.operate::<op::LeaseRelease>(ReleaseLeases { ids, all: false, owner }).map(drop)
        })
    }

    fn change_lease(
        &mut self,
        text: &str,
        change: impl Fn(&Collab, String) -> Result<(), Failure>,
    ) -> Result<Fine, Failure> {
        let done = match self.try_lease(text, &change) {
            // One that is not there may just have been written into the file.
            Err(Failure { refusal: Some(refusal), .. })
                if is_lost(&refusal) && !self.exporter.is_untouched() =>
            {
                self.export_now()?;
                self.try_lease(text, &change)
            }
            done => done,
        };
        done.map_err(|failure| match failure.refusal {
            Some(refusal) if is_lost(&refusal) => {
                Failure::said("Lease not found or ownership mismatch", refusal)
            }
            refusal => Failure { refusal, ..failure },
        })
    }

    fn try_lease(
        &mut self,
        text: &str,
        change: impl Fn(&Collab, String) -> Result<(), Failure>,
    ) -> Result<Fine, Failure> {
        self.history.load();
        let Some(id) = self.history.progress.lease_named(text) else {
            return Err(Refusal::new(Code::NotFound, format!("there is no lease {text:?}")).into());
        };
        change(self, id)?;
        Ok(Fine::YES)
    }

    pub fn reclaim(&mut self) -> Result<Reclaimed, Failure> {
        let reclaimed = self.operate::<op::LeaseReclaim>(Nothing {})?.reclaimed;
        let leases = reclaimed.leases.iter().map(|id| self.wire_id(id)).collect();
        Ok(Reclaimed { ok: true, reclaimed: leases, tasks: reclaimed.tasks })
    }

    pub fn generate_log(&self) -> Result<LogFile, Failure> {
        let path = self.tree.log();
        let text = self.file_text(&path)?.text;
        Ok(LogFile { path: path.display().to_string(), text })
    }

    /// Changes an agent to what a part of an entry of `agents.json` says.
    pub fn update_agent(&self, id: AgentId, record: &Map<String, Value>) -> Result<Fine, Failure> {
        let described = read_agent(id, record).map_err(|problems| worded(&problems))?;
        let Command::AgentDescribe { id, roles, skills, about } = described else {
            return Err(no_such_step().into());
        };
        self.operate::<op::AgentDescribe>(DescribeAgent { id, roles, skills, about })?;
        Ok(Fine::YES)
    }
}

/// What leases are called here and there.
impl Collab {
    fn wire_id(&mut self, id: &str) -> String {
        self.history.load();
        match self.history.progress.outside.get(id) {
            Some(theirs) => theirs.lock_id.clone(),
            None => parse_lock_id(id).map_or_else(|| id.to_owned(), lock_id),
        }
    }

    fn held_words(&mut self, failure: Failure, path: &str) -> Failure {
        match failure.refusal {
            Some(refusal) if refusal.code == Code::LeaseHeld => {
                let conflicts = refusal.details.get("conflicts");
                let held = conflicts.and_then(|all| all.pointer("/0/held/lock_id")?.as_str());
                let id = held.map(|id| self.wire_id(id)).unwrap_or_default();
                Failure::said(format!("Active lease exists for {path}: {id}"), refusal)
            }
            refusal => Failure { refusal, ..failure },
        }
    }
}

/// Returns the operation that a step of a patch is.
fn step_of(command: Command) -> Result<TaskStep, Refusal> {
    Ok(match command {
        Command::UpdateTask { id, changes, constraints, if_match } => {
            TaskStep::Update(UpdateTask { id, changes, constraints, if_match })
        }
        Command::Depend { id, on, remove, awaits_unknown } => {
            TaskStep::Depend(Depend { id, on, remove, awaits_unknown })
        }
        Command::Assign { id, agent, new } => TaskStep::Assign(Assign { id, agent, new }),
        Command::Link { id, provider, key, value } => {
            TaskStep::Link(Link { id, provider, key, value })
        }
        Command::Claim(wish) => TaskStep::Claim(wish),
        Command::Transition { id, status, reason, needs } => {
            TaskStep::Transition(Transition { id, status, reason, needs })
        }
        _ => return Err(no_such_step()),
    })
}

fn no_such_step() -> Refusal {
    Refusal::new(Code::Internal, "BUG: the tree asks for something else")
}

/// Tells whether a lease is not there, or somebody else's.
fn is_lost(refusal: &Refusal) -> bool {
    matches!(refusal.code, Code::NotFound | Code::NotHolder)
}

pub(super) fn worded(problems: &[(String, String)]) -> Failure {
    if let Some((_, message)) = problems.iter().find(|(key, _)| key == "status") {
        return Failure::input(message.clone());
    }
    let said: Vec<String> = problems.iter().map(|(key, text)| format!("{key}: {text}")).collect();
    Failure::input(said.join("; "))
}

fn transition_words(failure: Failure, from: Status, to: Status) -> Failure {
    match failure.refusal {
        Some(refusal) if refusal.code == Code::InvalidTransition => {
            Failure::said(format!("Invalid transition {from} -> {to}"), refusal)
        }
        refusal => Failure { refusal, ..failure },
    }
}

#[cfg(test)]
mod tests;

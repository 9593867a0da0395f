//! What the `collab.*` methods do. The same for both doors.

use super::exporter::{Exporter, say};
use super::history::History;
use super::params::Params;
use super::sync::{Syncer, fresh};
use super::tree::Tree;
use crate::context::Context;
use crate::store::Access;
use crate::work_tree;
use comity_core::command::Command;
use comity_core::ids::{AgentId, TaskId};
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::time::Millis;
use comity_core::view::TaskView;
use comity_engine::{Engine, Query};
use comity_protocol::collab::{
    Kind, Patch, etag, lock_id, normal_event, parse_lock_id, pretty, read_agent, task_record,
};
use serde_json::{Map, Value, json};

/// What generated ids start with.
const ID_PREFIX: &str = "task-";

/// Why a call failed, in the words of the tree's own tools where they have some.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What is said.
    pub message: String,
    /// The refusal behind it.
    pub refusal: Option<Refusal>,
}

impl Failure {
    /// Something is wrong with the input.
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

type Answer = Result<Value, Failure>;

/// The methods over one root.
pub struct Collab {
    context: Context,
    engine: Engine,
    tree: Tree,
    exporter: Exporter,
    /// Where it is written what other tools call their leases.
    history: History,
    ttl: Option<Millis>,
}

impl Collab {
    /// Opens the root: what is in its tree is taken over first.
    pub fn open(context: Context, ttl: Option<Millis>) -> Result<Collab, Refusal> {
        let context = context.for_many();
        let dir = context.root.dir.join("collaboration");
        let mut syncer = Syncer::open(context.clone(), &dir)?;
        let first = syncer.once(false);
        say(&first);
        first?;
        let tree = Tree { dir };
        let history = History::open(&context.beside_store(), &tree)?;
        let engine = context.engine(Access::Write)?;
        Ok(Collab { context, engine, tree, exporter: Exporter::start(syncer)?, history, ttl })
    }

    /// Ends the process with the tree written when it is told to stop from outside.
    pub fn end_on_signals(&self) -> Result<(), Refusal> {
        self.exporter.end_on_signals()
    }

    /// Calls a method; none when there is no such method.
    pub fn call(&mut self, method: &str, params: Map<String, Value>) -> Option<Answer> {
        let params = Params(params);
        Some(match method {
            "initialize" => Ok(json!({"capabilities": {"experimental": true}})),
            "collab.get_state" => self.get_state(&params),
            "collab.list_tasks" => self.list_tasks(&params),
            "collab.create_task" => self.create_task(params),
            "collab.update_task" => self.update_task(&params),
            "collab.transition_task" => self.transition_task(&params),
            "collab.suggest_assignee" => self.suggest_assignee(&params),
            "collab.auto_assign" => self.auto_assign(&params),
            "collab.link_external" => self.link_external(&params),
            "collab.emit_event" => self.emit_event(params),
            "collab.acquire_lease" => self.acquire_lease(&params),
            "collab.renew_lease" => self.renew_lease(&params),
            "collab.release_lease" => self.release_lease(&params),
            "collab.reclaim" => self.reclaim(),
            "collab.generate_log" => self.generate_log(),
            "collab.list_agents" => self.list_agents(),
            "collab.update_agent" => self.update_agent(&params),
            _ => return None,
        })
    }

    fn execute(&mut self, command: Command) -> Result<Value, Failure> {
        let request = self.context.request(command);
        let (answer, notes) = work_tree::execute(&self.context, &mut self.engine, request)?;
        for note in notes {
            eprintln!("comity: {note}");
        }
        self.exporter.changed();
        Ok(answer)
    }

    fn export_now(&self) -> Result<(), Failure> {
        self.exporter.now().map(|_| ()).map_err(Failure::from)
    }

    /// Finds a task by its whole id. One that is not there may just have been written into the file.
    fn task(&mut self, id: &str) -> Result<TaskView, Failure> {
        if let Some(task) = self.stored_task(id)? {
            return Ok(task);
        }
        self.export_now()?;
        self.stored_task(id)?.ok_or_else(|| {
            let refusal = Refusal::new(Code::NotFound, format!("there is no task {id:?}"));
            Failure::said("Task not found", refusal)
        })
    }

    fn stored_task(&mut self, id: &str) -> Result<Option<TaskView>, Failure> {
        if TaskId::parse(id).is_err() {
            return Ok(None);
        }
        match self.engine.query(&self.context.asker(), Query::Task { id: id.to_owned() }) {
            Ok(mut answer) => {
                let value = answer.get_mut("task").map(Value::take).unwrap_or_default();
                let task: Option<TaskView> = serde_json::from_value(value).ok();
                Ok(task.filter(|task| task.id == id))
            }
            Err(refusal) if matches!(refusal.code, Code::NotFound | Code::AmbiguousId) => Ok(None),
            Err(refusal) => Err(refusal.into()),
        }
    }

    fn get_state(&mut self, params: &Params) -> Answer {
        let kind = params.optional("kind")?.unwrap_or_default();
        let path = match kind.as_str() {
            "events" => self.tree.events(),
            "log" => self.tree.log(),
            word => {
                let kind = Kind::ALL.into_iter().find(|kind| kind.list() == word);
                let wrong = "kind must be one of tasks|locks|agents|events|log";
                return self.state_file(kind.ok_or_else(|| Failure::input(wrong))?);
            }
        };
        self.export_now()?;
        let bytes = Tree::read(&path)?.unwrap_or_default();
        Ok(json!({"text": String::from_utf8_lossy(&bytes), "etag": etag(&bytes)}))
    }

    /// What the file holds; where it cannot be read, what it would hold.
    fn state_file(&mut self, kind: Kind) -> Answer {
        self.export_now()?;
        let bytes = Tree::read(&self.tree.state(kind)).ok().flatten().unwrap_or_default();
        if let Ok(data) = serde_json::from_slice::<Value>(&bytes) {
            return Ok(json!({"data": data, "etag": etag(&bytes)}));
        }
        let state = self.engine.collab_state(&self.context.asker())?;
        self.history.load();
        let data = fresh(kind, &state, &self.history.progress.outside, None);
        let etag = etag(pretty(&data).as_bytes());
        Ok(json!({"data": data, "etag": etag}))
    }

    fn list_tasks(&mut self, params: &Params) -> Answer {
        let (status, assignee) = (params.optional("status")?, params.optional("assignee")?);
        if !self.exporter.is_untouched() {
            self.export_now()?;
        }
        let tasks = self.engine.collab_tasks(&self.context.asker())?;
        let fits = |task: &&TaskView| {
            status.as_deref().is_none_or(|word| task.status.as_str() == word)
                && assignee.as_ref().is_none_or(|agent| task.assignee.as_ref() == Some(agent))
        };
        let records: Vec<Map<String, Value>> = tasks.iter().filter(fits).map(task_record).collect();
        Ok(json!({"tasks": records}))
    }

    fn create_task(&mut self, params: Params) -> Answer {
        let id = params.optional("id")?;
        params.text("title")?;
        let mut record = params.0;
        // A task begins in the queue, now.
        for key in ["id", "status", "needs", "created_at", "updated_at"] {
            record.shift_remove(key);
        }
        let patch = Patch::read(&record).map_err(|problems| worded(&problems))?;
        let mut new = patch.new_task(id);
        new.id_prefix = Some(ID_PREFIX.to_owned());
        let answer = self.execute(Command::CreateTask(Box::new(new)))?;
        let id = answer.get("task").and_then(|task| task.get("id")).cloned().unwrap_or_default();
        Ok(json!({"id": id}))
    }

    fn update_task(&mut self, params: &Params) -> Answer {
        let id = params.text("id")?;
        let patch = Patch::read(&params.0).map_err(|problems| worded(&problems))?;
        let task = self.task(&id)?;
        if let [reference, ..] = patch.lost_references(&task).as_slice() {
            let said = format!("external_ids: {reference} is changed, not taken away");
            return Err(Failure::input(said));
        }
        let steps = patch.commands(&task, &self.context.asker().actor, None);
        if !steps.is_empty() {
            self.execute(Command::Several { id, steps }).map_err(|failure| match patch.status {
                Some(wanted) => transition_words(failure, task.status, wanted),
                None => failure,
            })?;
        }
        Ok(json!({"ok": true}))
    }

    fn transition_task(&mut self, params: &Params) -> Answer {
        let (id, word) = (params.text("id")?, params.text("new_status")?);
        let reason = params.optional("reason")?;
        let needs = params.optional("needs")?.or_else(|| reason.clone());
        let known = Status::ALL.into_iter().find(|status| status.as_str() == word);
        let status = known.ok_or_else(|| Failure::input("Invalid status"))?;
        let task = self.task(&id)?;
        let needs = needs.filter(|_| status == Status::Blocked);
        let actor = self.context.asker().actor;
        // A task that is assigned to somebody is claimed for that one.
        let steps = match Patch::to(status).commands(&task, &actor, reason.as_deref()) {
            steps if matches!(steps.first(), Some(Command::Claim(_))) => steps,
            _ => vec![Command::Transition { id: id.clone(), status, reason, needs }],
        };
        self.execute(Command::Several { id, steps })
            .map_err(|failure| transition_words(failure, task.status, status))?;
        Ok(json!({"ok": true}))
    }

    fn suggestion(&mut self, labels: Vec<String>) -> Result<Value, Failure> {
        let query = Query::Suggest { labels, role: None };
        let answer = self.engine.query(&self.context.asker(), query)?;
        let first = answer.get("suggestions").and_then(|list| list.get(0));
        Ok(first.and_then(|first| first.get("agent")).cloned().unwrap_or_default())
    }

    fn suggest_assignee(&mut self, params: &Params) -> Answer {
        let labels = params.texts("labels")?.unwrap_or_default();
        Ok(json!({"assignee": self.suggestion(labels)?}))
    }

    fn auto_assign(&mut self, params: &Params) -> Answer {
        let (id, labels) = (params.text("id")?, params.texts("labels")?);
        let task = self.task(&id)?;
        if let Some(claim) = &task.claim {
            return Ok(json!({"assignee": claim.agent, "updated": false}));
        }
        let assignee = self.suggestion(labels.unwrap_or_else(|| task.labels.clone()))?;
        let Some(agent) = assignee.as_str() else {
            return Ok(json!({"assignee": null, "updated": false}));
        };
        let agent = Some(AgentId::parse(agent)?);
        self.execute(Command::Assign { id, agent })?;
        Ok(json!({"assignee": assignee, "updated": true}))
    }

    fn link_external(&mut self, params: &Params) -> Answer {
        let (id, provider) = (params.text("id")?, params.text("provider")?);
        let key = params.optional("key")?.unwrap_or_else(|| "id".to_owned());
        let given = params.0.get("value").cloned().unwrap_or_default();
        let value = match &given {
            // Numbers of issues are often given as numbers.
            Value::Number(number) => number.to_string(),
            _ => params.text("value")?,
        };
        let task = self.task(&id)?;
        let link =
            Command::Link { id: id.clone(), provider: provider.clone(), key: key.clone(), value };
        let keep = Patch::reference(&task, &provider, &key, &given);
        let keep = keep.commands(&task, &self.context.asker().actor, None);
        let keep = keep.into_iter().filter(|step| matches!(step, Command::UpdateTask { .. }));
        let steps: Vec<Command> = std::iter::once(link.clone()).chain(keep).collect();
        match self.execute(Command::Several { id, steps }) {
            // Whoever may link a task may not change it in every case: then the number is kept as a text.
            Err(Failure { refusal: Some(refusal), .. }) if refusal.code == Code::RoleForbidden => {
                self.execute(link)?;
            }
            done => {
                done?;
            }
        }
        Ok(json!({"ok": true}))
    }

    fn emit_event(&mut self, params: Params) -> Answer {
        let event = normal_event(params.0).into_event();
        self.execute(Command::EmitEvent { event })?;
        Ok(json!({"ok": true}))
    }

    fn acquire_lease(&mut self, params: &Params) -> Answer {
        let (path, owner) = (params.text("path")?, params.agent("owner")?);
        let purpose = params.optional("purpose")?;
        let ttl = self.ttl;
        let wish = Command::LeaseAcquire {
            patterns: vec![self.context.root_mapper().pattern(&path)?],
            task: None,
            purpose,
            ttl,
            shared: false,
        };
        let answer = self
            .execute(Command::LeaseFor { owner, since: None, command: Box::new(wish) })
            .map_err(|failure| self.held_words(failure, &path))?;
        let id =
            answer.get("leases").and_then(|leases| leases.get(0)).and_then(|l| l.get("lock_id"));
        Ok(json!({"lock_id": self.wire_id(id)}))
    }

    fn lease_of(&mut self, params: &Params, renew: bool) -> Answer {
        let (text, owner) = (params.text("lock_id")?, params.agent("owner")?);
        let done = match self.lease_command(&text, &owner, renew) {
            // One that is not there may just have been written into the file.
            Err(Failure { refusal: Some(refusal), .. })
                if is_lost(&refusal) && !self.exporter.is_untouched() =>
            {
                self.export_now()?;
                self.lease_command(&text, &owner, renew)
            }
            done => done,
        };
        match done {
            Ok(_) => Ok(json!({"ok": true})),
            Err(Failure { refusal: Some(refusal), .. }) if is_lost(&refusal) => {
                Err(Failure::said("Lease not found or ownership mismatch", refusal))
            }
            Err(failure) => Err(failure),
        }
    }

    fn lease_command(&mut self, text: &str, owner: &AgentId, renew: bool) -> Answer {
        self.history.load();
        let Some(id) = self.history.progress.lease_named(text) else {
            return Err(Refusal::new(Code::NotFound, format!("there is no lease {text:?}")).into());
        };
        let ids = vec![id];
        let command = if renew {
            Command::LeaseRenew { ids, ttl: None }
        } else {
            Command::LeaseRelease { ids, all: false }
        };
        let owner = owner.clone();
        self.execute(Command::LeaseFor { owner, since: None, command: Box::new(command) })
    }

    fn renew_lease(&mut self, params: &Params) -> Answer {
        self.lease_of(params, true)
    }

    fn release_lease(&mut self, params: &Params) -> Answer {
        self.lease_of(params, false)
    }

    fn reclaim(&mut self) -> Answer {
        let answer = self.execute(Command::Sweep)?;
        let list = |key: &str| {
            let found =
                answer.get("reclaimed").and_then(|all| all.get(key)).and_then(Value::as_array);
            found.cloned().unwrap_or_default()
        };
        let leases: Vec<Value> = list("leases").iter().map(|id| self.wire_id(Some(id))).collect();
        Ok(json!({"ok": true, "reclaimed": leases, "tasks": list("tasks")}))
    }

    fn generate_log(&mut self) -> Answer {
        self.export_now()?;
        let path = self.tree.log();
        let bytes = Tree::read(&path)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        Ok(json!({"path": path.display().to_string(), "text": text}))
    }

    fn list_agents(&mut self) -> Answer {
        let answer = self.state_file(Kind::Agents)?;
        Ok(answer.get("data").cloned().unwrap_or_default())
    }

    fn update_agent(&mut self, params: &Params) -> Answer {
        let id = params.agent("id")?;
        let command = read_agent(id, &params.0).map_err(|problems| worded(&problems))?;
        self.execute(command)?;
        Ok(json!({"ok": true}))
    }
}

/// What leases are called here and there.
impl Collab {
    fn wire_id(&mut self, id: Option<&Value>) -> Value {
        let Some(text) = id.and_then(Value::as_str) else { return Value::Null };
        self.history.load();
        if let Some(theirs) = self.history.progress.outside.get(text) {
            return json!(theirs.lock_id);
        }
        parse_lock_id(text).map_or(Value::Null, |id| json!(lock_id(id)))
    }

    fn held_words(&mut self, failure: Failure, path: &str) -> Failure {
        match failure.refusal {
            Some(refusal) if refusal.code == Code::LeaseHeld => {
                let first = refusal.details.get("conflicts").and_then(|list| list.get(0));
                let held = first.and_then(|first| first.get("held"));
                let id = self.wire_id(held.and_then(|held| held.get("lock_id")));
                let id = id.as_str().unwrap_or_default();
                Failure::said(format!("Active lease exists for {path}: {id}"), refusal)
            }
            refusal => Failure { refusal, ..failure },
        }
    }
}

/// Tells whether a lease is not there, or somebody else's.
fn is_lost(refusal: &Refusal) -> bool {
    matches!(refusal.code, Code::NotFound | Code::NotHolder)
}

fn worded(problems: &[(String, String)]) -> Failure {
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

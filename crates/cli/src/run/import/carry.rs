//! Carries a plan of tasks out by ordinary commands. It may be interrupted and run again: each task carries
//! the id it has over there, and, once everything about it is settled, a mark of what was taken over.

use crate::context::Context;
use crate::store::Access;
use comity_core::chain::Hash;
use comity_core::command::{Command, ConstraintChanges, Containment, Request, Submission};
use comity_core::event::TaskUpdated;
use comity_core::ids::AgentId;
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::Refusal;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::task::Deliverable;
use comity_core::view::TaskView;
use comity_engine::{Engine, Page, Query, TaskFilter};
use comity_protocol::plan::{LeftOut, Plan, Planned, Target};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The key of the mark that says what of an item was taken over.
const MARK: &str = "imported";

/// Carries a plan out; the answer says what became of it.
pub(in crate::run) fn out(
    context: &Context,
    provider: &str,
    plan: &Plan,
) -> Result<Value, Refusal> {
    let mut engine = context.engine(Access::Write)?;
    let importer = AgentId::parse(&format!("import:{provider}"))?;
    let mut carrier = Carrier {
        context,
        provider,
        importer,
        planner: is_planner(&mut engine, context),
        left_out: plan.left_out.clone(),
        items: Vec::new(),
        why_not: BTreeMap::new(),
    };
    carrier.meet(plan, &tasks(&mut engine, context)?);
    carrier.create(&mut engine, plan)?;
    carrier.depend(&mut engine, plan)?;
    let made = tasks(&mut engine, context)?;
    carrier.states(&mut engine, plan, &made)?;
    let after = tasks(&mut engine, context)?;
    carrier.mark(&mut engine, plan, &after)?;
    Ok(carrier.answer(plan, &after))
}

/// What became of a planned task.
#[derive(Clone, Debug, PartialEq)]
enum Met {
    /// It is to be made.
    New,
    /// It is there, not yet settled.
    Begun(String),
    /// It is there, and what has changed over there since.
    Settled(String, Vec<&'static str>),
    /// Its id belongs to something else.
    Taken,
}

struct Carrier<'c> {
    context: &'c Context,
    provider: &'c str,
    /// Who worked on what was finished over there; nobody here did.
    importer: AgentId,
    planner: bool,
    left_out: Vec<LeftOut>,
    items: Vec<Met>,
    /// The first refusal of each item, by its place.
    why_not: BTreeMap<usize, String>,
}

fn is_planner(engine: &mut Engine, context: &Context) -> bool {
    if context.actor.is_person() {
        return true;
    }
    let query = Query::Agent { id: context.actor.to_string() };
    let known = engine.query(&context.asker(), query).unwrap_or_default();
    let roles = known.pointer("/agent/roles").and_then(Value::as_array).cloned();
    roles.unwrap_or_default().iter().any(|role| *role == json!(Role::Planner))
}

/// Every task of the repository.
fn tasks(engine: &mut Engine, context: &Context) -> Result<Vec<TaskView>, Refusal> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = Page { limit: Some(PAGE_MAX), after };
        let filter = TaskFilter { page, ..TaskFilter::default() };
        let mut answer = engine.query(&context.asker(), Query::Tasks(filter))?;
        let page = answer.get_mut("tasks").map(Value::take).unwrap_or_default();
        let page: Vec<TaskView> = serde_json::from_value(page)
            .map_err(|error| Refusal::input(format!("a task cannot be read: {error}")))?;
        found.extend(page);
        after = answer.get("next").and_then(Value::as_str).map(str::to_owned);
        if after.is_none() {
            return Ok(found);
        }
    }
}

fn link<'t>(task: &'t TaskView, provider: &str, key: &str) -> Option<&'t str> {
    task.external_ids.get(provider)?.get(key)?.as_str()
}

/// What is remembered of an item, to see later whether it changed over there.
fn mark_of(task: &Planned) -> String {
    let text = json!([task.new, task.depends_on, task.parent, task.links, task.notes]).to_string();
    let hash = Hash::of(text.as_bytes()).to_string();
    format!("{}:{}", task.target.as_str(), hash.chars().take(16).collect::<String>())
}

fn changed(planned: &Planned, task: &TaskView, mark: &str) -> Vec<&'static str> {
    if mark == mark_of(planned) {
        return Vec::new();
    }
    let new = &planned.new;
    let priority = new.priority.unwrap_or(comity_core::task::Priority::DEFAULT).to_string();
    let status = mark.split(':').next() != Some(planned.target.as_str());
    [
        ("status", status),
        ("title", new.title != task.title),
        ("description", new.description != task.description),
        ("priority", priority != task.priority),
        ("labels", new.labels != task.labels),
        ("requirements", new.requirements != task.requirements),
    ]
    .into_iter()
    .filter_map(|(field, differs)| differs.then_some(field))
    .collect()
}

impl Carrier<'_> {
    /// Looks for each item among the tasks that are there.
    fn meet(&mut self, plan: &Plan, there: &[TaskView]) {
        let by_id: BTreeMap<&str, &TaskView> =
            there.iter().map(|task| (task.id.as_str(), task)).collect();
        let by_link: BTreeMap<&str, &TaskView> = there
            .iter()
            .filter_map(|task| Some((link(task, self.provider, "id")?, task)))
            .collect();
        for planned in &plan.tasks {
            let wanted = planned.new.id.as_deref().unwrap_or_default();
            let met = match (by_link.get(planned.item.as_str()), by_id.get(wanted)) {
                (Some(task), _) => match link(task, self.provider, MARK) {
                    Some(mark) => Met::Settled(task.id.clone(), changed(planned, task, mark)),
                    None => Met::Begun(task.id.clone()),
                },
                // An import that was interrupted between the two commands.
                (None, Some(task))
                    if task.title == planned.new.title
                        && !task.external_ids.contains_key(self.provider) =>
                {
                    Met::Begun(task.id.clone())
                }
                (None, Some(_)) => {
                    let why = format!("another task has the id {wanted}");
                    self.left_out.push(LeftOut::new(&planned.item, "the task", why));
                    Met::Taken
                }
                (None, None) => Met::New,
            };
            self.items.push(met);
        }
    }

    fn request(&self, command: Command) -> Request {
        Request { key: None, ..self.context.request(command) }
    }

    /// The same in the name of whoever did the work elsewhere.
    fn by_importer(&self, command: Command) -> Request {
        Request { actor: self.importer.clone(), fence: None, ..self.request(command) }
    }

    /// Runs commands, each of one item; remembers the first refusal of each. A store that fails ends it all: what
    /// was acknowledged stays, and the next import goes on from there.
    fn run(&mut self, engine: &mut Engine, commands: Vec<(usize, Request)>) -> Result<(), Refusal> {
        let (places, requests): (Vec<usize>, Vec<Request>) = commands.into_iter().unzip();
        let answers = engine.execute_all(requests);
        for (place, answer) in places.into_iter().zip(answers) {
            match answer {
                Err(refusal) if matches!(refusal.code.exit_status(), 1 | 5) => return Err(refusal),
                Err(refusal) => {
                    self.why_not.entry(place).or_insert(refusal.message);
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// The id that an item has here, if it has one.
    fn id_of(&self, plan: &Plan, place: usize) -> Option<String> {
        match self.items.get(place)? {
            Met::New => plan.tasks.get(place)?.new.id.clone(),
            Met::Begun(id) | Met::Settled(id, _) => Some(id.clone()),
            Met::Taken => None,
        }
    }

    fn create(&mut self, engine: &mut Engine, plan: &Plan) -> Result<(), Refusal> {
        let places = places(plan);
        let mut commands = Vec::new();
        for (place, planned) in plan.tasks.iter().enumerate() {
            let Some(id) = self.id_of(plan, place) else { continue };
            let met = self.items.get(place).cloned();
            if met == Some(Met::New) {
                let parent = planned.parent.as_ref().and_then(|item| places.get(item));
                let parent = parent.and_then(|place| self.id_of(plan, *place));
                let command = self.creation(planned, parent);
                commands.push((place, self.request(command)));
            }
            if matches!(met, Some(Met::New | Met::Begun(_))) {
                commands.push((place, self.link(&id, "id", &planned.item)));
            }
            if met == Some(Met::New) {
                for (key, value) in &planned.links {
                    commands.push((place, self.link(&id, key, value)));
                }
                for text in &planned.notes {
                    let (kind, task) = ("discovery".to_owned(), Some(id.clone()));
                    let note = Command::Note { kind, text: text.clone(), task };
                    commands.push((place, self.request(note)));
                }
            }
        }
        self.run(engine, commands)
    }

    fn link(&self, id: &str, key: &str, value: &str) -> Request {
        self.request(Command::Link {
            id: id.to_owned(),
            provider: self.provider.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        })
    }

    fn creation(&mut self, planned: &Planned, parent: Option<String>) -> Command {
        let mut new = planned.new.clone();
        new.parent = parent;
        if planned.parent.is_some() && new.parent.is_none() {
            let why = "that item was not taken over";
            self.left_out.push(LeftOut::new(&planned.item, "parent", why));
        }
        let other = new.assignee.as_ref().is_some_and(|agent| *agent != self.context.actor);
        if other && !self.planner {
            let agent = new.assignee.take().map(|agent| agent.to_string()).unwrap_or_default();
            let why = "only a planner or a person reserves tasks: comity task assign";
            self.left_out.push(LeftOut::new(&planned.item, format!("assignee {agent}"), why));
        }
        if let Some(blocker) = self.kept_back(planned) {
            new.blockers.push(blocker);
        }
        Command::CreateTask(Box::new(new))
    }

    /// What is finished over there must not look like open work here, whoever may finish it.
    fn kept_back(&self, planned: &Planned) -> Option<String> {
        match &planned.target {
            Target::Done { why } | Target::Review { why } | Target::Abandoned { why } => {
                Some(why.clone())
            }
            Target::Blocked { needs } => Some(needs.clone()),
            Target::Queued => None,
        }
    }

    fn depend(&mut self, engine: &mut Engine, plan: &Plan) -> Result<(), Refusal> {
        let places = places(plan);
        let mut commands = Vec::new();
        for (place, planned) in plan.tasks.iter().enumerate() {
            if !matches!(self.items.get(place), Some(Met::New | Met::Begun(_))) {
                continue;
            }
            let Some(id) = self.id_of(plan, place) else { continue };
            for item in &planned.depends_on {
                let on = places.get(item).and_then(|place| self.id_of(plan, *place));
                match on {
                    Some(on) => {
                        let command = Command::Depend { id: id.clone(), on, remove: false };
                        commands.push((place, self.request(command)));
                    }
                    None => {
                        let what = format!("dependency on {item}");
                        let why = "that item was not taken over";
                        self.left_out.push(LeftOut::new(&planned.item, what, why));
                    }
                }
            }
        }
        self.run(engine, commands)
    }

    /// Brings each task to its state by the verbs that lead there.
    fn states(
        &mut self,
        engine: &mut Engine,
        plan: &Plan,
        there: &[TaskView],
    ) -> Result<(), Refusal> {
        let by_id: BTreeMap<&str, &TaskView> =
            there.iter().map(|task| (task.id.as_str(), task)).collect();
        let gates = match self.context.config.settings() {
            Ok(settings) => settings.policy.required_gates,
            Err(_) => Vec::new(),
        };
        let mut commands = Vec::new();
        for place in plan.finishing_order() {
            let Some(planned) = plan.tasks.get(place) else { continue };
            if !matches!(self.items.get(place), Some(Met::New | Met::Begun(_))) {
                continue;
            }
            let id = self.id_of(plan, place).unwrap_or_default();
            let Some(task) = by_id.get(id.as_str()) else { continue };
            let steps = self.steps(planned, task, &gates);
            commands.extend(steps.into_iter().map(|request| (place, request)));
        }
        let finishes = |request: &Request| request.actor == self.importer;
        if commands.iter().any(|(_, request)| finishes(request)) {
            let register = Command::AgentRegister {
                id: self.importer.clone(),
                roles: vec![Role::Implementer],
                skills: Vec::new(),
            };
            // Where agents need not be registered this may be refused and changes nothing.
            let _ = engine.execute_all(vec![self.request(register)]);
        }
        self.run(engine, commands)
    }

    fn steps(&self, planned: &Planned, task: &TaskView, gates: &[String]) -> Vec<Request> {
        let id = task.id.clone();
        match &planned.target {
            Target::Queued => Vec::new(),
            Target::Blocked { needs } if task.status == Status::Queued => {
                let block = Command::Block {
                    id,
                    needs: Some(needs.clone()),
                    questions: Vec::new(),
                    retry_after: None,
                    reason: None,
                };
                // Who may not block it leaves it kept back: then it is no ready work either.
                let freed = self.freed(planned, task).filter(|_| self.planner);
                freed.into_iter().chain([self.request(block)]).collect()
            }
            Target::Blocked { .. } => Vec::new(),
            Target::Abandoned { why } if !task.status.is_finished() => {
                let abandon = self.request(Command::Abandon { id, reason: Some(why.clone()) });
                let freed = self.freed(planned, task).filter(|_| self.planner);
                freed.into_iter().chain([abandon]).collect()
            }
            Target::Abandoned { .. } => Vec::new(),
            // Work that nobody here has seen is accepted by a person's word, and by nobody else's.
            Target::Review { .. } | Target::Done { .. } if !self.context.actor.is_person() => {
                Vec::new()
            }
            Target::Review { why } => {
                let mut steps: Vec<Request> = self.freed(planned, task).into_iter().collect();
                steps.extend(self.handed_in(task, why));
                steps
            }
            Target::Done { why } => {
                let mut steps: Vec<Request> = self.freed(planned, task).into_iter().collect();
                steps.extend(self.handed_in(task, why));
                steps.extend(self.accepted(task, why, gates));
                steps
            }
        }
    }

    /// Takes away what kept the task back until now.
    fn freed(&self, planned: &Planned, task: &TaskView) -> Option<Request> {
        let kept = self.kept_back(planned)?;
        let rest: Vec<String> =
            task.blockers.iter().filter(|text| **text != kept).cloned().collect();
        (rest.len() < task.blockers.len()).then(|| {
            let changes = TaskUpdated { blockers: Some(rest), ..TaskUpdated::default() };
            self.request(Command::UpdateTask {
                id: task.id.clone(),
                changes: Box::new(changes),
                constraints: ConstraintChanges::default(),
                if_match: None,
            })
        })
    }

    fn handed_in(&self, task: &TaskView, why: &str) -> Vec<Request> {
        let (id, reason) = (task.id.clone(), Some(why.to_owned()));
        let submission = Submission { id: id.clone(), reason, ..Submission::default() };
        let start = self.by_importer(Command::Start { id, ttl: None, reason: None });
        let submit = self.by_importer(Command::Submit(submission));
        match task.status {
            Status::Queued => vec![start, submit],
            Status::InProgress if task.assignee.as_deref() == Some(self.importer.as_str()) => {
                vec![submit]
            }
            _ => Vec::new(),
        }
    }

    fn accepted(&self, task: &TaskView, why: &str, gates: &[String]) -> Vec<Request> {
        let (id, reason) = (task.id.clone(), Some(why.to_owned()));
        let mut steps = Vec::new();
        let status = task.status;
        if matches!(status, Status::Queued | Status::InProgress | Status::Review) {
            for gate in gates {
                let (id, gate, reason) = (id.clone(), gate.clone(), why.to_owned());
                steps.push(self.request(Command::GateWaive { id, gate, reason }));
            }
            let approve = Command::Approve { id: id.clone(), reason: reason.clone() };
            steps.push(self.request(approve));
        }
        let code = task.deliverable == Deliverable::Code.as_str();
        if code && !matches!(status, Status::Merging | Status::Done) {
            steps.push(self.request(Command::Merge { id: id.clone(), reason: None }));
        }
        if status != Status::Done {
            let containment = Containment::Unknown;
            let done = Command::Done { id, merged: None, containment, reason };
            steps.push(self.request(done));
        }
        steps
    }

    /// Marks what is settled, and says what is not and why.
    fn mark(
        &mut self,
        engine: &mut Engine,
        plan: &Plan,
        after: &[TaskView],
    ) -> Result<(), Refusal> {
        let by_id: BTreeMap<&str, &TaskView> =
            after.iter().map(|task| (task.id.as_str(), task)).collect();
        let mut commands = Vec::new();
        for (place, planned) in plan.tasks.iter().enumerate() {
            if !matches!(self.items.get(place), Some(Met::New | Met::Begun(_))) {
                continue;
            }
            let id = self.id_of(plan, place).unwrap_or_default();
            let refused = self.why_not.get(&place).cloned();
            let Some(task) = by_id.get(id.as_str()) else {
                let why = refused.unwrap_or_else(|| "it is not there".to_owned());
                self.left_out.push(LeftOut::new(&planned.item, "the task", why));
                continue;
            };
            let reached = task.status.as_str() == planned.target.as_str();
            match (reached, refused) {
                (true, None) => commands.push((place, self.link(&id, MARK, &mark_of(planned)))),
                (true, Some(why)) => {
                    let what = format!("a part of {id}");
                    self.left_out.push(LeftOut::new(&planned.item, what, why));
                }
                (false, refused) => {
                    let why = refused.unwrap_or_else(|| self.who_may(planned, task));
                    let what = format!("status {}", planned.target.as_str());
                    self.left_out.push(LeftOut::new(&planned.item, what, why));
                }
            }
        }
        self.run(engine, commands)
    }

    fn who_may(&self, planned: &Planned, task: &TaskView) -> String {
        let here = task.status;
        match planned.target {
            Target::Done { .. } | Target::Review { .. } if !self.context.actor.is_person() => {
                format!(
                    "it is {here} here and kept back by a blocker; only a person accepts work that \
                     was done elsewhere: import again with --as human:NAME"
                )
            }
            _ => match &task.needs {
                Some(needs) => format!("it is {here} here: {needs}"),
                None => format!("it is {here} here by now"),
            },
        }
    }

    fn answer(&self, plan: &Plan, after: &[TaskView]) -> Value {
        let by_id: BTreeMap<&str, &TaskView> =
            after.iter().map(|task| (task.id.as_str(), task)).collect();
        let (mut tasks, mut changed) = (Vec::new(), Vec::new());
        let (mut imported, mut existing) = (0, 0);
        for (place, planned) in plan.tasks.iter().enumerate() {
            let id = self.id_of(plan, place).unwrap_or_default();
            let Some(task) = by_id.get(id.as_str()) else { continue };
            match self.items.get(place) {
                Some(Met::New) => imported += 1,
                _ => existing += 1,
            }
            let item = &planned.item;
            if let Some(Met::Settled(_, fields)) = self.items.get(place)
                && !fields.is_empty()
            {
                changed.push(json!({"item": item, "id": id, "fields": fields}));
            }
            tasks.push(json!({
                "item": item, "id": id, "status": task.status, "title": task.title,
            }));
        }
        json!({
            "imported": imported,
            "existing": existing,
            "tasks": tasks,
            "changed": changed,
            "left_out": self.left_out,
        })
    }
}

fn places(plan: &Plan) -> BTreeMap<String, usize> {
    plan.tasks.iter().enumerate().map(|(place, task)| (task.item.clone(), place)).collect()
}

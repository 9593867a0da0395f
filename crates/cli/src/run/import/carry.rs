//! Carries a plan of tasks out. Each item is one command, all of it or nothing, so an import may be interrupted, run
//! again, and run by several at once: a task carries the id that its item has over there, and a mark of what was taken
//! over.

mod complete;
mod create;
#[cfg(test)]
mod tests;

use crate::context::Context;
use comity_core::command::{Command, Request};
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::Refusal;
use comity_core::role::Role;
use comity_core::view::TaskView;
use comity_engine::{Asker, Engine, Page, Query, TaskFilter};
use comity_protocol::plan::{LeftOut, Mark, Plan, Planned, Rights, Source};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Commands in one transaction.
const AT_ONCE: usize = 256;

/// Carries a plan out; the answer says what became of it.
pub(in crate::run) fn out(
    engine: &mut Engine,
    context: &Context,
    provider: &str,
    plan: &Plan,
) -> Result<Value, Refusal> {
    let by = Request { key: None, ..context.request(Command::Heartbeat) };
    carry(engine, by, provider, plan)
}

fn carry(engine: &mut Engine, by: Request, provider: &str, plan: &Plan) -> Result<Value, Refusal> {
    let rights = rights(engine, &by);
    let mut carrier = Carrier {
        source: Source::new(provider)?,
        places: plan.places(),
        reached: plan.reached(rights),
        left_out: plan.left_out.clone(),
        items: Vec::with_capacity(plan.tasks.len()),
        engine,
        by,
        plan,
        rights,
    };
    let here = carrier.tasks()?;
    carrier.meet(&here);
    let here = if carrier.create(&here)? { carrier.tasks()? } else { here };
    let here = if carrier.complete(&here)? { carrier.tasks()? } else { here };
    Ok(carrier.answer(&here))
}

/// What became of an item.
#[derive(Clone, Debug)]
enum Fate {
    /// It is to be made.
    Wanted,
    /// It was made now.
    Made,
    /// It was here before, or another import has made it meanwhile.
    Here,
    /// It was not made in this round; without a refusal, because it names something that was not.
    Refused(Option<Box<Refusal>>),
    /// It is not taken over, and that is said.
    Lost,
}

struct Item {
    /// The id that its task has, or is to have.
    id: String,
    fate: Fate,
}

/// An item that another one names.
struct Named<'c> {
    /// Where it is in the plan; none when an earlier import took it over and this file has it not.
    place: Option<usize>,
    id: &'c str,
    fate: &'c Fate,
}

struct Carrier<'c> {
    engine: &'c mut Engine,
    /// Who imports.
    by: Request,
    source: Source,
    plan: &'c Plan,
    places: BTreeMap<&'c str, usize>,
    rights: Rights,
    /// Whether each task can be brought to its state now.
    reached: Vec<bool>,
    items: Vec<Item>,
    left_out: Vec<LeftOut>,
}

fn asker(by: &Request) -> Asker {
    Asker { actor: by.actor.clone(), repo: by.repo.clone() }
}

/// Every task of the repository.
pub(super) fn tasks(engine: &mut Engine, asker: &Asker) -> Result<Vec<TaskView>, Refusal> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = Page { limit: Some(PAGE_MAX), after };
        let filter = TaskFilter { page, ..TaskFilter::default() };
        let mut answer = engine.query(asker, Query::Tasks(filter))?;
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

fn rights(engine: &mut Engine, by: &Request) -> Rights {
    if by.actor.is_person() {
        return Rights::Person;
    }
    let query = Query::Agent { id: by.actor.to_string() };
    let known = engine.query(&asker(by), query).unwrap_or_default();
    let roles = known.pointer("/agent/roles").and_then(Value::as_array).cloned();
    let planner = roles.unwrap_or_default().iter().any(|role| *role == json!(Role::Planner));
    if planner { Rights::Planner } else { Rights::Other }
}

fn by_id(tasks: &[TaskView]) -> BTreeMap<&str, &TaskView> {
    tasks.iter().map(|task| (task.id.as_str(), task)).collect()
}

impl<'c> Carrier<'c> {
    fn tasks(&mut self) -> Result<Vec<TaskView>, Refusal> {
        tasks(self.engine, &asker(&self.by))
    }

    /// Looks for each item among the tasks that are here.
    fn meet(&mut self, here: &[TaskView]) {
        let by_item: BTreeMap<&str, &TaskView> =
            here.iter().filter_map(|task| Some((self.source.item_of(task)?, task))).collect();
        for planned in &self.plan.tasks {
            let item = match by_item.get(planned.item.as_str()) {
                Some(task) => Item { id: task.id.clone(), fate: Fate::Here },
                None => Item { id: planned.new.id.clone().unwrap_or_default(), fate: Fate::Wanted },
            };
            self.items.push(item);
        }
    }

    fn planned(&self, place: usize) -> Option<&'c Planned> {
        self.plan.tasks.get(place)
    }

    /// What became of an item that another one names.
    fn named(&self, item: &str) -> Option<Named<'_>> {
        let Some(place) = self.places.get(item).copied() else {
            let id = self.plan.earlier.get(item)?;
            return Some(Named { place: None, id, fate: &Fate::Here });
        };
        let Item { id, fate } = self.items.get(place)?;
        Some(Named { place: Some(place), id, fate })
    }

    /// The task that an item is here by now.
    fn task_of(&self, item: &str) -> Option<&str> {
        let named = self.named(item)?;
        matches!(named.fate, Fate::Made | Fate::Here).then_some(named.id)
    }

    fn leave_out(&mut self, place: usize, what: impl Into<String>, why: impl Into<String>) {
        if let Some(planned) = self.plan.tasks.get(place) {
            self.left_out.push(LeftOut::new(&planned.item, what, why));
        }
    }

    /// Runs commands in one transaction. A store that fails ends it all: what was acknowledged stays, and the next
    /// import goes on from there.
    fn run(&mut self, commands: Vec<Command>) -> Result<Vec<Result<Value, Refusal>>, Refusal> {
        let requests =
            commands.into_iter().map(|command| Request { command, ..self.by.clone() }).collect();
        let answers = self.engine.execute_all(requests);
        let failed = |refusal: &&Refusal| matches!(refusal.code.exit_status(), 1 | 5);
        match answers.iter().filter_map(|answer| answer.as_ref().err()).find(failed) {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(answers),
        }
    }

    fn answer(&self, here: &[TaskView]) -> Value {
        let by_id = by_id(here);
        let (mut tasks, mut changed) = (Vec::new(), Vec::new());
        let (mut imported, mut existing) = (0, 0);
        for (planned, Item { id, fate }) in self.plan.tasks.iter().zip(&self.items) {
            let Some(task) = by_id.get(id.as_str()) else { continue };
            let item = &planned.item;
            match fate {
                Fate::Made => imported += 1,
                Fate::Here => {
                    existing += 1;
                    let mark = self.source.mark_of(task).unwrap_or_default();
                    let fields = mark.changed(&Mark::of(planned));
                    if !fields.is_empty() {
                        changed.push(json!({"item": item, "id": id, "fields": fields}));
                    }
                }
                Fate::Wanted | Fate::Refused(_) | Fate::Lost => continue,
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

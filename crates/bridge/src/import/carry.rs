//! Carries a plan of tasks out. Each item is one command, all of it or nothing, so an import may be interrupted, run
//! again, and run by several at once: a task carries the id that its item has over there, and a mark of what was taken
//! over.

mod complete;
mod create;
#[cfg(test)]
mod tests;

use comity_api::{ById, ImportChange, ImportReport, ImportedTask, op};
use comity_core::command::Command;
use comity_core::refusal::Refusal;
use comity_core::role::Role;
use comity_core::view::TaskView;
use comity_engine::{Caller, Reply, Service};
use comity_protocol::plan::{ImportRecord, LeftOut, Plan, Planned, Rights, Source};
use std::collections::BTreeMap;

const AT_ONCE: usize = 256;

/// Carries a plan out; the answer says what became of it. With `with_state`, tasks get the states that they have there,
/// as far as the caller's roles go.
pub(crate) fn out(
    service: &Service,
    caller: &Caller,
    source: Source,
    plan: &Plan,
    with_state: bool,
) -> Result<ImportReport, Refusal> {
    let by = Caller { key: None, ..caller.clone() };
    let rights = rights(service, &by);
    let mut carrier = Carrier {
        source,
        places: plan.places(),
        reached: plan.reached(rights, with_state),
        left_out: plan.left_out.clone(),
        items: Vec::with_capacity(plan.tasks.len()),
        service,
        by,
        plan,
        rights,
    };
    let here = carrier.tasks()?;
    carrier.meet(&here);
    let here = if carrier.create(&here)? { carrier.tasks()? } else { here };
    let here = if carrier.complete(&here)? { carrier.tasks()? } else { here };
    Ok(carrier.report(&here))
}

#[derive(Clone, Debug)]
enum Fate {
    Wanted,
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

struct Named<'c> {
    /// Where it is in the plan; none when an earlier import took it over and this file has it not.
    place: Option<usize>,
    id: &'c str,
    fate: &'c Fate,
}

struct Carrier<'c> {
    service: &'c Service,
    by: Caller,
    source: Source,
    plan: &'c Plan,
    places: BTreeMap<&'c str, usize>,
    rights: Rights,
    /// Whether each task can be brought to its state now.
    reached: Vec<bool>,
    items: Vec<Item>,
    left_out: Vec<LeftOut>,
}

fn rights(service: &Service, by: &Caller) -> Rights {
    if by.actor.is_person() {
        return Rights::Person;
    }
    let known = service.call::<op::AgentShow>(by, ById { id: by.actor.to_string() });
    let planner = known.is_ok_and(|answer| answer.agent.roles.contains(&Role::Planner));
    if planner { Rights::Planner } else { Rights::Other }
}

fn by_id(tasks: &[TaskView]) -> BTreeMap<&str, &TaskView> {
    tasks.iter().map(|task| (task.id.as_str(), task)).collect()
}

impl<'c> Carrier<'c> {
    fn tasks(&self) -> Result<Vec<TaskView>, Refusal> {
        self.service.all_tasks(&self.by)
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
    fn run(&mut self, commands: Vec<Command>) -> Result<Vec<Result<Reply, Refusal>>, Refusal> {
        let requests = commands.into_iter().map(|command| self.by.request(command)).collect();
        let answers = self.service.execute_all(requests);
        let failed = |refusal: &&Refusal| matches!(refusal.code.exit_status(), 1 | 5);
        match answers.iter().filter_map(|answer| answer.as_ref().err()).find(failed) {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(answers),
        }
    }

    fn report(&self, here: &[TaskView]) -> ImportReport {
        let by_id = by_id(here);
        let mut report =
            ImportReport { left_out: self.left_out.clone(), ..ImportReport::default() };
        for (planned, Item { id, fate }) in self.plan.tasks.iter().zip(&self.items) {
            let Some(task) = by_id.get(id.as_str()) else { continue };
            match fate {
                Fate::Made => report.imported += 1,
                Fate::Here => {
                    report.existing += 1;
                    let mark = self.source.record_of(task).unwrap_or_default();
                    let fields = mark.changed(&ImportRecord::of(planned));
                    if !fields.is_empty() {
                        let fields = fields.into_iter().map(str::to_owned).collect();
                        let (item, id) = (planned.item.clone(), id.clone());
                        report.changed.push(ImportChange { item, id, fields });
                    }
                }
                Fate::Wanted | Fate::Refused(_) | Fate::Lost => continue,
            }
            report.tasks.push(ImportedTask::of(&planned.item, task));
        }
        report
    }
}

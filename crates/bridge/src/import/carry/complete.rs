//! Takes over what could not be when the tasks were made: states and reservations that only some may give, and
//! dependencies on what came later. What still cannot be is said, every time.

use super::{AT_ONCE, Carrier, Fate, by_id};
use comity_core::command::Command;
use comity_core::refusal::Refusal;
use comity_core::view::TaskView;
use comity_protocol::plan::{ImportRecord, Part, Planned, Rights, kept};
use std::collections::BTreeMap;

/// One command for a part of an item.
struct Step {
    place: usize,
    part: Part,
    what: String,
    command: Command,
}

/// What is known of an item that is not taken over whole.
struct Open {
    before: ImportRecord,
    now: ImportRecord,
    done: Vec<Part>,
    id: String,
    /// Whether the state was brought on by a command that remembers it.
    brought_on: bool,
}

#[derive(Default)]
struct Work {
    steps: Vec<Step>,
    open: BTreeMap<usize, Open>,
}

impl Carrier<'_> {
    /// Takes over what is left; tells whether anything was tried.
    pub(super) fn complete(&mut self, here: &[TaskView]) -> Result<bool, Refusal> {
        let by_id = by_id(here);
        let mut work = Work::default();
        for place in self.plan.finishing_order() {
            let Some(item) = self.items.get(place) else { continue };
            let made = matches!(item.fate, Fate::Made);
            if !made && !matches!(item.fate, Fate::Here) {
                continue;
            }
            let (Some(planned), Some(task)) = (self.planned(place), by_id.get(item.id.as_str()))
            else {
                continue;
            };
            let now = ImportRecord::of(planned);
            let Some(before) = self.source.record_of(task) else { continue };
            let lacking = before.lacking(&now);
            if made && !lacking.contains(&Part::Status) && task.status != planned.target.status() {
                self.status_differs(place, planned, task);
            }
            if lacking.is_empty() {
                continue;
            }
            let (id, done) = (task.id.clone(), Vec::new());
            work.open.insert(place, Open { before, now, done, id, brought_on: false });
            for part in lacking {
                self.part(place, part, planned, task, &mut work);
            }
        }
        let tried = !work.steps.is_empty();
        self.carry_out(&mut work)?;
        let remembered = self.remember(&work)?;
        Ok(tried || remembered)
    }

    fn part(
        &mut self,
        place: usize,
        part: Part,
        planned: &Planned,
        task: &TaskView,
        work: &mut Work,
    ) {
        let done = match part {
            Part::Status => self.status(place, planned, task, work),
            Part::Assignee => self.assignee(place, planned, task, work),
            Part::Dependencies => self.dependencies(place, planned, task, work),
            Part::Parent => self.parent(place, planned, task),
            // It comes with the state.
            Part::Reason => task.status == planned.target.status(),
            _ => true,
        };
        if done && let Some(open) = work.open.get_mut(&place) {
            open.done.push(part);
        }
    }

    fn status(
        &mut self,
        place: usize,
        planned: &Planned,
        task: &TaskView,
        work: &mut Work,
    ) -> bool {
        if task.status == planned.target.status() {
            return true;
        }
        if self.reached.get(place) == Some(&true)
            && kept(task).is_some()
            && let Some(open) = work.open.get_mut(&place)
        {
            let mark = [Part::Status, Part::Reason]
                .into_iter()
                .fold(open.before.clone(), |mark, part| mark.with(part, &open.now));
            let command = self.source.bring_on(planned, task, &mark);
            open.brought_on = true;
            let what = format!("status {}", planned.target.as_str());
            work.steps.push(Step { place, part: Part::Status, what, command });
            return false;
        }
        self.status_differs(place, planned, task);
        false
    }

    /// Says why a task is not in the state that it has over there.
    fn status_differs(&mut self, place: usize, planned: &Planned, task: &TaskView) {
        let here = task.status;
        let why = match &task.needs {
            Some(needs) if kept(task).is_some() && self.reached.get(place) == Some(&false) => {
                format!("it is {here} here: {needs}")
            }
            Some(_) if kept(task).is_some() => {
                format!("it is {here} here: what it depends on, or a part of it, is not finished")
            }
            Some(needs) => format!("it is {here} here: {needs}"),
            None => format!("it is {here} here by now"),
        };
        self.leave_out(place, format!("status {}", planned.target.as_str()), why);
    }

    fn assignee(
        &mut self,
        place: usize,
        planned: &Planned,
        task: &TaskView,
        work: &mut Work,
    ) -> bool {
        let Some(agent) = &planned.new.assignee else { return true };
        let what = format!("assignee {agent}");
        if task.assignee.as_deref() == Some(agent.as_str()) {
            return true;
        }
        if self.rights == Rights::Other {
            let why = "only a planner or a person reserves tasks";
            self.leave_out(place, what, why);
        } else if let Some(other) = &task.assignee {
            self.leave_out(place, what, format!("{other} has it here by now"));
        } else {
            let command =
                Command::Assign { id: task.id.clone(), agent: Some(agent.clone()), new: true };
            work.steps.push(Step { place, part: Part::Assignee, what, command });
        }
        false
    }

    fn dependencies(
        &mut self,
        place: usize,
        planned: &Planned,
        task: &TaskView,
        work: &mut Work,
    ) -> bool {
        let mut done = true;
        for item in &planned.depends_on {
            let what = format!("dependency on {item}");
            let Some(on) = self.task_of(item).map(str::to_owned) else {
                self.leave_out(place, what, "that item was not taken over");
                done = false;
                continue;
            };
            if !task.dependencies.contains(&on) {
                let command = Command::Depend {
                    id: task.id.clone(),
                    on,
                    remove: false,
                    awaits_unknown: false,
                };
                work.steps.push(Step { place, part: Part::Dependencies, what, command });
                done = false;
            }
        }
        done
    }

    fn parent(&mut self, place: usize, planned: &Planned, task: &TaskView) -> bool {
        let Some(item) = &planned.parent else { return true };
        let id = self.task_of(item).map(str::to_owned);
        if id.is_some() && task.parent == id {
            return true;
        }
        let why = match id {
            None => "that item was not taken over".to_owned(),
            Some(id) => format!(
                "a task is made as a part of another; {id} was not here then, or took no open parts"
            ),
        };
        self.leave_out(place, format!("parent {item}"), why);
        false
    }

    /// Runs the commands, and notes which parts are taken over whole.
    fn carry_out(&mut self, work: &mut Work) -> Result<(), Refusal> {
        let mut left: BTreeMap<(usize, Part), bool> = BTreeMap::new();
        let mut steps = std::mem::take(&mut work.steps);
        while !steps.is_empty() {
            let rest = steps.split_off(steps.len().min(AT_ONCE));
            let some = std::mem::replace(&mut steps, rest);
            let mut about = Vec::new();
            let mut commands = Vec::new();
            for Step { place, part, what, command } in some {
                about.push((place, part, what));
                commands.push(command);
            }
            for ((place, part, what), answer) in about.into_iter().zip(self.run(commands)?) {
                let whole = left.entry((place, part)).or_insert(true);
                if let Err(refusal) = answer {
                    *whole = false;
                    self.leave_out(place, what, refusal.message);
                }
            }
        }
        for ((place, part), whole) in left {
            let lacks = part == Part::Dependencies && self.lacks_dependency(place);
            if whole
                && !lacks
                && let Some(open) = work.open.get_mut(&place)
            {
                open.done.push(part);
            }
        }
        Ok(())
    }

    /// Tells whether an item waits for something that was not taken over.
    fn lacks_dependency(&self, place: usize) -> bool {
        let Some(planned) = self.planned(place) else { return false };
        !planned.depends_on.iter().all(|item| self.task_of(item).is_some())
    }

    /// Remembers what is taken over by now.
    fn remember(&mut self, work: &Work) -> Result<bool, Refusal> {
        let mut commands = Vec::new();
        for open in work.open.values() {
            let known =
                |part: &Part| open.brought_on && matches!(part, Part::Status | Part::Reason);
            if open.done.iter().all(known) {
                continue;
            }
            let state = open.done.contains(&Part::Status).then_some(Part::Reason);
            let parts = open.done.iter().copied().chain(state);
            let mark = parts.fold(open.before.clone(), |mark, part| mark.with(part, &open.now));
            commands.push(self.source.remember(&open.id, &mark));
        }
        let any = !commands.is_empty();
        while !commands.is_empty() {
            let rest = commands.split_off(commands.len().min(AT_ONCE));
            self.run(std::mem::replace(&mut commands, rest))?;
        }
        Ok(any)
    }
}

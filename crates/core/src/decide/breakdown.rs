//! Making several tasks at once, which may wait for each other.

use super::{Answer, Rule};
use crate::command::{Command, NewTask, PlannedTask};
use crate::facts::Ruling;
use crate::ids::TaskId;
use crate::refusal::{Code, Refusal};
use std::collections::{BTreeMap, BTreeSet};

impl Rule<'_> {
    /// Makes all of the tasks or none. A dependency or parent that is another one's key means that one.
    pub(super) fn create_tasks(&mut self, planned: &[PlannedTask]) -> Ruling<Answer> {
        if planned.is_empty() {
            return Err(Refusal::input("there is no task in the plan").into());
        }
        let order = in_order(planned)?;
        let mut made: BTreeMap<usize, TaskId> = BTreeMap::new();
        let mut ahead = self.ahead();
        for place in order {
            let Some(plan) = planned.get(place) else { continue };
            let known = |text: &str| {
                let place = planned.iter().position(|other| other.key.as_deref() == Some(text))?;
                made.get(&place).map(ToString::to_string)
            };
            let named = |text: &String| known(text).unwrap_or_else(|| text.clone());
            let new = NewTask {
                depends_on: plan.task.depends_on.iter().map(named).collect(),
                parent: plan.task.parent.as_ref().map(named),
                ..plan.task.clone()
            };
            let what = plan.key.clone().unwrap_or_else(|| format!("task {}", place + 1));
            let answer = self
                .in_turn(&mut ahead, Command::CreateTask(Box::new(new)))
                .map_err(|halt| halt.about(&what))?;
            if let Answer::Task(id) = answer {
                made.insert(place, id);
            }
        }
        Ok(Answer::Tasks(made.into_values().collect()))
    }
}

/// The places of the tasks, each after those it waits for, otherwise as they were given.
fn in_order(planned: &[PlannedTask]) -> Result<Vec<usize>, Refusal> {
    let mut by_key: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, plan) in planned.iter().enumerate() {
        if let Some(key) = plan.key.as_deref()
            && by_key.insert(key, place).is_some()
        {
            return Err(Refusal::input(format!("two tasks of the plan have the key {key:?}")));
        }
    }
    let waits_for = |place: usize| -> Vec<usize> {
        let Some(plan) = planned.get(place) else { return Vec::new() };
        let named = plan.task.depends_on.iter().chain(plan.task.parent.iter());
        named.filter_map(|text| by_key.get(text.as_str()).copied()).collect()
    };
    let mut order = Vec::new();
    let mut placed: BTreeSet<usize> = BTreeSet::new();
    while order.len() < planned.len() {
        let free = |place: &usize| {
            !placed.contains(place) && waits_for(*place).iter().all(|other| placed.contains(other))
        };
        let Some(next) = (0..planned.len()).find(free) else {
            let stuck: Vec<&str> = planned
                .iter()
                .enumerate()
                .filter(|(place, _)| !placed.contains(place))
                .filter_map(|(_, plan)| plan.key.as_deref())
                .collect();
            let message = format!("these wait for each other: {}", stuck.join(", "));
            return Err(Refusal::new(Code::DependencyCycle, message).detail("keys", stuck));
        };
        order.push(next);
        placed.insert(next);
    }
    Ok(order)
}

//! Brings a plan into an order in which it can be carried out, and takes out the links that cannot be.

use super::circles::{Mark, waiting_for_ever};
use super::names::tell_apart;
use super::{Earlier, LeftOut, Part, Plan, Planned, Target, short};
use comity_core::limits::LIST_ENTRIES_MAX;
use comity_core::status::Status;
use std::collections::{BTreeMap, BTreeSet};

/// Gives every task an id of its own, also beside what is here; removes links to nowhere, circles, and links that contradict the states; puts parents
/// first. Links may lead to what earlier imports made.
pub fn arrange(mut plan: Plan, earlier: &Earlier) -> Plan {
    tell_apart(&mut plan, earlier);
    drop_dangling(&mut plan, earlier);
    drop_contradictions(&mut plan, earlier);
    break_parent_circles(&mut plan);
    bound_dependencies(&mut plan);
    break_circles(&mut plan, earlier);
    parents_first(&mut plan);
    name_earlier(&mut plan, earlier);
    plan
}

impl Plan {
    /// Returns the places of the tasks in the order in which states are reached: parts before the whole, first things
    /// first.
    pub fn finishing_order(&self) -> Vec<usize> {
        let places = places(&self.tasks);
        let mut edges = edges(&self.tasks, |task| &task.depends_on);
        for (place, task) in self.tasks.iter().enumerate() {
            let parent = task.parent.as_ref().and_then(|id| places.get(id));
            if let Some(list) = parent.and_then(|parent| edges.get_mut(*parent)) {
                list.push(place);
            }
        }
        walk(&edges, &mut |_, _| {})
    }

    /// Returns the places of the tasks in an order in which they can be made: the whole before its parts, and as far
    /// as that goes, what must be done first before what waits for it.
    pub fn creation_order(&self) -> Vec<usize> {
        let places = places(&self.tasks);
        let edges = edges(&self.tasks, |task| task.parent.iter().chain(&task.depends_on));
        let order = walk(&edges, &mut |_, _| {});
        let mut made = vec![false; self.tasks.len()];
        for place in &order {
            let parent = self.tasks.get(*place).and_then(|task| task.parent.as_ref());
            let parent = parent.and_then(|id| places.get(id));
            if parent.is_some_and(|parent| made.get(*parent) != Some(&true)) {
                // A whole that waits for its own parts: the plan has parents first, and what is missing is added after.
                return (0..self.tasks.len()).collect();
            }
            if let Some(made) = made.get_mut(*place) {
                *made = true;
            }
        }
        order
    }
}

fn places(tasks: &[Planned]) -> BTreeMap<String, usize> {
    tasks.iter().enumerate().map(|(place, task)| (task.item.clone(), place)).collect()
}

/// The places of what each task names, as far as the plan has it.
fn edges<'t, I: IntoIterator<Item = &'t String>>(
    tasks: &'t [Planned],
    named: impl Fn(&'t Planned) -> I,
) -> Vec<Vec<usize>> {
    let places = places(tasks);
    let known = |id: &String| places.get(id).copied();
    tasks.iter().map(|task| named(task).into_iter().filter_map(known).collect()).collect()
}

/// Visits everything after what it leads to; calls back for each edge that closes a circle. Without
/// recursion: a chain may be as long as the file.
fn walk(edges: &[Vec<usize>], circle: &mut dyn FnMut(usize, usize)) -> Vec<usize> {
    let mut marks = vec![Mark::New; edges.len()];
    let mut order = Vec::with_capacity(edges.len());
    for start in 0..edges.len() {
        if marks.get(start) != Some(&Mark::New) {
            continue;
        }
        let mut stack = vec![(start, 0)];
        while let Some((node, next)) = stack.pop() {
            if let Some(mark) = marks.get_mut(node) {
                *mark = Mark::Open;
            }
            match edges.get(node).and_then(|list| list.get(next)) {
                Some(&to) => {
                    stack.push((node, next + 1));
                    match marks.get(to) {
                        Some(Mark::New) => stack.push((to, 0)),
                        Some(Mark::Open) => circle(node, to),
                        _ => {}
                    }
                }
                None => {
                    if let Some(mark) = marks.get_mut(node) {
                        *mark = Mark::Done;
                    }
                    order.push(node);
                }
            }
        }
    }
    order
}

const UNKNOWN: &str = "neither the file nor an earlier import has such an item";

fn drop_dangling(plan: &mut Plan, earlier: &Earlier) {
    let there: BTreeSet<String> = plan.tasks.iter().map(|task| task.item.clone()).collect();
    let known = |id: &String| there.contains(id) || earlier.has(id);
    for task in &mut plan.tasks {
        let mut seen = BTreeSet::new();
        let item = task.item.clone();
        let (left, lacks) = (&mut plan.left_out, &mut task.lacks);
        task.depends_on.retain(|id| {
            let why = if *id == item {
                "an item cannot wait for itself"
            } else if !known(id) {
                lacks.push(Part::Dependencies);
                UNKNOWN
            } else {
                return seen.insert(id.clone());
            };
            left.push(LeftOut::new(&item, format!("dependency on {}", short(id)), why));
            false
        });
        if let Some(parent) = task.parent.take_if(|id| *id == item || !known(id)) {
            let itself = parent == item;
            lacks.extend((!itself).then_some(Part::Parent));
            let why = if itself { "an item is no part of itself" } else { UNKNOWN };
            left.push(LeftOut::new(&item, format!("parent {}", short(&parent)), why));
        }
    }
}

/// A finished task waits for nothing, and a finished parent takes no open parts. What is here already was joined, or
/// not, when it came.
fn drop_contradictions(plan: &mut Plan, earlier: &Earlier) {
    let planned: BTreeMap<String, Status> =
        plan.tasks.iter().map(|task| (task.item.clone(), task.target.status())).collect();
    for task in &mut plan.tasks {
        let (item, word) = (task.item.clone(), task.target.as_str());
        let (left, lacks) = (&mut plan.left_out, &mut task.lacks);
        let is_new = !earlier.has(&item);
        let here = |id: &String| earlier.status(id).filter(|_| is_new && !planned.contains_key(id));
        let state = |id: &String| planned.get(id).copied().or_else(|| here(id));
        let moves_on = matches!(task.target, Target::Done { .. } | Target::Review { .. });
        task.depends_on.retain(|id| {
            let Some(status) = state(id).filter(|status| moves_on && *status != Status::Done)
            else {
                return true;
            };
            let why = format!("{} is {word} although {} is {status}", short(&item), short(id));
            left.push(LeftOut::new(&item, format!("dependency on {}", short(id)), why));
            lacks.extend(here(id).map(|_| Part::Dependencies));
            false
        });
        let open = !task.target.is_finished();
        let closed = |id: &mut String| open && state(id).is_some_and(Status::is_finished);
        if let Some(parent) = task.parent.take_if(closed) {
            let why = format!("{} is finished and takes no open parts", short(&parent));
            left.push(LeftOut::new(&item, format!("parent {}", short(&parent)), why));
            lacks.extend(here(&parent).map(|_| Part::Parent));
        }
    }
}

fn break_parent_circles(plan: &mut Plan) {
    let mut closing = Vec::new();
    walk(&edges(&plan.tasks, |task| &task.parent), &mut |from, _| closing.push(from));
    for place in closing {
        let Some(task) = plan.tasks.get_mut(place) else { continue };
        if let Some(parent) = task.parent.take() {
            let what = format!("parent {}", short(&parent));
            plan.left_out.push(LeftOut::new(
                &task.item,
                what,
                "the item would be a part of itself",
            ));
        }
    }
}

fn bound_dependencies(plan: &mut Plan) {
    for task in &mut plan.tasks {
        for id in task.depends_on.drain(task.depends_on.len().min(LIST_ENTRIES_MAX)..) {
            let why = format!("a task has at most {LIST_ENTRIES_MAX} dependencies");
            let what = format!("dependency on {}", short(&id));
            plan.left_out.push(LeftOut::new(&task.item, what, why));
        }
    }
}

/// Who waits for whom, by number: the items of the plan in their order, and after them what is here besides.
struct Waits {
    depends_on: Vec<Vec<usize>>,
    parents: Vec<Option<usize>>,
}

impl Waits {
    fn of(plan: &Plan, earlier: &Earlier) -> Waits {
        let places = places(&plan.tasks);
        // An item that is here already is the same thing in both.
        let mut here: BTreeMap<&str, usize> = BTreeMap::new();
        for (place, task) in plan.tasks.iter().enumerate() {
            here.extend(earlier.task_of(&task.item).map(|id| (id, place)));
        }
        let outside: Vec<_> = earlier.tasks().filter(|(id, _)| !here.contains_key(id)).collect();
        let numbers = plan.tasks.len()..;
        here.extend(outside.iter().zip(numbers).map(|((id, _), number)| (*id, number)));
        let named = |item: &String| {
            let task = || here.get(earlier.task_of(item)?).copied();
            places.get(item).copied().or_else(task)
        };
        let known = |id: &String| here.get(id.as_str()).copied();
        let mut waits = Waits { depends_on: Vec::new(), parents: Vec::new() };
        for task in &plan.tasks {
            waits.depends_on.push(task.depends_on.iter().filter_map(named).collect());
            waits.parents.push(task.parent.as_ref().and_then(named));
        }
        for (_, before) in outside {
            waits.depends_on.push(before.depends_on.iter().filter_map(known).collect());
            waits.parents.push(before.parent.as_ref().and_then(known));
        }
        waits
    }
}

fn break_circles(plan: &mut Plan, earlier: &Earlier) {
    let Waits { depends_on, parents } = Waits::of(plan, earlier);
    let items: Vec<Vec<String>> = plan.tasks.iter().map(|task| task.depends_on.clone()).collect();
    for (from, to) in waiting_for_ever(&depends_on, &parents, plan.tasks.len()) {
        let place = depends_on.get(from).and_then(|on| on.iter().position(|on| *on == to));
        let on = items.get(from).zip(place).and_then(|(items, place)| items.get(place));
        let Some((on, task)) = on.zip(plan.tasks.get_mut(from)) else { continue };
        task.depends_on.retain(|id| id != on);
        let up = |at: &usize| parents.get(*at).copied().flatten();
        let is_part = std::iter::successors(Some(from), up).any(|at| at == to);
        let why = if is_part {
            "the item is a part of that item, which is done only after its parts"
        } else {
            "the dependency closes a circle; choose which one to drop"
        };
        plan.left_out.push(LeftOut::new(&task.item, format!("dependency on {}", short(on)), why));
    }
}

fn name_earlier(plan: &mut Plan, earlier: &Earlier) {
    let there: BTreeSet<&String> = plan.tasks.iter().map(|task| &task.item).collect();
    let named = plan.tasks.iter().flat_map(|task| task.depends_on.iter().chain(&task.parent));
    let outside = named.filter(|item| !there.contains(item));
    let found = outside.filter_map(|item| Some((item.clone(), earlier.task_of(item)?.to_owned())));
    plan.earlier = found.collect();
}

fn parents_first(plan: &mut Plan) {
    let order = walk(&edges(&plan.tasks, |task| &task.parent), &mut |_, _| {});
    let mut slots: Vec<Option<Planned>> = plan.tasks.drain(..).map(Some).collect();
    for place in order {
        plan.tasks.extend(slots.get_mut(place).and_then(Option::take));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_core::command::NewTask;

    fn task(item: &str, depends_on: &[&str], parent: Option<&str>, target: Target) -> Planned {
        Planned {
            item: item.to_owned(),
            new: NewTask::default(),
            depends_on: depends_on.iter().map(ToString::to_string).collect(),
            parent: parent.map(str::to_owned),
            links: Vec::new(),
            notes: Vec::new(),
            target,
            lacks: Vec::new(),
        }
    }

    fn done() -> Target {
        Target::Done { why: String::new() }
    }

    fn arranged(tasks: Vec<Planned>) -> (Vec<String>, Vec<String>, Plan) {
        let plan = arrange(Plan { tasks, ..Plan::default() }, &Earlier::default());
        let items = plan.tasks.iter().map(|task| task.item.clone()).collect();
        let left = plan.left_out.iter().map(|l| format!("{}: {}", l.item, l.what)).collect();
        (items, left, plan)
    }

    #[test]
    fn parents_come_first_and_are_finished_last() {
        let (items, left, plan) = arranged(vec![
            task("c", &["b"], Some("a"), done()),
            task("b", &[], Some("a"), done()),
            task("a", &[], None, done()),
        ]);
        assert_eq!(items, ["a", "c", "b"]);
        assert!(left.is_empty());
        let order: Vec<&str> =
            plan.finishing_order().iter().map(|place| items[*place].as_str()).collect();
        assert_eq!(order, ["b", "c", "a"]);
    }

    #[test]
    fn links_to_nowhere_circles_and_contradictions_are_listed() {
        let (_, left, plan) = arranged(vec![
            task("a", &["b", "a", "x", "b"], None, Target::Queued),
            task("b", &["a"], Some("y"), Target::Queued),
            task("d", &["a"], None, done()),
            task("e", &[], Some("d"), Target::Queued),
            task("p", &[], Some("q"), Target::Queued),
            task("q", &[], Some("p"), Target::Queued),
        ]);
        assert_eq!(
            left,
            [
                "a: dependency on a",
                "a: dependency on x",
                "b: parent y",
                "d: dependency on a",
                "e: parent d",
                "q: parent p",
                "b: dependency on a",
            ]
        );
        assert_eq!(plan.tasks.len(), 6);
    }

    #[test]
    fn a_part_does_not_wait_for_its_whole_nor_for_what_waits_for_it() {
        let (_, left, plan) = arranged(vec![
            task("whole", &[], None, Target::Queued),
            task("part", &["whole"], Some("whole"), Target::Queued),
            task("deep", &["whole"], Some("part"), Target::Queued),
            task("start", &["one"], None, Target::Queued),
            task("all", &["one"], None, Target::Queued),
            task("one", &["other"], Some("all"), Target::Queued),
            task("other", &["all"], None, Target::Queued),
        ]);
        assert_eq!(
            left,
            ["deep: dependency on whole", "part: dependency on whole", "other: dependency on all"]
        );
        assert!(plan.left_out[0].why.starts_with("the item is a part"), "{:?}", plan.left_out[0]);
        assert!(plan.left_out[2].why.contains("circle"), "{:?}", plan.left_out[2]);
    }

    #[test]
    fn dependencies_beyond_the_bound_are_all_named() {
        let names: Vec<String> = (0..300).map(|n| format!("i{n}")).collect();
        let on: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut tasks: Vec<Planned> =
            on.iter().map(|name| task(name, &[], None, Target::Queued)).collect();
        tasks.push(task("all", &on, None, Target::Queued));
        let (_, left, plan) = arranged(tasks);
        assert_eq!(plan.tasks[300].depends_on.len(), 200);
        assert_eq!(left.len(), 100);
        assert_eq!(
            (left[0].as_str(), left[99].as_str()),
            ("all: dependency on i200", "all: dependency on i299")
        );
    }

    #[test]
    fn tasks_are_made_after_what_they_name() {
        let (items, _, plan) = arranged(vec![
            task("c", &["b", "d"], Some("a"), Target::Queued),
            task("b", &[], Some("a"), Target::Queued),
            task("a", &[], None, Target::Queued),
            task("d", &[], None, Target::Queued),
        ]);
        let made = |plan: &Plan| -> Vec<String> {
            plan.creation_order().iter().map(|place| plan.tasks[*place].item.clone()).collect()
        };
        assert_eq!(items, ["a", "c", "b", "d"]);
        assert_eq!(made(&plan), ["a", "b", "d", "c"]);
        // A whole may wait for its own part: then the whole comes first all the same.
        let (_, left, plan) = arranged(vec![
            task("part", &[], Some("whole"), Target::Queued),
            task("whole", &["part"], None, Target::Queued),
        ]);
        assert!(left.is_empty());
        assert_eq!(made(&plan), ["whole", "part"]);
    }

    #[test]
    fn a_chain_as_long_as_the_file_needs_no_deep_stack() {
        let tasks: Vec<Planned> = (0..50_000)
            .map(|n| {
                let next = format!("i{}", n + 1);
                task(&format!("i{n}"), &[&next], Some(&next), Target::Queued)
            })
            .collect();
        let (items, _, plan) = arranged(tasks);
        assert_eq!(items.first().map(String::as_str), Some("i49999"));
        assert_eq!(plan.finishing_order().len(), 50_000);
    }
}

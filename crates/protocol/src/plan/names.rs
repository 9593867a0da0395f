//! The ids of tasks: the same one every time for the same item, and none for two items.

use super::earlier::Before;
use super::{Earlier, LeftOut, Plan, short};
use comity_core::chain::Hash;
use comity_core::ids::{TASK_ID_BYTES_MAX, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// Makes a valid task id of an item's id, the same one every time. An id that does not fit gets the prefix
/// and, because two may look alike afterwards, a part of its hash.
pub fn task_id(prefix: &str, item: &str) -> String {
    if TaskId::parse(item).is_ok() {
        return item.to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let prefixed = format!("{prefix}-{}", item.chars().map(plain).collect::<String>());
    let lossless = prefixed.len() == prefix.len() + 1 + item.len()
        && prefixed.ends_with(item)
        && prefixed.len() <= TASK_ID_BYTES_MAX;
    if lossless { prefixed } else { other_id(&prefixed, item, 12) }
}

fn other_id(id: &str, item: &str, digits: usize) -> String {
    let hash = Hash::of(item.as_bytes()).to_string();
    let kept: String = id.chars().take(TASK_ID_BYTES_MAX.saturating_sub(24).min(40)).collect();
    format!("{kept}-{}", hash.chars().take(digits).collect::<String>())
}

/// Makes an id for an item whose own one belongs to something else, one that nothing has; the same one every time. None
/// when they are all taken.
fn free_id(id: &str, item: &str, taken: impl Fn(&str) -> bool) -> Option<String> {
    (12..=22).map(|digits| other_id(id, item, digits)).find(|other| !taken(other))
}

fn has_another_id(item: &str, id: &str, whose: &str, other: &str) -> LeftOut {
    LeftOut::new(item, format!("id {id}"), format!("{whose} has this id; the task is {other} here"))
}

impl Plan {
    /// Gives an item another id because its own one was taken meanwhile, and says so; none when no other can be had.
    pub fn second_id(
        &self,
        item: &str,
        id: &str,
        whose: &str,
        here: impl Fn(&str) -> bool,
        left_out: &mut Vec<LeftOut>,
    ) -> Option<String> {
        let planned = |id: &str| self.tasks.iter().any(|task| task.new.id.as_deref() == Some(id));
        let second = free_id(id, item, |id| here(id) || planned(id))?;
        left_out.push(has_another_id(item, id, whose, &second));
        Some(second)
    }
}

/// Gives items whose ids meet different ones: `1` becomes `bd-1`, which another item may be called already, or a task
/// that is here. A task that is here keeps its id; of the others, who carries it over there.
pub(super) fn tell_apart(plan: &mut Plan, earlier: &Earlier) {
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    for task in plan.tasks.iter().filter(|task| !earlier.has(&task.item)) {
        let Some(id) = &task.new.id else { continue };
        if task.item == *id || !owners.contains_key(id) {
            owners.insert(id.clone(), task.item.clone());
        }
    }
    let mut given: BTreeSet<String> = owners.keys().cloned().collect();
    for task in &mut plan.tasks {
        let Some(id) = task.new.id.clone() else { continue };
        let here = earlier.task_of(&task.item);
        let whose = match (earlier.task(&id), owners.get(&id)) {
            _ if here == Some(&id) => continue,
            (Some(Before { item: Some(item), .. }), _) => format!("the item {}", short(item)),
            (Some(_), _) => "another task".to_owned(),
            (None, Some(owner)) if *owner != task.item => format!("the item {}", short(owner)),
            // Ids stay, so only its number can have been in the way.
            (None, _) if here.is_some() => "another task by its number".to_owned(),
            (None, _) => continue,
        };
        let taken = |id: &str| given.contains(id) || earlier.task(id).is_some();
        let other = here.map(str::to_owned).or_else(|| free_id(&id, &task.item, taken));
        // Where all are taken, the one that cannot be had is refused when the task is made.
        let Some(other) = other else { continue };
        plan.left_out.push(has_another_id(&task.item, &id, &whose, &other));
        given.insert(other.clone());
        task.new.id = Some(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beads;

    #[test]
    fn ids_stay_as_they_are_where_they_fit_and_never_collide() {
        assert_eq!(task_id("bd", "bd-a1b2.3"), "bd-a1b2.3");
        assert_eq!(task_id("tm", "4.2"), "tm-4.2");
        let (one, two) = (task_id("bd", "a b"), task_id("bd", "a/b"));
        assert_ne!(one, two);
        for id in [one, two, task_id("bd", &"x".repeat(500)), task_id("bd", "日本語")] {
            assert!(TaskId::parse(&id).is_ok(), "{id}");
        }
    }

    #[test]
    fn items_whose_ids_meet_get_different_ones_and_that_is_said() {
        let text = "{\"id\":\"1\",\"title\":\"open\"}\n\
                    {\"id\":\"bd-1\",\"title\":\"closed\",\"status\":\"closed\"}\n\
                    {\"id\":\"2\",\"title\":\"x\"}\n";
        let plan = beads::read(text, &Earlier::default()).unwrap();
        let ids: Vec<&str> =
            plan.tasks.iter().map(|task| task.new.id.as_deref().unwrap()).collect();
        assert_eq!(ids[1..], ["bd-1", "bd-2"]);
        assert!(ids[0].starts_with("bd-1-") && TaskId::parse(ids[0]).is_ok(), "{}", ids[0]);
        assert_eq!(plan.left_out.len(), 1);
        assert_eq!(
            (plan.left_out[0].item.as_str(), plan.left_out[0].what.as_str()),
            ("1", "id bd-1")
        );
        assert_eq!(
            beads::read(text, &Earlier::default()).unwrap(),
            plan,
            "the same ones every time"
        );
        // Whoever has the longer name already keeps it, too.
        let third = format!("{text}{{\"id\":\"{}\",\"title\":\"y\"}}\n", ids[0]);
        let plan = beads::read(&third, &Earlier::default()).unwrap();
        let ids: BTreeSet<&str> =
            plan.tasks.iter().map(|task| task.new.id.as_deref().unwrap()).collect();
        assert_eq!(ids.len(), 4);
    }

    fn ids(plan: &Plan) -> Vec<&str> {
        plan.tasks.iter().map(|task| task.new.id.as_deref().unwrap()).collect()
    }

    #[test]
    fn an_item_whose_id_a_task_here_has_gets_another_one_and_keeps_it() {
        let text = "{\"id\":\"bd-1\",\"title\":\"theirs\"}\n{\"id\":\"bd-2\",\"title\":\"x\"}\n";
        let first = beads::read(text, &Earlier::queued(&[("bd-1", None)])).unwrap();
        let other = ids(&first)[0];
        assert!(other.starts_with("bd-1-") && TaskId::parse(other).is_ok(), "{other}");
        assert_eq!(ids(&first)[1], "bd-2");
        let said = format!("another task has this id; the task is {other} here");
        assert_eq!(first.left_out, [LeftOut::new("bd-1", "id bd-1", said)]);
        // It is found again, and that is said each time; another item that is called so has to give way.
        let again =
            beads::read(text, &Earlier::queued(&[("bd-1", None), (other, Some("bd-1"))])).unwrap();
        assert_eq!((ids(&again), &again.left_out), (ids(&first), &first.left_out));
        let taken =
            beads::read(text, &Earlier::queued(&[("bd-1", Some("1")), (other, None)])).unwrap();
        assert!(ids(&taken)[0].starts_with(other) && ids(&taken)[0] != other);
        assert!(taken.left_out[0].why.starts_with("the item 1 has this id; "));
    }

    #[test]
    fn an_item_that_is_here_keeps_its_id_when_the_one_comes_that_is_called_so() {
        let text = "{\"id\":\"1\",\"title\":\"a\"}\n{\"id\":\"bd-1\",\"title\":\"b\"}\n";
        let plan = beads::read(text, &Earlier::queued(&[("bd-1", Some("1"))])).unwrap();
        assert_eq!(ids(&plan)[0], "bd-1");
        assert!(ids(&plan)[1].starts_with("bd-1-"));
        let items: Vec<&str> = plan.left_out.iter().map(|left| left.item.as_str()).collect();
        assert_eq!(items, ["bd-1"]);
    }
}

//! The ids of tasks: the same one every time for the same item, and none for two items.

use super::{LeftOut, Plan, short};
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

/// Makes another id of one that cannot be had.
fn other_id(id: &str, item: &str, digits: usize) -> String {
    let hash = Hash::of(item.as_bytes()).to_string();
    let kept: String = id.chars().take(TASK_ID_BYTES_MAX.saturating_sub(24).min(40)).collect();
    format!("{kept}-{}", hash.chars().take(digits).collect::<String>())
}

/// Makes an id for an item whose own one belongs to something else, and says so.
pub fn second_id(item: &str, id: &str, whose: &str, left_out: &mut Vec<LeftOut>) -> String {
    let second = other_id(id, item, 12);
    let why = format!("{whose} has it; the task is {second} here");
    left_out.push(LeftOut::new(item, format!("id {id}"), why));
    second
}

/// Gives items whose ids meet different ones: `1` becomes `bd-1`, which another item may be called already. Who
/// carries the id over there keeps it.
pub(super) fn tell_apart(plan: &mut Plan) {
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    for task in &plan.tasks {
        let Some(id) = &task.new.id else { continue };
        if task.item == *id || !owners.contains_key(id) {
            owners.insert(id.clone(), task.item.clone());
        }
    }
    let mut given: BTreeSet<String> = owners.keys().cloned().collect();
    for task in &mut plan.tasks {
        let Some(id) = task.new.id.clone() else { continue };
        let Some(owner) = owners.get(&id).filter(|owner| **owner != task.item) else { continue };
        let mut digits = 12;
        let mut second = other_id(&id, &task.item, digits);
        while !given.insert(second.clone()) && digits < 22 {
            digits += 1;
            second = other_id(&id, &task.item, digits);
        }
        let why = format!("the item {} has it here; this one is {second}", short(owner));
        plan.left_out.push(LeftOut::new(&task.item, format!("id {id}"), why));
        task.new.id = Some(second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beads;
    use crate::plan::Earlier;

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
}

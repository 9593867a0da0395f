//! What is here before a file is imported: the tasks that earlier imports made of items which the file may only name.

use comity_core::status::Status;
use comity_core::view::TaskView;
use std::collections::BTreeMap;

/// The tasks that are here, and which items they are over there.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    items: BTreeMap<String, String>,
    tasks: BTreeMap<String, Before>,
}

#[derive(Clone, Debug)]
pub(super) struct Before {
    pub(super) item: Option<String>,
    pub(super) status: Status,
    pub(super) depends_on: Vec<String>,
    pub(super) parent: Option<String>,
}

impl Earlier {
    /// Looks at the tasks that are here; the functions name the item that a task is over there, if it is one, and the state
    /// that counts.
    pub(super) fn of(
        tasks: &[TaskView],
        item: impl Fn(&TaskView) -> Option<String>,
        state: impl Fn(&TaskView) -> Status,
    ) -> Earlier {
        let mut earlier = Earlier::default();
        for task in tasks {
            let item = item(task);
            earlier.items.extend(item.clone().map(|item| (item, task.id.clone())));
            let before = Before {
                item,
                status: state(task),
                depends_on: task.dependencies.clone(),
                parent: task.parent.clone(),
            };
            earlier.tasks.insert(task.id.clone(), before);
        }
        earlier
    }

    pub fn task_of(&self, item: &str) -> Option<&str> {
        self.items.get(item).map(String::as_str)
    }

    pub fn has(&self, item: &str) -> bool {
        self.items.contains_key(item)
    }

    pub(super) fn status(&self, item: &str) -> Option<Status> {
        self.tasks.get(self.task_of(item)?).map(|before| before.status)
    }

    pub(super) fn task(&self, id: &str) -> Option<&Before> {
        self.tasks.get(id)
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = (&str, &Before)> {
        self.tasks.iter().map(|(id, before)| (id.as_str(), before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beads;
    use crate::plan::{ImportRecord, Part, Plan};

    impl Earlier {
        /// Queued tasks that are here: their ids, and which items they are.
        pub(in crate::plan) fn queued(tasks: &[(&str, Option<&str>)]) -> Earlier {
            let mut earlier = Earlier::default();
            for (id, item) in tasks {
                let item = item.map(str::to_owned);
                earlier.items.extend(item.clone().map(|item| (item, (*id).to_owned())));
                let (status, depends_on, parent) = (Status::Queued, Vec::new(), None);
                earlier.tasks.insert((*id).to_owned(), Before { item, status, depends_on, parent });
            }
            earlier
        }
    }

    /// Tasks that are here: item, state, what they wait for, what they are a part of. Their ids are the items.
    fn earlier(tasks: &[(&str, Status, &[&str], Option<&str>)]) -> Earlier {
        let mut earlier = Earlier::default();
        for (item, status, on, parent) in tasks {
            let before = Before {
                item: Some((*item).to_owned()),
                status: *status,
                depends_on: on.iter().map(ToString::to_string).collect(),
                parent: parent.map(str::to_owned),
            };
            earlier.items.insert((*item).to_owned(), format!("{item}-here"));
            earlier.tasks.insert(format!("{item}-here"), before);
        }
        earlier
    }

    fn left(plan: &Plan) -> Vec<String> {
        let line = |left: &crate::plan::LeftOut| format!("{}: {}", left.what, left.why);
        // That the ids are others here is not what these tests are about.
        let links = plan.left_out.iter().filter(|left| !left.what.starts_with("id "));
        links.map(line).collect()
    }

    const PART: &str =
        r#"{"id":"a.1","title":"t","dependencies":[{"depends_on_id":"b"},{"depends_on_id":"x"}]}"#;

    #[test]
    fn a_link_leads_to_the_task_that_an_earlier_import_made() {
        let here = earlier(&[("a", Status::Queued, &[], None), ("b", Status::Queued, &[], None)]);
        let plan = beads::read(PART, &here).unwrap();
        let part = &plan.tasks[0];
        assert_eq!(
            (part.parent.as_deref(), &part.depends_on[..]),
            (Some("a"), &["b".to_owned()][..])
        );
        assert_eq!(plan.earlier["a"], "a-here");
        assert_eq!(plan.earlier["b"], "b-here");
        assert_eq!(
            left(&plan),
            ["dependency on x: neither the file nor an earlier import has such an item"]
        );
        // It is still to be taken over: whoever imports it once the other one is here gets it.
        let later = earlier(&[
            ("a", Status::Queued, &[], None),
            ("b", Status::Queued, &[], None),
            ("x", Status::Queued, &[], None),
        ]);
        let now = ImportRecord::of(&beads::read(PART, &later).unwrap().tasks[0]);
        assert_eq!(ImportRecord::of(part).lacking(&now), [Part::Dependencies]);
        assert!(ImportRecord::of(part).changed(&now).is_empty());
    }

    #[test]
    fn what_is_further_than_the_task_that_it_names_is_not_joined_to_it() {
        let here =
            earlier(&[("open", Status::InProgress, &[], None), ("shut", Status::Done, &[], None)]);
        let text = "{\"id\":\"d\",\"title\":\"d\",\"status\":\"closed\",\"dependencies\":[\
                    {\"depends_on_id\":\"open\"},{\"depends_on_id\":\"shut\"}]}\n\
                    {\"id\":\"shut.1\",\"title\":\"p\"}\n";
        let plan = beads::read(text, &here).unwrap();
        assert_eq!(
            left(&plan),
            [
                "dependency on open: d is done although open is in_progress",
                "parent shut: shut is finished and takes no open parts",
            ]
        );
        assert_eq!(plan.tasks[0].depends_on, ["shut"]);
        // What is here already was joined, or not, when it came; its links are what they are over there.
        let here = earlier(&[
            ("d", Status::Done, &[], None),
            ("open", Status::InProgress, &[], None),
            ("shut", Status::Done, &[], None),
            ("shut.1", Status::Queued, &[], None),
        ]);
        assert_eq!(left(&beads::read(text, &here).unwrap()), [""; 0]);
    }

    #[test]
    fn an_issue_that_was_deleted_after_its_import_names_the_task_that_is_left() {
        let text = r#"{"id":"a","title":"t","status":"tombstone"}"#;
        let plan = beads::read(text, &earlier(&[("a", Status::Queued, &[], None)])).unwrap();
        assert_eq!(left(&plan), ["the issue: it was deleted; a-here can be abandoned"]);
        assert_eq!(
            left(&beads::read(text, &Earlier::default()).unwrap()),
            ["the issue: it was deleted"]
        );
    }

    #[test]
    fn nothing_waits_for_ever_through_what_is_here() {
        let here = earlier(&[
            ("whole", Status::Queued, &[], None),
            ("late", Status::Queued, &["whole-here"], None),
        ]);
        let text = "{\"id\":\"whole.1\",\"title\":\"p\",\"dependencies\":[\
                    {\"depends_on_id\":\"late\"},{\"depends_on_id\":\"whole\"}]}\n";
        let plan = beads::read(text, &here).unwrap();
        assert_eq!(
            left(&plan),
            [
                "dependency on late: the dependency closes a circle; choose which one to drop",
                "dependency on whole: the item is a part of that item, which is done only after its parts",
            ]
        );
        assert_eq!(plan.tasks[0].parent.as_deref(), Some("whole"));
    }
}

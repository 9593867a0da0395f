//! The commands of an import. One command makes the task of an item with everything about it. A second one gives the
//! task its state, if the first importer had no right to set that state.

use super::{Earlier, ImportRecord, Part, Plan, Planned, Target};
use comity_core::command::{Command, ImportedTask, NewTask};
use comity_core::decide::kept_state;
use comity_core::event::TaskLinked;
use comity_core::ids::AgentId;
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::view::TaskView;

/// The reference under this key holds the import record of a task.
const RECORD: &str = "imported";
/// The reference under this key holds the id that the item has in the other tracker.
const ITEM: &str = "id";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Takes over every state.
    Person,
    /// Takes over every state but that of finished work, and reserves tasks.
    Planner,
    Other,
}

impl Rights {
    fn reach(self, target: &Target, with_state: bool) -> bool {
        match target {
            Target::Queued | Target::Blocked { .. } => true,
            Target::Abandoned { .. } | Target::Review { .. } => with_state && self != Rights::Other,
            Target::Done { .. } => with_state && self == Rights::Person,
        }
    }
}

impl Target {
    pub fn said(&self) -> Option<&str> {
        match self {
            Target::Queued => None,
            Target::Review { why } | Target::Done { why } | Target::Abandoned { why } => Some(why),
            Target::Blocked { needs } => Some(needs),
        }
    }

    pub fn status(&self) -> Status {
        match self {
            Target::Queued => Status::Queued,
            Target::Review { .. } => Status::Review,
            Target::Done { .. } => Status::Done,
            Target::Blocked { .. } => Status::Blocked,
            Target::Abandoned { .. } => Status::Abandoned,
        }
    }
}

impl Plan {
    /// Tells for each task whether this importer can give it its state. A parent is not finished before its parts.
    pub fn reached(&self, rights: Rights, with_state: bool) -> Vec<bool> {
        let places = self.places();
        let mut reached: Vec<bool> =
            self.tasks.iter().map(|task| rights.reach(&task.target, with_state)).collect();
        for place in self.finishing_order() {
            let Some(task) = self.tasks.get(place) else { continue };
            let finished = task.target.is_finished() && reached.get(place) == Some(&true);
            let parent = task.parent.as_ref().and_then(|item| places.get(item.as_str()));
            if let Some(parent) = parent.filter(|_| !finished)
                && self.tasks.get(*parent).is_some_and(|task| task.target.is_finished())
                && let Some(whole) = reached.get_mut(*parent)
            {
                *whole = false;
            }
        }
        reached
    }
}

#[derive(Clone, Debug, Default)]
pub struct ImportedAs {
    pub id: String,
    pub depends_on: Vec<String>,
    pub parent: Option<String>,
    /// Parts that a later import adds: the state, the reservation, dependencies that are made after this task.
    pub later: Vec<Part>,
}

/// The other tracker as the log names it.
#[derive(Clone, Debug)]
pub struct Source {
    /// Tasks keep the ids of their items under this name.
    pub name: String,
    /// The file that is read.
    pub file: String,
    /// Stands for whoever did the work in the other tracker.
    pub worker: AgentId,
}

impl Source {
    pub fn new(name: &str) -> Result<Source, Refusal> {
        let worker = AgentId::elsewhere(name)?;
        Ok(Source { name: name.to_owned(), file: name.to_owned(), worker })
    }

    /// The same, read from a file that is called so.
    pub fn in_file(self, file: &str) -> Source {
        Source { file: file.to_owned(), ..self }
    }

    /// Returns the id of the item that became this task, if it came from this tracker.
    pub fn item_of<'t>(&self, task: &'t TaskView) -> Option<&'t str> {
        task.external_ids.get(&self.name)?.get(ITEM)?.as_str()
    }

    pub fn earlier(&self, tasks: &[TaskView]) -> Earlier {
        self.earlier_as(tasks, |task| self.item_of(task).map(str::to_owned))
    }

    /// As `earlier`, for a tracker whose files also name tasks that were made in comity.
    pub fn earlier_as(
        &self,
        tasks: &[TaskView],
        item: impl Fn(&TaskView) -> Option<String>,
    ) -> Earlier {
        Earlier::of(tasks, item, Source::state_there)
    }

    /// A task that waits for an importer with more rights counts as having its final state.
    fn state_there(task: &TaskView) -> Status {
        kept(task).unwrap_or(task.status)
    }

    pub fn record_of(&self, task: &TaskView) -> Option<ImportRecord> {
        ImportRecord::parse(task.external_ids.get(&self.name)?.get(RECORD)?.as_str()?)
    }

    fn link(&self, key: &str, value: impl Into<String>) -> TaskLinked {
        TaskLinked { provider: self.name.clone(), key: key.to_owned(), value: value.into() }
    }

    pub fn remember(&self, id: &str, record: &ImportRecord) -> Command {
        let TaskLinked { provider, key, value } = self.link(RECORD, record.to_string());
        Command::Link { id: id.to_owned(), provider, key, value }
    }

    pub fn take_over(&self, task: &Planned, way: &ImportedAs) -> Command {
        let mut new = task.new.clone();
        new.id = Some(way.id.clone());
        new.depends_on.clone_from(&way.depends_on);
        new.parent.clone_from(&way.parent);
        if way.later.contains(&Part::Assignee) {
            new.assignee = None;
        }
        new.links = vec![self.link(ITEM, &task.item)];
        new.links.extend(task.links.iter().map(|(key, value)| self.link(key, value)));
        let record = ImportRecord::of(task).without(&way.later);
        new.links.push(self.link(RECORD, record.to_string()));
        let mut imported = self.imported(new, &task.target);
        imported.notes.clone_from(&task.notes);
        if way.later.contains(&Part::Status) {
            imported = ImportedTask { reason: None, worker: None, with_state: false, ..imported };
        }
        Command::ImportTask(Box::new(imported))
    }

    fn imported(&self, new: NewTask, target: &Target) -> ImportedTask {
        let worked = matches!(target, Target::Review { .. } | Target::Done { .. });
        let said = target.said().map(str::to_owned);
        let blocked = matches!(target, Target::Blocked { .. });
        ImportedTask {
            task: new,
            status: Some(target.status()),
            needs: said.clone().filter(|_| blocked),
            source: self.file.clone(),
            with_state: true,
            reason: said.filter(|_| !blocked),
            worker: worked.then(|| self.worker.clone()),
            ..ImportedTask::default()
        }
    }

    /// Returns the one command that gives a task that was kept back its state and stores the new import record.
    pub fn bring_on(&self, task: &Planned, here: &TaskView, record: &ImportRecord) -> Command {
        let new = NewTask {
            id: Some(here.id.clone()),
            title: here.title.clone(),
            links: vec![self.link(RECORD, record.to_string())],
            ..NewTask::default()
        };
        let imported = ImportedTask { settles: true, ..self.imported(new, &task.target) };
        Command::ImportTask(Box::new(imported))
    }
}

/// Returns the state in another tracker that an earlier import of a task has kept back.
pub fn kept(task: &TaskView) -> Option<Status> {
    task.needs.as_deref().filter(|_| task.status == Status::Blocked).and_then(kept_state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beads;
    use crate::plan::Earlier;

    const FILE: &str = include_str!("../../tests/golden/beads/issues.jsonl");

    fn taken(item: &str, later: &[Part]) -> ImportedTask {
        let plan = beads::read(FILE, &Earlier::default()).unwrap();
        let task = plan.tasks.iter().find(|task| task.item == item).unwrap();
        let way =
            ImportedAs { id: item.to_owned(), later: later.to_vec(), ..ImportedAs::default() };
        match Source::new("beads").unwrap().take_over(task, &way) {
            Command::ImportTask(imported) => *imported,
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn one_command_has_everything_about_an_item() {
        let closed = taken("bd-1.1", &[]);
        assert_eq!(closed.status, Some(Status::Done));
        assert_eq!(closed.reason.as_deref(), Some("closed in beads (assignee bob): merged"));
        assert_eq!(closed.worker, Some(AgentId::parse("import:beads").unwrap()));
        let keys: Vec<&str> = closed.task.links.iter().map(|link| link.key.as_str()).collect();
        assert_eq!(keys, ["id", "external_ref", "imported"]);
        let open = taken("bd-1.2", &[]);
        assert_eq!((open.notes.len(), open.task.assignee.is_some()), (1, true));
        let blocked = taken("bd-stop", &[]);
        assert_eq!(blocked.needs.as_deref(), Some("it is blocked in beads"));
        assert!(blocked.worker.is_none());
    }

    #[test]
    fn what_may_not_be_finished_comes_without_a_claim_to_its_state() {
        let closed = taken("bd-1.1", &[Part::Status, Part::Reason]);
        assert_eq!((closed.status, &closed.worker), (Some(Status::Done), &None));
        assert!(!closed.with_state);
        let record = closed.task.links.last().unwrap();
        assert!(!record.value.contains("status="), "{}", record.value);
    }

    #[test]
    fn who_may_bring_what_to_its_end() {
        let text = "{\"tasks\":[{\"id\":1,\"title\":\"a\",\"status\":\"cancelled\",\"subtasks\":[\
                    {\"id\":1,\"title\":\"b\",\"status\":\"done\"}]},\
                    {\"id\":2,\"title\":\"c\",\"status\":\"blocked\"},\
                    {\"id\":3,\"title\":\"d\",\"status\":\"cancelled\"}]}";
        let plan = crate::taskmaster::read(text, &Earlier::default()).unwrap();
        assert_eq!(plan.reached(Rights::Person, true), [true, true, true, true]);
        // The whole waits for its part, which only a person accepts.
        assert_eq!(plan.reached(Rights::Planner, true), [false, false, true, true]);
        for (rights, with_state) in [(Rights::Other, true), (Rights::Person, false)] {
            assert_eq!(plan.reached(rights, with_state), [false, false, true, false]);
        }
    }
}

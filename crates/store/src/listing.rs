//! What lists have in common on every database: which statement is the narrowest, and how pages are put together.

use crate::rows::EntityKind;
use crate::{EventQuery, TaskQuery};
use comity_core::facts::Entity;
use comity_core::ids::Seq;
use comity_core::post::PostId;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::Timestamp;

/// The statements that list tasks, each by one condition and with an index for it. The other conditions are checked
/// on the rows that it finds.
pub struct TaskLists {
    pub of_label: &'static str,
    pub of_assignee: &'static str,
    pub of_initiative: &'static str,
    pub unblocked: &'static str,
    pub of_role: &'static str,
    pub of_status: &'static str,
    pub all: &'static str,
}

impl TaskLists {
    /// Lists tasks by the narrowest condition of a query. `run` gets the statement, and the label or status that
    /// it is about.
    pub fn list<E>(
        &self,
        query: &TaskQuery,
        mut run: impl FnMut(&'static str, Option<&str>) -> Result<Vec<Task>, E>,
    ) -> Result<Vec<Task>, E> {
        let text = if let Some((first, others)) = query.labels.split_first() {
            let mut tasks = run(self.of_label, Some(first))?;
            tasks.retain(|task| others.iter().all(|label| task.labels.contains(label)));
            tasks.truncate(query.limit);
            return Ok(tasks);
        } else if query.assignee.is_some() {
            self.of_assignee
        } else if query.initiative.is_some() {
            self.of_initiative
        } else if query.unblocked_only {
            self.unblocked
        } else if query.role.is_some() {
            self.of_role
        } else if query.statuses.is_empty() {
            self.all
        } else {
            return merge_statuses(query, |status| run(self.of_status, Some(status.as_str())));
        };
        run(text, None)
    }
}

/// The statements that list events, each by what has an index.
pub struct EventLists {
    pub of_task: &'static str,
    pub of_task_anywhere: &'static str,
    pub of_name: &'static str,
    pub of_repo: &'static str,
    pub all: &'static str,
    /// The same, backwards.
    pub of_task_back: &'static str,
    pub of_repo_back: &'static str,
    pub all_back: &'static str,
}

impl EventLists {
    pub fn narrowest(&self, query: &EventQuery) -> &'static str {
        if query.before.is_some() {
            return match (&query.task, &query.repo) {
                (Some(_), Some(_)) => self.of_task_back,
                (None, Some(_)) => self.of_repo_back,
                (_, None) => self.all_back,
            };
        }
        match (&query.task, &query.repo, &query.event) {
            (Some(_), Some(_), _) => self.of_task,
            (Some(_), None, _) => self.of_task_anywhere,
            (None, _, Some(_)) => self.of_name,
            (None, Some(_), None) => self.of_repo,
            (None, None, None) => self.all,
        }
    }
}

/// Reads the tasks of several statuses. Each status has its own run in the index, so the runs are merged.
fn merge_statuses<E>(
    query: &TaskQuery,
    mut run: impl FnMut(Status) -> Result<Vec<Task>, E>,
) -> Result<Vec<Task>, E> {
    let mut statuses = query.statuses.clone();
    statuses.sort();
    statuses.dedup();
    let mut all = Vec::new();
    for status in statuses {
        all.extend(run(status)?);
    }
    all.sort_by_key(|task| task.number);
    all.truncate(query.limit);
    Ok(all)
}

/// Puts what was found at several places in order, the newest first and each once.
pub fn newest(mut found: Vec<(Seq, PostId)>) -> Vec<(Seq, PostId)> {
    found.sort_by(|one, other| other.cmp(one));
    found.dedup();
    found
}

pub fn soonest(mut due: Vec<(Timestamp, Key)>, limit: usize) -> Vec<Key> {
    due.sort();
    due.truncate(limit);
    due.into_iter().map(|(_, key)| key).collect()
}

/// Returns the last seq up to `head` for which `is_before` holds, by bisection: dates only grow.
pub fn last_before<E>(
    head: u64,
    mut is_before: impl FnMut(u64) -> Result<bool, E>,
) -> Result<u64, E> {
    let (mut low, mut high) = (0, head);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if is_before(middle)? {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(low)
}

impl EntityKind {
    const ALL: [EntityKind; 11] = [
        EntityKind::Repo,
        EntityKind::Task,
        EntityKind::Lease,
        EntityKind::Decision,
        EntityKind::Agent,
        EntityKind::Memory,
        EntityKind::Directive,
        EntityKind::PastLease,
        EntityKind::Post,
        EntityKind::Run,
        EntityKind::Budget,
    ];

    fn of(key: &Key) -> EntityKind {
        match key {
            Key::Repo(_) => EntityKind::Repo,
            Key::Task(..) => EntityKind::Task,
            Key::Lease(..) => EntityKind::Lease,
            Key::Decision(..) => EntityKind::Decision,
            Key::Agent(_) => EntityKind::Agent,
            Key::Memory(..) => EntityKind::Memory,
            Key::Directive(..) => EntityKind::Directive,
            Key::PastLease(..) => EntityKind::PastLease,
            Key::Post(..) => EntityKind::Post,
            Key::Run(..) => EntityKind::Run,
            Key::Budget(..) => EntityKind::Budget,
        }
    }
}

/// Where a page of one kind begins: after this repository (or agent), and in it after this id or number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PageStart<'k> {
    pub name: &'k str,
    pub id: &'k str,
    pub number: u64,
}

impl PageStart<'_> {
    fn after(key: &Key) -> PageStart<'_> {
        match key {
            Key::Repo(repo) => PageStart { name: repo.as_str(), ..PageStart::default() },
            Key::Task(repo, id) => PageStart { name: repo.as_str(), id: id.as_str(), number: 0 },
            Key::Lease(repo, id) => PageStart { name: repo.as_str(), id: "", number: id.0 },
            Key::Decision(repo, id) => PageStart { name: repo.as_str(), id: "", number: id.0 },
            Key::Agent(id) => PageStart { name: id.as_str(), ..PageStart::default() },
            Key::Memory(repo, id) => PageStart { name: repo.as_str(), id: "", number: id.0 },
            Key::Directive(repo, id) => PageStart { name: repo.as_str(), id: "", number: id.0 },
            Key::PastLease(repo, id) => PageStart { name: repo.as_str(), id: "", number: id.0 },
            Key::Post(repo, id) => PageStart { name: repo.as_str(), id: id.as_str(), number: 0 },
            Key::Run(repo, id) => PageStart { name: repo.as_str(), id: "", number: id.0 },
            Key::Budget(repo, of) => PageStart { name: repo.as_str(), id: of.as_str(), number: 0 },
        }
    }
}

type Page = Vec<(Key, Entity)>;

/// Walks the kinds of entities in the order of their keys, each from where the last page ended.
pub fn pages<E>(
    after: Option<&Key>,
    limit: usize,
    mut read: impl FnMut(EntityKind, PageStart<'_>, usize) -> Result<Page, E>,
) -> Result<Page, E> {
    let mut page = Vec::new();
    let first = after.map_or(EntityKind::Repo, EntityKind::of);
    for kind in EntityKind::ALL.into_iter().filter(|kind| *kind >= first) {
        if page.len() < limit {
            let after = after.filter(|key| EntityKind::of(key) == kind);
            page.extend(read(
                kind,
                after.map(PageStart::after).unwrap_or_default(),
                limit - page.len(),
            )?);
        }
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::{EntityKind, last_before, pages, soonest};
    use comity_core::agent::Counters;
    use comity_core::facts::Entity;
    use comity_core::ids::{AgentId, LeaseId, RepoName};
    use comity_core::state::Key;
    use comity_core::time::Timestamp;

    fn repo(name: &str) -> Key {
        Key::Repo(RepoName::parse(name).unwrap())
    }

    #[test]
    fn the_last_place_before_a_moment_is_found_in_few_steps() {
        for (dates, since, wanted) in [
            (vec![], 5, 0),
            (vec![1, 2, 3], 9, 3),
            (vec![7, 8], 5, 0),
            (vec![1, 5, 5, 5, 6], 5, 1),
            (vec![1, 5, 5, 5, 6], 6, 4),
        ] {
            let mut steps = 0;
            let found = last_before::<()>(dates.len() as u64, |place| {
                steps += 1;
                Ok(dates[usize::try_from(place).unwrap() - 1] < since)
            });
            assert_eq!(found, Ok(wanted), "{dates:?} before {since}");
            assert!(steps <= 3);
        }
    }

    #[test]
    fn what_is_due_first_comes_first_whatever_its_kind() {
        let lease = Key::Lease(RepoName::parse("a").unwrap(), LeaseId(1));
        let due = vec![
            (Timestamp::from_ms(3), repo("a")),
            (Timestamp::from_ms(1), lease.clone()),
            (Timestamp::from_ms(2), repo("b")),
        ];
        assert_eq!(soonest(due, 2), [lease, repo("b")]);
    }

    #[test]
    fn a_page_goes_on_in_the_kind_where_the_last_one_ended() {
        let agent = Key::Agent(AgentId::parse("b").unwrap());
        let mut asked = Vec::new();
        let page = pages::<()>(Some(&agent), 2, |kind, from, limit| {
            asked.push((kind, from.name.to_owned(), limit));
            Ok(vec![(repo("x"), Entity::Repo(Counters::default()))])
        });
        assert_eq!(page.unwrap().len(), 2);
        assert_eq!(
            asked,
            [(EntityKind::Agent, "b".to_owned(), 2), (EntityKind::Memory, String::new(), 1)]
        );
    }
}

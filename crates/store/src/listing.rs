//! What lists have in common on every database: which way is the narrowest, and how pages are put together.

use crate::{EventQuery, TaskQuery};
use comity_core::facts::Entity;
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::Timestamp;

/// The way to the tasks of a query: by its narrowest condition. The others are checked on the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TaskWay {
    Label,
    Assignee,
    Initiative,
    Unblocked,
    Role,
    Status,
    All,
}

impl TaskWay {
    pub fn of(query: &TaskQuery) -> TaskWay {
        if !query.labels.is_empty() {
            TaskWay::Label
        } else if query.assignee.is_some() {
            TaskWay::Assignee
        } else if query.initiative.is_some() {
            TaskWay::Initiative
        } else if query.unblocked_only {
            TaskWay::Unblocked
        } else if query.role.is_some() {
            TaskWay::Role
        } else if query.statuses.is_empty() {
            TaskWay::All
        } else {
            TaskWay::Status
        }
    }
}

/// The way to the events of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventWay {
    Task,
    TaskAnywhere,
    Name,
    Repo,
    All,
}

impl EventWay {
    pub fn of(query: &EventQuery) -> EventWay {
        match (&query.task, &query.repo, &query.event) {
            (Some(_), Some(_), _) => EventWay::Task,
            (Some(_), None, _) => EventWay::TaskAnywhere,
            (None, _, Some(_)) => EventWay::Name,
            (None, Some(_), None) => EventWay::Repo,
            (None, None, None) => EventWay::All,
        }
    }
}

/// Reads the tasks of several statuses. Each status has its own run in the index, so the runs are merged.
pub fn merge_statuses<E>(
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

/// Returns what is due first.
pub fn soonest(mut due: Vec<(Timestamp, Key)>, limit: usize) -> Vec<Key> {
    due.sort();
    due.truncate(limit);
    due.into_iter().map(|(_, key)| key).collect()
}

/// Returns the last place up to `head` that is before a moment, by bisection: dates only grow.
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

/// A kind of entity, in the order of the keys.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Kind {
    Repo,
    Task,
    Lease,
    Decision,
    Agent,
    Memory,
    Directive,
}

impl Kind {
    const ALL: [Kind; 7] = [
        Kind::Repo,
        Kind::Task,
        Kind::Lease,
        Kind::Decision,
        Kind::Agent,
        Kind::Memory,
        Kind::Directive,
    ];

    fn of(key: &Key) -> Kind {
        match key {
            Key::Repo(_) => Kind::Repo,
            Key::Task(..) => Kind::Task,
            Key::Lease(..) => Kind::Lease,
            Key::Decision(..) => Kind::Decision,
            Key::Agent(_) => Kind::Agent,
            Key::Memory(..) => Kind::Memory,
            Key::Directive(..) => Kind::Directive,
        }
    }
}

/// Where a page of one kind begins: after this repository (or agent), and in it after this id or number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct From<'k> {
    pub name: &'k str,
    pub id: &'k str,
    pub number: u64,
}

impl From<'_> {
    fn after(key: &Key) -> From<'_> {
        match key {
            Key::Repo(repo) => From { name: repo.as_str(), ..From::default() },
            Key::Task(repo, id) => From { name: repo.as_str(), id: id.as_str(), number: 0 },
            Key::Lease(repo, id) => From { name: repo.as_str(), id: "", number: id.0 },
            Key::Decision(repo, id) => From { name: repo.as_str(), id: "", number: id.0 },
            Key::Agent(id) => From { name: id.as_str(), ..From::default() },
            Key::Memory(repo, id) => From { name: repo.as_str(), id: "", number: id.0 },
            Key::Directive(repo, id) => From { name: repo.as_str(), id: "", number: id.0 },
        }
    }
}

type Page = Vec<(Key, Entity)>;

/// Walks the kinds of entities in the order of their keys, each from where the last page ended.
pub fn pages<E>(
    after: Option<&Key>,
    limit: usize,
    mut read: impl FnMut(Kind, From<'_>, usize) -> Result<Page, E>,
) -> Result<Page, E> {
    let mut page = Vec::new();
    let first = after.map_or(Kind::Repo, Kind::of);
    for kind in Kind::ALL.into_iter().filter(|kind| *kind >= first) {
        if page.len() < limit {
            let after = after.filter(|key| Kind::of(key) == kind);
            page.extend(read(
                kind,
                after.map(From::after).unwrap_or_default(),
                limit - page.len(),
            )?);
        }
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::{Kind, last_before, pages, soonest};
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
        assert_eq!(asked, [(Kind::Agent, "b".to_owned(), 2), (Kind::Memory, String::new(), 1)]);
    }
}

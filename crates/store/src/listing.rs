//! What lists have in common on every database: which statement is the narrowest, and how pages are put together.

use crate::rows::EntityKind;
use crate::{EventQuery, PostsFrom, TaskQuery};
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

/// Puts what was found at several places in order, each once.
pub fn merged(mut found: Vec<(Seq, PostId)>, from: PostsFrom) -> Vec<(Seq, PostId)> {
    match from {
        PostsFrom::Before(_) => found.sort_by(|one, other| other.cmp(one)),
        PostsFrom::After(_) => found.sort(),
    }
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
    const ALL: [EntityKind; 11] = {
        use EntityKind as K;
        [
            K::Repo,
            K::Task,
            K::Lease,
            K::Decision,
            K::Agent,
            K::Memory,
            K::Directive,
            K::PastLease,
            K::Post,
            K::Run,
            K::Budget,
        ]
    };
}

/// The statements about entities of one kind, each of which begins with the columns of a key.
pub struct ByKey {
    pub find: &'static str,
    /// Finds a page that begins after a key.
    pub after: &'static str,
    pub delete: &'static str,
}

/// Where an entity stands in the tables of its kind: by the name of a repository or an agent, and what it is called in
/// the repository.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place<'k> {
    pub kind: EntityKind,
    pub name: &'k str,
    pub id: PlaceId<'k>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlaceId<'k> {
    None,
    Text(&'k str),
    Number(u64),
}

impl<'k> Place<'k> {
    /// Returns the place before all entities of a kind.
    fn first(kind: EntityKind) -> Place<'k> {
        let id = match kind {
            EntityKind::Repo | EntityKind::Agent => PlaceId::None,
            EntityKind::Task | EntityKind::Post | EntityKind::Budget => PlaceId::Text(""),
            EntityKind::Lease
            | EntityKind::Decision
            | EntityKind::Memory
            | EntityKind::Directive
            | EntityKind::PastLease
            | EntityKind::Run => PlaceId::Number(0),
        };
        Place { kind, name: "", id }
    }

    pub fn of(key: &'k Key) -> Place<'k> {
        use EntityKind as Kind;
        let (kind, name, id) = match key {
            Key::Repo(repo) => (Kind::Repo, repo.as_str(), PlaceId::None),
            Key::Task(repo, id) => (Kind::Task, repo.as_str(), PlaceId::Text(id.as_str())),
            Key::Lease(repo, id) => (Kind::Lease, repo.as_str(), PlaceId::Number(id.0)),
            Key::Decision(repo, id) => (Kind::Decision, repo.as_str(), PlaceId::Number(id.0)),
            Key::Agent(id) => (Kind::Agent, id.as_str(), PlaceId::None),
            Key::Memory(repo, id) => (Kind::Memory, repo.as_str(), PlaceId::Number(id.0)),
            Key::Directive(repo, id) => (Kind::Directive, repo.as_str(), PlaceId::Number(id.0)),
            Key::PastLease(repo, id) => (Kind::PastLease, repo.as_str(), PlaceId::Number(id.0)),
            Key::Post(repo, id) => (Kind::Post, repo.as_str(), PlaceId::Text(id.as_str())),
            Key::Run(repo, id) => (Kind::Run, repo.as_str(), PlaceId::Number(id.0)),
            Key::Budget(repo, id) => (Kind::Budget, repo.as_str(), PlaceId::Text(id.as_str())),
        };
        Place { kind, name, id }
    }
}

/// Writes the tables of statements that both databases have under the same names.
macro_rules! statement_tables {
    () => {
        pub(super) const TASK_LISTS: $crate::listing::TaskLists = $crate::listing::TaskLists {
            of_label: TASKS_OF_LABEL,
            of_assignee: TASKS_OF_ASSIGNEE,
            of_initiative: TASKS_OF_INITIATIVE,
            unblocked: TASKS_UNBLOCKED,
            of_role: TASKS_OF_ROLE,
            of_status: TASKS_OF_STATUS,
            all: TASKS_ALL,
        };

        pub(super) const EVENT_LISTS: $crate::listing::EventLists = $crate::listing::EventLists {
            of_task: EVENTS_OF_TASK,
            of_task_anywhere: EVENTS_OF_TASK_ANYWHERE,
            of_name: EVENTS_OF_NAME,
            of_repo: EVENTS_OF_REPO,
            all: EVENTS_ALL,
            of_task_back: EVENTS_OF_TASK_BACK,
            of_repo_back: EVENTS_OF_REPO_BACK,
            all_back: EVENTS_ALL_BACK,
        };

        pub(super) const DUE: [($crate::rows::EntityKind, &str); 6] = {
            use $crate::rows::EntityKind as Kind;
            [
                (Kind::Task, TASKS_DUE),
                (Kind::Lease, LEASES_DUE),
                (Kind::Decision, DECISIONS_DUE),
                (Kind::Memory, MEMORIES_DUE),
                (Kind::Directive, DIRECTIVES_DUE),
                (Kind::Run, RUNS_DUE),
            ]
        };

        pub(super) fn by_key(kind: $crate::rows::EntityKind) -> $crate::listing::ByKey {
            use $crate::rows::EntityKind as Kind;
            let (find, after, delete) = match kind {
                Kind::Repo => (REPO, REPOS_AFTER, DELETE_REPOS),
                Kind::Task => (TASK, TASKS_AFTER, DELETE_TASKS),
                Kind::Lease => (LEASE, LEASES_AFTER, DELETE_LEASES),
                Kind::Decision => (DECISION, DECISIONS_AFTER, DELETE_DECISIONS),
                Kind::Agent => (AGENT, AGENTS_AFTER, DELETE_AGENTS),
                Kind::Memory => (MEMORY, MEMORIES_AFTER, DELETE_MEMORIES),
                Kind::Directive => (DIRECTIVE, DIRECTIVES_AFTER, DELETE_DIRECTIVES),
                Kind::PastLease => (PAST_LEASE, PAST_LEASES_AFTER, DELETE_PAST_LEASES),
                Kind::Post => (POST, POSTS_AFTER, DELETE_POSTS),
                Kind::Run => (RUN, RUNS_AFTER, DELETE_RUNS),
                Kind::Budget => (BUDGET, BUDGETS_AFTER, DELETE_BUDGETS),
            };
            $crate::listing::ByKey { find, after, delete }
        }
    };
}

pub(crate) use statement_tables;

type Page = Vec<(Key, Entity)>;

/// Walks the kinds of entities in the order of their keys, each from where the last page ended.
pub fn pages<E>(
    after: Option<&Key>,
    limit: usize,
    mut read: impl FnMut(Place<'_>, usize) -> Result<Page, E>,
) -> Result<Page, E> {
    let mut page = Vec::new();
    let from = after.map_or(Place::first(EntityKind::Repo), Place::of);
    for kind in EntityKind::ALL.into_iter().filter(|kind| *kind >= from.kind) {
        if page.len() < limit {
            let from = if kind == from.kind { from } else { Place::first(kind) };
            page.extend(read(from, limit - page.len())?);
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
        let page = pages::<()>(Some(&agent), 2, |from, limit| {
            asked.push((from.kind, from.name.to_owned(), limit));
            Ok(vec![(repo("x"), Entity::Repo(Counters::default()))])
        });
        assert_eq!(page.unwrap().len(), 2);
        assert_eq!(
            asked,
            [(EntityKind::Agent, "b".to_owned(), 2), (EntityKind::Memory, String::new(), 1)]
        );
    }
}

//! Lists of tasks: every task by its number, or open ones in the order in which they are claimed.

use crate::pages::{bad_cursor, limit, number_after, page};
use crate::read::Reader;
use comity_api::{TaskFilter, TasksAnswer};
use comity_core::refusal::Refusal;
use comity_core::role::Role;
use comity_core::search::has_words;
use comity_core::status::Status;
use comity_core::task::Task;

/// Tasks that are looked at for one page of those that are ready or have certain words.
const SCAN_MAX: usize = 5_000;
/// Open tasks that are put into the order of claims. Where more are open, they come by number.
const OPEN_MAX: usize = 2_000;

/// Tells whether a task has all of these words.
pub(crate) fn task_has(task: &Task, words: &str) -> bool {
    let labels = task.labels.iter().map(String::as_str);
    let texts = [task.id.as_str(), &task.title, &task.description];
    has_words(words, texts.into_iter().chain(labels))
}

impl Reader<'_> {
    pub(crate) fn tasks(&mut self, filter: &TaskFilter) -> Result<TasksAnswer, Refusal> {
        if filter.all || !filter.statuses.is_empty() {
            return self.by_number(filter);
        }
        let open = Status::ALL.into_iter().filter(|status| !status.is_finished());
        let filter = TaskFilter { statuses: open.collect(), ..filter.clone() };
        let counts = self.tx.status_counts(&self.caller.repo)?;
        let open = counts.iter().filter(|(status, _)| !status.is_finished());
        let open: u64 = open.map(|(_, count)| count).sum();
        // A cursor goes on in the order that it was made in.
        let by_number = match &filter.after {
            Some(cursor) => !cursor.contains('.'),
            None => open > OPEN_MAX as u64,
        };
        if by_number {
            return self.by_number(&filter);
        }
        self.in_claim_order(&filter)
    }

    fn in_claim_order(&mut self, filter: &TaskFilter) -> Result<TasksAnswer, Refusal> {
        let limit = limit(filter.limit)?;
        let after = filter.after.as_deref().map(place).transpose()?;
        let roles = if filter.ready { self.caller_roles()? } else { Vec::new() };
        let (mut tasks, _) = self.task_rows(filter, 0, OPEN_MAX)?;
        tasks.sort_by_key(rank);
        let mut found = Vec::new();
        for task in tasks {
            let is_later = after.is_none_or(|after| rank(&task) > after);
            if is_later && self.is_wanted(&task, filter, &roles)? {
                found.push(task);
            }
            if found.len() > limit {
                break;
            }
        }
        let (tasks, next) = page(found, limit, |task| {
            let (priority, number) = rank(task);
            format!("{priority}.{number}")
        });
        let tasks = tasks.iter().map(|task| self.task_view(task)).collect::<Result<_, _>>()?;
        Ok(TasksAnswer { tasks, next })
    }

    fn is_wanted(
        &mut self,
        task: &Task,
        filter: &TaskFilter,
        roles: &[Role],
    ) -> Result<bool, Refusal> {
        let has_words = filter.search.as_ref().is_none_or(|words| task_has(task, words));
        Ok(has_words && (!filter.ready || self.is_ready(task, roles)?))
    }

    fn by_number(&mut self, filter: &TaskFilter) -> Result<TasksAnswer, Refusal> {
        let limit = limit(filter.limit)?;
        let after = number_after(filter.after.as_deref())?;
        let roles = if filter.ready { self.caller_roles()? } else { Vec::new() };
        let mut found = Vec::new();
        let mut from = after;
        let mut looked_at = 0;
        let mut cut = false;
        while found.len() <= limit {
            let (tasks, last) = self.task_rows(filter, from, limit + 1)?;
            looked_at += tasks.len();
            for task in tasks {
                if self.is_wanted(&task, filter, &roles)? {
                    found.push(self.task_view(&task)?);
                }
            }
            let Some(last) = last else { break };
            from = last;
            if looked_at >= SCAN_MAX {
                cut = true;
                break;
            }
        }
        let whole = found.len() <= limit;
        let (tasks, mut next) = page(found, limit, |task| task.number.to_string());
        if cut && whole {
            // Enough was looked at for one page: the next one goes on from here, be this one empty or not.
            next = Some(from.to_string());
        }
        Ok(TasksAnswer { tasks, next })
    }
}

/// Where a task stands in the order of claims: the most urgent first, then the oldest.
fn rank(task: &Task) -> (u8, u64) {
    (task.priority.rank(), task.number)
}

fn place(cursor: &str) -> Result<(u8, u64), Refusal> {
    let parts = cursor.split_once('.');
    let place = parts.and_then(|(rank, number)| Some((rank.parse().ok()?, number.parse().ok()?)));
    place.ok_or_else(|| bad_cursor(cursor))
}

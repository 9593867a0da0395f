//! What the claims of a batch will likely want to see next, so that it is loaded for all of them at once.

use crate::command::{Command, Request};
use crate::facts::{Facts, Need};
use crate::ids::{RepoName, TaskId};
use crate::pattern::Pattern;
use crate::task::Task;
use std::collections::{BTreeMap, BTreeSet};

/// Names what follows from what was loaded for [`super::needs`]: more candidates when the claims are more than
/// those, and the leases near the files of the tasks that will likely be claimed. No rule relies on it: a wrong guess
/// costs a look, and what is missing is asked for later.
pub fn foreseen<'r>(facts: &Facts, requests: impl IntoIterator<Item = &'r Request>) -> Vec<Need> {
    let mut needs = BTreeSet::new();
    let mut claims_of_any: BTreeMap<&RepoName, usize> = BTreeMap::new();
    for request in requests {
        let Command::Claim(wish) = &request.command else { continue };
        let repo = &request.repo;
        match wish.id.as_deref().map(TaskId::parse) {
            None => *claims_of_any.entry(repo).or_default() += 1,
            Some(Ok(id)) => {
                let task = facts.state.task(repo, &id);
                needs.extend(task.into_iter().flat_map(leases_near));
            }
            Some(Err(_)) => {}
        }
    }
    for (repo, claims) in claims_of_any {
        let Ok((tasks, beyond)) = facts.candidates(repo) else { continue };
        if tasks.len() < claims {
            needs.extend(beyond.map(|beyond| beyond.next));
        }
        needs.extend(tasks.into_iter().take(claims).flat_map(leases_near));
    }
    needs.into_iter().filter(|need| !facts.has_answer(need)).collect()
}

fn leases_near(task: &Task) -> impl Iterator<Item = Need> + use<'_> {
    let prefixes = task.files.iter().filter_map(|text| Pattern::prefix_of(text).ok());
    prefixes.map(|prefix| Need::LeasesNear(task.repo.clone(), prefix))
}

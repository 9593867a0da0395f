//! Runs that wait for a labelled worker go on elsewhere when the host that had them is lost.

use super::Rule;
use super::sweep::Swept;
use crate::budget::Scope;
use crate::command::{Command, NewRun, Request};
use crate::event::Event;
use crate::facts::{Facts, Halt, Ruling};
use crate::ids::{AgentId, RepoName, RunId};
use crate::observed::{ClaimSeen, Observed};
use crate::policy::Policy;
use crate::role::Role;
use crate::run::Run;
use crate::via::Via;
use serde_json::Value;

/// Says in the facts of a run which one it goes on with.
const RESUMED_FROM: &str = "resumedFrom";

/// Queues every labelled run again that a sweep found lost, in the same transaction. What a rule is against, such as a budget that is
/// used up or a task that was tried too often, leaves the task in the queue.
pub(super) fn queue_again(facts: &Facts, policy: &Policy, swept: &mut Swept) -> Ruling<()> {
    let lost = swept.events.iter().filter_map(|draft| {
        let Event::RunLost(body) = &draft.event else { return None };
        Some((draft.repo.clone(), body.run))
    });
    let lost: Vec<(RepoName, RunId)> = lost.collect();
    for (repo, id) in lost {
        let Some(run) = facts.run(&repo, id)?.filter(|run| !run.labels.is_empty()) else {
            continue;
        };
        let mut ahead = facts.clone();
        swept.events.iter().for_each(|draft| drop(ahead.apply(draft.clone())));
        let request = Request {
            actor: AgentId::watchdog(),
            repo: repo.clone(),
            fence: None,
            key: None,
            via: Via::default(),
            workspace: None,
            command: Command::RunDispatch(Box::new(again(facts, run)?)),
            // The work began where the lost run began it.
            observed: Observed { claim: began(facts, &repo, run)?, ..Observed::default() },
        };
        let mut rule = Rule {
            facts: &ahead,
            request: &request,
            policy,
            events: Vec::new(),
            // comity does again what somebody did who was allowed to.
            roles: vec![Role::Planner],
            owner: None,
            since: None,
            listed: None,
        };
        match rule.dispatch(&request.command) {
            Ok(_) => swept.events.append(&mut rule.events),
            Err(Halt::Refuse(_)) => {}
            Err(need @ Halt::Need(_)) => return Err(need),
        }
    }
    Ok(())
}

fn began(facts: &Facts, repo: &RepoName, run: &Run) -> Ruling<Option<ClaimSeen>> {
    let task = facts.task(repo, &run.task)?;
    let base = task.and_then(|task| task.claim.as_ref()?.base.clone());
    Ok(base.map(|base| ClaimSeen { base, head: None }))
}

fn again(facts: &Facts, run: &Run) -> Ruling<NewRun> {
    let mut meta = run.meta.clone();
    meta.insert(RESUMED_FROM.to_owned(), Value::String(run.id.to_string()));
    let own = facts.budget(&run.repo, &Scope::run(run.id))?;
    let max_cost = own.and_then(|own| own.caps.values().find_map(|cap| cap.usd));
    Ok(NewRun {
        agent: run.agent.clone(),
        task: Some(run.task.to_string()),
        new_task: None,
        stage: run.stage,
        writable: run.writable,
        driver: run.driver.clone(),
        model: run.model.clone(),
        branch: run.branch.clone(),
        base: run.base.clone(),
        meta,
        prompt_sha256: run.prompt_sha256.clone(),
        prompt_bytes: run.prompt_bytes,
        sandbox: None,
        labels: run.labels.clone(),
        resumed_from: Some(run.id.to_string()),
        parent: run.parent.map(|id| id.to_string()),
        rule: run.rule.clone(),
        max_cost,
        skip_design: None,
    })
}

//! Runs and budgets.

use super::world::{Extras, agent, elsewhere, repo, task_id};
use super::{Outcome, World};
use comity_core::budget::{Per, Scope};
use comity_core::event::{
    BudgetReleased, BudgetReserved, BudgetSet, BudgetSettled, Draft, Event, RunEnded, RunQueued,
    RunStarted,
};
use comity_core::facts::{Facts, Need};
use comity_core::ids::{Fence, RunId};
use comity_core::money::Usd;
use comity_core::run::{RunState, Stage, Tokens};
use comity_core::state::Key;
use comity_core::task::Priority;
use comity_core::time::{Millis, Timestamp};
use comity_store::RunQuery;
use serde_json::Map;

fn draft(task: &str, event: Event) -> Draft {
    Draft {
        repo: repo(),
        agent: agent("ann"),
        task: Some(task_id(task)),
        event,
        via: comity_core::via::Via::default(),
    }
}

pub(super) fn queued(number: u64, task: &str) -> Draft {
    draft(
        task,
        Event::RunQueued(Box::new(RunQueued {
            run: RunId(number),
            agent: "developer".to_owned(),
            driver: "command".to_owned(),
            model: None,
            stage: Stage::Develop,
            meta: Map::new(),
            branch: None,
            pr: None,
            base: None,
            prompt_sha256: String::new(),
            prompt_bytes: 0,
            sandbox: None,
            priority: Priority::DEFAULT,
            labels: Vec::new(),
            resumed_from: None,
            parent: None,
            parent_task: None,
            attempt: 1,
            rule: None,
            identity: agent(&format!("developer:R{number}")),
            writable: true,
            fence: Fence::new(7).unwrap(),
            ttl: Millis::from_secs(120),
        })),
    )
}

fn started(number: u64) -> Draft {
    let body = RunStarted {
        run: RunId(number),
        worker: agent("worker:a"),
        host: None,
        workspace: None,
        fence: Fence::new(7).unwrap(),
        driver_version: None,
        sandbox: None,
        session: None,
    };
    draft("T1", Event::RunStarted(Box::new(body)))
}

pub(super) fn ended(number: u64) -> Draft {
    let body = RunEnded {
        run: RunId(number),
        state: RunState::Stopped,
        reason: None,
        error: None,
        exit: None,
        head: None,
        wip: None,
        report_kind: None,
        pr: None,
        turns: 0,
        tokens: Tokens::default(),
        cost_usd: Usd::ZERO,
        cost_basis: None,
        duration_seconds: 0,
        said: Map::new(),
        frees_review_of: None,
    };
    draft("T1", Event::RunEnded(Box::new(body)))
}

fn scopes(names: &[&str]) -> Vec<Scope> {
    names.iter().map(|name| Scope::parse(name).unwrap()).collect()
}

pub(super) fn reserved(number: u64, micros: u64, names: &[&str]) -> Draft {
    let (run, usd) = (RunId(number), Usd::from_micros(micros));
    draft("T1", Event::BudgetReserved(BudgetReserved { run, usd, scopes: scopes(names) }))
}

pub(super) fn settled(number: u64, micros: u64, names: &[&str]) -> Draft {
    let body = BudgetSettled {
        run: RunId(number),
        call: "c".to_owned(),
        usd: Usd::from_micros(micros),
        tokens: Tokens { input: 3, ..Tokens::default() },
        estimated: false,
        scopes: scopes(names),
    };
    draft("T1", Event::BudgetSettled(Box::new(body)))
}

fn released(number: u64, names: &[&str]) -> Draft {
    let (run, usd) = (RunId(number), Usd::ZERO);
    draft("T1", Event::BudgetReleased(BudgetReleased { run, usd, scopes: scopes(names) }))
}

fn set(name: &str, per: Per, micros: u64) -> Draft {
    let scope = Scope::parse(name).unwrap();
    let usd = Some(Usd::from_micros(micros));
    let body = BudgetSet { scope, per, usd, tokens: None, seconds: None, runs: None };
    draft("T1", Event::BudgetSet(body))
}

pub(super) fn runs_are_filtered_and_paged(world: &mut World) -> Outcome {
    let all = [(1, "T1"), (2, "T2"), (3, "T1"), (10, "T1")];
    let mut drafts: Vec<Draft> = all.iter().map(|(number, task)| queued(*number, task)).collect();
    drafts.push(elsewhere(queued(4, "T1")));
    world.commit(drafts)?;
    world.commit(vec![started(1), ended(3)])?;
    let of = |task: Option<&str>, live_only: bool, after: u64, limit: usize| RunQuery {
        repo: repo(),
        task: task.map(task_id),
        live_only,
        after: Some(RunId(after)),
        limit,
    };
    let mut tx = world.store.read()?;
    let mut find = |query: RunQuery| -> Vec<u64> {
        tx.runs(&query).unwrap().iter().map(|run| run.id.0).collect()
    };
    assert_eq!(find(of(None, false, 0, 9)), [1, 2, 3, 10]);
    assert_eq!(find(of(None, false, 1, 2)), [2, 3]);
    assert_eq!(find(of(None, true, 0, 9)), [1, 2, 10]);
    assert_eq!(find(of(Some("T1"), false, 0, 9)), [1, 3, 10]);
    assert_eq!(find(of(Some("T1"), true, 1, 9)), [10]);
    assert_eq!(find(of(Some("T9"), false, 0, 9)), [0; 0]);
    Ok(())
}

pub(super) fn budgets_follow_their_events_and_come_in_the_order_of_their_scopes(
    world: &mut World,
) -> Outcome {
    let names = ["repo", "task:T1", "agent:developer", "run:R1"];
    world.commit(vec![queued(1, "T1"), reserved(1, 2_000_000, &names)])?;
    world.commit(vec![settled(1, 500_000, &names), set("repo", Per::Day, 9_000_000)])?;
    world.commit(vec![
        queued(2, "T1"),
        queued(12, "T1"),
        reserved(2, 5, &["run:R2", "run:R12"]),
    ])?;
    let mut tx = world.store.read()?;
    let scope = |text: &str| Scope::parse(text).unwrap();
    let all = tx.budgets(&repo(), None, 9)?;
    let found: Vec<&str> = all.iter().map(|budget| budget.scope.as_str()).collect();
    assert_eq!(found, ["agent:developer", "repo", "run:R1", "run:R12", "run:R2", "task:T1"]);
    assert_eq!(all[1].reserved(), Usd::from_micros(1_500_000));
    assert_eq!(all[1].caps[&Per::Day].usd, Some(Usd::from_micros(9_000_000)));
    let page = tx.budgets(&repo(), Some(&scope("run:R1")), 2)?;
    let found: Vec<&str> = page.iter().map(|budget| budget.scope.as_str()).collect();
    assert_eq!(found, ["run:R12", "run:R2"]);
    let mut facts = Facts::default();
    tx.load(&[Need::Entity(Key::Budget(repo(), scope("task:T1")))], &mut facts)?;
    let task = facts.budget(&repo(), &scope("task:T1")).unwrap().unwrap();
    assert_eq!(task.live[&RunId(1)], Usd::from_micros(1_500_000));
    tx.load(&[Need::Entity(Key::Budget(repo(), scope("task:T2")))], &mut facts)?;
    assert_eq!(facts.budget(&repo(), &scope("task:T2")).unwrap(), None);
    drop(tx);
    world.commit(vec![ended(1), released(1, &names)])?;
    let repo_budget = world.store.read()?.budgets(&repo(), Some(&scope("agent:x")), 1)?;
    assert_eq!(repo_budget[0].live.len(), 0);
    Ok(())
}

pub(super) fn runs_fall_due(world: &mut World) -> Outcome {
    let start = world.now();
    let key = Key::Run(repo(), RunId(1));
    let at = |secs: i64| Some(start.plus(Millis::from_secs(secs)));
    let extras = |due| Extras { due: [(key.clone(), due)].into(), ..Extras::default() };
    let find = |world: &mut World, until: Timestamp| world.store.read()?.due(until, 9);
    let late = start.plus(Millis::from_secs(99));
    world.commit_with(vec![queued(1, "T1")], &extras(at(10)))?;
    assert_eq!(find(world, start)?, []);
    assert_eq!(find(world, late)?, std::slice::from_ref(&key));
    world.commit(vec![started(1)])?;
    assert_eq!(
        find(world, late)?,
        std::slice::from_ref(&key),
        "a change that says nothing of the time"
    );
    world.commit_with(vec![], &extras(None))?;
    assert_eq!(find(world, late)?, []);
    Ok(())
}

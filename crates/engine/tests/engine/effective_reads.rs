//! Reads never write, and show what has expired as expired.

use crate::support::{World, by_id, claim_best};
use comity_api::{DecisionFilter, LeaseFilter, Nothing, TaskFilter, op};
use comity_core::command::{Command, Question};
use comity_core::status::Status;

#[test]
fn rule_4_5_reads_show_the_effective_state_and_write_nothing() {
    for mut world in World::both() {
        for n in 0..5 {
            world.create(&format!("Task {n}"), |new| new.files = vec![format!("f{n}")]);
        }
        world.run("agent-1", claim_best());
        world.run("agent-2", claim_best());
        world.sleep(1000);
        let head = world.head();
        let queued = TaskFilter { statuses: vec![Status::Queued], ..TaskFilter::default() };
        let list = world.ask::<op::TaskList>("human:ann", queued);
        let ids: Vec<&str> =
            list["tasks"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["T1", "T2", "T3", "T4", "T5"]);
        let leases = world.ask::<op::LeaseList>("human:ann", LeaseFilter::default());
        assert_eq!(leases["leases"].as_array().unwrap().len(), 0);
        let status = world.ask::<op::Status>("human:ann", Nothing {});
        assert_eq!(status["counts"]["queued"], 5);
        assert_eq!(status["counts"]["claimed"], 0);
        assert_eq!(status["leases"], 0);
        assert_eq!(world.head(), head);
    }
}

#[test]
fn pages_follow_each_other_without_gaps_while_claims_expire() {
    for mut world in World::both() {
        for n in 0..25 {
            world.create(&format!("Task {n}"), |_| {});
        }
        for n in 0..10 {
            world.run(&format!("agent-{n}"), claim_best());
        }
        world.sleep(1000);
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let filter = TaskFilter {
                ready: true,
                limit: Some(4),
                after: after.clone(),
                ..TaskFilter::default()
            };
            let page = world.ask::<op::TaskList>("agent-x", filter);
            seen.extend(
                page["tasks"].as_array().unwrap().iter().map(|t| t["number"].as_u64().unwrap()),
            );
            match page["next"].as_str() {
                Some(next) => after = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(seen, (1..=25).collect::<Vec<u64>>());
    }
}

#[test]
fn rule_6_3_a_deadline_is_seen_without_any_writer() {
    for mut world in World::both() {
        world.run(
            "agent-1",
            Command::DecisionAsk(Box::new(Question {
                question: "Now?".to_owned(),
                task: None,
                options: Vec::new(),
                kind: None,
                context: None,
                default: Some("yes".to_owned()),
                to: None,
                expires: comity_core::time::Millis::parse("1m"),
            })),
        );
        world.sleep(61);
        let decision = world.ask::<op::DecisionShow>("agent-1", by_id("D1"));
        assert_eq!(decision["decision"]["state"], "defaulted");
        assert_eq!(decision["decision"]["answer"], "yes");
        let open = world.ask::<op::DecisionList>("agent-1", DecisionFilter::default());
        assert_eq!(open["decisions"].as_array().unwrap().len(), 0);
    }
}

#[test]
fn a_list_of_ready_tasks_goes_on_past_many_that_are_not() {
    let mut world = World::memory();
    for n in 0..5_100 {
        world.create(&format!("Task {n}"), |new| new.blockers = vec!["vendor".to_owned()]);
    }
    world.create("Last", |_| {});
    let mut after = None;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let (limit, after_last) = (Some(500), after.take());
        let filter = TaskFilter { ready: true, limit, after: after_last, ..TaskFilter::default() };
        let list = world.ask::<op::TaskList>("agent-x", filter);
        seen.extend(list["tasks"].as_array().unwrap().iter().map(|t| t["title"].clone()));
        after = list["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["Last"]);
}

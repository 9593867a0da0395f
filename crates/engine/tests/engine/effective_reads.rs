//! Reads never write, and show what has expired as expired.

use crate::support::{World, by_id, claim_best};
use comity_api::{DecisionFilter, LeaseFilter, Nothing, TaskFilter, op};
use comity_core::command::{Command, Question};
use comity_core::status::Status;

#[test]
fn rule_4_5_reads_show_the_effective_state_and_write_nothing() {
    for mut world in World::all() {
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
    for mut world in World::all() {
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
    for mut world in World::all() {
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
                proposes: None,
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

fn ids(answer: &serde_json::Value) -> Vec<String> {
    let tasks = answer["tasks"].as_array().unwrap();
    tasks.iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn open_tasks_come_in_the_order_of_claims_and_all_tasks_by_number() {
    for mut world in World::all() {
        for (title, priority) in [("One", "P3"), ("Two", "P0"), ("Three", "P2"), ("Four", "P0")] {
            let priority = comity_core::task::Priority::parse(priority).unwrap();
            world.create(title, |new| new.priority = Some(priority));
        }
        world.run("agent-1", claim_best());
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let filter = TaskFilter { limit: Some(3), after, ..TaskFilter::default() };
            let page = world.ask::<op::TaskList>("agent-x", filter);
            seen.extend(ids(&page));
            after = page["next"].as_str().map(str::to_owned);
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, ["T2", "T4", "T3", "T1"]);
        let all = TaskFilter { all: true, ..TaskFilter::default() };
        assert_eq!(ids(&world.ask::<op::TaskList>("agent-x", all)), ["T1", "T2", "T3", "T4"]);
        let ready = TaskFilter { ready: true, ..TaskFilter::default() };
        assert_eq!(ids(&world.ask::<op::TaskList>("agent-x", ready)), ["T4", "T3", "T1"]);
        let found = TaskFilter { search: Some("thr".to_owned()), ..TaskFilter::default() };
        assert_eq!(ids(&world.ask::<op::TaskList>("agent-x", found)), ["T3"]);
    }
}

#[test]
fn the_story_of_a_task_is_bounded_and_its_newest_comes_first() {
    for mut world in World::all() {
        world.create("Work", |_| {});
        for n in 0..130 {
            let note = Command::Note {
                kind: "progress".to_owned(),
                text: format!("step {n}"),
                task: Some("T1".to_owned()),
            };
            world.run("agent-1", note);
        }
        let story = world.ask::<op::TaskStory>("human:ann", by_id("T1"));
        let events = story["events"].as_array().unwrap();
        assert_eq!((events.len(), &story["more"]), (100, &true.into()));
        assert_eq!(events[0]["text"], "step 129");
        let page = comity_api::LogFilter { limit: Some(2), ..Default::default() };
        let log = world.ask::<op::Log>("human:ann", page);
        let next = log["next"].as_str().unwrap().to_owned();
        assert_eq!(log["events"][1]["text"], "step 128");
        let page = comity_api::LogFilter { after: Some(next), ..Default::default() };
        assert_eq!(world.ask::<op::Log>("human:ann", page)["events"][0]["text"], "step 127");
    }
}

//! Heartbeats keep what is held, also when it is short-lived.

use crate::support::World;
use comity_core::command::{ClaimWish, Command, TaskVerb};
use comity_core::time::Millis;

fn short_claim(seconds: i64) -> Command {
    Command::Claim(ClaimWish { ttl: Some(Millis::from_secs(seconds)), ..ClaimWish::default() })
}

#[test]
fn rule_4_4_heartbeats_in_time_keep_even_a_claim_of_two_seconds() {
    for mut world in World::all() {
        let id = world.create("Short", |new| new.files = vec!["a".to_owned()]);
        world.run("agent-1", short_claim(2));
        for _ in 0..20 {
            world.sleep(1);
            world.run("agent-1", Command::Heartbeat);
        }
        assert_eq!(world.status(&id), "claimed");
        world.sleep(3);
        assert_eq!(world.status(&id), "queued");
    }
}

#[test]
fn rule_2_3_heartbeats_in_time_keep_work_that_was_sent_back_with_a_short_life() {
    for mut world in World::all() {
        let id = world.create("Short", |_| {});
        world.run("agent-1", short_claim(4));
        world.run("agent-1", crate::support::start(&id));
        world.run("agent-1", crate::support::submit(&id, "abcdef1"));
        let again = TaskVerb::RequestChanges.on(id.clone(), Some("more".to_owned()));
        world.run("human:ann", again);
        for _ in 0..12 {
            world.sleep(1);
            world.run("agent-1", Command::Heartbeat);
        }
        assert_eq!(world.status(&id), "changes_requested");
        world.sleep(6);
        assert_eq!(world.status(&id), "queued");
    }
}

#[test]
fn rule_4_4_any_accepted_command_is_a_sign_of_life_and_a_refused_one_is_not() {
    for mut world in World::all() {
        let id = world.create("Short", |_| {});
        world.run("agent-1", short_claim(4));
        for _ in 0..5 {
            world.sleep(3);
            let text = "still here".to_owned();
            world.run("agent-1", Command::Note { kind: "progress".to_owned(), text, task: None });
        }
        assert_eq!(world.status(&id), "claimed");
        world.sleep(3);
        assert!(world.try_as("agent-1", crate::support::claim("T99")).is_err());
        world.sleep(2);
        assert_eq!(world.status(&id), "queued");
    }
}

#[test]
fn rule_4_4_a_sign_of_life_with_a_fence_counts_for_that_grant_only() {
    for mut world in World::all() {
        world.create("One", |_| {});
        world.create("Two", |_| {});
        let first = world.run("agent-1", short_claim(10));
        world.run("agent-1", short_claim(10));
        let fence = first["fence"].as_u64().unwrap();
        world.sleep(8);
        world.with_fence("agent-1", fence, Command::Heartbeat).unwrap();
        world.sleep(4);
        assert_eq!(world.status("T1"), "claimed");
        assert_eq!(world.status("T2"), "queued");
    }
}

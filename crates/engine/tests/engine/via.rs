//! Every event says through which process it came.

use crate::support::{World, caller, claim, claim_best, retitle, start};
use comity_api::{EventFilter, op};
use comity_core::command::{Command, TaskVerb};
use comity_core::via::Via;
use comity_engine::Caller;
use serde_json::{Value, json};

fn from(session: &str) -> Via {
    Via {
        client: Some("claude-code".to_owned()),
        session: Some(session.to_owned()),
        ..Via::default()
    }
}

fn events(world: &mut World) -> Vec<Value> {
    let answer = world.ask::<op::EventList>("human:ann", EventFilter::default());
    answer["events"].as_array().unwrap().clone()
}

fn run_from(world: &mut World, session: &str, actor: &str, command: Command) {
    let request = world.request(actor, command);
    let request = comity_core::command::Request { via: from(session), ..request };
    world.engine.execute(request).unwrap();
}

#[test]
fn rule_1_6_every_event_carries_via_and_the_log_still_proves_the_rows() {
    for mut world in World::all() {
        world.create("One", |new| new.files = vec!["a".to_owned()]);
        run_from(&mut world, "s1", "agent-1", claim_best());
        run_from(&mut world, "s1", "agent-1", retitle("T1", "Two"));
        for event in events(&mut world) {
            let here = match event["agent"].as_str() {
                Some("agent-1") => json!({"client": "claude-code", "session": "s1"}),
                _ => json!({"host": "host-1"}),
            };
            assert_eq!(event["via"], here, "{event}");
            let keys: Vec<&String> = event.as_object().unwrap().keys().collect();
            assert_eq!(keys[keys.len() - 3], "via", "the last of an event's own fields");
        }
        world.assert_log_is_sound();
    }
}

#[test]
fn rule_1_6_what_time_brought_about_carries_the_via_of_the_request_that_noticed() {
    for mut world in World::all() {
        world.create("One", |_| {});
        run_from(&mut world, "s1", "agent-1", claim_best());
        world.sleep(100_000);
        let text = "hello".to_owned();
        let note = Command::Note { kind: "progress".to_owned(), text, task: None };
        run_from(&mut world, "s2", "agent-2", note);
        let swept: Vec<Value> =
            events(&mut world).into_iter().filter(|event| event["agent"] == "watchdog").collect();
        assert!(!swept.is_empty());
        for event in swept {
            assert_eq!(event["via"]["session"], "s2", "{event}");
        }
        world.assert_log_is_sound();
    }
}

#[test]
fn two_agents_under_one_id_on_two_hosts_are_both_told() {
    for mut world in World::all() {
        world.create("One", |_| {});
        world.create("Two", |_| {});
        let run = |host: &str, command: Command| -> Vec<String> {
            let via = Via { host: Some(host.to_owned()), ..Via::default() };
            let caller = Caller { via, ..caller("ada") };
            world.engine.run(&caller, command).unwrap().remarks
        };
        assert_eq!(run("h1", claim("T1")), [""; 0], "{}", world.name);
        let told = "note: ada also works on T1 from host h1; this command comes from host h2. \
                    If these are two agents, give each an id of its own (COMITY_AGENT)";
        assert_eq!(run("h2", claim("T2")), [told], "{}", world.name);
        let told = run("h1", start("T1")).concat();
        assert!(told.contains("ada also works on T2 from host h2;"), "{}: {told}", world.name);
        assert_eq!(run("h1", TaskVerb::Release.on("T1".to_owned(), None)), [""; 0]);
        // What has expired is nobody's.
        world.sleep(100_000);
        assert_eq!(run("h1", claim("T1")), [""; 0], "{}", world.name);
    }
}

#[test]
fn rule_5_4_a_secret_in_via_is_gone_before_the_append() {
    for mut world in World::all() {
        let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let text = "hello".to_owned();
        let note = Command::Note { kind: "progress".to_owned(), text, task: None };
        run_from(&mut world, &secret, "agent-1", note);
        let log = json!(events(&mut world)).to_string();
        assert!(!log.contains(&secret) && log.contains("[redacted:"), "{log}");
    }
}

//! One command under a clock that is years ahead stops expiry, until a person says that the clock is right.

use crate::support::{World, caller, claim};
use comity_api::{Nothing, op};
use comity_core::command::{Command, LeaseChange};
use comity_core::refusal::Code;
use comity_core::time::Millis;
use serde_json::Value;

/// Twenty years, in seconds.
const AHEAD: i64 = 20 * 365 * 86_400;

fn acquire(path: &str) -> Command {
    Command::Lease(LeaseChange::Acquire {
        patterns: vec![path.to_owned()],
        task: None,
        ttl: Some(Millis::from_secs(60)),
        shared: false,
        purpose: None,
    })
}

fn kinds(world: &World) -> Vec<String> {
    let answer = world.ask::<op::Status>("bob", Nothing {});
    let list = answer["attention"].as_array().unwrap().clone();
    list.iter().map(|one: &Value| one["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn rule_5_1_the_log_goes_back_only_where_a_person_corrects_the_clock_and_expiry_counts_from_there()
{
    for mut world in World::all() {
        let task = world.create("one", |new| new.files = vec!["src/".to_owned()]);
        world.sleep(AHEAD);
        world.run("ada", claim(&task));
        world.run("ada", acquire("docs/"));
        world.run("eve", acquire("web/"));
        world.run("ada", Command::Heartbeat);
        world.sleep(-AHEAD);
        world.sleep(3_600);
        // An hour later nothing has expired: the log's time stands still.
        world.refused("bob", acquire("web/a"), Code::LeaseHeld);
        world.refused("bob", acquire("docs/a"), Code::LeaseHeld);
        assert!(kinds(&world).contains(&"clock".to_owned()));
        assert!(world.engine.clock_ahead().unwrap() > Millis::from_secs(86_400));
        world.assert_log_is_sound();

        let refused = world.engine.correct_clock(&caller("bob")).unwrap_err();
        assert_eq!(refused.code, Code::HumanOnly);
        let before = world.engine.store_time().unwrap();
        world.engine.correct_clock(&caller("human:ann")).unwrap();
        assert!(world.engine.store_time().unwrap() < before);
        assert_eq!(world.engine.clock_ahead().unwrap(), Millis::default());
        assert!(!kinds(&world).contains(&"clock".to_owned()));
        world.assert_log_is_sound();

        // What was granted under the wrong clock lives from the correction on.
        world.refused("bob", acquire("web/a"), Code::LeaseHeld);
        world.sleep(61);
        world.run("bob", acquire("web/a"));
        world.run("bob", acquire("docs/a"));
        world.sleep(900);
        world.run("bob", claim(&task));
        world.assert_log_is_sound();
        let refused = world.engine.correct_clock(&caller("human:ann")).unwrap_err();
        assert_eq!(refused.code, Code::InvalidInput, "a log that is not ahead stays as it is");
    }
}

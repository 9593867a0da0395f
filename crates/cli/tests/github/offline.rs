//! Days without GitHub: both sides go on, and end equal.

use crate::{field, is_long};
use comity_standin::{AGENT, ANN, operations};
use std::process::Command;

#[test]
fn three_days_offline_lose_nothing_and_say_nothing_twice() {
    let (issues, rounds) = if is_long() { (300, 7) } else { (8, 3) };
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    for number in 1..=issues {
        field.open("ann", &format!("Issue {number}"), "Do it.", &["agent:ready"]);
    }
    engine.settle();
    field.cut_off();
    assert_eq!(engine.call(ANN, &["github", "sync"]).exit, 5);
    // 72 hours pass on this side, a call an hour or so.
    let far = |who: &str, hours: u64, args: &[&str]| {
        let inner = engine.comity(who, args);
        let mut outer = Command::new("faketime");
        outer
            .env_clear()
            .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(&engine.root);
        outer.args(["-f", &format!("+{hours}h")]).arg(inner.get_program()).args(inner.get_args());
        let done = outer.output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    for round in 0..rounds {
        for number in 1..=issues {
            let (id, hours) =
                (format!("T{number}"), 72 * (round * issues + number) / (rounds * issues));
            far(AGENT, hours, &["task", "claim", &id, "--start"]);
            far(AGENT, hours, &["task", "release", &id, "-m", "the night falls"]);
        }
    }
    for number in 1..=issues {
        field.say("eve", number, "I have the same problem.");
        field.say("ann", number, "Thank you.");
        field.label("tess", number, "customer");
    }
    field.hub.calm();
    for _ in 0..3 {
        let sync = engine.sync();
        if sync["pending"] == 0 && sync["writes"] == 0 {
            break;
        }
    }
    engine.settle();
    for number in 1..=issues {
        assert_eq!(field.labels(number), ["agent:ready", "customer"], "#{number}");
        let all: Vec<String> =
            field.said(number).iter().flat_map(|text| operations(text)).collect();
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(all.len(), once.len(), "twice: {all:?}");
        let of = |kind: &str| all.iter().filter(|one| one.ends_with(kind)).count() as u64;
        assert_eq!((of("/claim"), of("/released")), (rounds, rounds), "lost: {all:?}");
        assert!(
            field.said(number).len() < 6,
            "a digest instead of a flood: {:?}",
            field.said(number)
        );
    }
    assert_eq!(engine.sync()["writes"], 0);
}

//! Random steps on both sides, then passes: both sides end equal, and stay so.

use crate::{field, is_long};
use comity_standin::{AGENT, ANN, Engine, Field, at};
use serde_json::json;

/// A small generator, so that a seed says it all.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn place(&mut self, length: u64) -> usize {
        usize::try_from(self.below(length)).unwrap()
    }
}

const WORDS: [&str; 5] =
    ["agent:ready", "agent:in-progress", "agent:blocked", "agent:done", "agent:failed"];

fn here(engine: &Engine, task: &str, what: u64) {
    let _ = match what {
        0..=2 => engine.call(AGENT, &["task", "claim", task, "--start"]),
        3 => engine.call(AGENT, &["task", "release", task, "-m", "later"]),
        4 => engine
            .call(AGENT, &["task", "block", task, "--needs", "an answer", "--question", "Which?"]),
        5 => engine.call(ANN, &["task", "answer", task, "This one"]),
        6 => engine.call(AGENT, &["task", "fail", task, "-m", "it broke"]),
        7 => engine.call(AGENT, &["task", "submit", task, "--empty", "-m", "nothing to do"]),
        8 => engine.call(ANN, &["task", "abandon", task, "-m", "not needed"]),
        _ => engine.call(ANN, &["task", "reopen", task, "-m", "needed after all"]),
    };
}

fn there(field: &Field, issue: u64, what: u64, chance: &mut Chance) {
    let who = ["ann", "bob", "tess", "eve"][chance.place(4)];
    let word = WORDS[chance.place(5)];
    let path = at(&format!("issues/{issue}"));
    let _ = match what {
        0..=2 => {
            field.hub.tries(who, "POST", &format!("{path}/labels"), json!({ "labels": [word] }))
        }
        3 => field.hub.tries(
            who,
            "DELETE",
            &format!("{path}/labels/{}", comity_standin::encoded(word)),
            json!(null),
        ),
        4 => field.hub.tries(
            who,
            "POST",
            &format!("{path}/comments"),
            json!({ "body": "ANSWER:\n\n- That one" }),
        ),
        5 => {
            field.hub.tries(who, "POST", &format!("{path}/comments"), json!({ "body": "Me too." }))
        }
        6 => field.hub.tries(
            who,
            "PATCH",
            &path,
            json!({ "state": "closed", "state_reason": "not_planned" }),
        ),
        7 => field.hub.tries(who, "PATCH", &path, json!({ "state": "open" })),
        8 => field.hub.tries(
            who,
            "POST",
            &format!("{path}/labels"),
            json!({ "labels": ["customer"] }),
        ),
        _ => field.hub.tries(
            who,
            "PATCH",
            &path,
            json!({ "body": format!("Text {}", chance.below(9)) }),
        ),
    };
}

/// Which word an issue should show for a task, and whether it is open.
fn wanted(status: &str) -> (Vec<&'static str>, bool) {
    match status {
        "queued" => (vec!["agent:ready", "agent:in-progress"], true),
        "claimed" | "in_progress" | "changes_requested" => (vec!["agent:in-progress"], true),
        "review" | "approved" | "merging" => (vec!["agent:done"], true),
        "blocked" => (vec!["agent:blocked"], true),
        "failed" => (vec!["agent:failed"], true),
        "done" => (vec!["agent:done"], false),
        "abandoned" => (vec!["agent:failed"], false),
        other => panic!("{other}"),
    }
}

fn walk(seed: u64, steps: u64) -> bool {
    const ISSUES: u64 = 3;
    let Some(field) = field("ace", "") else { return false };
    let engine = field.engine("one");
    let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    for number in 1..=ISSUES {
        field.open("ann", &format!("Issue {number}"), "Do it.", &["agent:ready"]);
    }
    engine.settle();
    for _ in 0..steps {
        let issue = chance.below(ISSUES) + 1;
        let (side, what) = (chance.below(2), chance.below(10));
        if side == 0 {
            here(&engine, &format!("T{issue}"), what);
        } else {
            there(&field, issue, what, &mut chance);
        }
        if chance.below(8) == 0 {
            engine.call(ANN, &["github", "sync"]);
        }
    }
    for _ in 0..3 {
        engine.sync();
    }
    let quiet = engine.sync();
    assert_eq!(
        (&quiet["writes"], &quiet["pending"]),
        (&json!(0), &json!(0)),
        "seed {seed}: the fourth pass still writes: {quiet}"
    );
    let paused = quiet["paused"].to_string();
    for number in 1..=ISSUES {
        let task = engine.task(&format!("T{number}"));
        if paused.contains(&format!("#{number}\"")) {
            continue;
        }
        let status = task["status"].as_str().unwrap();
        let issue = field.issue(number);
        let shown: Vec<String> =
            field.labels(number).into_iter().filter(|name| name.starts_with("agent:")).collect();
        let (words, is_open) = wanted(status);
        let blocked = task["blockers"].as_array().is_some_and(|list| !list.is_empty());
        assert_eq!(shown.len(), 1, "seed {seed}, #{number} is {status}: {shown:?}");
        assert!(
            words.contains(&shown[0].as_str()),
            "seed {seed}, #{number} is {status}: {shown:?} {task}"
        );
        // A close by the author or by triage is not undone; then the task has a blocker that says so.
        assert!(
            is_open == (issue["state"] == "open") || blocked,
            "seed {seed}, #{number} is {status}, the issue {}",
            issue["state"]
        );
    }
    true
}

#[test]
fn both_sides_end_equal_in_three_passes() {
    let (seeds, steps) = if is_long() { (40, 200) } else { (3, 40) };
    for seed in 1..=seeds {
        if !walk(seed, steps) {
            return;
        }
    }
}

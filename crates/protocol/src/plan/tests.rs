//! Whatever a file holds, reading it ends with a plan or with problems.

use super::Earlier;
use crate::{beads, taskmaster};
use proptest::prelude::*;

const BEADS: &str = include_str!("../../tests/golden/beads/issues.jsonl");
const TAGGED: &str = include_str!("../../tests/golden/taskmaster/tagged.json");

/// A golden file with something put in somewhere.
fn mutated(golden: &str, text: &str, at: usize) -> String {
    let mut place = at % (golden.len() + 1);
    while !golden.is_char_boundary(place) {
        place -= 1;
    }
    let (before, after) = golden.split_at(place);
    format!("{before}{text}{after}")
}

fn looked_at(text: &str) {
    let none = Earlier::default();
    for plan in [beads::read(text, &none), taskmaster::read(text, &none)].into_iter().flatten() {
        let order = plan.finishing_order();
        assert_eq!(order.len(), plan.tasks.len());
        assert!(plan.tasks.iter().all(|task| task.new.id.is_some()));
    }
}

proptest! {
    #[test]
    fn no_text_makes_reading_panic(text in "\\PC*", at in 0usize..10_000) {
        looked_at(&text);
        looked_at(&mutated(BEADS, &text, at));
        looked_at(&mutated(TAGGED, &text, at));
    }

    #[test]
    fn no_piece_of_json_makes_reading_panic(
        piece in prop::sample::select(vec!["null", "[]", "{}", "-1", "1e999", "\"\"", "true", "\"\\u0000\""]),
        field in prop::sample::select(vec![
            "id", "title", "status", "priority", "labels", "dependencies", "comments", "subtasks",
            "assignee", "tasks", "relevantFiles", "tags", "complexity", "acceptanceCriteria",
        ]),
    ) {
        let line = format!("{{\"id\":\"a\",\"title\":\"t\",\"{field}\":{piece}}}");
        looked_at(&line);
        looked_at(&format!("{{\"tasks\":[{line}]}}"));
    }
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    let deep = "[".repeat(100_000);
    looked_at(&deep);
    let mut nested = "{\"id\":1,\"title\":\"t\"}".to_owned();
    for _ in 0..60 {
        nested = format!("{{\"id\":1,\"title\":\"t\",\"subtasks\":[{nested}]}}");
    }
    assert!(taskmaster::read(&format!("{{\"tasks\":[{nested}]}}"), &Earlier::default()).is_err());
}

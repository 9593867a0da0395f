//! Garbage, and good contracts with damage done to them: whatever comes, there is a verdict and no panic.

#![expect(
    clippy::disallowed_methods,
    reason = "tests run real processes and read what they are told by the environment"
)]

mod recognise;
mod schema;

use super::*;
use crate::document::{BYTES_MAX, Style, read, to_yaml};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Good contracts of every form, to be damaged.
const GOLDENS: &[&str] = &[
    include_str!("../../goldens/mission.yaml"),
    include_str!("../../goldens/result.yaml"),
    include_str!("../../goldens/result.json"),
    include_str!("../../tests/golden/neomjs/task.yaml"),
    include_str!("../../tests/golden/neomjs/result.yaml"),
    include_str!("../../tests/golden/neomjs/error.yaml"),
    concat!("Done: see.\n\n```yaml\n", include_str!("../../goldens/result.yaml"), "```\n\nBye.\n"),
    include_str!("../../tests/golden/ace/claim-labels.md"),
    include_str!("../../tests/golden/ace/blocked-project.md"),
];
const PIECES: &[&str] = &[
    "\n",
    "\n\n",
    " ",
    "  ",
    "\t",
    ":",
    ": ",
    "- ",
    "-",
    "---\n",
    "...\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    "'",
    "\"",
    "|",
    ">",
    "|2-\n",
    ">+\n",
    "#",
    " #",
    "&a ",
    "*a",
    "!!str ",
    "!",
    "? ",
    "<<: ",
    "%YAML 1.2\n",
    "\\",
    "\\u",
    "null",
    "~",
    "1",
    "-1",
    ".nan",
    "1e999",
    "true",
    "\u{0}",
    "\u{85}",
    "\u{feff}",
    "\r",
    "\r\n",
    "é",
    "😀",
    "../",
    "version",
    "task_id",
    "log",
    "[null]",
    "{}",
    "[]",
    "\n```yaml\n",
    "\n```\n",
    "\nANSWER:",
];
/// What one small contract may take, on a slow and busy machine.
const TIME_MAX: Duration = Duration::from_secs(2);

/// How many cases to run; `COMITY_LONG=1` runs many more.
fn cases(short: u32) -> u32 {
    if std::env::var_os("COMITY_LONG").is_some() { short * 100 } else { short }
}

/// One piece of damage: where, how much is lost, and what comes instead.
fn damage() -> impl Strategy<Value = (usize, usize, String)> {
    let piece = prop::sample::select(PIECES).prop_map(str::to_owned);
    (0..4000usize, 0..30usize, prop_oneof![4 => piece, 1 => "\\PC{0,6}"])
}

fn damaged(text: &str, damages: &[(usize, usize, String)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (place, lost, instead) in damages {
        let from = place % (chars.len() + 1);
        let to = (from + lost).min(chars.len());
        chars.splice(from..to, instead.chars());
    }
    chars.into_iter().collect()
}

/// Everything that can be done with a text.
fn look_at(text: &str) {
    let before = Instant::now();
    let _ = recognise(text);
    for kind in KINDS {
        for mode in [Mode::Full, Mode::Compat, Mode::Strict] {
            let checked = check(text, Some(kind), mode);
            if let (true, Some(tree), Some(report)) =
                (checked.is_valid(), &checked.tree, kind.report)
            {
                let _ = report(tree);
            }
            let lines = u32::try_from(text.split(['\n', '\r']).count() + 1).unwrap();
            assert!(
                checked.problems.iter().all(|p| p.line >= 1 && p.column >= 1 && p.line <= lines)
            );
        }
    }
    if let Ok(tree) = read(text) {
        let value = tree.to_value();
        let written = to_yaml(&value, &Style::default());
        if written.len() < BYTES_MAX {
            assert_eq!(read(&written).map(|tree| tree.to_value()), Ok(value), "{written}");
        }
    }
    assert!(before.elapsed() < TIME_MAX, "{:?} for {text:?}", before.elapsed());
}

#[test]
fn the_goldens_are_good_and_are_written_and_read_without_loss() {
    for (text, name) in GOLDENS.iter().zip(["mission", "result", "result"]) {
        for mode in [Mode::Full, Mode::Compat] {
            let checked = check(text, None, mode);
            assert_eq!(checked.kind.map(|kind| kind.name), Some(name));
            assert!(checked.problems.is_empty(), "{:?}", checked.problems);
        }
        look_at(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(500)))]

    #[test]
    fn a_damaged_contract_gets_a_verdict(
        golden in prop::sample::select(GOLDENS),
        damages in prop::collection::vec(damage(), 1..6),
    ) {
        look_at(&damaged(golden, &damages));
    }

    #[test]
    fn garbage_gets_a_verdict(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        look_at(&pieces.concat());
    }
}

//! Every setting of the fleet has the default that the embedded file says.

use comity_core::supervise::BUILT_IN;
use comity_project::Config;
use std::path::Path;

/// Settings that have a meaning in the file alone: what they name is a constant, or was left out on purpose.
const LEFT_OUT: [&str; 15] = [
    "fleet.kill_grace",
    "fleet.depth",
    "fleet.subagents",
    "workspace.root",
    "workspace.hooks",
    "sandbox.connect",
    "limits.prompt",
    "limits.meta",
    "limits.meta_depth",
    "limits.stream_line",
    "limits.stream",
    "limits.milestones",
    "limits.rows",
    "limits.matches_chars",
    // Without it, work goes into the base branch.
    "merge.target",
];

/// The settings of the embedded file that a project can change, as it would write them.
fn written() -> String {
    let (settings, _) = BUILT_IN.split_once("# ---------- part 2").unwrap();
    let mut table = "";
    let mut text = String::new();
    for line in settings.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            table = name;
        }
        let key = line.split_once(" = ").map(|(key, _)| format!("{table}.{key}"));
        if !key.is_some_and(|key| LEFT_OUT.contains(&key.as_str())) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[test]
fn every_setting_of_the_fleet_is_read_with_the_default_that_the_file_says() {
    let text = written();
    let set = Config::parse(&text, Path::new("config.toml")).unwrap();
    let plain = Config::parse("", Path::new("config.toml")).unwrap();
    assert!(text.contains("no_progress_turns") && text.contains("untracked_file_max"));
    assert_eq!(set.run_times().unwrap(), plain.run_times().unwrap());
    assert_eq!(set.max_duration().unwrap(), plain.max_duration().unwrap());
    assert_eq!(set.patience().unwrap(), plain.patience().unwrap());
    assert_eq!(set.spaces().unwrap(), plain.spaces().unwrap());
    assert_eq!(set.elsewhere().unwrap(), plain.elsewhere().unwrap());
    assert_eq!(set.sandbox().unwrap(), plain.sandbox().unwrap());
    assert_eq!(set.allows_unpriced().unwrap(), plain.allows_unpriced().unwrap());
    assert_eq!(set.supervisor().unwrap(), plain.supervisor().unwrap());
    assert_eq!(set.ci_check().unwrap(), plain.ci_check().unwrap());
    assert_eq!(set.pr_create(), plain.pr_create());
    assert_eq!(set.memories(), plain.memories());
    assert_eq!(set.merging().unwrap(), plain.merging().unwrap());
    assert_eq!(set.agent("developer").unwrap(), plain.agent("developer").unwrap());
    assert_eq!(set.settings().unwrap().policy, plain.settings().unwrap().policy);
}

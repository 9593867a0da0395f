//! What people see of what agents leave each other, of the life of a task, of runs, merges and GitHub, at 80 and 120 columns;
//! and that no command is left out.

use crate::runs::{DONE, with_agent};
use crate::sandbox::Sandbox;
use crate::screens::{self, record, record_colours};
use crate::tool_screens;

/// In this order: some of them change what the next ones show.
const SEEN: &str = "\
task breakdown plan.yaml
note change dates-are-parsed-in-one-place-now --path src/date.rs --task T1
tell ada the-interface-of-dates-is-out
tell critic please-look-at-the-plan
pad append begin-with-ISO-8601 T2
pad write README.md T2 --section Notes
pad show T2
pad history T2
pad show T3
interface publish dates README.md --path src/date.rs
interface list
interface show dates
interface show times
brief src/date.rs
brief T2
brief nowhere
agent register dee --role integrator --skill git
agent define list
agent define check
agent define show scout
run developer --task T1 --driver script --wait
run developer --task T9 --driver script
runs
run show R1
run logs R1
run why R1
run diff R1
run stop R1
run pause R1
run resume R1
run steer R1 hurry
cost
budget set repo --usd 10 --per day
budget set agent:developer --runs 3
budget list
budget clear repo
budget clear repo
workspace list
workspace remove nothing
gate run T1
task review T1
task request-changes T1 --reason leap-years-are-missing
task show T1
task start T1
task handoff T1 --subtask leap-years
task submit T1 --empty --reason they-were-there
task approve T1
merge queue
merge probe
merge run
merge queue
release v1
release v1
workspace list
workspace gc
why T1
why src/date.rs
why human:ann
why nothing-of-that-name
task claim T2 --start
lease renew L1
lease release L1
lease renew L9
snapshot
snapshot --list
task undo
task start T2
task block T2 --needs a-key
task unblock T2
task transition T2 claimed
task release T2 --reason later
task start T2
task fail T2 --reason the-parser-is-too-slow
task requeue T2
task undo
task start T2
task submit T2
task approve T2
task merge T2
task done T2
task land T2
task reopen T2 --reason it-came-back
decision ask which-calendar? --option iso:ISO-8601 --option local --context both-are-in-use
decision wait D1 --timeout 1s
decision answer D1 iso:like-everybody
decision wait D1
memory write dates-are-UTC --type fact
memory update M1 dates-are-UTC-everywhere
memory forget M1
directive create update-the-dependencies --trigger idle
directive trigger I1
directive toggle I1
directive delete I1
event emit {\"event\":\"deployed\",\"text\":\"to-the-test-host\"}
supervise --dry-run
supervise --status
supervise --stop
neo runs
neo cost
neo do look-around
neo task update T2 --status blocked
neo memory write --type fact --scope . CI-runs-the-compiled-output
neo memory update M2 CI-runs-what-it-compiled
neo memory forget M2
collab acquire-lease docs/app.md codex-cli T3
collab renew-lease L9 codex-cli
collab release-lease L9 codex-cli
contract apply README.md --task T1
github setup --dry-run
github doctor
github status
github quota
github sync --dry-run
github publish T2
github pr T2
github pause 1
github resume 1
github forget
import github 7
link
board
guard commit README.md
guard push origin there
task create Explain-times --file docs/times.md --gate tests --priority high
log
";

const PLAN: &str = "- title: Print dates\n  files: [src/print.rs]\n- title: Document dates\n  key: docs\n  depends_on: [T1]\n";

/// A project with one run behind it, or about to be.
fn crew() -> Sandbox {
    let work =
        "mkdir -p src; echo 1 > src/date.rs; git add src; git commit -q -m 'feat(T1): dates'";
    let agent = format!("echo 'I parse dates.'\n{work}\n{DONE}");
    let sandbox = with_agent(&agent, "[gate.tests]\ncommand = 'true'");
    sandbox.write("plan.yaml", PLAN);
    sandbox
}

#[test]
fn what_crews_see_fits_80_and_120_columns() {
    for columns in [80, 120] {
        let seen = record(&crew(), columns, SEEN);
        insta::assert_snapshot!(format!("crews_at_{columns}"), seen);
    }
}

#[test]
fn what_crews_see_is_coloured_for_light_and_dark() {
    insta::assert_snapshot!("crews_coloured", record_colours(&[crew(), crew()], SEEN));
}

#[test]
fn no_command_is_left_out_of_the_screens() {
    let page = include_str!("../../../../docs/reference/commands.md");
    let commands: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("## comity ")).collect();
    let seen: Vec<&str> =
        [SEEN, screens::SEEN, tool_screens::SEEN].iter().flat_map(|list| list.lines()).collect();
    // They serve, follow, work or play until somebody ends them, or speak to programs; each has tests of its own.
    let apart = [
        "demo",
        "event tail",
        "export json",
        "github serve",
        "guard hook",
        "mcp",
        "neo agents",
        "neo child spawn",
        "neo run",
        "neo supervise",
        "neo supervisor activity",
        "neo supervisor status",
        "objective blocked",
        "objective complete",
        "objective dispatch",
        "rpc",
        "serve",
        "up",
        "worker",
        "workers",
    ];
    for command in &commands {
        let is_group = commands.iter().any(|other| other.starts_with(&format!("{command} ")));
        let is_seen =
            seen.iter().any(|line| format!("{line} ").starts_with(&format!("{command} ")));
        assert!(
            is_group || is_seen || apart.contains(command),
            "add `{command}` to a list of screens"
        );
    }
}

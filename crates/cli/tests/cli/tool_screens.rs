//! What people see of the commands that set up, check, bring in, hand out and stand for other tools, at 80 and 120 columns.

use crate::sandbox::Sandbox;
use crate::screens::{busy, record, record_colours};

const BEADS: &str = include_str!("../../../protocol/tests/golden/beads/issues.jsonl");
const TASKMASTER: &str = include_str!("../../../protocol/tests/golden/taskmaster/tagged.json");
const TREE: [(&str, &str); 4] = [
    ("state/agents.json", include_str!("../../../protocol/tests/golden/collab/agents.json")),
    ("state/tasks.json", include_str!("../../../protocol/tests/golden/collab/tasks.json")),
    ("state/locks.json", include_str!("../../../protocol/tests/golden/collab/locks.json")),
    ("events/events.jsonl", include_str!("../../../protocol/tests/golden/collab/events.jsonl")),
];
const V1: &str = r#"{"tasks": [{"id": "old-1", "description": "An old task with a description that goes on for a while", "status": "in_progress"}]}"#;

/// In this order: some of them change what the next ones show.
pub const SEEN: &str = "\
init --dry-run --clients claude,codex
init --clients claude,codex --no-hooks
init --clients claude --no-hooks
init --remove --dry-run
init --clients nobody
doctor
prime
import beads issues.jsonl --dry-run
import beads issues.jsonl --with-state
import beads issues.jsonl
import beads nothing.jsonl
import taskmaster tasks.json
import collab tree
import collab tree --with-state
import v1 state.json
import neo nowhere
export collab out
export neo out
sync collab out
sync collab nowhere
report board --output BOARD.md
report log --output LOG.md
neo decision list
neo decision pending
neo decision create which-way? --options a:This,b:That
neo decision get D1
neo decision answer D1 iso
neo task create --scope . --priority high T9:-JWT
neo task list
neo directive create launch-scout --trigger idle
neo directive list
neo directive show I1
neo directive toggle I1
neo directive delete I1
neo memory write --type fact --scope . CI-runs-the-compiled-output
neo memory list
neo memory search compiled
neo memory recent
neo memory stats
neo log milestone T1-done
neo logs --short
neo
collab create-task --title Parse-times --labels backend,api
collab list-tasks
collab update-task T3 --priority P1
collab transition-task T3 in_progress
collab transition-task T3 done
collab acquire-lease src/app.py codex-cli T3
collab emit-event {\"event\":\"tests_run\",\"task\":\"T3\",\"result\":\"pass\"}
collab generate-log
trust
trust --list
trust --remove
--root elsewhere status
--root elsewhere trust
--root elsewhere trust --list
--root elsewhere trust --remove
token list
token create --agent codex:web
token list
token revoke nothing
config get gates.required
config set gates.required tests,review
config set limits.ttl soon
config set nothing 1
store backup backup.db
store backup backup.db
store restore backup.db
store copy sqlite:backup.db sqlite:copy.db
guard check
guard check T1
guard commit message
guard push origin somewhere
with --task T1 -- true
with --task T1 --gate tests -- true
with --task T1 --gate tests -- false
with -- no-such-command
serve --listen 0.0.0.0:1
lease reclaim
log rebuild
man pages
completions tcsh
contract schema nothing
whoami
";

fn equipped() -> Sandbox {
    let sandbox = busy();
    sandbox.write("issues.jsonl", BEADS);
    sandbox.write("tasks.json", TASKMASTER);
    sandbox.write("state.json", V1);
    for (name, text) in TREE {
        sandbox.write(&format!("tree/{name}"), text);
    }
    sandbox.write("message", "Add the parser\n\nIt parses.\n");
    sandbox.write(
        "elsewhere/.comity/config.toml",
        "[store]\nurl = \"sqlite:../other/comity.db\"\n[gate.tests]\ncommand = \"make test\"\n",
    );
    sandbox
}

#[test]
fn what_tools_and_set_up_print_fits_80_and_120_columns() {
    for columns in [80, 120] {
        let seen = record(&equipped(), columns, SEEN);
        insta::assert_snapshot!(format!("tools_at_{columns}"), seen);
    }
}

/// Of one task: a board orders tasks by the second of their last change.
#[test]
fn what_tools_and_set_up_print_is_coloured_for_light_and_dark() {
    insta::assert_snapshot!("tools_coloured", record_colours(&[equipped(), equipped()], SEEN));
}

#[test]
fn reports_and_a_log_in_neos_words_are_as_recorded() {
    let sandbox = Sandbox::new();
    sandbox.json(&["new", "Parse dates", "--file", "src/date/**", "--as", "human:ann"]);
    let seen = record(&sandbox, 80, "report board\nreport log\nneo log\nneo task list\nprime\n");
    insta::assert_snapshot!("reports", seen);
}

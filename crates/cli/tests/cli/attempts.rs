//! The table of attempts: an agent tries to get a change of a file in that another one has leased. Each attempt is made with
//! real git and the real binary, and everything that says no is noted. None lands. The table is a page of the documents.

use crate::sandbox::{Done, Sandbox};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Output;

const AGENT: &str = "claude-code:11111111";
const SESSION: &str = "s-11111111";
const HELD: &str = "src/held.rs";
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guard.md");
const BEGIN: &str = "<!-- attempts: made by crates/cli/tests/cli/attempts.rs -->\n";
const END: &str = "<!-- attempts end -->\n";

/// How a file is written behind the back of the hooks before an edit.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    /// The client calls its hooks around the command.
    Around(&'static str),
    /// The command goes on after the client has called its last hook, or never called one.
    Later,
    /// No client runs it.
    Never,
}

/// How the change gets into a commit.
#[derive(Clone, Copy, PartialEq)]
enum Commit {
    /// `git commit`, and again with `--no-verify` when that is refused.
    Asked,
    /// The command commits by itself.
    ByItself,
}

struct Attempt {
    name: &'static str,
    /// Before anybody holds the file.
    before: &'static str,
    run: &'static str,
    seen: Seen,
    commit: Commit,
    /// What has to say no, at the least.
    stopped_by: &'static str,
}

const SHELL: Attempt = Attempt {
    name: "",
    before: "",
    run: "",
    seen: Seen::Around("Bash"),
    commit: Commit::Asked,
    stopped_by: "L C S M",
};
/// A branch `side` with the change, made while the file was free.
const SIDE: &str =
    "git switch -qc side && echo two > src/held.rs && git commit -qam two && git switch -q ada";

const WRITES: &[Attempt] = &[
    Attempt {
        name: "tool of another MCP server",
        run: "echo two > src/held.rs",
        seen: Seen::Around("mcp__files__write"),
        ..SHELL
    },
    Attempt { name: "`sed -i`", run: "sed -i s/one/two/ src/held.rs", ..SHELL },
    Attempt {
        name: "`python -c`",
        run: "python3 -c 'open(\"src/held.rs\",\"w\").write(\"two\")'",
        ..SHELL
    },
    Attempt { name: "`mv` onto the file", run: "echo two > x && mv x src/held.rs", ..SHELL },
    Attempt { name: "`mv` of the file away", run: "git mv src/held.rs src/moved.rs", ..SHELL },
    Attempt {
        name: "write through a hard link",
        run: "ln src/held.rs link.rs && echo two >> link.rs",
        ..SHELL
    },
    Attempt {
        name: "command that fails after it wrote",
        run: "echo two > src/held.rs; false",
        ..SHELL
    },
    Attempt {
        name: "command in the background",
        run: "echo two > src/held.rs",
        seen: Seen::Later,
        ..SHELL
    },
    Attempt {
        name: "input to a terminal that is open already",
        run: "echo two > src/held.rs",
        seen: Seen::Later,
        ..SHELL
    },
    Attempt {
        name: "`git apply`",
        before: "sed -i s/one/two/ src/held.rs && git diff > ../p && git checkout -q .",
        run: "git apply ../p",
        ..SHELL
    },
    Attempt {
        name: "`git stash pop`",
        before: "sed -i s/one/two/ src/held.rs && git stash -q",
        run: "git stash pop -q",
        ..SHELL
    },
    Attempt {
        name: "`git checkout BRANCH -- FILE`",
        before: SIDE,
        run: "git checkout -q side -- src/held.rs",
        ..SHELL
    },
    Attempt {
        name: "`git am`",
        before: "git switch -qc side && echo two > src/held.rs && git commit -qam two && git format-patch -q -1 --stdout > ../p && git switch -q ada",
        run: "git am -q ../p",
        commit: Commit::ByItself,
        stopped_by: "L S M",
        ..SHELL
    },
    Attempt {
        name: "`git cherry-pick`",
        before: SIDE,
        run: "git cherry-pick side >/dev/null",
        commit: Commit::ByItself,
        stopped_by: "L S M",
        ..SHELL
    },
    Attempt {
        name: "`git rebase` onto work with the change",
        before: SIDE,
        run: "git rebase -q side",
        commit: Commit::ByItself,
        stopped_by: "L S M",
        ..SHELL
    },
    Attempt {
        name: "`git commit --no-verify`",
        run: "echo two > src/held.rs && git commit -qnam two",
        seen: Seen::Never,
        commit: Commit::ByItself,
        stopped_by: "S M",
        ..SHELL
    },
    Attempt {
        name: "`git commit-tree` and `git update-ref`",
        run: "echo two > src/held.rs && git add -A && git update-ref refs/heads/ada $(git commit-tree -p HEAD -m two $(git write-tree))",
        seen: Seen::Never,
        commit: Commit::ByItself,
        stopped_by: "S M",
        ..SHELL
    },
    Attempt {
        name: "`core.hooksPath=/dev/null`",
        run: "echo two > src/held.rs && git -c core.hooksPath=/dev/null commit -qam two",
        seen: Seen::Never,
        commit: Commit::ByItself,
        stopped_by: "S M",
        ..SHELL
    },
    Attempt {
        name: "git's hook deleted",
        run: "rm $(git rev-parse --git-common-dir)/hooks/pre-commit && echo two > src/held.rs && git commit -qam two",
        seen: Seen::Never,
        commit: Commit::ByItself,
        stopped_by: "S M",
        ..SHELL
    },
    Attempt {
        name: "commit in another branch's work tree, then merged",
        run: "git worktree add -q ../other -b other && cd ../other && echo two > src/held.rs && { git commit -qam two || { echo stopped > ../stopped; git commit -qnam two; }; } && cd - >/dev/null && git merge -q other",
        seen: Seen::Never,
        commit: Commit::ByItself,
        stopped_by: "C S M",
        ..SHELL
    },
    Attempt {
        name: "`git update-index --assume-unchanged`",
        run: "git update-index --assume-unchanged src/held.rs && echo two > src/held.rs && git update-index --no-assume-unchanged src/held.rs",
        seen: Seen::Never,
        stopped_by: "C S M",
        ..SHELL
    },
    Attempt {
        name: "submodule set to another commit",
        run: "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),vendor/lib && \
              { git commit -qm two || { echo stopped > ../stopped; git commit -qnm two; }; }",
        seen: Seen::Never,
        commit: Commit::ByItself,
        stopped_by: "C S M",
        ..SHELL
    },
];

/// An agent with a claim in a work tree of its own.
struct Case {
    sandbox: Sandbox,
    tree: PathBuf,
}

impl Case {
    fn new() -> Case {
        let sandbox = Sandbox::new();
        sandbox.write(HELD, "one\n");
        sandbox.write("src/free.rs", "one\n");
        sandbox.commit(&sandbox.root, "Files");
        sandbox.json(&["init", "--clients", "claude"]);
        sandbox.json(&["task", "create", "Work"]);
        let tree = sandbox.worktree("ada");
        Case { sandbox, tree }
    }

    /// The agent takes its task and bob a file.
    fn begin(&self, held: &str) {
        self.agent(&["task", "start", "T1"]);
        self.sandbox.comity().by("bob").args(&["lease", "acquire", held]).json();
    }

    fn agent(&self, args: &[&str]) -> Value {
        self.sandbox.comity().by(AGENT).at(&self.tree).args(args).json()
    }

    fn shell(&self, script: &str) -> Output {
        let mut command = self.sandbox.clean(OsStr::new("sh"));
        command.args(["-c", script]).current_dir(&self.tree).env("COMITY_AGENT", AGENT);
        command.output().unwrap()
    }

    fn hook(&self, event: &str, tool: &str, input: &Value) -> Done {
        let text = json!({"session_id": SESSION, "cwd": self.tree, "hook_event_name": event,
            "tool_name": tool, "tool_input": input});
        let call = self.sandbox.comity().env("CLAUDECODE", "1").at(&self.tree);
        call.args(&["guard", "hook", "--client", "claude"]).stdin(&text.to_string()).done()
    }

    fn set_land(&self, value: &str) {
        self.sandbox.json(&["config", "set", "guard.land", value]);
    }

    fn submits(&self) -> Result<(), String> {
        let done = self
            .sandbox
            .comity()
            .by(AGENT)
            .at(&self.tree)
            .args(&["task", "submit", "T1", "--json"])
            .done();
        if done.exit == 0 { Ok(()) } else { Err(done.stderr) }
    }

    /// Hands the change in, has it approved, merged and finished, as far as somebody lets it.
    fn lands(&self, stopped: &mut Vec<&'static str>) {
        let is_held = |said: &str| assert!(said.contains("\"lease-held\""), "{said}");
        match self.submits() {
            Ok(()) => return,
            Err(said) => {
                is_held(&said);
                stopped.push("S");
            }
        }
        self.set_land("warn");
        self.submits().unwrap();
        self.sandbox.comity().by("human:ann").args(&["task", "approve", "T1"]).json();
        self.set_land("refuse");
        let step = |verb: &str| {
            let call =
                self.sandbox.comity().by("human:ann").args(&["task", verb, "T1", "--json"]).done();
            (call.exit == 0, call.stderr)
        };
        let tip = self.sandbox.git(&self.sandbox.root, &["rev-parse", "main"]);
        for verb in ["land", "merge"] {
            let (went_on, said) = step(verb);
            assert!(!went_on, "{verb}");
            is_held(&said);
        }
        assert_eq!(self.sandbox.git(&self.sandbox.root, &["rev-parse", "main"]), tip);
        self.set_land("off");
        assert!(step("merge").0);
        self.sandbox.git(&self.sandbox.root, &["merge", "-q", "--no-ff", "-m", "Merge", "ada"]);
        self.set_land("refuse");
        let (done, said) = step("done");
        assert!(!done);
        is_held(&said);
        stopped.push("M");
    }

    fn told_of_writes(&self) -> usize {
        let events = self.sandbox.json(&["event", "list", "--type", "write_seen"]);
        events["events"].as_array().unwrap().len()
    }
}

fn carried_out(attempt: &Attempt) -> Vec<&'static str> {
    let case = Case::new();
    let held = if attempt.name.starts_with("submodule") { "vendor/lib/" } else { HELD };
    assert!(
        case.sandbox
            .clean(OsStr::new("sh"))
            .args(["-c", &format!("true; {}", attempt.before)])
            .current_dir(&case.tree)
            .status()
            .unwrap()
            .success(),
        "{}",
        attempt.name
    );
    case.begin(held);
    let mut stopped = Vec::new();
    let command = json!({"command": attempt.run});
    match attempt.seen {
        Seen::Around(tool) => {
            let before = case.hook("PreToolUse", tool, &command);
            assert_eq!(before.exit, 0, "{}: {}", attempt.name, before.stderr);
            let ran = case.shell(attempt.run).status.success();
            let after = if ran { "PostToolUse" } else { "PostToolUseFailure" };
            let told = case.hook(after, tool, &command).stdout;
            if told.contains(held.trim_end_matches('/')) && told.contains(after) {
                stopped.push("L");
            }
        }
        Seen::Later => {
            assert_eq!(case.hook("PreToolUse", "Bash", &command).exit, 0);
            assert_eq!(case.hook("PostToolUse", "Bash", &command).stdout, "");
            assert!(case.shell(attempt.run).status.success());
            let told = case.hook("PreToolUse", "Bash", &json!({"command": "ls"})).stdout;
            assert_eq!((told.as_str(), case.told_of_writes()), ("", 1), "{}", attempt.name);
            stopped.push("L");
        }
        Seen::Never => {
            let ran = case.shell(attempt.run);
            assert!(
                ran.status.success(),
                "{}: {}",
                attempt.name,
                String::from_utf8_lossy(&ran.stderr)
            );
        }
    }
    if attempt.commit == Commit::Asked {
        if !case.shell("git add -A && git commit -qm two").status.success() {
            stopped.push("C");
            assert!(case.shell("git commit -qnm two").status.success(), "{}", attempt.name);
        }
    } else if case.sandbox.outside().join("stopped").exists() {
        stopped.push("C");
    }
    case.lands(&mut stopped);
    stopped
}

/// An edit that names a file in an unusual way: the hook says no before it is made.
fn edits() -> Vec<(&'static str, Vec<&'static str>)> {
    let case = Case::new();
    std::os::unix::fs::symlink("held.rs", case.tree.join("src/link.rs")).unwrap();
    case.begin(HELD);
    let absolute = case.tree.join(HELD).display().to_string();
    let elsewhere = case.sandbox.root.join(HELD).display().to_string();
    let patch = "*** Begin Patch\n*** Update File: src/held.rs\n@@\n-one\n+two\n*** End Patch";
    let shell = format!("apply_patch <<'E'\n{patch}\nE");
    let named = |file: &str| json!({"file_path": file});
    let tries: Vec<(&str, &str, Value)> = vec![
        ("`Edit`", "Edit", named(HELD)),
        ("`Write`", "Write", named(HELD)),
        ("`NotebookEdit`", "NotebookEdit", json!({"notebook_path": HELD})),
        ("`apply_patch`", "apply_patch", json!({"command": patch})),
        ("`apply_patch` in a shell", "Bash", json!({"command": shell})),
        ("path with `..`", "Edit", named("src/../docs/../src/held.rs")),
        ("absolute path", "Edit", named(&absolute)),
        ("path of another work tree", "Edit", named(&elsewhere)),
        ("symbolic link", "Write", named("src/link.rs")),
    ];
    let mut rows = Vec::new();
    for (name, tool, input) in tries {
        rows.push((name, denied(&case, tool, &input)));
    }
    let case = Case::new();
    case.begin("src/caf\u{e9}.rs");
    rows.push((
        "name in another Unicode form",
        denied(&case, "Write", &named("src/cafe\u{301}.rs")),
    ));
    let case = Case::new();
    case.sandbox.json(&["init", "--clients", "claude", "--fold-case"]);
    case.begin(HELD);
    rows.push((
        "name in another case, where case is folded",
        denied(&case, "Write", &named("SRC/Held.rs")),
    ));
    rows
}

fn denied(case: &Case, tool: &str, input: &Value) -> Vec<&'static str> {
    let done = case.hook("PreToolUse", tool, input);
    assert_eq!((done.exit, done.stdout.as_str()), (2, ""), "{tool} {input}");
    assert!(done.stderr.contains("is leased to bob"), "{}", done.stderr);
    vec!["H"]
}

/// The order of writing and leasing is what the log says, and nothing hides it.
fn orders() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut rows = Vec::new();
    for (name, late) in
        [("written before the other's lease", false), ("leased after it was written", true)]
    {
        let case = Case::new();
        case.agent(&["task", "start", "T1"]);
        assert!(case.shell("echo two > src/held.rs && git commit -qam two").status.success());
        case.sandbox.comity().by("bob").args(&["lease", "acquire", HELD]).json();
        if late {
            case.sandbox.comity().by("bob").args(&["lease", "release", "--all"]).json();
            case.agent(&["lease", "acquire", HELD, "--task", "T1"]);
            let events = case.sandbox.json(&["event", "list", "--type", "file_locked"]);
            assert_eq!(events["events"][1]["late"], true, "{events}");
        }
        let mut stopped = Vec::new();
        case.lands(&mut stopped);
        rows.push((name, stopped));
    }
    let case = Case::new();
    case.agent(&["task", "start", "T1"]);
    case.sandbox.comity().by("bob").args(&["lease", "acquire", HELD, "--ttl", "1s"]).json();
    std::thread::sleep(std::time::Duration::from_millis(1200));
    assert!(case.shell("echo two > src/held.rs && git commit -qam two").status.success());
    let mut stopped = Vec::new();
    case.lands(&mut stopped);
    rows.push(("the other's lease has run out since", stopped));
    rows
}

/// The work brings settings along that switch the land rule off, in the only checkout that there is.
fn settings() -> Vec<(&'static str, Vec<&'static str>)> {
    let tries = [
        ("settings that switch the rule off, in the work", "git switch -qc work"),
        (
            "the same, and the work's branch as `[project] base`",
            "git switch -qc work && printf '[project]\\nbase = \"work\"\\n' >> .comity/config.toml",
        ),
        ("the same in a commit on the base branch itself", "true"),
    ];
    let tried = |(name, before): (&'static str, &str)| {
        let sandbox = Sandbox::new();
        sandbox.write(HELD, "one\n");
        sandbox.json(&["init", "--clients", "none"]);
        sandbox.write(".comity/config.toml", "[guard]\nland = \"refuse\"\n");
        sandbox.commit(&sandbox.root, "Settings");
        sandbox.json(&["task", "create", "Work"]);
        sandbox.comity().by(AGENT).args(&["task", "start", "T1"]).json();
        sandbox.comity().by("bob").args(&["lease", "acquire", HELD]).json();
        let script = format!(
            "{before} && sed -i s/refuse/off/ .comity/config.toml && echo two > {HELD} && git commit -qam two"
        );
        let mut shell = sandbox.clean(OsStr::new("sh"));
        let done = shell.args(["-c", &script]).current_dir(&sandbox.root).status().unwrap();
        assert!(done.success(), "{name}");
        let (error, _) = sandbox.comity().by(AGENT).args(&["task", "submit", "T1"]).refusal();
        assert_eq!(error["code"], "lease-held", "{name}: {error}");
        (name, vec!["S"])
    };
    tries.map(tried).into()
}

/// A push to the base branch is refused, and what is forced past it is found by `guard check` and not finished.
fn pushes() -> Vec<(&'static str, Vec<&'static str>)> {
    let case = Case::new();
    let remote = case.sandbox.outside().join("remote.git").display().to_string();
    case.sandbox.git(&case.sandbox.root, &["init", "-q", "--bare", &remote]);
    case.sandbox.git(&case.sandbox.root, &["remote", "add", "origin", &remote]);
    case.sandbox.git(&case.sandbox.root, &["push", "-q", "origin", "main"]);
    case.begin(HELD);
    let write = "echo two > src/held.rs && git commit -qnam two";
    assert!(case.shell(write).status.success());
    let refused = !case.shell("git push -q origin HEAD:main").status.success();
    let first = ("push to the base branch", if refused { vec!["P"] } else { vec![] });
    assert!(case.shell("git push -q --no-verify --force origin HEAD:main").status.success());
    let check = ["guard", "check", "T1", "--base", "main", "--head", "HEAD", "--json"];
    let checked = case.sandbox.comity().by("ci").at(&case.tree).args(&check).done();
    assert!(checked.exit == 3 && checked.stderr.contains("\"lease-held\""), "{}", checked.stderr);
    let mut stopped = vec!["CI"];
    case.lands(&mut stopped);
    vec![first, ("the same with `--no-verify` or `--force`", stopped)]
}

#[test]
fn every_attempt_is_stopped_and_none_lands() {
    let mut rows = edits();
    for attempt in WRITES {
        let stopped = carried_out(attempt);
        for layer in attempt.stopped_by.split(' ') {
            assert!(stopped.contains(&layer), "{}: not by {layer}, but {stopped:?}", attempt.name);
        }
        rows.push((attempt.name, stopped));
    }
    rows.extend(pushes());
    rows.extend(orders());
    rows.extend(settings());
    let mut table = String::from("| attempt | stopped by |\n|---|---|\n");
    for (name, stopped) in &rows {
        let is_stopped = stopped.iter().any(|layer| matches!(*layer, "H" | "S" | "M" | "P"));
        assert!(is_stopped, "{name} lands: {stopped:?}");
        table.push_str(&format!("| {name} | {} |\n", stopped.join(", ")));
    }
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    let wanted = format!("{head}{BEGIN}{table}{END}{tail}");
    if std::env::var_os("COMITY_BLESS").is_some() {
        std::fs::write(Path::new(PAGE), &wanted).unwrap();
    } else {
        assert_eq!(page, wanted, "docs/guard.md is out of date: run the tests with COMITY_BLESS=1");
    }
}

#[test]
fn a_guard_that_is_missing_killed_slow_or_without_a_store_says_no_and_why() {
    let case = Case::new();
    case.begin(HELD);
    // Missing or killed: the line that Codex runs turns every failure into a no; Claude Code is told to block by its own setting.
    case.sandbox.json(&["init", "--clients", "claude,codex"]);
    let codex = std::fs::read_to_string(case.sandbox.root.join(".codex/hooks.json")).unwrap();
    let codex: Value = serde_json::from_str(&codex).unwrap();
    let line = codex["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    for program in ["exit 127", "kill -9 $$"] {
        let dir = case.sandbox.outside().join("bin");
        std::fs::create_dir_all(&dir).unwrap();
        let fake = dir.join("comity");
        std::fs::write(&fake, format!("#!/bin/sh\n{program}\n")).unwrap();
        std::fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let mut command = case.sandbox.clean(OsStr::new("sh"));
        command.args(["-c", &line]).env("PATH", format!("{}:/usr/bin:/bin", dir.display()));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{program}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("no answer from the guard"));
    }
    let claude = std::fs::read_to_string(case.sandbox.root.join(".claude/settings.json")).unwrap();
    let claude: Value = serde_json::from_str(&claude).unwrap();
    assert_eq!(claude["hooks"]["PreToolUse"][0]["hooks"][0]["onFailure"], "block");
    // Slow: its input never ends.
    let call = case.sandbox.comity().env("CLAUDECODE", "1").at(&case.tree);
    let mut child = call.args(&["guard", "hook", "--client", "claude"]).piped().spawn();
    let start = std::time::Instant::now();
    // Dropping its end of the pipe would end the input.
    let input = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    drop(input);
    assert!(start.elapsed() < std::time::Duration::from_secs(8));
    // Without a store: it is no database any more.
    let store = case.sandbox.root.join(".git/comity/comity.db");
    for end in ["db-wal", "db-shm"] {
        let _ = std::fs::remove_file(store.with_extension(end));
    }
    std::fs::write(&store, "no database").unwrap();
    let done = case.hook("PreToolUse", "Edit", &json!({"file_path": "src/free.rs"}));
    assert_eq!(done.exit, 2);
    assert!(done.stderr.contains("the guard cannot answer"), "{}", done.stderr);
    let done = case.hook("Stop", "", &json!({}));
    assert_eq!(done.exit, 0, "only before a tool");
}

//! `doctor`: what is sound is called so, what is broken is named, and only what is safe is mended.

use crate::sandbox::Sandbox;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// A project with work in it.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["init"]);
    sandbox.json(&["task", "create", "one", "--file", "src/**", "--label", "core"]);
    sandbox.json(&["task", "create", "two", "--depends-on", "T1"]);
    sandbox.comity().by("agent-1").args(&["task", "claim"]).json();
    sandbox.comity().by("agent-1").args(&["decision", "ask", "Which way?"]).json();
    sandbox.json(&["memory", "write", "The way is long", "--type", "fact"]);
    let direct = ["directive", "create", "Scout"];
    sandbox.comity().by("human:ann").args(&direct).json();
    sandbox
}

fn store(sandbox: &Sandbox) -> PathBuf {
    sandbox.root.join(".git/comity/comity.db")
}

/// Does to the database what no comity would do; returns what it says.
fn sql(sandbox: &Sandbox, text: &str) -> String {
    let done = Command::new("sqlite3").arg(store(sandbox)).arg(text).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success() && said.is_empty(), "{text}: {said}");
    String::from_utf8(done.stdout).unwrap()
}

/// The whole log as it is stored.
fn log_rows(sandbox: &Sandbox) -> String {
    sql(sandbox, "SELECT seq, ts, event, repo, agent, task, hex(body), hex(hash) FROM events")
}

/// What doctor found.
#[derive(Debug)]
struct Found {
    answer: Value,
    exit: i32,
}

impl Found {
    fn check(&self, name: &str) -> &Value {
        let checks = self.answer["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap_or(&Value::Null)
    }

    fn text(&self, name: &str, key: &str) -> &str {
        self.check(name)[key].as_str().unwrap_or_default()
    }

    fn state(&self, name: &str) -> &str {
        self.text(name, "state")
    }

    /// The names of the checks that are not ok.
    fn wrong(&self) -> Vec<&str> {
        let checks = self.answer["checks"].as_array().unwrap().iter();
        let wrong = checks.filter(|check| check["state"] != "ok");
        wrong.map(|check| check["name"].as_str().unwrap()).collect()
    }

    fn is_broken(&self) -> bool {
        assert_eq!(self.answer["ok"] == true, self.exit == 0, "{self:?}");
        assert!(self.exit == 0 || self.exit == 1, "{self:?}");
        self.exit == 1
    }
}

fn doctor(sandbox: &Sandbox, args: &[&str]) -> Found {
    let done = sandbox.comity().args(&["doctor", "--json"]).args(args).done();
    assert_eq!(done.stderr, "", "what is wrong is part of the answer");
    Found { answer: serde_json::from_str(&done.stdout).unwrap(), exit: done.exit }
}

/// Breaks the log, which has to be noticed and left as it is.
fn damages_the_log(change: &str) {
    let sandbox = project();
    sql(&sandbox, change);
    let before = log_rows(&sandbox);
    let tasks = sql(&sandbox, "SELECT id, body FROM tasks");
    for args in [&[][..], &["--fix"]] {
        let found = doctor(&sandbox, args);
        assert!(found.is_broken(), "{change}: {found:?}");
        assert_eq!(found.state("log"), "fail", "{change}");
        assert_eq!(found.check("log")["fixed"], false, "{change}");
        assert_ne!(found.text("log", "hint"), "", "{change}");
    }
    let said = doctor(&sandbox, &["--fix"]);
    let by_backup = |name| said.text(name, "hint").contains("backup");
    assert!(by_backup("log") || by_backup("integrity"), "{said:?}");
    assert_eq!(log_rows(&sandbox), before, "a damaged log is evidence");
    assert_eq!(sql(&sandbox, "SELECT id, body FROM tasks"), tasks);
    assert_eq!(sandbox.comity().args(&["log", "verify"]).done().exit, 1);
}

/// Breaks rows beside the log, which has to be noticed and mended from the log.
fn damages_rows(change: &str) {
    let sandbox = project();
    let before = log_rows(&sandbox);
    let tasks = sandbox.json(&["task", "list"]);
    sql(&sandbox, change);
    let found = doctor(&sandbox, &[]);
    assert!(found.is_broken(), "{change}: {found:?}");
    let broken: Vec<String> = found.wrong().into_iter().map(str::to_owned).collect();
    assert!(doctor(&sandbox, &[]).is_broken(), "{change}: looking mends nothing");
    let mended = doctor(&sandbox, &["--fix"]);
    assert!(!mended.is_broken(), "{change}: {mended:?}");
    for name in broken {
        assert_eq!(mended.check(&name)["fixed"], true, "{change}: {mended:?}");
    }
    let after = doctor(&sandbox, &[]);
    assert!(after.wrong().is_empty(), "{change}: {after:?}");
    assert_eq!(log_rows(&sandbox), before, "{change}");
    assert_eq!(sandbox.json(&["task", "list"]), tasks, "{change}");
}

#[test]
fn a_healthy_project_is_all_ok() {
    let sandbox = Sandbox::new();
    sandbox.json(&["init"]);
    sandbox.json(&["task", "create", "one"]);
    insta::assert_snapshot!("healthy", sandbox.screen(&["doctor"]));
    for args in [&[][..], &["--fix"]] {
        let found = doctor(&sandbox, args);
        assert!(!found.is_broken());
        assert!(found.wrong().is_empty(), "{found:?}");
        let checks = found.answer["checks"].as_array().unwrap();
        assert!(checks.iter().all(|check| check["fixed"] == false), "nothing was to be mended");
    }
}

#[test]
fn an_edited_event_is_reported_and_left_alone() {
    damages_the_log("UPDATE events SET agent = 'human:eve' WHERE seq = 2");
    damages_the_log("UPDATE events SET ts = ts - 1 WHERE seq = 2");
    let body = "CAST(replace(CAST(body AS TEXT), 'one', 'won') AS BLOB)";
    damages_the_log(&format!("UPDATE events SET body = {body} WHERE event = 'task_created'"));
    damages_the_log("UPDATE events SET body = CAST('{' AS BLOB) WHERE seq = 2");
}

#[test]
fn a_deleted_event_is_reported_and_left_alone() {
    damages_the_log("DELETE FROM events WHERE seq = 1");
    damages_the_log("DELETE FROM events WHERE seq = 3");
}

#[test]
fn two_swapped_events_are_reported_and_left_alone() {
    damages_the_log(
        "UPDATE events SET seq = -1 WHERE seq = 2; UPDATE events SET seq = 2 WHERE seq = 3;
         UPDATE events SET seq = 3 WHERE seq = -1",
    );
}

#[test]
fn a_row_that_was_tampered_with_is_reported_and_mended_from_the_log() {
    damages_rows("UPDATE tasks SET body = replace(body, '\"one\"', '\"won\"') WHERE id = 'T1'");
    damages_rows("UPDATE tasks SET body = 'no JSON' WHERE id = 'T1'");
    damages_rows("UPDATE leases SET owner = 'agent-9'");
    damages_rows("UPDATE repos SET tasks = 7");
}

#[test]
fn a_row_that_is_missing_or_too_many_is_reported_and_mended_from_the_log() {
    damages_rows("DELETE FROM tasks WHERE id = 'T2'");
    damages_rows("DELETE FROM leases");
    damages_rows("DELETE FROM deps");
    damages_rows("DELETE FROM directives");
    damages_rows("DELETE FROM memories");
    damages_rows("INSERT INTO agents SELECT 'agent-9', body FROM agents LIMIT 1");
}

#[test]
fn a_column_that_rows_are_found_by_is_reported_and_mended_from_the_log() {
    damages_rows("UPDATE tasks SET waits = 0 WHERE id = 'T2'");
    damages_rows("UPDATE tasks SET status = 'done' WHERE id = 'T2'");
    damages_rows("UPDATE tasks SET holder = 'agent-9' WHERE id = 'T1'");
    damages_rows("UPDATE leases SET prefix = 'docs'");
    damages_rows("UPDATE decisions SET open = 0");
    damages_rows("DELETE FROM task_labels");
    damages_rows("UPDATE memories SET scope = 'src'");
    damages_rows("DELETE FROM memory_words WHERE word = 'long'");
    damages_rows("INSERT INTO memory_words SELECT repo, 'short', memory FROM memory_words LIMIT 1");
}

#[test]
fn damage_of_the_file_itself_is_reported_and_not_written_to() {
    let sandbox = project();
    sql(&sandbox, "PRAGMA wal_checkpoint(TRUNCATE)");
    std::fs::write(store(&sandbox), "This is not a database at all.".repeat(300)).unwrap();
    let before = std::fs::read(store(&sandbox)).unwrap();
    for args in [&[][..], &["--fix"]] {
        let found = doctor(&sandbox, args);
        assert!(found.is_broken());
        assert_eq!(found.state("store"), "fail");
        assert!(found.text("store", "hint").contains("backup"), "{found:?}");
    }
    assert_eq!(std::fs::read(store(&sandbox)).unwrap(), before);
}

#[test]
fn before_the_first_use_doctor_says_so_and_makes_a_store_when_asked() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!("fresh", sandbox.screen(&["doctor"]));
    assert!(!store(&sandbox).exists(), "looking makes nothing");
    let found = doctor(&sandbox, &["--fix"]);
    assert!(!found.is_broken() && found.wrong().is_empty(), "{found:?}");
    assert!(store(&sandbox).exists());
}

#[test]
fn a_store_that_cannot_be_made_is_a_failure() {
    let sandbox = Sandbox::new();
    sandbox.write("taken", "a file, no directory");
    let found = doctor(&sandbox, &["--fix", "--store", "sqlite:taken/comity.db"]);
    assert!(found.is_broken());
    assert_eq!(found.wrong(), ["store"]);
}

#[test]
fn a_lock_that_another_process_holds_is_named_after_a_short_wait() {
    let sandbox = project();
    let lock = File::options().write(true).open(store(&sandbox).with_extension("db.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let found = doctor(&sandbox, &[]);
    assert!(found.is_broken());
    assert_eq!(found.wrong(), ["writing"], "everything else can be read meanwhile");
    let holder = format!("process {}", std::process::id());
    assert!(found.text("writing", "message").contains(&holder), "{found:?}");
    drop(lock);
    assert!(!doctor(&sandbox, &[]).is_broken());
}

#[test]
fn settings_that_cannot_be_read_are_a_failure_that_names_the_file() {
    let sandbox = project();
    let sound = std::fs::read_to_string(sandbox.root.join(".comity/config.toml")).unwrap();
    for broken in ["[nonsense]\n", "= no TOML\n", "[store]\nurl = 7\n"] {
        sandbox.write(".comity/config.toml", broken);
        for args in [&[][..], &["--fix"]] {
            let found = doctor(&sandbox, args);
            assert!(found.is_broken(), "{broken}");
            assert_eq!(found.wrong(), ["project"]);
            assert!(found.text("project", "message").contains("config.toml"), "{found:?}");
        }
        let kept = std::fs::read_to_string(sandbox.root.join(".comity/config.toml")).unwrap();
        assert_eq!(kept, broken, "settings are the people's");
    }
    sandbox.write(".comity/config.toml", &sound);
    assert!(!doctor(&sandbox, &[]).is_broken());
}

#[test]
fn a_store_that_others_can_read_is_made_private_with_everything_beside_it() {
    let sandbox = project();
    let files = ["db", "db-wal", "db-shm"].map(|end| store(&sandbox).with_extension(end));
    for open in &files {
        // SQLite itself makes an empty log private again.
        if files[1].metadata().unwrap().len() == 0 {
            sandbox.json(&["note", "progress", "Half of it"]);
        }
        for file in &files {
            assert!(file.exists(), "{}", file.display());
            std::fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
        }
        assert_eq!(doctor(&sandbox, &[]).state("access"), "ok");
        std::fs::set_permissions(open, Permissions::from_mode(0o640)).unwrap();
        let found = doctor(&sandbox, &[]);
        assert!(!found.is_broken(), "it works, so it is only worth a word");
        assert_eq!(found.wrong(), ["access"], "{}", open.display());
        let mended = doctor(&sandbox, &["--fix"]);
        assert_eq!(
            (mended.state("access"), &mended.check("access")["fixed"]),
            ("ok", &true.into())
        );
        assert_eq!(open.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_store_that_may_not_be_written_is_a_failure() {
    if rustix::process::geteuid().is_root() {
        println!("skipped: root may write everything");
        return;
    }
    let sandbox = project();
    std::fs::set_permissions(store(&sandbox), Permissions::from_mode(0o400)).unwrap();
    let found = doctor(&sandbox, &[]);
    assert!(found.is_broken());
    assert!(found.text("writing", "hint").contains("writable"), "{found:?}");
    std::fs::set_permissions(store(&sandbox), Permissions::from_mode(0o000)).unwrap();
    let found = doctor(&sandbox, &[]);
    assert!(found.is_broken());
    assert_eq!(found.state("store"), "fail");
}

/// The sandbox's PATH with the binary under test in it, as `comity`.
fn with_comity() -> String {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_comity")).parent().unwrap();
    format!("{}:{}", binary.display(), std::env::var("PATH").unwrap())
}

fn doctor_of_clients(sandbox: &Sandbox, path: &str) -> Found {
    let call = sandbox.comity().env("PATH", path).args(&["doctor", "--json"]).done();
    Found { answer: serde_json::from_str(&call.stdout).unwrap(), exit: call.exit }
}

#[test]
fn registered_servers_are_started_and_hooks_are_fed_a_sample() {
    let sandbox = project();
    assert_eq!(
        doctor(&sandbox, &[]).text("clients", "message"),
        "comity is registered with no agent client"
    );
    sandbox.json(&["init", "--clients", "claude,codex,gemini,opencode,cursor,vscode"]);
    let before = (sandbox.head(), sandbox.json(&["lease", "list"])["leases"].clone());
    let found = doctor_of_clients(&sandbox, &with_comity());
    let said: Vec<&str> = found.answer["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["name"] == "clients")
        .map(|check| check["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        said,
        [
            "claude: 10 tools from .mcp.json; its hooks answer",
            "codex: 10 tools from .codex/config.toml; its hooks answer",
            "gemini: 10 tools from .gemini/settings.json; it has no hooks",
            "opencode: 10 tools from opencode.json; it has no hooks",
            "cursor: 10 tools from .cursor/mcp.json; it has no hooks",
            "vscode: 10 tools from .vscode/mcp.json; it has no hooks",
        ]
    );
    assert_eq!((found.wrong(), found.exit), (vec!["codex"], 0), "{}", found.answer);
    assert!(found.text("codex", "message").contains("skips 4"), "{}", found.answer);
    assert_eq!(
        (sandbox.head(), sandbox.json(&["lease", "list"])["leases"].clone()),
        before,
        "a trial writes nothing"
    );
}

#[test]
fn a_server_that_clients_ask_is_tried_only_where_the_caller_names_it() {
    let sandbox = project();
    let make = ["token", "create", "--agent", "pair:web"];
    let made = sandbox.comity().by("human:ann").args(&make).json();
    let secret = made["token"]["secret"].as_str().unwrap().to_owned();
    let mut server = sandbox
        .comity()
        .by("human:ann")
        .args(&["serve", "--listen", "127.0.0.1:0", "--json"])
        .spawn();
    let mut line = String::new();
    let out = server.stdout.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let url = said["url"].as_str().unwrap();
    let call = |args: &[&str]| {
        let call = sandbox.comity().env("PATH", &with_comity()).env("COMITY_TOKEN", &secret);
        let done = call.args(args).args(&["--json"]).done();
        Found { answer: serde_json::from_str(&done.stdout).unwrap(), exit: done.exit }
    };
    call(&["--url", url, "init", "--clients", "claude"]);
    let found = call(&["doctor"]);
    let message = format!("claude: asks the server at {url}; `comity --url {url} doctor` tries it");
    assert_eq!((found.text("clients", "message"), found.exit), (message.as_str(), 0));
    let found = call(&["--url", url, "doctor"]);
    let message = "claude: 10 tools from .mcp.json; its hooks answer";
    assert_eq!(found.text("clients", "message"), message, "{}", found.answer);
    server.kill().unwrap();
    server.wait().unwrap();
    let found = call(&["--url", url, "doctor"]);
    assert_eq!(found.state("clients"), "fail", "{}", found.answer);
}

#[test]
fn what_is_missing_around_clients_is_named() {
    let sandbox = project();
    sandbox.json(&["init", "--remove"]);
    sandbox.json(&["init", "--clients", "claude", "--no-hooks"]);
    let tree = sandbox.worktree("side");
    let found = doctor_of_clients(&sandbox, &with_comity());
    assert_eq!(found.wrong(), ["worktrees", "git hooks"], "{}", found.answer);
    assert!(found.text("worktrees", "message").contains(tree.to_str().unwrap()));
    assert!(found.text("git hooks", "message").contains("pre-commit"));
    sandbox.git(&sandbox.root, &["config", "core.hooksPath", "elsewhere"]);
    let found = doctor_of_clients(&sandbox, &with_comity());
    assert!(found.text("git hooks", "hint").contains("elsewhere/pre-commit"), "{}", found.answer);
    std::fs::remove_file(sandbox.root.join(".claude/settings.json")).unwrap();
    let found = doctor_of_clients(&sandbox, "/usr/bin:/bin");
    let clients: Vec<&Value> = found.answer["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["name"] == "clients" && check["state"] == "warn")
        .collect();
    assert!(
        clients[0]["message"].as_str().unwrap().contains("no directory of PATH"),
        "{clients:?}"
    );
    assert!(
        clients[1]["message"].as_str().unwrap().contains(".claude/settings.json"),
        "{clients:?}"
    );
}

#[test]
fn a_server_that_does_not_answer_is_a_failure_and_no_other_program_of_the_repository_is_started() {
    let sandbox = project();
    sandbox.json(&["init", "--clients", "claude", "--no-hooks"]);
    let programs = sandbox.outside().join("bin");
    std::fs::create_dir(&programs).unwrap();
    let fake = programs.join("comity");
    std::fs::write(&fake, "#!/bin/sh\necho 'no such thing' >&2\nexit 7\n").unwrap();
    std::fs::set_permissions(&fake, Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let found = doctor_of_clients(&sandbox, &path);
    assert_eq!((found.state("clients"), found.exit), ("fail", 1), "{}", found.answer);
    assert!(found.text("clients", "message").contains("no such thing"), "{}", found.answer);
    // What a repository names itself is not started: it is no longer comity's entry.
    let evil = sandbox.outside().join("evil");
    std::fs::write(&evil, format!("#!/bin/sh\ntouch {}/pwned\n", sandbox.outside().display()))
        .unwrap();
    std::fs::set_permissions(&evil, Permissions::from_mode(0o755)).unwrap();
    let text = std::fs::read_to_string(sandbox.root.join(".mcp.json")).unwrap();
    sandbox.write(
        ".mcp.json",
        &text.replace("\"comity\",", &format!("{:?},", evil.display().to_string())),
    );
    let found = doctor_of_clients(&sandbox, &with_comity());
    assert!(!sandbox.outside().join("pwned").exists());
    assert!(
        found.answer["checks"].to_string().contains("not as comity writes them"),
        "{}",
        found.answer
    );
}

//! RULES 1.7: what a repository brings along is data, not authority.

use crate::sandbox::{Call, Sandbox};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The password that must not get out.
const PASSWORD: &str = "correct-horse";

/// A server that asks everybody for a password, refuses TLS, and keeps what it is sent.
struct Listener {
    port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Listener {
    fn start() -> Listener {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in socket.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || answer(stream, &kept));
            }
        });
        Listener { port, heard }
    }

    fn heard(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().unwrap()).into_owned()
    }
}

fn answer(mut stream: TcpStream, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        kept.lock().unwrap().extend_from_slice(&buffer[..length]);
        // Eight bytes are the question for TLS; what follows gets the question for a password in plain text.
        let reply: &[u8] = if length == 8 { b"N" } else { &[b'R', 0, 0, 0, 8, 0, 0, 0, 3] };
        if stream.write_all(reply).is_err() {
            return;
        }
    }
}

/// A clone of a repository whose settings are `config`, with files that somebody else committed.
fn clone(sandbox: &Sandbox, config: &str) -> PathBuf {
    let origin = sandbox.outside().join("origin");
    std::fs::create_dir_all(origin.join(".comity")).unwrap();
    std::fs::write(origin.join(".comity/config.toml"), config).unwrap();
    sandbox.git(&origin, &["init", "--quiet", "--initial-branch=main"]);
    sandbox.commit(&origin, "Begin");
    let clone = sandbox.outside().join("clone");
    let (from, to) = (origin.display().to_string(), clone.display().to_string());
    sandbox.git(&sandbox.outside(), &["clone", "--quiet", &from, &to]);
    clone
}

fn settings(url: &str) -> String {
    format!("[store]\nurl = \"{url}\"\n")
}

fn person(sandbox: &Sandbox, dir: &Path) -> Call {
    sandbox.comity().at(dir).by("human:ann")
}

/// Runs `status`, which must be refused as untrusted; returns the error.
fn untrusted(sandbox: &Sandbox, dir: &Path) -> Value {
    let (error, exit) = sandbox.comity().at(dir).args(&["status"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("untrusted"), 3), "{error}");
    error
}

#[test]
fn rule_1_7_a_cloned_repository_gets_no_password_before_a_person_trusts_its_store() {
    let (sandbox, listener) = (Sandbox::without_git(), Listener::start());
    let url = format!("postgres://comity@127.0.0.1:{}/db", listener.port);
    let clone = clone(&sandbox, &settings(&url));
    let run = |args: &[&str]| {
        sandbox.comity().at(&clone).env("PGPASSWORD", PASSWORD).args(args).refusal()
    };
    for args in [
        &["status"][..],
        &["task", "create", "x"],
        &["task", "claim"],
        &["init"],
        &["sync", "collab"],
        &["collab", "list-tasks"],
        &["whoami"],
    ] {
        let (error, exit) = run(args);
        assert_eq!((error["code"].as_str(), exit), (Some("untrusted"), 3), "{args:?}: {error}");
        assert_eq!(error["details"]["value"], url);
        assert!(error["message"].as_str().unwrap().contains(&url));
        let command = format!("`comity trust --root {}`", clone.display());
        assert!(error["hint"].as_str().unwrap().contains(&command), "{error}");
    }
    let done = sandbox.comity().at(&clone).env("PGPASSWORD", PASSWORD).args(&["doctor"]).done();
    assert!(done.stdout.contains("comity trust"), "{done:?}");
    assert_eq!(listener.heard(), "", "nothing was sent, not even a greeting");
    let trusted = person(&sandbox, &clone).args(&["trust"]).json();
    assert_eq!(trusted["trusted"][0]["value"], url);
    // Now the same listener hears the password: it would have heard it before.
    let (error, _) = run(&["status"]);
    assert_eq!(error["code"], "store-unavailable");
    assert!(listener.heard().contains(PASSWORD));
}

#[test]
fn rule_1_7_a_file_never_weakens_sslmode_also_when_its_store_is_trusted() {
    let (sandbox, listener) = (Sandbox::without_git(), Listener::start());
    let url = format!("postgres://comity@127.0.0.1:{}/db?sslmode=disable", listener.port);
    let clone = clone(&sandbox, &settings(&url));
    person(&sandbox, &clone).args(&["trust"]).json();
    let run = |call: Call| {
        let call = call.at(&clone).env("PGPASSWORD", PASSWORD).env("PGSSLMODE", "require");
        call.args(&["status"]).refusal();
    };
    run(sandbox.comity());
    assert!(!listener.heard().contains(PASSWORD), "{}", listener.heard());
    assert!(!listener.heard().is_empty(), "comity asked for TLS");
    // What the user says holds: the user's own URL may go without TLS.
    run(sandbox.comity().env("COMITY_STORE", &url));
    assert!(listener.heard().contains(PASSWORD));
}

#[test]
fn rule_1_7_a_repository_does_not_list_the_tasks_of_another_project() {
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "the secret plan"]);
    let url = "sqlite:../tool/.git/comity/comity.db";
    let clone = clone(&sandbox, &settings(url));
    assert_eq!(untrusted(&sandbox, &clone)["details"]["kind"], "store");
    let list = person(&sandbox, &clone).args(&["trust", "--list"]).json();
    let wanted = json!({"root": clone.display().to_string(), "kind": "store", "value": url});
    assert_eq!((&list["trusted"], &list["pending"]), (&json!([]), &json!([wanted])));
    person(&sandbox, &clone).args(&["trust"]).json();
    let tasks = sandbox.comity().at(&clone).args(&["task", "list", "--repo", "tool"]).json();
    assert_eq!(tasks["tasks"][0]["title"], "the secret plan");
    // Trust is in exactly this value, for exactly this root.
    let config = clone.join(".comity/config.toml");
    std::fs::write(&config, settings("sqlite:../tool/.git/../.git/comity/comity.db")).unwrap();
    untrusted(&sandbox, &clone);
    std::fs::write(&config, settings(url)).unwrap();
    let beside = sandbox.outside().join("beside");
    let (from, to) = (clone.display().to_string(), beside.display().to_string());
    sandbox.git(&sandbox.outside(), &["clone", "--quiet", &from, &to]);
    untrusted(&sandbox, &beside);
    let removed = person(&sandbox, &clone).args(&["trust", "--remove"]).json();
    assert_eq!(
        (removed["removed"][0]["value"].as_str(), &removed["trusted"]),
        (Some(url), &json!([]))
    );
    untrusted(&sandbox, &clone);
}

#[test]
fn rule_1_7_the_default_place_needs_no_trust_however_it_is_written() {
    let sandbox = Sandbox::new();
    let absolute = format!("sqlite:{}/.git/comity/comity.db", sandbox.root.display());
    for url in ["sqlite:.git/comity/comity.db", "sqlite:./.git/comity/comity.db", &absolute] {
        sandbox.write(".comity/config.toml", &settings(url));
        sandbox.json(&["task", "create", "x"]);
    }
    assert!(!sandbox.outside().join(".config").exists(), "nothing was trusted");
    let trusted = person(&sandbox, &sandbox.root).args(&["trust"]).json();
    assert_eq!((&trusted["trusted"], &trusted["pending"]), (&json!([]), &json!([])));
}

#[test]
fn rule_1_7_a_settings_directory_that_links_elsewhere_is_not_the_default_place() {
    let sandbox = Sandbox::without_git();
    let victim = sandbox.outside().join("victim");
    std::fs::create_dir(&victim).unwrap();
    sandbox.comity().at(&victim).args(&["init"]).json();
    sandbox.comity().at(&victim).args(&["task", "create", "secret"]).json();
    symlink("../victim/.comity", sandbox.root.join(".comity")).unwrap();
    untrusted(&sandbox, &sandbox.root);
    std::fs::remove_file(sandbox.root.join(".comity")).unwrap();
    std::fs::create_dir(sandbox.root.join(".comity")).unwrap();
    let db = sandbox.root.join(".comity/comity.db");
    for target in ["../../victim/.comity/comity.db", "../../victim/new.db"] {
        symlink(target, &db).unwrap();
        untrusted(&sandbox, &sandbox.root);
        std::fs::remove_file(&db).unwrap();
    }
    sandbox.json(&["status"]);
}

/// Makes a directory that looks like a bare repository and names another root.
fn looks_bare(dir: &Path, config: &str) {
    for part in ["objects", "refs"] {
        std::fs::create_dir_all(dir.join(part)).unwrap();
    }
    std::fs::write(dir.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(dir.join("config"), config).unwrap();
}

#[test]
fn rule_1_7_what_looks_like_a_bare_repository_in_a_work_tree_redirects_nothing() {
    let sandbox = Sandbox::new();
    let victim = sandbox.outside().join("victim");
    std::fs::create_dir_all(victim.join(".comity")).unwrap();
    for (name, key) in [("a", "[comity]\nroot"), ("b", "[core]\nworktree"), ("c", "[x]\ny")] {
        let dir = sandbox.root.join("data").join(name);
        looks_bare(&dir, &format!("{key} = {}\n", victim.display()));
        let seen = sandbox.comity().at(&dir).args(&["status"]).json();
        assert_eq!(seen["root"], sandbox.root.display().to_string(), "{name}");
    }
}

#[test]
fn rule_1_7_what_looks_like_a_bare_repository_names_a_root_only_after_trust() {
    let sandbox = Sandbox::new();
    for (name, key) in [("a", "[comity]\nroot"), ("b", "[core]\nworktree")] {
        let dir = sandbox.outside().join(name);
        looks_bare(&dir, &format!("{key} = ../tool\n"));
        // Git takes a work tree from git's own directory.
        let error = untrusted(&sandbox, &dir);
        assert_eq!(error["details"]["kind"], "root");
        assert_eq!(error["details"]["value"], "../tool");
        assert!(error["hint"].as_str().unwrap().contains("`comity trust`"), "{error}");
        let trusted = person(&sandbox, &dir).args(&["trust"]).json();
        assert_eq!(trusted["trusted"][0]["root"], dir.display().to_string());
        sandbox.comity().at(&dir).args(&["status"]).json();
        person(&sandbox, &dir).args(&["trust", "--remove"]).json();
        untrusted(&sandbox, &dir);
    }
}

#[test]
fn rule_1_7_only_a_person_trusts() {
    let sandbox = Sandbox::without_git();
    let clone = clone(&sandbox, &settings("sqlite:../x.db"));
    for args in [&["trust"][..], &["trust", "--list"], &["trust", "--remove"]] {
        for call in [
            sandbox.comity(),
            sandbox.comity().by("bot"),
            sandbox.comity().env("CLAUDECODE", "1"),
            sandbox.comity().env("CLAUDECODE", "1").by("human:ann"),
        ] {
            let (error, exit) = call.at(&clone).args(args).refusal();
            assert_eq!((error["code"].as_str(), exit), (Some("human-only"), 3), "{error}");
        }
    }
    untrusted(&sandbox, &clone);
    person(&sandbox, &clone).args(&["trust"]).json();
    let file = sandbox.outside().join(".config/comity/trust.json");
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn rule_1_7_init_with_a_store_trusts_it_unless_an_agent_runs_it() {
    let sandbox = Sandbox::new();
    let agent = sandbox.comity().env("CLAUDECODE", "1");
    let done = agent.args(&["init", "--store", "sqlite:../own.db"]).done();
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(done.stderr.contains("`comity trust`"), "{}", done.stderr);
    untrusted(&sandbox, &sandbox.root);
    // The settings are there already and name the same store.
    sandbox.json(&["init", "--store", "sqlite:../own.db"]);
    let store = format!("sqlite:{}/../own.db", sandbox.root.display());
    assert_eq!(sandbox.json(&["status"])["store"], store);
    // Another store in a command line says nothing about the one in the settings.
    sandbox.write(".comity/config.toml", &settings("sqlite:../evil.db"));
    sandbox.json(&["init", "--store", "sqlite:../own.db"]);
    untrusted(&sandbox, &sandbox.root);
}

#[test]
fn rule_1_7_what_the_user_says_needs_no_trust() {
    let sandbox = Sandbox::without_git();
    let clone = clone(&sandbox, &settings("postgres://127.0.0.1:1/db"));
    let own = format!("sqlite:{}/own.db", sandbox.outside().display());
    sandbox.comity().at(&clone).env("COMITY_STORE", &own).args(&["task", "create", "x"]).json();
    let seen = sandbox.comity().at(&clone).args(&["--store", &own, "task", "list"]).json();
    assert_eq!(seen["tasks"].as_array().unwrap().len(), 1);
    assert!(!sandbox.outside().join(".config").exists());
}

#[test]
fn rule_1_7_a_file_of_variables_names_neither_store_nor_root_nor_actor() {
    let sandbox = Sandbox::new();
    let victim = sandbox.outside().join("victim");
    std::fs::create_dir_all(victim.join(".comity")).unwrap();
    let text = format!("COMITY_STORE=sqlite:{}/x.db\nCOMITY_AGENT=human:boss\n", victim.display());
    sandbox.write(".env", &text);
    let done = sandbox.comity().args(&["collab", "acquire-lease", "a", "x", "y"]).done();
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(!victim.join("x.db").exists());
    let events = sandbox.json(&["event", "list", "--type", "file_locked"]);
    assert_ne!(events["events"][0]["agent"], "human:boss");
    sandbox.write(".env", &format!("COLLAB_ROOT={}\n", victim.display()));
    let (error, exit) = sandbox.comity().args(&["collab", "list-tasks"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("untrusted"), 3), "{error}");
}

/// A user that is neither the administrator nor anybody on the machine.
const STRANGER: u32 = 54_321;

fn give_away(path: &Path) {
    std::os::unix::fs::lchown(path, Some(STRANGER), None).unwrap();
}

/// Tells whether files can be given to another user, as only an administrator can.
fn can_give_away() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn rule_1_7_a_root_that_another_user_owns_is_refused_by_the_rule_of_git() {
    if !can_give_away() {
        return;
    }
    let whole: &[&str] = &["", ".git", ".comity"];
    for parts in [whole, &[""], &[".git"], &[".comity"]] {
        let sandbox = Sandbox::new();
        sandbox.json(&["init"]);
        parts.iter().for_each(|part| give_away(&sandbox.root.join(part)));
        let error = untrusted(&sandbox, &sandbox.root);
        assert_eq!(error["details"]["owner"], STRANGER, "{parts:?}");
        let command =
            format!("git config --global --add safe.directory {}", sandbox.root.display());
        assert!(error["hint"].as_str().unwrap().contains(&command), "{error}");
        // Trust in a value does not make up for it, nor does a file of the repository.
        let (error, _) = person(&sandbox, &sandbox.root).args(&["trust"]).refusal();
        assert_eq!(error["code"], "untrusted");
        let config = sandbox.root.join(".git/config");
        let before = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, format!("{before}[safe]\ndirectory = *\n")).unwrap();
        untrusted(&sandbox, &sandbox.root);
        // As git: the user from before sudo is the user, too.
        let uid = STRANGER.to_string();
        sandbox.comity().env("SUDO_UID", &uid).args(&["status"]).json();
        if parts != [".comity"] {
            sandbox.git_fails(&sandbox.root, &["status"]);
        }
        let words: Vec<&str> = command.strip_prefix("git ").unwrap().split(' ').collect();
        sandbox.git(&sandbox.outside(), &words);
        sandbox.git(&sandbox.root, &["status"]);
        sandbox.json(&["status"]);
    }
}

#[test]
fn rule_1_7_settings_of_another_user_in_a_parent_directory_are_refused() {
    if !can_give_away() {
        return;
    }
    let (sandbox, listener) = (Sandbox::without_git(), Listener::start());
    let url = format!("postgres://comity@127.0.0.1:{}/db", listener.port);
    sandbox.write(".comity/config.toml", &settings(&url));
    give_away(&sandbox.root.join(".comity"));
    let below = sandbox.root.join("mine/deep");
    std::fs::create_dir_all(&below).unwrap();
    let call = sandbox.comity().at(&below).env("PGPASSWORD", PASSWORD);
    let (error, _) = call.args(&["status"]).refusal();
    assert_eq!(error["code"], "untrusted");
    assert_eq!(listener.heard(), "");
    let mine = sandbox.root.join("mine").display().to_string();
    sandbox.comity().at(&below).args(&["init", "--root", &mine]).json();
}

#[test]
fn rule_1_7_a_store_that_another_user_owns_is_refused() {
    if !can_give_away() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.json(&["task", "create", "x"]);
    give_away(&sandbox.root.join(".git/comity/comity.db"));
    untrusted(&sandbox, &sandbox.root);
    let url = format!("sqlite:{}/.git/comity/comity.db", sandbox.root.display());
    assert_eq!(sandbox.json(&["--store", &url, "task", "list"])["tasks"][0]["title"], "x");
}

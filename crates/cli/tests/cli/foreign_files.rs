//! Links, devices and pipes where a file or a directory is expected: nothing is written through them, and nothing waits.

use crate::sandbox::Sandbox;
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Every file below a directory with its bytes.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            all.extend(contents(&entry.path()));
        } else {
            all.insert(entry.path(), std::fs::read(entry.path()).unwrap());
        }
    }
    all
}

#[test]
fn nothing_is_written_through_a_linked_directory_of_a_tree() {
    for link in ["logs", "events", "state", "events/agents", ""] {
        for args in [["sync", "collab"].as_slice(), &["export", "collab", "collaboration"]] {
            let sandbox = Sandbox::without_git();
            sandbox.comity().by("human:ann").args(&["init", "--yes"]).json();
            sandbox.json(&["task", "create", "One"]);
            let foreign = tempfile::tempdir().unwrap();
            for (name, text) in [
                ("log.md", "theirs"),
                ("events.jsonl", "{\"event\":\"note\"}\n"),
                ("tasks.json", "{\"version\":1,\"tasks\":[]}"),
                ("logs/log.md", "theirs, too"),
            ] {
                let path = foreign.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            let before = contents(foreign.path());
            let place = sandbox.root.join("collaboration").join(link);
            let place = PathBuf::from(place.to_str().unwrap().trim_end_matches('/'));
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            symlink(foreign.path(), &place).unwrap();
            let (error, exit) = sandbox.comity().by("human:ann").args(args).refusal();
            assert_eq!((&error["code"], exit), (&json!("invalid-input"), 2), "{link} {error}");
            assert!(error["message"].as_str().unwrap().contains("a link"), "{error}");
            assert_eq!(contents(foreign.path()), before, "{link} {args:?}");
        }
    }
}

fn fifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Runs a call that must neither wait nor read for ever.
fn soon(sandbox: &Sandbox, args: &[&str]) -> (i32, String) {
    const LONGEST: Duration = Duration::from_secs(20);
    let begun = Instant::now();
    let mut child = sandbox.comity().args(args).spawn();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > LONGEST {
            child.kill().unwrap();
            panic!("{args:?} still runs");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let mut said = String::new();
    if let Some(mut err) = child.stderr.take() {
        std::io::Read::read_to_string(&mut err, &mut said).unwrap();
    }
    (status.code().unwrap_or(-1), said)
}

#[test]
fn a_file_that_is_a_device_a_pipe_or_a_directory_is_refused_at_once() {
    let sandbox = Sandbox::without_git();
    sandbox.comity().by("human:ann").args(&["init", "--yes"]).json();
    symlink("/dev/zero", sandbox.root.join("zero")).unwrap();
    fifo(&sandbox.root.join("pipe"));
    std::fs::create_dir(sandbox.root.join("dir")).unwrap();
    for file in ["zero", "pipe", "dir"] {
        for args in [
            ["import", "beads"].as_slice(),
            &["import", "taskmaster"],
            &["import", "v1"],
            &["contract", "validate"],
        ] {
            let args: Vec<&str> = args.iter().copied().chain([file]).collect();
            let (exit, said) = soon(&sandbox, &args);
            assert_eq!(exit, 2, "{args:?}: {said}");
            assert!(said.contains("cannot read"), "{args:?}: {said}");
        }
    }
}

/// Files of a project that comity reads, or writes a part of.
const OF_A_PROJECT: [&str; 26] = [
    ".comity/config.toml",
    ".comity/supervisor.toml",
    ".comity/agents/developer.yml",
    ".comity/agents/mine.yml",
    ".comity/INSTRUCTIONS.md",
    ".neo/INSTRUCTIONS.md",
    ".neo/config.yml",
    ".neo/agents/mine.yml",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".mcp.json",
    ".claude/settings.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".gemini/settings.json",
    "opencode.json",
    ".env",
    ".gitignore",
    "Cargo.toml",
    "package.json",
    ".git/hooks/pre-commit",
    ".git/info/exclude",
    ".git/shallow",
];

#[test]
fn no_file_of_a_project_is_waited_for_or_read_without_end() {
    for device in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.comity().by("human:ann").args(&["init", "--yes"]).json();
        for name in OF_A_PROJECT {
            let (file, aside) = (sandbox.root.join(name), sandbox.outside().join("aside"));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            let was_there = std::fs::rename(&file, &aside).is_ok();
            if device {
                symlink("/dev/zero", &file).unwrap();
            } else {
                fifo(&file);
            }
            // git itself waits for its own files; comity asks it only where it must.
            let asks_git = name != ".git/shallow" && name != ".git/info/exclude";
            let calls: [&[&str]; 4] = [
                &["supervise", "--dry-run"],
                &["init", "--yes", "--dry-run"],
                &["agents"],
                if asks_git { &["doctor"] } else { &["whoami"] },
            ];
            for args in calls {
                soon(&sandbox, args);
            }
            std::fs::remove_file(&file).unwrap();
            if was_there {
                std::fs::rename(&aside, &file).unwrap();
            }
        }
        // A hook that is no plain file is somebody else's: it is kept, and comes back.
        let hook = sandbox.root.join(".git/hooks/pre-commit");
        let _ = std::fs::remove_file(&hook);
        symlink("/dev/zero", &hook).unwrap();
        soon(&sandbox, &["init", "--yes"]);
        let former = sandbox.root.join(".git/hooks/pre-commit.before-comity");
        assert_eq!(std::fs::read_link(former).unwrap(), Path::new("/dev/zero"));
    }
}

#[test]
fn settings_that_are_a_device_or_a_pipe_are_refused_at_once() {
    for device in [true, false] {
        let sandbox = Sandbox::without_git();
        sandbox.comity().by("human:ann").args(&["init", "--yes"]).json();
        let config = sandbox.root.join(".comity/config.toml");
        std::fs::remove_file(&config).unwrap();
        if device {
            symlink("/dev/zero", &config).unwrap();
        } else {
            fifo(&config);
        }
        let (exit, said) = soon(&sandbox, &["task", "list"]);
        assert!(exit == 2 && said.contains("config.toml"), "{exit}: {said}");
    }
}

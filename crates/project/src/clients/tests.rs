use super::*;
use comity_core::ids::AgentId;
use std::collections::BTreeMap;
use std::fs;
use tempfile::TempDir;

/// A project with files of clients in it.
struct Project {
    dir: TempDir,
    beside: TempDir,
}

impl Project {
    fn with(files: &[(&str, &str)]) -> Project {
        let project =
            Project { dir: tempfile::tempdir().unwrap(), beside: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            let place = project.dir.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        }
        project
    }

    fn register(&self, approve: bool) -> Outcome {
        self.register_through(&Through::Stdio, approve)
    }

    fn register_through(&self, through: &Through, approve: bool) -> Outcome {
        let (root, beside) = (self.dir.path(), self.beside.path());
        register(root, beside, &AgentClient::ALL, through, approve, false).unwrap()
    }

    fn unregister(&self) -> Outcome {
        unregister(self.dir.path(), self.beside.path(), false).unwrap()
    }

    fn files(&self) -> BTreeMap<String, String> {
        fn walk(root: &Path, dir: &Path, found: &mut BTreeMap<String, String>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(root, &path, found);
                } else {
                    let name = path.strip_prefix(root).unwrap().display().to_string();
                    found.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(self.dir.path(), self.dir.path(), &mut found);
        found
    }
}

fn server() -> Through {
    Through::http("http://127.0.0.1:4180/", &AgentId::parse("pair:web").unwrap()).unwrap()
}

/// Files as people have them: comments, tabs, trailing commas, one line, CRLF, no last line break, a byte order mark.
const ODD: &[(&str, &str)] = &[
    (".mcp.json", "{\"mcpServers\":{\"other\":{\"command\":\"x\"}}}"),
    (
        ".claude/settings.json",
        "{\n\t// mine\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{ \"matcher\": \"Bash\", \"hooks\": [ { \"type\": \"command\", \"command\": \"./own\" } ] },\n\t\t],\n\t},\n\t\"model\": \"opus\"\n}\n",
    ),
    (
        ".codex/config.toml",
        "# mine\nmodel = \"gpt\"   # why\n\n[mcp_servers.other]\ncommand = 'x'\n[z]\na=1",
    ),
    (".codex/hooks.json", "{ }"),
    (
        ".gemini/settings.json",
        "\u{feff}{\r\n  \"context\": {\"fileName\": \"NOTES.md\"},\r\n  \"mcpServers\": { }\r\n}\r\n",
    ),
    ("opencode.json", "{\n  \"$schema\": \"https://opencode.ai/config.json\" /* keep */\n}"),
    (".cursor/mcp.json", "{\"mcpServers\":{}}\n"),
    (
        ".vscode/mcp.json",
        "{\n    \"servers\": {\n        \"a\": {\"command\": \"b\"},\n    },\n}\n",
    ),
    ("AGENTS.md", "# Rules\n\nBe kind."),
    ("CLAUDE.md", "own\n"),
];

#[test]
fn what_is_put_in_twice_is_there_once_and_taken_out_gives_every_byte_back() {
    let ways =
        [(Through::Stdio, false), (Through::Stdio, true), (server(), false), (server(), true)];
    for files in [ODD, &[]] {
        for (through, approve) in &ways {
            let project = Project::with(files);
            let before = project.files();
            let outcome = project.register_through(through, *approve);
            assert!(outcome.left_alone.is_empty(), "{:?}", outcome.left_alone);
            let once = project.files();
            assert!(project.register_through(through, *approve).is_empty());
            assert_eq!(project.files(), once);
            for (path, text) in &before {
                let words = text.split(|c: char| c.is_whitespace() || "{}[],".contains(c));
                let gone: Vec<&str> = words.filter(|word| !once[path].contains(word)).collect();
                assert!(gone.is_empty(), "{path} lost {gone:?}");
            }
            project.unregister();
            assert_eq!(project.files(), before);
            assert!(fs::read_dir(project.beside.path()).unwrap().next().is_none());
        }
    }
}

#[test]
fn each_file_is_still_what_its_client_reads() {
    let project = Project::with(ODD);
    project.register(true);
    let files = project.files();
    let claude: serde_json::Value = serde_json::from_str(&files[".mcp.json"]).unwrap();
    assert_eq!(claude["mcpServers"]["comity"]["args"][2], "claude-code");
    assert_eq!(claude["mcpServers"]["other"]["command"], "x");
    let codex: toml_edit::DocumentMut = files[".codex/config.toml"].parse().unwrap();
    assert_eq!(codex["mcp_servers"]["comity"]["command"].as_str(), Some("comity"));
    assert_eq!(codex["z"]["a"].as_integer(), Some(1));
    let hooks: serde_json::Value = serde_json::from_str(&files[".codex/hooks.json"]).unwrap();
    let before = hooks["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    assert!(before.ends_with("exit 2; }") && before.starts_with("comity guard hook"));
    assert!(files[".gemini/settings.json"].contains("\"fileName\": \"NOTES.md\""));
    assert_eq!(files["CLAUDE.md"], "own\n");
    let block = files["AGENTS.md"].lines().skip_while(|line| !line.contains("comity:begin"));
    assert!(block.count() <= 25);
}

#[test]
fn over_a_server_tools_hooks_and_commands_are_one_agent_and_no_file_has_the_token() {
    let project = Project::with(ODD);
    project.register_through(&server(), true);
    let files = project.files();
    let json = |path: &str| -> serde_json::Value { serde_json::from_str(&files[path]).unwrap() };
    let claude = &json(".mcp.json")["mcpServers"]["comity"];
    assert_eq!(claude["url"], "http://127.0.0.1:4180/mcp");
    assert_eq!(claude["headers"]["Authorization"], "Bearer ${COMITY_TOKEN}");
    let settings = &files[".claude/settings.json"];
    assert_eq!(json::read(settings, &["env", "COMITY_AGENT"]).as_deref(), Some("pair:web"));
    assert!(settings.contains("\"--url\"") && settings.contains("\"--as\""), "{settings}");
    let codex: toml_edit::DocumentMut = files[".codex/config.toml"].parse().unwrap();
    let own = &codex["mcp_servers"]["comity"];
    assert_eq!(own["url"].as_str(), Some("http://127.0.0.1:4180/mcp"));
    assert_eq!(own["bearer_token_env_var"].as_str(), Some("COMITY_TOKEN"));
    assert!(own.get("command").is_none());
    let set = &codex["shell_environment_policy"]["set"];
    assert_eq!(set["COMITY_AGENT"].as_str(), Some("pair:web"));
    let hooks = json(".codex/hooks.json");
    for event in ["PreToolUse", "PostToolUse", "Stop", "SessionStart"] {
        let command = hooks["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap();
        assert!(command.contains(" --url http://127.0.0.1:4180 --as pair:web ||"), "{command}");
    }
    let variable = "COMITY_TOKEN";
    for path in [".gemini/settings.json", "opencode.json", ".cursor/mcp.json", ".vscode/mcp.json"] {
        assert!(files[path].contains(variable), "{path}: {}", files[path]);
        assert!(files[path].contains("127.0.0.1:4180/mcp"), "{path}: {}", files[path]);
    }
    let found = registered(project.dir.path(), project.beside.path()).unwrap();
    assert_eq!(found.len(), AgentClient::ALL.len());
    for one in found {
        assert_eq!(one.outdated, Vec::<String>::new(), "{one:?}");
        assert!(one.through != Through::Stdio, "{one:?}");
    }
}

#[test]
fn a_client_can_change_between_a_server_and_its_own_process_and_is_taken_out_to_the_byte() {
    for files in [ODD, &[]] {
        let project = Project::with(files);
        let before = project.files();
        project.register(false);
        project.register_through(&server(), true);
        project.register(false);
        for (path, text) in project.files() {
            assert!(!text.contains("pair:web") && !text.contains("4180"), "{path}: {text}");
        }
        project.unregister();
        assert_eq!(project.files(), before);
    }
}

#[test]
fn a_file_that_comity_never_wrote_to_stays_when_comity_goes() {
    let own = [
        (".mcp.json", "{ }"),
        (".claude/settings.json", "{\"env\": {\"COMITY_AGENT\": \"mine\"}}"),
        (".codex/config.toml", "[shell_environment_policy.set]\nCOMITY_AGENT = 'mine'\n"),
    ];
    let project = Project::with(&own);
    let before = project.files();
    assert!(project.unregister().is_empty());
    assert_eq!(project.files(), before);
    project.register_through(&server(), false);
    project.unregister();
    assert_eq!(project.files(), before);
}

#[test]
fn an_address_that_no_hook_could_carry_is_refused() {
    let agent = AgentId::parse("pair:web").unwrap();
    for url in ["unix:/run/x", "http://x/$(id)", "http://x y", "127.0.0.1:80", "http://x';id;'"] {
        assert!(Through::http(url, &agent).is_err(), "{url}");
    }
}

#[test]
fn what_others_wrote_since_stays_when_comitys_part_goes() {
    let project = Project::with(ODD);
    project.register(false);
    for path in [".mcp.json", ".codex/hooks.json", ".cursor/mcp.json", "opencode.json"] {
        let place = project.dir.path().join(path);
        let text = fs::read_to_string(&place).unwrap();
        let open = text.find('{').unwrap() + 1;
        fs::write(&place, format!("{}\"mine\": true,{}", &text[..open], &text[open..])).unwrap();
    }
    project.unregister();
    for (path, text) in project.files() {
        assert!(!text.contains("comity"), "{path}: {text}");
        if [".mcp.json", ".codex/hooks.json", ".cursor/mcp.json"].contains(&path.as_str()) {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["mine"], true, "{path}");
        }
    }
}

#[test]
fn a_hook_that_somebody_added_to_comitys_group_stays() {
    let project = Project::with(&[]);
    project.register(false);
    let place = project.dir.path().join(".codex/hooks.json");
    let mut value: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    let hooks = value["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap();
    hooks.push(serde_json::json!({"type": "command", "command": "./own"}));
    fs::write(&place, value.to_string()).unwrap();
    project.unregister();
    let left: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    assert_eq!(left["hooks"]["Stop"][0]["hooks"][0]["command"], "./own");
    assert_eq!(left["hooks"].as_object().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_read_is_left_alone_and_named() {
    let outside = tempfile::tempdir().unwrap();
    let project = Project::with(&[
        (".mcp.json", "{ broken"),
        (".codex/config.toml", "= 1"),
        (".cursor/mcp.json", "[]"),
        (".vscode/mcp.json", "{\"servers\": 3}"),
        ("AGENTS.md", "<!-- comity:begin -->\n"),
    ]);
    std::os::unix::fs::symlink(outside.path(), project.dir.path().join(".gemini")).unwrap();
    let before = project.files();
    let outcome = project.register(false);
    let mut named: Vec<&str> = outcome.left_alone.iter().map(|(path, _)| path.as_str()).collect();
    named.sort_unstable();
    let broken = [
        ".codex/config.toml",
        ".cursor/mcp.json",
        ".gemini/settings.json",
        ".mcp.json",
        ".vscode/mcp.json",
        "AGENTS.md",
    ];
    assert_eq!(named, broken);
    for (path, text) in before {
        assert_eq!(project.files()[&path], text);
    }
    assert!(fs::read_dir(outside.path()).unwrap().next().is_none());
}

#[test]
fn a_dry_run_says_the_same_and_writes_nothing() {
    let project = Project::with(ODD);
    let before = project.files();
    let (root, beside) = (project.dir.path(), project.beside.path());
    let foretold = register(root, beside, &AgentClient::ALL, &Through::Stdio, false, true).unwrap();
    assert_eq!(project.files(), before);
    let done = project.register(false);
    assert_eq!((foretold.created, foretold.changed), (done.created, done.changed));
}

#[test]
fn without_the_program_every_marker_of_a_client_stops_a_commit_and_a_person_is_only_told() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("gone");
    install_hooks(dir.path(), None, &program, false).unwrap();
    let commit = |marker: Option<&str>| {
        #[expect(clippy::disallowed_methods, reason = "git runs the hook like this")]
        let mut hook = std::process::Command::new(dir.path().join("hooks/pre-commit"));
        // No directory of this path has comity.
        hook.env_clear().env("PATH", "/nowhere").stderr(std::process::Stdio::null());
        hook.envs(marker.map(|name| (name, "1"))).status().unwrap().success()
    };
    assert!(commit(None));
    for marker in crate::identity::marker_variables().chain(["COMITY_AGENT"]) {
        assert!(!commit(Some(marker)), "{marker}");
    }
}

#[test]
fn gits_hooks_run_what_was_there_first_and_come_off_again() {
    let dir = tempfile::tempdir().unwrap();
    let hooks = dir.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    let own = "#!/bin/sh\ncat > seen; echo \"$@\" >> seen; exit 7\n";
    fs::write(hooks.join("pre-push"), own).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(hooks.join("pre-push"), mode).unwrap();
    let program = dir.path().join("no such 'program");
    let installed = install_hooks(dir.path(), None, &program, false).unwrap().installed;
    assert_eq!(installed, ["pre-commit", "commit-msg", "pre-push"]);
    assert!(install_hooks(dir.path(), None, &program, false).unwrap().installed.is_empty());
    assert_eq!(fs::read_to_string(hooks.join("pre-push.before-comity")).unwrap(), own);
    remove_hooks(dir.path(), false).unwrap();
    assert_eq!(fs::read_to_string(hooks.join("pre-push")).unwrap(), own);
    assert_eq!(fs::read_dir(&hooks).unwrap().count(), 1);
    let elsewhere = install_hooks(dir.path(), Some(".husky"), &program, false).unwrap();
    assert!(elsewhere.installed.is_empty() && elsewhere.by_hand.len() == 3);
}

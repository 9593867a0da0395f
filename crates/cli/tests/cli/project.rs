//! `init`.

use crate::sandbox::Sandbox;

#[test]
fn init_twice_changes_nothing_the_second_time() {
    let sandbox = Sandbox::new();
    let first = sandbox.json(&["init", "--yes"]);
    assert_eq!(first["created"].as_array().unwrap().len(), 3);
    let config = std::fs::read_to_string(sandbox.root.join(".comity/config.toml")).unwrap();
    let second = sandbox.json(&["init"]);
    assert_eq!(second["created"], serde_json::json!([]));
    assert_eq!(std::fs::read_to_string(sandbox.root.join(".comity/config.toml")).unwrap(), config);
    assert_eq!(sandbox.git(&sandbox.root, &["status", "--porcelain"]), "?? .comity/");
}

#[test]
fn the_default_config_shows_every_key_and_each_is_accepted() {
    let sandbox = Sandbox::new();
    sandbox.json(&["init"]);
    let path = sandbox.root.join(".comity/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let on: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(key) if key.contains(" = ") => format!("{key}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    std::fs::write(&path, on.replace("sqlite:PATH", "sqlite:own.db")).unwrap();
    sandbox.comity().by("human:ann").args(&["trust"]).json();
    assert_eq!(sandbox.json(&["status"])["repo"], "owner/name");
}

#[test]
fn a_store_given_to_init_is_the_projects_from_then_on() {
    let sandbox = Sandbox::new();
    let made = sandbox.json(&["init", "--store", "sqlite:data/own.db"]);
    assert!(made["store"].as_str().unwrap().ends_with("/tool/data/own.db"));
    assert_eq!(sandbox.json(&["status"])["store"], made["store"]);
    let text = std::fs::read_to_string(sandbox.root.join(".comity/config.toml")).unwrap();
    assert!(text.contains("url = \"sqlite:data/own.db\""), "{text}");
}

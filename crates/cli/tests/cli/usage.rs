//! Help, options, unknown commands, completions.

use crate::sandbox::Sandbox;

#[test]
fn global_options_stand_before_or_after_the_command() {
    let sandbox = Sandbox::new();
    let before = sandbox.comity().args(&["--json", "--as", "ada", "status"]).done().json();
    let after = sandbox.comity().args(&["status", "--as", "ada", "--json"]).done().json();
    assert_eq!(before, after);
    assert_eq!(before["me"], "ada");
    let between = sandbox.comity().args(&["task", "--json", "list"]).done().json();
    assert_eq!(between["tasks"], serde_json::json!([]));
}

#[test]
fn commands_that_are_not_there_yet_are_unknown() {
    let sandbox = Sandbox::new();
    for command in
        ["memory", "directive", "contract", "store", "token", "run", "github", "nonsense"]
    {
        let (error, exit) = sandbox.comity().args(&[command]).refusal();
        assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2), "{command}");
    }
    assert_eq!(sandbox.comity().args(&["--url", "ftp://x", "status"]).done().exit, 2);
}

#[test]
fn help_and_version_go_to_stdout() {
    let sandbox = Sandbox::without_git();
    for args in [&["help"][..], &["--help"], &["task", "create", "--help"], &["help", "lease"]] {
        let done = sandbox.comity().args(args).done();
        assert_eq!((done.exit, done.stderr.as_str()), (0, ""), "{args:?}");
        assert!(done.stdout.contains("Example:"), "{args:?}");
    }
    let version = sandbox.comity().args(&["--version"]).done();
    assert!(version.stdout.starts_with("comity "), "{version:?}");
    let nothing = sandbox.comity().done();
    assert_eq!((nothing.exit, nothing.stdout.as_str()), (2, ""));
}

#[test]
fn completions_know_the_commands() {
    let sandbox = Sandbox::without_git();
    for shell in ["bash", "zsh", "fish"] {
        let done = sandbox.comity().args(&["completions", shell]).done();
        assert_eq!(done.exit, 0);
        assert!(done.stdout.contains("request-changes"), "{shell}");
    }
    let json = sandbox.json(&["completions", "bash"]);
    assert_eq!(json["shell"], "bash");
    // Also those that `help` is asked about.
    let script = json["script"].as_str().unwrap();
    assert!(
        script.contains("help,task)") && script.contains("help__subcmd__task,claim)"),
        "{script}"
    );
}

#[test]
fn the_help_of_the_whole_is_as_recorded() {
    let sandbox = Sandbox::without_git();
    let call = |args: &[&str]| sandbox.comity().env("COLUMNS", "80").args(args).done().stdout;
    insta::assert_snapshot!("help", call(&["--help"]));
    insta::assert_snapshot!("help_task", call(&["task", "--help"]));
    insta::assert_snapshot!("help_task_claim", call(&["task", "claim", "--help"]));
}

#[test]
fn words_that_people_type_stand_for_commands_or_say_what_to_do() {
    let sandbox = Sandbox::new();
    let made = sandbox.json(&["new", "Parse dates", "-p", "high", "-f", "src/**", "-l", "rust"]);
    assert_eq!((&made["task"]["id"], &made["task"]["priority"]), (&"T1".into(), &"P1".into()));
    for list in [&["ls"][..], &["ready"], &["task", "ls"], &["--json", "task", "ls", "-n", "5"]] {
        assert_eq!(sandbox.json(list)["tasks"][0]["id"], "T1", "{list:?}");
    }
    assert_eq!(sandbox.json(&["show", "T1"])["task"]["labels"][0], "rust");
    for (typed, wanted) in [
        (&["version"][..], "comity --version"),
        (&["undo"], "comity task undo"),
        (&["task", "delete", "T1"], "comity task abandon"),
        (&["memory", "rm", "M1"], "comity memory forget"),
        (&["task", "cancel"], "comity task abandon"),
        (&["lsit"], "did you mean `comity list`?"),
        (&["staus"], "did you mean `comity status`?"),
        (&["task", "sow"], "did you mean `comity task show`?"),
        (&["xyzzyxyz"], "see `comity --help`"),
    ] {
        let (error, exit) = sandbox.comity().args(typed).refusal();
        assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2), "{typed:?}");
        assert!(error["hint"].as_str().unwrap().contains(wanted), "{typed:?}: {error}");
    }
    let bare = sandbox.json(&["config"]);
    assert!(bare["settings"].as_array().unwrap().len() > 20, "{bare}");
    let words = sandbox.comity().args(&["undo"]).done();
    assert!(words.stderr.contains("there is no command `undo`"), "{words:?}");
}

#[test]
fn colour_is_chosen_by_option_variable_and_terminal() {
    let sandbox = Sandbox::new();
    sandbox.json(&["new", "Parse dates"]);
    let coloured = |args: &[&str], no_color: bool| {
        let call = sandbox.comity().args(args);
        let call = if no_color { call.env("NO_COLOR", "1") } else { call };
        let done = call.done();
        format!("{}{}", done.stdout, done.stderr).contains('\u{1b}')
    };
    assert!(!coloured(&["task", "show", "T1"], false), "nobody looks");
    assert!(coloured(&["task", "show", "T1", "--color", "always"], false));
    assert!(
        coloured(&["--color=always", "task", "show", "T1"], true),
        "an option beats a variable"
    );
    assert!(!coloured(&["task", "show", "T1", "--color", "never"], false));
    assert!(coloured(&["task", "sow", "--color", "always"], false), "errors of usage, too");
    assert_eq!(sandbox.refused(&["status", "--color", "pink"]).1, 2);
}

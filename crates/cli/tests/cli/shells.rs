//! Completion in the shells themselves.

use crate::sandbox::{Sandbox, Terminal};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

/// What is typed, and what the shell may make of it.
const TYPED: [(&str, &[&str]); 5] = [
    ("comity task show T", &["T1", "T2"]),
    ("comity task request-", &["request-changes"]),
    ("comity task list --status c", &["changes_requested", "claimed"]),
    ("comity task claim --no-l", &["--no-lease"]),
    ("comity decision answer ", &["D1"]),
];

/// A project with the script of a shell beside it; none where the shell is not installed.
fn with_script(shell: &str, file: &str) -> Option<Sandbox> {
    let is_there = Command::new(shell).args(["-c", "true"]).status();
    if !is_there.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: {shell} is not installed, so its completions were not tried");
        return None;
    }
    let sandbox = Sandbox::new();
    sandbox.json(&["new", "Parse dates: $(touch pwned) `touch pwned`"]);
    sandbox.json(&["new", "Print 'dates' [now]"]);
    sandbox.comity().by("ada").args(&["decision", "ask", "Which way?"]).json();
    sandbox.write(file, &sandbox.comity().args(&["completions", shell]).done().stdout);
    Some(sandbox)
}

/// A call of the shell, which finds the binary under test as `comity`.
fn call(sandbox: &Sandbox, shell: &str) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_comity")).parent().unwrap();
    let mut command = sandbox.clean(OsStr::new(shell));
    command.env("PATH", format!("{}:{}", binary.display(), std::env::var("PATH").unwrap()));
    command.current_dir(&sandbox.root);
    command
}

/// The words at the beginning of lines, each once, in order.
fn words(lines: &str) -> Vec<String> {
    let first = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
    let mut words: Vec<String> = lines.lines().map(first).filter(|word| !word.is_empty()).collect();
    words.sort();
    words.dedup();
    words
}

fn check(sandbox: &Sandbox, complete: impl Fn(&str) -> String) {
    for (typed, wanted) in TYPED {
        assert_eq!(words(&complete(typed)), wanted, "{typed}");
    }
    assert!(!sandbox.root.join("pwned").exists(), "a title is text");
}

#[test]
fn bash_completes_commands_options_and_ids() {
    let Some(sandbox) = with_script("bash", "c.bash") else { return };
    check(&sandbox, |line| {
        let script = "source c.bash; COMP_WORDS=($LINE); [ \"${LINE% }\" = \"$LINE\" ] || COMP_WORDS+=(''); \
                      COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
                      _comity_with_ids comity \"${COMP_WORDS[-1]}\" \"${COMP_WORDS[-2]}\"; \
                      printf '%s\\n' \"${COMPREPLY[@]}\"";
        let output =
            call(&sandbox, "bash").args(["-c", script]).env("LINE", line).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
}

/// An interactive shell that completes one line as soon as its editor is there, and writes down what was found.
const ZSHRC: &str = r#"
fpath=($PWD/completions $fpath)
autoload -U compinit && compinit -u -D
compadd() {
    local -a found
    builtin compadd -O found "$@"
    print -rl -- $found >>$FOUND
    builtin compadd "$@"
}
zle-line-init() {
    BUFFER=$LINE CURSOR=$#LINE
    zle complete-word
    exit
}
zle -N zle-line-init
"#;

#[test]
fn zsh_completes_commands_options_and_ids() {
    let Some(sandbox) = with_script("zsh", "completions/_comity") else { return };
    sandbox.write(".zshrc", ZSHRC);
    let found = sandbox.outside().join("found");
    check(&sandbox, |line| {
        let _ = std::fs::remove_file(&found);
        let mut zsh = call(&sandbox, "zsh");
        zsh.args(["-d", "-i"]).env("ZDOTDIR", &sandbox.root);
        zsh.env("LINE", line).env("FOUND", &found);
        let screen = Terminal::new(80).run(zsh, SOON);
        std::fs::read_to_string(&found).unwrap_or(screen)
    });
}

#[test]
fn fish_completes_commands_options_and_ids() {
    let Some(sandbox) = with_script("fish", "c.fish") else { return };
    check(&sandbox, |line| {
        let mut fish = call(&sandbox, "fish");
        fish.args(["--no-config", "-c", "source c.fish; complete -C $LINE"]).env("LINE", line);
        let output = fish.output().unwrap();
        // Fish also offers files after options, as it does for every program.
        let lines = String::from_utf8(output.stdout).unwrap();
        lines.lines().filter(|line| *line != "c.fish").map(|line| format!("{line}\n")).collect()
    });
}

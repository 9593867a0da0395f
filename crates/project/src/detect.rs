//! The gates that a project has by its looks: what its build tool calls tests and checks.

use crate::gates::GateCommand;
use serde_json::Value;

/// The end of a line that `comity init` wrote because it found a tool.
const MARK: &str = "  # found when comity was set up";

/// The name of a gate and its command.
type Found = (&'static str, &'static str);

const CARGO: [Found; 3] = [
    ("test", "cargo test"),
    ("clippy", "cargo clippy --all-targets -- -D warnings"),
    ("fmt", "cargo fmt --all -- --check"),
];
const GO: [Found; 2] = [("test", "go test ./..."), ("vet", "go vet ./...")];
const MAKE: [Found; 2] = [("test", "make test"), ("test", "just test")];

/// The scripts of a `package.json` that are gates, under each name that they have.
const SCRIPTS: [(&str, &str); 4] =
    [("test", "test"), ("lint", "lint"), ("typecheck", "typecheck"), ("typecheck", "type-check")];
/// What npm writes where a package has no tests.
const NO_TEST: &str = "no test specified";

/// A lockfile of JavaScript, what installs by it, and what runs a script.
const NODE: [(&str, &str, &str); 7] = [
    ("package-lock.json", "npm ci", "npm run"),
    ("npm-shrinkwrap.json", "npm ci", "npm run"),
    ("pnpm-lock.yaml", "pnpm install --frozen-lockfile", "pnpm run"),
    ("yarn.lock", "yarn install --frozen-lockfile", "yarn run"),
    ("bun.lock", "bun install --frozen-lockfile", "bun run"),
    ("bun.lockb", "bun install --frozen-lockfile", "bun run"),
    ("", "npm install", "npm run"),
];

/// A lockfile of Python, and what runs a tool by it.
const PYTHON: [(&str, &str); 3] = [
    ("uv.lock", "uv run --frozen "),
    ("poetry.lock", "poetry install --no-interaction && poetry run "),
    ("", "python3 -m "),
];
const PYTHON_FILES: [&str; 4] = ["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini"];

/// Finds the gates of a project. `read` returns the text of a file at its root. The first tool that is found counts.
pub fn detect(read: &dyn Fn(&str) -> Option<String>) -> Vec<GateCommand> {
    let plain = |found: &[Found]| {
        found.iter().map(|(name, command)| GateCommand::plain(name, command)).collect()
    };
    if read("Cargo.toml").is_some() {
        return plain(&CARGO);
    }
    let node = read("package.json").map(|text| node(&text, read)).unwrap_or_default();
    if !node.is_empty() {
        return node;
    }
    if PYTHON_FILES.iter().any(|name| read(name).is_some()) {
        return python(read);
    }
    if read("go.mod").is_some() {
        return plain(&GO);
    }
    let has_target = |name: &str| {
        let is_target = |line: &str| {
            line.strip_prefix("test").is_some_and(|rest| {
                rest.trim_start().starts_with(':') && !rest.trim_start().starts_with(":=")
            })
        };
        read(name).is_some_and(|text| text.lines().any(is_target))
    };
    let [make, just] = MAKE;
    if ["Makefile", "makefile", "GNUmakefile"].into_iter().any(has_target) {
        return plain(&[make]);
    }
    if ["justfile", "Justfile", ".justfile"].into_iter().any(has_target) {
        return plain(&[just]);
    }
    Vec::new()
}

fn script(install: &str, run: &str, script: &str) -> String {
    format!("{install} && {run} {script}")
}

fn node(package: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<GateCommand> {
    let package: Value = serde_json::from_str(package).unwrap_or_default();
    let scripts = package.get("scripts");
    let has = |name: &str| {
        let text = scripts.and_then(|scripts| scripts.get(name)).and_then(Value::as_str);
        text.is_some_and(|text| !text.trim().is_empty() && !text.contains(NO_TEST))
    };
    if !has("test") {
        return Vec::new();
    }
    let Some((_, install, run)) =
        NODE.iter().find(|(lock, ..)| lock.is_empty() || read(lock).is_some())
    else {
        return Vec::new();
    };
    let mut found: Vec<GateCommand> = Vec::new();
    for (gate, name) in SCRIPTS.iter().filter(|(_, name)| has(name)) {
        if !found.iter().any(|known| known.name == *gate) {
            found.push(GateCommand::plain(gate, &script(install, run, name)));
        }
    }
    found
}

fn python(read: &dyn Fn(&str) -> Option<String>) -> Vec<GateCommand> {
    let lock = PYTHON.iter().find(|(lock, _)| lock.is_empty() || read(lock).is_some());
    let Some((_, run)) = lock else { return Vec::new() };
    let mut found = vec![GateCommand::plain("test", &format!("{run}pytest"))];
    let has_ruff = ["ruff.toml", ".ruff.toml"].iter().any(|name| read(name).is_some())
        || read("pyproject.toml").is_some_and(|text| text.contains("[tool.ruff"));
    if has_ruff {
        found.push(GateCommand::plain("ruff", &format!("{run}ruff check .")));
    }
    found
}

/// Writes a gate as a line of the settings.
pub(crate) fn line(gate: &GateCommand) -> String {
    let command = toml::Value::String(gate.command.clone());
    format!("{}.command = {command}{MARK}", gate.name)
}

/// Tells whether comity itself may have written a line of the settings.
pub(crate) fn is_own_line(text: &str) -> bool {
    text.ends_with(MARK) && all().iter().any(|gate| line(gate) == text)
}

/// Tells whether a gate is one that comity finds by itself, so that its command is no command of the repository.
pub fn is_own(gate: &GateCommand) -> bool {
    all().contains(gate)
}

/// Lists every gate that can be found.
fn all() -> Vec<GateCommand> {
    let plain = CARGO.iter().chain(&GO).chain(&MAKE);
    let mut all: Vec<GateCommand> =
        plain.map(|(name, command)| GateCommand::plain(name, command)).collect();
    for (_, install, run) in NODE {
        all.extend(
            SCRIPTS.map(|(gate, name)| GateCommand::plain(gate, &script(install, run, name))),
        );
    }
    for (_, run) in PYTHON {
        all.push(GateCommand::plain("test", &format!("{run}pytest")));
        all.push(GateCommand::plain("ruff", &format!("{run}ruff check .")));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let read = |name: &str| {
            let file = files.iter().find(|(file, _)| *file == name);
            file.map(|(_, text)| (*text).to_owned())
        };
        let gates = detect(&read);
        assert!(gates.iter().all(is_own), "{gates:?}");
        assert!(gates.iter().all(|gate| is_own_line(&line(gate))), "{gates:?}");
        gates.iter().map(|gate| format!("{}: {}", gate.name, gate.command)).collect()
    }

    #[test]
    fn each_tool_has_its_gates() {
        let cargo = found(&[("Cargo.toml", ""), ("Makefile", "test:\n")]);
        assert_eq!(cargo.first().map(String::as_str), Some("test: cargo test"));
        assert_eq!(cargo.len(), 3);
        let scripts = r#"{"scripts": {"test": "vitest", "lint": "eslint .", "type-check": "tsc"}}"#;
        assert_eq!(
            found(&[("package.json", scripts), ("pnpm-lock.yaml", "")]),
            [
                "test: pnpm install --frozen-lockfile && pnpm run test",
                "lint: pnpm install --frozen-lockfile && pnpm run lint",
                "typecheck: pnpm install --frozen-lockfile && pnpm run type-check",
            ]
        );
        let ruff = "[project]\n[tool.ruff.lint]\n";
        assert_eq!(
            found(&[("pyproject.toml", ruff), ("uv.lock", "")]),
            ["test: uv run --frozen pytest", "ruff: uv run --frozen ruff check ."]
        );
        assert_eq!(found(&[("setup.py", "")]), ["test: python3 -m pytest"]);
        assert_eq!(found(&[("go.mod", "")]), ["test: go test ./...", "vet: go vet ./..."]);
        assert_eq!(found(&[("Makefile", "all:\ntest: all\n")]), ["test: make test"]);
        assert_eq!(found(&[("justfile", "test:\n  x\n")]), ["test: just test"]);
    }

    #[test]
    fn what_is_no_test_is_no_gate() {
        let none = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        assert!(found(&[("package.json", none)]).is_empty());
        assert!(found(&[("package.json", "{")]).is_empty());
        assert!(found(&[("Makefile", "test := 1\ntests:\n")]).is_empty());
        assert!(found(&[]).is_empty());
    }

    #[test]
    fn a_command_that_comity_would_not_find_is_not_its_own() {
        let mut other = GateCommand::plain("test", "cargo test; curl x");
        assert!(!is_own(&other) && !is_own_line(&line(&other)));
        other.command = "cargo test".to_owned();
        assert!(is_own(&other));
        other.set.insert("RUSTC_WRAPPER".to_owned(), "./x".to_owned());
        assert!(!is_own(&other), "variables have power, too");
    }
}

//! A call of the guard as a process, as an agent client makes it: beside `/bin/true` and `git status`.

use crate::cli::{Project, binary};
use crate::process::{Usage, run, run_with};
use crate::stats::{at_fraction, count, median, ms};
use crate::table::Table;
use crate::{Outcome, Scale};
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Files of the work tree.
const FILES: usize = 10_000;
const FILES_IN_DIRECTORY: usize = 100;

/// One thing that is run again and again, in turns with the others.
struct Line {
    name: &'static str,
    usages: Vec<Usage>,
}

/// A project with many files, and the calls of its hooks as files that they read.
struct Hooks {
    project: Project,
    dir: PathBuf,
    calls: tempfile::TempDir,
}

impl Hooks {
    fn new() -> Outcome<Hooks> {
        let project = Project::new(Some(binary()?))?;
        let dir = project.store().ancestors().nth(3).ok_or("a store in no project")?.to_owned();
        for number in 0..FILES {
            let place = dir.join(format!("d{}", number / FILES_IN_DIRECTORY));
            std::fs::create_dir_all(&place)?;
            std::fs::write(place.join(format!("f{number}.rs")), format!("{number}\n"))?;
        }
        let who = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"];
        for args in [&["add", "--all"][..], &["commit", "--quiet", "--message", "Files"]] {
            run(Command::new("git").args(who).args(args).current_dir(&dir))?;
        }
        run(project.comity("human:bench").args(["init", "--clients", "none"]))?;
        run(project.comity("human:bench").args(["task", "create", "Work"]))?;
        run(project.comity("claude-code:11111111").args(["task", "start", "T1"]))?;
        Ok(Hooks { project, dir, calls: tempfile::tempdir()? })
    }

    fn call(&self, name: &str, event: &str, tool: &str, input: &Value) -> Outcome<PathBuf> {
        let text = json!({"session_id": "s-11111111", "cwd": self.dir, "hook_event_name": event,
            "tool_name": tool, "tool_input": input});
        let path = self.calls.path().join(name);
        std::fs::write(&path, text.to_string())?;
        Ok(path)
    }

    fn guard(&self, call: &Path) -> Outcome<Usage> {
        let mut command = self.project.comity("x");
        command.env_remove("COMITY_AGENT").env("CLAUDECODE", "1");
        run_with(
            command.args(["guard", "hook", "--client", "claude"]),
            Stdio::from(File::open(call)?),
        )
    }
}

/// Prints the section.
pub fn run_all(scale: Scale) -> Outcome<()> {
    let turns = scale.of(41, 11);
    let hooks = Hooks::new()?;
    let edit = |file: &str| json!({"file_path": file});
    let known = hooks.call("known", "PreToolUse", "Edit", &edit("d0/f1.rs"))?;
    let shell = json!({"command": "make"});
    let before = hooks.call("before", "PreToolUse", "Bash", &shell)?;
    let after = hooks.call("after", "PostToolUse", "Bash", &shell)?;
    hooks.guard(&known)?;
    let names = [
        "/bin/true",
        "git status",
        "guard, an edit of a file that is leased already",
        "guard, the first edit of a free file",
        "guard, before a shell command",
        "guard, after a shell command",
    ];
    let mut lines: Vec<Line> =
        names.into_iter().map(|name| Line { name, usages: Vec::new() }).collect();
    for turn in 0..turns {
        let free =
            hooks.call("free", "PreToolUse", "Edit", &edit(&format!("d1/f{}.rs", 100 + turn)))?;
        let status = ["--no-optional-locks", "status", "--porcelain=v2", "-z", "-uall"];
        let usages = [
            run(&mut Command::new("/bin/true"))?,
            run(Command::new("git").args(status).current_dir(&hooks.dir))?,
            hooks.guard(&known)?,
            hooks.guard(&free)?,
            hooks.guard(&before)?,
            hooks.guard(&after)?,
        ];
        lines.iter_mut().zip(usages).for_each(|(line, usage)| line.usages.push(usage));
    }
    let mut table = Table::new(&[
        "call as a process",
        "p25 ms",
        "p50 ms",
        "p90 ms",
        "CPU p25 ms",
        "CPU p50 ms",
    ]);
    for line in &lines {
        let wall: Vec<f64> = line.usages.iter().map(|usage| ms(usage.wall)).collect();
        let cpu: Vec<f64> = line.usages.iter().map(|usage| ms(usage.cpu)).collect();
        let quarter = |values: &[f64]| at_fraction(values, 0.25);
        let cells =
            [quarter(&wall), median(&wall), at_fraction(&wall, 0.9), quarter(&cpu), median(&cpu)];
        let cells = cells.iter().map(|value| format!("{value:.1}"));
        table.row(std::iter::once(line.name.to_owned()).chain(cells).collect());
    }
    table.print(&format!("guard: hooks in a work tree of {} files, {turns} turns", count(FILES)));
    Ok(())
}

//! The `comity` binary as a process, beside `sqlite3 :memory: 'select 1'`.

use crate::process::{self, Usage};
use crate::script::{new_task, register, repo, request};
use crate::stats::{best, count, median, ms};
use crate::table::Table;
use crate::{Outcome, Scale, fill};
use comity_core::command::Command as Wish;
use comity_core::ids::AgentId;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tasks in the three stores.
const TASKS: [usize; 3] = [100, 10_000, 100_000];
/// Tasks made in one transaction.
const FILL_BATCH: usize = 500;
/// Processes in one line of the last table.
const CHAIN_BLOCK: usize = 100;

/// Builds the release binary beside this one, and says where it is.
pub fn binary() -> Outcome<PathBuf> {
    let here = std::env::current_exe()?;
    let dir = here.parent().ok_or("this binary is nowhere")?;
    let target = dir.parent().ok_or("this binary is in no target directory")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--release", "-p", "comity-cli", "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()?;
    if !status.success() {
        return Err("comity-cli does not build".into());
    }
    Ok(target.join("release").join("comity"))
}

/// A throw-away git repository with a store.
pub struct Project {
    dir: tempfile::TempDir,
    binary: Option<PathBuf>,
}

impl Project {
    /// Makes one.
    pub fn new(binary: Option<PathBuf>) -> Outcome<Project> {
        let dir = tempfile::tempdir()?;
        let git = |args: &[&str]| {
            let who = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"];
            process::run(Command::new("git").args(who).args(args).current_dir(dir.path()))
        };
        git(&["init", "--quiet"])?;
        // A claim notes the commit that it begins at.
        git(&["commit", "--quiet", "--allow-empty", "--message", "First"])?;
        std::fs::create_dir_all(dir.path().join(".git/comity"))?;
        Ok(Project { dir, binary })
    }

    /// Names its store, where the binary looks for it.
    pub fn store(&self) -> PathBuf {
        self.dir.path().join(".git/comity/comity.db")
    }

    /// Tells whether there is a binary to run.
    pub fn has_binary(&self) -> bool {
        self.binary.is_some()
    }

    /// Starts a command line of the binary.
    pub fn comity(&self, agent: &str) -> Command {
        let mut command = Command::new(self.binary.as_deref().unwrap_or(Path::new("comity")));
        // What the caller's own shell says about agents must not reach it.
        command.env_clear().current_dir(self.dir.path());
        for name in ["PATH", "HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("COMITY_AGENT", agent).env("COMITY_REPO", "bench/app");
        command
    }
}

/// Eight in ten tasks are ready, two wait for another one.
pub fn fill_tasks(path: &Path, tasks: usize, agents: usize) -> Outcome<()> {
    let repo = repo()?;
    let planner = AgentId::parse("human:bench")?;
    let mut filler = fill::Filler::open(path)?;
    let names = (0..agents).map(|agent| format!("agent-{agent:02}"));
    let agents: Vec<_> =
        names.map(|name| register(&AgentId::parse(&name)?, &repo)).collect::<Outcome<_>>()?;
    filler.batch(agents)?;
    for numbers in (1..=tasks).collect::<Vec<_>>().chunks(FILL_BATCH) {
        let requests: Vec<_> = numbers
            .iter()
            .map(|number| {
                let mut task = new_task(None, &format!("part-{number}"));
                if number % 5 == 0 {
                    task.depends_on = vec![format!("T{}", number - 1)];
                }
                request(&planner, &repo, None, Wish::CreateTask(Box::new(task)))
            })
            .collect();
        filler.batch(requests)?;
    }
    drop(filler);
    // Filling leaves a long write-ahead log that no process would find later.
    let conn = rusqlite::Connection::open(path)?;
    conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(())
}

/// One thing that is run again and again.
struct Line {
    name: String,
    usages: Vec<Usage>,
}

impl Line {
    fn new(name: impl Into<String>) -> Line {
        Line { name: name.into(), usages: Vec::new() }
    }

    fn all(&self, field: fn(&Usage) -> std::time::Duration) -> Vec<f64> {
        self.usages.iter().map(|usage| ms(field(usage))).collect()
    }

    fn cpu(&self) -> f64 {
        median(&self.all(|usage| usage.cpu))
    }
}

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let turns = scale.of(41, 11);
    let binary = binary()?;
    let mut projects = Vec::new();
    for tasks in TASKS {
        let project = Project::new(Some(binary.clone()))?;
        fill_tasks(&project.store(), tasks, turns)?;
        projects.push(project);
    }
    let mut peer = Line::new("`sqlite3 :memory: 'select 1'`");
    let mut version = Line::new("`comity --version`");
    let mut claims: Vec<Line> =
        TASKS.iter().map(|n| Line::new(format!("`task claim`, {} tasks", count(*n)))).collect();
    let mut lists: Vec<Line> = TASKS
        .iter()
        .map(|n| Line::new(format!("`task list --ready`, {} tasks", count(*n))))
        .collect();
    for turn in 0..turns {
        peer.usages.push(process::run(Command::new("sqlite3").args([":memory:", "select 1"]))?);
        let agent = format!("agent-{turn:02}");
        for (at, project) in projects.iter().enumerate() {
            if at == 0 {
                version.usages.push(process::run(project.comity(&agent).arg("--version"))?);
            }
            let claim = process::run(project.comity(&agent).args(["task", "claim"]))?;
            let list = process::run(project.comity(&agent).args(["task", "list", "--ready"]))?;
            for (lines, usage) in [(&mut claims, claim), (&mut lists, list)] {
                lines.get_mut(at).ok_or("a line too few")?.usages.push(usage);
            }
        }
    }
    print(&peer, &version, &claims, &lists, turns);
    one_after_the_other(&binary, scale)
}

/// A store that only short processes use must not get slower with what it has been through.
fn one_after_the_other(binary: &Path, scale: Scale) -> Outcome<()> {
    let blocks = scale.of(5, 2);
    let project = Project::new(Some(binary.to_owned()))?;
    fill_tasks(&project.store(), 10, 1)?;
    let mut log = project.store().into_os_string();
    log.push("-wal");
    let mut table = Table::new(&["commands before", "wall ms", "CPU ms", "CPU ÷ first", "log MiB"]);
    let mut first = None;
    for block in 0..blocks {
        let mut line = Line::new("note");
        for _ in 0..CHAIN_BLOCK {
            let mut command = project.comity("agent-00");
            line.usages.push(process::run(command.args(["note", "progress", "half of it works"]))?);
        }
        let kib = std::fs::metadata(&log).map_or(0, |found| found.len() / 1024);
        table.row(vec![
            count(block * CHAIN_BLOCK),
            format!("{:.2}", median(&line.all(|usage| usage.wall))),
            format!("{:.2}", line.cpu()),
            format!("{:.2}×", line.cpu() / *first.get_or_insert(line.cpu())),
            format!("{:.1}", f64::from(u32::try_from(kib)?) / 1024.0),
        ]);
    }
    table.print("cli: one process after the other");
    println!(
        "\n`comity note`, {CHAIN_BLOCK} processes in a row on one store; each line the median of as many. The log \
         is SQLite's write-ahead log after them, which the next process reads whole."
    );
    Ok(())
}

fn print(peer: &Line, version: &Line, claims: &[Line], lists: &[Line], turns: usize) {
    let mut table = Table::new(&[
        "process",
        "wall ms",
        "CPU ms",
        "best CPU ms",
        "CPU ÷ sqlite3",
        "CPU ÷ 100 tasks",
    ]);
    let mut row = |line: &Line, smallest: Option<&Line>| {
        let beside =
            smallest.map_or(String::new(), |first| format!("{:.2}×", line.cpu() / first.cpu()));
        table.row(vec![
            line.name.clone(),
            format!("{:.2}", median(&line.all(|usage| usage.wall))),
            format!("{:.2}", line.cpu()),
            format!("{:.2}", best(&line.all(|usage| usage.cpu))),
            format!("{:.2}×", line.cpu() / peer.cpu()),
            beside,
        ]);
    };
    row(peer, None);
    row(version, None);
    for lines in [claims, lists] {
        for line in lines {
            row(line, lines.first());
        }
    }
    table.print("cli: the binary as a process");
    println!(
        "\nMedians of {turns} runs, all lines by turns, warm caches, in a git repository with the default store. \
         Each claim takes another task, with its lease, for another agent. CPU: user and system, as the kernel's \
         scheduler counted it. Targets: 100,000 tasks ≤ 1.3× of 100, claim ≤ 3× of sqlite3."
    );
}

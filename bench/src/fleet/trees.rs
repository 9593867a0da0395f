//! The work tree of a run beside `git worktree add`, a snapshot beside `git status`, probes beside a bare `git merge-tree`.

use super::Line;
use super::yard::Yard;
use crate::process::run;
use crate::stats::{median, ms, process_cpu};
use crate::{Outcome, Scale};
use comity_fleet::Workspace;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Files of the repository whose work trees are made.
const FILES: usize = 20_000;
/// Files of the repository whose runs are compared.
const PROBED_FILES: usize = 2_000;
const PROBED_RUNS: usize = 20;

/// An agent that changes a line of its own in a file that all change, and says so; then it waits.
const CHANGES_A_LINE: &str = "n=${COMITY_RUN#R}\nsed -i \"$((n * 40))s/.*/changed by $n/\" shared.txt\n\
    while sleep 6; do echo here; done";

/// CPU time of children that have ended.
fn children_cpu() -> Outcome<Duration> {
    const USER: usize = 13;
    const SYSTEM: usize = 14;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().collect())
        .unwrap_or_default();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Ok(Duration::from_millis((ticks(USER) + ticks(SYSTEM)) * 10))
}

/// CPU time of this process and its children while something is done.
fn cpu_of(mut does: impl FnMut() -> Outcome<()>) -> Outcome<Duration> {
    let before = process_cpu() + children_cpu()?;
    does()?;
    Ok(process_cpu() + children_cpu()? - before)
}

pub fn work_trees(binary: &Path, scale: Scale) -> Outcome<Vec<Line>> {
    let turns = scale.of(9, 3);
    let yard = Yard::new(binary, FILES, "exit 1")?;
    let (context, tip) = (yard.context()?, yard.tip()?);
    let (mut ours, mut gits) = (Vec::new(), Vec::new());
    for turn in 0..turns {
        rustix::fs::sync();
        let began = Instant::now();
        let (name, branch) = (format!("R{}", turn + 1), format!("w{turn}"));
        let space = Workspace::make(&context, &name, "T1", &branch, &tip)?;
        ours.push(ms(began.elapsed()));
        let made = space.tree().to_owned();
        drop(space);
        std::fs::remove_dir_all(made)?;
        rustix::fs::sync();
        let place = yard.home().join(format!("plain{turn}"));
        let place = place.display().to_string();
        let branch = format!("plain{turn}");
        let began = Instant::now();
        yard.git(&["worktree", "add", "--quiet", "-b", &branch, &place])?;
        gits.push(ms(began.elapsed()));
        yard.git(&["worktree", "remove", "--force", &place])?;
    }
    let (ours, gits) = (median(&ours), median(&gits));
    let trees = Line {
        what: "making the work tree of a run ÷ `git worktree add`, 20,000 files",
        target: "≤ 1.3",
        measured: format!("{:.2} ({ours:.0} ms ÷ {gits:.0} ms)", ours / gits),
        met: ours / gits <= 1.3,
    };
    Ok(vec![trees, snapshots(&yard, scale)?])
}

/// Each snapshot finds one more file changed, as between two turns of an agent.
fn snapshots(yard: &Yard, scale: Scale) -> Outcome<Line> {
    let turns = scale.of(40, 10);
    let context = yard.context()?;
    let mut space = Workspace::make(&context, "R1", "T1", "kept", &yard.tip()?)?;
    let tree = space.tree().to_owned();
    let status = |untracked: &str| {
        let args = ["--no-optional-locks", "status", "--porcelain=v2", "-z", untracked];
        run(Command::new("git").args(args).current_dir(&tree)).map(drop)
    };
    status("-uall")?;
    space.snapshot();
    let (mut ours, mut gits) = (Duration::ZERO, Duration::ZERO);
    for turn in 0..turns {
        std::fs::write(tree.join(format!("d{turn}/f{}.rs", turn * 100)), "changed\n")?;
        gits += cpu_of(|| status("-uall"))?;
        ours += cpu_of(|| {
            space.snapshot();
            Ok(())
        })?;
    }
    let each = |all: Duration| ms(all) / f64::from(u32::try_from(turns).unwrap_or(1));
    let (ours, gits) = (each(ours), each(gits));
    Ok(Line {
        what: "CPU of a snapshot ÷ `git status`, 20,000 files, one changed",
        target: "≤ 3",
        measured: format!("{:.2} ({ours:.0} ms ÷ {gits:.0} ms)", ours / gits),
        met: ours / gits <= 3.0,
    })
}

/// Waits for the work tree of a run.
fn tree_of(yard: &Yard, id: &str) -> Outcome<PathBuf> {
    let mut tree = None;
    yard.until("the run has a work tree", || {
        let shown = yard.json(&["run", "show", id])?;
        let path = shown.pointer("/run/workspace").and_then(serde_json::Value::as_str);
        tree = path.map(PathBuf::from);
        Ok(tree.is_some())
    })?;
    Ok(tree.unwrap_or_default())
}

pub fn probes(binary: &Path, scale: Scale) -> Outcome<Line> {
    let turns = scale.of(15, 5);
    let yard = Yard::new(binary, PROBED_FILES, CHANGES_A_LINE)?;
    yard.tasks(PROBED_RUNS)?;
    let ids: Vec<String> =
        (1..=PROBED_RUNS).map(|task| yard.start(task)).collect::<Outcome<_>>()?;
    let context = yard.context()?;
    let root = context.root.git.as_ref().ok_or("no repository")?.common_dir.clone();
    let trees: Vec<PathBuf> = ids.iter().map(|id| tree_of(&yard, id)).collect::<Outcome<_>>()?;
    let wip = |place: usize| -> Outcome<Option<String>> {
        let (id, tree) = (&ids[place], &trees[place]);
        let name = format!("refs/comity/run/{id}/wip");
        let output = Command::new("git")
            .args(["rev-parse", "--verify", "--quiet", &name])
            .current_dir(tree)
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(output.status.success().then_some(text))
    };
    yard.until("every run has a snapshot", || {
        (0..ids.len()).try_fold(true, |so, place| Ok(so && wip(place)?.is_some()))
    })?;
    let heads: Vec<String> =
        (0..ids.len()).map(|place| Ok(wip(place)?.unwrap_or_default())).collect::<Outcome<_>>()?;
    // The same pairs: each run with those before it, and with the branch.
    let mut pairs = String::new();
    for (place, later) in heads.iter().enumerate() {
        let firsts = heads.iter().take(place).map(String::as_str).chain(["main"]);
        firsts.for_each(|first| pairs.push_str(&format!("{first} {later}\n")));
    }
    let objects: Vec<String> =
        trees.iter().map(|tree| tree.join(".git/objects").display().to_string()).collect();
    let others = format!("{}:{}", root.join("objects").display(), objects.join(":"));
    let (mut ours, mut gits) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        let began = Instant::now();
        run(yard.comity().args(["merge", "probe", "--json"]))?;
        ours.push(ms(began.elapsed()));
        let quarantine = tempfile::tempdir()?;
        let began = Instant::now();
        let mut git = Command::new("git")
            .args(["merge-tree", "--write-tree", "--stdin"])
            .current_dir(&root)
            .env("GIT_OBJECT_DIRECTORY", quarantine.path())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &others)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        git.stdin.take().ok_or("git reads nothing")?.write_all(pairs.as_bytes())?;
        if !git.wait()?.success() {
            return Err("git merge-tree failed".into());
        }
        gits.push(ms(began.elapsed()));
    }
    let (ours, gits) = (median(&ours), median(&gits));
    Ok(Line {
        what: "`merge probe` of 20 runs, 190 pairs and 20 with the branch ÷ one bare `merge-tree --stdin` of them",
        target: "≤ 2",
        measured: format!("{:.2} ({ours:.0} ms ÷ {gits:.0} ms)", ours / gits),
        met: ours / gits <= 2.0,
    })
}

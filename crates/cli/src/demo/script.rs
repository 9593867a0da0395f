//! The story: plan, collide, crash, ask, prove, review, merge, finish.

use super::crew::Crew;
use comity_core::refusal::{Code, Refusal};
use serde_json::Value;
use std::time::{Duration, Instant};

const YOU: &str = "human:you";

pub(super) struct End {
    pub(super) events: u64,
    pub(super) tasks_done: u64,
    pub(super) woken_after_ms: u64,
}

pub(super) fn play(crew: &mut Crew) -> Result<End, Refusal> {
    plan(crew)?;
    collide(crew)?;
    crash(crew)?;
    let woken_after_ms = ask(crew)?;
    work(crew)?;
    review(crew)?;
    merge(crew)?;
    tell(crew)?;
    rest(crew)?;
    let (events, tasks_done) = look_back(crew)?;
    Ok(End { events, tasks_done, woken_after_ms })
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

fn plan(crew: &mut Crew) -> Result<(), Refusal> {
    crew.chapter("A person sets the project up and hands out roles");
    crew.run(YOU, &["init", "--yes"])?;
    crew.open_pages()?;
    crew.run(YOU, &["agent", "register", "pia", "--role", "planner"])?;
    crew.run(YOU, &["agent", "register", "cleo", "--role", "critic"])?;
    crew.run(YOU, &["agent", "register", "ines", "--role", "integrator"])?;
    crew.run(YOU, &["agent", "register", "ada", "--role", "implementer", "--role", "critic"])?;

    crew.chapter("The planner plans three tasks");
    crew.run(
        "pia",
        &["task", "create", "Parse dates", "--file", "src/date.rs", "--gate", "tests"],
    )?;
    crew.run(
        "pia",
        &["task", "create", "Print dates", "--file", "src/print.rs", "--depends-on", "T1"],
    )?;
    crew.run("pia", &["task", "create", "Write the manual", "--file", "docs/**"])?;
    let why = crew.run("bob", &["task", "why", "T2"])?;
    let reasons = why.pointer("/why/reasons/0").and_then(Value::as_str).unwrap_or_default();
    crew.tell(&format!("{} ({reasons})", text(&why, "/why/summary")));
    Ok(())
}

fn collide(crew: &mut Crew) -> Result<(), Refusal> {
    crew.chapter("Two agents want the same file at the same moment");
    let agents = ["ada", "bob"];
    let ada = crew.start("ada", &["lease", "acquire", "src/date.rs"])?;
    let bob = crew.start("bob", &["lease", "acquire", "src/d*.rs"])?;
    let results = [crew.finish(ada)?, crew.finish(bob)?];
    let mut winner = None;
    for (agent, result) in agents.iter().zip(&results) {
        match result {
            Ok(answer) => {
                winner = Some(*agent);
                let lease = text(answer, "/leases/0/lock_id");
                crew.tell(&format!("{agent} gets {lease} on {}", text(answer, "/leases/0/path")));
            }
            Err(error) => crew.tell_refusal(error),
        }
    }
    let both = results.iter().filter(|result| result.is_ok()).count();
    let Some(winner) = winner.filter(|_| both == 1) else {
        return Err(Refusal::new(Code::Internal, format!("{both} agents hold one file")));
    };
    crew.run(winner, &["lease", "release", "--all"])?;
    Ok(())
}

fn crash(crew: &mut Crew) -> Result<(), Refusal> {
    crew.chapter("One agent takes a task and crashes");
    let claim = crew.run("carl", &["task", "claim", "T3", "--ttl", "1s"])?;
    let fence = number(&claim, "/fence").to_string();
    crew.tell(&format!("fence {fence}; then carl is silent for more than a second"));
    crew.pause(Duration::from_millis(1200))?;
    crew.run("watch", &["watchdog", "--once"])?;
    let task = crew.quietly("watch", &crew.main_tree(), &["task", "show", "T3"])?;
    crew.tell(&format!(
        "T3 is {} again, {} of {} attempts used",
        text(&task, "/task/status"),
        number(&task, "/task/attempts"),
        number(&task, "/task/max_attempts"),
    ));
    let claim = crew.run("bob", &["task", "claim", "T3"])?;
    crew.tell(&format!("bob has it now, with fence {}", number(&claim, "/fence")));
    let tree = crew.main_tree();
    crew.refused("carl", &tree, &["task", "start", "T3", "--fence", &fence], "stale-fence")
}

fn ask(crew: &mut Crew) -> Result<u64, Refusal> {
    crew.chapter("One agent asks, waits, and is woken by the answer");
    crew.run("ada", &["task", "claim", "T1"])?;
    crew.run("ada", &["task", "start", "T1"])?;
    let question = [
        "decision",
        "ask",
        "Which calendar?",
        "--task",
        "T1",
        "--option",
        "iso",
        "--option",
        "local",
        "--wait",
        "--timeout",
        "20s",
    ];
    let waiting = crew.start("ada", &question)?;
    let tree = crew.main_tree();
    let id = loop {
        crew.pause(Duration::from_millis(50))?;
        let open = crew.quietly(YOU, &tree, &["decision", "list"])?;
        if let Some(id) = open.pointer("/decisions/0/id").and_then(Value::as_str) {
            break id.to_owned();
        }
    };
    crew.pause(Duration::from_millis(300))?;
    crew.run(YOU, &["decision", "answer", &id, "iso: with the offset"])?;
    let answered = Instant::now();
    let answer = crew.finish(waiting)?.map_err(|error| {
        Refusal::new(Code::Internal, format!("the question was not answered: {error}"))
    })?;
    let woken = u64::try_from(answered.elapsed().as_millis()).unwrap_or(u64::MAX);
    crew.tell(&format!(
        "ada was woken within {woken} ms: {} ({})",
        text(&answer, "/decision/answer"),
        text(&answer, "/decision/text"),
    ));
    Ok(woken)
}

/// Makes a work tree for an agent, with one commit.
fn commit(crew: &Crew, agent: &str, branch: &str, file: &str, body: &str) -> Result<(), Refusal> {
    let tree = crew.tree_of(agent);
    if tree.exists() {
        crew.git(&tree, &["switch", "--quiet", "-c", branch, "main"])?;
    } else {
        let place = tree.display().to_string();
        crew.git(&crew.main_tree(), &["worktree", "add", "--quiet", "-b", branch, &place, "main"])?;
    }
    crew.write(&tree, file, body)?;
    crew.git(&tree, &["add", "--all"])?;
    crew.git(&tree, &["commit", "--quiet", "-m", &format!("Work on {file}")])?;
    Ok(())
}

fn work(crew: &mut Crew) -> Result<(), Refusal> {
    crew.chapter("The agent works in its own git worktree and submits the work");
    let task = crew.quietly("ada", &crew.main_tree(), &["task", "show", "T1"])?;
    let branch = text(&task, "/task/branch").to_owned();
    commit(crew, "ada", &branch, "src/date.rs", "pub fn parse() {}\n")?;
    let tree = crew.tree_of("ada");
    let task = crew.run_in("ada", &tree, &["task", "submit", "T1"])?;
    let sha = text(&task, "/task/commit").get(..10).unwrap_or_default().to_owned();
    crew.tell(&format!("commit {sha} on {branch} waits for a review; its lease has ended"));
    Ok(())
}

fn review(crew: &mut Crew) -> Result<(), Refusal> {
    crew.chapter("Nobody calls work done that is not");
    let (main, tree) = (crew.main_tree(), crew.tree_of("ada"));
    crew.refused("ada", &tree, &["task", "approve", "T1"], "self-review")?;
    crew.refused("cleo", &main, &["task", "approve", "T1"], "gate-unmet")?;
    crew.run_in("ada", &tree, &["gate", "record", "T1", "tests", "pass"])?;
    let task = crew.run("cleo", &["task", "approve", "T1", "--reason", "small and tested"])?;
    crew.tell(&format!("T1 is {}", text(&task, "/task/status")));
    Ok(())
}

fn merge(crew: &mut Crew) -> Result<(), Refusal> {
    crew.chapter("The integrator merges with git, and comity checks the merge");
    let main = crew.main_tree();
    crew.run("ines", &["task", "merge", "T1"])?;
    let before = crew.git(&main, &["rev-parse", "HEAD"])?;
    crew.refused("ines", &main, &["task", "done", "T1", "--merged", &before], "not-merged")?;
    let task = crew.quietly("ines", &main, &["task", "show", "T1"])?;
    let branch = text(&task, "/task/branch").to_owned();
    crew.git(&main, &["merge", "--quiet", "--no-ff", "-m", "Merge T1", &branch])?;
    let sha = crew.git(&main, &["rev-parse", "HEAD"])?;
    crew.run("ines", &["task", "done", "T1", "--merged", &sha])?;
    let ready = crew.run("bob", &["task", "list", "--ready"])?;
    crew.tell(&format!("T1 is done, so {} is ready", text(&ready, "/tasks/0/id")));
    Ok(())
}

/// One agent renames a function, and another one's claim brings the news.
fn tell(crew: &mut Crew) -> Result<(), Refusal> {
    crew.chapter("One agent renames a function; the next claim brings the news");
    let text_of_change = "renamed parse to read in src/date.rs";
    crew.run("bob", &["note", "change", text_of_change, "--path", "src/*.rs"])?;
    let claim = crew.run("ada", &["task", "claim", "T2"])?;
    let changes = claim.pointer("/brief/changes").and_then(Value::as_array);
    let told: Vec<&str> =
        changes.into_iter().flatten().filter_map(|change| change["text"].as_str()).collect();
    if !told.contains(&text_of_change) {
        return Err(Refusal::new(Code::Internal, "the claim did not bring the news"));
    }
    crew.tell(&format!("ada reads in the brief of T2: bob {text_of_change}"));
    Ok(())
}

/// The other two tasks, from the claim to the end.
fn rest(crew: &mut Crew) -> Result<(), Refusal> {
    crew.chapter("The rest goes the same way");
    let main = crew.main_tree();
    for (agent, id, file) in [("bob", "T3", "docs/manual.md"), ("ada", "T2", "src/print.rs")] {
        crew.quietly(agent, &main, &["task", "start", id])?;
        let task = crew.quietly(agent, &main, &["task", "show", id])?;
        let branch = text(&task, "/task/branch").to_owned();
        commit(crew, agent, &branch, file, "done\n")?;
        let tree = crew.tree_of(agent);
        crew.quietly(agent, &tree, &["task", "submit", id])?;
        crew.quietly("cleo", &main, &["task", "approve", id])?;
        crew.quietly("ines", &main, &["task", "merge", id])?;
        crew.git(&main, &["merge", "--quiet", "--no-ff", "-m", &format!("Merge {id}"), &branch])?;
        let sha = crew.git(&main, &["rev-parse", "HEAD"])?;
        crew.quietly("ines", &main, &["task", "done", id, "--merged", &sha])?;
        crew.tell(&format!("{id} by {agent}: started, submitted, approved, merged, done"));
    }
    Ok(())
}

fn look_back(crew: &mut Crew) -> Result<(u64, u64), Refusal> {
    crew.chapter("Afterwards anybody can read what happened, and prove it");
    let verified = crew.run(YOU, &["log", "verify"])?;
    let events = number(&verified, "/events");
    let head = text(&verified, "/head").get(..16).unwrap_or_default();
    crew.tell(&format!(
        "{events} events; the chain is intact and the state follows from it; head {head}…"
    ));
    let main = crew.main_tree();
    let status = crew.quietly(YOU, &main, &["status"])?;
    let report = crew.run(YOU, &["report", "log"])?;
    crew.show(&format!("\n{}", text(&report, "/report")));
    Ok((events, number(&status, "/counts/done")))
}

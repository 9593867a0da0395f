//! `neo run`, `neo runs`, `neo cost` and `neo do`: runs of agents in neo's words.

use super::super::fleet::on_host;
use super::print;
use crate::args::{NeoCost, NeoRun, NeoRuns};
use crate::output::{self, Reply};
use crate::terminal::neutral;
use comity_api::{ById, CostBy, CostFilter, RunFilter, StartRun, op};
use comity_core::chain::Hash;
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::Refusal;
use comity_core::run::RunState;
use comity_core::task::Priority;
use comity_core::view::RunView;
use comity_engine::Handler;
use comity_fleet::{Job, RunPlace, last_words};
use comity_project::Context;
use comity_project::store::Access;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How often somebody who waits looks at a run.
const LOOK: Duration = Duration::from_millis(200);
/// Characters of an id that a table shows.
const SHORT: usize = 8;

/// Returns the id of a run in neo's form: a UUID that begins with the number of the run.
fn uuid(run: &RunView) -> String {
    let number = run.number.unwrap_or_default();
    let hash = Hash::of(format!("{} {number}", run.repo).as_bytes()).to_string();
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!("{number:08}-{}-4{}-a{}-{}", part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

fn status(state: RunState) -> &'static str {
    match state {
        RunState::Queued | RunState::Starting | RunState::Running | RunState::Finishing => {
            "running"
        }
        RunState::Waiting => "blocked",
        RunState::Paused => "paused",
        RunState::Succeeded => "completed",
        RunState::Failed | RunState::Stopped | RunState::Lost => "failed",
    }
}

fn cost_of(run: &RunView) -> String {
    format!("${:.4}", run.cost_usd.map_or(0.0, |usd| usd.dollars()))
}

/// How long a run took so far.
fn took(run: &RunView) -> String {
    let Some(began) = run.started_at.or(run.created_at) else { return "-".to_owned() };
    let end = run.ended_at.unwrap_or_else(crate::human::now);
    let seconds = end.since(began).ms() / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{}s", seconds / 60, seconds % 60),
        _ => format!("{}h{}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The record of a run in neo's form. What it was asked and what it said are on the host that had it.
fn record(context: &Context, run: &RunView) -> Value {
    let id = run.id.as_deref().unwrap_or_default();
    let job = RunPlace::of(context, id).and_then(|place| Job::read(&place.job())).ok();
    let began = run.started_at.or(run.created_at);
    let took = began.map(|began| run.ended_at.unwrap_or_else(crate::human::now).since(began).ms());
    let number = run.pr.as_ref().and_then(|url| url.split_once("/pull/")?.1.parse::<u64>().ok());
    json!({
        "version": 1,
        "runId": uuid(run),
        "agent": run.agent,
        "repo": run.repo,
        "prompt": job.and_then(|job| job.asked),
        // No file names the process of a run: its keeper is known by its socket.
        "pid": Value::Null,
        "branch": run.branch,
        "status": status(run.state),
        "steps": {"execute": {
            "status": step_status(run.state),
            "sessionId": run.session,
            "costUsd": run.cost_usd.map_or(0.0, |usd| usd.dollars()),
            "agent": run.agent,
            "startedAt": run.started_at,
            "completedAt": run.ended_at,
            "error": run.error.as_ref().map(|error| error.message.clone()),
            "attempt": run.attempt,
            "prUrl": run.pr,
            "prNumber": number,
            "durationMs": took,
            "output": last_words(context, id),
        }},
        "createdAt": run.created_at,
        "updatedAt": run.ended_at.or(run.started_at).or(run.created_at),
        "metadata": run.meta,
    })
}

fn step_status(state: RunState) -> &'static str {
    match status(state) {
        "completed" => "success",
        "failed" => "failure",
        "blocked" => "blocked",
        _ => "running",
    }
}

pub(super) fn start(context: &Context, args: NeoRun) -> Result<Reply, Refusal> {
    let (Some(agent), Some(prompt)) = (args.agent, args.prompt) else {
        return print::refuse("Usage: neo run <agent> --prompt <text>");
    };
    let mut meta = match args.meta.as_deref().map(serde_json::from_str::<Value>) {
        None => Map::new(),
        Some(Ok(Value::Object(meta))) => meta,
        Some(_) => return print::refuse("Invalid --meta: must be a JSON object"),
    };
    Priority::parse(&args.priority)?;
    meta.insert("priority".to_owned(), Value::from(args.priority));
    if let Some(strategy) = args.git_strategy {
        if !["pr", "branch"].contains(&strategy.as_str()) {
            return print::refuse("Invalid --git-strategy: must be pr or branch");
        }
        meta.insert("gitStrategy".to_owned(), Value::from(strategy));
    }
    let branch = args.branch;
    let wanted = StartRun { agent, prompt: Some(prompt), branch, meta, ..StartRun::default() };
    let fleet = on_host(context, Access::Write)?;
    let started = Handler::<op::Run>::handle(&fleet, &context.caller(), wanted)?.output;
    if !args.sync {
        let (id, pid) = (uuid(&started.run), started.pid);
        if args.form.is_json() {
            return Ok(print::json(&json!({"runId": id, "status": "detached", "pid": pid})));
        }
        let said = format!(
            "{}  PID:  {}\n  Logs: neo logs -f {id}\n",
            print::success(&format!("Detached run started: {id}")),
            pid.map_or_else(|| "(a worker takes it)".to_owned(), |pid| pid.to_string()),
        );
        return Ok(Reply::text(json!({"run": started.run, "pid": pid}), said));
    }
    let id = started.run.id.unwrap_or_default();
    loop {
        let run = context.ask::<op::RunShow>(ById { id: id.clone() })?.run;
        if !run.state.is_live() {
            return Ok(ended(context, &run, args.form.is_json()));
        }
        std::thread::sleep(LOOK);
    }
}

fn ended(context: &Context, run: &RunView, json: bool) -> Reply {
    let exit = u8::from(run.state != RunState::Succeeded);
    if json {
        return print::json(&record(context, run)).exit(exit);
    }
    Reply::text(json!({"run": run}), details(run)).exit(exit)
}

fn details(run: &RunView) -> String {
    let mut lines = vec![
        ("Run", uuid(run)),
        ("Agent", run.agent.clone()),
        ("Status", status(run.state).to_owned()),
        ("Cost", cost_of(run)),
        ("Duration", took(run)),
    ];
    lines.extend(run.branch.clone().map(|branch| ("Branch", branch)));
    lines.extend(run.pr.clone().map(|pr| ("PR", pr)));
    lines.extend(run.error.as_ref().map(|error| ("Error", error.message.clone())));
    lines
        .iter()
        .map(|(name, value)| format!("{:<10}{}\n", format!("{name}:"), neutral(value)))
        .collect()
}

/// All runs, the oldest first.
fn all(context: &Context) -> Result<Vec<RunView>, Refusal> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let filter = RunFilter { limit: Some(PAGE_MAX), after, ..RunFilter::default() };
        let page = context.ask::<op::Runs>(filter)?;
        found.extend(page.runs);
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}

/// Returns who acts in the run of an id, in neo's form or comity's own.
pub(super) fn actor_of(context: &Context, id: &str) -> Option<String> {
    let is_it = |run: &RunView| run.id.as_deref() == Some(id) || uuid(run).starts_with(id);
    all(context).ok()?.into_iter().find(is_it)?.identity
}

pub(super) fn runs(context: &Context, args: &NeoRuns) -> Result<Reply, Refusal> {
    let mut found = all(context)?;
    if let Some(id) = &args.id {
        let is_it =
            |run: &&RunView| run.id.as_deref() == Some(id) || uuid(run).starts_with(id.as_str());
        let Some(run) = found.iter().find(is_it) else {
            return print::refuse(format!("Run not found: {id}"));
        };
        if args.form.is_json() {
            return Ok(print::json(&record(context, run)));
        }
        return Ok(Reply::text(json!({"run": run}), details(run)));
    }
    if let Some(wanted) = &args.status {
        found.retain(|run| status(run.state) == wanted);
    }
    if let Some(last) = args.last {
        let first = found.len().saturating_sub(last);
        found.drain(..first);
    }
    found.reverse();
    if found.is_empty() {
        output::aside("No runs found.\n");
        return Ok(Reply::printed());
    }
    if args.form.is_json() {
        let records: Vec<Value> = found.iter().map(|run| record(context, run)).collect();
        return Ok(print::json(&records));
    }
    let short_id = |run: &RunView| uuid(run).chars().take(SHORT).collect::<String>();
    let said = if args.short {
        let line = |run: &RunView| {
            let (repo, agent) = (&run.repo, &run.agent);
            let words = format!(
                "{} {:<9} {repo:<14} {agent:<18} {} {}",
                short_id(run),
                status(run.state),
                cost_of(run),
                took(run)
            );
            neutral(&words) + "\n"
        };
        found.iter().map(line).collect()
    } else {
        let row = |run: &RunView| {
            vec![
                short_id(run),
                status(run.state).to_owned(),
                run.repo.clone(),
                run.agent.clone(),
                cost_of(run),
                took(run),
                run.branch.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        };
        let rows: Vec<Vec<String>> = found.iter().map(row).collect();
        print::table(&["RUN", "STATUS", "REPO", "AGENT", "COST", "DURATION", "BRANCH"], &rows)
    };
    Ok(Reply::text(json!({"runs": found}), said))
}

pub(super) fn cost(context: &Context, args: &NeoCost) -> Result<Reply, Refusal> {
    let answer = context.ask::<op::Cost>(CostFilter { by: CostBy::Agent })?;
    let cost = &answer.cost;
    if args.short {
        let each =
            cost.today.by.iter().map(|(agent, part)| format!("{agent}=${:.4}", part.usd.dollars()));
        let each = each.collect::<Vec<_>>().join(" ");
        let said =
            format!("today=${:.4} sessions={} {each}\n", cost.today.usd.dollars(), cost.today.runs);
        return Ok(Reply::text(answer, said));
    }
    if args.form.is_json() {
        let by = |parts: &std::collections::BTreeMap<String, comity_api::PartView>| {
            let of = parts.iter().map(|(name, part)| (name.clone(), json!(part.usd.dollars())));
            of.collect::<Map<String, Value>>()
        };
        return Ok(print::json(&json!({
            "today": {"total": cost.today.usd.dollars(), "sessions": cost.today.runs, "byAgent": by(&cost.today.by)},
            "all": {"total": cost.all.usd.dollars(), "sessions": cost.all.runs, "byAgent": by(&cost.all.by)},
        })));
    }
    let mut said = format!(
        "Today: ${:.4} ({} sessions)\nTotal: ${:.4} ({} sessions)\n",
        cost.today.usd.dollars(),
        cost.today.runs,
        cost.all.usd.dollars(),
        cost.all.runs
    );
    let row = |(agent, part): (&String, &comity_api::PartView)| {
        vec![agent.clone(), format!("${:.4}", part.usd.dollars()), part.runs.to_string()]
    };
    let rows: Vec<Vec<String>> = cost.all.by.iter().map(row).collect();
    if !rows.is_empty() {
        said += "\n";
        said += &print::table(&["AGENT", "COST", "SESSIONS"], &rows);
    }
    Ok(Reply::text(answer, said))
}

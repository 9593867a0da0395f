//! Runs, costs and budgets in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BAD, BOLD, BUSY, DIM, GOOD, PLAIN, WARN, ago, count, more, paint, wrap};
use crate::terminal::Ink;
use comity_api::{
    BudgetsAnswer, CostAnswer, DefinedAgent, DefinedAgents, RunAnswer, RunsPage, StartedRun,
    SumView,
};
use comity_core::money::Usd;
use comity_core::run::RunState;
use comity_core::view::{BudgetState, RunView};
use comity_fleet::LogLine;
use std::fmt::Write;

fn style(state: RunState) -> Ink {
    match state {
        RunState::Succeeded => GOOD,
        RunState::Failed | RunState::Lost => BAD,
        RunState::Waiting | RunState::Paused => WARN,
        RunState::Starting | RunState::Running | RunState::Finishing => BUSY,
        RunState::Queued | RunState::Stopped => PLAIN,
    }
}

fn id(run: &RunView) -> &str {
    run.id.as_deref().unwrap_or("-")
}

fn price(usd: Option<Usd>) -> String {
    usd.map_or_else(|| "?".to_owned(), |usd| usd.to_string())
}

fn why(run: &RunView) -> String {
    match (&run.error, &run.reason, &run.waiting_on) {
        (Some(error), ..) => format!("{}: {}", error.kind, first_line(&error.message)),
        (None, Some(reason), _) => first_line(reason),
        (None, None, Some(decision)) => format!("waits for {decision}"),
        (None, None, None) => String::new(),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

pub fn runs(answer: &RunsPage, screen: &Screen) -> String {
    if answer.runs.is_empty() && screen.terminal {
        return "No runs.\n".to_owned();
    }
    let mut table = Table::new(&["ID", "TASK", "AGENT", "STATE", "COST", "BEGAN", "WHY"], "WHY");
    for run in &answer.runs {
        let began = run.started_at.or(run.created_at);
        let began = match (began, screen.terminal) {
            (Some(at), true) => ago(at, screen),
            (Some(at), false) => at.to_string(),
            (None, _) => String::new(),
        };
        table.row(vec![
            (id(run).to_owned(), BOLD),
            plain(run.task.clone().unwrap_or_default()),
            plain(run.agent.clone()),
            (run.state.to_string(), style(run.state)),
            plain(price(run.cost_usd)),
            plain(began),
            plain(why(run)),
        ]);
    }
    table.render(screen) + &more(answer.next.as_ref(), screen)
}

fn field(out: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        out.push_str(&format!("  {}  {value}\n", paint(DIM, &format!("{name:<9}"))));
    }
}

pub fn line(answer: &RunAnswer, _: &Screen) -> String {
    line_of(&answer.run)
}

pub fn started(answer: &StartedRun, _: &Screen) -> String {
    line_of(&answer.run)
}

fn line_of(run: &RunView) -> String {
    let task = run.task.as_deref().unwrap_or_default();
    format!("{}  {}  {}\n", paint(BOLD, id(run)), paint(style(run.state), run.state.as_str()), task)
}

pub fn run(answer: &RunAnswer, screen: &Screen) -> String {
    let run = &answer.run;
    let head = format!("{} on {}", run.agent, run.task.as_deref().unwrap_or_default());
    let mut out = format!(
        "{}  {}  {head}\n",
        paint(BOLD, id(run)),
        paint(style(run.state), run.state.as_str())
    );
    if let Some(error) = &run.error {
        out.push_str(&wrap(&format!("{}: {}", error.kind, error.message), "  ", screen.columns));
        out.push('\n');
    } else if let Some(reason) = &run.reason {
        out.push_str(&wrap(reason, "  ", screen.columns));
        out.push('\n');
    }
    field(&mut out, "stage", run.stage.as_str());
    let model = run.model.as_deref().map(|model| format!(" ({model})")).unwrap_or_default();
    field(&mut out, "driver", &format!("{}{model}", run.driver));
    field(&mut out, "branch", run.branch.as_deref().unwrap_or_default());
    field(&mut out, "workspace", run.workspace.as_deref().unwrap_or_default());
    field(&mut out, "host", run.host.as_deref().unwrap_or_default());
    let tokens = run.tokens;
    let used = format!(
        "{} in {}, {} tokens in, {} out, {} kept",
        price(run.cost_usd),
        count(usize::try_from(run.turns).unwrap_or(usize::MAX), "turn", "turns"),
        tokens.input + tokens.cached + tokens.cache_write,
        tokens.output,
        run.reserved_usd,
    );
    field(&mut out, "cost", &used);
    field(&mut out, "waits for", run.waiting_on.as_deref().unwrap_or_default());
    for (name, at) in
        [("created", run.created_at), ("started", run.started_at), ("ended", run.ended_at)]
    {
        field(&mut out, name, &at.map(|at| ago(at, screen)).unwrap_or_default());
    }
    for step in &run.milestones {
        let name = step.step.as_deref().unwrap_or("commit");
        field(&mut out, name, &step.sha);
    }
    out
}

/// One line of an agent. What it printed is shown as it is.
pub fn said(line: &LogLine) -> String {
    match line.kind.as_str() {
        "text" => format!("{}\n", line.text),
        kind => format!("{} {}\n", paint(DIM, &format!("[{kind}]")), line.text),
    }
}

pub fn short_cost(answer: &CostAnswer, _: &Screen) -> String {
    let today = &answer.cost.today;
    format!("today=${:.4} runs={}\n", today.usd.dollars(), today.runs)
}

pub fn cost(answer: &CostAnswer, screen: &Screen) -> String {
    let cost = &answer.cost;
    let runs =
        |sum: &SumView| count(usize::try_from(sum.runs).unwrap_or(usize::MAX), "run", "runs");
    let mut out = format!(
        "today {} in {}, in all {} in {}; {} kept for live runs\n",
        cost.today.usd,
        runs(&cost.today),
        cost.all.usd,
        runs(&cost.all),
        cost.reserved_usd
    );
    if cost.unpriced_runs > 0 {
        out.push_str(&format!("{} without a known price\n", cost.unpriced_runs));
    }
    let mut table = Table::new(&["WHAT", "TODAY", "IN ALL", "RUNS"], "WHAT");
    for (name, part) in &cost.all.by {
        let today = cost.today.by.get(name).map(|part| part.usd).unwrap_or_default();
        table.row(vec![
            (name.clone(), BOLD),
            plain(today.to_string()),
            plain(part.usd.to_string()),
            plain(part.runs.to_string()),
        ]);
    }
    out + &table.render(screen)
}

pub fn budgets(answer: &BudgetsAnswer, screen: &Screen) -> String {
    if answer.budgets.is_empty() && screen.terminal {
        return "No budgets.\n".to_owned();
    }
    let mut table =
        Table::new(&["SCOPE", "PER", "BUDGET", "SPENT", "KEPT", "RUNS", "STATE"], "SCOPE");
    for budget in &answer.budgets {
        let ink = match budget.state {
            BudgetState::Open => GOOD,
            BudgetState::Alert => WARN,
            BudgetState::Breached => BAD,
        };
        let runs = match budget.runs {
            Some(most) => format!("{} of {most}", budget.spent.runs),
            None => budget.spent.runs.to_string(),
        };
        let state = if budget.default {
            format!("{} (default)", budget.state)
        } else {
            budget.state.to_string()
        };
        table.row(vec![
            (budget.scope.clone(), BOLD),
            plain(budget.per.as_str()),
            plain(budget.usd.map(|usd| usd.to_string()).unwrap_or_default()),
            plain(budget.spent.usd.to_string()),
            plain(budget.reserved.usd.to_string()),
            plain(runs),
            (state, ink),
        ]);
    }
    table.render(screen)
}

/// An agent with its prompt.
pub fn definition(answer: &DefinedAgent, _: &Screen) -> String {
    let agent = &answer.agent;
    let writes = if agent.writable { "writes" } else { "reads only" };
    let mut text = format!("{}  {}\n", agent.name, agent.description);
    let _ = writeln!(text, "  stage   {}, {writes}", agent.stage);
    let _ = writeln!(text, "  model   {}", agent.model.as_deref().unwrap_or("that of the driver"));
    let _ = writeln!(text, "  tools   {}", agent.tools.join(", "));
    if !agent.agents.is_empty() {
        let names: Vec<&str> = agent.agents.keys().map(String::as_str).collect();
        let _ = writeln!(text, "  agents  {}", names.join(", "));
    }
    let _ = writeln!(text, "  from    {}", agent.file.as_deref().unwrap_or("comity"));
    let _ = write!(text, "\n{}\n", agent.prompt);
    text
}

/// All agents, and the definitions that cannot be used.
pub fn definitions(answer: &DefinedAgents, _: &Screen) -> String {
    let mut text = String::new();
    for agent in &answer.agents {
        let from = agent.file.as_deref().unwrap_or("comity");
        let _ = writeln!(
            text,
            "{:<12} {:<8} {:<10} {from}",
            agent.name,
            agent.stage.as_str(),
            agent.model.as_deref().unwrap_or("-")
        );
    }
    for one in &answer.bad {
        let _ = writeln!(text, "{}: {}", one.file, one.problems.join("; "));
    }
    text
}

//! What the action of a row means for its subject.

use super::facts::{Known, Subject};
use super::remember::{may_be_remembered, repeated_error, repeated_issue, scope};
use super::table::{Action, Row, Table, Trigger};
use super::triage::Evaluated;
use super::view::{Ask, Deed, Dispatch, Settle, Step};
use crate::command::{Command, ConstraintChanges, NewMemory, NewTask, TaskVerb};
use crate::decide::{PLAN_PATH, gate_state};
use crate::decision::{Addressee, Decision, DecisionPurpose, DecisionState};
use crate::event::TaskUpdated;
use crate::ids::TaskId;
use crate::memory::MemoryType;
use crate::run::{Run, Stage};
use crate::status::Status;
use crate::task::{CheckState, Gate, Priority, REMEMBER, Task};
use crate::time::Millis;
use serde_json::{Map, Value, json};

pub(super) const CONCERNS: &str = "dev.concerns.architectural";
const DELETION: &str = "route.deletion";
const DISCARD: &str = "branch.discard";
const DIVERGED: &str = "resume.diverged";
const TIMEOUT: &str = "ci.timeout";
pub(super) const AUTH: &str = "run.auth";

/// Makes the step that a row asks for; none where what it asks for is there already.
pub(super) fn step(
    table: &Table,
    known: &Known<'_, '_>,
    row: &Row,
    facts: Map<String, Value>,
) -> Option<Step> {
    let deed = deed(table, known, row)?;
    let because = row.because.clone().unwrap_or_else(|| told(known, row));
    Some(Step {
        rule: row.id.clone(),
        on: row.on,
        subject: subject(known.of)?,
        version: version(known, row.on),
        task: known.of.task.map(|task| task.id.clone()),
        facts,
        because: known.render(&because),
        action: row.words.clone(),
        deed,
    })
}

fn subject(of: Subject<'_>) -> Option<String> {
    match of {
        Subject { decision: Some(one), .. } => Some(one.id.to_string()),
        Subject { directive: Some(one), .. } => Some(one.id.to_string()),
        Subject { task: Some(task), .. } => Some(task.id.to_string()),
        Subject { run: Some(run), .. } => Some(run.id.to_string()),
        _ => None,
    }
}

/// Says what the subject was like. What happens to a task changes its version; a decision and a run are settled once;
/// a directive comes again.
fn version(known: &Known<'_, '_>, on: Trigger) -> String {
    match known.of {
        Subject { decision: None, task: Some(task), .. } if on == Trigger::PersonText => {
            task.feedback.as_ref().map_or("0".to_owned(), |said| format!("round-{}", said.round))
        }
        Subject { decision: Some(one), .. } => one.state.as_str().to_owned(),
        Subject { directive: Some(one), .. } => {
            one.last_triggered_at.map_or("0".to_owned(), |at| at.ms().to_string())
        }
        Subject { task: Some(task), run, .. } => {
            let run = run.map(|run| format!("{}-", run.id)).unwrap_or_default();
            format!("{run}{}-{}-{}", task.status, task.round, task.version)
        }
        Subject { .. } => "0".to_owned(),
    }
}

/// Words a step whose row gives no reason.
fn told(known: &Known<'_, '_>, row: &Row) -> String {
    let about = subject(known.of).unwrap_or_default();
    let conditions: Vec<String> = row
        .when
        .iter()
        .map(|one| format!("{} is {}", one.field, short(&known.field(&one.field))))
        .collect();
    match conditions.as_slice() {
        [] => format!("{about}: {}", row.on),
        all => format!("{about}: {}", all.join(", ")),
    }
}

fn short(value: &Value) -> String {
    const CHARS: usize = 80;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().take(CHARS).collect()
}

fn deed(table: &Table, known: &Known<'_, '_>, row: &Row) -> Option<Deed> {
    match &row.action {
        Action::Dispatch(agent) => dispatch(known, row, agent),
        Action::Decide => decide(known, row),
        Action::Approve => {
            let id = known.of.task?.id.to_string();
            Some(Deed::Write(vec![TaskVerb::Approve.on(id, Some("no code to review".to_owned()))]))
        }
        // The end of the run did it, in its own transaction.
        Action::Submit => None,
        Action::Answer => {
            let id = known.of.decision?.id.to_string();
            let answer = row.arg("answer").unwrap_or("approved").to_owned();
            Some(Deed::Write(vec![Command::DecisionAnswer { id, answer }]))
        }
        Action::Note => Some(Deed::Write(note(known, row).into_iter().collect())),
        Action::Memory => memory(known, row),
        // Its questions are answered by now: the same agent goes on.
        Action::Block => {
            let task = known.of.task.filter(|task| task.status == Status::Queued)?;
            let agent = known.of.run.map_or("developer", |run| run.agent.as_str());
            Some(run_for(known, task, agent, None))
        }
        Action::Skip => skip(known, row),
        Action::Task => task(table, known, row),
        Action::Gate => Some(Deed::Gates(triggered(known)?)),
        Action::Merge => Some(Deed::Land(known.of.task?.id.clone())),
        Action::Push => Some(Deed::Push(known.of.run?.id)),
    }
}

fn note(known: &Known<'_, '_>, row: &Row) -> Option<Command> {
    let text = known.render(row.arg("text")?);
    let kind = row.arg("note").unwrap_or("action").to_owned();
    let task = known.of.task.map(|task| task.id.to_string());
    Some(Command::Note { kind, text, task })
}

/// Blocks a ticket that other work covers.
fn skip(known: &Known<'_, '_>, row: &Row) -> Option<Deed> {
    let task = known.of.task?;
    let by = known.field("similar");
    let needs = format!("covered by {}", by.as_str().unwrap_or("other work"));
    let block = Command::Block {
        id: task.id.to_string(),
        needs: Some(needs),
        questions: Vec::new(),
        retry_after: None,
        reason: None,
    };
    Some(Deed::Write(note(known, row).into_iter().chain([block]).collect()))
}

/// Tells whether the work on a task starts over: a person said so after its last run.
pub(super) fn begins_anew(index: &super::facts::Index<'_>, task: &Task) -> bool {
    let last = index.last(&task.id).map(|run| run.created_at);
    index
        .decisions(&task.id)
        .iter()
        .any(|one| one.answer.as_deref() == Some("fresh") && one.answered_at >= last)
}

fn stage_of(agent: &str) -> Stage {
    match agent {
        "architect" => Stage::Plan,
        "reviewer" => Stage::Review,
        "scout" => Stage::Scout,
        _ => Stage::Develop,
    }
}

fn dispatch(known: &Known<'_, '_>, row: &Row, agent: &str) -> Option<Deed> {
    if row.on == Trigger::Directive {
        let prompt = Some(known.of.directive?.text.clone());
        let before = triggered(known)?;
        let new = Dispatch { agent: agent.to_owned(), prompt, before, ..Dispatch::default() };
        return Some(Deed::Dispatch(Box::new(new)));
    }
    if let Some(decision) = known.of.decision.filter(|_| row.on == Trigger::DecisionOpen) {
        let new = Dispatch {
            agent: agent.to_owned(),
            prompt: Some(decision.question.clone()),
            answers: Some(decision.id.to_string()),
            ..Dispatch::default()
        };
        return Some(Deed::Dispatch(Box::new(new)));
    }
    let task = known.of.task?;
    let prompt = row.arg("prompt").map(|text| known.render(text));
    if agent == "same" {
        let run = known.of.run?;
        return Some(again(known, task, run));
    }
    Some(run_for(known, task, agent, prompt))
}

/// Goes on where a run failed, with what it left behind.
fn again(known: &Known<'_, '_>, task: &Task, run: &Run) -> Deed {
    let Deed::Dispatch(mut new) = run_for(known, task, &run.agent, None) else {
        return Deed::Write(Vec::new());
    };
    new.resumed_from = Some(run.id);
    Deed::Dispatch(new)
}

/// Settles first what is to be about a branch that lost commits.
fn settled(mut deed: Deed, settle: Settle) -> Deed {
    if let Deed::Dispatch(new) = &mut deed {
        new.settle = Some(settle);
    }
    deed
}

/// Goes on where a branch lost commits of a run: with them, or with the branch as it is.
fn follow_branch(known: &Known<'_, '_>, task: &Task, run: &Run, answer: &str) -> Deed {
    match answer {
        "restore" => settled(again(known, task, run), Settle::Restore(run.id)),
        _ => settled(run_for(known, task, &run.agent, None), Settle::TakeBranch(run.id)),
    }
}

fn run_for(known: &Known<'_, '_>, task: &Task, agent: &str, prompt: Option<String>) -> Deed {
    let mut before = Vec::new();
    if stage_of(agent) != Stage::Review {
        before.extend(known.triage().and_then(|found| evaluated(task, found)));
        before.extend(allowed(known, task));
    }
    if task.status == Status::Review && stage_of(agent) != Stage::Review {
        let tail = known.index.view.seen.ci.get(&task.id).map(|(_, tail)| tail.as_str());
        let failed = failed_gates(known, task);
        let why = match (tail, failed.as_str()) {
            (Some(tail), "") => format!("The checks failed.\n{tail}"),
            (_, "") => "The work goes back".to_owned(),
            (_, gates) => format!("These gates failed: {gates}"),
        };
        before.push(TaskVerb::RequestChanges.on(task.id.to_string(), Some(why)));
    }
    let plan = task.context.get(PLAN_PATH).and_then(Value::as_str);
    let by_plan = plan.filter(|_| stage_of(agent) == Stage::Develop && prompt.is_none());
    let by_plan = by_plan.map(|plan| {
        format!("Execute the implementation plan at {plan}. Create a PR when all tasks pass.")
    });
    Deed::Dispatch(Box::new(Dispatch {
        agent: agent.to_owned(),
        task: Some(task.id.clone()),
        prompt: prompt.or(by_plan),
        fresh: begins_anew(known.index, task),
        before,
        ..Dispatch::default()
    }))
}

fn failed_gates(known: &Known<'_, '_>, task: &Task) -> String {
    let policy = &known.index.view.policy;
    let failed = |gate: &&Gate| gate_state(task, Some(gate), policy).0 == CheckState::Failed;
    let names: Vec<&str> =
        task.gates.iter().filter(failed).map(|gate| gate.name.as_str()).collect();
    names.join(", ")
}

/// Fills in what a ticket does not say: its type, its points, and when it is done.
fn evaluated(task: &Task, found: &Evaluated) -> Option<Command> {
    let kind = task.kind.is_none().then(|| found.kind.to_owned());
    let complexity = task.complexity.is_none().then_some(found.complexity);
    let requirements = found.derived.clone().map(|text| vec![text]);
    if kind.is_none() && complexity.is_none() && requirements.is_none() {
        return None;
    }
    let mut derived = Vec::new();
    derived.extend(kind.as_ref().map(|_| "type"));
    derived.extend(complexity.map(|_| "complexity"));
    derived.extend(requirements.as_ref().map(|_| "requirements"));
    let context = [("derived".to_owned(), json!(derived))].into_iter().collect();
    let changes = TaskUpdated {
        kind,
        complexity,
        requirements,
        context: Some(context),
        ..TaskUpdated::default()
    };
    Some(update(&task.id, changes, ConstraintChanges::default()))
}

fn update(id: &TaskId, changes: TaskUpdated, constraints: ConstraintChanges) -> Command {
    let (id, changes) = (id.to_string(), Box::new(changes));
    Command::UpdateTask { id, changes, constraints, if_match: None }
}

/// A deletion may delete what the answer names: the files of the ticket, and with `also` what is named there.
fn allowed(known: &Known<'_, '_>, task: &Task) -> Option<Command> {
    let answer = known.index.asked(&task.id, DELETION)?;
    let named = answer.text.as_deref().unwrap_or_default();
    let named = named.split([' ', ',', '\n']).filter(|word| !word.is_empty()).map(str::to_owned);
    let files: Vec<String> = match answer.answer.as_deref()? {
        "only" if task.files.is_empty() => named.collect(),
        "only" => task.files.clone(),
        "also" => task.files.iter().cloned().chain(named).collect(),
        _ => return None,
    };
    if files == task.constraints.allow_delete {
        return None;
    }
    let constraints =
        ConstraintChanges { allow_delete: Some(files), ..ConstraintChanges::default() };
    Some(update(&task.id, TaskUpdated::default(), constraints))
}

/// Options by which a worn-out task goes on.
const RETRY: &str = "retry";

fn decide(known: &Known<'_, '_>, row: &Row) -> Option<Deed> {
    let task = known.of.task?;
    let concerns = row.id == CONCERNS;
    // Asked once for what it is about, whatever was answered.
    let since = known.of.run.and_then(|run| run.ended_at);
    let earlier = known.index.asked(&task.id, &row.id);
    if earlier.is_some_and(|one| one.state == DecisionState::Open || Some(one.created_at) >= since)
    {
        return None;
    }
    let planned = known.index.runs(&task.id).iter().any(|run| run.stage == Stage::Plan);
    if concerns && known.index.view.settings.auto_decide && !planned {
        return Some(run_for(known, task, "architect", None));
    }
    let options = row.list("options");
    let question = match row.arg("question") {
        Some(text) => known.render(text),
        None if concerns => format!("{} is done, with concerns. What now?", task.id),
        None => {
            let because = row.because.as_deref().map(|text| known.render(text));
            let because = because.map(|why| format!("{}: {why}", task.id));
            format!("{}. What now?", because.unwrap_or_else(|| told(known, row)))
        }
    };
    let to = match row.arg("to") {
        Some("planner") => Addressee::Planner,
        _ => Addressee::Person,
    };
    let concern = known.field("report.concerns");
    let failed = || known.of.run.and_then(|run| run.error.as_ref()).map(|one| one.message.clone());
    let context = if let (true, Value::Array(items)) = (concerns, &concern) {
        let all: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        Some(all.join("\n"))
    } else if row.id == DELETION && task.files.is_empty() {
        let text = "The ticket declares no files: answer 'only: PATH' with those to delete.";
        Some(text.to_owned())
    } else {
        failed()
    };
    let wears = options.iter().any(|option| option == RETRY);
    let purpose = if wears { DecisionPurpose::Exhausted } else { DecisionPurpose::Question };
    let blocks = matches!(task.status, Status::Queued | Status::Failed | Status::ChangesRequested);
    Some(Deed::Ask(Box::new(Ask { question, context, options, to, purpose, blocks })))
}

fn memory(known: &Known<'_, '_>, row: &Row) -> Option<Deed> {
    let view = known.index.view;
    let kind = MemoryType::parse(row.arg("type")?).ok()?;
    let text = match (row.on, row.arg("text")) {
        (Trigger::RunSucceeded, _) => {
            let (error, _) = repeated_error(known.index, known.of.run?)?;
            let notes = known.field("report.notes");
            let how = notes.as_str().filter(|text| !text.trim().is_empty());
            how.map(|how| format!("{error}: {how}"))?
        }
        (Trigger::ReportReviewer, _) => {
            let (issue, count) = repeated_issue(known.index, known.of.run?)?;
            format!("Reviews found {issue} {count} times: look for it before handing in.")
        }
        (Trigger::PersonText, _) => feedback(known.of)?,
        (_, Some(text)) => known.render(text),
        (Trigger::TaskReview, None) => {
            format!("{} waits for its checks", known.of.task?.id)
        }
        (_, None) => format!("{} goes on later", subject(known.of)?),
    };
    let expires = row.arg("expires").and_then(Millis::parse);
    if !may_be_remembered(&text, view, known.index.now) {
        return None;
    }
    let new = NewMemory {
        kind,
        text,
        scope: Some(scope(view)),
        expires,
        task: known.of.task.map(|task| task.id.to_string()),
        tags: Vec::new(),
        supersedes: None,
    };
    Some(Deed::Write(vec![Command::MemoryWrite(Box::new(new))]))
}

/// Words of a person that are meant for later, too: an answer, or what a review sent back.
fn feedback(of: Subject<'_>) -> Option<String> {
    let said = match (of.decision, of.task) {
        (Some(decision), _) => decision.text.as_deref().or(decision.answer.as_deref())?,
        (None, task) => task?.feedback.as_ref()?.text.as_str(),
    };
    let said = said.trim();
    let lower = said.to_lowercase();
    let begins = ["always ", "never ", "from now on"].iter().any(|word| lower.starts_with(word));
    let asked = said.strip_prefix(REMEMBER).map(str::trim);
    match (begins, asked) {
        (_, Some(text)) => Some(text.to_owned()),
        (true, None) => Some(said.to_owned()),
        (false, None) => None,
    }
}

/// Notes that a directive is followed, and when.
fn triggered(known: &Known<'_, '_>) -> Option<Vec<Command>> {
    let directive = known.of.directive?;
    let text = format!("executed directive: {}", directive.text);
    let note = Command::Note { kind: "action".to_owned(), text, task: None };
    Some(vec![note, Command::DirectiveTrigger { id: directive.id.to_string() }])
}

fn task(table: &Table, known: &Known<'_, '_>, row: &Row) -> Option<Deed> {
    if row.on == Trigger::Directive {
        let text = &known.of.directive?.text;
        let open = known
            .index
            .view
            .tasks
            .iter()
            .any(|task| !task.status.is_finished() && task.title == one_line(text));
        let new =
            NewTask { title: one_line(text), description: text.clone(), ..NewTask::default() };
        let create = (!open).then(|| Command::CreateTask(Box::new(new)));
        return Some(Deed::Write(triggered(known)?.into_iter().chain(create).collect()));
    }
    if let Some(task) = known.of.task {
        let small = matches!(known.field("finding.effort").as_str(), Some("XS" | "S"));
        return Some(run_for(known, task, if small { "developer" } else { "architect" }, None));
    }
    let decision = known.of.decision?;
    let proposed = decision.proposes.as_ref()?;
    let mut context = Map::new();
    context.insert("decision".to_owned(), json!(decision.id.to_string()));
    let new = NewTask {
        title: proposed.title.clone(),
        description: proposed.description.clone(),
        priority: proposed.priority.or_else(|| Priority::parse(&table.triage.priority).ok()),
        labels: row.arg("label").map(str::to_owned).into_iter().collect(),
        blockers: row.arg("blocker").map(str::to_owned).into_iter().collect(),
        context,
        ..NewTask::default()
    };
    Some(Deed::Write(vec![Command::CreateTask(Box::new(new))]))
}

/// Longest title that is made of a directive, in characters.
const TITLE_CHARS_MAX: usize = 100;

fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or(text).trim().chars().take(TITLE_CHARS_MAX).collect()
}

/// Puts the guards before a run: the first row that fits takes its place.
pub(super) fn guarded(table: &Table, known: &Known<'_, '_>, made: Step) -> Option<Step> {
    let Deed::Dispatch(new) = &made.deed else { return Some(made) };
    let Some(task) = known.of.task else { return Some(made) };
    let stage = stage_of(&new.agent);
    let runs = known.index.runs(&task.id);
    let said_yes = task.context.contains_key("effort");
    let is_first = runs.is_empty() && (stage == Stage::Develop || said_yes)
        || stage == Stage::Develop && !runs.iter().any(|run| run.stage == Stage::Develop);
    let applies = |on: Trigger| match on {
        Trigger::DispatchAny => true,
        Trigger::DispatchPlan => stage == Stage::Plan,
        Trigger::DispatchDevelop => stage == Stage::Develop,
        Trigger::DispatchReview => stage == Stage::Review,
        Trigger::DispatchScout => stage == Stage::Scout,
        Trigger::DispatchResume => new.resumed_from.is_some(),
        Trigger::DispatchFirst => is_first,
        Trigger::TaskReady
        | Trigger::TaskReview
        | Trigger::TaskChangesRequested
        | Trigger::TaskApproved
        | Trigger::ReportArchitect
        | Trigger::ReportDeveloper
        | Trigger::ReportBranch
        | Trigger::ReportReviewer
        | Trigger::DecisionOpen
        | Trigger::DecisionFinding
        | Trigger::DecisionDesign
        | Trigger::RunSucceeded
        | Trigger::RunFailed
        | Trigger::PersonText
        | Trigger::Directive => false,
    };
    for row in table.rows.iter().filter(|row| applies(row.on)) {
        if let Some(facts) = known.fits(row) {
            // A guard that asked already lets nothing through while its question is open.
            let open = known.index.asked(&task.id, &row.id);
            match step(table, known, row, facts) {
                Some(instead) => return Some(instead),
                None if open.is_some_and(|one| one.state == DecisionState::Open) => return None,
                None => {}
            }
        }
    }
    Some(made)
}

/// Words what follows an answer.
fn words(deed: &Deed, key: &str) -> String {
    match deed {
        Deed::Dispatch(new) => format!("dispatch {}", new.agent),
        Deed::Discard(..) => "discard".to_owned(),
        Deed::Write(_) | Deed::Ask(_) | Deed::Land(_) | Deed::Push(_) | Deed::Gates(_) => {
            key.to_owned()
        }
    }
}

/// Follows an answer to what the supervisor asked about a task. The outer none is that no answer is to be followed.
#[expect(clippy::option_option, reason = "an answer may be followed by nothing")]
pub(super) fn answered(known: &Known<'_, '_>, task: &Task) -> Option<Option<Step>> {
    let index = known.index;
    let last_run = index.last(&task.id).map(|run| run.created_at);
    let fresh = |rule: &str| {
        let one = index.asked(&task.id, rule)?;
        let key = one.answer.as_deref().filter(|_| one.answered_at >= last_run)?;
        Some((one, key.to_owned()))
    };
    let waits = matches!(task.status, Status::Queued | Status::Failed);
    let abandon = |why: &str| TaskVerb::Abandon.on(task.id.to_string(), Some(why.to_owned()));
    let of = |one: &Decision, rule: &str, key: &str, deed: Deed| {
        let mut facts = Map::new();
        facts.insert("decision.answer".to_owned(), json!(key));
        Some(Some(Step {
            rule: format!("{rule}.{key}"),
            on: Trigger::DecisionOpen,
            subject: task.id.to_string(),
            version: version(known, Trigger::DecisionOpen),
            task: Some(task.id.clone()),
            facts,
            because: format!("{}: {key}", one.id),
            action: words(&deed, key),
            deed,
        }))
    };
    if waits && let Some((one, key)) = fresh(DELETION).filter(|(_, key)| key == "cancel") {
        return of(one, DELETION, &key, Deed::Write(vec![abandon("the deletion was cancelled")]));
    }
    if waits
        && let Some((one, key)) = fresh(DISCARD).filter(|(_, key)| key == "yes")
        && let Some(run) = index.developed(&task.id)
    {
        let commands = vec![abandon("the work was discarded")];
        return of(one, DISCARD, &key, Deed::Discard(run.id, commands));
    }
    if let Some((one, key)) = fresh(AUTH).filter(|(_, key)| waits || key == "abandon") {
        let run = index.last(&task.id)?;
        let deed = match key.as_str() {
            "abandon" => Deed::Write(vec![abandon("nobody may start it")]),
            _ => again(known, task, run),
        };
        return of(one, AUTH, &key, deed);
    }
    if waits && let Some((one, key)) = fresh(DIVERGED) {
        let run = index.developed(&task.id)?;
        let deed = match key.as_str() {
            "abandon" => Deed::Write(vec![abandon("the branch diverged")]),
            key => follow_branch(known, task, run, key),
        };
        return of(one, DIVERGED, &key, deed);
    }
    if task.status == Status::Review
        && let Some((one, key)) = fresh(CONCERNS)
    {
        return match key.as_str() {
            "architect" => of(one, CONCERNS, &key, run_for(known, task, "architect", None)),
            "rework" => of(one, CONCERNS, &key, run_for(known, task, "developer", None)),
            _ => None,
        };
    }
    if task.status == Status::Review
        && let Some((one, key)) = fresh(TIMEOUT)
    {
        return match key.as_str() {
            "review-anyway" => of(one, TIMEOUT, &key, run_for(known, task, "reviewer", None)),
            "rework" => of(one, TIMEOUT, &key, run_for(known, task, "developer", None)),
            _ => None,
        };
    }
    None
}

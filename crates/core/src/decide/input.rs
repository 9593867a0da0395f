//! Checks of form that need no state: lengths, characters, patterns. Everything wrong here is exit 2.

use crate::budget::Scope;
use crate::command::{
    Adoption, Command, ImportedTask, LeaseChange, Made, MemoryChanges, MergeStep, NOTE_TYPES,
    NewDirective, NewMemory, NewTask, PlannedTask, Question, Request, Submission, TaskAnswers,
};
use crate::event::TaskUpdated;
use crate::hint::{Hint, op, say};
use crate::ids::{AgentId, shorten};
use crate::limits;
use crate::memory::MemoryFilter;
use crate::pattern::Pattern;
use crate::refusal::Refusal;
use crate::role::Role;
use crate::task::Constraints;
use crate::time::Millis;
use serde_json::{Map, Value};

pub(super) type Check = Result<(), Refusal>;

/// Checks a request's form.
pub fn check(request: &Request) -> Check {
    if let Some(key) = &request.key {
        word("idempotency key", key)?;
        at_most("idempotency key", key.len(), limits::KEY_BYTES_MAX, "bytes")?;
    }
    check_command(&request.command)
}

#[expect(clippy::too_many_lines, reason = "one arm a command, and no arm with a rule in it")]
pub(super) fn check_command(command: &Command) -> Check {
    match command {
        Command::CreateTask(new) => new_task(new),
        Command::CreateTasks { tasks } => planned(tasks),
        Command::ImportTask(task) => imported(task),
        Command::UpdateTask { changes, constraints, .. } => {
            changes_ok(changes)?;
            optional(constraints.allow_delete.as_ref(), |list| patterns("allow-delete", list))
        }
        Command::Claim(wish) => {
            words("skill", &wish.skills)?;
            optional(wish.ttl.as_ref(), ttl)
        }
        Command::Start { ttl, reason, .. } => started(ttl.as_ref(), reason.as_ref()),
        Command::Link { provider, key, value, .. } => link(provider, key, value),
        Command::Submit(submission) => handed_in(submission),
        Command::Move { reason: why, .. } => reason(why.as_ref()),
        Command::Done { merged, unmerged, reason, .. } => {
            finished(merged.as_ref(), *unmerged, reason.as_ref())
        }
        Command::Land { merged, reason, .. } => finished(Some(merged), false, reason.as_ref()),
        Command::Block { needs, questions, reason, retry_after, .. } => {
            optional(retry_after.as_ref(), |time| wait("retry-after", time))?;
            texts("question", questions)?;
            needed(needs.as_ref(), reason.as_ref())
        }
        Command::Check { item, reason: why, .. } => {
            long("item", item)?;
            reason(why.as_ref())
        }
        Command::Subtask { text, .. } => long("step", text),
        Command::Transition { reason, needs, .. } => needed(needs.as_ref(), reason.as_ref()),
        Command::Lease(command) => lease_command(command),
        Command::LeaseFor { owner, command, .. } => lease_for(owner, command),
        Command::Assign { agent, .. } => optional(agent.as_ref(), AgentId::not_reserved),
        Command::Several { ids, steps } => several(ids, steps),
        Command::AgentRegister { id, roles, skills } => registered(id, roles, skills),
        Command::AgentDescribe { skills, about, .. } => described(skills.as_ref(), about),
        Command::Handoff { subtask, .. } => {
            optional(subtask.as_ref(), |text| line("subtask", text))
        }
        Command::GateRecord { gate, report, commit, .. } => {
            evidence(gate, report.as_ref(), commit.as_ref())
        }
        Command::GateWaive { gate, reason, .. } => {
            word("gate", gate)?;
            said("reason", reason)
        }
        Command::DecisionAsk(question) => question_ok(question),
        Command::DecisionAnswer { answer, .. } => long("answer", answer),
        Command::MemoryWrite(new) => new_memory(new),
        Command::MemoryUpdate { changes, .. } => memory_changes(changes),
        Command::DirectiveCreate(new) => new_directive(new),
        Command::TakeOver(adoption) => adopted(adoption),
        Command::AnswerTask(given) => answers(given),
        Command::Intervene { feedback, .. } => said("feedback", feedback),
        Command::Note { kind, text, .. } => note(kind, text),
        Command::NoteChange { text, paths, .. } => super::posts::check_change(text, paths),
        Command::Tell { to, text } => super::posts::check_message(to, text),
        Command::PadWrite(given) => super::posts::check_pad(given),
        Command::InterfacePublish(given) => super::posts::check_interface(given),
        Command::Outside { note, .. } => super::outside::check(note),
        Command::EmitEvent { event } => emitted(event),
        Command::RunDispatch(new) => super::run_input::new_run(new),
        Command::RunChange { change, .. } => super::run_input::run_change(change),
        Command::BudgetSet(new) => Scope::parse(&new.scope).map(drop),
        Command::MergeStep(step) => merge_step(step),
        Command::Release(new) => {
            line("tag", &new.tag)?;
            reason(new.reason.as_ref())
        }
        Command::Seat(change) => super::seats::check(change),
        Command::Supervise(step) => super::supervise::check(step, check_command),
        Command::Depend { .. }
        | Command::Undo { .. }
        | Command::Sweep
        | Command::SetRepository { .. }
        | Command::Heartbeat
        | Command::Mend(_)
        | Command::MemoryForget { .. }
        | Command::DirectiveToggle { .. }
        | Command::DirectiveTrigger { .. }
        | Command::DirectiveDelete { .. } => Ok(()),
    }
}

fn started(life: Option<&Millis>, why: Option<&String>) -> Check {
    optional(life, ttl)?;
    reason(why)
}

fn merge_step(step: &MergeStep) -> Check {
    match step {
        MergeStep::Start { target, .. } | MergeStep::Landed { target, .. } => {
            line("target", target)
        }
        MergeStep::Eject(eject) => {
            line("target", &eject.target)?;
            at_most("paths", eject.paths.len(), limits::LIST_ENTRIES_MAX, "entries")?;
            optional(eject.output_tail.as_ref(), |text| long("output", text))?;
            long("words", &eject.words)
        }
        MergeStep::Probed { paths, .. } => {
            at_most("paths", paths.len(), limits::LIST_ENTRIES_MAX, "entries")
        }
    }
}

fn lease_for(owner: &AgentId, command: &LeaseChange) -> Check {
    owner.not_reserved()?;
    lease_command(command)
}

/// What comity itself starts is made known with the roles that it has, and with no others.
fn registered(id: &AgentId, roles: &[Role], skills: &[String]) -> Check {
    if Role::of_helper(id).is_none_or(|own| own != roles) {
        id.not_reserved()?;
    }
    words("skill", skills)
}

fn described(skills: Option<&Vec<String>>, about: &Map<String, Value>) -> Check {
    optional(skills, |list| words("skill", list))?;
    context(about)
}

pub(super) fn said(what: &str, text: &str) -> Check {
    present(what, text)?;
    long(what, text)
}

fn needed(needs: Option<&String>, why: Option<&String>) -> Check {
    optional(needs, |text| long("needs", text))?;
    reason(why)
}

fn handed_in(submission: &Submission) -> Check {
    optional(submission.commit.as_ref(), |text| line("commit", text))?;
    optional(submission.branch.as_ref(), |text| line("branch", text))?;
    optional(submission.pr.as_ref(), |text| line("pull request", text))?;
    optional(submission.report.as_deref(), super::results::check_form)?;
    let gates: Vec<String> = submission.gates.iter().map(|given| given.gate.clone()).collect();
    words("gate", &gates)?;
    with_reason(submission.empty, "empty", submission.reason.as_ref())
}

fn evidence(gate: &str, report: Option<&String>, commit: Option<&String>) -> Check {
    word("gate", gate)?;
    optional(report, |text| line("report", text))?;
    optional(commit, |text| line("commit", text))
}

fn finished(merged: Option<&String>, unmerged: bool, why: Option<&String>) -> Check {
    optional(merged, |text| line("merged commit", text))?;
    if unmerged && merged.is_some() {
        return Err(Refusal::input("a task cannot be finished both merged and unmerged"));
    }
    with_reason(unmerged, "unmerged", why)
}

fn answers(given: &TaskAnswers) -> Check {
    at_most("answers", given.answers.len(), limits::LIST_ENTRIES_MAX, "entries")?;
    optional(given.notes.as_ref(), |text| long("notes", text))?;
    given.answers.iter().try_for_each(|given| long("answer", &given.answer))
}

fn lease_command(command: &LeaseChange) -> Check {
    match command {
        LeaseChange::Acquire { patterns, purpose, ttl: life, .. } => {
            lease_wish(patterns)?;
            optional(purpose.as_ref(), |text| line("purpose", text))?;
            optional(life.as_ref(), ttl)
        }
        LeaseChange::Renew { ids, ttl: life } => {
            at_most("lease ids", ids.len(), limits::PATTERNS_MAX, "entries")?;
            optional(life.as_ref(), ttl)
        }
        LeaseChange::Release { ids, .. } => {
            at_most("lease ids", ids.len(), limits::LIST_ENTRIES_MAX, "entries")
        }
    }
}

fn planned(tasks: &[PlannedTask]) -> Check {
    at_most("tasks", tasks.len(), limits::LIST_ENTRIES_MAX, "entries")?;
    for plan in tasks {
        optional(plan.key.as_ref(), |key| word("key", key))?;
        new_task(&plan.task)?;
    }
    Ok(())
}

fn imported(imported: &ImportedTask) -> Check {
    new_task(&imported.task)?;
    optional(imported.needs.as_ref(), |text| long("needs", text))?;
    optional(imported.branch.as_ref(), |text| line("branch", text))?;
    reason(imported.reason.as_ref())?;
    at_most("notes", imported.notes.len(), limits::STEPS_MAX, "entries")?;
    imported.notes.iter().try_for_each(|text| said("note", text))?;
    line("source", &imported.source)
}

fn link(provider: &str, key: &str, value: &str) -> Check {
    word("provider", provider)?;
    word("key", key)?;
    line("value", value)
}

/// Each step is about one of the tasks, and none is made of steps itself.
fn several(ids: &[String], steps: &[Command]) -> Check {
    at_most("steps", steps.len(), limits::STEPS_MAX, "entries")?;
    at_most("tasks", ids.len(), limits::LIST_ENTRIES_MAX, "entries")?;
    for step in steps {
        let is_known = step.task_ref().is_some_and(|id| ids.iter().any(|known| known == id));
        if !is_known || matches!(step, Command::Several { .. }) {
            let message = format!("every step must be about {}", ids.join(", "));
            return Err(Refusal::input(message));
        }
        check_command(step)?;
    }
    Ok(())
}

pub(super) fn new_task(new: &NewTask) -> Check {
    if let Some(prefix) = &new.id_prefix {
        crate::ids::TaskId::parse(&format!("{prefix}{}", crate::ids::TASK_NUMBER_MAX))?;
    }
    title(&new.title)?;
    long("description", &new.description)?;
    for (what, text) in [
        ("type", &new.kind),
        ("epic", &new.epic),
        ("prd", &new.prd),
        ("initiative", &new.initiative),
    ] {
        optional(text.as_ref(), |text| line(what, text))?;
    }
    words("label", &new.labels)?;
    texts("requirement", &new.requirements)?;
    texts("checklist item", &new.dod)?;
    texts("blocker", &new.blockers)?;
    words("gate", &new.gates)?;
    patterns("file", &new.files)?;
    constraints(&new.constraints)?;
    at_most("dependencies", new.depends_on.len(), limits::LIST_ENTRIES_MAX, "entries")?;
    context(&new.context)?;
    at_most("external ids", new.links.len(), limits::LIST_ENTRIES_MAX, "entries")?;
    for new in &new.links {
        link(&new.provider, &new.key, &new.value)?;
    }
    optional(new.body.as_ref(), |text| {
        at_most("body", text.len(), limits::BODY_BYTES_MAX, "bytes")?;
        plain_text("body", text)
    })?;
    optional(new.timeout.as_ref(), |time| wait("timeout", time))
}

fn changes_ok(changes: &TaskUpdated) -> Check {
    optional(changes.title.as_ref(), |text| title(text))?;
    optional(changes.description.as_ref(), |text| long("description", text))?;
    for (what, text) in [
        ("type", &changes.kind),
        ("epic", &changes.epic),
        ("prd", &changes.prd),
        ("initiative", &changes.initiative),
        ("branch", &changes.branch),
        ("pull request", &changes.pr),
    ] {
        optional(text.as_ref(), |text| if text.is_empty() { Ok(()) } else { line(what, text) })?;
    }
    if let Some(role) = changes.role.as_ref().filter(|role| !role.is_empty()) {
        Role::parse(role)?;
    }
    optional(changes.labels.as_ref(), |list| words("label", list))?;
    optional(changes.requirements.as_ref(), |list| texts("requirement", list))?;
    optional(changes.dod.as_ref(), |list| texts("checklist item", list))?;
    optional(changes.blockers.as_ref(), |list| texts("blocker", list))?;
    optional(changes.gates.as_ref(), |list| words("gate", list))?;
    optional(changes.files.as_ref(), |list| patterns("file", list))?;
    optional(changes.constraints.as_ref(), constraints)?;
    optional(changes.context.as_ref(), context)?;
    optional(changes.needs.as_ref(), |text| long("needs", text))?;
    optional(changes.timeout.as_ref(), |time| wait("timeout", time))
}

fn question_ok(question: &Question) -> Check {
    said("question", &question.question)?;
    optional(question.context.as_ref(), |text| long("context", text))?;
    at_most("options", question.options.len(), limits::LIST_ENTRIES_MAX, "entries")?;
    for option in &question.options {
        word("option key", &option.key)?;
        if option.key.contains(':') {
            return Err(Refusal::input(format!("option key {:?} has a colon", option.key))
                .hint("a colon ends the key; use a key without one"));
        }
        optional(option.label.as_ref(), |text| long("option label", text))?;
        optional(option.description.as_ref(), |text| long("option description", text))?;
    }
    distinct("option key", question.options.iter().map(|option| option.key.as_str()))?;
    if let Some(proposed) = &question.proposes {
        title(&proposed.title)?;
        long("description", &proposed.description)?;
        if question.default.is_some() {
            return Err(Refusal::input("a question that proposes a task has no default answer")
                .hint("leave the default out; somebody must answer"));
        }
    }
    optional(question.expires.as_ref(), |time| wait("expires", time))
}

fn new_memory(new: &NewMemory) -> Check {
    said("text", &new.text)?;
    optional(new.scope.as_ref(), |text| scope(text))?;
    words("tag", &new.tags)?;
    optional(new.expires.as_ref(), life)
}

fn memory_changes(changes: &MemoryChanges) -> Check {
    if *changes == MemoryChanges::default() {
        return Err(Refusal::input("there is nothing to change").hint(
            Hint::from(op("memory.update").id("M1").arg("text", "the new text"))
                .say(", or one of the options"),
        ));
    }
    optional(changes.text.as_ref(), |text| said("text", text))?;
    optional(changes.scope.as_ref(), |text| scope(text))?;
    optional(changes.tags.as_ref(), |list| words("tag", list))?;
    optional(changes.expires.as_ref(), life)
}

fn new_directive(new: &NewDirective) -> Check {
    said("text", &new.text)?;
    optional(new.description.as_ref(), |text| long("description", text))?;
    optional(new.duration.as_ref(), |text| word("duration", text))?;
    if new.priority > limits::PRIORITY_MAX {
        return Err(Refusal::input(format!("priority {} is too high", new.priority))
            .hint(format!("use a number between 0 and {}", limits::PRIORITY_MAX)));
    }
    Ok(())
}

pub fn check_filter(filter: &MemoryFilter, query: Option<&str>) -> Check {
    optional(filter.scope.as_ref(), |text| scope(text))?;
    words("tag", &filter.tags)?;
    optional(query, |text| at_most("query", text.len(), limits::TEXT_BYTES_MAX, "bytes"))
}

/// A scope may be a long path.
fn scope(text: &str) -> Check {
    line("scope", text)?;
    at_most("scope", text.len(), limits::SCOPE_BYTES_MAX, "bytes")
}

fn life(time: &Millis) -> Check {
    if *time == Millis::default() {
        return Err(Refusal::input("the memory would expire at once")
            .hint(say("such as ").arg("expires", "2h")));
    }
    wait("expires", time)
}

fn lease_wish(texts: &[String]) -> Check {
    if texts.is_empty() {
        return Err(Refusal::input("no pattern is given")
            .hint(op("lease.acquire").arg("patterns", "src/lib.rs")));
    }
    patterns("pattern", texts)
}

fn adopted(adoption: &Adoption) -> Check {
    word("source", &adoption.origin.source)?;
    word("item", &adoption.origin.item)?;
    context(&adoption.origin.other)?;
    optional(adoption.answer.as_ref(), |text| long("answer", text))?;
    match &adoption.made {
        Made::Decision(question) => question_ok(question),
        Made::Memory(new) => new_memory(new),
        Made::Directive(new) => new_directive(new),
    }
}

fn note(kind: &str, text: &str) -> Check {
    if !NOTE_TYPES.contains(&kind) {
        return Err(Refusal::input(format!("note type {:?} is not known", shorten(kind)))
            .hint(format!("use one of: {}", NOTE_TYPES.join(", "))));
    }
    said("text", text)
}

fn emitted(event: &Map<String, Value>) -> Check {
    let name = event.get("event").and_then(Value::as_str).unwrap_or_default();
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-:".contains(c));
    if name.is_empty() || name.len() > limits::WORD_BYTES_MAX || !plain {
        return Err(Refusal::input("the event has no usable name")
            .hint(r#"give an object such as {"event":"tests_run","task":"T1","result":"pass"}"#));
    }
    if name == "tests_run" {
        // Its fields become evidence, so they have the form that evidence has.
        let text = |key: &str| event.get(key).and_then(Value::as_str);
        optional(text("gate"), |gate| word("gate", gate))?;
        optional(text("report"), |report| line("report", report))?;
        optional(text("commit"), |commit| line("commit", commit))?;
    }
    json_ok("event", &Value::Object(event.clone()))
}

pub(super) fn context(map: &Map<String, Value>) -> Check {
    at_most("context", map.len(), limits::LIST_ENTRIES_MAX, "entries")?;
    for (key, value) in map {
        word("context key", key)?;
        json_ok("context", value)?;
    }
    Ok(())
}

pub(super) fn json_ok(what: &str, value: &Value) -> Check {
    json_ok_within(what, value, limits::JSON_DEPTH_MAX, limits::TEXT_BYTES_MAX)
}

pub(super) fn json_ok_within(what: &str, value: &Value, levels: usize, bytes: usize) -> Check {
    if depth(value) > levels {
        return Err(Refusal::input(format!("the {what} is nested too deeply"))
            .hint(format!("use at most {levels} levels")));
    }
    at_most(what, value.to_string().len(), bytes, "bytes")
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn constraints(constraints: &Constraints) -> Check {
    patterns("allow-delete", &constraints.allow_delete)
}

pub(super) fn optional<T: ?Sized>(value: Option<&T>, check: impl Fn(&T) -> Check) -> Check {
    value.map_or(Ok(()), check)
}

pub(super) fn present(what: &str, text: &str) -> Check {
    if text.trim().is_empty() {
        return Err(Refusal::input(format!("the {what} is empty")));
    }
    Ok(())
}

pub(super) fn at_most(what: &str, found: usize, limit: usize, unit: &str) -> Check {
    if found <= limit {
        return Ok(());
    }
    Err(Refusal::input(format!("{what}: {found} {unit}; at most {limit} are allowed"))
        .detail("limit", limit)
        .detail("found", found))
}

fn title(text: &str) -> Check {
    present("title", text)?;
    at_most("title", text.chars().count(), limits::TITLE_CHARS_MAX, "characters")?;
    no_control("title", text, |c| c.is_control())
}

pub(super) fn line(what: &str, text: &str) -> Check {
    present(what, text)?;
    at_most(what, text.len(), limits::TEXT_BYTES_MAX, "bytes")?;
    no_control(what, text, |c| c.is_control())
}

/// Free text may have line feeds and tabs, no other control characters.
pub(super) fn long(what: &str, text: &str) -> Check {
    at_most(what, text.len(), limits::TEXT_BYTES_MAX, "bytes")?;
    plain_text(what, text)
}

fn plain_text(what: &str, text: &str) -> Check {
    no_control(what, text, |c| c.is_control() && !"\n\r\t".contains(c))
}

fn no_control(what: &str, text: &str, bad: impl Fn(char) -> bool) -> Check {
    match text.chars().find(|c| bad(*c)) {
        Some(c) => Err(Refusal::input(format!(
            "the {what} has the control character U+{:04X}",
            u32::from(c)
        ))
        .hint(format!("remove it from the {what}"))),
        None => Ok(()),
    }
}

pub(super) fn word(what: &str, text: &str) -> Check {
    line(what, text)?;
    at_most(what, text.len(), limits::WORD_BYTES_MAX, "bytes")
}

pub(super) fn words(what: &str, list: &[String]) -> Check {
    at_most(what, list.len(), limits::LIST_ENTRIES_MAX, "entries")?;
    list.iter().try_for_each(|text| word(what, text))?;
    distinct(what, list.iter().map(String::as_str))
}

fn texts(what: &str, list: &[String]) -> Check {
    at_most(what, list.len(), limits::LIST_ENTRIES_MAX, "entries")?;
    list.iter().try_for_each(|text| said(what, text))?;
    distinct(what, list.iter().map(String::as_str))
}

fn distinct<'t>(what: &str, list: impl Iterator<Item = &'t str>) -> Check {
    let mut seen = std::collections::BTreeSet::new();
    for text in list {
        if !seen.insert(text) {
            return Err(Refusal::input(format!("{what} {:?} is given twice", shorten(text))));
        }
    }
    Ok(())
}

pub(super) fn patterns(what: &str, list: &[String]) -> Check {
    at_most(what, list.len(), limits::PATTERNS_MAX, "entries")?;
    for text in list {
        Pattern::parse(text).map_err(|error| {
            Refusal::new(error.code(), format!("{what} {:?}: {error}", shorten(text))).hint(
                "a path below the root such as src/lib.rs, a directory src/, or a glob src/**/*.rs",
            )
        })?;
    }
    Ok(())
}

fn ttl(time: &Millis) -> Check {
    if *time < limits::TTL_MIN || *time > limits::TTL_MAX {
        return Err(Refusal::input("the time to live is out of range")
            .hint(say("give ").mention("ttl").say(" a time between 1s and 7d")));
    }
    Ok(())
}

fn wait(what: &str, time: &Millis) -> Check {
    const YEAR: Millis = Millis::from_secs(366 * 86_400);
    if *time > YEAR {
        return Err(Refusal::input(format!("{what} is too long")).hint("use at most a year"));
    }
    Ok(())
}

/// What is said against the rule takes a reason.
fn with_reason(said: bool, what: &str, why: Option<&String>) -> Check {
    if said && why.is_none_or(|why| why.trim().is_empty()) {
        return Err(Refusal::input(format!("{what} needs a reason"))
            .hint(say("say why with ").ask("reason", "TEXT")));
    }
    reason(why)
}

pub(super) fn reason(text: Option<&String>) -> Check {
    optional(text, |text| long("reason", text))
}

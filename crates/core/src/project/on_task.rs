//! What each event does to a task.

use super::set_entries;
use crate::decision::DecisionPurpose;
use crate::event::{
    DecisionAsked, Draft, Event, Placed, ReviewRequested, StatusChanged, TaskClaimed, TaskCreated,
    TaskUpdated, TestsRun, Verdict,
};
use crate::ids::{AgentId, LeaseId};
use crate::limits::WORKERS_MAX;
use crate::merging::InQueue;
use crate::role::Role;
use crate::status::Status;
use crate::task::{
    Block, ChecklistItem, Claim, Evidence, Feedback, Gate, HandedInRound, Step, Task, Waiver,
    Worker,
};
use serde_json::{Map, Value};

pub(super) fn new_task(id: crate::ids::TaskId, e: &TaskCreated, placed: &Placed) -> Task {
    Task {
        repo: placed.draft.repo.clone(),
        id,
        number: e.number,
        version: 1,
        title: e.title.clone(),
        description: e.description.clone(),
        kind: e.kind.clone(),
        complexity: e.complexity,
        deliverable: e.deliverable,
        status: Status::Queued,
        priority: e.priority,
        labels: e.labels.clone(),
        role: e.role,
        assignee: e.assignee.clone(),
        reserved_for: e.assignee.clone(),
        preferred: None,
        reviewer: None,
        review_taken: false,
        dependencies: e.dependencies.clone(),
        blockers: e.blockers.clone(),
        files: e.files.clone(),
        branch: None,
        commit: None,
        pr: None,
        merged_sha: None,
        unmerged: None,
        round: 0,
        review_rounds: 0,
        requirements: e.requirements.clone(),
        dod: e.dod.iter().map(|text| ChecklistItem::open(text)).collect(),
        gates: e.gates.iter().map(|name| Gate::open(name, true)).collect(),
        constraints: e.constraints.clone(),
        context: e.context.clone(),
        timeout: e.timeout,
        attempts: 0,
        epic: e.epic.clone(),
        prd: e.prd.clone(),
        initiative: e.initiative.clone(),
        parent: e.parent.clone(),
        external_ids: Map::new(),
        claim: None,
        first_base: None,
        block: None,
        steps: Vec::new(),
        decisions: Vec::new(),
        last_error: None,
        workers: Vec::new(),
        feedback: None,
        last_ttl: None,
        handed_in: None,
        merge: None,
        created_by: placed.draft.agent.clone(),
        created_at: placed.ts,
        updated_at: placed.ts,
    }
}

pub(super) fn change_task(task: &mut Task, placed: &Placed) {
    match &placed.draft.event {
        Event::StatusChanged(e) => change_status(task, e, placed),
        Event::TaskUpdated(e) => update(task, e),
        Event::TaskAssigned(e) => assign(task, e.assignee.as_ref()),
        Event::TaskLinked(e) => link(task, &e.provider, &e.key, &e.value),
        Event::TaskClaimed(e) => claim(task, e, placed),
        Event::DependencyAdded(e) if !task.dependencies.contains(&e.on) => {
            task.dependencies.push(e.on.clone());
        }
        Event::DependencyRemoved(e) => task.dependencies.retain(|id| *id != e.on),
        Event::FileLocked(e) if e.claim_of.is_some() => add_lease(task, e.lock_id),
        Event::LeaseReleased(e) => remove_lease(task, e.lock_id),
        Event::LeaseRenewed(e) if e.detached_from.is_some() => remove_lease(task, e.lock_id),
        Event::LocksReclaimed(e) => {
            e.locks.iter().for_each(|lock| remove_lease(task, lock.lock_id));
        }
        Event::ReviewRequested(e) => submit(task, e, placed),
        Event::PrOpened(e) => task.pr = Some(e.pr.clone()),
        Event::ReviewTaken(e) => {
            task.reviewer = Some(e.reviewer.clone());
            task.review_taken = true;
        }
        Event::Merged(e) => {
            task.merged_sha = e.sha.clone();
            task.unmerged = e.unmerged.clone();
        }
        Event::TestsRun(e) => record(task, e, placed),
        Event::GateWaived(e) => {
            task.gate_mut(&e.gate).waiver = Some(Waiver {
                by: placed.draft.agent.clone(),
                at: placed.ts,
                reason: e.reason.clone(),
            });
        }
        Event::ItemChecked(e) => {
            if let Some(item) = task.dod.iter_mut().find(|item| item.text == e.item) {
                item.state = e.state;
                item.by = Some(placed.draft.agent.clone());
                item.at = Some(placed.ts);
            }
        }
        Event::SubtaskStarted(e) => {
            task.steps.push(Step { id: e.subtask.clone(), text: e.notes.clone(), complete: false });
        }
        Event::SubtaskCompleted(e) => complete_step(task, &e.subtask, &e.notes),
        Event::DecisionAsked(e) => ask(task, e),
        Event::MergeQueued(e) => {
            let (target, commit) = (e.target.clone(), e.commit.clone());
            task.merge = Some(InQueue { target, commit, since: placed.ts, batch: None });
        }
        Event::MergeStarted(e) => {
            if let Some(queued) = &mut task.merge {
                queued.batch = Some(e.batch);
            }
        }
        _ => {}
    }
}

/// While the work waits for a verdict, a reservation for later must not hide who did it.
fn assign(task: &mut Task, agent: Option<&AgentId>) {
    task.reserved_for = agent.cloned();
    let judged = matches!(task.status, Status::Review | Status::Approved | Status::Merging);
    if task.status == Status::Queued || (agent.is_some() && !judged) {
        task.assignee = agent.cloned();
    }
}

fn claim(task: &mut Task, e: &TaskClaimed, placed: &Placed) {
    task.assignee = Some(e.assignee.clone());
    task.branch = e.branch.clone();
    task.preferred = None;
    worked(task, &e.assignee, placed);
    if !placed.draft.via.is_empty() {
        task.last_ttl = Some(e.ttl);
    }
    task.first_base = task.first_base.take().or_else(|| e.first_base.clone());
    task.claim = Some(Claim {
        agent: e.assignee.clone(),
        host: e.host.clone(),
        workspace: e.workspace.clone(),
        fence: e.fence,
        claimed_at: placed.ts,
        ttl: e.ttl,
        leases: Vec::new(),
        base: e.base.clone(),
        head: e.head.clone(),
        started_at: None,
    });
}

/// Remembers who worked. An event without `via` was written by an older comity and does what it did then.
fn worked(task: &mut Task, agent: &AgentId, placed: &Placed) {
    let Draft { agent: actor, via, .. } = &placed.draft;
    if via.is_empty() {
        return;
    }
    let session = via.session_key().filter(|_| agent == actor);
    let worker = Worker { agent: agent.clone(), session };
    if !task.workers.contains(&worker) {
        if task.workers.len() >= WORKERS_MAX {
            task.workers.remove(0);
        }
        task.workers.push(worker);
    }
}

fn submit(task: &mut Task, e: &ReviewRequested, placed: &Placed) {
    worked(task, &placed.draft.agent, placed);
    task.commit = e.commit.clone();
    task.branch = e.branch.clone().or(task.branch.take());
    task.pr = e.pr.clone().or(task.pr.take());
    task.reviewer = e.reviewer.clone();
    task.review_taken = false;
    if let Some(land) = &e.land {
        let (land, commit) = (land.clone(), e.commit.clone());
        task.handed_in = Some(HandedInRound { land, commit, seq: placed.seq });
    }
}

fn ask(task: &mut Task, e: &DecisionAsked) {
    task.decisions.push(e.decision);
    if e.purpose == DecisionPurpose::Grace
        && let Some(block) = &mut task.block
    {
        block.escalated = true;
    }
}

fn change_status(task: &mut Task, e: &StatusChanged, placed: &Placed) {
    task.status = e.new_status;
    if !e.new_status.is_held() {
        task.claim = None;
    }
    if e.uses_attempt {
        task.attempts += 1;
        task.last_error = e.reason.clone();
    }
    if e.resets_attempts {
        task.attempts = 0;
        task.review_rounds = 0;
        task.gates.iter_mut().for_each(|gate| gate.failures = 0);
    }
    task.block = None;
    if !matches!(e.new_status, Status::Approved | Status::Merging) {
        task.merge = None;
    }
    match e.new_status {
        Status::InProgress => {
            task.round += 1;
            task.commit = None;
            task.review_taken = false;
            if let Some(claim) = &mut task.claim {
                claim.started_at = Some(placed.ts);
            }
            task.gates.iter_mut().for_each(|gate| gate.failures = 0);
        }
        Status::Queued => {
            task.assignee = task.reserved_for.clone();
            task.preferred = e.prefers.clone();
            task.reviewer = None;
            task.review_taken = false;
            if e.old_status.is_finished() {
                task.merged_sha = None;
                task.unmerged = None;
            }
        }
        Status::ChangesRequested => {
            task.review_rounds += 1;
            task.review_taken = false;
            if !placed.draft.via.is_empty() {
                task.feedback = Some(Feedback {
                    by: placed.draft.agent.clone(),
                    text: e.reason.clone().unwrap_or_default(),
                    round: task.round,
                    at: placed.ts,
                });
            }
        }
        Status::Blocked => {
            task.block = Some(Block {
                needs: e.needs.clone().unwrap_or_default(),
                since: placed.ts,
                retry_at: e.retry_at,
                questions: e.questions.clone(),
                // What an import has kept back waits for a person, however long that takes.
                escalated: e.kept.is_some(),
                kept: e.kept,
            });
        }
        Status::Failed => task.last_error = e.reason.clone(),
        Status::Claimed
        | Status::Review
        | Status::Approved
        | Status::Merging
        | Status::Done
        | Status::Abandoned => {}
    }
}

/// An empty text clears an optional field.
fn set_text(field: &mut Option<String>, value: Option<&String>) {
    if let Some(value) = value {
        *field = (!value.is_empty()).then(|| value.clone());
    }
}

fn set<T: Clone>(field: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        *field = value.clone();
    }
}

fn update(task: &mut Task, e: &TaskUpdated) {
    set(&mut task.title, e.title.as_ref());
    set(&mut task.description, e.description.as_ref());
    set_text(&mut task.kind, e.kind.as_ref());
    if e.complexity.is_some() {
        task.complexity = e.complexity;
    }
    set(&mut task.deliverable, e.deliverable.as_ref());
    set(&mut task.priority, e.priority.as_ref());
    set(&mut task.labels, e.labels.as_ref());
    if let Some(role) = &e.role {
        task.role = Role::parse(role).ok();
    }
    set(&mut task.blockers, e.blockers.as_ref());
    set(&mut task.files, e.files.as_ref());
    set(&mut task.requirements, e.requirements.as_ref());
    if let Some(texts) = &e.dod {
        let mut old = std::mem::take(&mut task.dod);
        task.dod = texts
            .iter()
            .map(|text| match old.iter().position(|item| item.text == *text) {
                Some(place) => old.swap_remove(place),
                None => ChecklistItem::open(text),
            })
            .collect();
    }
    if let Some(names) = &e.gates {
        set_gates(task, names);
    }
    set(&mut task.constraints, e.constraints.as_ref());
    if let Some(changes) = &e.context {
        set_entries(&mut task.context, changes);
    }
    set(&mut task.timeout, e.timeout.as_ref());
    set_text(&mut task.epic, e.epic.as_ref());
    set_text(&mut task.prd, e.prd.as_ref());
    set_text(&mut task.initiative, e.initiative.as_ref());
    set_text(&mut task.branch, e.branch.as_ref());
    set_text(&mut task.pr, e.pr.as_ref());
    if let (Some(needs), Some(block)) = (&e.needs, &mut task.block) {
        block.needs.clone_from(needs);
    }
}

/// A gate that the task no longer asks for may still be asked for by the project: what is known of it
/// stays.
fn set_gates(task: &mut Task, names: &[String]) {
    let mut old = std::mem::take(&mut task.gates);
    for name in names {
        let known = old.iter().position(|gate| gate.name == *name).map(|place| old.remove(place));
        let gate = known.unwrap_or_else(|| Gate::open(name, true));
        task.gates.push(Gate { required: true, ..gate });
    }
    let known = |gate: &Gate| gate.evidence.is_some() || gate.waiver.is_some();
    let rest = old.into_iter().filter(known).map(|gate| Gate { required: false, ..gate });
    task.gates.extend(rest);
}

fn link(task: &mut Task, provider: &str, key: &str, value: &str) {
    let entry =
        task.external_ids.entry(provider.to_owned()).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(keys) = entry {
        keys.insert(key.to_owned(), Value::from(value));
    }
}

fn add_lease(task: &mut Task, id: LeaseId) {
    if let Some(claim) = &mut task.claim {
        claim.leases.push(id);
    }
}

fn remove_lease(task: &mut Task, id: LeaseId) {
    if let Some(claim) = &mut task.claim {
        claim.leases.retain(|lease| *lease != id);
    }
}

fn record(task: &mut Task, e: &TestsRun, placed: &Placed) {
    let gate = task.gate_mut(&e.gate);
    gate.evidence = Some(Evidence {
        pass: e.result == Verdict::Pass,
        tier: e.tier,
        commit: e.commit.clone(),
        round: e.round,
        by: placed.draft.agent.clone(),
        at: placed.ts,
        report: e.report.clone(),
    });
    if e.result == Verdict::Fail {
        gate.failures += 1;
    }
}

fn complete_step(task: &mut Task, id: &str, text: &str) {
    match task.steps.iter_mut().find(|step| step.id == id) {
        Some(step) => step.complete = true,
        None => {
            task.steps.push(Step { id: id.to_owned(), text: text.to_owned(), complete: true });
        }
    }
}

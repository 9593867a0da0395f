//! Gates and evidence: recording, waiving, and what is still missing for approval.

use super::access::wrong_status;
use super::edit::unknown_name;
use super::stop::{Wear, exhausted};
use super::{Answer, DEPS_GATE, Rule};
use crate::command::GateVerdict;
use crate::event::{Event, GateWaived, TestsRun, Verdict};
use crate::facts::Ruling;
use crate::hint::{op, say};
use crate::ids::DecisionId;
use crate::land::GUARD_GATE;
use crate::nearest::nearest;
use crate::observed::RunSeen;
use crate::outside::CheckSeen;
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::role::{Role, Verb};
use crate::status::Status;
use crate::task::{CheckState, Deliverable, Gate, Task, Tier};
use crate::word_enum::word_enum;
use serde_json::{Value, json};

/// The gate that approval itself meets.
pub const REVIEW_GATE: &str = "review";

word_enum! {
    /// A gate that comity checks without a command of the project.
    pub enum BuiltIn {
        /// No added line has a secret.
        Secrets => "secrets",
        /// The work meets the constraints of its task.
        Constraints => "constraints",
        /// The work leaves alone what others leased.
        Guard => "guard",
        /// The messages of the commits follow the template.
        CommitTemplate => "commit-template",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Missing {
    /// A gate, and why it does not count.
    Gate(String, CheckState, String),
    Item(String, CheckState),
}

impl Missing {
    pub fn sentence(&self) -> String {
        match self {
            Missing::Gate(name, _, why) => format!("gate {name} {why}"),
            Missing::Item(text, state) => format!("checklist item {text:?} is {}", state.as_str()),
        }
    }

    pub fn to_json(&self) -> Value {
        match self {
            Missing::Gate(name, state, why) => {
                json!({"kind": "gate", "name": name, "state": state.as_str(), "reason": why})
            }
            Missing::Item(text, state) => {
                json!({"kind": "item", "name": text, "state": state.as_str(), "reason": "not met"})
            }
        }
    }
}

/// Returns the names of the gates that the task or the project requires, in order.
pub fn required_gates(task: &Task, policy: &Policy) -> Vec<String> {
    let mut names: Vec<String> =
        task.gates.iter().filter(|gate| gate.required).map(|gate| gate.name.clone()).collect();
    for name in &policy.required_gates {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Returns where a gate stands for the present round and the submitted commit, and why.
pub fn gate_state(task: &Task, gate: Option<&Gate>, policy: &Policy) -> (CheckState, String) {
    let open = |why: &str| (CheckState::Open, why.to_owned());
    let Some(gate) = gate else { return open("has no evidence") };
    if gate.waiver.is_some() {
        return (CheckState::Waived, "is waived".to_owned());
    }
    let Some(evidence) = &gate.evidence else { return open("has no evidence") };
    if evidence.round != task.round {
        return open("has evidence of an earlier round only");
    }
    if let (Some(submitted), Some(tested)) = (&task.commit, &evidence.commit)
        && !same_commit(submitted, tested)
    {
        return (CheckState::Open, format!("has evidence for {tested}, not for {submitted}"));
    }
    if !evidence.pass {
        return (CheckState::Failed, "failed".to_owned());
    }
    if evidence.tier < policy.min_tier {
        let (found, wanted) = (evidence.tier.as_str(), policy.min_tier.as_str());
        return (CheckState::Open, format!("has evidence of tier {found}; {wanted} is required"));
    }
    (CheckState::Met, "is met".to_owned())
}

/// An abbreviated commit is the same as the one it abbreviates.
fn same_commit(a: &str, b: &str) -> bool {
    const ABBREVIATION_MIN: usize = 7;
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    short == long || (short.len() >= ABBREVIATION_MIN && long.starts_with(short))
}

/// Lists the checklist items that are not settled.
pub fn checklist_missing(task: &Task) -> Vec<Missing> {
    let open = task.dod.iter().filter(|item| !item.state.is_settled());
    open.map(|item| Missing::Item(item.text.clone(), item.state)).collect()
}

/// Lists everything that approval still waits for.
pub fn missing_for_approval(task: &Task, policy: &Policy) -> Vec<Missing> {
    let mut missing = Vec::new();
    for name in required_gates(task, policy) {
        if name == REVIEW_GATE {
            continue;
        }
        let (state, why) = gate_state(task, task.gate(&name), policy);
        if !state.is_settled() {
            missing.push(Missing::Gate(name, state, why));
        }
    }
    missing.extend(checklist_missing(task));
    missing
}

/// Refuses the name of a gate that neither a task with these gates nor the settings know.
pub fn known_gate<'g>(
    gate: &str,
    of_task: impl Iterator<Item = &'g str>,
    policy: &'g Policy,
) -> Result<(), Refusal> {
    let set = policy.required_gates.iter().chain(&policy.gates).map(String::as_str);
    let built_in = BuiltIn::ALL.iter().map(|gate| gate.as_str());
    let known: Vec<&str> = of_task.chain(set).chain(built_in).collect();
    if known.contains(&gate) {
        return Ok(());
    }
    Err(unknown_name("gate", gate, nearest(gate, known)))
}

/// Tells whether a person lets the work pass without a review by another.
pub fn review_is_waived(task: &Task) -> bool {
    task.gate(REVIEW_GATE).is_some_and(|gate| gate.waiver.is_some())
}

/// Approval itself meets the gate `review`.
fn not_the_review(gate: &str, id: &str) -> Ruling<()> {
    if gate != REVIEW_GATE {
        return Ok(());
    }
    Err(Refusal::input("the gate `review` is met when the task is approved")
        .hint(say("approve the task with ").quote(op("task.approve").id(id)))
        .into())
}

impl Rule<'_> {
    pub(super) fn record(
        &mut self,
        id: &str,
        gate: &str,
        pass: bool,
        report: Option<&String>,
        commit: Option<&String>,
        new: bool,
    ) -> Ruling<Answer> {
        not_the_review(gate, id)?;
        let task = self.task(id)?;
        self.knows_gate(task, gate, new)?;
        if task.status.is_finished() {
            return Err(wrong_status(task, "; it is too late for evidence").into());
        }
        self.may_record(task)?;
        let verdict = if pass { Verdict::Pass } else { Verdict::Fail };
        self.push_evidence(task, gate, verdict, report, commit)?;
        Ok(Answer::Gate(task.id.clone(), gate.to_owned()))
    }

    pub(super) fn knows_gate(&self, task: &Task, gate: &str, new: bool) -> Ruling<()> {
        if new || gate == REVIEW_GATE {
            return Ok(());
        }
        let own = task.gates.iter().map(|known| known.name.as_str());
        Ok(known_gate(gate, own, self.policy)?)
    }

    pub(super) fn has_gate(&self, task: &Task, gate: &str) -> bool {
        self.knows_gate(task, gate, false).is_ok()
    }

    /// Evidence comes from the holder, or from those who judge the work.
    pub(super) fn may_record(&self, task: &Task) -> Ruling<()> {
        self.require_worker(task, Verb::Record)?;
        let outsider = !self
            .roles
            .iter()
            .any(|role| matches!(role, Role::Critic | Role::Integrator | Role::Planner));
        if outsider {
            self.require_holder(task)?;
        }
        Ok(())
    }

    /// What a caller says about a gate ranks as claimed, whoever the caller is; only a door can have seen more.
    pub(super) fn push_evidence(
        &mut self,
        task: &Task,
        gate: &str,
        verdict: Verdict,
        report: Option<&String>,
        commit: Option<&String>,
    ) -> Ruling<()> {
        self.evidence(task, gate, verdict, report, commit)?;
        let failures = task.gate(gate).map_or(0, |gate| gate.failures) + 1;
        let worn = verdict == Verdict::Fail && failures >= self.policy.max_gate_failures;
        if worn && task.status.may_become(Status::Blocked) && task.status != Status::Queued {
            let next = self.facts.counters(&self.request.repo)?.decisions + 1;
            let what = format!("gate {gate} failed {failures} times in round {}", task.round);
            let wear = Wear { attempts: task.attempts, what, log: report.cloned(), of_run: false };
            self.end_leases(task, "blocked")?;
            for event in exhausted(task, task.status, &wear, DecisionId(next)) {
                self.push(Some(&task.id), event);
            }
        }
        Ok(())
    }

    /// Records evidence for the commit that is handed in with it. However often it failed, the review is next.
    pub(super) fn hand_in_evidence(
        &mut self,
        task: &Task,
        given: &[GateVerdict],
        commit: Option<&String>,
    ) -> Ruling<()> {
        for GateVerdict { gate, pass } in given {
            not_the_review(gate, task.id.as_str())?;
            let verdict = if *pass { Verdict::Pass } else { Verdict::Fail };
            self.evidence(task, gate, verdict, None, commit)?;
        }
        Ok(())
    }

    fn evidence(
        &mut self,
        task: &Task,
        gate: &str,
        verdict: Verdict,
        report: Option<&String>,
        commit: Option<&String>,
    ) -> Ruling<()> {
        if task.gate(gate).is_none() {
            self.list_bound("gates", task.gates.len() + 1)?;
        }
        let body = TestsRun {
            gate: gate.to_owned(),
            result: verdict,
            tier: self.tier_seen(),
            commit: commit.cloned(),
            round: task.round,
            report: report.cloned(),
            run: self.request.observed.run.as_ref().and_then(|run| run.report.clone()),
        };
        self.push(Some(&task.id), Event::TestsRun(body));
        Ok(())
    }

    fn tier_seen(&self) -> Tier {
        let seen = &self.request.observed;
        let run = seen.run.as_ref().map(RunSeen::tier);
        run.or(seen.check.as_ref().map(CheckSeen::tier)).unwrap_or(Tier::Claimed)
    }

    /// An agent does not waive what is demanded of its own work.
    pub(super) fn not_own_waiver(&self, task: &Task) -> Ruling<()> {
        if self.is_person() {
            return Ok(());
        }
        self.not_own_work(task, "waive checks of")
    }

    pub(super) fn waive(&mut self, id: &str, gate: &str, reason: &str) -> Ruling<Answer> {
        let task = self.task(id)?;
        let required = required_gates(task, self.policy).iter().any(|name| name == gate);
        let is_deps = gate == DEPS_GATE && task.constraints.no_new_deps;
        let is_guard = gate == GUARD_GATE && task.deliverable == Deliverable::Code;
        let is_review = gate == REVIEW_GATE;
        if !required && task.gate(gate).is_none() && !is_deps && !is_guard && !is_review {
            return Err(super::access::not_found("gate", gate)
                .hint(say("see ").quote(op("gate.list").id(&task.id)))
                .into());
        }
        if task.status.is_finished() {
            return Err(wrong_status(task, "").into());
        }
        self.require(Verb::Waive)?;
        if gate == GUARD_GATE {
            self.require_person("let changes of leased files pass")?;
        }
        if is_review {
            self.require_person("let work pass without a review")?;
        }
        self.not_own_waiver(task)?;
        let body = GateWaived { gate: gate.to_owned(), reason: reason.to_owned() };
        self.push(Some(&task.id), Event::GateWaived(body));
        let is_last = missing_for_approval(task, self.policy).is_empty();
        if is_review && task.status == Status::Review && is_last {
            self.is_approved(task, Some(&reason.to_owned()))?;
        }
        Ok(Answer::Task(task.id.clone()))
    }
}

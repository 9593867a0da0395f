//! What a subject is like: the fields that conditions ask for and texts name.

use super::acts::AUTH;
use super::hand_over::recommendation;
use super::table::Row;
use super::triage::{Evaluated, Triage, are_similar, stems};
use super::view::{Ci, View};
use crate::decide::{PLAN_PATH, gate_state, required_gates};
use crate::decision::{Decision, DecisionPurpose, DecisionState};
use crate::directive::Directive;
use crate::ids::TaskId;
use crate::pattern::{Pattern, overlap};
use crate::run::{Run, RunState, Stage};
use crate::status::Status;
use crate::task::{CheckState, Task};
use crate::time::{Millis, Timestamp};
use serde_json::{Map, Value, json};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// The view with what belongs together found.
pub(super) struct Index<'v> {
    pub(super) view: &'v View,
    pub(super) now: Timestamp,
    runs: BTreeMap<&'v TaskId, Vec<&'v Run>>,
    decisions: BTreeMap<&'v TaskId, Vec<&'v Decision>>,
    tasks: BTreeMap<&'v str, &'v Task>,
    /// The decisions that tasks were made for.
    made_for: OnceCell<BTreeSet<&'v str>>,
    pub(super) live: usize,
    /// Those of them that do not run on other hosts.
    here: usize,
    /// Work that a ticket may be covered by, with its stems.
    covered: OnceCell<Covered<'v>>,
}

/// Other work: what each is, and where the stems of their titles stand.
#[derive(Default)]
struct Covered<'v> {
    all: Vec<Other<'v>>,
    by_stem: BTreeMap<String, Vec<usize>>,
}

/// A piece of other work.
struct Other<'v> {
    name: String,
    /// The task that it is.
    task: Option<&'v TaskId>,
    /// How many stems its title has.
    stems: usize,
}

impl<'v> Covered<'v> {
    fn add(&mut self, name: String, task: Option<&'v TaskId>, title: &str) {
        let stems = stems(title);
        self.all.push(Other { name, task, stems: stems.len() });
        for stem in stems {
            self.by_stem.entry(stem).or_default().push(self.all.len() - 1);
        }
    }

    /// Returns the first that is about the same as a task.
    fn similar(&self, task: &Task) -> Option<&str> {
        let own = stems(&task.title);
        let mut common: BTreeMap<usize, usize> = BTreeMap::new();
        for place in own.iter().filter_map(|stem| self.by_stem.get(stem)).flatten() {
            *common.entry(*place).or_default() += 1;
        }
        let found = common.into_iter().find_map(|(place, common)| {
            let other = self.all.get(place)?;
            let alike = are_similar(own.len(), other.stems, common);
            (alike && other.task != Some(&task.id)).then_some(other)
        });
        found.map(|other| other.name.as_str())
    }
}

const DAY: i64 = 86_400;

impl<'v> Index<'v> {
    pub(super) fn new(view: &'v View, now: Timestamp) -> Index<'v> {
        let mut runs: BTreeMap<&TaskId, Vec<&Run>> = BTreeMap::new();
        for run in &view.runs {
            runs.entry(&run.task).or_default().push(run);
        }
        runs.values_mut().for_each(|runs| runs.sort_by_key(|run| run.id));
        let mut decisions: BTreeMap<&TaskId, Vec<&Decision>> = BTreeMap::new();
        for decision in &view.decisions {
            if let Some(task) = &decision.task {
                decisions.entry(task).or_default().push(decision);
            }
        }
        decisions.values_mut().for_each(|all| all.sort_by_key(|one| one.id));
        let tasks = view.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
        let live = view.runs.iter().filter(|run| run.state.is_live());
        let here = live.clone().filter(|run| run.labels.is_empty()).count();
        let live = live.count();
        let (made_for, covered) = (OnceCell::new(), OnceCell::new());
        Index { view, now, runs, decisions, tasks, made_for, live, here, covered }
    }

    pub(super) fn task(&self, id: &str) -> Option<&'v Task> {
        self.tasks.get(id).copied()
    }

    /// Tells whether a task was made for a decision.
    pub(super) fn is_made_for(&self, decision: &str) -> bool {
        let all = self.made_for.get_or_init(|| {
            let named = |task: &'v Task| task.context.get("decision")?.as_str();
            self.view.tasks.iter().filter_map(named).collect()
        });
        all.contains(decision)
    }

    pub(super) fn runs(&self, task: &TaskId) -> &[&'v Run] {
        self.runs.get(task).map_or(&[], Vec::as_slice)
    }

    pub(super) fn decisions(&self, task: &TaskId) -> &[&'v Decision] {
        self.decisions.get(task).map_or(&[], Vec::as_slice)
    }

    /// Returns the run of a task that was dispatched last.
    pub(super) fn last(&self, task: &TaskId) -> Option<&'v Run> {
        self.runs(task).last().copied()
    }

    /// Returns the last run of a task that developed it.
    pub(super) fn developed(&self, task: &TaskId) -> Option<&'v Run> {
        self.runs(task).iter().rev().find(|run| run.stage == Stage::Develop).copied()
    }

    /// Returns what the supervisor last asked about a task by a rule.
    pub(super) fn asked(&self, task: &TaskId, rule: &str) -> Option<&'v Decision> {
        let all = self.decisions(task).iter().rev();
        all.copied().find(|one| one.rule.as_deref() == Some(rule))
    }

    /// Tells whether an agent has the driver of a run whose vendor lets nobody in, as long as a person has not answered.
    pub(super) fn is_kept_out(&self, agent: &str) -> bool {
        let own = self.view.runs.iter().rev().find(|run| run.agent == agent);
        let open =
            self.view.decisions.iter().filter(|one| {
                one.state == DecisionState::Open && one.rule.as_deref() == Some(AUTH)
            });
        let mut kept_out = open.filter_map(|one| self.last(one.task.as_ref()?));
        kept_out.any(|run| own.is_some_and(|own| own.driver == run.driver))
    }

    /// Returns how many more runs may be started now.
    pub(super) fn free_slots(&self) -> usize {
        let settings = &self.view.settings;
        let host = settings.max_runs.saturating_sub(self.here + self.view.seen.live_elsewhere);
        host.min(settings.max_per_repo.saturating_sub(self.live))
    }

    /// Names what a ticket is covered by: work that was handed in or finished a short while ago, or an open pull request.
    pub(super) fn similar(&self, task: &Task) -> Option<String> {
        let known = self.covered.get_or_init(|| {
            let view = self.view;
            let recent = Millis::from_secs(view.settings.dedup_days * DAY);
            let counts = |task: &&Task| {
                matches!(
                    task.status,
                    Status::Review | Status::Approved | Status::Merging | Status::Done
                ) && self.now.since(task.updated_at) <= recent
            };
            let mut known = Covered::default();
            for task in view.tasks.iter().filter(counts) {
                let pr = task.pr.as_ref().map(|pr| format!("PR {pr}"));
                let name = pr.unwrap_or_else(|| task.id.to_string());
                known.add(name, Some(&task.id), &task.title);
            }
            for (number, title) in &view.seen.open_prs {
                known.add(format!("PR #{number}"), None, title);
            }
            known
        });
        known.similar(task).map(str::to_owned)
    }

    /// Counts how often the last error of a task came in a row, since a person last gave the task a new start.
    pub(super) fn same_error(&self, task: &TaskId) -> u64 {
        let restarted = self.decisions(task).iter().filter_map(|one| {
            one.answered_at.filter(|_| one.purpose == DecisionPurpose::Exhausted)
        });
        let since = restarted.max().unwrap_or_default();
        let ended = self.runs(task).iter().rev().filter(|run| !run.state.is_live());
        let mut words = ended.take_while(|run| run.created_at >= since).map(|run| error_type(run));
        let Some(Some(last)) = words.next() else { return 0 };
        1 + words.take_while(|word| word.as_ref() == Some(&last)).count() as u64
    }

    /// Says what the checks of handed in work are: gates that comity ran, and those of the pull request.
    pub(super) fn ci(&self, task: &Task) -> &'static str {
        let failed = required_gates(task, &self.view.policy).into_iter().any(|gate| {
            gate_state(task, task.gate(&gate), &self.view.policy).0 == CheckState::Failed
        });
        if failed {
            return Ci::Fail.as_str();
        }
        match self.view.seen.ci.get(&task.id) {
            None => "none",
            Some((Ci::Pending, _)) if self.is_late(task) => "timeout",
            Some((state, _)) => state.as_str(),
        }
    }

    /// A check is late from the time that the work was handed in, or that a person said to wait.
    fn is_late(&self, task: &Task) -> bool {
        let handed_in = self.developed(&task.id).and_then(|run| run.ended_at);
        let waited = self.asked(&task.id, "ci.timeout").and_then(|one| one.answered_at);
        let since = handed_in.max(waited).unwrap_or(task.updated_at);
        self.now.since(since) > self.view.settings.ci_timeout
    }
}

/// What a row is looked at for.
#[derive(Clone, Copy, Default)]
pub(super) struct Subject<'v> {
    pub(super) task: Option<&'v Task>,
    pub(super) run: Option<&'v Run>,
    pub(super) decision: Option<&'v Decision>,
    pub(super) directive: Option<&'v Directive>,
}

/// A subject with what was found out about it.
pub(super) struct Known<'v, 'i> {
    pub(super) index: &'i Index<'v>,
    pub(super) of: Subject<'v>,
    pub(super) rules: &'i Triage,
    /// What its ticket was found to be, once somebody asked.
    pub(super) evaluated: OnceCell<Evaluated>,
}

impl Known<'_, '_> {
    /// Finds out what the ticket is.
    pub(super) fn triage(&self) -> Option<&Evaluated> {
        let task = self.of.task?;
        Some(self.evaluated.get_or_init(|| self.rules.evaluate(task)))
    }

    /// Returns a field; null where the subject has none.
    pub(super) fn field(&self, name: &str) -> Value {
        let Subject { task, run, decision, directive } = self.of;
        let triage = || self.triage();
        let index = self.index;
        match name {
            "task" | "task.id" => json!(task.map(|task| task.id.as_str())),
            "title" | "task.title" => json!(task.map(|task| task.title.as_str())),
            "task.type" => json!(triage().map(|found| found.kind)),
            "task.status" => json!(task.map(|task| task.status.as_str())),
            "task.priority" => json!(task.map(|task| task.priority.to_string())),
            "task.complexity" => json!(triage().map(|found| found.complexity)),
            "task.deliverable" => json!(task.map(|task| task.deliverable)),
            "task.deletion" => json!(triage().map(|found| found.deletion)),
            "task.vague" => json!(triage().map(|found| found.vague)),
            "task.scope" => json!(task.map(|task| scope(index, task))),
            "task.ci" => json!(task.map(|task| index.ci(task))),
            "task.reviewer_run" => json!(task.map(|task| reviewer(index, task))),
            "plan_path" => {
                let plan = task.and_then(|task| task.context.get(PLAN_PATH));
                plan.cloned().unwrap_or_default()
            }
            // What a ticket wants removed.
            "object" => json!(task.map(|task| self.rules.object(&task.title)).unwrap_or_default()),
            "similar" => json!(task.and_then(|task| index.similar(task))),
            "run" | "run.id" => json!(run.map(|run| run.id.to_string())),
            "run.agent" => json!(run.map(|run| run.agent.as_str())),
            "run.stage" => json!(run.map(|run| run.stage)),
            "run.attempt" => json!(run.map(|run| run.attempt)),
            "run.error.type" => {
                let last = || task.and_then(|task| index.last(&task.id));
                json!(run.or_else(last).and_then(error_type))
            }
            "error" => {
                let error = run.and_then(|run| run.error.as_ref());
                json!(error.map(|error| error.message.as_str()))
            }
            "run.diverged" => json!(run.map(|run| index.view.seen.diverged.contains(&run.id))),
            "report.status" => said(run, "status"),
            "report.concerns" => said(run, "concerns"),
            "report.recommendation" => json!(run.and_then(recommendation)),
            "report.notes" => said(run, "notes"),
            "decision" => json!(decision.map(|one| one.id.to_string())),
            "decision.answer" => json!(decision.and_then(|one| one.answer.as_deref())),
            "decision.type" => json!(decision.map(|one| one.kind)),
            "decision.to" => json!(decision.map(|one| one.to.as_str())),
            "decision.design_checks" => {
                json!(decision.is_some_and(|one| design_passes(one, task)))
            }
            "approach" => json!(decision.and_then(|one| one.context.as_deref())),
            "finding.effort" => {
                let effort = task.and_then(|task| task.context.get("effort")).cloned();
                let proposed = decision.and_then(|one| one.proposes.as_ref()?.effort.clone());
                effort.unwrap_or_else(|| json!(proposed))
            }
            "directive.text" => json!(directive.map(|one| one.text.as_str())),
            "config.auto_decide" => json!(index.view.settings.auto_decide),
            "slot.free" => json!(index.free_slots()),
            _ => self.count(name),
        }
    }

    fn count(&self, name: &str) -> Value {
        let Subject { task, run, .. } = self.of;
        let index = self.index;
        match name {
            "count.sent_back" => json!(task.map(|task| task.review_rounds)),
            "count.same_error" => json!(task.map(|task| index.same_error(&task.id))),
            "count.similar" => {
                json!(task.map(|task| u8::from(index.similar(task).is_some())))
            }
            "count.same_error_in_repo" => {
                json!(run.and_then(|run| super::remember::repeated_error(index, run)).map(|e| e.1))
            }
            "count.same_issue" => {
                json!(run.and_then(|run| super::remember::repeated_issue(index, run)).map(|i| i.1))
            }
            _ => Value::Null,
        }
    }

    /// Tells whether all conditions of a row hold, and what was looked at.
    pub(super) fn fits(&self, row: &Row) -> Option<Map<String, Value>> {
        let mut facts = Map::new();
        for condition in &row.when {
            let value = self.field(&condition.field);
            if !condition.test.passes(&value) {
                return None;
            }
            facts.insert(condition.field.clone(), value);
        }
        Some(facts)
    }

    /// Fills fields into a text.
    pub(super) fn render(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                out.push('{');
                rest = after;
                continue;
            };
            match self.field(name) {
                Value::Null => {}
                Value::String(text) => out.push_str(&text),
                Value::Array(items) => {
                    let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                    out.push_str(&texts.join("; "));
                }
                other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
                    out.push_str(&other.to_string());
                }
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

fn said(run: Option<&Run>, key: &str) -> Value {
    run.and_then(|run| run.said.get(key)).cloned().unwrap_or_default()
}

/// Says in a word why a run came to nothing: its error, that it was lost, or that its agent was blocked.
fn error_type(run: &Run) -> Option<String> {
    let is_blocked = run.said.get("status").and_then(Value::as_str) == Some("BLOCKED");
    match &run.error {
        Some(error) => Some(error.kind.to_string()),
        None if is_blocked => Some("BLOCKED".to_owned()),
        None => (run.state == RunState::Lost).then(|| "lost".to_owned()),
    }
}

/// How far a deletion goes: open until a person said it.
fn scope(index: &Index<'_>, task: &Task) -> String {
    let answer = index.asked(&task.id, "route.deletion").and_then(|one| one.answer.clone());
    answer.unwrap_or_else(|| "open".to_owned())
}

/// Says who reviews: a run, somebody else, or nobody.
fn reviewer(index: &Index<'_>, task: &Task) -> &'static str {
    let live =
        index.runs(&task.id).iter().any(|run| run.stage == Stage::Review && run.state.is_live());
    match (live, task.review_taken) {
        (true, _) => "live",
        (false, true) => "taken",
        (false, false) => "none",
    }
}

/// Most steps of a plan that is approved without a person.
const PLAN_STEPS_MAX: usize = 20;
const SPEC_DIRS: [&str; 2] = [".comity/specs/", ".neo/specs/"];

/// Tells whether a design may be approved without a person: it names files, all of them within those of the task or in a
/// directory of plans, and at most twenty steps; it deletes nothing and needs no new dependency.
pub fn design_passes(decision: &Decision, task: Option<&Task>) -> bool {
    let (Some(task), Some(text)) = (task, decision.context.as_deref()) else { return false };
    if decision.state != DecisionState::Open || !decision.is_design() || task.files.is_empty() {
        return false;
    }
    let risky = ["delete", "remove", "drop", "dependency", "dependencies"].map(str::to_owned);
    if super::triage::has_word(text, &risky) {
        return false;
    }
    let is_step = |line: &&str| {
        let line = line.trim_start();
        let numbered = line.split_once(['.', ')', ':']).is_some_and(|(number, _)| {
            let digits = number.trim_start_matches('T');
            !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
        });
        numbered || line.starts_with("- ") || line.starts_with("* ")
    };
    if text.lines().filter(is_step).count() > PLAN_STEPS_MAX {
        return false;
    }
    let declared: Vec<Pattern> =
        task.files.iter().filter_map(|file| Pattern::parse(file).ok()).collect();
    let mut plans = 0;
    for word in text.split(|c: char| c.is_whitespace() || "`'\"(),;".contains(c)) {
        let path = word.trim_end_matches(['.', ':']);
        if !path.contains('/') || path.contains("://") {
            continue;
        }
        let is_plan = SPEC_DIRS.iter().any(|dir| path.starts_with(dir));
        plans += usize::from(is_plan);
        let within = Pattern::parse(path)
            .is_ok_and(|path| declared.iter().any(|known| overlap(known, &path).is_some()));
        if !is_plan && !within {
            return false;
        }
    }
    plans > 0
}

//! Runs that start runs, and the objective that such a run brings to its end.

use super::Answer;
use super::Rule;
use super::runs::{Acting, read_run, wrong_state};
use super::together::Ahead;
use crate::command::{Command, CriterionEvidence, NewRun};
use crate::event::{Event, Note};
use crate::facts::Ruling;
use crate::hint::{op, say};
use crate::ids::{RunId, TaskId};
use crate::refusal::{Code, Refusal};
use crate::run::{Run, RunState};
use crate::task::{CheckState, Task, Tier};

/// Live runs that one run has started, at most.
const CHILDREN_LIVE_MAX: usize = 16;
/// Runs that one run starts in all.
const CHILDREN_MAX: usize = 500;
/// After so many failures the same agent does not get the same files again.
const FAILURES_MAX: usize = 3;
/// Shortest beginning of a commit that is taken for its name.
const SHA_CHARS_MIN: usize = 7;

impl Rule<'_> {
    /// Returns the run that starts another one, and its task. It is not itself below one, starts so many at once, and nothing
    /// that failed before.
    pub(super) fn starter(
        &self,
        ahead: &Ahead,
        task: &TaskId,
        new: &NewRun,
    ) -> Ruling<Option<(RunId, TaskId)>> {
        let repo = &self.request.repo;
        let Some(parent) = self.acting_run()? else {
            let Some(id) = new.parent.as_deref().map(read_run).transpose()? else {
                return Ok(None);
            };
            return Ok(self.facts.run(repo, id)?.map(|run| (id, run.task.clone())));
        };
        if let Some(above) = parent.parent {
            let message = format!("{} was started by {above} and starts no runs itself", parent.id);
            return Err(Refusal::new(Code::SpawnLimit, message)
                .hint("do the work, or report what is missing")
                .detail("depth", 1)
                .into());
        }
        let files = files_of(ahead.facts().task(repo, task)?);
        let (mut live, mut failures) = (0, 0);
        for id in &parent.children {
            let Some(child) = self.facts.run(repo, *id)? else { continue };
            live += usize::from(child.state.is_live());
            if !matches!(child.state, RunState::Failed | RunState::Lost) {
                continue;
            }
            if child.prompt_sha256 == new.prompt_sha256 && child.agent == new.agent {
                let message = format!("{id} was told the same, and it failed");
                return Err(Refusal::new(Code::LoopGuard, message)
                    .hint(
                        say("see what went wrong with ")
                            .quote(op("run.logs").id(id))
                            .say("; then say what was missing"),
                    )
                    .detail("run", id.to_string())
                    .detail("count", 1)
                    .detail("limit", 1)
                    .into());
            }
            let same =
                child.agent == new.agent && files_of(self.facts.task(repo, &child.task)?) == files;
            failures += usize::from(same);
        }
        if failures >= FAILURES_MAX {
            let message = format!("{} failed {failures} times on the same files", new.agent);
            return Err(Refusal::new(Code::LoopGuard, message)
                .hint("send another agent, or give it other files")
                .detail("count", failures)
                .detail("limit", FAILURES_MAX)
                .into());
        }
        if live >= CHILDREN_LIVE_MAX || parent.children.len() >= CHILDREN_MAX {
            let message = format!("{} has started {live} runs that are live", parent.id);
            return Err(Refusal::new(Code::SpawnLimit, message)
                .detail("limit", CHILDREN_LIVE_MAX)
                .into());
        }
        Ok(Some((parent.id, parent.task.clone())))
    }

    /// An objective is reached when comity itself knows something that shows each of its criteria.
    pub(super) fn complete_objective(
        &mut self,
        run: &Run,
        given: &[CriterionEvidence],
        summary: Option<&String>,
    ) -> Ruling<Answer> {
        let task = self.task(run.task.as_str())?;
        if !run.state.is_live() || !super::runs::holds(run, task) {
            return Err(wrong_state(run, "and has no objective in hand").into());
        }
        if task.dod.is_empty() {
            let message = format!("{} has no criteria that could be met", task.id);
            return Err(Refusal::input(message).into());
        }
        let (mut met, mut missing) = (Vec::new(), Vec::new());
        let open = task
            .dod
            .iter()
            .filter(|item| !matches!(item.state, CheckState::Met | CheckState::Waived));
        for item in open {
            match self.shown(run, &item.text, given)? {
                Ok(evidence) => met.push((item.text.clone(), evidence)),
                Err(why) => missing.push(serde_json::json!({"criterion": item.text, "why": why})),
            }
        }
        if !missing.is_empty() {
            let count = missing.len();
            let message = format!("{count} of {} criteria are not shown to be met", task.dod.len());
            return Err(Refusal::new(Code::EvidenceMissing, message)
                .detail("criteria", missing)
                .into());
        }
        let acting = Acting::of(run, self.request.via.host.clone());
        let mut ahead = self.ahead();
        for (item, evidence) in met {
            let id = task.id.to_string();
            let check = Command::Check { id, item, waive: false, reason: Some(evidence) };
            self.as_run(&mut ahead, &acting, None, check)?;
        }
        if let Some(text) = summary {
            let note = Note { kind: "milestone".to_owned(), text: text.clone() };
            self.push_ahead(&mut ahead, Some(&run.task), Event::Note(note));
        }
        self.finish_unreviewed(&mut ahead, &acting, run, "every criterion is met")?;
        Ok(Answer::Run(run.id))
    }

    /// Says which evidence shows a criterion, or why none does.
    fn shown(
        &self,
        run: &Run,
        criterion: &str,
        given: &[CriterionEvidence],
    ) -> Ruling<Result<String, String>> {
        let same = |text: &str| text.trim().to_lowercase() == criterion.trim().to_lowercase();
        let mut why = "no evidence was given".to_owned();
        for one in given.iter().filter(|one| same(&one.criterion)) {
            match self.known_evidence(run, &one.evidence)? {
                Ok(()) => return Ok(Ok(one.evidence.clone())),
                Err(reason) => why = reason,
            }
        }
        Ok(Err(why))
    }

    /// Evidence is what comity knows of the runs that this one started: one that succeeded, its pull request, a gate of its task that
    /// passed and was seen to, the commit that was merged.
    fn known_evidence(&self, run: &Run, text: &str) -> Ruling<Result<(), String>> {
        let repo = &self.request.repo;
        let mut why = format!("comity knows nothing of {:?}", crate::ids::shorten(text));
        let words: Vec<&str> = text.split_whitespace().map(plain).collect();
        let says = |word: &str| words.iter().any(|one| one.eq_ignore_ascii_case(word));
        for id in &run.children {
            let Some(child) = self.facts.run(repo, *id)? else { continue };
            if says(&id.to_string()) {
                if child.state == RunState::Succeeded {
                    return Ok(Ok(()));
                }
                why = format!("{id} is {}", child.state);
            }
            let Some(task) = self.facts.task(repo, &child.task)? else { continue };
            if [&child.pr, &task.pr].into_iter().flatten().any(|pr| says(pr)) {
                return Ok(Ok(()));
            }
            let merged = task.merged_sha.as_deref().unwrap_or_default();
            if words.iter().any(|word| word.len() >= SHA_CHARS_MIN && merged.starts_with(word)) {
                return Ok(Ok(()));
            }
            for gate in &task.gates {
                let names = [
                    gate.name.clone(),
                    format!("gate:{}", gate.name),
                    format!("{}:{}", task.id, gate.name),
                ];
                if !names.iter().any(|name| says(name)) {
                    continue;
                }
                let tier = gate.evidence.as_ref().map(|evidence| evidence.tier);
                let (state, _) = super::gate_state(task, Some(gate), self.policy);
                if state == CheckState::Met && tier.is_some_and(|tier| tier >= Tier::Observed) {
                    return Ok(Ok(()));
                }
                why = format!(
                    "the gate {} of {} is {state}, as far as comity saw",
                    gate.name, task.id
                );
            }
        }
        Ok(Err(why))
    }
}

/// A word as it stands in a sentence, without the marks around it.
fn plain(word: &str) -> &str {
    word.trim_matches(|c: char| matches!(c, ',' | ';' | '.' | '(' | ')' | '"' | '\'' | '`'))
}

fn files_of(task: Option<&Task>) -> Vec<String> {
    let mut files: Vec<String> = task.map(|task| task.files.clone()).unwrap_or_default();
    files.sort();
    files
}

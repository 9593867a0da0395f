//! What a focused supervisor does: it sends agents out one after the other, and ends with evidence or with a question.

use crate::log;
use crate::place::RunPlace;
use crate::start::{Asked, start};
use comity_api::{
    BlockObjective, ById, CompleteObjective, DispatchPiece, PieceAnswer, RunAnswer, TaskAnswer, op,
};
use comity_core::command::{Command, NewTask, RunChange};
use comity_core::hint::{op as operation, say};
use comity_core::refusal::{Code, Refusal};
use comity_core::run::{RunState, run_of};
use comity_core::supervise::OBJECTIVE;
use comity_core::task::Deliverable;
use comity_core::view::RunView;
use comity_engine::{Caller, Far, Service, Whereabouts};
use comity_project::Context;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The agent that looks after an objective.
pub const FOCUSED: &str = "focused";
/// How long one call waits for an agent at the most: clients wait for a little longer.
const WAIT_MOST: Duration = Duration::from_secs(1_800);
const LOOK: Duration = Duration::from_millis(500);
/// Longest title of a piece, in characters.
const TITLE_CHARS_MAX: usize = 100;
/// Longest last words of an agent that are handed on, in characters.
const SAID_CHARS_MAX: usize = 4_000;

/// The rows of a focused supervisor, in the process of its keeper.
#[derive(Clone)]
pub struct Objectives {
    pub context: Context,
    pub service: Service,
    /// comity itself; none where no run is kept.
    pub program: Option<PathBuf>,
}

impl Whereabouts for Objectives {
    fn far(&self) -> Option<&Arc<dyn Far>> {
        self.service.far()
    }
}

comity_engine::handlers_of! { Objectives, register {
    ObjectiveDispatch(own, caller, input) => own.dispatch(caller, &input);
    ObjectiveComplete(own, caller, input) => own.complete(caller, input);
    ObjectiveBlocked(own, caller, input) => own.blocked(caller, input);
} }

impl Objectives {
    /// Returns the live run that the caller acts in.
    fn own_run(&self, caller: &Caller) -> Result<RunView, Refusal> {
        let nobody = || {
            Refusal::new(Code::RoleForbidden, "only an agent in a run of its own has an objective")
                .hint(say("start one with ").quote(
                    operation("supervise").ask("objective", "TEXT").ask("criterion", "TEXT"),
                ))
        };
        let id = run_of(&caller.actor).ok_or_else(nobody)?.to_string();
        let run = self.service.call::<op::RunShow>(caller, ById { id })?.run;
        let is_own = run.identity.as_deref() == Some(caller.actor.as_str());
        if is_own && run.state.is_live() { Ok(run) } else { Err(nobody()) }
    }

    pub fn dispatch(&self, caller: &Caller, piece: &DispatchPiece) -> Result<PieceAnswer, Refusal> {
        let own = self.own_run(caller)?;
        let program = self.program.as_ref().ok_or_else(|| {
            Refusal::new(Code::CouldNotRun, "runs are started where the keeper of the run is")
        })?;
        is_whole(piece)?;
        let prompt = words(piece);
        // The task of a run that ended goes on, or is reviewed, under its own id.
        let known = self.service.call::<op::TaskShow>(caller, ById { id: piece.task.clone() });
        let task = known.ok().map(|known| known.task.id);
        let files = self.context.root_mapper().patterns(&piece.files)?;
        let asked = Asked {
            agent: piece.agent.clone(),
            prompt: Some(prompt.clone()),
            new_task: task.is_none().then(|| Box::new(new_task(piece, prompt, files, &own))),
            task,
            parent: own.id,
            ..Asked::default()
        };
        // A key is that of the call, not of the dispatch in it.
        let asks = Caller { key: None, ..caller.clone() };
        let run = start(&self.context, &self.service, &asks, program, &asked)?.run;
        let id = run.id.clone().unwrap_or_default();
        if piece.wait { self.ended(caller, &id) } else { Ok(answer(run, None)) }
    }

    /// Waits for the end of a run, and tells what its agent said last.
    fn ended(&self, caller: &Caller, id: &str) -> Result<PieceAnswer, Refusal> {
        let until = Instant::now() + WAIT_MOST;
        loop {
            let run = self.service.call::<op::RunShow>(caller, ById { id: id.to_owned() })?.run;
            if !run.state.is_live() || Instant::now() >= until {
                let said = (!run.state.is_live()).then(|| last_words(&self.context, id)).flatten();
                return Ok(answer(run, said));
            }
            std::thread::sleep(LOOK);
        }
    }

    pub fn complete(
        &self,
        caller: &Caller,
        given: CompleteObjective,
    ) -> Result<RunAnswer, Refusal> {
        let id = self.own_run(caller)?.id.unwrap_or_default();
        let CompleteObjective { evidence, summary } = given;
        let change = RunChange::Complete { evidence, summary };
        self.service.run_command::<RunAnswer>(caller, Command::RunChange { id, change })
    }

    pub fn blocked(&self, caller: &Caller, given: BlockObjective) -> Result<TaskAnswer, Refusal> {
        let own = self.own_run(caller)?;
        let question = given.question.trim().to_owned();
        if question.is_empty() {
            return Err(Refusal::input("the question is empty")
                .hint("ask for the decision that you cannot make yourself"));
        }
        let block = Command::Block {
            id: own.task.unwrap_or_default(),
            needs: Some(question.clone()),
            questions: vec![question],
            retry_after: None,
            reason: given.reason,
        };
        self.service.run_command::<TaskAnswer>(caller, block)
    }
}

fn answer(run: RunView, said: Option<String>) -> PieceAnswer {
    PieceAnswer { task: run.task.clone().unwrap_or_default(), run, said }
}

/// Returns what the agent of a run on this host said last.
pub fn last_words(context: &Context, id: &str) -> Option<String> {
    let place = RunPlace::of(context, id).ok()?;
    let (lines, _) = log::read(&place.log(), 0).ok()?;
    let text: Vec<String> =
        lines.into_iter().filter(|line| line.kind == "text").map(|line| line.text).collect();
    let text = text.join("\n");
    let skip = text.chars().count().saturating_sub(SAID_CHARS_MAX);
    let text: String = text.chars().skip(skip).collect();
    (!text.trim().is_empty()).then_some(text)
}

/// A piece of work says what, where and when it is done. Constraints it may have none.
fn is_whole(piece: &DispatchPiece) -> Result<(), Refusal> {
    let empty = |list: &[String]| list.iter().all(|text| text.trim().is_empty());
    let missing: Vec<&str> = [
        ("agent", piece.agent.trim().is_empty()),
        ("task", piece.task.trim().is_empty()),
        ("files", empty(&piece.files)),
        ("done", piece.done.trim().is_empty()),
    ]
    .into_iter()
    .filter_map(|(name, is_missing)| is_missing.then_some(name))
    .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(
        Code::PromptIncomplete,
        format!("the piece of work has no {}", missing.join(", ")),
    )
    .hint("say what is to be done, in which files, and when it is done")
    .detail("missing", missing))
}

/// Writes a piece as a prompt: the same piece has the same words.
fn words(piece: &DispatchPiece) -> String {
    let mut text = format!("{}\n\nFiles:\n", piece.task.trim());
    for file in &piece.files {
        let _ = writeln!(text, "- {file}");
    }
    let _ = writeln!(text, "\nDone when: {}", piece.done.trim());
    if !piece.constraints.is_empty() {
        text.push_str("\nConstraints:\n");
        for one in &piece.constraints {
            let _ = writeln!(text, "- {one}");
        }
    }
    text
}

fn new_task(piece: &DispatchPiece, prompt: String, files: Vec<String>, own: &RunView) -> NewTask {
    let title = piece.task.trim().lines().next().unwrap_or_default();
    let objective = own.task.clone().unwrap_or_default();
    // What only looks leaves nothing to review.
    let looks = ["scout", "reviewer"].contains(&piece.agent.as_str());
    NewTask {
        title: title.chars().take(TITLE_CHARS_MAX).collect(),
        description: prompt,
        files,
        dod: vec![piece.done.trim().to_owned()],
        deliverable: if looks { Deliverable::None } else { Deliverable::Code },
        context: [(OBJECTIVE.to_owned(), objective.into())].into_iter().collect(),
        ..NewTask::default()
    }
}

/// Tells whether a run has started others that are under way.
pub(crate) fn has_children(service: &Service, caller: &Caller, id: &str) -> bool {
    let live = RunState::ALL.iter().copied().filter(|state| state.is_live()).collect();
    let filter = comity_api::RunFilter { status: live, ..comity_api::RunFilter::default() };
    let page = service.call::<op::Runs>(caller, filter);
    page.is_ok_and(|page| page.runs.iter().any(|run| run.parent.as_deref() == Some(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_work_is_whole_or_names_what_is_missing() {
        let piece = DispatchPiece {
            agent: "developer".to_owned(),
            task: "Parse dates".to_owned(),
            files: vec!["src/date.rs".to_owned()],
            done: "the tests of dates pass".to_owned(),
            ..DispatchPiece::default()
        };
        assert!(is_whole(&piece).is_ok(), "it may have no constraints");
        let refusal = is_whole(&DispatchPiece {
            files: vec![" ".to_owned()],
            done: String::new(),
            ..piece.clone()
        })
        .unwrap_err();
        assert_eq!(refusal.code, Code::PromptIncomplete);
        assert_eq!(refusal.details["missing"], serde_json::json!(["files", "done"]));
        let with =
            DispatchPiece { constraints: vec!["leave the API alone".to_owned()], ..piece.clone() };
        assert_eq!(
            words(&with),
            "Parse dates\n\nFiles:\n- src/date.rs\n\nDone when: the tests of dates pass\n\nConstraints:\n- leave the API alone\n"
        );
        assert_ne!(words(&with), words(&piece));
    }
}

//! Doing what is due: each step once, under its key and the fence of the seat.

use super::look::CHECK_ENV;
use super::{Supervisor, Taken};
use crate::elsewhere::catch_up;
use crate::place::RunPlace;
use crate::start::{Asked, By, start};
use comity_api::{ById, RunFilter, RunMerges, op};
use comity_core::command::{Command, NewTask, RunChange};
use comity_core::hint::{op as operation, say};
use comity_core::refusal::{Code, Refusal};
use comity_core::run::RunState;
use comity_core::status::Status;
use comity_core::supervise::{Deed, Dispatch, Step};
use comity_core::time::Millis;
use comity_engine::{Answer, Caller, Handler, Reply};
use comity_guard::child::{self, End, Spec};
use comity_guard::git::Git;
use comity_project::detect;
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;

/// How much of the output of a gate a task gets, in bytes.
const TAIL_BYTES: usize = 8 * 1024;
/// How long a run waits for whoever dispatched it to start its keeper: so long at most, and a part of its life.
const ADOPT_AFTER: Millis = Millis::from_secs(10);
const ADOPT_IN_LIFE: i64 = 3;

impl Supervisor<'_> {
    /// Takes a step; what cannot be done now is said, and is due again later.
    pub(super) fn take(&mut self, step: &Step) -> Taken {
        let mut taken = Taken { step: step.clone(), run: None, decision: None, refused: None };
        let done = match &step.deed {
            Deed::Write(commands) => self.write(step, commands.clone(), &mut taken),
            Deed::Ask(_) => self.write(step, Vec::new(), &mut taken),
            Deed::Dispatch(new) => self.dispatch(step, new, &mut taken),
            Deed::Land(task) => {
                self.land(task.as_str()).and_then(|()| self.write(step, Vec::new(), &mut taken))
            }
            Deed::Discard(run, commands) => self
                .keep_discarded(&run.to_string())
                .and_then(|()| self.write(step, commands.clone(), &mut taken)),
            Deed::Push(run) => self.hand_over(step, *run, &mut taken),
            Deed::Gates(commands) => {
                self.write(step, commands.clone(), &mut taken).and_then(|()| self.run_gates())
            }
        };
        taken.refused = done.err();
        taken
    }

    pub(super) fn write(
        &self,
        step: &Step,
        commands: Vec<Command>,
        taken: &mut Taken,
    ) -> Result<(), Refusal> {
        let caller = Caller { key: Some(step.key()), ..self.caller.clone() };
        let command = Command::Supervise(Box::new(step.supervision(commands)));
        match self.service.run(&caller, command)?.output {
            Reply::New(Answer::Run(answer)) => taken.run = answer.run.id,
            Reply::New(Answer::Decision(answer)) => taken.decision = Some(answer.decision.id),
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&self, step: &Step, new: &Dispatch, taken: &mut Taken) -> Result<(), Refusal> {
        let mut asked = Asked {
            agent: new.agent.clone(),
            task: new.task.as_ref().map(ToString::to_string),
            prompt: new.prompt.clone(),
            resumed_from: new.resumed_from.map(|run| run.to_string()),
            fresh: new.fresh,
            ..Asked::default()
        };
        asked.by = Some(Box::new(By {
            caller: self.caller.clone(),
            step: step.supervision(new.before.clone()),
            key: step.key(),
            answers: new.answers.clone(),
        }));
        new.settle.map_or(Ok(()), |settle| self.settle(settle))?;
        let started = start(self.context, &self.service, &self.caller, &self.program, &asked)?;
        taken.run = started.run.id;
        Ok(())
    }

    /// Works through the merge queue. What still waits there afterwards is due again.
    fn land(&self, id: &str) -> Result<(), Refusal> {
        let caller = Caller { fence: None, key: None, ..self.caller.clone() };
        let waits = || Ok::<_, Refusal>(self.service.task(&caller, id)?.status == Status::Approved);
        if waits()? {
            if let Some(why) = catch_up(self.context, &self.service, &caller, Some(id))? {
                return Err(Refusal::new(Code::CouldNotRun, why));
            }
            let input = RunMerges { target: None, once: false };
            Handler::<op::MergeRun>::handle(&self.runner, &caller, input)?;
        }
        if waits()? {
            return Err(Refusal::new(Code::NotReady, format!("{id} waits in the merge queue"))
                .hint(say("see ").quote(operation("merge.queue"))));
        }
        Ok(())
    }

    /// Work that is discarded stays reachable under a ref of its own.
    fn keep_discarded(&self, run: &str) -> Result<(), Refusal> {
        let shown = self.context.ask::<op::RunShow>(ById { id: run.to_owned() })?.run;
        let git = Git::at(&self.context.root.dir);
        let Some(head) = shown.head else { return Ok(()) };
        let name = format!("refs/comity/run/{run}/discarded");
        let kept = git.output(&["update-ref", &name, &head]);
        if kept.is_some_and(|output| output.status.success()) {
            return Ok(());
        }
        Err(Refusal::new(Code::CouldNotRun, format!("git could not keep {head} as {name}")))
    }

    /// Runs the gates of the project in its checkout; each that is red becomes one task.
    fn run_gates(&self) -> Result<(), Refusal> {
        for gate in self.context.config.gate_commands()? {
            if !detect::is_own(&gate) {
                self.context.require_trust(&format!("gate.{}", gate.name), &gate.power())?;
            }
            let environment = self.context.environment();
            let passed = CHECK_ENV.iter().copied().chain(gate.passed.iter().map(String::as_str));
            let passed = passed.filter_map(|name| Some((name.to_owned(), environment.own(name)?)));
            let all = passed.chain(gate.set.clone());
            let spec = Spec {
                program: self.program.clone(),
                words: ["sh", "-c", &gate.command].map(OsString::from).to_vec(),
                dir: self.context.root.dir.clone(),
                env: all.map(|(name, value)| (name.into(), value.into())).collect(),
                timeout: super::duration(gate.timeout),
                output_max: TAIL_BYTES,
            };
            let ended = child::run(&spec, &AtomicBool::new(false), &mut |_, _| {});
            let ended = ended.map_err(|error| {
                Refusal::new(Code::CouldNotRun, format!("gate {}: {error}", gate.name))
            })?;
            if ended.end != End::Exited(0) {
                self.mend(&gate.name, &ended.output.text().0)?;
            }
        }
        Ok(())
    }

    /// Makes a task of a gate that is red, unless there is one.
    fn mend(&self, gate: &str, output: &str) -> Result<(), Refusal> {
        let title = format!("Fix the gate {gate}, which fails on the base branch");
        let caller = Caller { fence: None, key: None, ..self.caller.clone() };
        let (view, _) = self.service.supervision(&caller, &self.settings)?;
        if view.tasks.iter().any(|task| task.title == title && !task.status.is_finished()) {
            return Ok(());
        }
        let new = NewTask {
            title,
            kind: Some("bug".to_owned()),
            description: output.to_owned(),
            ..NewTask::default()
        };
        self.service.run(&caller, Command::CreateTask(Box::new(new))).map(drop)
    }

    /// Starts keepers for runs of this host that were dispatched and whose keeper never started: whoever dispatched them
    /// ended in between. A run is taken once, whoever tries. One whose files were never written is stopped, which costs its
    /// task nothing.
    pub(super) fn adopt(&self) {
        let filter = RunFilter { status: vec![RunState::Queued], ..RunFilter::default() };
        let (Ok(page), Ok(now)) = (self.context.ask::<op::Runs>(filter), self.service.store_time())
        else {
            return;
        };
        let life = self.service.settings().policy.fleet.ttl.ms() / ADOPT_IN_LIFE;
        let patience = ADOPT_AFTER.min(Millis::from_ms(life));
        for run in page.runs {
            let (Some(id), true) = (run.id, run.host == self.caller.via.host) else { continue };
            let Ok(place) = RunPlace::of(self.context, &id) else { continue };
            if now.since(run.created_at.unwrap_or(now)) <= patience {
                continue;
            }
            if !place.job().is_file() {
                let reason = Some("whoever dispatched it ended before its keeper began".to_owned());
                let change = RunChange::Stop { now: true, reason };
                let caller = Caller { fence: None, key: None, ..self.caller.clone() };
                let _ = self.service.run(&caller, Command::RunChange { id, change });
            } else if !place.keeper_log().is_file() {
                let _ = crate::start::keep(self.context, &self.program, &place);
            }
        }
    }
}

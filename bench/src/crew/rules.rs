//! comity's real rules as the office of a crew: a service over a store with a clock of its own.

use super::code::{FILES, Place, Task};
use super::office::Office;
use crate::Outcome;
use crate::script::repo;
use comity_api::{AskBrief, Claim, EventAnswer, Nothing, op};
use comity_core::command::{Command, Eject, MergeStep, NewTask, Submission, TaskVerb};
use comity_core::ids::AgentId;
use comity_core::lease::LeaseMode;
use comity_core::merging::Ejection;
use comity_core::policy::Policy;
use comity_core::refusal::Code;
use comity_core::role::Role;
use comity_core::time::Millis;
use comity_engine::{Caller, Handler, Service, Settings};
use comity_store::ManualClock;
use comity_store::sqlite::{OpenOptions, SqliteStore};
use std::sync::Arc;

const BRANCH: &str = "main";
/// A claim lives longer than anybody thinks.
const TTL: Millis = Millis::from_secs(86_400);
/// Changes that a brief lists here.
const CHANGES: usize = 50;

pub struct Rules {
    service: Service,
    clock: Arc<ManualClock>,
    clock_at: f64,
    agents: Vec<Caller>,
    integrator: Caller,
    critic: Caller,
    rounds: usize,
    _dir: tempfile::TempDir,
}

fn caller(name: &str) -> Outcome<Caller> {
    Ok(Caller::new(AgentId::parse(name)?, repo()?))
}

fn file(number: usize) -> String {
    format!("src/f{number}.rs")
}

fn id(task: usize) -> String {
    format!("T{}", task + 1)
}

fn number(id: &str) -> Outcome<usize> {
    let number: usize = id.trim_start_matches('T').parse()?;
    Ok(number.saturating_sub(1))
}

impl Rules {
    pub fn new(tasks: &[Task], agents: usize) -> Outcome<Rules> {
        let clock = ManualClock::new();
        let policy = Policy {
            has_git: false,
            lease_mode: LeaseMode::Shared,
            default_ttl: TTL,
            max_review_rounds: 1_000,
            ..Policy::default()
        };
        let settings = Settings { policy, ..Settings::default() };
        let dir = super::scratch()?;
        let options = OpenOptions { clock: clock.clone(), ..OpenOptions::default() };
        let store = SqliteStore::open(&dir.path().join("crew.db"), options)?;
        let service = Service::inline(Box::new(store), settings)?;
        let person = caller("human:bench")?;
        for (name, role) in [("ivy", Role::Integrator), ("eve", Role::Critic)] {
            let (id, roles) = (AgentId::parse(name)?, vec![role]);
            service.run(&person, Command::AgentRegister { id, roles, skills: Vec::new() })?;
        }
        for task in tasks {
            let files = task.edits.iter().map(|edit| file(edit.place.0)).collect();
            let new = NewTask { title: format!("Task {}", task.id), files, ..NewTask::default() };
            service.run(&person, Command::CreateTask(Box::new(new)))?;
        }
        let agents = (0..agents).map(|at| caller(&format!("agent-{at:02}")));
        Ok(Rules {
            service,
            clock,
            clock_at: 0.0,
            agents: agents.collect::<Outcome<_>>()?,
            integrator: caller("ivy")?,
            critic: caller("eve")?,
            rounds: 0,
            _dir: dir,
        })
    }

    fn step(&self, step: MergeStep) -> Outcome<()> {
        self.service.run(&self.integrator, Command::MergeStep(step))?;
        Ok(())
    }
}

impl Office for Rules {
    fn pass(&mut self, now: f64) {
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds of hours fit")]
        let ms = ((now - self.clock_at) * 1000.0) as i64;
        if ms > 0 {
            self.clock.pass(Millis::from_ms(ms));
            self.clock_at = now;
        }
    }

    fn claim(&mut self, who: usize) -> Outcome<Option<usize>> {
        let wish = Claim { start: true, ..Claim::default() };
        match Handler::<op::TaskClaim>::handle(&self.service, &self.agents[who], wish) {
            Ok(answered) => number(&answered.output.task.id).map(Some),
            Err(refusal) if refusal.code == Code::NothingReady => Ok(None),
            Err(refusal) => Err(refusal.into()),
        }
    }

    fn log_end(&mut self) -> Outcome<u64> {
        Ok(self.service.log_head()?.seq)
    }

    fn announce(&mut self, who: usize, task: usize, of: usize) -> Outcome<()> {
        let text = "about to rename a function here".to_owned();
        let (paths, task) = (vec![file(of)], Some(id(task)));
        self.service.run(&self.agents[who], Command::NoteChange { text, paths, task })?;
        Ok(())
    }

    fn is_told(&mut self, who: usize, files: &[usize], since: u64) -> Outcome<bool> {
        let paths = match files.len() < FILES {
            true => files.iter().map(|number| file(*number)).collect(),
            false => vec!["src/**".to_owned()],
        };
        let asked = AskBrief { paths, limit: Some(CHANGES), task: None };
        let brief = self.service.call::<op::Brief>(&self.agents[who], asked)?.brief;
        Ok(brief.changes.iter().any(|change| change.seq > since))
    }

    fn submit(&mut self, who: usize, task: usize) -> Outcome<()> {
        self.rounds += 1;
        let commit = Some(format!("{:040x}", self.rounds));
        let given = Submission { id: id(task), commit, ..Submission::default() };
        self.service.run(&self.agents[who], Command::Submit(given))?;
        self.service.run(&self.critic, TaskVerb::Approve.on(id(task), None))?;
        Ok(())
    }

    fn start_batch(&mut self, most: usize) -> Outcome<Vec<usize>> {
        let queue = self.service.call::<op::MergeQueue>(&self.integrator, Nothing {})?.queue;
        let tasks: Vec<String> = queue.into_iter().take(most).map(|one| one.task).collect();
        let numbers = tasks.iter().map(|id| number(id)).collect::<Outcome<Vec<usize>>>()?;
        if !tasks.is_empty() {
            let (target, base) = (BRANCH.to_owned(), BRANCH.to_owned());
            let command = Command::MergeStep(MergeStep::Start { target, base, tasks });
            self.service.run_command::<EventAnswer>(&self.integrator, command)?;
        }
        Ok(numbers)
    }

    fn land(&mut self, task: usize) -> Outcome<()> {
        let (id, merged) = (id(task), format!("{:040x}", task + 1_000_000));
        self.service.run(&self.integrator, Command::Land { id, merged, reason: None })?;
        Ok(())
    }

    fn eject(&mut self, task: usize, reason: Ejection, places: &[Place]) -> Outcome<()> {
        self.step(MergeStep::Eject(Box::new(Eject {
            id: id(task),
            batch: None,
            target: BRANCH.to_owned(),
            reason,
            with: BRANCH.to_owned(),
            paths: places.iter().map(|place| file(place.0)).collect(),
            gate: None,
            output_tail: None,
            words: "do it again".to_owned(),
        })))
    }
}

//! The supervisor of a repository: it takes its seat, looks at what is there, does what is due, and waits for the next
//! change. What is due is said by the rules; nothing is decided here.

mod act;
mod hand_over;
mod look;
pub(crate) mod seat;
mod settle;

pub use seat::{Post, log_file, post, stop};

use comity_core::command::Command;
use comity_core::directive::Trigger as When;
use comity_core::ids::{AgentId, DirectiveId, TaskId};
use comity_core::refusal::{Code, Refusal};
use comity_core::role::Role;
use comity_core::supervise::{Settings, Step, Table, Trigger, due, is_idle};
use comity_core::time::Millis;
use comity_engine::{Caller, Service};
use comity_guard::Runner;
use comity_project::Context;
use comity_project::store::Access;
use look::Eyes;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Who a supervisor is, whoever started it.
pub const NAME: &str = "supervisor";
/// How often it looks again in one beat, because what it did made something else due.
const ROUNDS_MAX: usize = 50;
/// The shortest time between two beats: keepers commit often.
const PAUSE: Duration = Duration::from_millis(300);
/// How often one that stands by looks whether the seat is free.
const STAND_BY: Duration = Duration::from_secs(2);

/// A step that was taken, and what came of it.
#[derive(Clone, Debug)]
pub struct Taken {
    pub step: Step,
    pub run: Option<String>,
    pub decision: Option<String>,
    /// Why it could not be taken now.
    pub refused: Option<Refusal>,
}

/// What could not be done in this beat: something else has its turn.
#[derive(Default)]
struct Passed {
    tasks: BTreeSet<TaskId>,
    directives: BTreeSet<DirectiveId>,
}

impl Passed {
    fn over(&mut self, step: &Step) {
        self.tasks.extend(step.task.clone());
        if step.on == Trigger::Directive {
            self.directives.extend(DirectiveId::parse(&step.subject));
        }
    }
}

/// What came of one beat.
#[derive(Clone, Debug, Default)]
pub struct Beat {
    pub taken: Vec<Taken>,
    pub idle: bool,
}

pub struct Supervisor<'a> {
    context: &'a Context,
    service: Service,
    /// Runs gates and lands work.
    runner: Runner,
    program: PathBuf,
    table: Table,
    settings: Settings,
    /// The supervisor; with the fence of the seat once it has it.
    caller: Caller,
    eyes: Eyes,
}

impl<'a> Supervisor<'a> {
    /// Makes the supervisor of a project. The first time, a person does: that registers it.
    pub fn new(
        context: &'a Context,
        runner: Runner,
        program: PathBuf,
    ) -> Result<Supervisor<'a>, Refusal> {
        let service = context.service(Access::Write)?;
        let starter = context.caller();
        let id = AgentId::parse(NAME)?;
        if starter.actor.is_person() {
            let own = Role::of_helper(&id).unwrap_or_default().to_vec();
            let roles = service.roles(&starter, &id)?;
            let register =
                Command::AgentRegister { id: id.clone(), roles: own.clone(), skills: Vec::new() };
            if !own.iter().all(|role| roles.contains(role)) {
                service.run(&Caller { fence: None, key: None, ..starter.clone() }, register)?;
            }
        }
        let caller = Caller { actor: id, fence: None, key: None, ..starter };
        Ok(Supervisor {
            context,
            service,
            runner,
            program,
            table: comity_project::supervisor::table(&context.root)?,
            settings: context.config.supervisor()?,
            caller,
            eyes: Eyes::default(),
        })
    }

    /// Says what is due, and whether there is nothing to do; writes nothing.
    pub fn due(&mut self) -> Result<(Vec<Step>, bool), Refusal> {
        self.look(None, &Passed::default())
    }

    fn look(
        &mut self,
        moment: Option<When>,
        passed: &Passed,
    ) -> Result<(Vec<Step>, bool), Refusal> {
        let (mut view, now) = self.service.supervision(&self.caller, &self.settings)?;
        self.eyes.look(self.context, &self.program, &self.table, &mut view, now)?;
        view.seen.moment = moment;
        view.seen.passed_over = passed.tasks.clone();
        view.seen.not_feasible = passed.directives.clone();
        let steps = self.service.not_done(&self.caller, &due(&view, &self.table, now))?;
        let idle = is_idle(&view, &steps, now);
        Ok((steps, idle))
    }

    /// Takes the seat for one beat, does what is due, and leaves. A seat that somebody has is refused.
    pub fn once(&mut self) -> Result<Beat, Refusal> {
        self.sit()?;
        let beat = self.beat(None);
        self.leave("one beat was asked for")?;
        beat
    }

    /// Supervises until it is told to stop; while somebody else has the seat, it stands by. `say` hears of every step.
    pub fn keep(
        &mut self,
        stop: &AtomicBool,
        say: &mut dyn FnMut(&Said<'_>),
    ) -> Result<(), Refusal> {
        while !stop.load(Ordering::Relaxed) {
            if !self.stand_by(stop, say)? {
                return Ok(());
            }
            match self.supervise(stop, say) {
                // Somebody else has the seat by now.
                Err(refusal) if refusal.code == Code::StaleFence => {
                    say(&Said::Refused(&refusal));
                    self.caller.fence = None;
                }
                done => {
                    let left = self.leave("it was stopped");
                    return done.and(left);
                }
            }
        }
        Ok(())
    }

    fn stand_by(
        &mut self,
        stop: &AtomicBool,
        say: &mut dyn FnMut(&Said<'_>),
    ) -> Result<bool, Refusal> {
        let mut told = false;
        loop {
            match self.sit() {
                Ok(()) => return Ok(true),
                Err(refusal) if refusal.code == Code::SeatHeld => {
                    if !told {
                        say(&Said::StandsBy(&refusal));
                        told = true;
                    }
                }
                Err(refusal) => return Err(refusal),
            }
            let began = Instant::now();
            while began.elapsed() < STAND_BY {
                if stop.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                std::thread::sleep(PAUSE / 3);
            }
        }
    }

    fn supervise(
        &mut self,
        stop: &AtomicBool,
        say: &mut dyn FnMut(&Said<'_>),
    ) -> Result<(), Refusal> {
        say(&Said::Began);
        let mut watch = self.service.watch()?;
        let mut moment = Some(When::Startup);
        while !stop.load(Ordering::Relaxed) {
            match patiently(self.beat(moment.take()))? {
                Some(beat) => beat.taken.iter().for_each(|taken| say(&Said::Took(taken))),
                None => say(&Said::Waits),
            }
            let until = Instant::now() + duration(self.beat_every());
            std::thread::sleep(PAUSE);
            while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                if watch.wait(PAUSE.min(until - Instant::now().min(until)))? {
                    break;
                }
            }
            patiently(self.heard())?;
        }
        let last = self.beat(Some(When::Shutdown))?;
        last.taken.iter().for_each(|taken| say(&Said::Took(taken)));
        Ok(())
    }

    /// A seat is kept by signs of life: it beats more often than that.
    fn beat_every(&self) -> Millis {
        const BEATS: i64 = 3;
        self.settings.heartbeat.min(Millis::from_ms(self.settings.seat_ttl.ms() / BEATS))
    }

    fn heard(&self) -> Result<(), Refusal> {
        self.service.run(&self.caller, Command::Heartbeat).map(drop)
    }

    /// Does what is due until nothing is, or nothing of it can be done now.
    fn beat(&mut self, moment: Option<When>) -> Result<Beat, Refusal> {
        let mut taken: Vec<Taken> = Vec::new();
        let mut passed = Passed::default();
        let mut refused: BTreeSet<String> = BTreeSet::new();
        self.adopt();
        for round in 0..ROUNDS_MAX {
            let moment = moment.filter(|_| round == 0);
            let (steps, idle) = self.look(moment, &passed)?;
            let steps: Vec<Step> =
                steps.into_iter().filter(|step| !refused.contains(&step.key())).collect();
            if steps.is_empty() {
                return Ok(Beat { taken, idle });
            }
            for step in steps {
                let done = self.take(&step);
                if let Some(refusal) = &done.refused {
                    if refusal.code == Code::StaleFence && self.has_lost_seat()? {
                        return Err(refusal.clone());
                    }
                    if refusal.code == Code::StoreUnavailable {
                        return Err(refusal.clone());
                    }
                    refused.insert(step.key());
                    passed.over(&step);
                }
                taken.push(done);
            }
        }
        Ok(Beat { taken, idle: false })
    }

    fn has_lost_seat(&self) -> Result<bool, Refusal> {
        let seat = self.service.seat(&self.caller, comity_core::seat::SUPERVISOR)?;
        Ok(seat.is_none_or(|(seat, _)| Some(seat.fence) != self.caller.fence))
    }
}

/// What a supervisor tells whoever listens.
pub enum Said<'t> {
    Began,
    /// Somebody else has the seat.
    StandsBy(&'t Refusal),
    Took(&'t Taken),
    /// It lost its seat.
    Refused(&'t Refusal),
    /// The store cannot be reached now.
    Waits,
}

fn duration(time: Millis) -> Duration {
    Duration::from_millis(u64::try_from(time.ms()).unwrap_or(0))
}

/// Takes a store that cannot be reached now for no answer.
fn patiently<T>(done: Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match done {
        Ok(answer) => Ok(Some(answer)),
        Err(refusal) if refusal.code == Code::StoreUnavailable => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

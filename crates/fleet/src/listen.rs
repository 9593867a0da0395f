//! A keeper listens to its agent: what happened is written down, paid for and answered, and whoever takes too long is ended.

use crate::keeper::{Keeper, LOOK, patiently};
use crate::objective;
use crate::probe::Prober;
use crate::process::{Agent, Said};
use crate::report::{self, TAIL_BYTES};
use crate::steer;
use crate::watch::Doing;
use crate::workspace::Workspace;
use comity_api::{ById, op};
use comity_core::command::{Command, Question, RunChange, RunProgress};
use comity_core::decision::{Addressee, DecisionOption};
use comity_core::refusal::Refusal;
use comity_core::run::{RunFault, RunState};
use comity_core::time::{Millis, Timestamp};
use comity_project::fleet::{Confinement, DriverKind};
use comity_protocol::driver::{Happened, Permission, Talk};
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// How often the processes of an agent are looked at.
const WATCH_EVERY: Duration = Duration::from_secs(2);
/// A keeper gives so many signs of life in the life of its run.
const BEATS: u32 = 3;
/// How long an agent has to end its turn when it is paused.
const INTERRUPT: Duration = Duration::from_secs(3);
/// How long a client may be told to come back later, and how long it may try in vain.
const LIMITED_AFTER: Duration = Duration::from_secs(60);
const RETRIES_MOST: Duration = Duration::from_secs(600);
const TOO_MANY: u64 = 429;
/// What whoever looks after an objective is told when it ends without an end.
const NOT_ENDED: &str = "You have called neither supervisor_complete nor supervisor_blocked. Go on with the objective, or end it with one of them.";
/// Characters of what a tool is to do that a question shows.
const SHOWN_CHARS: usize = 200;
/// Longest context of a question, in characters.
const CONTEXT_CHARS: usize = 4_000;

/// How the agent came to its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ended {
    /// It had said all it had to say.
    Done,
    /// It ended with another status than 0 and had said that it works.
    Exited(i32),
    /// It ended before it had a result.
    Silent,
    TooLate(RunFault, String),
    /// The vendor serves nothing until then.
    Limited(Option<Timestamp>),
    /// Somebody ended the run in the store.
    Elsewhere,
    /// The run was paused: its agent is ended, and starts again when the run goes on.
    Paused,
}

/// What was seen of an agent since its process began.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    anything: bool,
    /// It spoke, used a tool or a model, or ended a turn.
    pub(crate) worked: bool,
    /// It has a result, and nothing was said to it since.
    pub(crate) result: bool,
    in_turn: bool,
    background: bool,
    pub(crate) failed: Option<(RunFault, String)>,
    limited: Option<Option<Timestamp>>,
    /// Questions for permission, and the decisions that they became.
    asked: Vec<(Permission, String)>,
    /// Since when a client tries the same call again, and whether it was told that it calls too often.
    retries: Option<(Instant, bool)>,
    /// Whether agents that it sent out are at work, and when that was looked at.
    others: Option<(Instant, bool)>,
}

/// The times that an agent is measured by.
struct Clock {
    began: Instant,
    looked: Instant,
    beat: Instant,
    kept: Instant,
    watched: Instant,
    /// The last sign that it works.
    life: Instant,
    /// Time that it worked; waiting does not count.
    worked: Duration,
    doing: Doing,
    /// Something was said or written since the last snapshot.
    fresh: bool,
    /// When it had its result.
    rested: Option<Instant>,
    /// When it was told to end its turn.
    interrupted: Option<Instant>,
}

impl Clock {
    fn start() -> Clock {
        let now = Instant::now();
        Clock {
            began: now,
            looked: now,
            beat: now,
            kept: now,
            watched: now,
            life: now,
            worked: Duration::ZERO,
            doing: Doing::default(),
            fresh: false,
            rested: None,
            interrupted: None,
        }
    }
}

fn long(time: Millis) -> Duration {
    Duration::from_millis(u64::try_from(time.ms()).unwrap_or(u64::MAX))
}

impl Keeper<'_> {
    /// Listens to the agent until it has ended. Whoever ends or pauses the run in the store ends the process, too.
    pub(crate) fn listen(
        &mut self,
        mut agent: Agent,
        mut talk: Talk,
        space: &mut Workspace,
    ) -> Result<(Ended, Option<i32>), Refusal> {
        let ttl = self.context.config.settings()?.policy.fleet.ttl;
        let beat = long(ttl) / BEATS;
        let mut clock = Clock::start();
        let mut why = None;
        let snapshots = long(self.context.config.spaces()?.snapshot_every);
        self.got_on(Duration::ZERO);
        let every = long(self.context.config.merging()?.probe_every);
        let (mut prober, mut probed) = (Prober::default(), Instant::now());
        loop {
            match agent.lines.recv_timeout(LOOK) {
                Ok(said) => {
                    (clock.fresh, clock.life) = (true, Instant::now());
                    self.hear(said, &mut talk, &mut agent)?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK / 10),
            }
            if clock.looked.elapsed() >= LOOK {
                let since = clock.looked.elapsed();
                clock.looked = Instant::now();
                patiently(self.settle())?;
                self.look(&mut agent, &mut talk, &mut clock, &mut why, since)?;
            }
            if clock.beat.elapsed() >= beat {
                clock.beat = Instant::now();
                patiently(self.service.run(&self.caller, Command::Heartbeat))?;
            }
            if clock.fresh && clock.kept.elapsed() >= snapshots {
                (clock.fresh, clock.kept) = (false, Instant::now());
                if self.keep_files(space) {
                    self.got_on(clock.worked);
                }
                let told = self.told.clone();
                patiently(self.checkpoint(space))?;
                self.push(space, self.told != told)?;
                if self.job.agent.writable && probed.elapsed() >= every {
                    probed = Instant::now();
                    // A probe that fails says nothing about the run.
                    let _ =
                        prober.probe_run(self.context, self.service, &self.caller, &self.job.run);
                }
            }
            if let Some(exit) = agent.ended() {
                while let Ok(said) = agent.lines.recv_timeout(LOOK / 10) {
                    self.hear(said, &mut talk, &mut agent)?;
                }
                for happened in talk.ended() {
                    self.happened(happened, &mut talk, &mut agent)?;
                }
                if !matches!(why, Some(Ended::Elsewhere | Ended::Paused)) {
                    let last = self.bill.ended();
                    self.insist(Self::settle)?;
                    self.unsettled.extend(last);
                    self.insist(Self::settle)?;
                }
                return Ok((why.unwrap_or_else(|| self.how_ended(exit)), Some(exit)));
            }
        }
    }

    /// Tells how an agent ended that nobody ended.
    fn how_ended(&self, exit: i32) -> Ended {
        let seen = &self.seen;
        if let Some(until) = seen.limited {
            return Ended::Limited(until);
        }
        match self.job.kind {
            DriverKind::Command if exit == 0 => Ended::Done,
            DriverKind::Command => Ended::Exited(exit),
            _ if seen.result => Ended::Done,
            _ => Ended::Silent,
        }
    }

    /// Looks at the run, at the clock, and at what others said meanwhile.
    fn look(
        &mut self,
        agent: &mut Agent,
        talk: &mut Talk,
        clock: &mut Clock,
        why: &mut Option<Ended>,
        since: Duration,
    ) -> Result<(), Refusal> {
        // A store that is away for a while ends no run.
        let Some(state) = patiently(self.state())? else { return Ok(()) };
        if matches!(why, Some(Ended::Paused))
            && (self.seen.result || clock.interrupted.is_some_and(|at| at.elapsed() >= INTERRUPT))
        {
            agent.end();
        }
        if why.is_some() {
            return Ok(());
        }
        match state {
            // Whoever waits for the agents that it sent out is neither late nor stalled.
            RunState::Running if self.waits_for_others() => clock.life = Instant::now(),
            RunState::Starting | RunState::Running => clock.worked += since,
            // Whoever waits for an answer is neither late nor stalled.
            RunState::Waiting => clock.life = Instant::now(),
            RunState::Paused => {
                *why = Some(Ended::Paused);
                clock.interrupted = Some(Instant::now());
                self.seen.result = false;
                let lines = talk.interrupt();
                if lines.is_empty() {
                    agent.end();
                }
                write(agent, lines);
                return Ok(());
            }
            _ => {
                *why = Some(Ended::Elsewhere);
                agent.end();
                return Ok(());
            }
        }
        self.answer_permissions(agent, talk)?;
        self.pass_on(agent, talk);
        self.rest(agent, talk, clock);
        self.watch(clock);
        if let Some(late) = self.too_late(clock)? {
            *why = Some(late);
            agent.end();
        } else if !self.leads() {
            self.ask_if_stuck(clock.worked)?;
        }
        Ok(())
    }

    fn waits_for_others(&mut self) -> bool {
        if !self.leads() {
            return false;
        }
        if let Some((_, waits)) = self.seen.others.filter(|(at, _)| at.elapsed() < WATCH_EVERY) {
            return waits;
        }
        let waits = objective::has_children(self.service, &self.caller, &self.job.run);
        self.seen.others = Some((Instant::now(), waits));
        waits
    }

    /// Tells whether its agent looks after an objective.
    fn leads(&self) -> bool {
        self.job.agent.name == objective::FOCUSED
    }

    fn hear(&mut self, said: Said, talk: &mut Talk, agent: &mut Agent) -> Result<(), Refusal> {
        let line = match said {
            Said::Out(line) => line,
            Said::Err(line) => {
                self.note("stderr", &line);
                return Ok(());
            }
        };
        let heard = talk.read(&line);
        write(agent, heard.write);
        for happened in heard.happened {
            self.happened(happened, talk, agent)?;
        }
        Ok(())
    }

    fn happened(
        &mut self,
        happened: Happened,
        talk: &mut Talk,
        agent: &mut Agent,
    ) -> Result<(), Refusal> {
        self.seen.anything = true;
        if !matches!(happened, Happened::Retry { .. }) {
            self.seen.retries = None;
        }
        self.seen.worked |= matches!(
            happened,
            Happened::Text(_) | Happened::Tool { .. } | Happened::Usage { .. } | Happened::Turn
        );
        match happened {
            Happened::Session(id) => self.has_session(id)?,
            Happened::Text(text) => {
                (self.seen.in_turn, self.seen.result) = (true, false);
                self.remember(&text);
                self.note("text", &text);
            }
            Happened::Tool { name, input, ended, .. } => {
                self.called(&name, input.filter(|_| !ended).as_deref());
                (self.seen.in_turn, self.seen.result) = (true, false);
                let state = if ended { "ended" } else { "began" };
                self.note("tool", &format!("{name} {state}"));
            }
            Happened::Usage { call, model, tokens } => {
                let of = model.as_deref().unwrap_or("a model");
                let counts =
                    format!("{} in, {} cached, {} out", tokens.input, tokens.cached, tokens.output);
                self.note("usage", &format!("{call} of {of}: {counts}"));
                self.bill.used(&call, model, tokens);
                self.progress.turn();
            }
            Happened::Cost { call, usd } => {
                self.note("usage", &format!("{call}: {usd}"));
                self.bill.cost(&call, usd);
            }
            Happened::Total(usd) => {
                self.note("usage", &format!("the session: {usd}"));
                let config = &self.context.config;
                let due = self.bill.due(|model, tokens| config.price(model, tokens));
                self.unsettled.extend(due);
                self.unsettled.extend(self.bill.total(usd));
                self.session.total = usd;
                self.session.write(&self.place.session());
            }
            Happened::Turn => self.turn_ended(talk, agent),
            Happened::Background { open } => {
                self.note(
                    "event",
                    if open { "works in the background" } else { "the background is done" },
                );
                self.seen.background = open;
            }
            Happened::Permission(asked) => self.asked(asked, talk, agent)?,
            Happened::Limited { until } => {
                self.note("event", "the vendor serves no more for now");
                self.seen.limited = Some(until);
            }
            Happened::Retry { status } => self.tries_again(status),
            Happened::Failed { kind, message } => {
                self.note("event", &format!("{kind}: {message}"));
                self.seen.failed = Some((kind, message));
                // A client that cannot begin would wait for ever.
                if matches!(kind, RunFault::Spawn | RunFault::Sandbox) {
                    agent.end();
                }
            }
        }
        Ok(())
    }

    fn tries_again(&mut self, status: Option<u64>) {
        let said = status.map_or_else(String::new, |status| format!(" after {status}"));
        self.note("event", &format!("the client tries again{said}"));
        let too_many = status == Some(TOO_MANY);
        let (since, _) = self.seen.retries.unwrap_or((Instant::now(), too_many));
        self.seen.retries = Some((since, too_many));
    }

    fn has_session(&mut self, id: String) -> Result<(), Refusal> {
        self.note("event", &format!("session {id}"));
        self.session.id = Some(id.clone());
        self.session.write(&self.place.session());
        let progress = RunProgress { session: Some(id), ..RunProgress::default() };
        patiently(self.change_now(RunChange::Progress(Box::new(progress)))).map(drop)
    }

    /// Keeps the end of what the agent said: its report is there.
    fn remember(&mut self, text: &str) {
        self.said.push_str(text);
        self.said.push('\n');
        if self.said.len() > 2 * TAIL_BYTES {
            let mut from = self.said.len() - TAIL_BYTES;
            while !self.said.is_char_boundary(from) {
                from += 1;
            }
            self.said.drain(..from);
        }
    }

    /// A result is not the end while something goes on in the background.
    fn turn_ended(&mut self, talk: &mut Talk, agent: &mut Agent) {
        self.seen.in_turn = false;
        self.seen.result = true;
        if !self.seen.background {
            self.has_result(talk, agent);
        }
    }

    /// The agent has said all it had to say: it mends its report, or it is told that nothing more comes.
    fn has_result(&mut self, talk: &mut Talk, agent: &mut Agent) {
        let is_well = self.seen.failed.is_none() && self.seen.limited.is_none();
        if is_well && agent.is_open() && self.repairs > 0 && talk.caps().interrupt {
            let task = self.run.task.clone().unwrap_or_default();
            if self.leads() {
                if self.holds(&task) {
                    self.repairs -= 1;
                    self.seen.result = false;
                    self.note("event", "it ended without an end of its objective");
                    write(agent, talk.say(NOT_ENDED));
                    return;
                }
            } else if let Some(wrong) = report::wrong(&self.said, self.run.stage, &task) {
                self.repairs -= 1;
                self.seen.result = false;
                self.note("event", &format!("the report is to be mended: {wrong}"));
                let text = report::mend(&wrong);
                write(agent, talk.say(&text));
                return;
            }
        }
        agent.close();
    }

    fn holds(&self, task: &str) -> bool {
        let shown = self.service.call::<op::TaskShow>(&self.caller, ById { id: task.to_owned() });
        let holder = shown.ok().and_then(|shown| shown.task.claim).map(|claim| claim.agent);
        holder.as_deref() == Some(self.caller.actor.as_str())
    }

    /// Ends what rests: when the background was done and nothing followed, and when a client does not end by itself.
    fn rest(&mut self, agent: &mut Agent, talk: &mut Talk, clock: &mut Clock) {
        if !self.seen.result || self.seen.background || self.seen.in_turn {
            clock.rested = None;
            return;
        }
        let rested = *clock.rested.get_or_insert_with(Instant::now);
        let times = self.context.config.run_times();
        let most = times.map_or(Duration::from_secs(10), |times| long(times.post_result));
        if rested.elapsed() < most {
            return;
        }
        if agent.is_open() {
            clock.rested = Some(Instant::now());
            self.has_result(talk, agent);
        } else {
            agent.end();
        }
    }

    fn watch(&mut self, clock: &mut Clock) {
        if clock.watched.elapsed() < WATCH_EVERY {
            return;
        }
        clock.watched = Instant::now();
        let doing = Doing::now();
        if doing.worked_since(&clock.doing) {
            clock.life = Instant::now();
        }
        clock.fresh |= doing.wrote_since(&clock.doing);
        clock.doing = doing;
    }

    fn too_late(&self, clock: &Clock) -> Result<Option<Ended>, Refusal> {
        let config = &self.context.config;
        let (times, most) = (
            config.run_times()?,
            long(self.job.timeout.map_or_else(|| config.max_duration(), Ok)?),
        );
        let late = |kind, message: String| Ok(Some(Ended::TooLate(kind, message)));
        if let Some((since, too_many)) = self.seen.retries {
            if too_many && since.elapsed() > LIMITED_AFTER {
                return Ok(Some(Ended::Limited(None)));
            }
            if since.elapsed() > RETRIES_MOST {
                return late(RunFault::Api, "the client tried in vain for ten minutes".to_owned());
            }
        }
        if clock.worked > most {
            return late(RunFault::Timeout, "the run took too long".to_owned());
        }
        let speaks = self.job.kind != DriverKind::Command;
        if speaks && !self.seen.anything && clock.began.elapsed() > long(times.init) {
            return late(RunFault::InitTimeout, "the client said nothing".to_owned());
        }
        if clock.life.elapsed() > long(times.stall) {
            let seconds = long(times.stall).as_secs();
            let message = format!("the agent neither spoke nor worked for {seconds} seconds");
            return late(RunFault::Stall, message);
        }
        Ok(None)
    }

    /// Hands on what somebody said to the agent while it works.
    fn pass_on(&mut self, agent: &mut Agent, talk: &mut Talk) {
        let (texts, next) = steer::read(&self.place.steering(), self.steered);
        self.steered = next;
        for text in texts {
            if !talk.caps().interrupt || !agent.is_open() {
                self.note("event", "the agent takes no more words");
                continue;
            }
            self.note("event", &format!("told: {text}"));
            self.seen.result = false;
            write(agent, talk.say(&text));
        }
    }

    /// What is on the list is allowed; a person decides about anything else.
    fn asked(
        &mut self,
        asked: Permission,
        talk: &mut Talk,
        agent: &mut Agent,
    ) -> Result<(), Refusal> {
        let shown: String = asked.input.to_string().chars().take(SHOWN_CHARS).collect();
        if self.is_allowed(&asked) {
            self.note("tool", &format!("{} allowed: {shown}", asked.tool));
            write(agent, talk.answer(&asked, true, ""));
            return Ok(());
        }
        let option =
            |key: &str| DecisionOption { key: key.to_owned(), label: None, description: None };
        let whole = serde_json::to_string_pretty(&asked.input).unwrap_or_default();
        let question = Question {
            question: format!("May {} use {}? {shown}", self.job.identity, asked.tool),
            task: self.run.task.clone(),
            options: vec![option("allow"), option("deny")],
            context: Some(whole.chars().take(CONTEXT_CHARS).collect()),
            to: Some(Addressee::Person),
            kind: None,
            default: None,
            expires: None,
            proposes: None,
        };
        let asks = |keeper: &mut Self| {
            keeper.service.call::<op::DecisionAsk>(&keeper.caller, question.clone())
        };
        let decision = self.insist(asks)?.decision.id;
        self.note("event", &format!("{decision} asks whether {} may be used", asked.tool));
        self.change(&RunChange::Wait { decision: decision.clone() })?;
        self.seen.asked.push((asked, decision));
        Ok(())
    }

    /// Tells whether a tool is on the list. Without walls, a file outside of the work tree is not.
    fn is_allowed(&self, asked: &Permission) -> bool {
        let agent = &self.job.agent;
        let listed = agent.tools.iter().chain(&self.job.allow).any(|tool| *tool == asked.tool);
        let of_comity = asked.tool.starts_with("mcp__comity__");
        let tree = self.caller.workspace.as_deref().map(Path::new);
        let file = asked.input.get("file_path").and_then(serde_json::Value::as_str);
        let inside = match (file, tree) {
            (Some(file), Some(tree)) => Path::new(file).starts_with(tree) && !file.contains(".."),
            _ => true,
        };
        of_comity || (listed && (inside || self.walls != Confinement::None))
    }

    fn answer_permissions(&mut self, agent: &mut Agent, talk: &mut Talk) -> Result<(), Refusal> {
        for (asked, id) in std::mem::take(&mut self.seen.asked) {
            let input = ById { id: id.clone() };
            let found = patiently(self.service.call::<op::DecisionShow>(&self.caller, input))?;
            let Some(decision) = found.map(|answer| answer.decision) else {
                self.seen.asked.push((asked, id));
                continue;
            };
            if decision.answered_at.is_none() && decision.state == "open" {
                self.seen.asked.push((asked, id));
                continue;
            }
            let allow = decision.answer.as_deref() == Some("allow");
            let by = decision.answered_by.unwrap_or_default();
            let said = decision.text.unwrap_or_default();
            self.note(
                "event",
                &format!("{id}: {} {said}", if allow { "allowed" } else { "denied" }),
            );
            write(agent, talk.answer(&asked, allow, &format!("{by} says no. {said}")));
            if self.run.state == RunState::Waiting {
                self.change(&RunChange::Progress(Box::default()))?;
            }
        }
        Ok(())
    }
}

fn write(agent: &Agent, lines: Vec<String>) {
    lines.into_iter().for_each(|line| agent.write(format!("{line}\n")));
}

//! A started service that several threads share, over SQLite. What each thread does comes from the seed; who comes
//! first does not, so the properties are checked on the log that came out.

use crate::audit::{Auditor, Violation, check_rows, violation};
use crate::chance::Chance;
use crate::crew::{Member, crew};
use crate::world::{Plan, Report, introductions, learn, look, next_request, open_sqlite, refused};
use comity_api::{TailEvents, op};
use comity_core::command::{Command, Request};
use comity_core::ids::{AgentId, RepoName};
use comity_core::refusal::{Code, Refusal};
use comity_core::time::{Millis, Timestamp};
use comity_engine::{Caller, Reply, Service, Settings, Stop, StreamHandler};
use comity_store::{Clock, ManualClock, Reader};
use serde_json::Value;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// How long the last events may take to reach one who follows the log.
const FOLLOW_MAX: Duration = Duration::from_secs(60);

/// One thread and the agents that act on it.
struct Desk {
    service: Service,
    reader: Box<dyn Reader>,
    clock: Arc<ManualClock>,
    chance: Chance,
    crew: Vec<Member>,
    repo: RepoName,
    report: Report,
    /// Tasks whose creation was acknowledged.
    made: Vec<String>,
}

/// Lets threads share a service: each sends as many commands as the plan has steps.
pub fn run_shared(plan: &Plan, threads: usize) -> Result<Report, Violation> {
    let clock = ManualClock::new();
    let shared: Arc<dyn Clock> = clock.clone();
    let (store, _dir) = open_sqlite(&shared)?;
    let mut chance = Chance::new(plan.seed);
    let repo = RepoName::parse("sim/app").map_err(|error| refused(&error))?;
    let everybody = crew(plan.agents, &mut chance);
    let introductions = introductions(&everybody, &repo)?;
    let mut desks: Vec<(Box<dyn Reader>, Vec<Member>)> = Vec::new();
    for place in 0..threads {
        let own = everybody.iter().skip(place).step_by(threads).cloned().collect();
        desks.push((store.reader()?, own));
    }
    let auditor_reader = store.reader()?;
    let service = Service::start(store, Settings::default()).map_err(|error| refused(&error))?;
    let followed = follow(&service, &repo)?;
    for answer in service.execute_all(introductions) {
        answer.map_err(|error| refused(&error))?;
    }
    let mut running = Vec::new();
    for (reader, crew) in desks {
        let mut desk = Desk {
            service: service.clone(),
            reader,
            clock: clock.clone(),
            chance: Chance::new(chance.next()),
            crew,
            repo: repo.clone(),
            report: Report::default(),
            made: Vec::new(),
        };
        let steps = plan.steps;
        running.push(std::thread::spawn(move || desk.work(steps).map(|()| desk)));
    }
    let mut report = Report::default();
    let mut auditor = Auditor::default();
    for thread in running {
        let desk = thread.join().map_err(|_| violation("a thread panicked"))??;
        report.commands += desk.report.commands;
        report.accepted += desk.report.accepted;
        auditor.acknowledged.extend(desk.made);
    }
    report.events = audit(auditor, auditor_reader, &service)?;
    check_followed(&followed, report.events)?;
    service.stop();
    Ok(report)
}

/// Checks all that came out, and returns the number of events.
fn audit(
    mut auditor: Auditor,
    mut reader: Box<dyn Reader>,
    service: &Service,
) -> Result<u64, Violation> {
    let mut tx = reader.read()?;
    auditor.read_log(tx.as_mut())?;
    auditor.all_there()?;
    check_rows(tx.as_mut())?;
    let events = tx.head()?.seq.0;
    drop(tx);
    let proof = service.verify().map_err(|error| refused(&error))?;
    match proof.ok && proof.events == events {
        true => Ok(events),
        false => Err(violation(format!("the log does not verify: {:?}", proof.problems))),
    }
}

/// Follows the log from its start.
fn follow(service: &Service, repo: &RepoName) -> Result<Receiver<u64>, Violation> {
    let (to, from) = sync_channel(100_000);
    let person = AgentId::parse("human:sim").map_err(|error| refused(&error))?;
    let sink = move |event: &_| {
        let event: &comity_api::EventView = event;
        to.try_send(event.seq).is_ok()
    };
    let caller = Caller::new(person, repo.clone());
    let (input, stop) = (TailEvents { from: Some(1) }, Stop::default());
    StreamHandler::<op::EventTail>::stream(service, &caller, input, Box::new(sink), &stop)
        .map_err(|error| refused(&error))?;
    Ok(from)
}

/// Whoever follows the log sees every event once and in order.
fn check_followed(followed: &Receiver<u64>, events: u64) -> Result<(), Violation> {
    for wanted in 1..=events {
        match followed.recv_timeout(FOLLOW_MAX) {
            Ok(seen) if seen == wanted => {}
            other => return Err(violation(format!("event {wanted} was followed as {other:?}"))),
        }
    }
    match followed.try_recv() {
        Ok(seen) => Err(violation(format!("event {seen} was seen after the last"))),
        Err(_) => Ok(()),
    }
}

impl Desk {
    fn work(&mut self, steps: u64) -> Result<(), Violation> {
        for _ in 0..steps {
            // Mostly little time goes by; now and then enough for claims to run out.
            let longest = if self.chance.percent(2) { 600_000 } else { 2_000 };
            self.clock.pass(Millis::from_ms(self.chance.between(0, longest)));
            self.act()?;
        }
        Ok(())
    }

    fn act(&mut self) -> Result<(), Violation> {
        let now = Timestamp::from_ms(self.clock.read().wall_ms);
        let sight = look(self.reader.as_mut(), &self.repo, now)?;
        let place = usize::try_from(self.chance.below(self.crew.len() as u64)).unwrap_or(0);
        let Some(member) = self.crew.get_mut(place) else { return Ok(()) };
        let request = next_request(member, &self.repo, &sight, &mut self.chance);
        let is_creation = matches!(request.command, Command::CreateTask(_));
        let command = request.command.clone();
        let answer = send(&self.service, &mut self.chance, request);
        self.report.commands += 1;
        match &answer {
            Ok(value) => {
                self.report.accepted += 1;
                if is_creation {
                    self.made.push(value["task"]["id"].as_str().unwrap_or_default().to_owned());
                }
            }
            Err(refusal) if matches!(refusal.code, Code::Internal | Code::StoreUnavailable) => {
                return Err(refused(refusal));
            }
            Err(_) => {}
        }
        learn(member, &command, &answer);
        Ok(())
    }
}

/// Sends a command by one of the ways in; one in ten comes twice, as after a lost answer.
fn send(service: &Service, chance: &mut Chance, request: Request) -> Result<Value, Refusal> {
    if request.key.is_some() && chance.percent(10) {
        let first = service.execute(request.clone()).and_then(Reply::into_json);
        let second = service.execute(request).and_then(Reply::into_json);
        return match (first, second) {
            (Ok(first), Ok(second)) if first != second => {
                Err(Refusal::new(Code::Internal, format!("{first} and then {second}")))
            }
            (Ok(first), Err(refusal)) => {
                Err(Refusal::new(Code::Internal, format!("{first} and then {refusal}")))
            }
            (_, second) => second,
        };
    }
    if chance.percent(50) {
        return service.execute(request).and_then(Reply::into_json);
    }
    let (reply, answer) = sync_channel(1);
    service.submit(request, Box::new(move |outcome| drop(reply.send(outcome))));
    let lost = |_| Refusal::new(Code::Internal, "a callback was never called");
    answer.recv().map_err(lost)?.and_then(Reply::into_json)
}

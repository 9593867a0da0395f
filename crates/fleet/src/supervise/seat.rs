//! The seat of the supervisor: taken, kept, left, and taken from a process of this host that has ended.

use super::{NAME, Supervisor};
use crate::place::{failed, home, private_dir};
use comity_api::SeatAnswer;
use comity_core::command::{Command, SeatChange};
use comity_core::ids::Fence;
use comity_core::refusal::{Code, Refusal};
use comity_core::run::RunState;
use comity_core::seat::SUPERVISOR;
use comity_engine::Caller;
use comity_project::Context;
use comity_project::store::Access;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a supervisor that was told to stop may take.
const STOP_WITHIN: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);

/// Which process of this host has the seat. The log does not say that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sitting {
    fence: u64,
    pid: i32,
    /// When the process began, in the words of the system.
    began: Option<String>,
}

fn file(context: &Context) -> Result<PathBuf, Refusal> {
    Ok(home(context)?.join("supervisor.json"))
}

fn read(context: &Context) -> Option<Sitting> {
    serde_json::from_slice(&std::fs::read(file(context).ok()?).ok()?).ok()
}

/// Says when a process began, as far as the system tells: another process under the same number began later.
pub(crate) fn began(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    const BEGAN: usize = 19;
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // One that has ended is there until its parent asks for its status.
    let has_ended = fields.first().is_some_and(|state| ["Z", "X"].contains(state));
    fields.get(BEGAN).filter(|_| !has_ended).map(|began| (*began).to_owned())
}

impl Sitting {
    fn is_alive(&self) -> bool {
        match (&self.began, began(self.pid)) {
            (Some(then), Some(now)) => *then == now,
            (Some(_), None) => false,
            (None, _) => Pid::from_raw(self.pid)
                .is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok()),
        }
    }
}

impl Supervisor<'_> {
    /// Takes the seat. A holder on this host whose process has ended is replaced at once.
    pub(super) fn sit(&mut self) -> Result<(), Refusal> {
        let (seat, ttl) = (SUPERVISOR.to_owned(), self.settings.seat_ttl);
        let asks = Caller { fence: None, key: None, ..self.caller.clone() };
        let mut request = asks.request(Command::Seat(SeatChange::Take { seat, ttl }));
        let known = self.service.seat(&asks, SUPERVISOR)?;
        let here = known.filter(|(seat, _)| seat.host == asks.via.host).map(|(seat, _)| seat.fence);
        let sitting = read(self.context);
        request.observed.dead = here
            .filter(|fence| sitting.is_some_and(|one| one.fence == fence.get() && !one.is_alive()));
        let answer: SeatAnswer = self.service.execute(request)?.take()?;
        let fence = answer.seat.map(|seat| seat.fence).unwrap_or_default();
        self.caller.fence = Fence::new(fence);
        let pid = i32::try_from(std::process::id()).unwrap_or_default();
        let sitting = Sitting { fence, pid, began: began(pid) };
        let path = file(self.context)?;
        path.parent().map_or(Ok(()), private_dir)?;
        let text = serde_json::to_vec(&sitting)
            .map_err(|error| Refusal::new(Code::Internal, error.to_string()))?;
        std::fs::write(&path, text).map_err(|error| failed(&path, &error))
    }

    pub(super) fn leave(&mut self, why: &str) -> Result<(), Refusal> {
        let (seat, reason) = (SUPERVISOR.to_owned(), Some(why.to_owned()));
        let change = Command::Seat(SeatChange::Leave { seat, reason });
        let left = self.service.run(&self.caller, change).map(drop);
        self.caller.fence = None;
        let _ = std::fs::remove_file(file(self.context)?);
        left
    }
}

/// Who supervises a project, as far as can be seen from here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Post {
    pub name: String,
    /// `running`, or `stopped` where nobody has the seat.
    pub state: String,
    pub host: Option<String>,
    /// Known on its own host alone.
    pub pid: Option<i32>,
    pub since: Option<String>,
    pub last_beat: Option<String>,
    pub fence: Option<u64>,
    pub live_runs: usize,
    pub queued_runs: usize,
    /// How many steps are due.
    pub due: usize,
}

/// Says who supervises a project.
pub fn post(context: &Context) -> Result<Post, Refusal> {
    let service = context.service(Access::Read)?;
    let caller = Caller { fence: None, key: None, ..context.caller() };
    let (view, now) = service.supervision(&caller, &context.config.supervisor()?)?;
    let table = comity_project::supervisor::table(&context.root)?;
    let supervisor = Caller { actor: comity_core::ids::AgentId::parse(NAME)?, ..caller.clone() };
    let due = service.not_done(&supervisor, &comity_core::supervise::due(&view, &table, now))?;
    let live = view.runs.iter().filter(|run| run.state.is_live());
    let queued = live.clone().filter(|run| run.state == RunState::Queued).count();
    let seat = service.seat(&caller, SUPERVISOR)?;
    let sitting = read(context);
    let is_dead = |fence: Fence| {
        sitting.as_ref().is_some_and(|one| one.fence == fence.get() && !one.is_alive())
    };
    let held = seat.filter(|(seat, life)| life.plus(seat.ttl) > now && !is_dead(seat.fence));
    let fence = held.as_ref().map(|(seat, _)| seat.fence.get());
    Ok(Post {
        name: NAME.to_owned(),
        state: if held.is_some() { "running" } else { "stopped" }.to_owned(),
        host: held.as_ref().and_then(|(seat, _)| seat.host.clone()),
        pid: sitting.filter(|one| Some(one.fence) == fence).map(|one| one.pid),
        since: held.as_ref().map(|(seat, _)| seat.since.to_string()),
        last_beat: held.as_ref().map(|(_, life)| life.to_string()),
        fence,
        live_runs: live.count() - queued,
        queued_runs: queued,
        due: due.len(),
    })
}

/// Stops the supervisor of this host, and waits until it has left its seat; tells whether there was one.
pub fn stop(context: &Context) -> Result<bool, Refusal> {
    let Some(sitting) = read(context).filter(Sitting::is_alive) else { return Ok(false) };
    let Some(pid) = Pid::from_raw(sitting.pid) else { return Ok(false) };
    kill_process(pid, Signal::TERM).map_err(|error| {
        Refusal::new(Code::CouldNotRun, format!("cannot stop process {}: {error}", sitting.pid))
    })?;
    let began = Instant::now();
    while sitting.is_alive() {
        if began.elapsed() > STOP_WITHIN {
            let text = format!("process {} is still there after {STOP_WITHIN:?}", sitting.pid);
            return Err(Refusal::new(Code::TimedOut, text));
        }
        std::thread::sleep(LOOK);
    }
    Ok(true)
}

/// Returns where a supervisor in the background writes what it does.
pub fn log_file(context: &Context) -> Result<PathBuf, Refusal> {
    let dir = home(context)?;
    private_dir(&dir)?;
    Ok(dir.join("supervisor.log"))
}

//! `comity guard hook`: what an agent client asks before and after its tools.
//!
//! Before a tool, whatever goes wrong means no: a guard that cannot answer must not let a write pass. At every other moment
//! whatever goes wrong is passed over: a client may run a failing hook again for ever.

use crate::args::{Global, HookedClient};
use crate::output::{self, Reply};
use crate::wording::CommandLine;
use crate::{env, terminal};
use comity_core::hint::{op, say};
use comity_core::refusal::{Code, Refusal};
use comity_guard::{Hook, HookAnswer, HookClient, HookEvent, Moment};
use comity_project::Context;
use comity_project::identity::Said;
use serde_json::json;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The exit status that stops a tool, in both clients.
const DENY: u8 = 2;
/// The longest input of a hook: an edit brings the whole new file along.
const INPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How long an answer may take. Clients wait longer, and some let the tool run when they have waited in vain.
const DEADLINE: Duration = Duration::from_secs(3);
/// The longest reason that a client shows its model, in characters.
const REASON_CHARS_MAX: usize = 400;

pub(super) fn run(global: &Global, client: HookedClient) -> Reply {
    let client = match client {
        HookedClient::Claude => HookClient::Claude,
        HookedClient::Codex => HookClient::Codex,
    };
    let heard = Heard::listen();
    let event = match heard.all().and_then(|text| HookEvent::read(&text)) {
        Ok(event) => event,
        Err(reason) if may_be_before(&heard.so_far()) => return denied(&reason),
        Err(_) => return Reply::printed(),
    };
    match answer(global, client, &event) {
        Ok(answer) => reply(answer, &event),
        Err(refusal) if event.moment == Moment::Before => {
            denied(&format!("the guard cannot answer: {}", worded(&refusal)))
        }
        Err(_) => Reply::printed(),
    }
}

/// Tells whether a tool may wait for the answer to what was heard: only there a no is of use.
fn may_be_before(text: &str) -> bool {
    Moment::of_fragment(text).is_none_or(|moment| moment == Moment::Before)
}

/// What the client said so far, of which a part is enough to tell what silence means.
#[derive(Clone)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Heard {
    /// Begins to listen, and ends the process when no answer was found in time: with a no, unless it was heard that no tool
    /// waits for the answer. What is already being answered then goes on.
    fn listen() -> Heard {
        let heard = Heard(Arc::default());
        let shared = heard.clone();
        std::thread::spawn(move || {
            std::thread::sleep(DEADLINE);
            let text = shared.so_far();
            let event = HookEvent::read(&text);
            let denies = match &event {
                Ok(event) => event.moment == Moment::Before,
                Err(_) => may_be_before(&text),
            };
            if denies {
                output::remark("comity: the guard found no answer within 3 seconds; try again");
                std::process::exit(DENY.into());
            }
            if event.is_err() {
                std::process::exit(0);
            }
        });
        heard
    }

    /// Listens to the end.
    fn all(&self) -> Result<String, String> {
        let mut input = std::io::stdin().lock().take(INPUT_BYTES_MAX);
        std::io::copy(&mut input, &mut self.clone()).map_err(|error| error.to_string())?;
        String::from_utf8(self.bytes().clone()).map_err(|error| error.to_string())
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Heard {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        self.bytes().extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn answer(global: &Global, client: HookClient, event: &HookEvent) -> Result<HookAnswer, Refusal> {
    let mut machine = env::machine()?;
    if let Some(cwd) = event.cwd.as_deref().and_then(|dir| std::fs::canonicalize(dir).ok()) {
        machine.cwd = cwd;
    }
    let Some(mut context) = Context::find_if_any(&machine, &global.asked())? else {
        return Ok(HookAnswer::default());
    };
    // A guard that made a store of its own would know no leases, and let everything pass.
    if !context.is_far() && !context.store.exists() {
        let text = format!("there is no store at {}", context.store_url());
        let hint = say("a person runs ").quote(op("init")).say(" or brings the store back");
        return Err(Refusal::new(Code::StoreUnavailable, text).hint(hint));
    }
    let said = Said {
        client: Some(client.identity().to_owned()),
        session: event.agent.clone().or_else(|| event.session.clone()),
        root_session: event.session.clone(),
        process: comity_project::identity::claude_process(&machine.environment)
            .filter(|_| client == HookClient::Claude),
    };
    if let Some(known) = context.client(&machine, &said)? {
        (context.actor, context.actor_because, context.via) =
            (known.actor, known.because, known.via);
    }
    Hook::new(&env::seeing(context))?.answer(event)
}

fn reply(answer: HookAnswer, event: &HookEvent) -> Reply {
    if let Some(refusal) = answer.denied {
        return denied(&worded(&refusal));
    }
    if let Some(told) = answer.told {
        let context = json!({"hookEventName": event.name, "additionalContext": told});
        // Nobody reads an answer that cannot be written.
        let _ = output::line(&json!({"hookSpecificOutput": context}));
    }
    Reply::printed()
}

fn worded(refusal: &Refusal) -> String {
    let hint = refusal.next_step().worded(&CommandLine);
    if hint.is_empty() { refusal.message.clone() } else { format!("{}; {hint}", refusal.message) }
}

fn denied(reason: &str) -> Reply {
    let reason: String = terminal::neutral(reason).chars().take(REASON_CHARS_MAX).collect();
    output::remark(&format!("comity: {reason}"));
    Reply::printed().exit(DENY)
}

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
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    let watch = Deadline::start();
    let mut text = String::new();
    let read = std::io::stdin().lock().take(INPUT_BYTES_MAX).read_to_string(&mut text);
    let event = match read.map_err(|error| error.to_string()).and_then(|_| HookEvent::read(&text)) {
        Ok(event) => event,
        Err(_) if is_of_another_moment(&text) => return Reply::printed(),
        Err(reason) => return denied(&reason),
    };
    watch.is_at(event.moment);
    match answer(global, client, &event) {
        Ok(answer) => reply(answer, &event),
        Err(refusal) if event.moment == Moment::Before => {
            denied(&format!("the guard cannot answer: {}", worded(&refusal)))
        }
        Err(_) => Reply::printed(),
    }
}

/// Tells whether an input that cannot be read is surely not about a tool that is still to run: only there a no is of use.
fn is_of_another_moment(text: &str) -> bool {
    const OTHERS: [&str; 4] = ["PostToolUse", "Stop", "SessionStart", "SessionEnd"];
    !text.contains("PreToolUse") && OTHERS.iter().any(|name| text.contains(name))
}

/// Ends the process when no answer was found in time: with a no, unless it is known that no tool waits for the answer.
struct Deadline(Arc<AtomicBool>);

impl Deadline {
    fn start() -> Deadline {
        let denies = Arc::new(AtomicBool::new(true));
        let shared = Arc::clone(&denies);
        std::thread::spawn(move || {
            std::thread::sleep(DEADLINE);
            if !shared.load(Ordering::SeqCst) {
                return;
            }
            output::remark("comity: the guard found no answer within 3 seconds; try again");
            std::process::exit(DENY.into());
        });
        Deadline(denies)
    }

    fn is_at(&self, moment: Moment) {
        self.0.store(moment == Moment::Before, Ordering::SeqCst);
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

//! `comity doctor`: real checks, each with a verdict and what to do about it.

mod checks;
mod clients;
mod server;
mod store;
mod trial;

use crate::args::Global;
use crate::human::count;
use crate::output::Reply;
use crate::terminal::{Ink, neutral};
use comity_core::refusal::Refusal;
use comity_project::Context;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Ok,
    Warn,
    Fail,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warn => "warn",
            State::Fail => "fail",
        }
    }
}

struct Check {
    name: &'static str,
    state: State,
    message: String,
    hint: Option<String>,
    fixed: bool,
}

impl Check {
    fn new(name: &'static str, state: State, message: impl Into<String>) -> Check {
        Check { name, state, message: message.into(), hint: None, fixed: false }
    }

    fn ok(name: &'static str, message: impl Into<String>) -> Check {
        Check::new(name, State::Ok, message)
    }

    fn warn(name: &'static str, message: impl Into<String>, hint: &str) -> Check {
        Check { hint: Some(hint.to_owned()), ..Check::new(name, State::Warn, message) }
    }

    fn fail(name: &'static str, refusal: &Refusal) -> Check {
        let hint = Some(crate::wording::next_step(refusal));
        Check { hint, ..Check::new(name, State::Fail, refusal.message.clone()) }
    }

    fn fixed(self) -> Check {
        Check { fixed: true, ..self }
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name, "state": self.state.word(), "message": self.message,
            "hint": self.hint, "fixed": self.fixed,
        })
    }

    fn words(&self) -> String {
        let style = match self.state {
            State::Ok => Ink::Good,
            State::Warn => Ink::Warn,
            State::Fail => Ink::Bad,
        };
        let fixed = if self.fixed { " (mended)" } else { "" };
        let state = self.state.word();
        let message = neutral(&self.message);
        let mut out = format!("{style}{state:<4}{style:#}  {:<9}  {message}{fixed}\n", self.name);
        if let Some(hint) = self.hint.as_ref().filter(|_| self.state != State::Ok) {
            out.push_str(&format!("                 {}\n", neutral(hint)));
        }
        out
    }
}

pub fn run(global: &Global, fix: bool) -> Result<Reply, Refusal> {
    let mut checks = vec![checks::git()];
    let found = crate::env::machine().and_then(|machine| {
        checks.push(checks::identity(&machine));
        Ok((Context::find(&machine, &global.asked())?, machine))
    });
    match found {
        Ok((context, machine)) => {
            checks.push(checks::project(&context));
            checks.push(checks::settings(&context));
            checks.extend(store::checks(&context, fix));
            checks.extend(clients::checks(&context, &machine));
        }
        Err(refusal) => checks.push(Check::fail("project", &refusal)),
    }
    let failed = checks.iter().filter(|check| check.state == State::Fail).count();
    let warned = checks.iter().filter(|check| check.state == State::Warn).count();
    let mut words: String = checks.iter().map(Check::words).collect();
    words.push_str(&match (failed, warned) {
        (0, 0) => "\nEverything is fine.\n".to_owned(),
        (0, _) => format!("\nNothing is broken; {}.\n", count(warned, "warning", "warnings")),
        _ => {
            let failed = count(failed, "problem", "problems");
            format!("\n{failed}, {}.\n", count(warned, "warning", "warnings"))
        }
    });
    let list: Vec<Value> = checks.iter().map(Check::json).collect();
    let answer = json!({"ok": failed == 0, "checks": list});
    Ok(Reply::text(answer, words).exit(if failed == 0 { 0 } else { 1 }))
}

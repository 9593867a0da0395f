//! `comity watchdog`

use crate::env::no_signals;
use crate::human::{self, Screen};
use crate::output::{self, Reply};
use comity_api::{Nothing, op};
use comity_core::refusal::Refusal;
use comity_guard::InDanger;
use comity_project::Context;
use comity_project::store::Access;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How often it looks. Every mutation applies what has expired anyway, so that this is for projects
/// where nobody does anything.
const LOOK_EVERY: Duration = Duration::from_secs(5);

pub(super) fn run(context: &Context, once: bool, json: bool) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    let mut in_danger = InDanger::default();
    let mut sweep = || {
        // Work is kept before its claim ends.
        for said in in_danger.keep(context, &service, &context.caller())? {
            output::remark(&said);
        }
        service.call::<op::Watchdog>(&context.caller(), Nothing {})
    };
    if once {
        return Ok(Reply::new(sweep()?, human::log::sweep));
    }
    // Stopping a watchdog is no failure. Nothing is lost: a sweep is one transaction.
    for signal in [SIGINT, SIGTERM] {
        let now = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_shutdown(signal, 0, now).map_err(no_signals)?;
    }
    if !json {
        output::remark("watching; press Ctrl-C to stop");
    }
    loop {
        let answer = sweep()?;
        if answer.events > 0 {
            let written = if json {
                output::line(&answer)
            } else {
                output::text(&human::log::sweep(&answer, &Screen::detect()))
            };
            if written.is_err() {
                return Ok(Reply::printed());
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

//! Long answers on a terminal go through a pager, as git's do. Agents and programs never meet it.

#![expect(
    clippy::disallowed_methods,
    reason = "this room starts the pager of the person who looks"
)]

use crate::env;
use signal_hook::consts::SIGINT;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Quits at once where all fits, keeps colours, and leaves the screen as it is.
const PAGER_DEFAULT: &str = "less -FRX";
/// What a shell says of a program that is not there.
const NOT_FOUND: i32 = 127;

/// Returns the pager that a person wants for a text of so many lines, on a terminal.
pub fn wanted(lines: usize) -> Option<String> {
    let rows = terminal_size::terminal_size().map(|(_, height)| usize::from(height.0))?;
    if lines < rows || env::is_agent() {
        return None;
    }
    let named = |name: &str| std::env::var(name).ok();
    if named("TERM").is_some_and(|term| term == "dumb") {
        return None;
    }
    let pager = named("COMITY_PAGER").or_else(|| named("PAGER"));
    let pager = pager.unwrap_or_else(|| PAGER_DEFAULT.to_owned());
    (!pager.trim().is_empty() && pager.trim() != "cat").then_some(pager)
}

/// Hands a text to a pager and waits until it ends; tells whether there is such a pager.
pub fn show(pager: &str, text: &str) -> io::Result<bool> {
    // Ctrl-C is for the pager, which may go on.
    let seen = Arc::new(AtomicBool::new(false));
    let guard = signal_hook::flag::register(SIGINT, seen)?;
    let started = Command::new("sh").arg("-c").arg(pager).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = started else { return Ok(false) };
    if let Some(mut pipe) = child.stdin.take() {
        // Whoever has read enough quits: that is no failure.
        let _ = pipe.write_all(text.as_bytes());
    }
    let ended = child.wait();
    signal_hook::low_level::unregister(guard);
    Ok(ended?.code() != Some(NOT_FOUND))
}

//! The `collab.*` methods as JSON-RPC, a line each.

use super::methods::{Collab, Failure};
use super::wire::{self, Line};
use comity_core::hint::Wording;
use comity_core::refusal::{Code, Refusal};
use std::io::{self, BufRead, Write};

/// How failures are written.
pub struct Failing<'w> {
    /// How the door words next steps.
    pub wording: &'w dyn Wording,
    pub traceback: bool,
}

/// Answers requests until there are no more.
pub fn serve(
    collab: &mut Collab,
    mut input: impl BufRead,
    mut output: impl Write,
    failing: &Failing<'_>,
) -> Result<(), Refusal> {
    let broken =
        |error: &io::Error| Refusal::new(Code::Internal, format!("the stream broke: {error}"));
    loop {
        let answer = match wire::read_line(&mut input).map_err(|error| broken(&error))? {
            Line::End => return Ok(()),
            Line::TooLong => {
                let failure = Failure::input("the request is too long");
                wire::failure(&serde_json::Value::Null, &failure, failing)
            }
            Line::Text(bytes) if bytes.trim_ascii().is_empty() => continue,
            Line::Text(bytes) => answer(collab, &bytes, failing),
        };
        let written = writeln!(output, "{answer}").and_then(|()| output.flush());
        match written {
            Ok(()) => {}
            // Nobody listens any more; what was done is done.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(broken(&error)),
        }
    }
}

fn answer(collab: &mut Collab, bytes: &[u8], failing: &Failing<'_>) -> String {
    let call = match wire::read_call(bytes) {
        Ok(call) => call,
        Err((id, message)) => return wire::failure(&id, &Failure::input(message), failing),
    };
    match collab.call(&call.method, call.params) {
        Ok(None) => wire::unknown_method(&call.id, &call.method),
        Ok(Some(value)) => wire::result(&call.id, &value),
        Err(failure) => wire::failure(&call.id, &failure, failing),
    }
}

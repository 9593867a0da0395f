//! `comity guard commit`: the message of a commit against the template.

use crate::output::Reply;
use comity_core::refusal::{Code, Refusal};
use comity_protocol::collab::check_commit_message;
use serde_json::{Value, json};
use std::io::Read;

/// The longest message that is read.
const MESSAGE_BYTES_MAX: u64 = 1024 * 1024;

pub(super) fn check(message_file: &str) -> Result<Reply, Refusal> {
    let mut bytes = Vec::new();
    let unreadable = |error: std::io::Error| {
        Refusal::input(format!("cannot read {message_file}: {error}"))
            .hint("give the file with the commit message, or - for standard input")
    };
    if message_file == "-" {
        std::io::stdin()
            .lock()
            .take(MESSAGE_BYTES_MAX)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
    } else {
        let file = std::fs::File::open(message_file).map_err(unreadable)?;
        file.take(MESSAGE_BYTES_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    let message = String::from_utf8_lossy(&bytes);
    let problems = check_commit_message(&message);
    if problems.is_empty() {
        return Ok(Reply::text(json!({"valid": true, "problems": []}), ""));
    }
    let said: Vec<String> = problems.iter().map(|(n, text)| format!("line {n}: {text}")).collect();
    let list: Vec<Value> =
        problems.iter().map(|(n, text)| json!({"line": n, "message": text})).collect();
    Err(Refusal::new(Code::ContractInvalid, format!("the commit message is not valid: {}", said.join("; ")))
        .hint("write `type(task-id): summary`, an empty line, then Why:, Touches:, Tests: and Risks/Mitigations:")
        .detail("problems", list))
}

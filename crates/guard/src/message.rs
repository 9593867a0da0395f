//! The message of a commit against the template. It needs no project.

use comity_api::{CheckMessage, MessageAnswer};
use comity_core::refusal::{Code, Refusal};
use comity_protocol::collab::check_commit_message;
use serde_json::{Value, json};

/// The handler of operations on commit messages.
#[derive(Clone)]
pub struct Messages;

fn check(input: &CheckMessage) -> Result<MessageAnswer, Refusal> {
    let problems = check_commit_message(&input.message);
    if problems.is_empty() {
        return Ok(MessageAnswer { valid: true, problems: Vec::new() });
    }
    let said: Vec<String> = problems.iter().map(|(n, text)| format!("line {n}: {text}")).collect();
    let list: Vec<Value> =
        problems.iter().map(|(n, text)| json!({"line": n, "message": text})).collect();
    Err(Refusal::new(Code::ContractInvalid, format!("the commit message is not valid: {}", said.join("; ")))
        .hint("write `type(task-id): summary`, an empty line, then Why:, Touches:, Tests: and Risks/Mitigations:")
        .detail("problems", list))
}

impl comity_engine::Whereabouts for Messages {}

comity_engine::handlers_of! { Messages, register {
    GuardCommit(messages, caller, input) => check(&input);
} }

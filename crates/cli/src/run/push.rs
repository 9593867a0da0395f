//! `comity guard push`: what git's pre-push hook asks before anything is sent.

use super::contract;
use crate::context::Context;
use crate::human::Shape;
use crate::output::Reply;
use comity_core::refusal::{Code, Refusal};
use comity_protocol::neomjs::safety::{protected_pushes, read_pushes};
use serde_json::json;
use std::path::Path;

/// Refuses a push of an agent to a protected branch; a person may.
pub(super) fn run(context: &Context, remote: &[String]) -> Result<Reply, Refusal> {
    let text = contract::read(Path::new("-"), Path::new("."))?;
    let pushes = read_pushes(&text).map_err(|line| {
        let shown: String = line.chars().take(100).collect();
        Refusal::input(format!("{shown:?} is not what git tells a pre-push hook"))
            .hint("each line is: local ref, local commit, remote ref, remote commit")
    })?;
    let protected = context.config.protected_branches();
    let hit = protected_pushes(&pushes, &protected);
    if !hit.is_empty() && !context.actor.is_person() {
        let message = format!("{} may not push to {} directly", context.actor, hit.join(", "));
        return Err(Refusal::new(Code::HumanOnly, message)
            .hint("push a branch of its own and open a pull request")
            .detail("branches", hit));
    }
    let refs: Vec<&str> = pushes.iter().map(|push| push.remote.as_str()).collect();
    let answer = json!({"ok": true, "remote": remote.first(), "refs": refs});
    Ok(Reply::new(answer, Shape::Text(String::new())))
}

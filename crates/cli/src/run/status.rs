//! `comity status`

use crate::human::status::{self, StatusReport};
use crate::output::Reply;
use comity_api::{Nothing, op};
use comity_core::refusal::Refusal;
use comity_project::Context;

pub(super) fn run(context: &Context) -> Result<Reply, Refusal> {
    let report = StatusReport {
        root: context.root.dir.display().to_string(),
        store: context.store_url(),
        repo: context.repo.to_string(),
        me: context.actor.to_string(),
        status: context.ask::<op::Status>(Nothing {})?,
    };
    Ok(Reply::new(report, status::status))
}

//! `comity status`

use crate::human::status::{self, StatusReport};
use crate::output::Reply;
use comity_api::{Nothing, op};
use comity_core::refusal::Refusal;
use comity_project::Context;

pub(super) fn run(context: &Context) -> Result<Reply, Refusal> {
    let context = context.as_known()?;
    let report = StatusReport::of(&context, context.ask::<op::Status>(Nothing {})?);
    Ok(Reply::new(report, status::status).paged())
}

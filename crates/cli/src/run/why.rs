//! `comity why`

use crate::human;
use crate::output::Reply;
use comity_api::{HistoryOf, op};
use comity_core::refusal::Refusal;
use comity_engine::Handler;
use comity_guard::Shown;
use comity_project::Context;
use comity_project::store::Access;

pub(super) fn run(context: &Context, of: String) -> Result<Reply, Refusal> {
    // A path is meant from where the caller is; everything else has a name of its own.
    let is_here = of.contains('/') || context.cwd.join(&of).exists();
    let of = match is_here && !context.is_far() {
        true => context.mapper().pattern(&of)?,
        false => of,
    };
    let service = context.service(Access::Read)?;
    let shown = Shown { service, tree: context.git_tree().cloned() };
    let answered = Handler::<op::Why>::handle(&shown, &context.caller(), HistoryOf { of })?;
    Ok(Reply::new(answered.output, human::why::why).paged())
}

//! The form of commands about runs.

use super::input::{
    Check, check_command, context, json_ok_within, line, long, new_task, optional, reason, word,
    words,
};
use crate::command::{NewRun, RunChange};
use crate::run::check_name;
use serde_json::Value;

/// How deep the facts about a run may be nested, and how long they may be, in bytes.
const META_DEPTH_MAX: usize = 5;
const META_BYTES_MAX: usize = 16 * 1024;

pub(super) fn new_run(new: &NewRun) -> Check {
    check_name(&new.agent)?;
    word("driver", &new.driver)?;
    optional(new.model.as_ref(), |model| word("model", model))?;
    optional(new.branch.as_ref(), |branch| line("branch", branch))?;
    words("label", &new.labels)?;
    context(&new.meta)?;
    json_ok_within("meta", &Value::Object(new.meta.clone()), META_DEPTH_MAX, META_BYTES_MAX)?;
    optional(new.new_task.as_ref(), |task| new_task(task))
}

pub(super) fn run_change(change: &RunChange) -> Check {
    match change {
        RunChange::End(end) => {
            end.steps.iter().try_for_each(check_command)?;
            reason(end.reason.as_ref())
        }
        RunChange::Stop { reason: why, .. } | RunChange::Pause { reason: why, .. } => {
            reason(why.as_ref())
        }
        RunChange::Progress(progress) => {
            progress.calls.iter().try_for_each(|call| word("call", &call.call))
        }
        RunChange::Complete { evidence, summary } => {
            let told = evidence.iter().flat_map(|one| [&one.criterion, &one.evidence]);
            words("evidence", &told.cloned().collect::<Vec<_>>())?;
            reason(summary.as_ref())
        }
        RunChange::HandOver { pr, text } => {
            optional(pr.as_ref(), |pr| line("pr", pr))?;
            long("text", text)
        }
        RunChange::Checkpoint { subject, .. } => long("subject", subject),
        RunChange::Take { .. } | RunChange::Wait { .. } | RunChange::Resume { .. } => Ok(()),
    }
}

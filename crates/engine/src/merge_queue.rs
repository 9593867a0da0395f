//! The merge queue, looked up.

use crate::read::Reader;
use comity_api::{MergeQueueAnswer, QueuedTask, TaskFilter};
use comity_core::merging::place;
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::{Deliverable, Task};

/// Tasks of the queue that are looked at.
const QUEUE_MAX: usize = 2_000;

impl Reader<'_> {
    /// Lists approved code in the order in which it is merged. Work that an older comity approved is in it, too.
    pub(crate) fn merge_queue(&mut self) -> Result<MergeQueueAnswer, Refusal> {
        let statuses = vec![Status::Approved, Status::Merging];
        let filter = TaskFilter { statuses, ..TaskFilter::default() };
        let (mut tasks, _) = self.task_rows(&filter, 0, QUEUE_MAX)?;
        tasks.retain(|task| task.deliverable == Deliverable::Code);
        tasks.sort_by_key(place);
        let queue = tasks.iter().filter_map(queued).collect();
        Ok(MergeQueueAnswer { queue, target: self.policy.merge_target.clone() })
    }
}

fn queued(task: &Task) -> Option<QueuedTask> {
    let (_, approved_at, _) = place(task);
    let merge = task.merge.as_ref();
    let batch = merge.and_then(|queued| queued.batch);
    let tests = batch.is_some() || task.status == Status::Merging;
    Some(QueuedTask {
        task: task.id.to_string(),
        commit: task.commit.clone()?,
        priority: task.priority,
        approved_at,
        state: if tests { "testing" } else { "waiting" }.to_owned(),
        batch: batch.map(|batch| batch.to_string()),
        target: merge.and_then(|queued| queued.target.clone()),
    })
}

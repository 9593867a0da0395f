//! `comity worker`

use super::show;
use crate::args::WorkerArgs;
use crate::human;
use crate::output::{self, Reply};
use comity_api::{Nothing, op};
use comity_core::refusal::Refusal;
use comity_fleet::{Told, Worker, drain};
use comity_project::Context;
use comity_project::store::Access;
use serde::Serialize;
use serde_json::{Value, json};

pub(super) fn run(context: &Context, args: WorkerArgs, json: bool) -> Result<Reply, Refusal> {
    if args.drain && !drain(context, &context.service(Access::Write)?)?.is_empty() {
        return show::<op::Workers>(context, Nothing {}, human::worker::list);
    }
    let capacity = match args.capacity {
        Some(given) => usize::from(given),
        None => context.config.supervisor()?.max_runs,
    };
    let labels = args.label.into_iter().collect();
    let mut worker = Worker::new(context, crate::env::program()?, labels, capacity)?;
    let stop = crate::env::stop_flag()?;
    worker.keep(&stop, args.drain, &mut |told| tell(told, json))?;
    Ok(Reply::printed())
}

/// One line of what a worker does.
#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    what: Value,
}

fn tell(told: &Told<'_>, json: bool) {
    if json {
        let what = match told {
            Told::Began(worker) => json!({"worker": worker}),
            Told::Took(run) => json!({"took": run}),
            Told::Ended(run) => json!({"ended": run.id, "state": run.state}),
            Told::Unfit(run, refusal) => json!({"unfit": run, "why": refusal.message}),
            Told::Waits(refusal) => json!({"waits": refusal.message}),
            Told::Drains => json!({"drain": true}),
        };
        drop(output::line(&Line { what }));
        return;
    }
    match told {
        Told::Began(worker) => {
            output::remark(&format!("{} takes runs; press Ctrl-C to stop", worker.id));
        }
        Told::Took(run) => drop(output::text(&format!("{run} starts here\n"))),
        Told::Ended(run) => {
            let id = run.id.as_deref().unwrap_or_default();
            drop(output::text(&format!("{id} {}\n", run.state)));
        }
        Told::Unfit(run, refusal) => {
            output::remark(&format!("{run} cannot start here: {}", refusal.message));
        }
        Told::Waits(refusal) => output::remark(&refusal.message),
        Told::Drains => output::remark("it takes no more runs"),
    }
}

//! How fast the simulation runs.

use crate::stats::{process_cpu, whole};
use crate::table::Table;
use crate::{Outcome, Scale};
use comity_sim::{Beside, Plan};

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let mut table = Table::new(&[
        "store",
        "agents",
        "commands",
        "agent-hours",
        "CPU seconds",
        "commands/s",
        "agent-hours per CPU-hour",
    ]);
    let steps = scale.of(2_000, 500);
    for (name, beside) in
        [("model", Beside::Nothing), ("model and SQLite, compared", Beside::Sqlite)]
    {
        let before = process_cpu();
        let plan = Plan { seed: 1, agents: 200, steps, beside };
        let report = comity_sim::run(&plan).map_err(|found| found.to_string())?;
        let seconds = process_cpu().saturating_sub(before).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a count of commands is far below 2^52")]
        let commands = report.commands as f64;
        table.row(vec![
            name.to_owned(),
            plan.agents.to_string(),
            whole(commands),
            whole(report.agent_hours),
            format!("{seconds:.1}"),
            whole(commands / seconds),
            whole(report.agent_hours * 3600.0 / seconds),
        ]);
    }
    table.print("sim: the simulation");
    println!(
        "\nOne seed, {steps} steps, faults switched on by the seed, properties checked throughout."
    );
    Ok(())
}

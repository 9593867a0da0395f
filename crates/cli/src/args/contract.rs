//! `comity contract …`

use super::help;
use super::values::contract_kind;
use clap::Subcommand;
use comity_api::op;
use comity_protocol::contract::ContractKind;

/// What can be done with contracts.
#[derive(Debug, Subcommand)]
pub enum ContractCommand {
    #[command(about = help::<op::ContractValidate>(), after_help = "Example:\n  comity contract validate result.yaml --kind result")]
    Validate {
        /// The file, in YAML or JSON; - reads standard input
        file: String,
        /// The kind of the contract (default: comity recognises it)
        #[arg(long, value_name = "KIND", value_parser = contract_kind)]
        kind: Option<&'static ContractKind>,
        /// Give exactly the verdict of the original tool
        #[arg(long)]
        compat: bool,
        /// Accept only what comity would write: unknown keys and warnings are errors
        #[arg(long, conflicts_with = "compat")]
        strict: bool,
    },
    #[command(about = help::<op::ContractRender>(), after_help = "Example:\n  comity contract render mission T1 > mission.yaml")]
    Render {
        /// What to write: mission, result (the last one submitted), neo-task, neo-result, neo-error, ace-task,
        /// ace-claim, ace-blocked, ace-resuming, ace-done, ace-failed, labels or resume
        #[arg(value_name = "KIND")]
        kind: String,
        /// The task, or the beginning of its id
        id: String,
    },
    #[command(about = help::<op::ContractApply>(),
        after_help = "A review approves the task or sends it back. Whatever its verdict says, one CRITICAL issue, \
        five WARNINGs or a failed spec send the task back. Serious findings of a scout become decisions, its \
        other findings become notes. A report that ends a piece of work is submitted, as by \
        `task submit --result`.\n\nExample:\n  comity contract apply review.json --task T1"
    )]
    Apply {
        /// The file, in YAML or JSON, with or without prose around it; - reads standard input
        file: String,
        /// The task that the report is about
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// The kind of the contract (default: comity recognises it)
        #[arg(long, value_name = "KIND", value_parser = contract_kind)]
        kind: Option<&'static ContractKind>,
    },
    #[command(about = help::<op::ContractSchema>(), after_help = "Example:\n  comity contract schema result > result.schema.json")]
    Schema {
        /// The kind of contract
        #[arg(value_name = "KIND", value_parser = contract_kind)]
        kind: &'static ContractKind,
    },
}

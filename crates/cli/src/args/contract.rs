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
        /// The file, in YAML or JSON; - reads stdin
        file: String,
        /// What it is (default: told from its content)
        #[arg(long, value_name = "KIND", value_parser = contract_kind)]
        kind: Option<&'static ContractKind>,
        /// Check exactly what the original tool checks
        #[arg(long)]
        compat: bool,
        /// Take no more than comity would write: unknown keys and what is otherwise only remarked are errors
        #[arg(long, conflicts_with = "compat")]
        strict: bool,
    },
    #[command(about = help::<op::ContractRender>(), after_help = "Example:\n  comity contract render mission T1 > mission.yaml")]
    Render {
        /// What to write: mission, result for the last one handed in, neo-task, neo-result, neo-error, ace-task,
        /// ace-claim, ace-blocked, ace-resuming, ace-done, ace-failed, labels or resume
        #[arg(value_name = "KIND")]
        kind: String,
        /// The task, or the beginning of its id
        id: String,
    },
    #[command(about = help::<op::ContractApply>(),
        after_help = "A review approves the task or sends it back: one CRITICAL issue, five WARNINGs or a \
        failed spec send it back whatever the verdict says. A scout's grave findings become decisions, the \
        others notes. Reports that end a piece of work are handed in, as by `task submit --result`.\n\nExample:\n  comity contract apply review.json --task T1"
    )]
    Apply {
        /// The file, in YAML or JSON, also inside of prose; - reads stdin
        file: String,
        /// The task that it is about
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// What it is (default: told from its content)
        #[arg(long, value_name = "KIND", value_parser = contract_kind)]
        kind: Option<&'static ContractKind>,
    },
    #[command(about = help::<op::ContractSchema>(), after_help = "Example:\n  comity contract schema result > result.schema.json")]
    Schema {
        /// The kind
        #[arg(value_name = "KIND", value_parser = contract_kind)]
        kind: &'static ContractKind,
    },
}

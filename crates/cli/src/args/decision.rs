//! `comity decision …`

use super::help;
use super::values::{PageArgs, addressee, decision_type, duration, option, text};
use clap::{Args, Subcommand};
use comity_api::op;
use comity_core::decision::{Addressee, DecisionOption, DecisionType};
use comity_core::time::Millis;

/// What can be done with questions.
#[derive(Debug, Subcommand)]
pub enum DecisionCommand {
    #[command(about = help::<op::DecisionAsk>(),
        after_help = "Example:\n  comity decision ask 'Drop support for 1.80?' --type approval \
        --wait --timeout 1h"
    )]
    Ask(Box<AskArgs>),
    #[command(about = help::<op::DecisionList>(), after_help = "Example:\n  comity decision list --all")]
    List {
        /// Also show questions that are settled
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        page: PageArgs,
    },
    #[command(about = help::<op::DecisionShow>(), after_help = "Example:\n  comity decision show D1")]
    Show {
        /// The id of the question
        id: String,
    },
    #[command(about = help::<op::DecisionAnswerOne>(), after_help = "Example:\n  comity decision answer D1 'approved: but keep the shim'")]
    Answer {
        /// The id of the question
        id: String,
        /// KEY or 'KEY: text'; any text if the question has no options; - reads standard input
        #[arg(allow_hyphen_values = true, value_parser = text)]
        answer: String,
    },
    #[command(about = help::<op::DecisionWait>(), after_help = "Example:\n  comity decision wait D1 --timeout 10m")]
    Wait {
        /// The id of the question
        id: String,
        /// Wait at most this long, such as 10m
        #[arg(long, value_name = "DUR", value_parser = duration)]
        timeout: Option<Millis>,
    },
}

/// Options of `decision ask`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// The question; - reads standard input
    #[arg(value_parser = text)]
    pub question: String,
    /// The task that the question is about
    #[arg(long, short, value_name = "ID")]
    pub task: Option<String>,
    /// Offer an answer (repeatable)
    #[arg(long = "option", value_name = "KEY[:LABEL]", value_parser = option)]
    pub options: Vec<DecisionOption>,
    /// The type: approval, choice or free (default: choice with options, else free)
    #[arg(long = "type", value_name = "TYPE", value_parser = decision_type)]
    pub kind: Option<DecisionType>,
    /// What a reader must know to answer
    #[arg(long, value_name = "TEXT", value_parser = text, allow_hyphen_values = true)]
    pub context: Option<String>,
    /// The answer that comity gives at the deadline
    #[arg(long, value_name = "KEY")]
    pub default: Option<String>,
    /// Ask `person`, `planner` or this agent (default: person)
    #[arg(long, value_name = "WHOM", value_parser = addressee)]
    pub to: Option<Addressee>,
    /// Close the question after this time, such as 24h
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub expires: Option<Millis>,
    /// Wait for the answer
    #[arg(long)]
    pub wait: bool,
    /// Wait at most this long, such as 10m
    #[arg(long, value_name = "DUR", value_parser = duration, requires = "wait")]
    pub timeout: Option<Millis>,
}

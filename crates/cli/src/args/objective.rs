//! `comity objective …`

use super::help;
use super::values::text;
use clap::Subcommand;
use comity_api::op;

fn evidence(given: &str) -> Result<(String, String), String> {
    let split = given.rsplit_once('=').map(|(name, what)| (name.trim(), what.trim()));
    match split {
        Some((name, what)) if !name.is_empty() && !what.is_empty() => {
            Ok((name.to_owned(), what.to_owned()))
        }
        _ => Err(format!("{given:?} is not CRITERION=EVIDENCE")),
    }
}

/// What the agent that looks after an objective can do.
#[derive(Debug, Subcommand)]
pub enum ObjectiveCommand {
    #[command(about = help::<op::ObjectiveDispatch>(),
        after_help = "Words that failed are not sent out twice, and after three failures the same agent does not get the same files.\n\n\
        Example:\n  comity objective dispatch developer --task 'Parse dates' --file src/date.rs --done 'the tests of dates pass'")]
    Dispatch {
        /// The agent, such as developer, reviewer or scout
        agent: String,
        /// What is to be done; or the id of a task that goes on
        #[arg(long, short, value_name = "TEXT", value_parser = text)]
        task: String,
        /// A file that it is about (repeatable)
        #[arg(long, value_name = "FILE")]
        file: Vec<String>,
        /// When it is done
        #[arg(long, value_name = "TEXT", value_parser = text)]
        done: String,
        /// What the agent must leave alone or keep to (repeatable)
        #[arg(long, value_name = "TEXT", value_parser = text)]
        constraint: Vec<String>,
        /// Answer at once, and not at the end of the run
        #[arg(long)]
        no_wait: bool,
    },
    #[command(about = help::<op::ObjectiveComplete>(),
        after_help = "Evidence is a run that was sent out and succeeded, its pull request, a gate that comity saw pass (T3:tests), or the merged commit.\n\n\
        Example:\n  comity objective complete --evidence 'Dates are parsed=R2' --evidence 'The tests pass=T3:tests'")]
    Complete {
        /// A criterion, and what shows that it is met (repeatable)
        #[arg(long, value_name = "CRITERION=EVIDENCE", value_parser = evidence)]
        evidence: Vec<(String, String)>,
        /// What was reached, in a few words
        #[arg(long, value_name = "TEXT", value_parser = text)]
        summary: Option<String>,
    },
    #[command(about = help::<op::ObjectiveBlocked>(),
        after_help = "Example:\n  comity objective blocked 'Which calendar: Gregorian or Julian?'")]
    Blocked {
        /// The question that somebody has to answer
        #[arg(value_parser = text)]
        question: String,
        /// Explain what was tried, and why that is not enough
        #[arg(long, value_name = "TEXT", value_parser = text)]
        reason: Option<String>,
    },
}

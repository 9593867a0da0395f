//! One of several operations on tasks that are done together, all or none.

use crate::input::{
    Assign, Block, CheckItem, Depend, Done, Link, Start, TaskVerbInput, Transition, UpdateTask,
};
use comity_core::command::{ClaimWish, Command, Submission, TaskVerb};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! steps {
    (
        plain { $($plain:ident($input:ty) $plain_name:literal => $command:expr;)* }
        moves { $($verb:ident $name:literal;)* }
    ) => {
        /// An operation by its name, with its input.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "operation", content = "input", deny_unknown_fields)]
        pub enum TaskStep {
            $(#[serde(rename = $plain_name)] $plain($input),)*
            $(#[serde(rename = $name)] $verb(TaskVerbInput),)*
        }

        impl From<TaskStep> for Command {
            fn from(step: TaskStep) -> Command {
                match step {
                    $(TaskStep::$plain(input) => $command(input),)*
                    $(TaskStep::$verb(input) => TaskVerb::$verb.on(input.id, input.reason),)*
                }
            }
        }
    };
}

steps! {
    plain {
        Update(UpdateTask) "task.update" => Command::from;
        Depend(Depend) "task.depend" => Command::from;
        Assign(Assign) "task.assign" => Command::from;
        Link(Link) "task.link" => Command::from;
        Claim(ClaimWish) "task.claim" => Command::Claim;
        Start(Start) "task.start" => Command::from;
        Submit(Submission) "task.submit" => Command::Submit;
        Done(Done) "task.done" => Command::from;
        Block(Block) "task.block" => Command::from;
        Check(CheckItem) "task.check" => Command::from;
        Transition(Transition) "task.transition" => Command::from;
    }
    moves {
        Review "task.review";
        Approve "task.approve";
        RequestChanges "task.request-changes";
        Merge "task.merge";
        Unblock "task.unblock";
        Fail "task.fail";
        Release "task.release";
        Abandon "task.abandon";
        Requeue "task.requeue";
        Reopen "task.reopen";
    }
}

/// Operations on tasks that are done together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Several {
    /// Tasks to answer with, before those that the operations name.
    #[serde(default)]
    pub ids: Vec<String>,
    /// The operations, in order; each sees what those before it did.
    pub steps: Vec<TaskStep>,
}

impl From<Several> for Command {
    fn from(Several { mut ids, steps }: Several) -> Command {
        let steps: Vec<Command> = steps.into_iter().map(Command::from).collect();
        for id in steps.iter().filter_map(Command::task_ref) {
            if !ids.iter().any(|known| known == id) {
                ids.push(id.to_owned());
            }
        }
        Command::Several { ids, steps }
    }
}

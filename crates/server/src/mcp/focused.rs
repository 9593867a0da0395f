//! The tools of a focused supervisor: it sends agents out and ends its objective, and looks things up.

use super::args::read;
use super::tools::{self, ToolAnswer, json_of};
use crate::Served;
use comity_api::{BlockObjective, CompleteObjective, DispatchPiece};
use comity_core::refusal::{Code, Refusal};
use comity_engine::Caller;
use comity_fleet::{FOCUSED, Objectives};
use rmcp::model::Tool;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

static OWN: LazyLock<Vec<Tool>> =
    LazyLock::new(|| serde_json::from_str(include_str!("focused.json")).unwrap_or_default());

/// What it has of the tools that others have.
const SHARED: [&str; 3] = ["look_up", "record", "remember"];

/// Tells whether a caller looks after an objective.
pub(super) fn leads(caller: &Caller) -> bool {
    caller.actor.as_str().split(':').next() == Some(FOCUSED)
}

pub(super) fn is_own(tool: &str) -> bool {
    OWN.iter().any(|own| own.name == tool)
}

pub(super) fn tools() -> Vec<Tool> {
    let shared = tools::all().iter().filter(|tool| SHARED.contains(&tool.name.as_ref()));
    OWN.iter().chain(shared).cloned().collect()
}

impl Served {
    /// Runs a tool of a focused supervisor.
    pub(super) fn lead(
        &self,
        tool: &str,
        given: Map<String, Value>,
        caller: &Caller,
    ) -> ToolAnswer {
        let (context, service) = (self.context.clone(), self.service.clone());
        let own = Objectives { context, service, program: self.program.clone() };
        match tool {
            "dispatch" => {
                let piece: DispatchPiece = read(tool, given)?;
                json_of(&own.dispatch(caller, &DispatchPiece { wait: true, ..piece })?)
            }
            "supervisor_complete" => {
                let given: CompleteObjective = read(tool, given)?;
                let run = json_of(&own.complete(caller, given)?)?;
                Ok(json!({"completed": true, "run": run.get("run")}))
            }
            "supervisor_blocked" => {
                let given: BlockObjective = read(tool, given)?;
                json_of(&own.blocked(caller, given)?)
            }
            other => Err(Refusal::new(Code::NotFound, format!("there is no tool {other:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_of_a_focused_supervisor_are_those_of_the_specification_and_six_in_all() {
        let all = tools();
        let names: Vec<&str> = all.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(
            names,
            [
                "dispatch",
                "supervisor_complete",
                "supervisor_blocked",
                "record",
                "look_up",
                "remember"
            ]
        );
        let dispatch = json!(all[0].input_schema);
        assert_eq!(dispatch["required"], json!(["agent", "task", "files", "done"]));
    }
}

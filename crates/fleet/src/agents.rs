//! The agents that comity knows without any definition.

use comity_core::refusal::{Code, Refusal};
use comity_core::run::Stage;

/// What an agent is there for, and how it may work.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    pub name: String,
    pub stage: Stage,
    /// It may change files that are kept.
    pub writable: bool,
    pub model: Option<String>,
    /// What every prompt of it begins with.
    pub duty: &'static str,
}

const ARCHITECT: &str = "You are an architect. You read the code, ask for approval of your design with `comity decision \
ask --type approval --wait`, and then write an implementation plan into .comity/specs/. You change nothing else. \
Your last message is a report with `plan_path` and `summary`.";
const DEVELOPER: &str = "You are a developer. You carry out a plan step by step, or do a task directly. Commit each step on its \
own, and after each commit log a milestone: `comity note milestone 'T<n> done — commit <sha>'`. If the prompt begins \
with RESUMING FROM CRASH, check with git that every commit it lists is on the branch: if one is missing, report \
BLOCKED; else log a milestone that you resume, and go on with the step it names. Your last message is a report \
with `status` DONE, DONE_WITH_CONCERNS, BLOCKED or NEEDS_CONTEXT.";
const REVIEWER: &str = "You are a reviewer. You make two passes: first whether the work is what was asked for, and if it is not \
(spec FAIL) you stop there; then its quality. You change no file. Your last message is a report with `verdict` and \
`issues`.";
const SCOUT: &str = "You are a scout. You explore the code and report bugs, risks and debts. You change no file. Your last \
message is a report with `findings` and `summary`.";

const BUILT_IN: [(&str, Stage, bool, &str, &str); 4] = [
    ("architect", Stage::Plan, true, "opus", ARCHITECT),
    ("developer", Stage::Develop, true, "opus", DEVELOPER),
    ("reviewer", Stage::Review, false, "sonnet", REVIEWER),
    ("scout", Stage::Scout, false, "opus", SCOUT),
];

/// Finds an agent by its name.
pub fn find(name: &str) -> Result<Agent, Refusal> {
    let found = BUILT_IN.iter().find(|(known, ..)| *known == name);
    let (name, stage, writable, model, duty) = found.ok_or_else(|| unknown(name))?;
    Ok(Agent {
        name: (*name).to_owned(),
        stage: *stage,
        writable: *writable,
        model: Some((*model).to_owned()),
        duty,
    })
}

fn unknown(name: &str) -> Refusal {
    let names: Vec<&str> = BUILT_IN.iter().map(|(name, ..)| *name).collect();
    let nearest = comity_core::nearest::nearest(name, names.iter().copied());
    Refusal::new(Code::UnknownName, format!("there is no agent {name:?}"))
        .hint(format!("the agents are {}", names.join(", ")))
        .detail("agent_name", name)
        .detail("nearest", nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompts_have_the_five_duties() {
        let has = |name: &str, words: &str| {
            assert!(find(name).unwrap().duty.contains(words), "{name}: {words}");
        };
        has("reviewer", "two passes");
        has("reviewer", "(spec FAIL) you stop");
        has("developer", "RESUMING FROM CRASH");
        has("developer", "if one is missing, report BLOCKED");
        has("developer", "after each commit log a milestone");
        has("developer", "log a milestone that you resume");
    }

    #[test]
    fn a_mistyped_agent_is_refused_with_the_nearest_one() {
        let refusal = find("develper").unwrap_err();
        assert_eq!(refusal.code, Code::UnknownName);
        assert_eq!(refusal.details["nearest"], "developer");
    }
}

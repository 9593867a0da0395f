//! The one table of operations. Every door — command line now, MCP and HTTP later — is checked against it.

use comity_core::role::Verb;

/// Whether an operation changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It runs a command of the rules.
    Write,
    /// It only reads.
    Read,
}

/// One thing that a caller can do.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its name, which is also the words of the command line, joined by a dot.
    pub name: &'static str,
    /// Whether it changes anything.
    pub kind: Kind,
    /// What the permission table calls it; none for what anybody may do.
    pub verb: Option<Verb>,
    /// One sentence of help, imperative, without a full stop.
    pub help: &'static str,
}

const fn write(name: &'static str, verb: Verb, help: &'static str) -> Operation {
    Operation { name, kind: Kind::Write, verb: Some(verb), help }
}

const fn read(name: &'static str, help: &'static str) -> Operation {
    Operation { name, kind: Kind::Read, verb: None, help }
}

/// Every operation, in the order of the documentation.
pub const OPERATIONS: &[Operation] = &[
    write("task.create", Verb::Create, "Create a task"),
    write("task.breakdown", Verb::Create, "Create the tasks of a plan, all or none"),
    read("task.list", "List tasks"),
    read("task.show", "Show a task"),
    read("task.why", "Explain why a task is not ready, not approvable or blocked"),
    write("task.update", Verb::Update, "Change fields of a task"),
    write("task.depend", Verb::Update, "Add or remove a dependency"),
    write("task.assign", Verb::Assign, "Reserve a task for an agent"),
    write("task.link", Verb::Link, "Set a reference to another system"),
    write("task.claim", Verb::Claim, "Take a task, or the best ready one, with its leases"),
    write("task.start", Verb::Start, "Begin or go on with the work"),
    write("task.submit", Verb::Submit, "Hand the work in for review"),
    write("task.review", Verb::Review, "Take a review"),
    write("task.approve", Verb::Approve, "Accept the work"),
    write("task.request-changes", Verb::RequestChanges, "Send the work back"),
    write("task.merge", Verb::Merge, "Begin to integrate approved work"),
    write("task.done", Verb::Done, "Finish a task"),
    write("task.block", Verb::Block, "Stop a task until something is given"),
    write("task.answer", Verb::AnswerForPlanner, "Answer the questions of a blocked task"),
    write("task.intervene", Verb::Unblock, "Look at a stuck task and say how it goes on"),
    write("task.unblock", Verb::Unblock, "Put a blocked task back into the queue"),
    write("task.fail", Verb::Fail, "Say that the attempt failed"),
    write("task.release", Verb::Release, "Give a claimed task back"),
    write("task.abandon", Verb::Abandon, "Give a task up"),
    write("task.requeue", Verb::Requeue, "Put a task back into the queue"),
    write("task.reopen", Verb::Reopen, "Take a finished task up again"),
    write("task.check", Verb::Check, "Settle a checklist item"),
    write("task.subtask", Verb::Subtask, "Start or complete a step of the work"),
    write("task.handoff", Verb::Note, "Hand a task over to a fresh context"),
    write("task.transition", Verb::Start, "Go to a status by whatever verb leads there"),
    write("lease.acquire", Verb::Lease, "Take leases on paths, all or none"),
    write("lease.renew", Verb::Lease, "Renew leases"),
    write("lease.release", Verb::Lease, "End leases"),
    read("lease.list", "List live leases"),
    read("lease.check", "Tell whether paths are free"),
    write("lease.reclaim", Verb::Reclaim, "End the leases and claims that have run out"),
    write("agent.register", Verb::Register, "Register an agent, or give it roles and skills"),
    read("agent.list", "List agents"),
    read("agent.show", "Show an agent"),
    write("agent.heartbeat", Verb::Heartbeat, "Give a sign of life"),
    read("agent.suggest", "Suggest who could do a piece of work"),
    read("gate.list", "List the gates of a task"),
    write("gate.record", Verb::Record, "Record evidence for a gate"),
    write("gate.waive", Verb::Waive, "Let a gate pass, with a reason"),
    write("decision.ask", Verb::Ask, "Ask a question"),
    read("decision.list", "List questions"),
    read("decision.show", "Show a question"),
    write("decision.answer", Verb::AnswerForPlanner, "Answer a question"),
    read("decision.wait", "Wait for an answer"),
    write("memory.write", Verb::Remember, "Remember something"),
    read("memory.list", "List what is remembered"),
    read("memory.show", "Show a memory"),
    read("memory.search", "Find memories by their words"),
    write("memory.update", Verb::Remember, "Change what a memory says"),
    write("memory.forget", Verb::Forget, "Forget something"),
    write("directive.create", Verb::Direct, "Give a standing instruction"),
    read("directive.list", "List standing instructions"),
    read("directive.show", "Show a standing instruction"),
    write("directive.toggle", Verb::Direct, "Switch a standing instruction on or off"),
    write("directive.delete", Verb::Direct, "Take a standing instruction back"),
    write("directive.trigger", Verb::Trigger, "Say that a standing instruction is followed now"),
    write("note", Verb::Note, "Say something worth keeping"),
    write("event.emit", Verb::Emit, "Append an event that you report"),
    read("event.list", "List events"),
    read("event.tail", "Follow the log"),
    read("guard.push", "Keep agents from pushing to protected branches"),
    read("guard.check", "Check a work tree against the constraints of a task"),
    read("contract.validate", "Check a contract and list all its problems"),
    read("contract.render", "Write a task as a contract"),
    Operation {
        name: "contract.apply",
        kind: Kind::Write,
        verb: None,
        help: "Do what a report of an agent asks for",
    },
    read("contract.schema", "Print the JSON Schema of a kind of contract"),
    read("log.verify", "Check the log's chain and the projections against it"),
    write("log.rebuild", Verb::Reclaim, "Write the projections anew from the log"),
    read("log.head", "Show the end of the log"),
    read("report.log", "Write the log as Markdown"),
    read("report.board", "Write the tasks by state as Markdown"),
    read("status", "Show what is going on"),
    write("watchdog", Verb::Reclaim, "Reclaim what is stale and apply what has expired"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_named_once_and_explained() {
        let mut names: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(OPERATIONS.iter().all(|operation| !operation.help.ends_with('.')));
    }
}

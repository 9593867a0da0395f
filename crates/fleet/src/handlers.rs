//! The handlers of fleet's rows.

use crate::keeper::now;
use crate::place::RunPlace;
use crate::probe::Prober;
use crate::start::{Asked, start};
use crate::{agents, resume, spaces, steer, workspace};
use comity_api::{
    ById, CollectSpaces, DefinedAgent, DefinedAgents, ProbesAnswer, ResumeRun, RunAnswer,
    RunDiffAnswer, SpacesAnswer, StartRun, StartedRun, SteerRun, WriteNote, op,
};
use comity_core::hint::{op as operation, say};
use comity_core::refusal::{Code, Refusal};
use comity_core::role::Verb;
use comity_core::run::RunState;
use comity_engine::{Answered, Caller, Far, Service, Whereabouts};
use comity_project::Context;
use std::path::PathBuf;
use std::sync::Arc;

/// The agents that a project knows.
#[derive(Clone)]
pub struct Definitions {
    pub root: PathBuf,
}

impl Whereabouts for Definitions {}

comity_engine::handlers_of! { Definitions, register_definitions {
    AgentDefineList(known, caller, input) => Ok(known.all());
    AgentDefineShow(known, caller, input) => {
        agents::find(&known.root, &input.name).map(|agent| DefinedAgent { agent })
    };
    AgentDefineCheck(known, caller, input) => known.checked();
} }

impl Definitions {
    fn all(&self) -> DefinedAgents {
        let (agents, bad) = agents::all(&self.root);
        DefinedAgents { agents, bad }
    }

    /// Refuses if a definition cannot be used. The details are the answer.
    fn checked(&self) -> Result<DefinedAgents, Refusal> {
        let found = self.all();
        let wrong =
            found.bad.iter().map(|bad| format!("{}: {}", bad.file, bad.problems.join("; ")));
        let wrong: Vec<String> = wrong.collect();
        if wrong.is_empty() {
            return Ok(found);
        }
        Err(Refusal::new(Code::ContractInvalid, wrong.join("\n"))
            .detail("agents", serde_json::json!(found.agents))
            .detail("bad", serde_json::json!(found.bad)))
    }
}

/// What goes on with runs, at every door.
#[derive(Clone)]
pub struct Resumer {
    pub context: Context,
    pub service: Service,
    /// comity itself; none at a door that starts no agents.
    pub program: Option<PathBuf>,
}

impl Whereabouts for Resumer {
    fn far(&self) -> Option<&Arc<dyn Far>> {
        self.service.far()
    }
}

comity_engine::handlers_of! { Resumer, register_resumer {
    RunResume(runs, caller, input) => runs.resume(caller, input);
} }

impl Resumer {
    /// Goes on with a run: one that is paused continues, and one that ended is followed by a new one.
    fn resume(&self, caller: &Caller, input: ResumeRun) -> Result<Answered<RunAnswer>, Refusal> {
        let run = self.service.call::<op::RunShow>(caller, ById { id: input.id.clone() })?.run;
        if run.state.is_live() {
            let Answered { output, remarks } = self.service.run(caller, input.into())?;
            return Ok(Answered { output: output.take()?, remarks });
        }
        let Resumer { context, service, program } = self;
        let Some(program) = program else {
            let message = format!("{} has ended, and no agent is started from here", input.id);
            return Err(Refusal::new(Code::CouldNotRun, message).hint(
                say("on the host of the run: ").call(operation("run.resume").id(&input.id)),
            ));
        };
        let started = resume::resume(context, service, caller, program, &input.id, input.fresh)?;
        Ok(RunAnswer { run: started.run }.into())
    }
}

/// The runs of a project that this host has.
#[derive(Clone)]
pub struct Fleet {
    pub context: Context,
    pub service: Service,
    /// The binary that has the hidden command of keepers.
    pub program: PathBuf,
}

impl Whereabouts for Fleet {}

comity_engine::handlers_of! { Fleet, register {
    Run(fleet, caller, input) => fleet.starts(caller, input);
    RunSteer(fleet, caller, input) => fleet.steers(caller, input);
    RunDiff(fleet, caller, input) => fleet.differs(caller, input);
    MergeProbe(fleet, caller, input) => {
        fleet.service.may(caller, Verb::Work)?;
        let probes = Prober::default().probe(&fleet.context, &fleet.service, caller);
        probes.map(|probes| ProbesAnswer { probes })
    };
    WorkspaceList(fleet, caller, input) => {
        let workspaces = spaces::list(&fleet.context, &fleet.service, caller);
        workspaces.map(|workspaces| SpacesAnswer { workspaces })
    };
    WorkspaceRemove(fleet, caller, input) => {
        fleet.service.may(caller, Verb::Dispatch)?;
        let gone = spaces::remove(&fleet.context, &fleet.service, caller, &input.name);
        gone.map(|gone| SpacesAnswer { workspaces: vec![gone] })
    };
    WorkspaceGc(fleet, caller, input) => fleet.collects(caller, &input);
} }

impl Fleet {
    fn starts(&self, caller: &Caller, wanted: StartRun) -> Result<StartedRun, Refusal> {
        let asked = Asked::from(wanted);
        let started = start(&self.context, &self.service, caller, &self.program, &asked)?;
        Ok(StartedRun { run: started.run, pid: started.pid })
    }

    /// Says something to an agent. The log of the project has it, too.
    fn steers(&self, caller: &Caller, input: SteerRun) -> Result<RunAnswer, Refusal> {
        let answer = self.service.call::<op::RunShow>(caller, ById { id: input.id })?;
        let run = &answer.run;
        let id = run.id.clone().unwrap_or_default();
        if !run.state.is_live() || run.state == RunState::Queued {
            let message = format!("{id} is {}, and nobody listens", run.state);
            return Err(Refusal::new(Code::InvalidTransition, message).detail("run", id.as_str()));
        }
        if !resume::is_here(&self.context, &id)? {
            let host = run.host.clone().unwrap_or_default();
            let message = format!("{id} runs on the host {host}");
            return Err(Refusal::new(Code::InvalidTransition, message).hint("say it there"));
        }
        let note = WriteNote {
            kind: "action".to_owned(),
            text: format!("to {id}: {}", input.text),
            task: run.task.clone(),
            paths: Vec::new(),
        };
        self.service.call::<op::Note>(caller, note)?;
        steer::say(&RunPlace::of(&self.context, &id)?, &input.text)?;
        Ok(answer)
    }

    fn differs(&self, caller: &Caller, input: ById) -> Result<RunDiffAnswer, Refusal> {
        let run = self.service.call::<op::RunShow>(caller, input)?.run;
        let diff = workspace::diff(&self.context, &run)?;
        Ok(RunDiffAnswer { run: run.id.unwrap_or_default(), diff })
    }

    fn collects(&self, caller: &Caller, input: &CollectSpaces) -> Result<SpacesAnswer, Refusal> {
        self.service.may(caller, Verb::Dispatch)?;
        let older = input.older_than.unwrap_or(self.context.config.spaces()?.keep);
        let gone = spaces::collect(&self.context, &self.service, caller, older, now())?;
        Ok(SpacesAnswer { workspaces: gone })
    }
}

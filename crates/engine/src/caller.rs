//! Who calls, from where, and under which grant.

use crate::observer::Observer;
use comity_core::command::{Command, Request};
use comity_core::ids::{AgentId, Fence, RepoName};
use comity_core::observed::{GateSeen, LandingSeen, Observed, RunSeen};
use comity_core::via::Via;
use std::sync::Arc;

/// Everything of a request that is not the command itself. A door fills it in once.
#[derive(Clone)]
pub struct Caller {
    pub actor: AgentId,
    pub repo: RepoName,
    /// The grant that the call is made under.
    pub fence: Option<Fence>,
    /// The idempotency key.
    pub key: Option<String>,
    /// What every event says about the caller's process.
    pub via: Via,
    /// The work tree that the call comes from.
    pub workspace: Option<String>,
    /// Looks at git for the caller. Without one, a command that needs a look is refused.
    pub observer: Option<Arc<dyn Observer>>,
    /// A command that the door has just run itself, for a gate: the evidence that is recorded next comes from it.
    pub ran: Option<RunSeen>,
    /// The gates that the door has just run on the commit of a merge, all of which passed.
    pub merge_gates: Vec<GateSeen>,
    /// What the door itself made of submitted work, and is landing now.
    pub landing: Option<LandingSeen>,
}

impl Caller {
    /// Makes a caller of whom no more is known.
    pub fn new(actor: AgentId, repo: RepoName) -> Caller {
        Caller {
            actor,
            repo,
            fence: None,
            key: None,
            via: Via::default(),
            workspace: None,
            observer: None,
            ran: None,
            merge_gates: Vec::new(),
            landing: None,
        }
    }

    /// Makes a request of a command.
    pub fn request(&self, command: Command) -> Request {
        Request {
            actor: self.actor.clone(),
            repo: self.repo.clone(),
            fence: self.fence,
            key: self.key.clone(),
            via: self.via.clone(),
            workspace: self.workspace.clone(),
            observed: Observed {
                run: self.ran.clone(),
                gates: self.merge_gates.clone(),
                landing: self.landing.clone(),
                ..Observed::default()
            },
            command,
        }
    }

    /// Returns the caller that a request names, without eyes.
    pub fn of(request: &Request) -> Caller {
        Caller {
            actor: request.actor.clone(),
            repo: request.repo.clone(),
            fence: request.fence,
            key: request.key.clone(),
            via: request.via.clone(),
            workspace: request.workspace.clone(),
            observer: None,
            ran: None,
            merge_gates: Vec::new(),
            landing: None,
        }
    }
}

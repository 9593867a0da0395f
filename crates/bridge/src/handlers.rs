//! The handlers of the rows about other tools' files and contracts.

use crate::collab::{ROUNDS_MAX, Syncer, import_v1};
use crate::{contract, import, neo};
use comity_api::{DecisionAnswer, TreeDirectory};
use comity_core::command::{Adoption, Command, Made};
use comity_core::origin::Origin;
use comity_core::refusal::Refusal;
use comity_engine::{Caller, Service};
use comity_project::Context;
use comity_protocol::{beads, taskmaster};
use serde_json::{Map, Value};

/// One project, and its store.
#[derive(Clone)]
pub struct Bridge {
    pub context: Context,
    pub service: Service,
}

impl Bridge {
    /// Opens a tree; a relative directory is taken from the working directory of the call.
    fn tree(&self, caller: &Caller, dir: &str) -> Result<Syncer, Refusal> {
        Syncer::open(self, caller, &self.context.cwd.join(dir))
    }

    /// Opens the tree that is to be kept in step.
    pub fn tree_in_step(&self, caller: &Caller, at: &TreeDirectory) -> Result<Syncer, Refusal> {
        match &at.dir {
            Some(dir) => self.tree(caller, dir),
            None => Syncer::open(self, caller, &self.context.root.dir.join("collaboration")),
        }
    }
}

impl comity_engine::Whereabouts for Bridge {
    fn far(&self) -> Option<&std::sync::Arc<dyn comity_engine::Far>> {
        self.service.far()
    }
}

comity_engine::handlers_of! { Bridge, register {
    ContractApply(bridge, caller, input) => contract::apply(&bridge.service, caller, input);
    ImportBeads(bridge, caller, input) => {
        import::tasks(&bridge.service, caller, beads::PROVIDER, &input, beads::read)
    };
    ImportTaskmaster(bridge, caller, input) => {
        import::tasks(&bridge.service, caller, taskmaster::PROVIDER, &input, taskmaster::read)
    };
    ImportNeo(bridge, caller, input) => neo::import(bridge, caller, &input);
    NeoAsk(bridge, caller, input) => {
        let (source, item) = ("neo-command".to_owned(), "decision".to_owned());
        let other = Map::from_iter([("type".to_owned(), Value::from(input.kind))]);
        let origin = Origin { source, item, other };
        let made = Made::Decision(Box::new(input.question));
        let adoption = Adoption { origin, made, answer: None, disabled: false };
        let command = Command::TakeOver(Box::new(adoption));
        bridge.service.run_command::<DecisionAnswer>(caller, command)
    };
    ImportCollab(bridge, caller, input) => {
        bridge.tree(caller, &input.dir)?.import(input.with_state)
    };
    ImportV1(bridge, caller, input) => import_v1(bridge, caller, &input);
    ExportNeo(bridge, caller, input) => neo::export(bridge, caller, &input);
    ExportCollab(bridge, caller, input) => bridge.tree(caller, &input.dir)?.export();
    SyncCollab(bridge, caller, input) => {
        bridge.tree_in_step(caller, &input)?.settle(true, ROUNDS_MAX)
    };
} }

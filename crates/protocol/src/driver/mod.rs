//! What agents say while they work: each driver reads the lines of its client and nothing else.

mod command;

pub use command::CommandLines;

use comity_core::money::Usd;
use comity_core::run::{RunFault, Tokens};
use comity_core::time::Timestamp;

/// Something that happened in an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// The agent has a session.
    Session(String),
    Text(String),
    Tool {
        id: String,
        name: String,
        ended: bool,
    },
    /// What a call of a model used. The last one of a call counts.
    Usage {
        call: String,
        model: Option<String>,
        tokens: Tokens,
    },
    /// What a call of a model cost, as the client says.
    Cost {
        call: String,
        usd: Usd,
    },
    /// The vendor serves nothing until then.
    Limited {
        until: Option<Timestamp>,
    },
    Failed {
        kind: RunFault,
        message: String,
    },
}

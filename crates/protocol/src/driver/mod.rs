//! What agents say while they work, and what is said to them: each driver speaks with its client and decides nothing.
//!
//! A talk is pure: lines in, what happened and lines to write out. Processes, files and clocks are `fleet`'s.

mod acp;
mod claude;
mod codex;
mod command;
mod rpc;

pub use acp::Acp;
pub use claude::Claude;
pub use codex::Codex;
pub use command::CommandLines;

use comity_core::money::Usd;
use comity_core::run::{RunFault, Tokens};
use comity_core::time::Timestamp;
use serde_json::Value;

/// Something that happened in an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// The agent has a session. A client may say so more than once.
    Session(String),
    Text(String),
    Tool {
        id: String,
        name: String,
        /// What it is called with, where the client says so when it begins.
        input: Option<String>,
        ended: bool,
    },
    /// What a call of a model used. Each call is told once.
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
    /// What the whole session has cost so far, as the client says; earlier processes of the session count, too.
    Total(Usd),
    /// The agent has said all it had to say to what it was told last.
    Turn,
    /// Whether something that the agent started goes on beside its turns. It may begin a turn by itself.
    Background {
        open: bool,
    },
    /// The agent wants to do something that it was not allowed beforehand.
    Permission(Permission),
    /// The vendor serves nothing until then.
    Limited {
        until: Option<Timestamp>,
    },
    /// The client tries a call again. It is alive, and gets nowhere.
    Retry {
        status: Option<u64>,
    },
    Failed {
        kind: RunFault,
        message: String,
    },
}

/// Something that an agent wants to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Permission {
    /// The client's own id of the question.
    pub id: Value,
    pub tool: String,
    pub input: Value,
    /// What the answers are called, where the client names them: its word for yes and for no.
    pub words: (String, String),
}

/// What a line meant, and what is to be written to the client because of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    pub happened: Vec<Happened>,
    pub write: Vec<String>,
}

impl Heard {
    fn of(happened: Vec<Happened>) -> Heard {
        Heard { happened, write: Vec::new() }
    }
}

/// A server of tools that a client is told of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpServer {
    pub command: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

/// What a talk begins with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Opening {
    pub prompt: String,
    /// The work tree, as the client sees it.
    pub dir: String,
    /// The session to go on with.
    pub resume: Option<String>,
    pub model: Option<String>,
    pub mcp: Option<McpServer>,
}

/// What a driver can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// Its client says what a session cost.
    pub cost: bool,
    /// Usage comes with every call, not at the end alone.
    pub per_call: bool,
    /// A turn can be interrupted, and more can be said.
    pub interrupt: bool,
    /// Its client asks before it does what was not allowed.
    pub permission: bool,
    /// A session can be taken up by a later process.
    pub resume: bool,
}

/// The talk with one client.
#[derive(Debug)]
pub enum Talk {
    Command(CommandLines),
    Claude(Claude),
    Codex(Box<Codex>),
    Acp(Box<Acp>),
}

impl Talk {
    pub fn caps(&self) -> Caps {
        let all =
            Caps { cost: true, per_call: true, interrupt: true, permission: true, resume: true };
        match self {
            Talk::Command(_) => Caps { cost: true, per_call: true, ..Caps::default() },
            Talk::Claude(_) => all,
            Talk::Codex(_) => Caps { cost: false, ..all },
            Talk::Acp(_) => Caps { resume: false, per_call: false, ..all },
        }
    }

    /// Returns what is written first.
    pub fn begin(&mut self) -> Vec<String> {
        match self {
            // The prompt is all that a command reads; it ends with its input.
            Talk::Command(_) => Vec::new(),
            Talk::Claude(talk) => talk.begin(),
            Talk::Codex(talk) => talk.begin(),
            Talk::Acp(talk) => talk.begin(),
        }
    }

    pub fn read(&mut self, line: &str) -> Heard {
        match self {
            Talk::Command(talk) => Heard::of(vec![talk.read(line)]),
            Talk::Claude(talk) => Heard::of(talk.read(line)),
            Talk::Codex(talk) => talk.read(line),
            Talk::Acp(talk) => talk.read(line),
        }
    }

    /// Says more: at once where the client takes it while it works, else when its turn has ended.
    pub fn say(&mut self, text: &str) -> Vec<String> {
        match self {
            Talk::Command(_) => Vec::new(),
            Talk::Claude(_) => vec![claude::user(text)],
            Talk::Codex(talk) => talk.say(text),
            Talk::Acp(talk) => talk.say(text),
        }
    }

    /// Ends the turn that is under way.
    pub fn interrupt(&mut self) -> Vec<String> {
        match self {
            Talk::Command(_) => Vec::new(),
            Talk::Claude(talk) => vec![talk.interrupt()],
            Talk::Codex(talk) => talk.interrupt(),
            Talk::Acp(talk) => talk.interrupt(),
        }
    }

    /// Answers a question for permission.
    pub fn answer(&mut self, asked: &Permission, allow: bool, why: &str) -> Vec<String> {
        match self {
            Talk::Command(_) => Vec::new(),
            Talk::Claude(_) => vec![claude::answer(asked, allow, why)],
            Talk::Codex(_) => vec![codex::answer(asked, allow)],
            Talk::Acp(_) => vec![acp::answer(asked, allow)],
        }
    }

    /// Returns what was heard and not told yet, once the client has ended.
    pub fn ended(&mut self) -> Vec<Happened> {
        match self {
            Talk::Claude(talk) => talk.ended(),
            Talk::Command(_) | Talk::Codex(_) | Talk::Acp(_) => Vec::new(),
        }
    }
}

/// Reads a line as an object of JSON; anything else is text.
fn object(line: &str) -> Result<Value, Vec<Happened>> {
    let trimmed = line.trim();
    let value = trimmed.starts_with('{').then(|| serde_json::from_str::<Value>(trimmed).ok());
    match value.flatten() {
        Some(value) => Ok(value),
        None if trimmed.is_empty() => Err(Vec::new()),
        None => Err(vec![Happened::Text(line.to_owned())]),
    }
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

fn count(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// Tells what an answer of a vendor's API means. Without a status it is a failure of the agent itself.
fn api_fault(status: Option<u64>, message: &str) -> Happened {
    let failed = |kind| Happened::Failed { kind, message: message.to_owned() };
    match status {
        Some(429) => Happened::Limited { until: None },
        Some(401 | 403) => failed(RunFault::Auth),
        Some(400..) => failed(RunFault::Api),
        _ => failed(RunFault::Crash),
    }
}

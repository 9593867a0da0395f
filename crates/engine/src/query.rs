//! Questions about the state. Reads never write; they see what has expired as expired.

use crate::writing::Writing;
use comity_core::directive::DirectiveFilter;
use comity_core::ids::AgentId;
use comity_core::memory::MemoryFilter;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_protocol::ace::Generation;

/// What can be looked up.
#[derive(Clone, Debug)]
pub enum Query {
    /// `{"tasks":[TASK…],"next":CURSOR|null}`
    Tasks(TaskFilter),
    /// `{"task":TASK}`
    Task {
        /// The task.
        id: String,
    },
    /// `{"task":TASK,"mission":MISSION}`
    Mission {
        /// The task.
        id: String,
    },
    /// `{"why":{id,status,ready,summary,reasons[],next}}`
    Why {
        /// The task.
        id: String,
    },
    /// `{"gates":[{name,required,state,tier,commit,by,at,report,reason}…]}`
    Gates {
        /// The task.
        id: String,
    },
    /// `{"leases":[LEASE…],"next":…}`
    Leases {
        /// Only of this owner.
        owner: Option<AgentId>,
        /// The page.
        page: Page,
    },
    /// `{"paths":[{"path":…,"free":bool,"mine":bool,"conflicts":[{wanted,witness,held}]}…]}`
    CheckPaths {
        /// Paths or patterns, relative to the root.
        paths: Vec<String>,
    },
    /// `{"agents":[AGENT…],"next":…}`
    Agents {
        /// The page.
        page: Page,
    },
    /// `{"agent":AGENT}`
    Agent {
        /// Who.
        id: String,
    },
    /// `{"suggestions":[{agent,score,reason}…]}`, best first.
    Suggest {
        /// Labels of the work.
        labels: Vec<String>,
        /// The role it takes.
        role: Option<Role>,
    },
    /// `{"decisions":[DECISION…],"next":…}`
    Decisions {
        /// Also those that are settled.
        all: bool,
        /// The page.
        page: Page,
    },
    /// `{"decision":DECISION}`
    Decision {
        /// Which.
        id: String,
    },
    /// `{"memories":[MEMORY…],"next":…}`, by number.
    Memories {
        /// Which.
        filter: MemoryFilter,
        /// The page.
        page: Page,
    },
    /// `{"memories":[MEMORY…],"next":…}`, those with every word, the best first.
    SearchMemories {
        /// The words.
        query: String,
        /// Which.
        filter: MemoryFilter,
        /// The page.
        page: Page,
    },
    /// `{"memory":MEMORY}`
    Memory {
        /// Which.
        id: String,
    },
    /// `{"directives":[DIRECTIVE…],"next":…}`, by number; active ones by priority.
    Directives {
        /// Which.
        filter: DirectiveFilter,
        /// The page.
        page: Page,
    },
    /// `{"directive":DIRECTIVE}`
    Directive {
        /// Which.
        id: String,
    },
    /// `{"task":TASK,"questions":[DECISION…]}`: what a stopped task waits to be told, in the order it was asked.
    Questions {
        /// The task.
        id: String,
    },
    /// `{"kind":…,"id":…,"text":…}`: a task as another protocol writes it.
    Written {
        /// The task.
        id: String,
        /// As what.
        writing: Writing,
        /// In which of its two forms, where a protocol has two.
        generation: Generation,
    },
    /// `{"task":TASK,"contract":…,"events":[…],"error":…,"questions":[DECISION…]}`: a task that needs a person.
    Intervention {
        /// The task.
        id: String,
    },
    /// `{"events":[EVENT…],"next":…}`
    Events(EventFilter),
    /// `{counts,agents[],leases,decisions_open,attention[]}`; the edge adds root, store and me.
    Status,
    /// `{"seq":n,"hash":HASH,"ts":…}`
    Head,
}

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// At most so many; none means the default.
    pub limit: Option<usize>,
    /// The `next` cursor of the page before.
    pub after: Option<String>,
}

/// Which tasks.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    /// In one of these states; empty means any.
    pub statuses: Vec<Status>,
    /// Of this assignee.
    pub assignee: Option<AgentId>,
    /// With all of these labels.
    pub labels: Vec<String>,
    /// Of this role.
    pub role: Option<Role>,
    /// Of this initiative.
    pub initiative: Option<String>,
    /// Only those that the asker could claim now.
    pub ready: bool,
    /// The page.
    pub page: Page,
}

/// Which events.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// About this task.
    pub task: Option<String>,
    /// Of this name.
    pub event: Option<String>,
    /// After this seq (exclusive), or not before this time.
    pub since: Option<Since>,
    /// Of every repository, not of one.
    pub all_repos: bool,
    /// The page.
    pub page: Page,
}

/// Where a list of events starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Since {
    /// After this place.
    Seq(u64),
    /// Not before this time.
    Time(comity_core::time::Timestamp),
}

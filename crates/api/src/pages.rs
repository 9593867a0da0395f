//! What the pages of the dashboard show. The server computes all of it: no rule is run in a browser.

use comity_core::hint::Hint;
use comity_core::ids::AgentId;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::time::{Millis, Timestamp};
use comity_core::view::{DecisionView, GateView, LeaseView, MemoryView, RunView, TaskView};
use comity_core::why::Why;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

answers! {
    /// A moment of the past that an answer is about.
    #[derive(Copy, Eq)]
    At { seq: u64, ts: Timestamp, }
    /// The board: every open task, and what was done in the last day.
    BoardAnswer {
        seq: u64,
        at: Option<At>,
        repo: String,
        me: String,
        now: Timestamp,
        tasks: usize,
        /// Tasks that could be claimed now.
        ready: usize,
        /// There are more tasks than are shown.
        more: bool,
        columns: Vec<Column>,
        cards: Vec<Card>,
        last_event: Option<At>,
    }
    Column { name: String, title: String, count: usize, }
    /// What a card of the board shows of a task.
    Card {
        id: String,
        number: u64,
        version: u64,
        title: String,
        status: Status,
        /// `queued`, `working`, `review`, `approved`, `blocked`, `done` or `abandoned`.
        column: String,
        /// Where it stands in its column; the smallest is the highest.
        rank: i64,
        priority: String,
        labels: Vec<String>,
        role: Option<Role>,
        files: Vec<String>,
        parent: Option<String>,
        epic: Option<String>,
        initiative: Option<String>,
        round: u32,
        /// Who works on it, or worked on it last.
        agent: Option<String>,
        /// The life of the claim.
        life: Option<Life>,
        reviewer: Option<String>,
        /// When it came into its status.
        since: Timestamp,
        gates: Vec<Mark>,
        ready: bool,
        /// It needs somebody.
        stuck: bool,
        line: Option<Line>,
        /// What it needs, if it is in the inbox.
        strip: Option<Strip>,
    }
    /// How long a grant lives without a further sign of life.
    #[derive(Copy, Eq)]
    Life {
        last_seen: Timestamp,
        ttl_seconds: i64,
        expires_at: Timestamp,
        /// No sign of life for half of the time.
        silent: bool,
    }
    /// A gate: `verified`, `observed`, `claimed`, `failed`, `open` or `waived`.
    #[derive(Eq)]
    Mark { name: String, mark: String, }
    /// The quiet line of a card.
    #[derive(Eq)]
    Line { kind: String, words: String, }
    /// The loud line of a card: the kind of the item in the inbox, and what to open.
    #[derive(Eq)]
    Strip { kind: String, words: String, id: String, }
    /// What needs somebody, the most urgent first, and what is going on beside it.
    InboxAnswer {
        seq: u64,
        at: Option<At>,
        now: Timestamp,
        me: String,
        count: usize,
        /// Items that are left out.
        more: usize,
        items: Vec<InboxItem>,
        aside: Aside,
    }
    InboxItem {
        key: String,
        kind: String,
        /// The kind in one or two words.
        word: String,
        id: String,
        task: Option<String>,
        title: String,
        /// The title of the task that a question is about.
        about: Option<String>,
        reason: String,
        since: Timestamp,
        deadline: Option<Timestamp>,
        /// The share of the time until the deadline that is left.
        left: Option<f64>,
        /// More than half of the time is gone.
        urgent: bool,
        agent: Option<String>,
        decision: Option<DecisionView>,
        gates: Vec<Mark>,
        path: Option<String>,
        event: Option<u64>,
        actions: Vec<Action>,
        /// The next step, in the words of the door.
        next: Hint,
        /// The repository, where a list is about several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repo: Option<String>,
    }
    /// A request that a person may send about an item.
    Action {
        label: String,
        operation: String,
        method: String,
        path: String,
        body: Map<String, Value>,
        /// Fields of the body that the person fills in first.
        wants: Vec<String>,
        note: Option<String>,
    }
    Aside {
        agents: CrewCounts,
        at_work: Vec<AtWork>,
        wanted: Vec<Wanted>,
        merging: Vec<Merging>,
        done_24h: DoneCounts,
        log: LogState,
        last_event: Option<At>,
    }
    #[derive(Copy, Default, Eq)]
    CrewCounts { total: usize, at_work: usize, waiting: usize, silent: usize, idle: usize, }
    AtWork {
        agent: String,
        task: String,
        title: String,
        doing: String,
        note: Option<String>,
        /// The repository, where a list is about several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repo: Option<String>,
    }
    /// A path that somebody holds and others want.
    Wanted {
        path: String,
        held_by: String,
        task: Option<String>,
        wanted_by: Vec<String>,
        refused_24h: usize,
        /// The repository, where a list is about several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repo: Option<String>,
    }
    Merging {
        task: String,
        agent: Option<String>,
        since: Timestamp,
        /// The repository, where a list is about several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repo: Option<String>,
    }
    #[derive(Copy, Default, Eq)]
    DoneCounts { tasks: usize, verified: usize, partly: usize, waived: usize, }
    /// Whether the log can be trusted, as far as it was checked last.
    LogState { events: u64, head: String, verified_at: Option<Timestamp>, ok: Option<bool>, }
    /// Who did what when.
    TimelineAnswer {
        seq: u64,
        at: Option<At>,
        now: Timestamp,
        from: Timestamp,
        to: Timestamp,
        log: LogEnds,
        lanes: Vec<Lane>,
        /// Agents with nothing in this window.
        folded: Vec<String>,
        density: Density,
    }
    LogEnds { from: Option<Timestamp>, to: Option<Timestamp>, }
    Lane {
        agent: String,
        person: bool,
        bars: Vec<Bar>,
        leases: Vec<LeaseBar>,
        marks: Vec<TimeMark>,
    }
    /// A stretch of time: `work`, `review`, `merge`, `wait` or `blocked`.
    Bar {
        kind: String,
        task: Option<String>,
        decision: Option<String>,
        from: Timestamp,
        to: Option<Timestamp>,
        seq: u64,
        end: Option<String>,
    }
    LeaseBar {
        lock_id: String,
        path: String,
        task: Option<String>,
        from: Timestamp,
        to: Option<Timestamp>,
        seq: u64,
        /// How many writes of others it refused.
        refused: usize,
    }
    TimeMark {
        kind: String,
        ts: Timestamp,
        seq: u64,
        task: Option<String>,
        decision: Option<String>,
        path: Option<String>,
        words: String,
    }
    Density { from: Timestamp, bucket_seconds: i64, counts: Vec<u32>, }
    /// How work flows, day by day.
    FlowAnswer {
        seq: u64,
        at: Option<At>,
        from: String,
        to: String,
        days: u32,
        done: usize,
        headline: String,
        /// Created to done, in hours.
        lead: Vec<DayTimes>,
        /// Claimed to done, in hours.
        cycle: Vec<DayTimes>,
        wip: Vec<DayWork>,
        blocked: Vec<BlockedTime>,
        blocked_hours: f64,
        refused: Vec<RefusedPath>,
        refused_total: usize,
        rounds: Vec<Rounds>,
        /// The share of tasks that pass the first review, in percent.
        first_pass: Option<u32>,
    }
    DayTimes { day: String, p50: Option<f64>, p85: Option<f64>, tasks: Vec<String>, }
    DayWork {
        day: String,
        working: usize,
        review: usize,
        approved: usize,
        blocked: usize,
        tasks: Vec<String>,
    }
    BlockedTime { reason: String, hours: f64, tasks: Vec<String>, }
    RefusedPath { path: String, count: usize, tasks: Vec<String>, seqs: Vec<u64>, }
    Rounds { rounds: String, count: usize, tasks: Vec<String>, }
    /// Which paths are held, and which files there are.
    TreeAnswer {
        seq: u64,
        at: Option<At>,
        now: Timestamp,
        leases: usize,
        holders: usize,
        /// Paths that several want.
        contended: usize,
        entries: Vec<TreeEntry>,
        under: Option<String>,
        files: Vec<TreeFile>,
        /// How many files nobody holds below each directory on the way to a held path; the whole tree has no name.
        #[serde(default)]
        free: BTreeMap<String, usize>,
    }
    TreeEntry {
        path: String,
        mode: String,
        refused_24h: usize,
        wanted_by: Vec<String>,
        /// Somebody else wrote it while it was held.
        write_seen: bool,
        held: Vec<Held>,
    }
    Held {
        lock_id: String,
        agent: String,
        task: Option<String>,
        since: Timestamp,
        until: Timestamp,
        life: Life,
    }
    /// A file or a directory with so many files.
    TreeFile { name: String, path: String, kind: String, files: usize, }
    /// Everybody who works here.
    CrewAnswer {
        seq: u64,
        at: Option<At>,
        now: Timestamp,
        counts: CrewCounts,
        agents: Vec<CrewMember>,
    }
    CrewMember {
        id: String,
        person: bool,
        roles: Vec<Role>,
        skills: Vec<String>,
        /// `silent`, `waiting`, `at_work`, `idle` or `person`.
        group: String,
        doing: String,
        words: Option<String>,
        task: Option<String>,
        title: Option<String>,
        decision: Option<String>,
        last_seen: Option<Timestamp>,
        life: Option<Life>,
        tasks: Vec<String>,
        leases: usize,
        lock_ids: Vec<String>,
        done_7d: usize,
        failed_7d: usize,
        /// Events an hour in the last day, the oldest first.
        hours: Vec<u32>,
        /// The last note, path or command.
        now_doing: Option<String>,
    }
    /// Everything about one task.
    PanelAnswer {
        seq: u64,
        at: Option<At>,
        now: Timestamp,
        task: TaskView,
        card: Card,
        why: Why,
        verbs: Vec<VerbView>,
        evidence: Vec<EvidenceView>,
        graph: Graph,
        spans: Vec<Span>,
        history: Vec<StoryLine>,
        /// Events that are left out because they say nothing new.
        folded: usize,
        more: bool,
        leases: Vec<LeaseView>,
        ended_leases: Vec<EndedLease>,
        decisions: Vec<DecisionView>,
        memories: Vec<MemoryView>,
        children: Vec<String>,
        /// The last runs of agents on it, the newest first.
        runs: Vec<RunView>,
    }
    Graph { nodes: Vec<Node>, edges: Vec<Edge>, }
    /// A task of the graph; `step` is negative for what is needed first.
    Node { id: String, title: String, status: Status, column: String, step: i32, }
    /// From what is needed to what needs it.
    Edge { from: String, to: String, }
    Span {
        status: Status,
        column: String,
        from: Timestamp,
        to: Option<Timestamp>,
        agent: Option<String>,
        round: Option<u32>,
    }
    EndedLease { path: String, lock_id: String, ended_at: Timestamp, how: String, }
    EvidenceAnswer { gates: Vec<GateView>, evidence: Vec<EvidenceView>, }
    EvidenceView {
        gate: String,
        passed: bool,
        tier: String,
        commit: Option<String>,
        round: u32,
        by: String,
        at: Timestamp,
        seq: u64,
        /// The end of the output.
        tail: Option<String>,
        report: Option<String>,
    }
    /// One thing that happened.
    StoryLine {
        seq: u64,
        ts: Timestamp,
        who: String,
        what: String,
        reason: Option<String>,
        task: Option<String>,
        event: String,
        mark: String,
    }
    /// Whether the caller could do something with a task now.
    VerbView {
        verb: String,
        allowed: bool,
        code: Option<String>,
        why: Option<String>,
        /// Fields that the caller has to fill in.
        wants: Vec<String>,
        operation: String,
        label: String,
        /// The column that it leads to.
        to: Option<String>,
    }
    /// What the submitted work changes.
    DiffAnswer {
        base: String,
        commit: String,
        added: usize,
        removed: usize,
        bytes: usize,
        /// Some of it is left out.
        cut: bool,
        files: Vec<DiffFile>,
    }
    DiffFile {
        path: String,
        old_path: Option<String>,
        status: String,
        added: usize,
        removed: usize,
        binary: bool,
        patch: String,
    }
    /// How something came to be, the newest first.
    HistoryAnswer {
        of: String,
        /// `task`, `path`, `commit`, `agent`, `lease` or `decision`.
        kind: String,
        summary: String,
        lines: Vec<StoryLine>,
        commits: Vec<CommitView>,
        more: bool,
    }
    CommitView { commit: String, subject: String, task: Option<String>, ts: Timestamp, }
    /// Rows of the board that changed with a commit.
    CardsMessage {
        seq: u64,
        cards: Vec<Card>,
        /// Tasks that left the board.
        gone: Vec<String>,
        columns: Vec<Column>,
        tasks: usize,
        ready: usize,
        /// Items in the inbox now.
        inbox: usize,
        /// Pages whose content may have changed.
        changed: Vec<String>,
    }
    /// Signs of life since the last message of this kind.
    PresenceMessage { now: Timestamp, agents: Vec<Sign>, lives: Vec<TaskLife>, }
    Sign { id: String, last_seen: Timestamp, }
    TaskLife { task: String, life: Life, }
    /// The store is another one: load everything again.
    ResetMessage { head: u64, }
    /// A token as it is shown.
    TokenView {
        id: String,
        agent: String,
        task: Option<String>,
        verbs: Vec<String>,
        created_by: String,
        created_at: Timestamp,
        expires_at: Timestamp,
        /// The token itself, once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<String>,
    }
    TokenAnswer { token: TokenView, }
    TokensAnswer { tokens: Vec<TokenView>, next: Option<String>, }
    SessionAnswer {
        csrf: Option<String>,
        me: Option<String>,
        expires_at: Option<Timestamp>,
        /// The repositories of the projects that are served.
        repos: Vec<String>,
        /// The repository that a request is about which names none.
        repo: Option<String>,
        /// The agent clients that are on this host, or left traces in the project.
        clients: Vec<FoundClient>,
    }
    /// An agent client, and whether comity is registered with it.
    #[derive(Eq)]
    FoundClient { name: String, registered: bool, }
}

/// A token that a person wants made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTokenInput {
    pub agent: AgentId,
    /// Roles that the agent gets; none leaves them as they are.
    #[serde(default)]
    pub roles: Vec<Role>,
    /// The one task that the token may change.
    #[serde(default)]
    pub task: Option<String>,
    /// The verbs that the token may use.
    #[serde(default)]
    pub verbs: Vec<String>,
    /// The time until the token ends, such as 7d.
    #[serde(default, with = "comity_core::time::written")]
    #[schemars(with = "Option<String>")]
    pub expires: Option<Millis>,
}

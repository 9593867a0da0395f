//! Answers, in the shapes of the interface. One thing comes under its singular name, several under the plural
//! with the cursor of the next page.

use comity_core::brief::{Brief, NewsItem};
use comity_core::event::PadChange;
use comity_core::hint::Hint;
use comity_core::land::LeaseViolation;
use comity_core::money::Usd;
use comity_core::observed::{FileChange, SharedWith};
use comity_core::status::Status;
use comity_core::time::Timestamp;
use comity_core::view::{
    AgentView, DecisionView, DirectiveView, GateView, InterfaceView, LeaseView, MemoryView,
    MessageView, PadView, RunView, TaskView,
};
use comity_core::why::Why;
use comity_protocol::mission::Mission;
use comity_protocol::plan::LeftOut;
use comity_protocol::problem::Problems;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

macro_rules! answers {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
            pub struct $name {
                $($(#[$field_meta])* pub $field: $type,)*
            }
        )*
    };
}

answers! {
    TaskAnswer { task: TaskView, }
    /// The answer to work that was handed in.
    SubmitAnswer {
        task: TaskView,
        /// Changed files that the task neither declared nor leased.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        undeclared: Vec<String>,
        /// Other live claims in the same work tree; the check may include their work.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shared_with: Vec<SharedWith>,
        /// Changes of files that others had leased, which the settings or a waiver let pass.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<LeaseViolation>,
    }
    /// A task with what was asked about it and what happened to it, the newest first.
    StoryAnswer {
        task: TaskView,
        decisions: Vec<DecisionView>,
        events: Vec<EventView>,
        /// Older events are left out.
        more: bool,
    }
    TasksAnswer { tasks: Vec<TaskView>, next: Option<String>, }
    ClaimAnswer {
        task: TaskView,
        fence: Option<u64>,
        leases: Vec<LeaseView>,
        branch: Option<String>,
        /// What checks the branch out in the caller's work tree. A door fills this in, where git can be asked.
        checkout: Option<String>,
        mission: Mission,
        /// What others left for whoever works on this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        brief: Option<Brief>,
    }
    /// A task with what others left for whoever works on it.
    BriefedTask {
        task: TaskView,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        brief: Option<Brief>,
    }
    BriefAnswer { brief: Brief, }
    ToldAnswer { message: MessageView, }
    PadAnswer { pad: PadView, }
    /// The versions of a pad, the newest first.
    PadVersions { scope: String, versions: Vec<PadVersion>, }
    PadVersion { version: u64, seq: u64, ts: Timestamp, by: String, how: PadChange, text: String, }
    InterfaceAnswer {
        interface: InterfaceView,
        /// What differs from the version before, if that was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
    }
    InterfacesPage { interfaces: Vec<InterfaceView>, next: Option<String>, }
    MissionAnswer { task: TaskView, mission: Mission, }
    WhyAnswer { why: Why, }
    GatesAnswer { gates: Vec<GateView>, }
    GateAnswer { gate: GateView, }
    LeasesAnswer {
        leases: Vec<LeaseView>,
        /// Of new leases: what others left for whoever works there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        brief: Option<Brief>,
    }
    LeasesPage { leases: Vec<LeaseView>, next: Option<String>, }
    ReleasedAnswer { released: Vec<String>, }
    PathsAnswer { paths: Vec<PathView>, }
    PathView {
        path: String,
        /// No other owner's lease overlaps it.
        free: bool,
        /// A live lease of the caller overlaps it.
        mine: bool,
        conflicts: Vec<ConflictView>,
    }
    ConflictView {
        wanted: String,
        /// A path that both patterns cover.
        witness: String,
        held: LeaseView,
    }
    AgentsPage { agents: Vec<AgentView>, next: Option<String>, }
    AgentAnswer { agent: AgentView, }
    SuggestionsAnswer { suggestions: Vec<Suggestion>, }
    Suggestion { agent: String, score: i64, reason: String, }
    DecisionsPage { decisions: Vec<DecisionView>, next: Option<String>, }
    DecisionAnswer { decision: DecisionView, }
    /// A question that was answered.
    AnsweredDecision {
        decision: DecisionView,
        /// The task that the answer made, where the question proposed one.
        task: Option<TaskView>,
    }
    MemoriesPage {
        memories: Vec<MemoryView>,
        next: Option<String>,
        /// Of a search: what agents left for each other and has the words, the newest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        posts: Vec<NewsItem>,
    }
    MemoryAnswer { memory: MemoryView, }
    DirectivesPage { directives: Vec<DirectiveView>, next: Option<String>, }
    DirectiveAnswer { directive: DirectiveView, }
    /// What a stopped task waits to be told, in the order it was asked.
    QuestionsAnswer { task: TaskView, questions: Vec<DecisionView>, }
    /// A task as another protocol writes it.
    RenderedTask {
        kind: String,
        id: String,
        text: String,
        /// The contract alone, if the text contains one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        yaml: Option<String>,
    }
    /// A task that needs a person, with all that is known of it.
    InterventionAnswer {
        task: TaskView,
        contract: String,
        events: Vec<EventView>,
        error: Option<String>,
        questions: Vec<DecisionView>,
    }
    EventsPage { events: Vec<EventView>, next: Option<String>, }
    EventAnswer { event: EventView, }
    /// A store that was moved.
    CopyAnswer { from: String, to: String, events: u64, copied: u64, head: String, }
    HeadAnswer { seq: u64, hash: String, ts: Option<Timestamp>, }
    VerifyAnswer { ok: bool, events: u64, head: String, problems: Vec<String>, }
    RebuildAnswer { rebuilt: Rebuilt, events: u64, head: String, }
    /// What is going on. The door adds root, store and caller.
    StatusAnswer {
        counts: Counts,
        agents: Vec<AgentView>,
        leases: usize,
        decisions_open: usize,
        /// Tasks that somebody works on, by number.
        working: Vec<Working>,
        attention: Vec<Attention>,
        /// How many live runs are in each state.
        runs: BTreeMap<String, u64>,
        /// What the runs of today cost, since midnight UTC.
        spent_today_usd: Usd,
    }
    Working {
        id: String,
        title: String,
        status: Status,
        agent: String,
        /// When the claim ends without a sign of life.
        expires_at: Timestamp,
    }
    Attention {
        /// One of `comity_core::attention::Kind`.
        kind: String,
        id: String,
        /// The title of the task that it is about.
        title: Option<String>,
        reason: String,
        since: Timestamp,
        /// What the caller can do about it.
        next: Hint,
    }
    /// A log or a board as Markdown; `output` is the file that it was written to.
    ReportAnswer { report: Option<String>, output: Option<String>, }
    ValidateAnswer { valid: bool, kind: Option<String>, problems: Problems, }
    /// The last result that was handed in for a task.
    ResultAnswer { result: Value, yaml: String, }
    /// The JSON Schema of a kind of contract.
    SchemaAnswer { kind: String, schema: Value, }
    /// What came of a report, in its order.
    AppliedAnswer { kind: String, applied: Vec<Applied>, }
    /// Work that is within the constraints of its task.
    GuardAnswer {
        ok: bool,
        task: String,
        base: Option<String>,
        commit: Option<String>,
        files: Vec<FileChange>,
        /// Changes of files that others had leased, which the settings or a waiver let pass: any other work with a violation is
        /// refused.
        violations: Vec<LeaseViolation>,
    }
    /// The files of the next commit. A person is told of leases of others and may go on; `ok` is false then.
    StagedAnswer {
        ok: bool,
        files: Vec<String>,
        /// What a person is told of, and what the settings only warn of.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Value>,
    }
    /// A push that is allowed.
    PushAnswer { ok: bool, remote: Option<String>, refs: Vec<String>, }
    /// A commit message that fits the template; any other is refused.
    MessageAnswer { valid: bool, problems: Vec<String>, }
    /// What an import did. Only a source that has more than tasks counts the others.
    #[derive(Default)]
    ImportReport {
        imported: usize,
        existing: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decisions: Option<ImportCounts>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directives: Option<ImportCounts>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memories: Option<ImportCounts>,
        tasks: Vec<ImportedTask>,
        changed: Vec<ImportChange>,
        left_out: Vec<LeftOut>,
        /// Nothing was done; this is what would be.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        dry_run: bool,
    }
    #[derive(Copy, Default)]
    ImportCounts { imported: usize, existing: usize, }
    /// An item of the other tool, and the task that it is here.
    ImportedTask { item: String, id: String, status: Status, title: String, }
    /// An item that was changed over there after it was imported.
    ImportChange { item: String, id: String, fields: Vec<String>, }
    /// What was written into neo's files.
    NeoExport { exported: NeoExported, dir: String, left_out: Vec<LeftOut>, }
    NeoExported { decisions: usize, directives: usize, memories: usize, tasks: usize, }
    /// Everything that a repository has at one moment.
    RepositoryExport {
        repo: String,
        exported_at: Timestamp,
        /// The end of the log: its place, and its hash.
        seq: u64, head: String,
        tasks: Vec<TaskView>, leases: Vec<LeaseView>, agents: Vec<AgentView>, decisions: Vec<DecisionView>,
        memories: Vec<MemoryView>, directives: Vec<DirectiveView>, runs: Vec<RunView>,
    }
    /// What came of keeping a `collaboration/` tree in step.
    #[derive(Default)]
    SyncReport {
        /// Edits that were taken over.
        taken: Vec<String>,
        /// Tasks that are blocked, because only somebody with more rights takes over the state that they have in the file.
        kept_back: Vec<String>,
        /// Edits that the rules refused; the store's value is put back.
        refused: Vec<String>,
        /// Values that were changed in both places, and what counts.
        conflicts: Vec<String>,
        /// Files that are not overwritten, because what is in them cannot be read.
        problems: Vec<String>,
        /// Files that were written.
        written: Vec<String>,
        /// Whether a file lacks something still, because somebody writes it all the time.
        #[serde(skip)]
        unsettled: bool,
    }
}

/// One thing that a report asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Applied {
    Task(Box<SubmitAnswer>),
    Decision(Box<DecisionAnswer>),
    Event(Box<EventAnswer>),
}

impl ImportedTask {
    pub fn of(item: &str, task: &TaskView) -> ImportedTask {
        let (id, title) = (task.id.clone(), task.title.clone());
        ImportedTask { item: item.to_owned(), id, status: task.status, title }
    }
}

impl SyncReport {
    /// Adds what came of another go.
    pub fn add(&mut self, later: SyncReport) {
        self.taken.extend(later.taken);
        self.kept_back.extend(later.kept_back);
        self.refused.extend(later.refused);
        self.conflicts.extend(later.conflicts);
        self.problems = later.problems;
        self.written.extend(later.written);
        self.unsettled = later.unsettled;
    }

    /// Returns what somebody has to know, a line each.
    pub fn lines(&self) -> Vec<String> {
        let all = [
            ("taken over", &self.taken),
            ("kept back", &self.kept_back),
            ("refused", &self.refused),
            ("conflict", &self.conflicts),
            ("problem", &self.problems),
        ];
        all.iter()
            .flat_map(|(word, list)| list.iter().map(move |text| format!("{word}: {text}")))
            .collect()
    }
}

impl SubmitAnswer {
    pub fn of_task(task: TaskView) -> SubmitAnswer {
        let (undeclared, shared_with, violations) = (Vec::new(), Vec::new(), Vec::new());
        SubmitAnswer { task, undeclared, shared_with, violations }
    }
}

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweptAnswer {
    pub reclaimed: Reclaimed,
    pub events: usize,
}

/// Ids of what a sweep ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reclaimed {
    pub tasks: Vec<String>,
    pub leases: Vec<String>,
    pub decisions: Vec<String>,
    pub memories: Vec<String>,
    pub directives: Vec<String>,
}

/// How many rows were written again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rebuilt {
    pub agents: usize,
    pub budgets: usize,
    pub decisions: usize,
    pub directives: usize,
    pub leases: usize,
    pub memories: usize,
    pub past_leases: usize,
    #[serde(default)]
    pub posts: usize,
    pub repos: usize,
    pub runs: usize,
    pub tasks: usize,
}

/// How many tasks have each status, in the order of the interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts(pub Vec<(Status, i64)>);

impl Counts {
    pub fn of(&self, status: Status) -> i64 {
        self.0.iter().find(|(known, _)| *known == status).map_or(0, |(_, count)| *count)
    }
}

impl Serialize for Counts {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(status, count)| (status.as_str(), count)))
    }
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let read = Map::deserialize(from)?;
        let one = |(name, count): (String, Value)| {
            Some((Status::parse(&name).ok()?, count.as_i64().unwrap_or(0)))
        };
        Ok(Counts(read.into_iter().filter_map(one).collect()))
    }
}

impl JsonSchema for Counts {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Counts".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "object", "additionalProperties": {"type": "integer"}})
    }
}

/// An event: its header, its own fields and its place in the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventView {
    pub seq: u64,
    pub ts: Timestamp,
    pub event: String,
    pub v: u32,
    pub repo: String,
    pub agent: String,
    pub task: Option<String>,
    /// The event's own fields, which are free in form.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
    pub prev: String,
    pub hash: String,
}

impl EventView {
    /// Returns a field that is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key).and_then(Value::as_str)
    }
}

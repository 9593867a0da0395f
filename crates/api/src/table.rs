//! The one table of operations. Every door is checked against it.

use crate::fleet::*;
use crate::github::*;
use crate::host::*;
use crate::input::*;
use crate::merging::*;
use crate::output::*;
use crate::pages::*;
use crate::post::*;
use crate::rendering::RenderTask;
use crate::runs::*;
use crate::step::Several;
use comity_core::command::{
    NewBudget, NewDirective, NewInterface, NewMemory, NewTask, Question, Submission,
};
use comity_core::role::Verb;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};

/// What an operation does to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It runs a command of the rules.
    Write,
    Read,
    /// It answers with one output after the other until it is told to stop.
    Stream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    CommandLine,
    /// `collab.*` JSON-RPC, under the method's own name.
    Rpc(&'static str),
    Mcp,
    Http,
}

/// One thing that a caller can do.
pub struct Row {
    /// The words of the command line, joined by a dot.
    pub name: &'static str,
    pub kind: Kind,
    /// What the permission table calls it; none for what anybody may do, for what only a person may do, or where the
    /// verb depends on the input.
    pub verb: Option<Verb>,
    /// One sentence, imperative, without a full stop.
    pub help: &'static str,
    pub doors: &'static [Door],
    pub input: fn() -> Schema,
    pub output: fn() -> Schema,
    /// Describes input and output with references to what the generator collects.
    pub describe: fn(&mut SchemaGenerator) -> (Schema, Schema),
}

/// An operation by its type: what goes in and what comes out.
pub trait Operation {
    const ROW: &'static Row;
    type Input;
    type Output;
}

/// Makes a schema without references and without number formats, which clients of MCP do not understand.
fn schema<T: schemars::JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.into_generator().into_root_schema_for::<T>()
}

/// Finds a row by its name.
pub fn row(name: &str) -> Option<&'static Row> {
    TABLE.iter().copied().find(|row| row.name == name)
}

const ALL: &[Door] = &[Door::CommandLine, Door::Mcp, Door::Http];
/// What only a page shows.
const PAGES: &[Door] = &[Door::Http];
const LOCAL: &[Door] = &[Door::CommandLine];
const PEOPLE: &[Door] = &[Door::CommandLine, Door::Http];
/// Of a task, several at once: the command line takes several ids, a method of JSON-RPC changes several fields.
const SEVERAL: &[Door] = &[
    Door::CommandLine,
    Door::Rpc("collab.update_task"),
    Door::Rpc("collab.link_external"),
    Door::Http,
];
/// An entry of `agents.json`, with fields that only other tools know.
const DESCRIBE: &[Door] = &[Door::Rpc("collab.update_agent")];
/// The methods that answer with a file of the tree.
const TREE: &[Door] = &[
    Door::CommandLine,
    Door::Rpc("collab.get_state"),
    Door::Rpc("collab.list_agents"),
    Door::Rpc("collab.generate_log"),
];

macro_rules! verb {
    (none) => {
        None
    };
    ($verb:ident) => {
        Some(Verb::$verb)
    };
}

macro_rules! table {
    ($($marker:ident $name:literal $kind:ident $verb:ident $doors:expr, $input:ty => $output:ty, $help:literal;)*) => {
        /// Operations as types, for handlers and for callers of this process.
        pub mod op {
            use super::*;
            $(
                #[doc = $help]
                pub enum $marker {}

                impl Operation for $marker {
                    const ROW: &'static Row = &Row {
                        name: $name,
                        kind: Kind::$kind,
                        verb: verb!($verb),
                        help: $help,
                        doors: $doors,
                        input: schema::<$input>,
                        output: schema::<$output>,
                        describe: |schemas| {
                            (schemas.subschema_for::<$input>(), schemas.subschema_for::<$output>())
                        },
                    };
                    type Input = $input;
                    type Output = $output;
                }
            )*
        }

        /// Every operation, in the order of the documentation.
        pub const TABLE: &[&Row] = &[$(<op::$marker as Operation>::ROW,)*];
    };
}

/// A method of JSON-RPC that no tool of MCP calls.
macro_rules! own_rpc {
    ($method:literal) => {
        &[Door::CommandLine, Door::Rpc($method), Door::Http]
    };
}

macro_rules! rpc {
    ($method:literal) => {
        &[Door::CommandLine, Door::Rpc($method), Door::Mcp, Door::Http]
    };
}

table! {
    TaskCreate "task.create" Write Create rpc!("collab.create_task"), NewTask => TaskAnswer, "Create a task";
    TaskBreakdown "task.breakdown" Write Create PEOPLE, Breakdown => TasksAnswer, "Create the tasks of a plan, all or none";
    TaskList "task.list" Read none rpc!("collab.list_tasks"), TaskFilter => TasksAnswer, "List tasks";
    TaskShow "task.show" Read none ALL, ById => BriefedTask, "Show a task";
    TaskStory "task.story" Read none PEOPLE, ById => StoryAnswer, "Show a task with what was asked about it and what happened to it";
    TaskWhy "task.why" Read none ALL, ById => WhyAnswer, "Explain the status of a task, and what to do next";
    TaskMission "task.mission" Read none PEOPLE, ById => MissionAnswer, "Show a task with the mission for its worker";
    TaskIntervention "task.intervention" Read none PEOPLE, ById => InterventionAnswer, "Show a stuck task with its events, errors and questions";
    TaskUpdate "task.update" Write Update PEOPLE, UpdateTask => TaskAnswer, "Change fields of a task";
    TaskSeveral "task.several" Write none SEVERAL, Several => TasksAnswer, "Run several operations on tasks, all or none";
    TaskDepend "task.depend" Write Update PEOPLE, Depend => TaskAnswer, "Add or remove a dependency";
    TaskAssign "task.assign" Write Assign own_rpc!("collab.auto_assign"), Assign => TaskAnswer, "Reserve a task for an agent";
    TaskLink "task.link" Write Link PEOPLE, Link => TaskAnswer, "Link a task to an item of another system";
    TaskClaim "task.claim" Write Claim ALL, Claim => ClaimAnswer, "Claim a task, or the best ready one, with leases on its files";
    TaskStart "task.start" Write Start ALL, Start => BriefedTask, "Start or continue the work on a task";
    TaskSubmit "task.submit" Write Submit ALL, Submission => SubmitAnswer, "Submit the work for review";
    TaskReview "task.review" Write Review ALL, TaskVerbInput => TaskAnswer, "Take the review of a task, so that nobody else does it, too";
    TaskApprove "task.approve" Write Approve ALL, TaskVerbInput => TaskAnswer, "Approve the work";
    TaskRequestChanges "task.request-changes" Write RequestChanges ALL, TaskVerbInput => TaskAnswer, "Send the work back for changes";
    TaskMerge "task.merge" Write Merge PEOPLE, TaskVerbInput => TaskAnswer, "Start to merge approved work";
    TaskDone "task.done" Write Done PEOPLE, Done => TaskAnswer, "Finish a task";
    TaskLand "task.land" Write Merge LOCAL, LandTask => LandAnswer, "Merge approved work into its branch, check the result, and finish the task";
    TaskBlock "task.block" Write Block ALL, Block => TaskAnswer, "Block a task until it gets what it needs";
    TaskAnswerQuestions "task.answer" Write AnswerForPlanner PEOPLE, AnswerTask => TaskAnswer, "Answer the questions of a blocked task";
    TaskIntervene "task.intervene" Write none PEOPLE, Intervene => TaskAnswer, "Look at a stuck task, or say how it continues";
    TaskUnblock "task.unblock" Write Unblock PEOPLE, TaskVerbInput => TaskAnswer, "Put a blocked task back into the queue";
    TaskFail "task.fail" Write Fail ALL, TaskVerbInput => TaskAnswer, "Report that the attempt failed";
    TaskRelease "task.release" Write Release ALL, TaskVerbInput => TaskAnswer, "Release a claimed task";
    TaskAbandon "task.abandon" Write Abandon PEOPLE, TaskVerbInput => TaskAnswer, "Abandon a task";
    TaskRequeue "task.requeue" Write Requeue PEOPLE, TaskVerbInput => TaskAnswer, "Put a task back into the queue";
    TaskReopen "task.reopen" Write Reopen PEOPLE, TaskVerbInput => TaskAnswer, "Reopen a finished task";
    TaskUndo "task.undo" Write none PEOPLE, UndoStep => TaskAnswer, "Take your last command on a task back";
    TaskCheck "task.check" Write Check ALL, CheckItem => TaskAnswer, "Check off or waive a checklist item";
    TaskSubtask "task.subtask" Write Subtask ALL, Subtask => TaskAnswer, "Start or complete a step of the work";
    TaskHandoff "task.handoff" Write Note PEOPLE, Handoff => BriefedTask, "Continue a task in a fresh context";
    TaskTransition "task.transition" Write none own_rpc!("collab.transition_task"), Transition => TaskAnswer, "Move a task to a status";
    LeaseAcquire "lease.acquire" Write Lease rpc!("collab.acquire_lease"), AcquireLeases => LeasesAnswer, "Take leases on paths, all or none";
    LeaseRenew "lease.renew" Write Lease own_rpc!("collab.renew_lease"), RenewLeases => LeasesAnswer, "Renew leases";
    LeaseRelease "lease.release" Write Lease rpc!("collab.release_lease"), ReleaseLeases => ReleasedAnswer, "Release leases";
    LeaseList "lease.list" Read none ALL, LeaseFilter => LeasesPage, "List live leases";
    LeaseCheck "lease.check" Read none ALL, CheckPaths => PathsAnswer, "Check whether paths are free";
    LeaseReclaim "lease.reclaim" Write Reclaim own_rpc!("collab.reclaim"), Nothing => SweptAnswer, "End the leases and claims that have expired";
    AgentRegister "agent.register" Write Register PEOPLE, RegisterAgent => AgentAnswer, "Register an agent, or set its roles and skills";
    AgentDescribe "agent.describe" Write Heartbeat DESCRIBE, DescribeAgent => AgentAnswer, "Record what is known of an agent";
    AgentList "agent.list" Read none ALL, AgentFilter => AgentsPage, "List agents";
    AgentShow "agent.show" Read none PEOPLE, ById => AgentAnswer, "Show an agent and what it holds";
    AgentHeartbeat "agent.heartbeat" Write Heartbeat ALL, Nothing => AgentAnswer, "Give a sign of life";
    AgentSuggest "agent.suggest" Read none own_rpc!("collab.suggest_assignee"), SuggestAgents => SuggestionsAnswer, "Suggest agents for a piece of work";
    GateList "gate.list" Read none PEOPLE, ById => GatesAnswer, "List the gates of a task";
    GateRecord "gate.record" Write Record ALL, RecordGate => GateAnswer, "Record evidence for a gate";
    GateWaive "gate.waive" Write Waive PEOPLE, WaiveGate => TaskAnswer, "Waive a gate, with a reason";
    GateRun "gate.run" Write Record LOCAL, RunGates => RunGatesAnswer, "Run gates in a clean clone of the commit, and record what they say";
    DecisionAsk "decision.ask" Write Ask ALL, Question => DecisionAnswer, "Ask a question";
    DecisionList "decision.list" Read none ALL, DecisionFilter => DecisionsPage, "List questions";
    DecisionShow "decision.show" Read none ALL, ById => DecisionAnswer, "Show a question";
    DecisionAnswerOne "decision.answer" Write AnswerForPlanner PEOPLE, AnswerDecision => AnsweredDecision, "Answer a question";
    DecisionWait "decision.wait" Read none PEOPLE, WaitForDecision => DecisionAnswer, "Wait for an answer";
    MemoryWrite "memory.write" Write Remember ALL, NewMemory => MemoryAnswer, "Write a memory";
    MemoryList "memory.list" Read none ALL, ListMemories => MemoriesPage, "List memories";
    MemoryShow "memory.show" Read none PEOPLE, ById => MemoryAnswer, "Show a memory";
    MemorySearch "memory.search" Read none ALL, SearchMemories => MemoriesPage, "Find memories that have all words of a query, best match first, and what agents left for each other";
    MemoryUpdate "memory.update" Write Remember PEOPLE, UpdateMemory => MemoryAnswer, "Change a memory in place, under the same id";
    MemoryForget "memory.forget" Write Forget PEOPLE, ForgetMemory => MemoryAnswer, "Forget a memory";
    DirectiveCreate "directive.create" Write Direct PEOPLE, NewDirective => DirectiveAnswer, "Give a standing instruction";
    DirectiveList "directive.list" Read none PEOPLE, ListDirectives => DirectivesPage, "List standing instructions";
    DirectiveShow "directive.show" Read none PEOPLE, ById => DirectiveAnswer, "Show a standing instruction";
    DirectiveToggle "directive.toggle" Write Direct PEOPLE, ToggleDirective => DirectiveAnswer, "Switch a standing instruction on or off";
    DirectiveDelete "directive.delete" Write Direct PEOPLE, DeleteDirective => DirectiveAnswer, "Delete a standing instruction";
    DirectiveTrigger "directive.trigger" Write Trigger PEOPLE, TriggerDirective => DirectiveAnswer, "Record that you follow a standing instruction now";
    AgentDefineList "agent.define.list" Read none LOCAL, Nothing => DefinedAgents, "List the agents that a run can be started with";
    AgentDefineShow "agent.define.show" Read none LOCAL, DefinitionOf => DefinedAgent, "Show an agent with its prompt";
    AgentDefineCheck "agent.define.check" Read none LOCAL, Nothing => DefinedAgents, "Check the definitions of the project; refuse if one cannot be used";
    Run "run" Write Dispatch LOCAL, StartRun => StartedRun, "Start an agent on a task, in a work tree of its own";
    Runs "runs" Read none PEOPLE, RunFilter => RunsPage, "List the runs of agents";
    RunShow "run.show" Read none PEOPLE, ById => RunAnswer, "Show a run";
    RunLogs "run.logs" Read none PEOPLE, RunLogsOf => RunLogsAnswer, "Show what the agent of a run said";
    RunWhy "run.why" Read none PEOPLE, ById => WhyRun, "Explain why the supervisor started a run";
    RunStop "run.stop" Write Dispatch PEOPLE, StopRun => RunAnswer, "Stop a run, and put its task back into the queue";
    RunPause "run.pause" Write Dispatch PEOPLE, PauseRun => RunAnswer, "Pause a run";
    RunResume "run.resume" Write Dispatch PEOPLE, ResumeRun => RunAnswer, "Continue a paused run, or start a run that goes on where another one failed";
    RunSteer "run.steer" Write Note LOCAL, SteerRun => RunAnswer, "Say something to the agent of a run while it works";
    RunDiff "run.diff" Read none LOCAL, ById => RunDiffAnswer, "Show what a run changed, as a diff against the commit that it began with";
    WorkspaceList "workspace.list" Read none LOCAL, Nothing => SpacesAnswer, "List the work trees that runs have on this host";
    WorkspaceRemove "workspace.remove" Write Dispatch LOCAL, RemoveSpace => SpacesAnswer, "Remove the work tree of a run; its commits and uncommitted files are kept under refs/comity/run/";
    WorkspaceGc "workspace.gc" Write Dispatch LOCAL, CollectSpaces => SpacesAnswer, "Remove the work trees of finished tasks";
    Workers "workers" Read none PEOPLE, Nothing => WorkersAnswer, "List the workers on all hosts, and the runs that they have";
    Cost "cost" Read none PEOPLE, CostFilter => CostAnswer, "Show what the runs of agents cost";
    ObjectiveDispatch "objective.dispatch" Write Dispatch PEOPLE, DispatchPiece => PieceAnswer, "Send an agent out for a piece of the objective that you look after";
    ObjectiveComplete "objective.complete" Write none PEOPLE, CompleteObjective => RunAnswer, "Say that every criterion of your objective is met, and what shows it";
    ObjectiveBlocked "objective.blocked" Write Block PEOPLE, BlockObjective => TaskAnswer, "Ask for the decision without which you cannot go on with your objective";
    MergeQueue "merge.queue" Read none PEOPLE, Nothing => MergeQueueAnswer, "List approved work that waits to be merged, in order";
    MergeProbe "merge.probe" Write Work LOCAL, Nothing => ProbesAnswer, "Compare the work of runs that are under way, and tell the later one of each conflict";
    MergeRun "merge.run" Write MergeQueue LOCAL, RunMerges => MergeRunAnswer, "Merge approved work in batches, check each batch, and finish its tasks";
    Release "release" Write MergeQueue LOCAL, ReleaseTag => ReleaseAnswer, "Tag a release, and record the tasks that are in it";
    BudgetSet "budget.set" Write Budget PEOPLE, NewBudget => BudgetsAnswer, "Set what runs may cost";
    BudgetList "budget.list" Read none PEOPLE, Nothing => BudgetsAnswer, "List budgets, and what is used of them";
    BudgetClear "budget.clear" Write Budget PEOPLE, ClearBudget => BudgetsAnswer, "Remove a budget";
    Note "note" Write Note ALL, WriteNote => EventAnswer, "Write a note into the log";
    Tell "tell" Write Note ALL, TellText => ToldAnswer, "Send a short text to an agent, a task, a role or all; it is delivered once";
    PadShow "pad.show" Read none ALL, PadOf => PadAnswer, "Show the page that those on a piece of work share";
    PadAppend "pad.append" Write Note ALL, AppendToPad => PadAnswer, "Add a text at the end of the shared page";
    PadWrite "pad.write" Write Note PEOPLE, WritePad => PadAnswer, "Replace the shared page, or one section of it";
    PadHistory "pad.history" Read none PEOPLE, PadOf => PadVersions, "Show the versions of the shared page, the newest first";
    InterfacePublish "interface.publish" Write Note PEOPLE, NewInterface => InterfaceAnswer, "Publish a version of an interface that two sides build against";
    InterfaceShow "interface.show" Read none ALL, ShowInterface => InterfaceAnswer, "Show an interface";
    InterfaceList "interface.list" Read none ALL, ListInterfaces => InterfacesPage, "List interfaces";
    Brief "brief" Read none ALL, AskBrief => BriefAnswer, "Show what others left for whoever works on these paths or on a task";
    EventEmit "event.emit" Write Emit own_rpc!("collab.emit_event"), EmitEvent => EventAnswer, "Report an event to the log";
    EventList "event.list" Read none ALL, EventFilter => EventsPage, "List events";
    EventTail "event.tail" Stream none PEOPLE, TailEvents => EventView, "Follow the log as it grows";
    ContractValidate "contract.validate" Read none PEOPLE, ValidateContract => ValidateAnswer, "Check a contract and list all its problems";
    ContractRender "contract.render" Read none PEOPLE, RenderTask => RenderedTask, "Write a task as a contract";
    ContractApply "contract.apply" Write none PEOPLE, ApplyContract => AppliedAnswer, "Carry out what the report of an agent asks for";
    ContractSchema "contract.schema" Read none PEOPLE, ContractOfKind => SchemaAnswer, "Print the JSON Schema of a kind of contract";
    GuardCheck "guard.check" Read none LOCAL, CheckWork => GuardAnswer, "Check work against the constraints of its task and the leases of others";
    GuardPush "guard.push" Read none LOCAL, CheckPush => PushAnswer, "Refuse pushes of agents to protected branches, as git's pre-push hook";
    GuardStaged "guard.staged" Read none LOCAL, Nothing => StagedAnswer, "Check the files of the next commit against the leases of others";
    GuardCommit "guard.commit" Read none PEOPLE, CheckMessage => MessageAnswer, "Check a commit message against the template type(task-id): summary";
    Snapshot "snapshot" Read none LOCAL, TakeSnapshot => SnapshotsAnswer, "Keep the uncommitted work of this work tree as a commit, without touching it";
    Log "log" Read none PEOPLE, LogFilter => EventsPage, "Show what happened, the newest first";
    LogVerify "log.verify" Read none PEOPLE, Nothing => VerifyAnswer, "Check the hash chain of the log, and the state against the log";
    LogRebuild "log.rebuild" Write Reclaim LOCAL, Nothing => RebuildAnswer, "Rebuild the state from the log";
    LogHead "log.head" Read none PEOPLE, Nothing => HeadAnswer, "Show the end of the log; keep it elsewhere to notice a rewritten log";
    ReportLog "report.log" Read none PEOPLE, Nothing => ReportAnswer, "Report what happened, task by task";
    ReportBoard "report.board" Read none ALL, Nothing => ReportAnswer, "Report all tasks, by status";
    ImportBeads "import.beads" Write none PEOPLE, ImportFile => ImportReport, "Import issues from beads";
    ImportNeo "import.neo" Write none LOCAL, ImportDirectory => ImportReport, "Import decisions, directives, memories and tasks from neo";
    ImportTaskmaster "import.taskmaster" Write none PEOPLE, ImportFile => ImportReport, "Import tasks from Task Master";
    NeoAsk "neo.ask" Write Ask LOCAL, NeoQuestion => DecisionAnswer, "Ask a question with a type that only neo has";
    ImportCollab "import.collab" Write none LOCAL, ImportDirectory => SyncReport, "Import the tasks, locks, agents and events of a collaboration/ tree";
    ImportV1 "import.v1" Write none LOCAL, OlderState => SyncReport, "Import a state.json of an older collaboration/ tree";
    ExportNeo "export.neo" Read none LOCAL, NeoDirectory => NeoExport, "Write decisions, directives, memories and tasks as neo's files";
    ExportCollab "export.collab" Read none LOCAL, Directory => SyncReport, "Write a collaboration/ tree";
    ExportJson "export.json" Read none LOCAL, Nothing => RepositoryExport, "Print everything that the repository has now as one JSON object";
    SyncCollab "sync.collab" Write none TREE, TreeDirectory => SyncReport, "Keep a collaboration/ tree and the store in sync";
    ImportGithub "import.github" Write Create LOCAL, ImportIssues => GithubImport, "Import issues from GitHub as tasks";
    GithubSetup "github.setup" Write none LOCAL, SetupGithub => GithubSetupAnswer, "Create the labels of the protocol in the repository on GitHub";
    GithubSync "github.sync" Write none LOCAL, SyncGithub => GithubSyncAnswer, "Keep issues on GitHub and tasks in sync";
    GithubStatus "github.status" Read none LOCAL, Nothing => GithubStatusAnswer, "Show how far GitHub and the store are in sync";
    GithubQuota "github.quota" Read none LOCAL, Nothing => GithubQuotaAnswer, "Show how much GitHub still accepts from this account";
    GithubDoctor "github.doctor" Read none LOCAL, Nothing => GithubChecks, "Check the token, the labels and the clock against GitHub";
    GithubPublish "github.publish" Write Link LOCAL, PublishTasks => PublishAnswer, "Create issues on GitHub for tasks";
    GithubPr "github.pr" Write Link LOCAL, ById => PullAnswer, "Open a pull request for the submitted work of a task";
    GithubPause "github.pause" Write Update LOCAL, OfIssue => IssueAnswer, "Write nothing to an issue until it is resumed";
    GithubResume "github.resume" Write Update LOCAL, OfIssue => IssueAnswer, "Write to a paused issue again, and try again what could not be sent";
    GithubForget "github.forget" Write none LOCAL, Nothing => ForgottenRows, "Forget what is remembered about GitHub; the next sync reads it again";
    Status "status" Read none ALL, Nothing => StatusAnswer, "Show what is going on, who holds what, and what needs you";
    Why "why" Read none PEOPLE, HistoryOf => HistoryAnswer, "Show how a task, path, commit, agent, lease or decision came to be";
    Board "board" Read none PEOPLE, BoardFilter => BoardAnswer, "Show the board";
    Inbox "inbox" Read none PAGES, Nothing => InboxAnswer, "Show what needs somebody, the most urgent first";
    Timeline "timeline" Read none PAGES, TimeWindow => TimelineAnswer, "Show who did what when";
    Flow "flow" Read none PAGES, FlowDays => FlowAnswer, "Show how long work takes, and what it waits for";
    Tree "tree" Read none PAGES, TreePlace => TreeAnswer, "Show which paths are held";
    Crew "crew" Read none PAGES, Nothing => CrewAnswer, "Show everybody who works here, and on what";
    TaskPanel "task.panel" Read none PAGES, ById => PanelAnswer, "Show everything about a task";
    TaskVerbs "task.verbs" Read none PAGES, ById => Vec<VerbView>, "List what the caller could do with a task now";
    TaskEvidence "task.evidence" Read none PAGES, ById => EvidenceAnswer, "List the evidence of a task";
    TaskDiff "task.diff" Read none PAGES, ById => DiffAnswer, "Show what the submitted work changes";
    Watchdog "watchdog" Write Reclaim LOCAL, Nothing => SweptAnswer, "End expired claims and leases, and apply deadlines";
}

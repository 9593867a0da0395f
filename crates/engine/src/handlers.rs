//! The handlers of the rows that are the engine's own: what every door calls.

use crate::answer::{CommandOutput, Reply};
use crate::caller::Caller;
use crate::observer::Answered;
use crate::service::Service;
use crate::stream::{Sink, Stop, StreamHandler};
use comity_api::{
    AppendToPad, BriefAnswer, BriefedTask, ClaimAnswer, EventAnswer, InterfaceAnswer, Operation,
    PadAnswer, Row, Several, SweptAnswer, TaskAnswer, TaskStep, TaskVerbInput, WriteNote, WritePad,
    op,
};
use comity_core::command::{CHANGE_NOTE, ClaimWish, Command, NewInterface, Submission, TaskVerb};
use comity_core::hint::say;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_protocol::neotx::named::Named;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// Answers one operation.
pub trait Handler<O: Operation> {
    fn handle(&self, caller: &Caller, input: O::Input) -> Result<Answered<O::Output>, Refusal>;
}

impl Service {
    /// Calls an operation by its type, for a caller that reads no remarks.
    pub fn call<O: Operation>(&self, caller: &Caller, input: O::Input) -> Result<O::Output, Refusal>
    where
        Service: Handler<O>,
    {
        Ok(self.handle(caller, input)?.output)
    }
}

type ByJson = Box<dyn Fn(&Caller, Value) -> Result<Answered<Value>, Refusal> + Send + Sync>;

type StreamByJson =
    Box<dyn Fn(&Caller, Value, Sink<Value>, &Stop) -> Result<(), Refusal> + Send + Sync>;

/// Handlers by the names of their rows, for doors that speak JSON.
#[derive(Default)]
pub struct Handlers {
    by_name: BTreeMap<&'static str, ByJson>,
    streams: BTreeMap<&'static str, StreamByJson>,
    rows: Vec<&'static Row>,
}

impl Handlers {
    /// Registers the handler of a row.
    pub fn add<O>(&mut self, handler: impl Handler<O> + Send + Sync + 'static)
    where
        O: Operation,
        O::Input: DeserializeOwned,
        O::Output: Serialize,
    {
        let call = move |caller: &Caller, input: Value| {
            let Answered { output, remarks } = handler.handle(caller, read::<O>(input)?)?;
            let output = serde_json::to_value(output)
                .map_err(|error| Refusal::new(Code::Internal, format!("an answer: {error}")))?;
            Ok(Answered { output, remarks })
        };
        self.by_name.insert(O::ROW.name, Box::new(call));
        self.rows.push(O::ROW);
    }

    /// Registers the handler of a row that is a stream.
    pub fn add_stream<O>(&mut self, handler: impl StreamHandler<O> + Send + Sync + 'static)
    where
        O: Operation,
        O::Input: DeserializeOwned,
        O::Output: Serialize,
    {
        let call = move |caller: &Caller, input: Value, mut sink: Sink<Value>, stop: &Stop| {
            let written = move |output: &O::Output| {
                // An output that cannot be written ends the stream.
                serde_json::to_value(output).is_ok_and(|output| sink(&output))
            };
            handler.stream(caller, read::<O>(input)?, Box::new(written), stop)
        };
        self.streams.insert(O::ROW.name, Box::new(call));
        self.rows.push(O::ROW);
    }

    /// Calls an operation by its name, with JSON in and JSON out.
    pub fn call(
        &self,
        name: &str,
        caller: &Caller,
        input: Value,
    ) -> Result<Answered<Value>, Refusal> {
        let call = self.by_name.get(name).ok_or_else(|| no_operation(name))?;
        call(caller, input)
    }

    /// Starts a stream by its name, with JSON in and JSON out.
    pub fn stream(
        &self,
        name: &str,
        caller: &Caller,
        input: Value,
        sink: Sink<Value>,
        stop: &Stop,
    ) -> Result<(), Refusal> {
        let call = self.streams.get(name).ok_or_else(|| no_operation(name))?;
        call(caller, input, sink, stop)
    }

    /// Lists the rows that have a handler, one for each time that a handler was added.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> {
        self.rows.iter().copied()
    }
}

fn read<O: Operation>(input: Value) -> Result<O::Input, Refusal>
where
    O::Input: DeserializeOwned,
{
    serde_json::from_value(input)
        .map_err(|error| Refusal::input(format!("{}: {error}", O::ROW.name)))
}

fn no_operation(name: &str) -> Refusal {
    Refusal::new(Code::NotFound, format!("there is no operation {name:?}"))
}

fn moved(verb: TaskVerb, input: TaskVerbInput) -> Command {
    Command::Move { verb, id: input.id, reason: input.reason }
}

/// Implements handlers for a type that can be cloned, and a function that registers them.
#[macro_export]
macro_rules! handlers_of {
    ($type:ty, $register:ident {
        $($row:ident($it:ident, $caller:ident, $input:ident) => $answer:expr;)*
    }) => {
        $(impl $crate::Handler<comity_api::op::$row> for $type {
            fn handle(
                &self,
                $caller: &$crate::Caller,
                $input: <comity_api::op::$row as comity_api::Operation>::Input,
            ) -> Result<
                $crate::Answered<<comity_api::op::$row as comity_api::Operation>::Output>,
                comity_core::refusal::Refusal,
            > {
                if let Some(answer) =
                    $crate::far_call::<comity_api::op::$row>(self, $caller, &$input)
                {
                    return answer;
                }
                let $it = self;
                let _ = (&$it, $caller, &$input);
                let answer: Result<_, comity_core::refusal::Refusal> = $answer;
                Ok(answer?.into())
            }
        })*

        pub fn $register(of: &$type, handlers: &mut $crate::Handlers) {
            $(handlers.add::<comity_api::op::$row>(of.clone());)*
        }
    };
}

/// Fills in what a report names, unless the caller names something else.
fn with_names(mut given: Submission) -> Submission {
    let Some(report) = given.report.as_deref() else { return given };
    if given.commit.is_none() && given.branch.is_none() {
        let named = Named::by(report);
        (given.commit, given.branch) = (named.commit, named.branch);
    }
    let url = report.other.get("pr_url").and_then(Value::as_str);
    let url = url.filter(|url| !url.trim().is_empty()).map(str::to_owned);
    given.pr = given.pr.or(url);
    given
}

fn with_names_each(Several { ids, steps }: Several) -> Several {
    let one = |step| match step {
        TaskStep::Submit(given) => TaskStep::Submit(with_names(given)),
        step => step,
    };
    Several { ids, steps: steps.into_iter().map(one).collect() }
}

macro_rules! handlers {
    (
        reads { $($read:ident($reader:ident, $asked:ident) => $look:expr;)* }
        writes { $($write:ident($given:ident) => $command:expr;)* }
    ) => {
        crate::handlers_of! { Service, register_commands {
            $($read(service, caller, $asked) => service.read(caller, |$reader| $look);)*
            $($write(service, caller, $given) => {
                let Answered { output, remarks } = service.run(caller, ($command).into())?;
                let output: <op::$write as Operation>::Output = output.take()?;
                Ok(Answered { output, remarks })
            };)*
        } }
    };
}

/// Registers every handler of the engine.
pub fn register(service: &Service, handlers: &mut Handlers) {
    register_commands(service, handlers);
    register_own(service, handlers);
    handlers.add_stream::<op::EventTail>(service.clone());
    crate::contracts::register(&crate::Contracts, handlers);
}

handlers! {
    reads {
        TaskList(reader, input) => reader.tasks(&input);
        TaskShow(reader, input) => reader.briefed(&input.id);
        PadShow(reader, input) => reader.pad(input.scope.as_deref());
        PadHistory(reader, input) => reader.pad_history(input.scope.as_deref());
        InterfaceShow(reader, input) => reader.interface(&input);
        InterfaceList(reader, input) => reader.interfaces(&input);
        Brief(reader, input) => Ok(BriefAnswer { brief: reader.asked_brief(&input)? });
        TaskStory(reader, input) => reader.story(&input.id);
        TaskWhy(reader, input) => reader.why(&input.id);
        TaskMission(reader, input) => reader.mission(&input.id);
        TaskIntervention(reader, input) => reader.intervention(&input.id);
        Log(reader, input) => reader.latest(&input);
        LeaseList(reader, input) => reader.leases(&input);
        LeaseCheck(reader, input) => reader.check_paths(&input);
        AgentList(reader, input) => reader.agents(&input);
        AgentShow(reader, input) => reader.agent(&input.id);
        AgentSuggest(reader, input) => reader.suggest(&input);
        GateList(reader, input) => reader.gates(&input.id);
        DecisionList(reader, input) => reader.decisions(&input);
        DecisionShow(reader, input) => reader.decision(&input.id);
        MemoryList(reader, input) => reader.memories(&input);
        MemoryShow(reader, input) => reader.memory(&input.id);
        MemorySearch(reader, input) => reader.search(&input);
        DirectiveList(reader, input) => reader.directives(&input);
        DirectiveShow(reader, input) => reader.directive(&input.id);
        Runs(reader, input) => reader.runs(&input);
        RunShow(reader, input) => reader.run(&input.id);
        RunWhy(reader, input) => reader.run_why(&input.id);
        Workers(reader, input) => reader.workers();
        Cost(reader, input) => reader.cost(&input);
        BudgetList(reader, input) => reader.budgets();
        MergeQueue(reader, input) => reader.merge_queue();
        EventList(reader, input) => reader.events(&input);
        ContractRender(reader, input) => reader.rendered(&input);
        ExportJson(reader, input) => reader.export();
        Status(reader, input) => crate::status::status(reader);
        Board(reader, input) => reader.board(&input);
        Inbox(reader, input) => reader.inbox();
        Timeline(reader, input) => reader.timeline(&input);
        Flow(reader, input) => reader.flow(&input);
        Crew(reader, input) => reader.crew();
        TaskPanel(reader, input) => reader.panel(&input);
        TaskVerbs(reader, input) => reader.verbs(&input);
        TaskEvidence(reader, input) => reader.evidence(&input);
    }
    writes {
        TaskCreate(input) => Command::CreateTask(Box::new(input));
        TaskBreakdown(input) => input;
        TaskUpdate(input) => input;
        TaskSeveral(input) => with_names_each(input);
        TaskDepend(input) => input;
        TaskAssign(input) => input;
        TaskLink(input) => input;
        TaskSubmit(input) => Command::Submit(with_names(input));
        TaskReview(input) => moved(TaskVerb::Review, input);
        TaskApprove(input) => moved(TaskVerb::Approve, input);
        TaskRequestChanges(input) => moved(TaskVerb::RequestChanges, input);
        TaskMerge(input) => moved(TaskVerb::Merge, input);
        TaskDone(input) => input;
        TaskBlock(input) => input;
        TaskIntervene(input) => input;
        TaskUnblock(input) => moved(TaskVerb::Unblock, input);
        TaskFail(input) => moved(TaskVerb::Fail, input);
        TaskRelease(input) => moved(TaskVerb::Release, input);
        TaskAbandon(input) => moved(TaskVerb::Abandon, input);
        TaskRequeue(input) => moved(TaskVerb::Requeue, input);
        TaskReopen(input) => moved(TaskVerb::Reopen, input);
        TaskCheck(input) => input;
        TaskSubtask(input) => input;
        TaskTransition(input) => input;
        LeaseRenew(input) => input;
        LeaseRelease(input) => input;
        LeaseReclaim(input) => Command::Sweep;
        AgentRegister(input) => input;
        AgentDescribe(input) => input;
        AgentHeartbeat(input) => Command::Heartbeat;
        GateRecord(input) => input;
        GateWaive(input) => input;
        DecisionAsk(input) => Command::DecisionAsk(Box::new(input));
        DecisionAnswerOne(input) => input;
        MemoryWrite(input) => Command::MemoryWrite(Box::new(input));
        MemoryUpdate(input) => input;
        MemoryForget(input) => input;
        DirectiveCreate(input) => Command::DirectiveCreate(Box::new(input));
        DirectiveToggle(input) => input;
        DirectiveDelete(input) => input;
        DirectiveTrigger(input) => input;
        RunStop(input) => input;
        RunPause(input) => input;
        BudgetSet(input) => Command::BudgetSet(input);
        BudgetClear(input) => input;
        Tell(input) => input;
        EventEmit(input) => input;
    }
}

/// Runs a command, and keeps what an observer remarked on it.
fn answered<T: CommandOutput>(
    service: &Service,
    caller: &Caller,
    command: impl Into<Command>,
) -> Result<Answered<T>, Refusal> {
    let Answered { output, remarks } = service.run(caller, command.into())?;
    Ok(Answered { output: output.take()?, remarks })
}

crate::handlers_of! { Service, register_own {
    TaskClaim(service, caller, input) => {
        let (wait, wish) = (input.wait, ClaimWish::from(input));
        let wanted = wish.id.clone();
        let done = match wait {
            Some(wait) => service.claim_waiting(caller, &wish, wait),
            None => service.run(caller, Command::Claim(wish)),
        };
        let Answered { output, remarks } =
            done.map_err(|refusal| service.briefed_refusal(caller, wanted.as_deref(), refusal))
                .map_err(|refusal| service.says_what_waits(caller, refusal))?;
        let again = matches!(output, Reply::Again(_));
        let mut output = output.take::<ClaimAnswer>()?;
        output.brief = service.brief_of_task(caller, &output.task.id, again);
        Ok(Answered { output, remarks })
    };
    TaskStart(service, caller, input) => {
        let id = input.id.clone();
        // Whoever has claimed the task was given the brief then.
        let was_claimed =
            service.task(caller, &id).is_ok_and(|task| task.status == Status::Claimed);
        let Answered { output, remarks } = service
            .run(caller, input.into())
            .map_err(|refusal| service.briefed_refusal(caller, Some(&id), refusal))?;
        let again = matches!(output, Reply::Again(_));
        let TaskAnswer { task } = output.take()?;
        let brief = || service.brief_of_task(caller, &task.id, again);
        let brief = if was_claimed { None } else { brief() };
        Ok(Answered { output: BriefedTask { task, brief }, remarks })
    };
    TaskHandoff(service, caller, input) => {
        let TaskAnswer { task } = service.run_command(caller, input)?;
        let brief = service.fresh_brief(caller, Some(&task.id)).ok();
        Ok(BriefedTask { task, brief })
    };
    Note(service, caller, input) => {
        if input.kind != CHANGE_NOTE && !input.paths.is_empty() {
            return Err(Refusal::input("only a change is about paths")
                .hint(say("use the type change, or leave ").mention("path").say(" out")));
        }
        let task = input.task.or(service.task_at_hand(caller, input.kind == CHANGE_NOTE)?);
        answered::<EventAnswer>(service, caller, WriteNote { task, ..input })
    };
    PadAppend(service, caller, input) => {
        let scope = service.pad_at_hand(caller, input.scope)?;
        answered::<PadAnswer>(service, caller, AppendToPad { scope, ..input })
    };
    PadWrite(service, caller, input) => {
        let scope = service.pad_at_hand(caller, input.scope)?;
        answered::<PadAnswer>(service, caller, WritePad { scope, ..input })
    };
    InterfacePublish(service, caller, input) => {
        let task = input.task.or(service.task_at_hand(caller, true)?);
        let command = Command::InterfacePublish(Box::new(NewInterface { task, ..input }));
        answered::<InterfaceAnswer>(service, caller, command)
    };
    // Where the log ends does not depend on what has expired.
    LogHead(service, _caller, _input) => service.log_head().map(Answered::from);
    TaskUndo(service, caller, input) => service.undo(caller, input.id.as_deref());
    LeaseAcquire(service, caller, input) => {
        let (wait, paths, command) = (input.wait, input.patterns.clone(), Command::from(input));
        let reply = match wait {
            Some(wait) => {
                let (request, observer) = (caller.request(command), caller.observer.as_ref());
                service.execute_waiting(&request, observer, wait).map(Answered::from)
            }
            None => service.run(caller, command),
        };
        service.brief_of_leases(caller, paths, reply)
    };
    TaskAnswerQuestions(service, caller, input) => {
        let form = match input.comment {
            Some(generation) => crate::AnswerForm::Comment(generation),
            None => crate::AnswerForm::Text,
        };
        let given = service.read_answer(caller, &input.id, &input.text, form)?;
        service.run_command::<TaskAnswer>(caller, Command::AnswerTask(given))
    };
    DecisionWait(service, caller, input) => {
        service.wait_for_decision(caller, &input.id, input.timeout)
    };
    ReportLog(service, caller, input) => service.log_report(caller);
    ReportBoard(service, caller, input) => service.board_report(caller);
    LogVerify(service, caller, input) => service.verify();
    LogRebuild(service, caller, input) => service.rebuild();
    Watchdog(service, caller, input) => {
        // Not as the caller, whose fence and registration have nothing to do with it.
        let actor = comity_core::ids::AgentId::watchdog();
        let watchdog = Caller { actor, fence: None, key: None, ..caller.clone() };
        service.run_command::<SweptAnswer>(&watchdog, Command::Sweep)
    };
} }

//! MCP: the one service that stdio and HTTP offer, in both eras of the protocol.

mod again;
mod answer;
mod args;
mod catalogue;
mod focused;
mod forward;
mod news;
mod tools;
mod waiting;
mod wording;

pub use forward::forward;

use crate::Served;
use crate::runtime::{blocking, failed, run, told_to_end};
use crate::tokens::Holder;
use again::{Again, Line, Question};
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_core::via::Via;
use comity_engine::Caller;
use comity_project::Machine;
use comity_project::identity::Said;
use news::Recent;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    PromptMessage, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    RequestMetaObject, ResourceContents, Role, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError, ServiceExt};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use rmcp::{ErrorData, ServerHandler};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tools::ToolCall;

/// The longest line that a client may send.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// Names of a client's own id of a call: a repeated call has the same one.
const CALL_IDS: [&str; 2] = ["claudecode/toolUseId", "callId"];
/// Before such an id, so that no caller's own key is one by chance.
const KEY_PREFIX: &str = "mcp:";

/// Calls at once; those that wait count, too.
const CALLS_MAX: usize = 256;
/// How long an answer takes to arrive at most, once it is made.
const DELIVERY: Duration = Duration::from_secs(2);

/// How a door tells its callers apart.
#[derive(Clone)]
pub enum Callers {
    /// An agent client started the process.
    OfClient { machine: Box<Machine>, said: Said },
    /// A token names the agent. Without one, the caller may at most read.
    OfTokens,
}

/// The service, as one client or all clients of HTTP use it.
#[derive(Clone)]
pub struct Door {
    served: Served,
    callers: Callers,
    recent: Arc<Recent>,
    again: Arc<Again>,
    places: Arc<Semaphore>,
}

impl Door {
    pub fn new(served: Served, callers: Callers) -> Door {
        Door {
            served,
            callers,
            recent: Arc::default(),
            again: Arc::default(),
            places: Arc::new(Semaphore::new(CALLS_MAX)),
        }
    }

    /// Takes the place of a call, which is free again when what is returned is dropped.
    fn place(&self) -> Result<SemaphorePermit<'_>, Refusal> {
        self.places.try_acquire().map_err(|_| {
            let message = format!("{CALLS_MAX} calls are at work already");
            Refusal::new(Code::LimitExceeded, message)
                .hint("wait for answers before you call again")
        })
    }

    /// Returns who calls, and whether it is known: who is not may only read.
    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<(Caller, bool), Refusal> {
        let anybody = self.served.context.caller();
        let key = call_id(&context.meta);
        let known = match &self.callers {
            Callers::OfClient { machine, said } => {
                let said = of_call(said, &context.meta);
                let ask = || {
                    let known = self.served.context.client(machine, &said)?;
                    Ok(known.map(|known| (known.actor, known.via, known.lasts)))
                };
                self.again.caller(&said, ask)?
            }
            Callers::OfTokens => {
                let parts = context.extensions.get::<axum::http::request::Parts>();
                if let Some(agent) = parts.and_then(|parts| parts.extensions.get::<Caller>()) {
                    return Ok((Caller { key, ..agent.clone() }, true));
                }
                let holder = parts.and_then(|parts| parts.extensions.get::<Holder>());
                holder.map(|holder| (holder.agent.clone(), holder.via()))
            }
        };
        let is_known = known.is_some();
        let (actor, via) = match known {
            Some(known) => known,
            None => (AgentId::parse(NOBODY)?, Via::default()),
        };
        Ok((Caller { actor, via, key, ..anybody }, is_known))
    }

    /// Returns the tools of a caller: whoever looks after an objective has others than whoever works.
    fn tools(&self, context: &RequestContext<RoleServer>) -> Cow<'static, [rmcp::model::Tool]> {
        let leads = || self.caller(context).is_ok_and(|(caller, _)| focused::leads(&caller));
        match self.served.in_run && leads() {
            true => Cow::Owned(focused::tools()),
            false => Cow::Borrowed(tools::all()),
        }
    }

    /// Notes that an answer arrived, a little after it was handed over: what a server that dies until then had to say
    /// comes again.
    fn confirm_later(&self, caller: Caller) {
        let service = self.served.service.clone();
        if !service.has_offers(&caller) {
            return;
        }
        tokio::spawn(async move {
            tokio::time::sleep(DELIVERY).await;
            let _ = blocking(move || service.delivered(&caller)).await;
        });
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<Arc<Line>, Value> {
        let _place = self.place().map_err(|error| answer::refused(&error))?;
        let (caller, is_known) = self.caller(&context).map_err(|error| answer::refused(&error))?;
        let tool = request.name.into_owned();
        let wrote = tools::writes(&tool);
        if wrote && !is_known {
            return Err(answer::refused(&unknown_caller()));
        }
        let arguments = request.arguments.unwrap_or_default();
        if wrote {
            let narrowed = check_scope(&context, &tool, &arguments);
            narrowed.map_err(|error| answer::refused(&error))?;
        }
        // Paths depend on links in the work tree, too.
        let is_asked = !wrote && !arguments.contains_key("paths");
        let question = is_asked.then(|| Question::of(&caller, &arguments)).flatten();
        let mark = question.as_ref().and_then(|_| self.served.service.mark());
        if let (Some(question), Some(mark)) = (&question, mark)
            && (!is_known || self.recent.is_still(caller.actor.as_str(), mark))
            && let Some(line) = self.again.answer(question, mark)
        {
            return Ok(line);
        }
        let call = ToolCall { tool, arguments, caller: caller.clone() };
        let reader = caller.clone();
        let (served, recent) = (self.served.clone(), self.recent.clone());
        // The call is done; news that cannot be read come with the next one.
        let news = move || match is_known {
            true => served.news(&recent, &caller, wrote).unwrap_or_default(),
            false => Vec::new(),
        };
        let (done, news) = self.served.call_tool(call, news, &context.ct).await;
        self.confirm_later(reader);
        let nothing_new = news.is_empty();
        let with_news = |mut answer: Value| {
            if let (Some(fields), false) = (answer.as_object_mut(), news.is_empty()) {
                fields.insert("news".to_owned(), Value::Array(news));
            }
            answer::without_nulls(&mut answer);
            answer
        };
        match done {
            Ok(done) => {
                let line = Arc::new(answer::bounded(with_news(done)));
                if let (Some(question), Some(mark), true) = (question, mark, nothing_new) {
                    let left = self.served.service.still_for();
                    self.again.keep(question, line.clone(), mark, left);
                }
                Ok(line)
            }
            Err(refusal) => Err(with_news(answer::refused(&refusal))),
        }
    }
}

/// Refuses what the token of a call does not reach.
fn check_scope(
    context: &RequestContext<RoleServer>,
    tool: &str,
    arguments: &serde_json::Map<String, Value>,
) -> Result<(), Refusal> {
    let parts = context.extensions.get::<axum::http::request::Parts>();
    let Some(holder) = parts.and_then(|parts| parts.extensions.get::<Holder>()) else {
        return Ok(());
    };
    if holder.scope == crate::tokens::Scope::default() {
        return Ok(());
    }
    let name = wording::operation(tool, arguments);
    let row = comity_api::row(name).ok_or_else(|| {
        Refusal::new(Code::Scope, "this token is narrowed, and does not reach this tool")
    })?;
    let task = arguments.get("task").or_else(|| arguments.get("id"));
    holder.scope.check(row, &serde_json::json!({"id": task, "task": task}))
}

/// Whom reads are made for when nothing names the caller.
const NOBODY: &str = "script:unknown";

fn unknown_caller() -> Refusal {
    let message = "comity does not know which agent you are, so you may only read";
    Refusal::new(Code::RoleForbidden, message).hint(
        "set COMITY_AGENT for the server, or start the server with the option client and the client's name; \
         over HTTP, send a token",
    )
}

/// Returns the key of a call that the client itself would repeat under the same id.
fn call_id(meta: &RequestMetaObject) -> Option<String> {
    let id = CALL_IDS.iter().find_map(|name| meta.get(*name)?.as_str())?;
    Some(format!("{KEY_PREFIX}{id}"))
}

/// Adds what one call says of its session.
fn of_call(said: &Said, meta: &RequestMetaObject) -> Said {
    let text = |name: &str| meta.get(name).and_then(Value::as_str).map(str::to_owned);
    let (session, root_session) = (text("threadId"), text("sessionId"));
    Said { session, root_session, ..said.clone() }
}

fn protocol_error(refusal: &Refusal, uri: &str) -> ErrorData {
    let mut data = answer::refused(refusal);
    if let Some(fields) = data.as_object_mut() {
        fields.insert("uri".to_owned(), uri.into());
    }
    let (message, data) = (refusal.message.clone(), Some(data));
    match refusal.code {
        Code::NotFound => ErrorData::resource_not_found(message, data),
        Code::InvalidInput | Code::AmbiguousId => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}

impl ServerHandler for Door {
    fn get_info(&self) -> ServerConfig {
        let offers = ServerCapabilities::builder();
        let offers = offers.enable_tools().enable_resources().enable_prompts().build();
        let own = Implementation::new("comity", env!("CARGO_PKG_VERSION")).with_title("comity");
        ServerConfig::new(offers).with_server_info(own).with_instructions(catalogue::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools(&context).into_owned()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.tools(&context).iter().any(|tool| tool.name == request.name) {
            let message = format!("Unknown tool: {}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        let (is_refused, line) = match self.call(request, context).await {
            Ok(line) => (false, line),
            Err(refusal) => (true, Arc::new(answer::bounded(refusal))),
        };
        let (line, text) = Arc::unwrap_or_clone(line);
        let content = vec![ContentBlock::text(text)];
        let mut result = match is_refused {
            true => CallToolResult::error(content),
            false => CallToolResult::success(content),
        };
        result.structured_content = Some(line);
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(catalogue::resources()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(catalogue::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let failed = |refusal: Refusal| protocol_error(&refusal, &request.uri);
        let _place = self.place().map_err(failed)?;
        let (caller, _) = self.caller(&context).map_err(failed)?;
        let (served, uri) = (self.served.clone(), request.uri.clone());
        let read = blocking(move || served.read_resource(&caller, &uri)).await;
        let (kind, text) = read.map_err(failed)?;
        let content = ResourceContents::text(text, &request.uri).with_mime_type(kind);
        Ok(ReadResourceResult::new(vec![content]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(catalogue::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let task = arguments.get("task").and_then(Value::as_str);
        let text = catalogue::prompt(&request.name, task).ok_or_else(|| {
            ErrorData::invalid_params(format!("Unknown prompt: {}", request.name), None)
        })?;
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }
}

/// Serves one client on stdin and stdout until it closes them or the process is told to end.
pub fn serve_stdio(
    served: Served,
    machine: Machine,
    client: Option<String>,
) -> Result<(), Refusal> {
    let process = machine.parent;
    let said = Said { client, process, ..Said::default() };
    let callers = Callers::OfClient { machine: Box::new(machine), said };
    let service = served.service.clone();
    let done = run(async move {
        let end = told_to_end()?;
        let (reader, writer) = stdio_pipes();
        let transport = AsyncRwTransport::new(reader, writer).with_max_line_length(LINE_BYTES_MAX);
        let serving = async {
            match Door::new(served, callers).serve(transport).await {
                Ok(running) => running.waiting().await.map(drop).map_err(|e| failed("go on", &e)),
                // A client that changed its mind is no failure of the server.
                Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
                Err(error) => Err(failed("begin", &error)),
            }
        };
        tokio::select! {
            ended = serving => ended,
            () = end => Ok(()),
        }
    });
    service.stop();
    done
}

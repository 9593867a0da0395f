//! Tools that may wait: for a lease, or for an answer. Nobody who waits holds a thread.

use super::args::{self, Ask, LeaseFiles};
use super::tools::{ToolAnswer, ToolCall, json_of, read_further, writes};
use crate::Served;
use crate::runtime::blocking;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Millis;
use comity_engine::{Answered, Caller};
use comity_project::store::Place;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// The longest wait of one call: clients give up at 60 seconds.
const WAIT_SECONDS_MAX: i64 = 50;
/// The same inside a run that comity started, whose client waits for longer.
const WAIT_SECONDS_MAX_IN_RUN: i64 = 1_800;

impl Served {
    /// Calls a tool, then looks for news. `ended` says that nobody wants the answer any more.
    pub async fn call_tool<N: Send + 'static>(
        &self,
        call: ToolCall,
        news: impl FnOnce() -> Vec<N> + Send + 'static,
        ended: &CancellationToken,
    ) -> (ToolAnswer, Vec<N>) {
        let work = async {
            let done = match (call.tool.as_str(), call.waits()) {
                ("lease_files", true) => self.lease_waiting(call).await,
                ("ask", true) => self.ask_waiting(call).await,
                _ => {
                    let is_quick = !writes(&call.tool) && self.is_local();
                    let served = self.clone();
                    let both = move || Ok((served.run_tool(call), news()));
                    // Both on one thread: a read of a file takes less time than the way to another.
                    let both = if is_quick { both() } else { blocking(both).await };
                    return both.unwrap_or_else(|refusal| (Err(refusal), Vec::new()));
                }
            };
            (done, blocking(move || Ok(news())).await.unwrap_or_default())
        };
        tokio::select! {
            done = work => done,
            () = ended.cancelled() => {
                let refusal = Refusal::new(Code::TimedOut, "the client cancelled the call");
                (Err(refusal), Vec::new())
            }
        }
    }

    /// Tells whether reading waits for nobody: writers of a file do not stop its readers.
    fn is_local(&self) -> bool {
        matches!(self.context.store, Place::File(_))
    }

    fn patience(&self, seconds: Option<i64>) -> Millis {
        let most = if self.in_run { WAIT_SECONDS_MAX_IN_RUN } else { WAIT_SECONDS_MAX };
        Millis::from_secs(seconds.unwrap_or_default().clamp(0, most))
    }

    async fn lease_waiting(&self, call: ToolCall) -> ToolAnswer {
        let (done, answer) = oneshot::channel();
        let served = self.clone();
        let asked = blocking(move || {
            let given: LeaseFiles = args::read(&call.tool, call.arguments)?;
            let (caller, input, seconds) = served.leases_wanted(call.caller, given)?;
            let tell = Box::new(move |outcome| drop(done.send(outcome)));
            let (patience, paths) = (served.patience(seconds), input.patterns.clone());
            let (request, observer) = (caller.request(input.into()), caller.observer.clone());
            served.service.submit_waiting(request, observer, patience, tell)?;
            Ok((caller, paths))
        })
        .await
        .map(Box::new)?;
        let reply = answer.await.map_err(|_| ended())?.map(Answered::from);
        let served = self.clone();
        blocking(move || {
            let (caller, paths) = *asked;
            let asked = json!({ "paths": paths });
            let leases = served.service.brief_of_leases(&caller, paths, reply);
            read_further(leases.and_then(|leases| json_of(&leases.output)), asked)
        })
        .await
    }

    async fn ask_waiting(&self, call: ToolCall) -> ToolAnswer {
        let served = self.clone();
        let (asked, caller, patience) = blocking(move || {
            let given: Ask = args::read(&call.tool, call.arguments)?;
            let patience = served.patience(given.wait_seconds);
            let asked = served.ask(call.caller.clone(), given)?;
            Ok((asked, Caller { key: None, ..call.caller }, patience))
        })
        .await?;
        let id = asked.pointer("/decision/id").and_then(Value::as_str).unwrap_or_default();
        let (done, answer) = oneshot::channel();
        let (served, id) = (self.clone(), id.to_owned());
        blocking(move || {
            let tell = Box::new(move |outcome| drop(done.send(outcome)));
            served.waits_for(&caller, &id);
            served.service.when_settled(&caller, &id, Some(patience), tell)
        })
        .await?;
        match answer.await.map_err(|_| ended())? {
            Ok(answer) => json_of(&answer),
            // The question stays open: the answer comes as news.
            Err(refusal) if refusal.code == Code::TimedOut => {
                let open = refusal.details.get("decision").cloned();
                Ok(open.map_or(asked, |decision| json!({ "decision": decision })))
            }
            Err(refusal) => Err(refusal),
        }
    }
}

impl ToolCall {
    /// Tells whether the caller wants to wait.
    fn waits(&self) -> bool {
        let seconds = self.arguments.get("wait_seconds").and_then(Value::as_i64);
        seconds.is_some_and(|seconds| seconds > 0)
    }
}

fn ended() -> Refusal {
    Refusal::new(Code::StoreUnavailable, "the server is ending")
}

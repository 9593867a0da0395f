//! The bare server: axum, the engine, nothing else.

use crate::Outcome;
use crate::fill::open;
use crate::script::{repo, without_git};
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use comity_api::{ById, WriteNote, op};
use comity_core::ids::AgentId;
use comity_engine::{Caller, Service};
use serde_json::{Value, json};
use std::path::Path;

/// The step that is the bare server.
pub const BARE: &str = "serve-bare";
/// As many threads as comity's own.
const WORKERS: usize = 2;
const BLOCKING_MAX: usize = 32;

async fn answer(work: impl FnOnce() -> Option<Value> + Send + 'static) -> (StatusCode, String) {
    match tokio::task::spawn_blocking(work).await {
        Ok(Some(answer)) => (StatusCode::OK, answer.to_string()),
        Ok(None) | Err(_) => (StatusCode::CONFLICT, String::new()),
    }
}

/// Serves until it is killed.
pub fn serve_bare(arguments: &[String]) -> Outcome<()> {
    let store = arguments.first().ok_or("a store is missing")?;
    let service = Service::start(open(Path::new(store))?, without_git())?;
    let caller = Caller::new(AgentId::parse("agent-00")?, repo()?);
    let (reads, reader) = (service.clone(), caller.clone());
    let show = get(move || {
        let (service, caller) = (reads.clone(), reader.clone());
        answer(move || {
            let shown = service.call::<op::TaskShow>(&caller, ById { id: "T1".to_owned() });
            serde_json::to_value(shown.ok()?).ok()
        })
    });
    let note = post(move |body: Bytes| {
        let (service, caller) = (service.clone(), caller.clone());
        answer(move || {
            let note: WriteNote = serde_json::from_slice(&body).ok()?;
            serde_json::to_value(service.call::<op::Note>(&caller, note).ok()?).ok()
        })
    });
    let app = Router::new().route("/api/v1/tasks/{id}", show).route("/api/v1/notes", note);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING_MAX)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", json!({"url": format!("http://{}", listener.local_addr()?)}));
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        axum::serve(listener, app).await?;
        Ok(())
    })
}

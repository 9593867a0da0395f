//! HTTP: the API, the stream of events, the dashboard, MCP. On a loopback address and on a socket that only its owner can
//! open; elsewhere only with TLS or behind a proxy.

mod access;
mod answer;
mod api;
mod door;
mod hall;
mod keys;
mod live;
mod metrics;
mod pages;
mod routes;
mod run_door;
mod session;
mod together;
mod wire;

pub use api::REMARKS_HEADER;
pub use run_door::RunDoor;

use crate::Served;
use crate::runtime::{blocking, failed, run, told_to_end};
use access::Names;
use comity_api::{Nothing, op};
use comity_core::hint::{op as operation, say};
use comity_core::refusal::{Code, Refusal};
use comity_guard::InDanger;
use hall::{Hall, Root};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use wire::{Ended, Socket};

/// How often expired claims, leases and deadlines are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// How often the whole log is checked.
const VERIFY_EVERY: Duration = Duration::from_secs(600);
/// How long a running server goes on without a check after its start.
const VERIFY_FIRST: Duration = Duration::from_secs(1);

/// How a server is to listen.
#[derive(Clone, Debug)]
pub struct Listen {
    pub address: SocketAddr,
    /// The certificate and its key, as PEM files.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// A proxy in front does TLS, and names the client in its headers.
    pub behind_proxy: bool,
    /// Names under which the server is called, beside those of a loopback address.
    pub hosts: Vec<String>,
}

/// Where the server listens.
pub struct Listening {
    pub url: String,
    pub socket: Option<PathBuf>,
    /// The link that opens the dashboard once, for the person who started the server.
    pub link: Option<String>,
}

/// Serves until the process is told to end. `began` is called once, when the server listens.
pub fn serve(
    roots: Vec<Served>,
    listen: &Listen,
    began: impl FnOnce(&Listening),
) -> Result<(), Refusal> {
    check(listen)?;
    // Its sweep and its first link are somebody's.
    if let Some(first) = roots.first() {
        let starts = crate::tokens::person(&first.context.caller(), "starts a server");
        starts.map_err(|refusal| {
            refusal.hint(say("say who you are with ").arg("as", "human:NAME"))
        })?;
    }
    let services: Vec<_> = roots.iter().map(|root| root.service.clone()).collect();
    let listen = listen.clone();
    let done = run(async move {
        let address = listen.address;
        let listener = TcpListener::bind(address).await.map_err(|error| {
            let message = format!("comity cannot listen on {address}: {error}");
            Refusal::new(Code::StoreUnavailable, message).hint("choose another address or port")
        })?;
        let address = listener.local_addr().map_err(|error| failed("listen", &error))?;
        let end = told_to_end()?;
        let hall = Arc::new(hall(roots, &listen, address)?);
        let tls = listen.tls.as_ref().map(|(cert, key)| wire::acceptor(cert, key)).transpose()?;
        // Where another server serves a project already, links go on leading there.
        let own: Vec<&Root> =
            hall.roots.iter().filter(|root| !Socket::answers(&root.served.context)).collect();
        let sockets: Vec<(usize, Socket)> = sockets(&hall);
        began(&listening(&hall, &listen, address, &own, &sockets)?);
        let tasks = [tokio::spawn(sweep(hall.clone())), tokio::spawn(verify(hall.clone()))];
        let app = door::app(hall.clone());
        let ended = Ended::when(end);
        let mut local = JoinSet::new();
        for (place, socket) in sockets {
            let (app, ended) = (app.clone(), ended.clone());
            local.spawn(async move { wire::accept_local(&socket, place, app, ended).await });
        }
        let closing = async {
            ended.clone().wait().await;
            hall.roots.iter().for_each(|root| root.live.end());
            // What has begun is finished; what only waits is told.
            let waited_at: Vec<_> =
                hall.roots.iter().map(|root| root.served.service.clone()).collect();
            let told = blocking(move || {
                waited_at.iter().for_each(comity_engine::Service::stop_waiting);
                Ok(())
            });
            drop(told.await);
        };
        let remote = wire::accept(listener, tls, app.clone(), ended.clone());
        tokio::join!(local.join_all(), remote, closing);
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
        own.iter().for_each(|root| drop(root.sessions.note_url(None)));
        Ok(())
    });
    services.iter().for_each(comity_engine::Service::stop);
    done
}

/// Refuses to listen where passwords could be read on the way.
fn check(listen: &Listen) -> Result<(), Refusal> {
    let is_safe = listen.address.ip().is_loopback() || listen.tls.is_some() || listen.behind_proxy;
    if !is_safe {
        return Err(Refusal::input(format!("{} is not a loopback address", listen.address)).hint(
            "listen on 127.0.0.1 or [::1], give a certificate and its key, or say that a proxy is in front",
        ));
    }
    let is_named = listen.address.ip().is_loopback() && !listen.behind_proxy;
    if !is_named && listen.hosts.is_empty() {
        return Err(Refusal::input("off this host the server needs its name")
            .hint("say under which name it is called"));
    }
    Ok(())
}

fn hall(roots: Vec<Served>, listen: &Listen, address: SocketAddr) -> Result<Hall, Refusal> {
    let rate = roots.first().map(|root| root.context.config.serve_rate());
    let names = Names {
        port: address.port(),
        hosts: listen.hosts.clone(),
        secure: listen.tls.is_some() || listen.behind_proxy,
        behind_proxy: listen.behind_proxy,
        loopback: address.ip().is_loopback() && !listen.behind_proxy,
    };
    Hall::new(roots, names, rate.unwrap_or_default())
}

/// Opens the socket of each project, where none is open and the system lets us.
fn sockets(hall: &Hall) -> Vec<(usize, Socket)> {
    let all = hall.roots.iter().enumerate();
    all.filter_map(|(place, root)| Some((place, Socket::bind(&root.served.context)?))).collect()
}

fn listening(
    hall: &Hall,
    listen: &Listen,
    address: SocketAddr,
    own: &[&Root],
    sockets: &[(usize, Socket)],
) -> Result<Listening, Refusal> {
    let named = listen.hosts.first().filter(|_| !address.ip().is_loopback() || listen.behind_proxy);
    let url = match (named, listen.behind_proxy, listen.tls.is_some()) {
        (Some(name), true, _) => format!("https://{name}"),
        (Some(name), false, _) => format!("https://{name}:{}", address.port()),
        (None, _, true) => format!("https://{address}"),
        (None, _, false) => format!("http://{address}"),
    };
    own.iter().try_for_each(|root| root.sessions.note_url(Some(&url)))?;
    let root = hall.roots.first();
    let person = root.filter(|root| root.served.context.actor.is_person());
    let link = person.map(|root| {
        let Served { service, context, .. } = &root.served;
        root.sessions.link(service, &context.caller())
    });
    let link = link.transpose()?.map(|(key, _)| format!("{url}/#k={key}"));
    let socket = sockets.iter().find(|(place, _)| *place == 0);
    Ok(Listening { url, socket: socket.map(|(_, socket)| socket.path.clone()), link })
}

/// Ends what has expired, as long as the server runs. What cannot be done now is done the next time.
async fn sweep(hall: Arc<Hall>) {
    let mut every = tokio::time::interval(SWEEP_EVERY);
    let mut in_danger: Vec<InDanger> = hall.roots.iter().map(|_| InDanger::default()).collect();
    loop {
        every.tick().await;
        for (root, kept) in hall.roots.iter().zip(&mut in_danger) {
            let served = root.served.clone();
            let mut now = std::mem::take(kept);
            let swept = blocking(move || {
                served.service.rest();
                let caller = served.context.caller();
                // Work is kept before its claim ends.
                drop(now.keep(&served.context, &served.service, &caller));
                drop(served.service.call::<op::Watchdog>(&caller, Nothing {}));
                Ok(now)
            });
            *kept = swept.await.unwrap_or_default();
        }
    }
}

/// Checks the log now and then, so that the dashboard can say when it was found whole.
async fn verify(hall: Arc<Hall>) {
    tokio::time::sleep(VERIFY_FIRST).await;
    let mut every = tokio::time::interval(VERIFY_EVERY);
    loop {
        every.tick().await;
        for root in &hall.roots {
            root.forget_pasts();
            let served = root.served.clone();
            drop(blocking(move || served.service.verify_and_note()).await);
        }
    }
}

/// Returns where the server of a project listens, if one runs: its socket takes connections.
pub fn running(context: &comity_project::Context) -> Result<Option<String>, Refusal> {
    let url = crate::sessions::Sessions::of(context).url()?;
    Ok(url.filter(|_| std::os::unix::net::UnixStream::connect(context.socket()).is_ok()))
}

/// Makes a link to the server that runs for a project. Only a person may.
pub fn link(
    context: &comity_project::Context,
    service: &comity_engine::Service,
) -> Result<(String, comity_core::time::Timestamp), Refusal> {
    let sessions = crate::sessions::Sessions::of(context);
    crate::tokens::person(&context.caller(), "makes links")?;
    let url = sessions.url()?.ok_or_else(|| {
        Refusal::new(Code::StoreUnavailable, "no server runs for this project")
            .hint(say("start one with ").quote(operation("serve")))
    })?;
    let (key, until) = sessions.link(service, &context.caller())?;
    Ok((format!("{url}/#k={key}"), until))
}

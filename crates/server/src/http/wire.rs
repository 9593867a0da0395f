//! Connections: TCP with or without TLS, and the socket that only its owner can open.

use super::access::Peer;
use crate::runtime::failed;
use axum::{Extension, Router};
use comity_core::refusal::Refusal;
use comity_project::Context;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The largest head of a request.
const HEAD_BYTES_MAX: usize = 64 * 1024;
const HEADERS_MAX: usize = 64;
/// How long a client may take to send the head of a request, and to agree on keys before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections at once; more wait to be accepted.
const CONNECTIONS_MAX: usize = 1_024;
/// How long requests may take to finish when the server is told to end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the server pauses when it cannot accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Bits that nobody but the owner gets.
const OWNER_ONLY: u32 = 0o177;

/// Knows when the server is to end. Clones share it.
#[derive(Clone)]
pub struct Ended(watch::Receiver<bool>);

impl Ended {
    /// Ends when something else has ended.
    pub fn when(end: impl Future<Output = ()> + Send + 'static) -> Ended {
        let (tell, told) = watch::channel(false);
        tokio::spawn(async move {
            end.await;
            let _ = tell.send(true);
        });
        Ended(told)
    }

    pub async fn wait(mut self) {
        // A teller that is gone tells the same.
        drop(self.0.wait_for(|ended| *ended).await);
    }
}

/// The socket of a server; its file goes with it.
pub struct Socket {
    listener: UnixListener,
    pub path: PathBuf,
}

impl Socket {
    /// Listens on the socket of a project. None where another server does, or where the system does not let us.
    pub fn bind(context: &Context) -> Option<Socket> {
        Socket::at(context.socket())
    }

    /// Tells whether a server listens on the socket of a project.
    pub fn answers(context: &Context) -> bool {
        BlockingStream::connect(context.socket()).is_ok()
    }

    /// Listens on a socket that nobody listens on.
    pub fn at(path: PathBuf) -> Option<Socket> {
        if BlockingStream::connect(&path).is_ok() {
            return None;
        }
        // What is left of a server that was killed.
        let _ = std::fs::remove_file(&path);
        let mask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(OWNER_ONLY));
        let bound = UnixListener::bind(&path);
        rustix::process::umask(mask);
        bound.ok().map(|listener| Socket { listener, path })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Reads a certificate and its key.
pub fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, Refusal> {
    let bad = |file: &Path, error: &dyn std::fmt::Display| {
        Refusal::input(format!("cannot use {}: {error}", file.display()))
    };
    let chain: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_file_iter(cert).and_then(Iterator::collect);
    let chain = chain.map_err(|error| bad(cert, &error))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| bad(key, &error))?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed("use TLS", &error))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| bad(cert, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

pub async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, app: Router, ended: Ended) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    let end = ended.wait();
    tokio::pin!(end);
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
        };
        let Ok((stream, address)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let app = app.clone().layer(Extension(Peer::Address(address.ip())));
        let (watcher, tls) = (graceful.watcher(), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => talk(stream, app, watcher).await,
                Some(tls) => {
                    let agreed = tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream)).await;
                    if let Ok(Ok(stream)) = agreed {
                        talk(stream, app, watcher).await;
                    }
                }
            }
            drop(place);
        });
    }
    drop(listener);
    // What is not finished by then was not acknowledged.
    drop(tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await);
}

pub async fn accept_local(socket: &Socket, place: usize, app: Router, ended: Ended) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    let app = app.layer(Extension(Peer::Socket(place)));
    let end = ended.wait();
    tokio::pin!(end);
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = socket.listener.accept() => accepted,
            () = &mut end => break,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (app, watcher) = (app.clone(), graceful.watcher());
        tokio::spawn(async move {
            talk(stream, app, watcher).await;
            drop(place);
        });
    }
    drop(tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await);
}

/// Serves one connection. A client that breaks off is no failure of the server.
async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    app: Router,
    watcher: Watcher,
) {
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    drop(watcher.watch(connection).await);
}

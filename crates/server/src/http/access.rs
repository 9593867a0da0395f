//! Who asks, and whether it may: names of the server, tokens, cookies, limits.

use crate::Served;
use crate::sessions::{AllSessions, Session};
use crate::tokens::{Holder, Tokens};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use comity_api::{Kind, Row};
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Timestamp;
use comity_engine::Caller;
use serde_json::Value;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The hosts under which a server on a loopback address is called.
const OWN_HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
/// The header that a page sends beside its cookie.
pub const CSRF_HEADER: &str = "comity-csrf";
/// The proxy's header with the client's address; its last entry is the one that the proxy added.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
pub enum Peer {
    /// The socket of a project, by its place among all; only its owner can open it.
    Socket(usize),
    Address(IpAddr),
}

/// Under which names the server is reached.
pub struct Names {
    pub port: u16,
    /// Names beside those of a loopback address.
    pub hosts: Vec<String>,
    /// Whether callers use TLS, here or at a proxy.
    pub secure: bool,
    pub behind_proxy: bool,
    /// Whether the address is one of this host alone.
    pub loopback: bool,
}

impl Names {
    fn is_own(&self, name: &str) -> bool {
        let own = |own: &str| name == own || name == format!("{own}:{}", self.port);
        let local = self.loopback && OWN_HOSTS.iter().any(|host| own(host));
        local || self.hosts.iter().any(|host| own(host))
    }

    /// Lets in only requests that name this server: a page of another site cannot reach it under a name of its own.
    pub fn check(&self, peer: Peer, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = text(headers, HOST.as_str()).unwrap_or_default();
        let is_named = matches!(peer, Peer::Socket(_)) || self.is_own(host);
        let is_from_own = !headers.contains_key(ORIGIN)
            || text(headers, ORIGIN.as_str()).is_some_and(|origin| self.is_own_origin(origin));
        match is_named && is_from_own {
            true => Ok(()),
            false => {
                let hint = format!("call http://127.0.0.1:{} from this host", self.port);
                Err(Refusal::new(Code::RoleForbidden, "this server has another name").hint(hint))
            }
        }
    }

    fn is_own_origin(&self, origin: &str) -> bool {
        let https = origin.strip_prefix("https://").filter(|_| self.secure);
        let http = origin.strip_prefix("http://").filter(|_| !self.secure || self.loopback);
        https.or(http).is_some_and(|name| self.is_own(name))
    }

    /// Returns the name of the cookie.
    pub fn cookie(&self) -> String {
        match self.secure {
            true => format!("__Host-comity_{}", self.port),
            false => format!("comity_{}", self.port),
        }
    }

    /// Writes the cookie of a session; without a value it is taken away.
    pub fn set_cookie(&self, value: Option<&str>, seconds: i64) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        let (value, age) = (value.unwrap_or_default(), if value.is_some() { seconds } else { 0 });
        let name = self.cookie();
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}")
    }

    /// Returns the address of a client, as the proxy names it where there is one.
    pub fn client(&self, peer: Peer, headers: &HeaderMap) -> String {
        let forwarded = || text(headers, FORWARDED_FOR)?.rsplit(',').next().map(str::trim);
        match peer {
            Peer::Socket(_) => "socket".to_owned(),
            Peer::Address(_) if self.behind_proxy && forwarded().is_some() => {
                forwarded().unwrap_or_default().chars().take(64).collect()
            }
            Peer::Address(address) => address.to_string(),
        }
    }
}

/// Who asks.
#[derive(Clone)]
pub enum Who {
    Token(Holder),
    Session(Session),
    /// The agent of the run whose socket it is. Whatever it says of itself does not count.
    Run(Box<Caller>),
    /// Somebody who may read: on the socket, or where the project lets everybody on this host read.
    Reader,
    Nobody,
}

impl Who {
    /// Finds out who asks. A token or a cookie that is no good is refused, not overlooked.
    pub fn of(
        headers: &HeaderMap,
        peer: Peer,
        keys: &Keys<'_>,
        now: Timestamp,
    ) -> Result<Who, Refusal> {
        if let Some(caller) = keys.run {
            return Ok(Who::Run(Box::new(caller.clone())));
        }
        if headers.contains_key(AUTHORIZATION) {
            let holder =
                bearer(headers).map(|secret| keys.tokens.holder(secret, now)).transpose()?;
            return holder.flatten().map(Who::Token).ok_or_else(|| {
                Refusal::new(Code::Unauthenticated, "the token is unknown, revoked or too old")
            });
        }
        if let Some(cookie) = cookie(headers, keys.cookie)
            && let Some(session) = keys.sessions.find(cookie, now)?
        {
            return Ok(Who::Session(session));
        }
        Ok(match peer {
            Peer::Socket(_) => Who::Reader,
            Peer::Address(_) if keys.open_read => Who::Reader,
            Peer::Address(_) => Who::Nobody,
        })
    }

    /// Returns the name that requests are counted under.
    pub fn counted_as(&self, client: &str) -> String {
        match self {
            Who::Token(holder) => format!("token/{}", holder.token),
            Who::Session(session) => format!("session/{}", session.id),
            Who::Run(caller) => format!("run/{}", caller.actor),
            Who::Reader | Who::Nobody => format!("client/{client}"),
        }
    }

    /// Refuses what the caller may not do.
    pub fn may(&self, row: &Row, input: &Value, headers: &HeaderMap) -> Result<(), Refusal> {
        let writes = row.kind == Kind::Write;
        match self {
            Who::Token(holder) => holder.scope.check(row, input),
            Who::Session(session) if writes => check_csrf(session, headers),
            Who::Session(_) | Who::Run(_) => Ok(()),
            Who::Reader if !writes => Ok(()),
            Who::Reader => Err(Refusal::new(
                Code::Unauthenticated,
                "without a token or a session you may only read",
            )),
            Who::Nobody => {
                Err(Refusal::new(Code::Unauthenticated, "this server wants a token or a session"))
            }
        }
    }

    /// Refuses who may not even read.
    pub fn may_read(&self) -> Result<(), Refusal> {
        match self {
            Who::Nobody => {
                Err(Refusal::new(Code::Unauthenticated, "this server wants a token or a session"))
            }
            Who::Token(_) | Who::Session(_) | Who::Run(_) | Who::Reader => Ok(()),
        }
    }

    /// Returns the caller that the rules see.
    pub fn caller(&self, served: &Served) -> Caller {
        let own = served.context.caller();
        match self {
            Who::Token(holder) => Caller { actor: holder.agent.clone(), via: holder.via(), ..own },
            Who::Session(session) => {
                Caller { actor: session.person.clone(), via: session.via(), ..own }
            }
            Who::Run(caller) => (**caller).clone(),
            Who::Reader | Who::Nobody => own,
        }
    }
}

/// What callers are told apart by.
pub struct Keys<'a> {
    pub tokens: &'a Tokens,
    pub sessions: &'a AllSessions,
    pub cookie: &'a str,
    pub open_read: bool,
    /// The only caller, on the socket of a run.
    pub run: Option<&'a Caller>,
}

fn check_csrf(session: &Session, headers: &HeaderMap) -> Result<(), Refusal> {
    match text(headers, CSRF_HEADER) {
        Some(given) if same(given, &session.csrf) => Ok(()),
        _ => Err(Refusal::new(
            Code::RoleForbidden,
            format!("a page sends the header {CSRF_HEADER} with every change"),
        )
        .hint("send the value that the session gave you")),
    }
}

/// Compares in a time that does not depend on where two texts differ.
fn same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differences == 0
}

pub fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

/// Returns the secret of the token that a request has.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    text(headers, AUTHORIZATION.as_str())?.strip_prefix("Bearer ")
}

pub fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Requests that a caller may send at once.
const BURST: f64 = 200.0;
/// Callers whose requests are counted at once.
const COUNTED_MAX: usize = 10_000;

/// Counts requests: so many a second, with some more at once.
pub struct Rates {
    /// Requests a second; 0 is no limit.
    rate: f64,
    buckets: Mutex<HashMap<String, (f64, Instant)>>,
}

impl Rates {
    pub fn new(rate: u32) -> Rates {
        Rates { rate: f64::from(rate), buckets: Mutex::default() }
    }

    pub fn check(&self, name: &str) -> Result<(), Refusal> {
        if self.rate == 0.0 {
            return Ok(());
        }
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= COUNTED_MAX {
            // Whose bucket is full again needs none.
            let rate = self.rate;
            buckets.retain(|_, (left, at)| {
                *left + now.duration_since(*at).as_secs_f64() * rate < BURST
            });
        }
        let (left, at) = buckets.entry(name.to_owned()).or_insert((BURST, now));
        *left = (*left + now.duration_since(*at).as_secs_f64() * self.rate).min(BURST);
        *at = now;
        if *left < 1.0 {
            let message = format!("more than {} requests a second", self.rate);
            return Err(Refusal::new(Code::LimitExceeded, message).hint("wait a second"));
        }
        *left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_let_through_and_then_the_rate_counts() {
        let rates = Rates::new(1);
        let refused = (0..300).filter(|_| rates.check("a").is_err()).count();
        assert!((98..=100).contains(&refused), "{refused}");
        assert!(rates.check("b").is_ok(), "others are counted by themselves");
        assert!((0..300).all(|_| Rates::new(0).check("a").is_ok()));
    }

    #[test]
    fn a_proxy_has_one_name_and_secure_cookies() {
        let hosts = vec!["comity.example".to_owned()];
        let names = Names { port: 443, hosts, secure: true, behind_proxy: true, loopback: false };
        assert!(names.is_own("comity.example") && !names.is_own("127.0.0.1"));
        assert!(names.is_own_origin("https://comity.example"));
        assert!(!names.is_own_origin("http://comity.example"));
        assert!(names.set_cookie(Some("x"), 60).starts_with("__Host-comity_443=x; Path=/"));
        assert!(names.set_cookie(Some("x"), 60).ends_with("; Secure"));
    }
}

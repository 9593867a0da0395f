//! Events that GitHub sends: hints that an issue is worth a look. What they say is not believed, only where to look.

use crate::bus::{Github, IssueKey};
use crate::client::now;
use crate::rows::Rows;
use comity_core::ids::RepoName;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Millis;
use comity_engine::Service;
use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const BODY_BYTES_MAX: usize = 5 * 1024 * 1024;
const HEAD_BYTES_MAX: u64 = 16 * 1024;
const LINES_MAX: usize = 100;
/// Deliveries that are taken at once.
const OPEN_MAX: usize = 32;
const HINTS_MAX: usize = 10_000;
/// So long a delivery is known again.
const KNOWN: Millis = Millis::from_secs(7 * 86_400);
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct HintRow {
    issue: String,
    at: i64,
    seen: bool,
}

fn space(github: &Github) -> String {
    format!("github-hints:{}", github.context.repo)
}

/// What is asked of the listener.
#[derive(Debug, Default)]
struct Asked {
    method: String,
    path: String,
    signature: Option<String>,
    guid: Option<String>,
    length: Option<usize>,
}

/// Listens for deliveries and keeps them as hints.
pub struct Listener {
    inner: TcpListener,
    secrets: Vec<hmac::Key>,
    service: Service,
    space: String,
    repo: RepoName,
    repositories: Vec<String>,
}

impl Listener {
    pub fn open(github: &Github, address: SocketAddr) -> Result<Listener, Refusal> {
        let settings = github.context.config.github()?;
        let environment = github.context.environment();
        let secrets: Vec<hmac::Key> = settings
            .webhook_secret_env
            .iter()
            .filter_map(|name| environment.own(name))
            .filter(|secret| !secret.is_empty())
            .map(|secret| hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()))
            .collect();
        if secrets.is_empty() {
            return Err(Refusal::input("a hook needs a secret")
                .hint("name variables in the settings, key github.webhook_secret_env, and set one of them"));
        }
        let inner = TcpListener::bind(address)
            .map_err(|error| Refusal::input(format!("cannot listen on {address}: {error}")))?;
        let mut repositories = vec![crate::bus::home(&github.context, &settings)?];
        repositories.extend(settings.repositories);
        let service = github.service.clone();
        let (space, repo) = (space(github), github.context.repo.clone());
        Ok(Listener { inner, secrets, service, space, repo, repositories })
    }

    pub fn address(&self) -> Result<SocketAddr, Refusal> {
        self.inner.local_addr().map_err(|error| Refusal::new(Code::Internal, error.to_string()))
    }

    /// Answers deliveries for ever.
    pub fn run(self: &Arc<Listener>) {
        let open = Arc::new(AtomicUsize::new(0));
        for stream in self.inner.incoming().flatten() {
            // Whoever sends slowly holds nobody else back; too many are sent away.
            if open.fetch_add(1, Ordering::Relaxed) >= OPEN_MAX {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (listener, open) = (self.clone(), open.clone());
            let one = move || {
                listener.serve(&stream);
                open.fetch_sub(1, Ordering::Relaxed);
            };
            let _ = std::thread::Builder::new().name("comity-delivery".to_owned()).spawn(one);
        }
    }

    fn serve(&self, stream: &TcpStream) {
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let status = self.answer(stream).unwrap_or(400);
        let text = format!(
            "HTTP/1.1 {status} {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            reason(status)
        );
        let mut stream = stream;
        let _ = stream.write_all(text.as_bytes());
    }

    fn answer(&self, stream: &TcpStream) -> Option<u16> {
        let mut reader = BufReader::new(stream);
        let asked = head(&mut reader)?;
        if asked.path != "/webhook" {
            return Some(404);
        }
        if asked.method != "POST" {
            return Some(405);
        }
        let length = asked.length?;
        if length > BODY_BYTES_MAX {
            return Some(413);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        if !self.is_signed(asked.signature.as_deref(), &body) {
            return Some(401);
        }
        let guid = asked.guid.filter(|guid| !guid.is_empty() && guid.len() <= 100)?;
        let payload: Value = serde_json::from_slice(&body).ok()?;
        Some(self.keep(&guid, &payload))
    }

    fn is_signed(&self, signature: Option<&str>, body: &[u8]) -> bool {
        let Some(given) = signature.and_then(|text| text.strip_prefix("sha256=")).and_then(hex)
        else {
            return false;
        };
        self.secrets.iter().any(|key| hmac::verify(key, body, &given).is_ok())
    }

    /// The repositories of the settings, and those that a task is linked to.
    fn is_ours(&self, repository: &str) -> bool {
        let is_it = |name: &str| name.eq_ignore_ascii_case(repository);
        if self.repositories.iter().any(|name| is_it(name)) {
            return true;
        }
        let rows = Rows::open(&self.service, &self.repo);
        let linked = rows.map(|rows| rows.issues()).unwrap_or_default();
        linked.iter().any(|key| key.split('#').next().is_some_and(is_it))
    }

    /// Keeps where to look; only then GitHub is told that it was taken.
    fn keep(&self, guid: &str, payload: &Value) -> u16 {
        let Some(key) = about(payload).filter(|key| self.is_ours(&key.repository)) else {
            return 204;
        };
        // A delivery of an App may share its number with one of another repository.
        let guid = format!("{guid} {key}");
        let row = HintRow { issue: key.to_string(), at: now().ms(), seen: false };
        let kept = self.service.change_kept(&self.space, move |rows| {
            if rows.contains_key(&guid) {
                return (Vec::new(), 200);
            }
            let known =
                |bytes: &Vec<u8>| serde_json::from_slice::<HintRow>(bytes).unwrap_or_default();
            let fresh = rows.values().filter(|bytes| !known(bytes).seen).count();
            if fresh >= HINTS_MAX {
                return (Vec::new(), 503);
            }
            let is_old = |bytes: &Vec<u8>| now().ms() - known(bytes).at > KNOWN.ms();
            let old = rows
                .iter()
                .filter(|(_, bytes)| is_old(bytes))
                .map(|(guid, _)| (guid.clone(), None));
            let mut changes: Vec<_> = old.collect();
            changes.push((guid, serde_json::to_vec(&row).ok()));
            (changes, 202)
        });
        kept.unwrap_or(503)
    }
}

/// Returns the issue that a delivery is about; pull requests and checks are found by the next look at all of them.
pub(crate) fn about(payload: &Value) -> Option<IssueKey> {
    let repository = payload.get("repository")?.get("full_name")?.as_str()?.to_owned();
    let number = |name: &str| payload.get(name)?.get("number")?.as_u64();
    let number = number("issue").or_else(|| number("pull_request")).unwrap_or(0);
    comity_project::github::is_repository(&repository).then_some(IssueKey { repository, number })
}

/// Takes the issues that are worth a look, and notes that they were.
pub(crate) fn hints(github: &Github) -> Result<Vec<IssueKey>, Refusal> {
    let settings = github.context.config.github()?;
    let home = crate::bus::home(&github.context, &settings)?;
    let texts = github.service.change_kept(&space(github), |rows| {
        let (mut changes, mut fresh) = (Vec::new(), Vec::new());
        for (guid, bytes) in rows {
            let mut row: HintRow = serde_json::from_slice(bytes).unwrap_or_default();
            if now().ms() - row.at > KNOWN.ms() {
                changes.push((guid.clone(), None));
            } else if !row.seen {
                row.seen = true;
                fresh.push(row.issue.clone());
                changes.push((guid.clone(), serde_json::to_vec(&row).ok()));
            }
        }
        (changes, fresh)
    })?;
    let mut keys: Vec<IssueKey> =
        texts.iter().filter_map(|text| IssueKey::parse(text, &home)).collect();
    keys.sort();
    keys.dedup();
    Ok(keys)
}

fn head(reader: &mut BufReader<&TcpStream>) -> Option<Asked> {
    let mut asked = Asked::default();
    let mut limited = reader.by_ref().take(HEAD_BYTES_MAX);
    let mut line = String::new();
    limited.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    asked.method = words.next()?.to_owned();
    asked.path = words.next()?.split('?').next()?.to_owned();
    for _ in 0..LINES_MAX {
        line.clear();
        limited.read_line(&mut line).ok()?;
        let text = line.trim_end();
        if text.is_empty() {
            return Some(asked);
        }
        let (name, value) = text.split_once(':')?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "x-hub-signature-256" => asked.signature = Some(value.to_owned()),
            "x-github-delivery" => asked.guid = Some(value.to_owned()),
            "content-length" => asked.length = Some(value.parse().ok()?),
            _ => {}
        }
    }
    None
}

fn hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let pair = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(pair).collect()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        503 => "Service Unavailable",
        _ => "Bad Request",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_delivery_says_where_to_look_and_nothing_else() {
        let payload = json!({"action": "labeled", "issue": {"number": 7, "title": "x"},
            "repository": {"full_name": "acme/app"}, "sender": {"login": "ann"}});
        assert_eq!(about(&payload).unwrap().to_string(), "acme/app#7");
        assert_eq!(about(&json!({"zen": "Design for failure."})), None);
        assert_eq!(about(&json!({"repository": {"full_name": "../x"}})), None);
    }

    #[test]
    fn signatures_are_read_as_hex_only() {
        assert_eq!(hex("00ff"), Some(vec![0, 255]));
        for no in ["0", "0g", "äää"] {
            assert_eq!(hex(no), None, "{no}");
        }
    }
}

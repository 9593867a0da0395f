//! Sessions of browsers: a person gets a link that opens once, and the page changes it for a cookie. Links and sessions are
//! hashed entries beside the store, so they survive a restart of the server.

use crate::beside::{Beside, hash, secret};
use crate::tokens::person;
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::{Millis, Timestamp};
use comity_core::via::Via;
use comity_engine::{Caller, Service};
use comity_project::Context;
use serde::{Deserialize, Serialize};

/// How long a link can be opened.
pub const LINK_LIFE: Millis = Millis::from_secs(600);
/// How long a session lasts.
const SESSION_LIFE: Millis = Millis::from_secs(12 * 3_600);
/// Links and sessions that are kept at once; the oldest goes first.
const KEPT_MAX: usize = 200;

#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    hash: String,
    person: AgentId,
    expires_at: Timestamp,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    links: Vec<Entry>,
    sessions: Vec<Entry>,
    /// Where the server that runs now listens.
    url: Option<String>,
}

/// The sessions of a project.
#[derive(Clone)]
pub struct Sessions {
    kept: Beside<Kept>,
}

/// A session that is good now.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub person: AgentId,
    pub expires_at: Timestamp,
    /// What the page sends beside the cookie, so that no other page can act in its name.
    pub csrf: String,
    /// A name for limits and the log that is no secret.
    pub id: String,
}

impl Session {
    fn of(secret: &str, entry: &Entry) -> Session {
        let id = entry.hash.chars().take(12).collect();
        let csrf = hash(&format!("csrf:{secret}"));
        Session { person: entry.person.clone(), expires_at: entry.expires_at, csrf, id }
    }

    /// One browser is one session.
    pub fn via(&self) -> Via {
        let session = Some(format!("browser/{}", self.id));
        Via { client: Some("dashboard".to_owned()), session, ..Via::default() }
    }
}

impl Sessions {
    pub fn of(context: &Context) -> Sessions {
        Sessions { kept: Beside::at(context.beside_store().join("browser-sessions.json")) }
    }

    /// Makes the key of a link that opens once. Only a person may.
    pub fn link(&self, service: &Service, caller: &Caller) -> Result<(String, Timestamp), Refusal> {
        person(caller, "makes links")?;
        let (key, now) = (secret()?, service.store_time()?);
        let expires_at = now.plus(LINK_LIFE);
        let entry = Entry { hash: hash(&key), person: caller.actor.clone(), expires_at };
        self.kept.change(|kept| {
            add(&mut kept.links, entry, now);
            Ok(())
        })?;
        Ok((key, expires_at))
    }

    /// Changes the key of a link for a session; returns the value of the cookie.
    pub fn open(&self, key: &str, now: Timestamp) -> Result<(String, Session), Refusal> {
        let (wanted, cookie) = (hash(key), secret()?);
        let entry = self.kept.change(|kept| {
            let place = kept.links.iter().position(|link| link.hash == wanted);
            let link = place.map(|place| kept.links.remove(place));
            let link = link.filter(|link| link.expires_at > now).ok_or_else(|| {
                Refusal::new(Code::Unauthenticated, "the link was used before, or is too old")
                    .hint("a person makes a new one on this host with the command link")
            })?;
            let expires_at = now.plus(SESSION_LIFE);
            let entry = Entry { hash: hash(&cookie), person: link.person, expires_at };
            add(&mut kept.sessions, entry.clone(), now);
            Ok(entry)
        })?;
        let session = Session::of(&cookie, &entry);
        Ok((cookie, session))
    }

    /// Finds the session of a cookie.
    pub fn find(&self, cookie: &str, now: Timestamp) -> Result<Option<Session>, Refusal> {
        let (wanted, kept) = (hash(cookie), self.kept.value()?);
        let found = kept.sessions.iter().find(|entry| entry.hash == wanted);
        let good = found.filter(|entry| entry.expires_at > now);
        Ok(good.map(|entry| Session::of(cookie, entry)))
    }

    /// Ends a session.
    pub fn close(&self, cookie: &str) -> Result<(), Refusal> {
        let wanted = hash(cookie);
        self.kept.change(|kept| {
            kept.sessions.retain(|entry| entry.hash != wanted);
            Ok(())
        })
    }

    /// Notes where the server listens, or that it listens no more.
    pub fn note_url(&self, url: Option<&str>) -> Result<(), Refusal> {
        self.kept.change(|kept| {
            kept.url = url.map(str::to_owned);
            Ok(())
        })
    }

    /// Returns where the server listens, as far as it said so.
    pub fn url(&self) -> Result<Option<String>, Refusal> {
        Ok(self.kept.value()?.url.clone())
    }
}

/// The sessions of all projects of a server. A person who may open one of them may open all: a link is made where the server
/// keeps its files.
pub struct AllSessions(pub Vec<Sessions>);

impl AllSessions {
    /// Changes the key of a link of any project for a session.
    pub fn open(&self, key: &str, now: Timestamp) -> Result<(String, Session), Refusal> {
        let mut opened = Err(Refusal::input("there is no project to serve"));
        for sessions in &self.0 {
            opened = sessions.open(key, now);
            if !opened.as_ref().is_err_and(|refusal| refusal.code == Code::Unauthenticated) {
                break;
            }
        }
        opened
    }

    /// Finds the session of a cookie.
    pub fn find(&self, cookie: &str, now: Timestamp) -> Result<Option<Session>, Refusal> {
        for sessions in &self.0 {
            if let Some(session) = sessions.find(cookie, now)? {
                return Ok(Some(session));
            }
        }
        Ok(None)
    }

    /// Ends a session.
    pub fn close(&self, cookie: &str) -> Result<(), Refusal> {
        self.0.iter().try_for_each(|sessions| sessions.close(cookie))
    }
}

fn add(entries: &mut Vec<Entry>, entry: Entry, now: Timestamp) {
    entries.retain(|known| known.expires_at > now);
    if entries.len() >= KEPT_MAX {
        entries.remove(0);
    }
    entries.push(entry);
}

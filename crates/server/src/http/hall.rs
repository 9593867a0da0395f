//! What all requests share: the projects that are served, who may ask, and how much.

use super::access::{Keys, Names, Peer, Rates, Who, bearer};
use super::api::Ask;
use super::live::Live;
use super::metrics::Metrics;
use super::routes::{Routes, query};
use crate::Served;
use crate::sessions::{AllSessions, Sessions};
use crate::tokens::Tokens;
use comity_bridge::Bridge;
use comity_core::ids::RepoName;
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Caller, Handlers, Moment, Service};
use comity_fleet::{Objectives, Resumer, RunOutputs};
use comity_guard::{Messages, Shown};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// Requests that are worked on or wait for it at once.
pub const QUEUE_MAX: usize = 256;
/// Streams of events at once.
pub const STREAMS_MAX: usize = 256;
/// Moments of the past that are kept.
const PASTS_MAX: usize = 4;

/// One project, with what is called for its requests.
pub struct Root {
    pub served: Served,
    pub handlers: Handlers,
    pub tokens: Tokens,
    pub sessions: Sessions,
    pub live: Arc<Live>,
    open_read: bool,
    pasts: Mutex<VecDeque<(u64, Arc<Past>)>>,
}

/// A project as it was.
pub struct Past {
    pub service: Service,
    pub handlers: Handlers,
}

impl Root {
    pub fn new(served: Served) -> Root {
        Root {
            handlers: handlers(&served, &served.service),
            tokens: Tokens::of(&served.context),
            sessions: Sessions::of(&served.context),
            live: Live::new(served.clone()),
            open_read: served.context.config.serves_open_reads(),
            pasts: Mutex::default(),
            served,
        }
    }

    /// Returns the project as it was at a moment. The last few moments are kept.
    pub fn at(&self, moment: Moment) -> Result<Arc<Past>, Refusal> {
        let seq = self.served.service.place(moment)?;
        let lock = || self.pasts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, past)) = lock().iter().find(|(known, _)| *known == seq) {
            return Ok(past.clone());
        }
        let service = self.served.service.at(Moment::Seq(seq))?;
        let past = Arc::new(Past { handlers: handlers(&self.served, &service), service });
        let mut pasts = lock();
        pasts.push_back((seq, past.clone()));
        if pasts.len() > PASTS_MAX {
            pasts.pop_front();
        }
        Ok(past)
    }

    /// Returns handlers whose changes are thrown away.
    pub fn rehearsal(&self) -> Result<Handlers, Refusal> {
        Ok(handlers(&self.served, &self.served.service.trial()?))
    }

    pub fn forget_pasts(&self) {
        self.pasts.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Registers every handler that HTTP calls.
fn handlers(served: &Served, service: &Service) -> Handlers {
    let mut handlers = Handlers::default();
    let context = served.context.clone();
    comity_engine::register(service, &mut handlers);
    comity_guard::register_messages(&Messages, &mut handlers);
    let tree = context.git_tree().cloned();
    comity_guard::register_shown(&Shown { service: service.clone(), tree }, &mut handlers);
    let outputs = RunOutputs { context: context.clone(), service: service.clone(), is_own: false };
    comity_fleet::register_outputs(&outputs, &mut handlers);
    let program = served.program.clone();
    let own = Objectives { context: context.clone(), service: service.clone(), program };
    comity_fleet::register_objectives(&own, &mut handlers);
    let runs = Resumer { context: context.clone(), service: service.clone(), program: None };
    comity_fleet::register_resumer(&runs, &mut handlers);
    comity_bridge::register(&Bridge { context, service: service.clone() }, &mut handlers);
    handlers
}

/// Refuses projects that a request could not tell apart.
fn check_names(roots: &[Served]) -> Result<(), Refusal> {
    if roots.is_empty() {
        return Err(Refusal::input("there is no project to serve"));
    }
    for (at, root) in roots.iter().enumerate() {
        let name = &root.context.repo;
        let others = roots.iter().take(at);
        if let Some(other) = others.map(|it| &it.context).find(|other| other.repo == *name) {
            let (one, two) = (other.root.dir.display(), root.context.root.dir.display());
            return Err(Refusal::input(format!("two projects are called {name}: {one} and {two}"))
                .hint("give one of them another name: repo below [project] in its .comity/config.toml")
                .detail("repo", name.as_str()));
        }
    }
    Ok(())
}

/// Everything that one server shares.
pub struct Hall {
    pub roots: Vec<Root>,
    pub sessions: AllSessions,
    pub names: Names,
    pub rates: Rates,
    pub routes: Routes,
    pub metrics: Metrics,
    pub queue: Arc<Semaphore>,
    pub streams: Arc<Semaphore>,
    /// The only caller, where this is the door of a run.
    pub run: Option<Caller>,
    cookie: String,
}

impl Hall {
    pub fn new(roots: Vec<Served>, names: Names, rate: u32) -> Result<Hall, Refusal> {
        check_names(&roots)?;
        let roots: Vec<Root> = roots.into_iter().map(Root::new).collect();
        Ok(Hall {
            sessions: AllSessions(roots.iter().map(|root| root.sessions.clone()).collect()),
            cookie: names.cookie(),
            names,
            rates: Rates::new(rate),
            routes: Routes::all(),
            metrics: Metrics::default(),
            queue: Arc::new(Semaphore::new(QUEUE_MAX)),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            run: None,
            roots,
        })
    }

    /// Makes the door of a run: whoever comes in is its agent.
    pub fn of_run(served: Served, caller: Caller) -> Result<Hall, Refusal> {
        let names = Names {
            port: 0,
            hosts: Vec::new(),
            secure: false,
            behind_proxy: false,
            loopback: true,
        };
        Ok(Hall { run: Some(caller), ..Hall::new(vec![served], names, 0)? })
    }

    /// Finds the project that a request is about: the one that it names, else that of its token, else that of its
    /// socket, else the first.
    pub fn root_of(&self, ask: &Ask) -> Result<(&Root, Option<RepoName>), Refusal> {
        let params = query(&ask.query)?;
        let named = params.iter().find(|(name, _)| name == "repo").map(|(_, repo)| repo.as_str());
        let own = |place: &usize| self.roots.get(*place).map(|root| (root, None));
        match named.is_some() || self.roots.len() == 1 {
            true => self.root(named),
            false => self.place(ask)?.as_ref().and_then(own).map_or_else(|| self.root(None), Ok),
        }
    }

    /// Finds which project a request belongs to that names none.
    fn place(&self, ask: &Ask) -> Result<Option<usize>, Refusal> {
        let Some(secret) = bearer(&ask.headers) else {
            return Ok(match ask.peer {
                Peer::Socket(place) => Some(place),
                Peer::Address(_) => None,
            });
        };
        for (place, root) in self.roots.iter().enumerate() {
            let now = root.served.service.recent_time()?;
            if root.tokens.holder(secret, now)?.is_some() {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// Finds the project of a repository, and the repository where the store has several.
    pub fn root(&self, repo: Option<&str>) -> Result<(&Root, Option<RepoName>), Refusal> {
        let lost = || Refusal::new(Code::NotFound, "this server serves no such repository");
        let Some(repo) = repo else {
            return self.roots.first().map(|root| (root, None)).ok_or_else(lost);
        };
        let is_it = |root: &&Root| root.served.context.repo.as_str() == repo;
        if let Some(root) = self.roots.iter().find(is_it) {
            return Ok((root, None));
        }
        match self.roots.as_slice() {
            // A run works for one repository.
            [_] if self.run.is_some() => Err(lost()),
            [only] => Ok((only, Some(RepoName::parse(repo)?))),
            _ => Err(lost()),
        }
    }

    /// Tells whether somebody may read: without counting the request.
    pub fn may_read(&self, ask: &Ask) -> Result<(), Refusal> {
        let (root, _) = self.root_of(ask)?;
        let now = root.served.service.recent_time()?;
        Who::of(&ask.headers, ask.peer, &self.keys(root), now)?.may_read()
    }

    pub fn keys<'a>(&'a self, root: &'a Root) -> Keys<'a> {
        Keys {
            tokens: &root.tokens,
            sessions: &self.sessions,
            cookie: &self.cookie,
            open_read: root.open_read && self.names.loopback,
            run: self.run.as_ref(),
        }
    }
}

//! A store with the rules before it, for one caller or for many.
//!
//! A command line uses it inline: everything happens on its own thread. A door that serves many starts it: one
//! thread writes, a few connections read, one thread wakes whoever waits.

use crate::answer::Reply;
use crate::batch::{Tries, open_facts, run_counted, settle};
use crate::caller::Caller;
use crate::claim_wait::Claimer;
use crate::commits::{Commits, Committed};
use crate::far::Far;
use crate::fold::Folds;
use crate::hub::Hub;
use crate::intake::{Intake, Prepared};
use crate::news::Offers;
use crate::read::Reader;
use crate::readers::Readers;
use crate::redact::RedactOptions;
use crate::still::Quiet;
use crate::writer::{Done, Writer};
use comity_api::{At, HeadAnswer};
use comity_core::command::{Command, Request};
use comity_core::decide::{decide, permit};
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_core::role::Verb;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use comity_core::via::Via;
use comity_store::memory::MemoryStore;
use comity_store::{ReadTx, Store, StoreError, Watch};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

/// Most commands in one transaction of [`Service::execute_all`].
const BATCH_MAX: usize = 256;

/// A project's settings.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What the rules depend on.
    pub policy: Policy,
    /// What must not enter the log.
    pub redact: RedactOptions,
}

/// A store with the rules before it. Clones share it. A started one ends with its last clone, or when it is stopped;
/// whoever waits then is told.
#[derive(Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

/// A service as those who wait know it: they do not keep it alive.
#[derive(Clone)]
pub(crate) struct WeakService(Weak<Shared>);

impl WeakService {
    pub(crate) fn upgrade(&self) -> Option<Service> {
        self.0.upgrade().map(|shared| Service { shared })
    }
}

struct Shared {
    settings: Settings,
    intake: Arc<Intake>,
    url: String,
    access: Access,
    memo: Memo,
}

/// What a service remembers between questions.
#[derive(Default)]
pub(crate) struct Memo {
    pub(crate) folds: Folds,
    pub(crate) commits: Arc<Commits>,
    /// What was offered to callers and is not confirmed yet.
    pub(crate) offers: Mutex<Offers>,
    /// Who was found to have no news.
    pub(crate) quiet: Mutex<Quiet>,
    /// What the store's clock said last, and when it was asked.
    pub(crate) time: Mutex<Option<(Timestamp, Instant)>>,
    /// When the log was checked last, and whether it was found whole.
    pub(crate) verified: Mutex<Option<(Timestamp, bool)>>,
    /// The moment of the past that everything is answered for.
    pub(crate) at: Option<At>,
    /// The server that answers operations instead.
    pub(crate) far: Option<Arc<dyn Far>>,
}

enum Access {
    /// The caller's thread does everything.
    Inline(Mutex<Box<dyn Store>>),
    Started {
        writer: Writer,
        readers: Arc<Readers>,
        hub: Hub,
        claimer: Claimer,
        /// Tells whether anybody has committed.
        sight: Mutex<Box<dyn comity_store::Reader>>,
    },
}

impl Service {
    /// Puts the rules before a store. No thread is started: every call does its work itself.
    pub fn inline(store: Box<dyn Store>, settings: Settings) -> Result<Service, Refusal> {
        let intake = intake(&settings, store.as_ref())?;
        let (url, access) = (store.url(), Access::Inline(Mutex::new(store)));
        let memo = Memo::default();
        Ok(Service { shared: Arc::new(Shared { settings, intake, url, access, memo }) })
    }

    /// Puts the rules before the copy of a store as it was at a moment.
    pub(crate) fn of_the_past(
        store: Box<dyn Store>,
        settings: Settings,
        at: At,
    ) -> Result<Service, Refusal> {
        let intake = intake(&settings, store.as_ref())?;
        let (url, access) = (store.url(), Access::Inline(Mutex::new(store)));
        let memo = Memo { at: Some(at), ..Memo::default() };
        Ok(Service { shared: Arc::new(Shared { settings, intake, url, access, memo }) })
    }

    /// Puts a server in the place of a store.
    pub(crate) fn elsewhere(
        store: Box<dyn Store>,
        settings: Settings,
        far: Arc<dyn Far>,
    ) -> Result<Service, Refusal> {
        let intake = intake(&settings, store.as_ref())?;
        let (url, access) = (store.url(), Access::Inline(Mutex::new(store)));
        let memo = Memo { far: Some(far), ..Memo::default() };
        Ok(Service { shared: Arc::new(Shared { settings, intake, url, access, memo }) })
    }

    pub(crate) fn memo(&self) -> &Memo {
        &self.shared.memo
    }

    /// Puts the rules before a store for many callers: one writer, a few readers, one hub.
    pub fn start(store: Box<dyn Store>, settings: Settings) -> Result<Service, Refusal> {
        let intake = intake(&settings, store.as_ref())?;
        let url = store.url();
        let readers = Arc::new(Readers::open(store.as_ref())?);
        let sight = Mutex::new(store.reader()?);
        let hub = {
            let policy = settings.policy.clone();
            Hub::start(store.watch()?, store.reader()?, readers.clone(), policy)?
        };
        let memo = Memo::default();
        let writer = Writer::start(store, settings.clone(), memo.commits.clone())?;
        let claimer = Claimer::default();
        let access = Access::Started { writer, readers, hub, claimer, sight };
        Ok(Service { shared: Arc::new(Shared { settings, intake, url, access, memo }) })
    }

    /// Ends the threads of a started service: what is queued is finished, whoever waits is told. When this returns, the
    /// threads have ended, except when a callback of the service itself calls it: then they end soon after.
    pub fn stop(&self) {
        if let Access::Started { writer, hub, claimer, .. } = &self.shared.access {
            hub.stop();
            claimer.stop();
            writer.stop();
        }
    }

    /// Tells whoever waits that nothing comes any more. Commands are still carried out.
    pub fn stop_waiting(&self) {
        if let Access::Started { hub, claimer, .. } = &self.shared.access {
            hub.stop();
            claimer.stop();
        }
    }

    pub(crate) fn weak(&self) -> WeakService {
        WeakService(Arc::downgrade(&self.shared))
    }

    /// Returns what was committed since the service was started.
    pub fn committed(&self) -> Committed {
        self.memo().commits.seen()
    }

    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Returns the URL that opens the store.
    pub fn store_url(&self) -> String {
        self.shared.url.clone()
    }

    /// Runs a command; when this returns, what was acknowledged is durable.
    pub fn execute(&self, request: Request) -> Result<Reply, Refusal> {
        let prepared = self.shared.intake.prepare(request)?;
        self.run_prepared(vec![prepared]).pop().unwrap_or_else(no_answer)
    }

    /// Asks the rules what they would say to a command now, and changes nothing. Whoever is about to do something that
    /// takes long, or cannot be taken back, asks first.
    pub fn would(&self, request: Request) -> Result<(), Refusal> {
        let request = self.shared.intake.prepare(request)?.request;
        let policy = &self.shared.settings.policy;
        self.read_stored(|tx| {
            let mut facts = open_facts(tx, policy, 0)?;
            settle(tx, &mut facts, |facts| decide(facts, &request, policy).map(drop))
        })
    }

    /// Asks the rules whether a caller may use a verb at all. An operation of many steps asks before its first one.
    pub fn may(&self, caller: &Caller, verb: Verb) -> Result<(), Refusal> {
        let request = caller.request(Command::Heartbeat);
        let policy = &self.shared.settings.policy;
        self.read_stored(|tx| {
            let mut facts = open_facts(tx, policy, 0)?;
            settle(tx, &mut facts, |facts| permit(facts, &request, policy, verb))
        })
    }

    /// Queues a command and returns at once. `done` is called exactly once: with the answer after the commit, on a thread
    /// of the service, or at once with a refusal when the queue is full.
    pub fn submit(&self, request: Request, done: Done) {
        match (&self.shared.access, self.shared.intake.prepare(request)) {
            (_, Err(refusal)) => done(Err(refusal)),
            (Access::Started { writer, .. }, Ok(prepared)) => writer.submit(prepared, done),
            (Access::Inline(_), Ok(prepared)) => {
                done(self.run_prepared(vec![prepared]).pop().unwrap_or_else(no_answer));
            }
        }
    }

    /// Runs commands one after the other, in one transaction for each 256 of them. The answers
    /// come in their order; a refusal spoils nothing for the others.
    pub fn execute_all(&self, requests: Vec<Request>) -> Vec<Result<Reply, Refusal>> {
        let mut answers = Vec::with_capacity(requests.len());
        let mut left = requests.into_iter().peekable();
        while left.peek().is_some() {
            let mut good = Vec::new();
            let mut checked = Vec::new();
            for request in left.by_ref().take(BATCH_MAX) {
                let prepared = self.shared.intake.prepare(request);
                checked.push(prepared.map(|prepared| good.push(prepared)));
            }
            let mut done = self.run_prepared(good).into_iter();
            answers.extend(
                checked
                    .into_iter()
                    .map(|one| one.and_then(|()| done.next().unwrap_or_else(no_answer))),
            );
        }
        answers
    }

    fn run_prepared(&self, prepared: Vec<Prepared>) -> Vec<Result<Reply, Refusal>> {
        match &self.shared.access {
            Access::Inline(store) => {
                let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
                let (settings, commits) = (&self.shared.settings, &self.memo().commits);
                run_counted(store.as_mut(), settings, &prepared, commits)
            }
            Access::Started { writer, .. } => writer.execute_all(prepared),
        }
    }

    /// Reads one consistent snapshot as it is stored. When the connection breaks, another one is read.
    pub(crate) fn read_stored<T>(
        &self,
        mut look: impl FnMut(&mut dyn ReadTx) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut tries = Tries::new();
        loop {
            let (found, lost) = match &self.shared.access {
                Access::Inline(store) => {
                    let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
                    look_once(store.read(), &mut look)
                }
                Access::Started { readers, .. } => {
                    let mut reader = readers.take();
                    look_once(reader.read(), &mut look)
                }
            };
            if !lost || !tries.go_on() {
                return found;
            }
        }
    }

    /// Reads one consistent snapshot with what has expired applied to the copy.
    pub(crate) fn read<T>(
        &self,
        caller: &Caller,
        mut look: impl FnMut(&mut Reader<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let (policy, memo) = (&self.shared.settings.policy, self.memo());
        self.read_stored(|tx| look(&mut Reader::open(tx, policy, caller, memo)?))
    }

    /// Returns a caller's `via` as the log gets it.
    pub(crate) fn as_logged(&self, via: Via) -> Via {
        self.shared.intake.clean_via(via)
    }

    /// Returns a task as it stands, for rules that are run outside a command.
    pub fn task(&self, caller: &Caller, id: &str) -> Result<Task, Refusal> {
        self.read(caller, |reader| reader.find(id))
    }

    /// Does something with the store that no command does, such as a rebuild, while nobody else writes through this
    /// service.
    pub(crate) fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Store) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        match &self.shared.access {
            Access::Inline(store) => {
                work(store.lock().unwrap_or_else(PoisonError::into_inner).as_mut())
            }
            Access::Started { writer, .. } => writer.with_store(work),
        }
    }

    /// Returns what was offered to callers through this service.
    pub(crate) fn offers(&self) -> &Mutex<Offers> {
        &self.shared.memo.offers
    }

    /// Returns the connection of a started service that tells whether anybody has committed.
    pub(crate) fn sight(&self) -> Option<&Mutex<Box<dyn comity_store::Reader>>> {
        match &self.shared.access {
            Access::Inline(_) => None,
            Access::Started { sight, .. } => Some(sight),
        }
    }

    /// Returns the hub of a started service.
    pub(crate) fn hub(&self) -> Option<&Hub> {
        match &self.shared.access {
            Access::Inline(_) => None,
            Access::Started { hub, .. } => Some(hub),
        }
    }

    /// Returns what tries the claims of a started service that wait.
    pub(crate) fn claimer(&self) -> Option<&Claimer> {
        match &self.shared.access {
            Access::Inline(_) => None,
            Access::Started { claimer, .. } => Some(claimer),
        }
    }

    /// Returns what wakes when any process commits.
    pub fn watch(&self) -> Result<Box<dyn Watch>, Refusal> {
        self.with_store(|store| Ok(store.watch()?))
    }

    /// Returns a copy of what the store holds now, in memory and without the log: what is done there is thrown away
    /// with it, and is what would be done here.
    pub fn trial(&self) -> Result<Service, Refusal> {
        let copy = self.read_stored(|tx| Ok(MemoryStore::copy_of(tx)?))?;
        Service::inline(Box::new(copy), self.shared.settings.clone())
    }

    /// Runs the database's own integrity check; an empty answer is a healthy one.
    pub fn integrity(&self) -> Result<Vec<String>, Refusal> {
        self.with_store(|store| Ok(store.integrity()?))
    }

    /// Returns where the log ends.
    pub fn log_head(&self) -> Result<HeadAnswer, Refusal> {
        let head = self.read_stored(|tx| Ok(tx.head()?))?;
        let ts = (head.seq.0 > 0).then_some(head.ts);
        Ok(HeadAnswer { seq: head.seq.0, hash: head.hash.to_string(), ts })
    }

    /// Returns the time by the store's clock.
    pub fn store_time(&self) -> Result<Timestamp, Refusal> {
        self.read_stored(|tx| Ok(tx.moment()?.now))
    }
}

fn intake(settings: &Settings, store: &dyn Store) -> Result<Arc<Intake>, Refusal> {
    let intake = Intake::new(settings.redact.clone())?;
    Ok(Arc::new(intake.making_keys(store.may_have_standbys())))
}

/// Reads a snapshot; tells whether the connection broke meanwhile.
fn look_once<T>(
    begun: Result<Box<dyn ReadTx + '_>, StoreError>,
    look: &mut impl FnMut(&mut dyn ReadTx) -> Result<T, Refusal>,
) -> (Result<T, Refusal>, bool) {
    match begun {
        Ok(mut tx) => {
            let found = look(tx.as_mut());
            let lost = found.is_err() && tx.is_lost();
            (found, lost)
        }
        Err(error) => (Err(error.to_refusal()), matches!(error, StoreError::Lost(_))),
    }
}

fn no_answer() -> Result<Reply, Refusal> {
    Err(Refusal::new(Code::Internal, "BUG: no answer"))
}

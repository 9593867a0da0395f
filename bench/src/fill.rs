//! Stores with something in them, filled through the engine.

use crate::Outcome;
use crate::script::{Client, register, repo};
use comity_core::command::Request;
use comity_engine::{Intake, Reply, Service, Settings, run_batch};
use comity_store::Store;
use comity_store::sqlite::{OpenOptions, SqliteStore};
use std::path::Path;

/// Opens a store, making it when it is not there.
pub fn open(path: &Path) -> Outcome<Box<dyn Store>> {
    Ok(Box::new(SqliteStore::open(path, OpenOptions::default())?))
}

pub fn service(path: &Path) -> Outcome<Service> {
    Ok(Service::inline(open(path)?, crate::script::without_git())?)
}

/// A store that takes requests by the batch.
pub struct Filler {
    store: Box<dyn Store>,
    settings: Settings,
    intake: Intake,
}

impl Filler {
    /// Opens a store to fill.
    pub fn open(path: &Path) -> Outcome<Filler> {
        let settings = crate::script::without_git();
        let intake = Intake::new(settings.redact.clone())?;
        Ok(Filler { store: open(path)?, settings, intake })
    }

    /// Runs requests in one transaction; a refusal of any is an error of the benchmark.
    pub fn batch(&mut self, requests: impl IntoIterator<Item = Request>) -> Outcome<Vec<Reply>> {
        let prepared: Result<Vec<_>, _> =
            requests.into_iter().map(|request| self.intake.prepare(request)).collect();
        let answers = run_batch(self.store.as_mut(), &self.settings, &prepared?);
        Ok(answers.into_iter().collect::<Result<_, _>>()?)
    }

    /// Returns the seq of the last event.
    pub fn head(&mut self) -> Outcome<u64> {
        Ok(self.store.read()?.head()?.seq.0)
    }
}

/// Makes a store that knows so many clients, and returns them.
pub fn with_clients(path: &Path, clients: usize) -> Outcome<Vec<Client>> {
    let mut filler = Filler::open(path)?;
    let clients: Vec<Client> = (0..clients).map(Client::new).collect::<Outcome<_>>()?;
    let repo = repo()?;
    let requests: Vec<Request> =
        clients.iter().map(|client| register(&client.agent, &repo)).collect::<Outcome<_>>()?;
    filler.batch(requests)?;
    Ok(clients)
}

//! The conformance suite on each store.

use comity_store::conformance::{CASES, Opener, run};
use comity_store::memory::MemoryStore;
use comity_store::postgres::{OpenOptions as PgOptions, PgStore};
use comity_store::sqlite::{OpenOptions, SqliteStore};
use comity_store::{Clock, Store};
use std::sync::Arc;

fn memory(clock: Arc<dyn Clock>) -> Opener {
    let store = MemoryStore::new(clock);
    Box::new(move || Box::new(store.clone()) as Box<dyn Store>)
}

fn sqlite(clock: Arc<dyn Clock>) -> Opener {
    let dir = tempfile::tempdir().unwrap();
    Box::new(move || {
        let options = OpenOptions { clock: clock.clone(), ..OpenOptions::default() };
        Box::new(SqliteStore::open(&dir.path().join("store.db"), options).unwrap())
    })
}

fn postgres(clock: Arc<dyn Clock>) -> Opener {
    let url = comity_store::conformance::server::empty_store();
    Box::new(move || {
        let options = PgOptions { clock: Some(clock.clone()), ..PgOptions::default() };
        Box::new(PgStore::open(&url, options, &|_| None).unwrap())
    })
}

#[test]
fn the_model_in_memory_conforms() {
    for case in CASES {
        println!("{}", case.name);
        run(case, &memory);
    }
}

#[test]
fn sqlite_conforms() {
    for case in CASES {
        println!("{}", case.name);
        run(case, &sqlite);
    }
}

#[test]
fn postgresql_conforms() {
    for case in CASES {
        println!("{}", case.name);
        run(case, &postgres);
    }
}

//! Checks of the store: where it is, whether it opens, holds together and can be written.

use super::{Check, State, server};
use comity_api::VerifyAnswer;
use comity_core::limits::CLOCK_SLACK;
use comity_core::refusal::Refusal;
use comity_engine::Service;
use comity_project::Context;
use comity_project::store::{Access, Place};
use comity_store::sqlite::{self, OpenOptions, SqliteStore};
use comity_store::{Store, StoreError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Less free space than this is worth a word.
const SPACE_WARN_BYTES: u64 = 100 * 1024 * 1024;
/// With less than this the next write may fail.
const SPACE_FAIL_BYTES: u64 = 5 * 1024 * 1024;
/// How long the write test waits for other writers.
const WRITE_WAIT: Duration = Duration::from_secs(3);
/// What others may do with the store's files: nothing.
const OTHERS: u32 = 0o077;

pub(super) fn checks(context: &Context, fix: bool) -> Vec<Check> {
    match &context.store {
        Place::File(path) => file(context, path, fix),
        Place::Server(url) => server::checks(context, url, fix),
    }
}

fn file(context: &Context, path: &Path, fix: bool) -> Vec<Check> {
    let mut found: Vec<Check> = lost(context, path, fix).into_iter().collect();
    if found.iter().any(|check| check.state == State::Fail) && !path.exists() {
        return found;
    }
    if !path.exists() {
        if !fix {
            let message = format!("there is no store yet at {}", path.display());
            found.push(Check::warn("store", message, "the first task creates it, or --fix does"));
            return found;
        }
        if let Err(refusal) = context.service(Access::Write) {
            found.push(Check::fail("store", &refusal));
            return found;
        }
    }
    found.push(space(path));
    let service = match context.service(Access::Read) {
        Ok(service) => service,
        Err(refusal) => {
            found.push(Check::fail("store", &refusal));
            return found;
        }
    };
    found.push(Check::ok("store", format!("{} opens; its schema is known", context.store_url())));
    found.push(private(path, fix));
    found.extend(contents(context, &service, fix));
    found.push(writing(path));
    found
}

/// Says which events are gone from the end of the log; a person can go on without them.
fn lost(context: &Context, path: &Path, fix: bool) -> Option<Check> {
    // What cannot even be read is found by the other checks.
    let gone = sqlite::gone(path).ok()??;
    if !fix {
        return Some(Check::fail("end", &StoreError::Gone(gone).to_refusal()));
    }
    let mended = context
        .service(Access::Mend)
        .and_then(|service| service.accept_loss(&context.caller(), &gone));
    Some(match mended {
        Ok(()) => Check::ok("end", format!("{gone}; the log goes on without them")).fixed(),
        Err(refusal) => Check::fail("end", &refusal),
    })
}

/// Checks what a store holds, wherever it is.
pub(super) fn contents(context: &Context, service: &Service, fix: bool) -> [Check; 3] {
    let integrity = integrity(service);
    // A damaged file is left as it is: each write may damage more of it.
    // Before the log is looked at, since a corrected clock is an event of it.
    let clock = clock(context, service, fix && integrity.state == State::Ok);
    let log = log(service, fix && integrity.state == State::Ok);
    [integrity, log, clock]
}

fn integrity(service: &Service) -> Check {
    match service.integrity() {
        Ok(problems) if problems.is_empty() => Check::ok("integrity", "the database is sound"),
        Ok(problems) => Check {
            hint: Some("restore the store from a backup".to_owned()),
            ..Check::new("integrity", State::Fail, problems.join("; "))
        },
        Err(refusal) => Check::fail("integrity", &refusal),
    }
}

fn log(service: &Service, fix: bool) -> Check {
    let verified = service.verify();
    let check = verdict(&verified);
    if check.state != State::Fail || !fix {
        return check;
    }
    // The state can be built anew from a sound log; a damaged log cannot be mended by anybody.
    match service.rebuild() {
        Ok(_) => verdict(&service.verify()).fixed(),
        Err(refusal) => Check::fail("log", &refusal),
    }
}

fn verdict(verified: &Result<VerifyAnswer, Refusal>) -> Check {
    let answer = match verified {
        Ok(answer) => answer,
        Err(refusal) => return Check::fail("log", refusal),
    };
    let events = answer.events;
    if answer.ok {
        return Check::ok("log", format!("{events} events; the chain and the state agree"));
    }
    let problems = answer.problems.len();
    Check {
        hint: Some(
            "see `comity log verify`; if the log is sound, --fix rebuilds the state from it"
                .to_owned(),
        ),
        ..Check::new("log", State::Fail, format!("{problems} problems in {events} events"))
    }
}

fn clock(context: &Context, service: &Service, fix: bool) -> Check {
    let ahead = match service.clock_ahead() {
        Ok(ahead) => ahead,
        Err(refusal) => return Check::fail("clock", &refusal),
    };
    if ahead <= CLOCK_SLACK {
        return Check::ok("clock", "agrees with the log");
    }
    let message = format!("the log is {ahead} ahead of the clock, so nothing expires");
    if fix {
        return match service.correct_clock(&context.caller()) {
            Ok(()) => {
                Check::ok("clock", format!("{message}; it goes on from the clock's time")).fixed()
            }
            Err(refusal) => Check::fail("clock", &refusal),
        };
    }
    let hint = "correct the clock; if it is right, a person runs `comity doctor --fix`";
    Check::warn("clock", message, hint)
}

fn writing(path: &Path) -> Check {
    let options = OpenOptions { create: false, lock_wait: WRITE_WAIT, ..OpenOptions::default() };
    let tried = SqliteStore::open(path, options).and_then(|mut store| store.write().map(drop));
    match tried {
        Ok(()) => Check::ok("writing", "a write can begin; no other process holds the store"),
        Err(error) => Check::fail("writing", &error.to_refusal()),
    }
}

fn space(path: &Path) -> Check {
    let dir = path.parent().unwrap_or(path);
    let Ok(disk) = rustix::fs::statvfs(dir) else {
        return Check::warn("disk", "the free space is unknown", "check the disk");
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let message = format!("{} MiB free", free / (1024 * 1024));
    match free {
        free if free < SPACE_FAIL_BYTES => Check {
            hint: Some("free space on this disk".to_owned()),
            ..Check::new("disk", State::Fail, message)
        },
        free if free < SPACE_WARN_BYTES => Check::warn("disk", message, "free space on this disk"),
        _ => Check::ok("disk", message),
    }
}

fn private(path: &Path, fix: bool) -> Check {
    // What was just written stands in the files beside the database.
    let files = ["", "-wal", "-shm"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    });
    let is_open = |file: &&PathBuf| {
        std::fs::metadata(file).is_ok_and(|meta| meta.permissions().mode() & OTHERS != 0)
    };
    let close = |file: &PathBuf| {
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).is_ok()
    };
    let open: Vec<&PathBuf> = files.iter().filter(is_open).collect();
    if open.is_empty() {
        return Check::ok("access", "only you can read the store");
    }
    if fix && open.into_iter().all(close) {
        return Check::ok("access", "only you can read the store").fixed();
    }
    Check::warn("access", "others on this machine can read the store", "run `comity doctor --fix`")
}

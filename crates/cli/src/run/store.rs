//! `comity store …`

#![deny(clippy::wildcard_enum_match_arm)]

use crate::args::{Global, StoreCommand};
use crate::output::{self, Reply};
use crate::{env, human};
use comity_api::CopyAnswer;
use comity_core::refusal::{Code, Refusal};
use comity_engine::Settings;
use comity_project::backup::{self, Copied};
use comity_project::store::{self, Access, Place};
use comity_project::{Config, Machine};
use comity_project::{Context, Root};
use serde::Serialize;
use serde_json::json;
use std::path::Path;

/// How many marks a full bar has.
const BAR_MARKS: u64 = 30;
/// Names of agents that a refusal lists at most.
const NAMES_MAX: usize = 5;

pub(super) fn run(global: &Global, command: &StoreCommand) -> Result<Reply, Refusal> {
    match command {
        StoreCommand::Copy { from, to, fence_writers } => copy(global, from, to, *fence_writers),
        StoreCommand::Backup { file } => backup(&env::project(global)?, file),
        StoreCommand::Restore { file, replace } => restore(&env::project(global)?, file, *replace),
    }
}

fn backup(context: &Context, file: &Path) -> Result<Reply, Refusal> {
    let copied = backup::backup(context, &context.cwd.join(file))?;
    let Copied { events, head, bytes } = &copied;
    let (file, events) = (file.display().to_string(), count_of(*events));
    let text = format!("Wrote {events} ({bytes} bytes) to {file}; the log ends in {head}\n");
    Ok(Reply::text(
        json!({"backup": {"file": file, "events": copied.events, "head": copied.head, "bytes": copied.bytes}}),
        text,
    ))
}

fn restore(context: &Context, file: &Path, replace: bool) -> Result<Reply, Refusal> {
    // Whoever works for an agent client could make its own history.
    let is_agent = !context.actor.is_person() && !context.actor.as_str().starts_with("script:");
    if replace && is_agent {
        let text = format!("an agent ({}) cannot replace the store", context.actor);
        return Err(Refusal::new(Code::HumanOnly, text));
    }
    let stamp: String =
        human::now().to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    let restored = backup::restore(context, &context.cwd.join(file), replace, &stamp)?;
    let Copied { events, head, .. } = &restored.copy;
    let events = count_of(*events);
    let mut text = format!("Restored {events}; the log ends in {head}\n");
    if let Some(path) = &restored.replaced {
        text.push_str(&format!("The store that was there is now {}\n", path.display()));
    }
    Ok(Reply::text(
        json!({"restore": {"store": context.store_url(), "events": restored.copy.events, "head": restored.copy.head, "replaced": restored.replaced}}),
        text,
    ))
}

fn count_of(events: u64) -> String {
    format!("{events} {}", if events == 1 { "event" } else { "events" })
}

fn copy(global: &Global, from: &str, to: &str, fence: bool) -> Result<Reply, Refusal> {
    let machine = env::machine()?;
    let Machine { cwd, environment, .. } = &machine;
    let (source, target) = (store::parse_url(from, cwd)?, store::parse_url(to, cwd)?);
    if source == target {
        return Err(Refusal::input("both URLs name the same store"));
    }
    if !source.exists() {
        let text = format!("there is no store at {}", source.url());
        return Err(Refusal::new(Code::NotFound, text)
            .hint("run `comity status --json` in the project to see its store"));
    }
    let settings = settings(global, &machine)?;
    let old = store::open(&source, Access::Read, settings.clone(), environment)?;
    let workers = old.at_work()?;
    if !workers.is_empty() && !fence {
        return Err(active(&source, &workers));
    }
    let new = store::open(&target, Access::Write, settings, environment)?;
    // Whoever closed it before counts on its staying closed: that copy may be under way or done.
    let closes = fence && !old.is_closed()?;
    if closes {
        old.close(Some(&format!("it was moved to {}", target.url())))?;
    }
    let shown = !global.json && output::progress_is_seen();
    let copied = old.copy_to(&new, |done, all| {
        if shown {
            bar(done, all);
        }
    });
    if shown {
        output::aside("\n");
    }
    let copy = match copied {
        Ok(answer) => answer,
        Err(refusal) if closes => {
            // Nothing has moved, so the old store goes on being the one that counts.
            old.close(None)?;
            return Err(refusal);
        }
        Err(refusal) => return Err(refusal),
    };
    let text = words(&copy, fence, &target);
    Ok(Reply::text(Moved { copy, fenced: fence }, text))
}

#[derive(Serialize)]
struct Moved {
    #[serde(flatten)]
    copy: CopyAnswer,
    fenced: bool,
}

/// The settings of the project that the command is run in, when it is run in one.
fn settings(global: &Global, machine: &Machine) -> Result<Settings, Refusal> {
    let config = match Root::find(global.roots.first().map(String::as_str), machine)? {
        Some(root) => Config::load(&root.dir)?,
        None => Config::default(),
    };
    Ok(config.settings()?)
}

fn active(source: &Place, workers: &[String]) -> Refusal {
    let mut names: Vec<&str> = workers.iter().take(NAMES_MAX).map(String::as_str).collect();
    if workers.len() > NAMES_MAX {
        names.push("…");
    }
    let text = format!("{} is in use by {}", source.url(), names.join(", "));
    Refusal::new(Code::NotReady, text)
        .hint("wait until they finish, or give --fence-writers to close the old store")
        .detail("agents", workers.to_vec())
}

fn bar(done: u64, all: u64) {
    let marks = (done * BAR_MARKS).checked_div(all).unwrap_or(BAR_MARKS);
    let full = "#".repeat(usize::try_from(marks).unwrap_or_default());
    let width = usize::try_from(BAR_MARKS).unwrap_or_default();
    output::progress(&format!("[{full:<width$}] {done} of {all} events"));
}

fn words(copy: &CopyAnswer, fence: bool, target: &Place) -> String {
    let mut out = format!(
        "Copied {} of {} events; both logs verify and end in {}\n",
        copy.copied, copy.events, copy.head,
    );
    let next = target.url();
    out.push_str(&format!(
        "\nNext:\n  set [store] url = \"{next}\" in .comity/config.toml, then run `comity trust`\n"
    ));
    if !fence {
        out.push_str("  the old store is still open: whoever uses it goes on there\n");
    }
    out
}

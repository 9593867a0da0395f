//! `comity store …`

use crate::args::{Global, StoreCommand};
use crate::config::Config;
use crate::human::Shape;
use crate::output::Reply;
use crate::root::Root;
use crate::store::{self, Access, Place};
use comity_core::refusal::{Code, Refusal};
use comity_engine::Settings;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};

/// How many marks a full bar has.
const BAR_MARKS: u64 = 30;
/// Names of agents that a refusal lists at most.
const NAMES_MAX: usize = 5;

pub(super) fn run(global: &Global, command: &StoreCommand) -> Result<Reply, Refusal> {
    let StoreCommand::Copy { from, to, fence_writers: fence } = command;
    let cwd = std::env::current_dir()
        .map_err(|error| Refusal::input(format!("the working directory is gone: {error}")))?;
    let (source, target) = (store::parse_url(from, &cwd)?, store::parse_url(to, &cwd)?);
    if source == target {
        return Err(Refusal::input("both URLs name the same store"));
    }
    if !source.exists() {
        let text = format!("there is no store at {}", source.url());
        return Err(Refusal::new(Code::NotFound, text)
            .hint("`comity status --json` in its project names the store that is used there"));
    }
    let settings = settings(global, &cwd)?;
    let mut old = store::open(&source, Access::Read, settings.clone())?;
    let workers = old.at_work()?;
    if !workers.is_empty() && !fence {
        return Err(active(&source, &workers));
    }
    let mut new = store::open(&target, Access::Write, settings)?;
    // Whoever closed it before counts on its staying closed: that copy may be under way or done.
    let closes = *fence && !old.is_closed()?;
    if closes {
        old.close(Some(&format!("it was moved to {}", target.url())))?;
    }
    let shown = !global.json && std::io::stderr().is_terminal();
    let copied = old.copy_to(&mut new, |done, all| {
        if shown {
            bar(done, all);
        }
    });
    if shown {
        let _ = writeln!(std::io::stderr());
    }
    let mut answer = match copied {
        Ok(answer) => answer,
        Err(refusal) if closes => {
            // Nothing has moved, so the old store goes on being the one that counts.
            old.close(None)?;
            return Err(refusal);
        }
        Err(refusal) => return Err(refusal),
    };
    if let Value::Object(fields) = &mut answer {
        fields.insert("fenced".to_owned(), json!(fence));
    }
    let text = words(&answer, *fence, &target);
    Ok(Reply::new(answer, Shape::Text(text)))
}

/// The settings of the project that the command is run in, when it is run in one.
fn settings(global: &Global, cwd: &std::path::Path) -> Result<Settings, Refusal> {
    let config = match Root::find(global.root.as_deref(), cwd)? {
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
        .hint("let them finish, or pass --fence-writers: then nobody writes to it any more")
        .detail("agents", workers.to_vec())
}

fn bar(done: u64, all: u64) {
    let marks = (done * BAR_MARKS).checked_div(all).unwrap_or(BAR_MARKS);
    let full = "#".repeat(usize::try_from(marks).unwrap_or_default());
    let width = usize::try_from(BAR_MARKS).unwrap_or_default();
    // A bar that nobody can see is not worth a failure.
    let _ = write!(std::io::stderr(), "\r[{full:<width$}] {done} of {all} events");
}

fn words(answer: &Value, fence: bool, target: &Place) -> String {
    let text = |key: &str| answer.get(key).cloned().unwrap_or_default();
    let mut out = format!(
        "Copied {} of {} events; both logs verify and end in {}\n",
        text("copied"),
        text("events"),
        text("head").as_str().unwrap_or_default(),
    );
    let next = target.url();
    out.push_str(&format!("\nNext:\n  set [store] url = \"{next}\" in .comity/config.toml\n"));
    if !fence {
        out.push_str("  the old store is still open: whoever uses it goes on there\n");
    }
    out
}

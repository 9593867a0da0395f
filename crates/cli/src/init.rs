//! `comity init`: make the project's settings and its store. Running it again changes nothing.

use crate::args::Global;
use crate::config;
use crate::context::Context;
use crate::git::Git;
use crate::human::Shape;
use crate::output::Reply;
use crate::root::SETTINGS_DIR;
use crate::store::Access;
use comity_core::refusal::{Code, Refusal};
use serde_json::json;
use std::io::Write;
use std::path::Path;

const DEFAULT_CONFIG: &str = include_str!("default_config.toml");
/// Keeps a store that lies in the settings' directory out of commits.
const GITIGNORE: &str = "# comity's own files; config.toml is meant to be committed\n\
    comity.db*\n";

/// Sets the project up.
pub fn run(global: &Global) -> Result<Reply, Refusal> {
    let context = Context::find_or_here(global)?;
    let dir = &context.root.dir;
    let settings = dir.join(SETTINGS_DIR);
    std::fs::create_dir_all(&settings).map_err(|error| failed(&settings, &error))?;
    let mut made = Vec::new();
    let file = config::path(dir);
    let mut note = None;
    if make(&file, &default_config(global, dir, &settings))? {
        made.push(file.display().to_string());
    } else if global.store.is_some() {
        note = Some(format!("note: {} is kept as it is; set [store] url there", file.display()));
    }
    let ignore = settings.join(".gitignore");
    if make(&ignore, GITIGNORE)? {
        made.push(ignore.display().to_string());
    }
    remember_root(&context)?;
    // The settings that were just written count from the first moment on.
    let context = Context::find_or_here(global)?;
    let fresh = !context.store.exists();
    drop(context.engine(Access::Write)?);
    if fresh {
        made.push(context.store_url());
    }
    let answer = json!({
        "root": dir.display().to_string(),
        "store": context.store_url(),
        "repo": context.repo.as_str(),
        "me": context.actor.as_str(),
        "created": made,
    });
    let words = words(&context, &made);
    let reply = Reply::new(answer, Shape::Text(words));
    Ok(match note {
        Some(note) => reply.note(note),
        None => reply,
    })
}

fn words(context: &Context, made: &[String]) -> String {
    let mut out = if made.is_empty() {
        format!("{} is set up already\n", context.root.dir.display())
    } else {
        format!("Set up {}\n", context.root.dir.display())
    };
    for one in made {
        out.push_str(&format!("  made    {one}\n"));
    }
    out.push_str(&format!("  store   {}\n", context.store_url()));
    out.push_str(&format!("  repo    {}\n", context.repo));
    out.push_str(&format!("  you are {}\n", context.actor));
    out.push_str("\nNext:\n");
    for step in [
        "comity task create 'What is to be done' --file 'src/**' --gate tests",
        "comity task claim",
        "comity status",
    ] {
        out.push_str(&format!("  {step}\n"));
    }
    out
}

fn default_config(global: &Global, root: &Path, settings: &Path) -> String {
    let mut text = DEFAULT_CONFIG.to_owned();
    if folds_case(settings) {
        text = text.replace("# fold_case = false", "fold_case = true");
    }
    // A store that was asked for at the start is the project's from now on, unless it has a password.
    if let Some(url) = global.store.as_ref().filter(|url| !crate::store::has_password(url))
        && let Some(path) = url.strip_prefix("sqlite:")
        && let Ok(absolute) = std::path::absolute(path.strip_prefix("//").unwrap_or(path))
    {
        let place = absolute.strip_prefix(root).unwrap_or(&absolute);
        let value = toml::Value::String(format!("sqlite:{}", place.display()));
        text = text.replace("# url = \"sqlite:PATH\"", &format!("url = {value}"));
    }
    text
}

/// Writes a file that is not there yet; tells whether it did.
fn make(path: &Path, text: &str) -> Result<bool, Refusal> {
    match std::fs::File::create_new(path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).map_err(|error| failed(path, &error))?;
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(path, &error)),
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(Code::StoreReadOnly, format!("cannot write {}: {error}", path.display()))
}

/// Finds out whether the file system takes `A` and `a` for one name.
fn folds_case(dir: &Path) -> bool {
    let (upper, lower) = (dir.join(".Case-Probe"), dir.join(".case-probe"));
    if std::fs::File::create_new(&upper).is_err() {
        return false;
    }
    let folds = lower.exists();
    // Left behind it would only be an empty file.
    let _ = std::fs::remove_file(&upper);
    folds
}

/// With a git directory kept elsewhere, linked worktrees cannot find the main one by themselves.
fn remember_root(context: &Context) -> Result<(), Refusal> {
    let Some(place) = &context.root.git else { return Ok(()) };
    let config = place.config();
    let own = place.common_dir.starts_with(&context.root.dir)
        || context.root.dir == place.common_dir
        || config.get("core", "worktree").is_some()
        || config.get("comity", "root").is_some();
    if own {
        return Ok(());
    }
    let root = context.root.dir.display().to_string();
    let git = Git::at(&place.common_dir);
    let set = git.output(&["config", "comity.root", &root]).is_some_and(|out| out.status.success());
    if set {
        return Ok(());
    }
    Err(Refusal::new(Code::Internal, "git could not note where the project is")
        .hint(format!("run `git config comity.root {root}`")))
}

//! `comity init`: make the project's settings and its store. Running it again changes nothing.

use crate::args::Global;
use crate::env;
use crate::output::Reply;
use comity_core::refusal::{Code, Refusal};
use comity_guard::git::Git;
use comity_project::store::Access;
use comity_project::{Context, setup};
use serde_json::json;

pub fn run(global: &Global) -> Result<Reply, Refusal> {
    let (machine, asked) = (env::machine()?, global.asked());
    let context = Context::find_or_here(&machine, &asked)?;
    let dir = &context.root.dir;
    let written = setup::write(dir, asked.store.as_deref(), &machine.cwd)?;
    let mut made: Vec<String> =
        written.made.iter().map(|file| file.display().to_string()).collect();
    let kept = written.kept.filter(|_| asked.store.is_some());
    let note = kept.map(|file| {
        format!(
            "note: {} already exists and was not changed; set [store] url in it",
            file.display()
        )
    });
    remember_root(&context)?;
    // The settings that were just written count from the first moment on.
    let context = Context::find_or_here(&machine, &asked)?;
    let fresh = !context.store.exists();
    drop(context.service(Access::Write)?);
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
    let reply = Reply::text(answer, words);
    Ok(match note {
        Some(note) => reply.note(note),
        None => reply,
    })
}

fn words(context: &Context, made: &[String]) -> String {
    let mut out = if made.is_empty() {
        format!("{} is already set up\n", context.root.dir.display())
    } else {
        format!("Set up {}\n", context.root.dir.display())
    };
    for one in made {
        out.push_str(&format!("  created {one}\n"));
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
    Err(Refusal::new(Code::Internal, "git could not record the root of the project")
        .hint(format!("run `git config comity.root {root}`")))
}

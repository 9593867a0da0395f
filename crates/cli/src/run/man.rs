//! `comity man`: manual pages from the definition of the command line.

use crate::args::whole;
use crate::output::Reply;
use comity_core::refusal::{Code, Refusal};
use serde_json::json;
use std::io;
use std::path::Path;

pub(super) fn run(dir: &Path) -> Result<Reply, Refusal> {
    let written = std::fs::create_dir_all(dir).and_then(|()| {
        let mut pages = Vec::new();
        write(&whole(), "comity", dir, &mut pages)?;
        Ok(pages)
    });
    let pages = written.map_err(|error| {
        let message = format!("cannot write to {}: {error}", dir.display());
        Refusal::new(Code::StoreReadOnly, message).hint("give a directory that you can write to")
    })?;
    let text = format!("Wrote {} pages to {}\n", pages.len(), dir.display());
    Ok(Reply::text(json!({"dir": dir.display().to_string(), "pages": pages}), text))
}

/// Writes the page of a command and those of its commands, named as git names its pages.
fn write(
    command: &clap::Command,
    name: &str,
    dir: &Path,
    pages: &mut Vec<String>,
) -> io::Result<()> {
    let page = format!("{name}.1");
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    std::fs::write(dir.join(&page), text)?;
    pages.push(page);
    let shown = |inner: &&clap::Command| inner.get_name() != "help" && !inner.is_hide_set();
    for inner in command.get_subcommands().filter(shown) {
        write(inner, &format!("{name}-{}", inner.get_name()), dir, pages)?;
    }
    Ok(())
}

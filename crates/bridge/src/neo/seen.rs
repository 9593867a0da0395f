//! What comity last read from neo's files and last wrote to them. It is kept beside the store.

use crate::collab::failed;
use comity_core::chain::Hash;
use comity_core::refusal::Refusal;
use comity_project::Context;
use comity_protocol::neotx::changes::Bases;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Seen {
    /// The digest of each file, by its name.
    pub(super) files: BTreeMap<String, String>,
    pub(super) decisions: Bases,
    pub(super) directives: Bases,
    pub(super) memories: Bases,
    pub(super) tasks: Bases,
}

/// Keeps other imports and exports away until it is dropped.
pub(super) struct Hold(#[expect(dead_code, reason = "the lock lives as long as the file")] File);

fn place(context: &Context) -> Result<PathBuf, Refusal> {
    let dir = context.beside_store().join("neo");
    std::fs::create_dir_all(&dir).map_err(|error| failed("make", &dir, &error))?;
    Ok(dir)
}

/// Waits until no other process imports from neo or exports to it.
pub(super) fn hold(context: &Context) -> Result<Hold, Refusal> {
    let path = place(context)?.join("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| failed("open", &path, &error))?;
    file.lock().map_err(|error| failed("lock", &path, &error))?;
    Ok(Hold(file))
}

/// There is one file for each supervisor's directory and repository.
fn path(context: &Context, dir: &Path) -> Result<PathBuf, Refusal> {
    let dir = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let mut name = dir.into_os_string().into_encoded_bytes();
    name.push(0);
    name.extend(context.repo.as_str().as_bytes());
    let name: String = Hash::of(&name).to_string().chars().take(32).collect();
    Ok(place(context)?.join(format!("{name}.json")))
}

impl Seen {
    /// Reads what comity saw of a directory. If that cannot be read, comity has seen nothing, and an export refuses.
    pub(super) fn load(context: &Context, dir: &Path) -> Result<Seen, Refusal> {
        let bytes = std::fs::read(path(context, dir)?).unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub(super) fn save(&self, context: &Context, dir: &Path) -> Result<(), Refusal> {
        let path = path(context, dir)?;
        let beside = path.with_extension("tmp");
        let text = serde_json::to_vec(self).unwrap_or_default();
        std::fs::write(&beside, text)
            .and_then(|()| std::fs::rename(&beside, &path))
            .map_err(|error| failed("write", &path, &error))
    }

    /// The ids of everything that the directory has.
    pub(super) fn ids(&self) -> impl Iterator<Item = &String> {
        let all = [&self.decisions, &self.directives, &self.memories, &self.tasks];
        all.into_iter().flat_map(|bases| bases.keys())
    }
}

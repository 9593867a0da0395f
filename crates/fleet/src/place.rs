//! Where a run has its files on this host.

use comity_core::chain::Hash;
use comity_core::refusal::{Code, Refusal};
use comity_project::Context;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Nobody but the user looks into a run: it may hold what is not public.
const PRIVATE: u32 = 0o700;
/// Characters of the root's hash that tell two roots apart.
const KEY_CHARS: usize = 12;

/// The directory of one run: its prompt, its log and what its keeper needs.
#[derive(Clone, Debug)]
pub struct RunPlace {
    pub dir: PathBuf,
}

impl RunPlace {
    pub fn of(context: &Context, run: &str) -> Result<RunPlace, Refusal> {
        Ok(RunPlace { dir: home(context)?.join("runs").join(run) })
    }

    pub fn make(&self) -> Result<(), Refusal> {
        private_dir(&self.dir)?;
        private_dir(&self.temporary())
    }

    pub fn job(&self) -> PathBuf {
        self.dir.join("job.json")
    }

    pub fn prompt(&self) -> PathBuf {
        self.dir.join("prompt.md")
    }

    pub fn log(&self) -> PathBuf {
        self.dir.join("log.jsonl")
    }

    pub fn keeper_log(&self) -> PathBuf {
        self.dir.join("keeper.log")
    }

    pub fn temporary(&self) -> PathBuf {
        self.dir.join("tmp")
    }
}

/// Returns where the runs of a project are kept: in the user's state directory, one directory a root.
pub(crate) fn home(context: &Context) -> Result<PathBuf, Refusal> {
    let dir = |name: &str| {
        let dir = PathBuf::from(context.environment().own(name)?);
        dir.is_absolute().then_some(dir)
    };
    let state = dir("XDG_STATE_HOME").or_else(|| Some(dir("HOME")?.join(".local/state")));
    let state = state.ok_or_else(|| {
        Refusal::new(Code::CouldNotRun, "there is no place for the files of runs")
            .hint("set HOME or XDG_STATE_HOME to a directory")
    })?;
    let root = context.root.dir.as_os_str().as_encoded_bytes();
    let key: String = Hash::of(root).to_string().chars().take(KEY_CHARS).collect();
    let name = context.root.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(state.join("comity").join(format!("{name}-{key}")))
}

pub(crate) fn private_dir(dir: &Path) -> Result<(), Refusal> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(PRIVATE).create(dir);
    made.map_err(|error| failed(dir, &error))
}

pub(crate) fn failed(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(Code::CouldNotRun, format!("cannot write {}: {error}", path.display()))
        .hint("make the directory writable, or set XDG_STATE_HOME to one that is")
}

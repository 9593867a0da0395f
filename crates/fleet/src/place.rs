//! Where a run has its files on this host.

use comity_core::chain::Hash;
use comity_core::refusal::{Code, Refusal};
use comity_project::Context;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Nobody but the user looks into a run: it may hold what is not public.
const PRIVATE: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
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
        [self.temporary(), self.client(), self.cache()].iter().try_for_each(|dir| private_dir(dir))
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

    /// Where the client of the agent keeps its own settings and sessions.
    pub fn client(&self) -> PathBuf {
        self.dir.join("client")
    }

    pub fn cache(&self) -> PathBuf {
        self.dir.join("cache")
    }

    /// What somebody says to the agent while it works, a line each.
    pub fn steering(&self) -> PathBuf {
        self.dir.join("steer.jsonl")
    }

    /// The session of the client, and what it has cost so far.
    pub fn session(&self) -> PathBuf {
        self.dir.join("session.json")
    }

    /// Returns the socket of the run's keeper. The path of a socket is short, so it need not lie beside the rest.
    pub fn socket(&self, context: &Context) -> Result<PathBuf, Refusal> {
        let own = |name: &str| context.environment().own(name).filter(|dir| dir.starts_with('/'));
        let key: String = Hash::of(self.dir.as_os_str().as_encoded_bytes()).to_string();
        let name = format!("{}.sock", key.chars().take(KEY_CHARS).collect::<String>());
        let fits = |dir: PathBuf| {
            let path = dir.join(&name);
            (path.as_os_str().len() <= SOCKET_BYTES_MAX).then_some((dir, path))
        };
        let user = rustix::process::getuid().as_raw();
        let places = [
            own("XDG_RUNTIME_DIR").map(|dir| PathBuf::from(dir).join("comity")),
            Some(self.dir.clone()),
            Some(std::env::temp_dir().join(format!("comity-{user}"))),
        ];
        let found = places.into_iter().flatten().find_map(fits);
        let (dir, path) = found.ok_or_else(|| {
            Refusal::new(Code::CouldNotRun, "there is no place for the socket of a run")
                .hint("set XDG_RUNTIME_DIR to a directory of yours with a short path")
        })?;
        private_dir(&dir)?;
        Ok(path)
    }
}

/// Longest path of a socket, in bytes; the system takes 108 with the end of the text.
const SOCKET_BYTES_MAX: usize = 100;

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

/// Opens a file that nobody but the user reads; it is made where there is none.
pub(crate) fn private_file(path: &Path, how: &mut OpenOptions) -> std::io::Result<File> {
    how.create(true).mode(PRIVATE_FILE).open(path)
}

pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    private_file(path, OpenOptions::new().write(true).truncate(true))?.write_all(bytes)
}

pub(crate) fn private_dir(dir: &Path) -> Result<(), Refusal> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(PRIVATE).create(dir);
    made.map_err(|error| failed(dir, &error))
}

pub(crate) fn failed(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(Code::CouldNotRun, format!("cannot write {}: {error}", path.display()))
        .hint("make the directory writable, or set XDG_STATE_HOME to one that is")
}

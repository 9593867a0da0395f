//! Everything that a command needs to know about where it runs and for whom.

use crate::args::Global;
use crate::config::Config;
use crate::env;
use crate::git::{self, Git};
use crate::identity::{self, Surroundings};
use crate::paths::Mapper;
use crate::root::{Root, SETTINGS_DIR};
use crate::store::{self, Access, Place};
use comity_core::command::{Command, Request};
use comity_core::ids::{AgentId, Fence, RepoName};
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Asker, Engine, Query};
use serde_json::Value;
use std::path::PathBuf;

/// Where and for whom a command runs.
#[derive(Clone)]
pub struct Context {
    /// The working directory.
    pub cwd: PathBuf,
    /// The project.
    pub root: Root,
    /// Its settings.
    pub config: Config,
    /// Where the store is.
    pub store: Place,
    /// The repository that the command is about.
    pub repo: RepoName,
    /// Who acts.
    pub actor: AgentId,
    /// The grant that the environment names, as long as no option names another.
    pub fence_from_env: bool,
    fence: Option<Fence>,
    key: Option<String>,
}

impl Context {
    /// Finds the project that the working directory belongs to.
    pub fn find(global: &Global) -> Result<Context, Refusal> {
        Context::with_root(global, None)
    }

    /// Finds the project, or makes the working directory one.
    pub fn find_or_here(global: &Global) -> Result<Context, Refusal> {
        let cwd = working_directory()?;
        Context::with_root(global, Some(Root::plain(&cwd)))
    }

    fn with_root(global: &Global, otherwise: Option<Root>) -> Result<Context, Refusal> {
        let cwd = working_directory()?;
        let store_given = first(&global.store, "COMITY_STORE")?;
        let root_given = first(&global.root, "COMITY_ROOT")?;
        let here = || store_given.is_some().then(|| Root::plain(&cwd));
        let root = Root::find(root_given.as_deref(), &cwd)?
            .or(otherwise)
            .or_else(here)
            .ok_or_else(|| no_project(&cwd))?;
        let config = Config::load(&root.dir)?;
        let store = match (store_given, config.store_url()) {
            (Some(url), _) => store::parse_url(&url, &cwd)?,
            (None, Some(url)) => store::parse_url(url, &root.dir)?,
            (None, None) => Place::File(root.default_store()),
        };
        let repo = repo_name(global, &config, &root)?;
        let fence = match (global.fence, env::var("COMITY_FENCE")?) {
            (Some(fence), _) => Some(fence),
            (None, Some(text)) => Some(
                crate::args::fence(&text)
                    .map_err(|message| Refusal::input(format!("COMITY_FENCE: {message}")))?,
            ),
            (None, None) => None,
        };
        let fence_from_env = global.fence.is_none() && fence.is_some();
        let actor = actor(global)?;
        let key = global.idempotency_key.clone();
        Ok(Context { cwd, root, config, store, repo, actor, fence_from_env, fence, key })
    }

    /// Returns the same for a process that speaks for many: a grant of its own has nothing to do with them.
    #[must_use]
    pub fn for_many(self) -> Context {
        Context { fence: None, fence_from_env: false, key: None, ..self }
    }

    /// Opens the store.
    pub fn engine(&self, access: Access) -> Result<Engine, Refusal> {
        store::open(&self.store, access, self.config.settings()?)
    }

    /// Returns the directory beside the store, for what belongs to it and is no part of it.
    pub fn beside_store(&self) -> PathBuf {
        let file = match &self.store {
            Place::File(path) => path.clone(),
            Place::Server(_) => self.root.default_store(),
        };
        file.parent().map_or_else(|| self.root.dir.clone(), std::path::Path::to_owned)
    }

    /// Returns the URL of the store.
    pub fn store_url(&self) -> String {
        self.store.url()
    }

    /// Returns the grant that the command is made under.
    pub fn fence(&self) -> Option<Fence> {
        self.fence
    }

    /// Returns who asks.
    pub fn asker(&self) -> Asker {
        Asker { actor: self.actor.clone(), repo: self.repo.clone() }
    }

    /// Returns the caller's idempotency key.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Makes a request of a command.
    pub fn request(&self, command: Command) -> Request {
        let tree = self.root.work_tree.as_ref();
        Request {
            actor: self.actor.clone(),
            repo: self.repo.clone(),
            fence: self.fence,
            key: self.key.clone(),
            host: env::host(),
            workspace: tree.map(|tree| tree.to_string_lossy().into_owned()),
            command,
        }
    }

    /// Opens the store and runs one command.
    pub fn execute(&self, command: Command) -> Result<Value, Refusal> {
        self.engine(Access::Write)?.execute(self.request(command))
    }

    /// Opens the store and answers one question.
    pub fn query(&self, query: Query) -> Result<Value, Refusal> {
        self.engine(Access::Read)?.query(&self.asker(), query)
    }

    /// Returns what turns typed paths into the project's.
    pub fn mapper(&self) -> Mapper {
        Mapper::new(&self.cwd, self.root.trees())
    }

    /// Returns the same for paths that other doors give, which start at the root.
    pub fn root_mapper(&self) -> Mapper {
        Mapper::new(&self.root.dir, self.root.trees())
    }

    /// Returns git in the caller's work tree, when the project has git.
    pub fn git(&self) -> Option<(Git, &PathBuf)> {
        self.root.git.as_ref()?;
        let tree = self.root.work_tree.as_ref()?;
        Some((Git::at(tree), tree))
    }
}

fn working_directory() -> Result<PathBuf, Refusal> {
    let cwd = std::env::current_dir()
        .map_err(|error| Refusal::input(format!("the working directory is gone: {error}")))?;
    Ok(std::fs::canonicalize(&cwd).unwrap_or(cwd))
}

/// An option of the command line, else a variable.
fn first(option: &Option<String>, variable: &str) -> Result<Option<String>, Refusal> {
    match option {
        Some(text) => Ok(Some(text.clone())),
        None => env::var(variable),
    }
}

fn actor(global: &Global) -> Result<AgentId, Refusal> {
    let given = first(&global.actor, "COMITY_AGENT")?;
    let around = Surroundings {
        // A marker that is not text is a marker all the same.
        var: &|name| env::var(name).unwrap_or_else(|_| Some("?".to_owned())),
        interactive: env::is_interactive(),
        login: &env::login(),
    };
    identity::actor(given.as_deref(), &around)
}

fn repo_name(global: &Global, config: &Config, root: &Root) -> Result<RepoName, Refusal> {
    if let Some(given) = first(&global.repo, "COMITY_REPO")? {
        return RepoName::parse(&given);
    }
    if let Some(name) = config.repo() {
        return RepoName::parse(name);
    }
    let remote = root.git.as_ref().and_then(|place| git::remote_name(place, &place.config()));
    let name = remote.unwrap_or_else(|| {
        let name =
            root.dir.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        name.strip_suffix(".git").unwrap_or(&name).to_owned()
    });
    RepoName::parse(&plain(&name))
}

/// Writes a name in the characters that a repository's name may have.
fn plain(name: &str) -> String {
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() || "._-/@+".contains(c) { c } else { '-' }
    };
    let name: String = name.chars().take(comity_core::ids::REPO_BYTES_MAX - 2).map(keep).collect();
    if name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        name
    } else {
        format!("r{name}")
    }
}

fn no_project(cwd: &std::path::Path) -> Refusal {
    let text = format!("{} is in no git repository and has no {SETTINGS_DIR}/", cwd.display());
    Refusal::new(Code::StoreUnavailable, text)
        .hint("run `comity init` here, or name the project with --root DIR")
}

//! Everything that a command needs to know about where it runs and for whom.

use crate::config::Config;
use crate::far::Server;
use crate::github::TOKEN_VARIABLES;
use crate::identity::{Known, Said};
use crate::machine::{Environment, Machine};
use crate::paths::Mapper;
use crate::root::{Judge, Root, SETTINGS_DIR};
use crate::store::{self, Access, Place};
use crate::trust::{Power, Trust};
use crate::{git, identity, owner};
use comity_api::Operation;
use comity_core::command::{Command, Request};
use comity_core::hint::{Hint, op, say};
use comity_core::ids::{AgentId, Fence, RepoName};
use comity_core::refusal::{Code, Refusal};
use comity_core::via::Via;
use comity_engine::redact::KnownSecrets;
use comity_engine::{Caller, Handler, Moment, Observer, Service, Settings};
use comity_store::postgres::{OpenOptions, PgStore};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What a caller asked for. What it leaves out comes from the environment (`COMITY_ROOT`, `COMITY_STORE`, `COMITY_REPO`,
/// `COMITY_AGENT`, `COMITY_FENCE`), from the settings, or from where the process is.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub root: Option<String>,
    pub store: Option<String>,
    pub repo: Option<String>,
    pub actor: Option<String>,
    pub fence: Option<Fence>,
    pub key: Option<String>,
    /// The moment of the past that is asked about: a seq or a time.
    pub at: Option<String>,
    /// The server that is asked in the place of the store.
    pub url: Option<String>,
}

#[derive(Clone)]
pub struct Context {
    pub cwd: PathBuf,
    pub root: Root,
    pub config: Config,
    pub store: Place,
    pub repo: RepoName,
    pub actor: AgentId,
    /// Why the caller is taken for this actor.
    pub actor_because: String,
    pub via: Via,
    /// Who was asked for, and by what: an option or a variable.
    actor_named: Option<(String, &'static str)>,
    /// What looks at git before the rules decide. A door hands it in.
    pub observer: Option<Arc<dyn Observer>>,
    /// Whether the fence comes from the environment, so that an option may name another.
    pub fence_from_env: bool,
    fence: Option<Fence>,
    key: Option<String>,
    environment: Environment,
    /// The service that was opened first.
    opened: Arc<OnceLock<Service>>,
    at: Option<Moment>,
    far: Option<Arc<Server>>,
}

impl Context {
    /// Finds the project that the working directory belongs to.
    pub fn find(machine: &Machine, asked: &Asked) -> Result<Context, Refusal> {
        let trust = Trust::of(&machine.environment);
        Context::with_root(machine, asked, None, &mut |power| trust.require(&power))
    }

    /// Finds the project that the working directory belongs to, where comity was set up; none elsewhere.
    pub fn find_if_any(machine: &Machine, asked: &Asked) -> Result<Option<Context>, Refusal> {
        let given = |option: &Option<String>, variable| {
            option.is_some() || machine.environment.has(variable)
        };
        let is_named = given(&asked.root, "COMITY_ROOT") || given(&asked.store, "COMITY_STORE");
        let trust = Trust::of(&machine.environment);
        let mut judge = |power: Power| trust.require(&power);
        if !is_named && Root::find_asking(None, machine, &mut judge)?.is_none() {
            return Ok(None);
        }
        let context = Context::find(machine, asked)?;
        let has_settings = context.root.dir.join(SETTINGS_DIR).is_dir();
        let is_set_up = has_settings || context.is_far() || context.store.exists();
        Ok(is_set_up.then_some(context))
    }

    /// Finds the project, or makes the working directory one.
    pub fn find_or_here(machine: &Machine, asked: &Asked) -> Result<Context, Refusal> {
        let trust = Trust::of(&machine.environment);
        let here = Some(Root::plain(&machine.cwd));
        Context::with_root(machine, asked, here, &mut |power| trust.require(&power))
    }

    /// Finds the project with all that its files ask this user to trust, trusted or not. Its store is not to be opened.
    pub fn find_untrusted(
        machine: &Machine,
        asked: &Asked,
    ) -> Result<(Context, Vec<Power>), Refusal> {
        let mut powers = Vec::new();
        let mut note = |power: Power| {
            powers.push(power);
            Ok(())
        };
        let context = Context::with_root(machine, asked, None, &mut note)?;
        let others = context.config.powers(&context.root)?;
        others.into_iter().for_each(|power| {
            if !powers.contains(&power) {
                powers.push(power);
            }
        });
        Ok((context, powers))
    }

    fn with_root(
        machine: &Machine,
        asked: &Asked,
        otherwise: Option<Root>,
        judge: Judge<'_>,
    ) -> Result<Context, Refusal> {
        let Machine { cwd, environment, .. } = machine;
        let either = |option: &Option<String>, variable| match option {
            Some(text) => Ok(Some(text.clone())),
            None => environment.get(variable),
        };
        let store_given = either(&asked.store, "COMITY_STORE")?;
        let root_given = either(&asked.root, "COMITY_ROOT")?;
        let found = match Root::find_asking(root_given.as_deref(), machine, judge)? {
            Some(root) => Some(root),
            None => otherwise.map(|root| root.check_owner(machine).map(|()| root)).transpose()?,
        };
        // A working directory that is no project gives nothing but a place to stand.
        let far = far(environment, asked)?;
        let here = || (store_given.is_some() || far.is_some()).then(|| Root::plain(cwd));
        let root = found.or_else(here).ok_or_else(|| no_project(cwd))?;
        let config = Config::load(&root.dir)?;
        let store = match store_given {
            Some(url) => store::parse_url(&url, cwd)?,
            None => store_of_files(&root, &config, environment, judge)?,
        };
        let repo = match either(&asked.repo, "COMITY_REPO")? {
            Some(given) => RepoName::parse(&given)?,
            None => repo_name(&config, &root)?,
        };
        // The keeper of a run knows who calls; nobody in the run is somebody else.
        if environment.has("COMITY_RUN")
            && environment.has("COMITY_SOCKET")
            && asked.actor.is_some()
        {
            let own = environment.own("COMITY_AGENT").unwrap_or_default();
            let message = format!("inside of a run you act as {own}, and as nobody else");
            return Err(Refusal::new(Code::RoleForbidden, message)
                .hint(Hint::default().say("leave ").mention("as").say(" out")));
        }
        let fence_of_environment = fence_variable(environment)?;
        let (named, source) = match either(&asked.actor, "COMITY_AGENT")? {
            Some(named) if asked.actor.is_some() => (Some(named), Some("--as")),
            Some(named) => (Some(named), Some("COMITY_AGENT")),
            None => match identity::neo_agent(environment)? {
                Some(named) => (Some(named), Some("NEO_AGENT_NAME")),
                None => (None, None),
            },
        };
        Ok(Context {
            actor: identity::actor(named.as_deref(), machine, &sessions_of(&root))?,
            actor_because: identity::because(source, machine),
            actor_named: named.zip(source),
            via: identity::via(machine),
            observer: None,
            fence_from_env: asked.fence.is_none() && fence_of_environment.is_some(),
            fence: asked.fence.or(fence_of_environment),
            key: asked.key.clone(),
            at: asked.at.as_deref().map(Moment::parse).transpose()?,
            far,
            cwd: cwd.clone(),
            environment: environment.clone(),
            opened: Arc::default(),
            root,
            config,
            store,
            repo,
        })
    }

    /// Returns the same for a process that speaks for many callers: its own fence and key are not theirs.
    #[must_use]
    pub fn for_many(self) -> Context {
        Context { fence: None, fence_from_env: false, key: None, ..self }
    }

    /// Tells who calls through a door that an agent client started; none may only read.
    pub fn client(&self, machine: &Machine, said: &Said) -> Result<Option<Known>, Refusal> {
        let named = self.actor_named.as_ref().map(|(name, source)| (name.as_str(), *source));
        identity::of_client(named, machine, said, &sessions_of(&self.root))
    }

    /// Returns the directory that keeps the first sessions of clients' processes.
    pub fn sessions(&self) -> PathBuf {
        sessions_of(&self.root)
    }

    /// Opens the store for many callers: one thread writes, and nobody who waits holds a thread.
    pub fn shared_service(&self) -> Result<Service, Refusal> {
        let mut settings = self.settings()?;
        settings.policy.has_git = self.has_git();
        store::open_shared(&self.store, settings, &self.environment)
    }

    /// Opens the store, with the rules before it.
    pub fn service(&self, access: Access) -> Result<Service, Refusal> {
        let writes = access == Access::Write;
        if writes && self.at.is_some() {
            return Err(Refusal::input("the past cannot be changed")
                .hint(Hint::default().say("leave ").mention("at").say(" out")));
        }
        if let Some(far) = &self.far {
            let service = Service::over(far.clone(), self.settings()?)?;
            self.opened.get_or_init(|| service.clone());
            return Ok(service);
        }
        let service = self.service_at(&self.store, access)?;
        if let Some(moment) = self.at {
            return service.at(moment);
        }
        self.opened.get_or_init(|| service.clone());
        Ok(service)
    }

    /// Returns the service of the store as it is now that a command has opened, if it has opened one.
    pub fn opened(&self) -> Option<&Service> {
        self.opened.get()
    }

    /// Tells whether it is about a moment of the past.
    pub fn is_past(&self) -> bool {
        self.at.is_some()
    }

    /// Tells whether a server answers in the place of the store.
    pub fn is_far(&self) -> bool {
        self.far.is_some()
    }

    /// Returns the server that answers in the place of the store.
    pub fn server_in_place(&self) -> Option<&Server> {
        self.far.as_deref()
    }

    /// Returns the same as the server knows it that answers in the place of the store: it says who calls, by the token,
    /// and in which repository.
    pub fn as_known(&self) -> Result<Context, Refusal> {
        let Some(far) = &self.far else { return Ok(self.clone()) };
        let session = far.session()?;
        let mut known = self.clone();
        if let Some(me) = session.me {
            known.actor = AgentId::parse(&me)?;
            known.actor_because = format!("the server at {} says so", far.url());
        }
        if let Some(repo) = session.repo {
            known.repo = RepoName::parse(&repo)?;
        }
        Ok(known)
    }

    /// Returns the settings of the rules. What the variables of this process that hold secrets say enters no log.
    fn settings(&self) -> Result<Settings, Refusal> {
        let mut settings = self.config.settings()?;
        let named = self.config.github().map(|github| {
            github.token_env.into_iter().chain(github.webhook_secret_env).collect::<Vec<_>>()
        });
        let named = named.unwrap_or_default();
        let names = TOKEN_VARIABLES.iter().copied().chain(named.iter().map(String::as_str));
        let known = names.filter_map(|name| self.environment.own(name));
        settings.redact.known = KnownSecrets::new(known);
        Ok(settings)
    }

    /// Opens another store with the same rules before it.
    pub(crate) fn service_at(&self, place: &Place, access: Access) -> Result<Service, Refusal> {
        let mut settings = self.settings()?;
        settings.policy.has_git = self.has_git();
        store::open(place, access, settings, &self.environment)
    }

    /// Opens a store on a server, to look at the server itself.
    pub fn server(&self, url: &str, options: OpenOptions) -> Result<PgStore, Refusal> {
        store::server(url, options, &self.environment)
    }

    /// Refuses a value with power from the settings (a command, a token) that this user did not trust for this root.
    /// `kind` is the table that it stands in, such as `gate.tests`; [`Config::powers`] has to name it, too.
    pub fn require_trust(&self, kind: &str, value: &str) -> Result<(), Refusal> {
        let (root, kind) = (self.root.dir.clone(), kind.to_owned());
        let power = Power { root, kind, value: value.to_owned() };
        Trust::of(&self.environment).require(&power)
    }

    /// Returns the directory of the store, for files that belong to the store and are no part of it.
    pub fn beside_store(&self) -> PathBuf {
        let file = match &self.store {
            Place::File(path) => path.clone(),
            Place::Server(_) => self.root.default_store(),
        };
        file.parent().map_or_else(|| self.root.dir.clone(), Path::to_owned)
    }

    /// Returns the socket of the server of this project.
    pub fn socket(&self) -> PathBuf {
        self.root.default_store().with_file_name("serve.sock")
    }

    /// Returns the directory for what can be made again; none where the environment names none.
    pub fn cache(&self) -> Option<PathBuf> {
        let dir = |name: &str| {
            let dir = PathBuf::from(self.environment.own(name)?);
            dir.is_absolute().then_some(dir)
        };
        let caches = dir("XDG_CACHE_HOME").or_else(|| Some(dir("HOME")?.join(".cache")))?;
        Some(caches.join("comity"))
    }

    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    pub fn store_url(&self) -> String {
        self.store.url()
    }

    /// Returns who is asked: the store, or the server in its place.
    pub fn asked_url(&self) -> String {
        self.far.as_ref().map_or_else(|| self.store.url(), |far| far.url().to_owned())
    }

    pub fn fence(&self) -> Option<Fence> {
        self.fence
    }

    /// Returns who calls, from where, and under which grant.
    pub fn caller(&self) -> Caller {
        let tree = self.root.work_tree.as_ref();
        Caller {
            actor: self.actor.clone(),
            repo: self.repo.clone(),
            fence: self.fence,
            key: self.key.clone(),
            via: self.via.clone(),
            workspace: tree.map(|tree| tree.to_string_lossy().into_owned()),
            observer: self.observer.clone(),
            ran: None,
            merge_gates: Vec::new(),
            landing: None,
        }
    }

    pub fn request(&self, command: Command) -> Request {
        self.caller().request(command)
    }

    /// Opens the store for reading and calls one operation.
    pub fn ask<O: Operation>(&self, input: O::Input) -> Result<O::Output, Refusal>
    where
        Service: Handler<O>,
    {
        self.service(Access::Read)?.call::<O>(&self.caller(), input)
    }

    /// Returns what turns paths typed in the working directory into the project's.
    pub fn mapper(&self) -> Mapper {
        Mapper::new(&self.cwd, self.root.trees())
    }

    /// Returns what does the same with paths that start at the root.
    pub fn root_mapper(&self) -> Mapper {
        Mapper::new(&self.root.dir, self.root.trees())
    }

    /// Tells whether the project has git. Only a directory that was set up without any, with the store that is used, is known
    /// to have none.
    fn has_git(&self) -> bool {
        let is_set_up = self.root.dir.join(SETTINGS_DIR).is_dir();
        let is_cloned = self.root.work_tree.as_deref().and_then(git::Place::at).is_some();
        self.root.git.is_some() || is_cloned || !is_set_up || !self.has_own_store()
    }

    /// Tells whether the store is the one that the root itself names.
    fn has_own_store(&self) -> bool {
        let own = match self.config.store_url() {
            Some(url) => store::parse_url(url, &self.root.dir).ok(),
            None => Some(Place::File(self.root.default_store())),
        };
        match (own, &self.store) {
            (Some(Place::File(own)), Place::File(used)) => {
                let real = |path: &Path| std::fs::canonicalize(path).ok();
                own == *used || (real(&own).is_some() && real(&own) == real(used))
            }
            (own, used) => own.as_ref() == Some(used),
        }
    }

    /// Returns the work tree that the caller is in, unless the command is about another repository.
    pub fn git_tree(&self) -> Option<&PathBuf> {
        self.root.git.as_ref()?;
        self.root.work_tree.as_ref().filter(|_| !self.is_anothers())
    }

    /// Tells whether the store lies in the git directory of another repository, and the command is about that one's tasks.
    fn is_anothers(&self) -> bool {
        let Place::File(file) = &self.store else { return false };
        let own = self.root.default_store();
        if *file == own || !file.ends_with("comity/comity.db") {
            return false;
        }
        let home = |file: &Path| std::fs::canonicalize(file.parent()?.parent()?).ok();
        let there = home(file).filter(|dir| git::Place::at(dir).is_some());
        let is_its_name =
            || repo_name(&self.config, &self.root).is_ok_and(|name| name == self.repo);
        there.is_some() && there != home(&own) && !is_its_name()
    }
}

/// Returns the store that the project's files name, or the default one.
fn store_of_files(
    root: &Root,
    config: &Config,
    environment: &Environment,
    judge: Judge<'_>,
) -> Result<Place, Refusal> {
    if let Some(power) = config.store_power(root)? {
        judge(power)?;
    }
    let place = match config.store_url() {
        Some(url) => store::parse_url_of_file(url, &root.dir, environment)?,
        None => Place::File(root.default_store()),
    };
    if let Place::File(path) = &place {
        let dir = path.parent().unwrap_or(&root.dir);
        owner::check(&[path], &[&root.dir, dir], environment)?;
    }
    Ok(place)
}

/// Finds the server that is asked in the place of the store.
fn far(environment: &Environment, asked: &Asked) -> Result<Option<Arc<Server>>, Refusal> {
    let given = match &asked.url {
        Some(url) => Some(url.clone()),
        None => match environment.own("COMITY_URL").filter(|url| !url.is_empty()) {
            Some(url) => Some(url),
            None => {
                let socket = environment.own("COMITY_SOCKET").filter(|path| !path.is_empty());
                socket.map(|path| format!("unix:{path}"))
            }
        },
    };
    let Some(url) = given else { return Ok(None) };
    let token = environment.own("COMITY_TOKEN").filter(|token| !token.is_empty());
    let repo = asked.repo.clone().or_else(|| environment.own("COMITY_REPO"));
    let server = Server::new(&url, token, repo, asked.at.clone())?;
    Ok(Some(Arc::new(server)))
}

fn sessions_of(root: &Root) -> PathBuf {
    root.default_store().with_file_name("sessions")
}

fn fence_variable(environment: &Environment) -> Result<Option<Fence>, Refusal> {
    let Some(text) = environment.get("COMITY_FENCE")? else { return Ok(None) };
    let fence = text.parse().ok().and_then(Fence::new);
    fence.map(Some).ok_or_else(|| {
        Refusal::input("COMITY_FENCE: a fence is a number from 1 up")
            .hint(Hint::default().quote(op("task.claim")).say(" shows the fence of a claim"))
    })
}

fn repo_name(config: &Config, root: &Root) -> Result<RepoName, Refusal> {
    if let Some(name) = config.repo() {
        return RepoName::parse(name);
    }
    let remote = root.git.as_ref().and_then(git::remote_name);
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

fn no_project(cwd: &Path) -> Refusal {
    let text = format!(
        "{} is not in a git repository and has no {SETTINGS_DIR}/ directory",
        cwd.display()
    );
    Refusal::new(Code::StoreUnavailable, text).hint(
        say("run ").quote(op("init")).say(" here, or name the project with ").ask("root", "DIR"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(dir: &Path, config: &str) -> Machine {
        for part in ["objects", "refs"] {
            std::fs::create_dir_all(dir.join(".git").join(part)).unwrap();
        }
        std::fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(dir.join(".git/config"), config).unwrap();
        let cwd = std::fs::canonicalize(dir).unwrap();
        Machine { cwd, login: "ann".to_owned(), ..Machine::default() }
    }

    #[test]
    fn one_process_serves_many_roots_and_callers() {
        let dir = tempfile::tempdir().unwrap();
        let one = repository(&dir.path().join("one"), "");
        let two = repository(&dir.path().join("two"), "[remote \"origin\"]\nurl = g@h.org:ann/x\n");
        let agent =
            [("CODEX_THREAD_ID".into(), "a1-b2".into()), ("COMITY_FENCE".into(), "7".into())];
        let two = Machine { environment: Environment::new(agent), ..two };
        let first = Context::find(&one, &Asked::default()).unwrap();
        let second = Context::find(&two, &Asked::default()).unwrap();
        assert_eq!((first.actor.as_str(), second.actor.as_str()), ("script:ann", "codex:a1b2"));
        assert_eq!((first.repo.as_str(), second.repo.as_str()), ("one", "ann/x"));
        assert_ne!(first.store, second.store);
        assert_eq!((first.fence(), second.fence()), (None, Fence::new(7)));
        assert_eq!(second.request(Command::Heartbeat).via.session.as_deref(), Some("a1-b2"));
    }

    #[test]
    fn what_was_asked_for_comes_before_the_environment() {
        let dir = tempfile::tempdir().unwrap();
        let variables = [("COMITY_AGENT", "eve"), ("COMITY_REPO", "env/r"), ("COMITY_FENCE", "x")];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let machine = repository(dir.path(), "");
        let machine = Machine { environment: Environment::new(variables), ..machine };
        let text = |text: &str| Some(text.to_owned());
        let asked = Asked { actor: text("bob"), repo: text("asked/r"), ..Asked::default() };
        let refusal = Context::find(&machine, &asked).err().unwrap();
        assert!(refusal.message.starts_with("COMITY_FENCE: "), "{}", refusal.message);
        let own = [("COMITY_AGENT".into(), "eve".into())];
        let machine = Machine { environment: Environment::new(own), ..machine };
        let context = Context::find(&machine, &asked).unwrap();
        assert_eq!((context.actor.as_str(), context.repo.as_str()), ("bob", "asked/r"));
    }

    #[test]
    fn an_included_file_may_name_the_remote_and_never_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let machine = repository(dir.path(), "[include]\npath = ../shared\n");
        let elsewhere = tempfile::tempdir().unwrap();
        let text = format!(
            "[comity]\nroot = {}\n[remote \"origin\"]\nurl = https://h.org/ann/tool.git\n",
            elsewhere.path().display()
        );
        std::fs::write(dir.path().join("shared"), text).unwrap();
        let context = Context::find(&machine, &Asked::default()).unwrap();
        assert_eq!(context.repo.as_str(), "ann/tool");
        assert_eq!(context.root.dir, machine.cwd);
    }
}

//! `.comity/config.toml`: what a project sets. Unknown keys are refused, so that a typo is seen.

use crate::detect;
use crate::gates::{GateCommand, GateRuns, GateTable, GatesTable};
use crate::github::GithubTable;
use crate::plain_file;
use crate::problem::Problem;
use crate::root::{Root, SETTINGS_DIR};
use crate::store::{self, Place};
use crate::trust::{self, Power};
use crate::{fleet, merging, supervisor};
use comity_core::decide::BRANCH_WORDS;
use comity_core::hint::{op, say};
use comity_core::ids::RepoName;
use comity_core::lease::LeaseMode;
use comity_core::pattern::Pattern;
use comity_core::policy::{Land, Policy, Undeclared};
use comity_core::refusal::Refusal;
use comity_core::role::{Role, Verb};
use comity_core::time::Millis;
use comity_core::write_guard::{self, FreeFiles, WriteRules};
use comity_engine::Settings;
use comity_engine::redact::{RedactOptions, Redactor};
use comity_protocol::neomjs::safety::{PROTECTED, is_pattern};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The largest file that is read.
pub(crate) const CONFIG_BYTES_MAX: usize = 1024 * 1024;

/// Requests a second that a caller of the server may send when nothing is set.
const SERVE_RATE: u32 = 50;

/// A project's settings as they are written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    store: StoreTable,
    project: ProjectTable,
    agents: AgentsTable,
    roles: BTreeMap<String, Vec<String>>,
    gates: GatesTable,
    gate: BTreeMap<String, GateTable>,
    limits: LimitsTable,
    watchdog: WatchdogTable,
    branch: BranchTable,
    guard: GuardTable,
    commit: CommitTable,
    redact: RedactTable,
    pub(crate) labels: LabelsTable,
    serve: ServeTable,
    pub(crate) github: GithubTable,
    pub(crate) fleet: fleet::FleetTable,
    pub(crate) merge: merging::MergeTable,
    pub(crate) budget: fleet::BudgetTable,
    pub(crate) drivers: BTreeMap<String, fleet::DriverTable>,
    pub(crate) agent: BTreeMap<String, fleet::AgentTable>,
    pub(crate) sandbox: fleet::SandboxTable,
    pub(crate) prices: BTreeMap<String, fleet::PriceTable>,
    pub(crate) supervisor: Option<supervisor::SupervisorTable>,
    pub(crate) ci: supervisor::CiTable,
    pub(crate) pr: supervisor::PrTable,
    pub(crate) snapshot: fleet::SnapshotTable,
    pub(crate) workspace: fleet::WorkspaceTable,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ServeTable {
    open_read: bool,
    rate: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StoreTable {
    url: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProjectTable {
    repo: Option<String>,
    base: Option<String>,
    fold_case: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Registration {
    #[default]
    Open,
    Required,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AgentsTable {
    registration: Registration,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LimitsTable {
    max_attempts: Option<u32>,
    max_gate_failures: Option<u32>,
    max_review_rounds: Option<u32>,
    ttl: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WatchdogTable {
    blocked_grace: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct BranchTable {
    pattern: Option<String>,
    protected: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GuardTable {
    undeclared: Undeclared,
    land: Land,
    leases: FreeFiles,
    lease_mode: LeaseMode,
    protected: Option<Vec<String>>,
    max_commit_files: Option<u64>,
    max_commit_lines: Option<u64>,
    max_pr_lines: Option<u64>,
    size: Size,
}

/// What happens to a commit that is larger than the project wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Size {
    #[default]
    Warn,
    Refuse,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CommitTable {
    template: bool,
}

/// What a commit is held to.
#[derive(Clone, Copy, Debug)]
pub struct CommitSettings {
    pub max_commit_files: Option<u64>,
    pub max_commit_lines: Option<u64>,
    pub max_pr_lines: Option<u64>,
    pub refuses_size: bool,
    /// Messages follow the template.
    pub template: bool,
}

/// What the guard does when an agent writes a file.
#[derive(Clone, Debug)]
pub struct WriteSettings {
    pub rules: WriteRules,
    pub shared: bool,
    pub protected: Vec<Pattern>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RedactTable {
    emails: Option<bool>,
    patterns: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LabelsTable {
    pub(crate) dialect: Option<String>,
    pub(crate) states: BTreeMap<String, String>,
    pub(crate) roles: BTreeMap<String, String>,
}

impl Config {
    /// Tells whether everybody on this host may read from the server, without a token.
    pub fn serves_open_reads(&self) -> bool {
        self.serve.open_read
    }

    /// Returns how many requests a second a caller of the server may send; 0 is any number.
    pub fn serve_rate(&self) -> u32 {
        self.serve.rate.unwrap_or(SERVE_RATE)
    }

    pub fn path(root: &Path) -> PathBuf {
        root.join(SETTINGS_DIR).join("config.toml")
    }

    /// Reads the settings of a project; without a file they are the defaults.
    pub fn load(root: &Path) -> Result<Config, Refusal> {
        let file = Config::path(root);
        let text = match plain_file::read_text(&file, CONFIG_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Config::default());
            }
            Err(error) => return Err(unreadable(&file, &error)),
        };
        Config::parse(&text, &file)
    }

    pub fn parse(text: &str, file: &Path) -> Result<Config, Refusal> {
        let config: Config = toml::from_str(text).map_err(|error| {
            let line = error.span().and_then(|span| text.get(..span.start)).map(line_number);
            wrong(file, line, error.message().trim())
        })?;
        if let Some(url) = &config.store.url
            && store::has_password(url)
        {
            let refusal = wrong(file, find_line(text, "url"), "key store.url holds a password");
            return Err(refusal.hint("keep the password out of the file: use COMITY_STORE instead"));
        }
        let named = |problem: Problem| {
            let line = find_key(text, &problem.key);
            wrong(file, line, &format!("key {}: {}", problem.key, problem.message))
        };
        config.settings().map_err(named)?;
        if let Some(bad) =
            config.protected_branches().iter().find_map(|name| is_pattern(name).err())
        {
            return Err(named(Problem::new("branch.protected", bad)));
        }
        config.labels().map_err(named)?;
        config.github().map_err(named)?;
        Ok(config)
    }

    pub fn store_url(&self) -> Option<&str> {
        self.store.url.as_deref()
    }

    pub fn repo(&self) -> Option<&str> {
        self.project.repo.as_deref()
    }

    /// Returns the branch that work is merged into, when one is set.
    pub fn base_branch(&self) -> Option<&str> {
        self.project.base.as_deref()
    }

    /// Returns the shell command that checks a gate, when one is set.
    pub fn gate_command(&self, gate: &str) -> Option<&str> {
        self.gate.get(gate)?.command.as_deref()
    }

    /// Returns the gates that have a command, by name.
    pub fn gate_commands(&self) -> Result<Vec<GateCommand>, Problem> {
        let gates = self.gate.iter().map(|(name, table)| table.gate(name));
        let gates: Result<Vec<_>, _> = gates.collect();
        Ok(gates?.into_iter().flatten().collect())
    }

    /// Returns how gates are run.
    pub fn gate_runs(&self) -> Result<GateRuns, Problem> {
        Ok(self.gates.runs()?)
    }

    /// Returns these settings with the gates, the guard and the roles of others. What checks a piece of work comes from the
    /// base branch and not from the checkout, which may be that very work.
    #[must_use]
    pub fn checked_by(self, base: Config) -> Config {
        let Config { gates, gate, guard, roles, .. } = base;
        Config { gates, gate, guard, roles, ..self }
    }

    /// Returns what the engine is to go by.
    pub fn settings(&self) -> Result<Settings, Problem> {
        let defaults = Policy::default();
        if let Some(repo) = &self.project.repo {
            RepoName::parse(repo)
                .map_err(|refusal| Problem::new("project.repo", refusal.message))?;
        }
        self.gate_commands()?;
        self.gate_runs()?;
        let limits = &self.limits;
        let policy = Policy {
            max_attempts: at_least_one("limits.max_attempts", limits.max_attempts)?
                .unwrap_or(defaults.max_attempts),
            max_gate_failures: at_least_one("limits.max_gate_failures", limits.max_gate_failures)?
                .unwrap_or(defaults.max_gate_failures),
            max_review_rounds: at_least_one("limits.max_review_rounds", limits.max_review_rounds)?
                .unwrap_or(defaults.max_review_rounds),
            blocked_grace: duration("watchdog.blocked_grace", &self.watchdog.blocked_grace)?
                .unwrap_or(defaults.blocked_grace),
            required_gates: self.required_gates()?,
            gates: self.gate.keys().cloned().collect(),
            min_tier: self.gates.min_tier.unwrap_or(defaults.min_tier),
            registration_required: self.agents.registration == Registration::Required,
            extra_permissions: self.permissions()?,
            branch_pattern: self.branch_pattern(defaults.branch_pattern)?,
            linked_branches: self.linked_branches()?,
            default_ttl: self.ttl(defaults.default_ttl)?,
            has_git: defaults.has_git,
            names_branches: self.names_branches(),
            undeclared: self.guard.undeclared,
            land: self.guard.land,
            fold_case: self.project.fold_case,
            lease_mode: self.guard.lease_mode,
            merge_target: self.merging()?.target,
            fleet: self.fleet_policy()?,
        };
        let redact = RedactOptions {
            emails: self.redact.emails.unwrap_or(true),
            extra_patterns: self.redact.patterns.clone(),
            ..RedactOptions::default()
        };
        if !redact.extra_patterns.is_empty() {
            Redactor::new(redact.clone())
                .map_err(|bad| Problem::new("redact.patterns", bad.to_string()))?;
        }
        Ok(Settings { policy, redact })
    }

    /// Returns every value that needs the user's trust: commands and tokens. Whoever uses one calls `Context::require_trust`.
    pub fn powers(&self, root: &Root) -> Result<Vec<Power>, Refusal> {
        let gates = self.gate_commands()?.into_iter().filter(|gate| !detect::is_own(gate));
        let gates = gates.map(|gate| {
            let (kind, value) = (format!("gate.{}", gate.name), gate.power());
            Power { root: root.dir.clone(), kind, value }
        });
        Ok(self
            .store_power(root)?
            .into_iter()
            .chain(gates)
            .chain(self.driver_powers(root)?)
            .chain(self.github_powers(root))
            .collect())
    }

    /// Returns the store if it is not at the root's own default place.
    pub(crate) fn store_power(&self, root: &Root) -> Result<Option<Power>, Refusal> {
        let own = root.default_store();
        let value = match &self.store.url {
            Some(url) if store::parse_url(url, &root.dir)? != Place::File(own.clone()) => {
                url.clone()
            }
            // The directory of git is the user's. Settings may be files of a repository, and links among them.
            _ if root.git.is_some() => return Ok(None),
            _ => match real_place(&own) {
                Some(real) if !is_below(&real, &root.dir) => Place::File(real).url(),
                _ => return Ok(None),
            },
        };
        Ok(Some(Power { root: root.dir.clone(), kind: trust::STORE.to_owned(), value }))
    }

    /// Returns the branches that agents do not push to.
    pub fn protected_branches(&self) -> Vec<String> {
        let given = self.branch.protected.clone();
        given.unwrap_or_else(|| PROTECTED.iter().map(|name| (*name).to_owned()).collect())
    }

    /// Returns what the guard does when an agent writes a file.
    pub fn writes(&self) -> Result<WriteSettings, Refusal> {
        let given = self.guard.protected.clone();
        let names = given.unwrap_or_else(|| {
            write_guard::PROTECTED.iter().map(|name| (*name).to_owned()).collect()
        });
        let read = |name: &String| {
            Pattern::parse(name)
                .map_err(|error| Refusal::input(format!("[guard] protected: {name:?}: {error}")))
        };
        Ok(WriteSettings {
            rules: WriteRules { free: self.guard.leases, undeclared: self.guard.undeclared },
            shared: self.guard.lease_mode == LeaseMode::Shared,
            protected: names.iter().map(read).collect::<Result<_, _>>()?,
        })
    }

    /// Returns what a commit is held to.
    pub fn commits(&self) -> CommitSettings {
        let guard = &self.guard;
        CommitSettings {
            max_commit_files: guard.max_commit_files,
            max_commit_lines: guard.max_commit_lines,
            max_pr_lines: guard.max_pr_lines,
            refuses_size: guard.size == Size::Refuse,
            template: self.commit.template,
        }
    }

    /// Tells whether the project itself names the branches of tasks, so that work belongs there and nowhere else.
    pub fn names_branches(&self) -> bool {
        self.branch.pattern.is_some()
    }

    /// A gate that nobody can record evidence for would keep every task from being approved.
    fn required_gates(&self) -> Result<Vec<String>, Problem> {
        use comity_core::limits::WORD_BYTES_MAX;
        for name in &self.gates.required {
            let bad = name.trim().is_empty() || name.chars().any(char::is_control);
            if bad || name.len() > WORD_BYTES_MAX {
                let message = format!("{name:?} cannot be the name of a gate");
                return Err(Problem::new("gates.required", message));
            }
        }
        Ok(self.gates.required.clone())
    }

    fn branch_pattern(&self, default: String) -> Result<String, Problem> {
        let Some(pattern) = &self.branch.pattern else { return Ok(default) };
        let bad = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
        if pattern.is_empty() || pattern.starts_with(['-', '/']) || pattern.contains(bad) {
            let message = format!("{pattern:?} cannot be the name of a branch");
            return Err(Problem::new("branch.pattern", message));
        }
        // A word with a typo in it would stand in the name of every branch.
        let plain = BRANCH_WORDS.iter().fold(pattern.clone(), |text, word| text.replace(word, ""));
        if plain.contains(['{', '}']) {
            let known = BRANCH_WORDS.join(", ");
            let message = format!("{pattern:?} has an unknown word in braces; use one of: {known}");
            return Err(Problem::new("branch.pattern", message));
        }
        Ok(pattern.clone())
    }

    fn ttl(&self, default: Millis) -> Result<Millis, Problem> {
        use comity_core::limits::{TTL_MAX, TTL_MIN};
        let ttl = duration("limits.ttl", &self.limits.ttl)?.unwrap_or(default);
        if (TTL_MIN..=TTL_MAX).contains(&ttl) {
            return Ok(ttl);
        }
        Err(Problem::new("limits.ttl", format!("must be between {TTL_MIN} and {TTL_MAX}")))
    }

    fn permissions(&self) -> Result<BTreeSet<(Role, Verb)>, Problem> {
        let mut extra = BTreeSet::new();
        // In this protocol whoever verifies a task closes it.
        if self.speaks_a_dialect() && self.labels()?.name() == "neo" {
            extra.insert((Role::Critic, Verb::Done));
        }
        for (name, verbs) in &self.roles {
            let key = format!("roles.{name}");
            let role = Role::parse(name).map_err(|refusal| Problem::new(&key, refusal.message))?;
            for word in verbs {
                let verb = Verb::parse(word)
                    .ok_or_else(|| Problem::new(&key, format!("verb {word:?} is not known")))?;
                // A person's decision to take finished work up again cannot be given away.
                if verb == Verb::Reopen {
                    let message = "only a person can reopen a task; no role can be given this";
                    return Err(Problem::new(&key, message));
                }
                extra.insert((role, verb));
            }
        }
        Ok(extra)
    }
}

fn at_least_one(key: &str, value: Option<u32>) -> Result<Option<u32>, Problem> {
    if value == Some(0) { Err(Problem::new(key, "must be at least 1")) } else { Ok(value) }
}

pub(crate) fn duration(key: &str, text: &Option<String>) -> Result<Option<Millis>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let bad = || format!("{text:?} is not a duration such as 90s, 15m, 24h or 7d");
    Millis::parse(text).map(Some).ok_or_else(|| Problem::new(key, bad()))
}

/// Returns where a file is, or will be once it is written, with all links followed; of a link to nothing, what it says.
fn real_place(file: &Path) -> Option<PathBuf> {
    let parent = || std::fs::canonicalize(file.parent()?).ok();
    let link = || std::fs::read_link(file).ok();
    std::fs::canonicalize(file).ok().or_else(link).or_else(parent)
}

fn is_below(path: &Path, dir: &Path) -> bool {
    path.starts_with(dir) && !path.components().any(|part| part == Component::ParentDir)
}

fn line_number(before: &str) -> usize {
    before.matches('\n').count() + 1
}

/// The line of a key, for values that TOML accepts and we do not.
fn find_line(text: &str, key: &str) -> Option<usize> {
    let starts = |line: &str| {
        line.trim_start()
            .trim_start_matches('"')
            .strip_prefix(key)
            .is_some_and(|rest| rest.trim_start_matches('"').trim_start().starts_with('='))
    };
    text.lines().position(starts).map(|index| index + 1)
}

/// The line of a key in its own table; of the table, when the key is one.
pub(crate) fn find_key(text: &str, path: &str) -> Option<usize> {
    let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
    let header = |name: &str| {
        let place =
            text.lines().position(|line| line.trim_start().starts_with(&format!("[{name}]")));
        place.map(|index| index + 1)
    };
    let after = header(table).unwrap_or(0);
    let rest: String = text.lines().skip(after).map(|line| format!("{line}\n")).collect();
    find_line(&rest, key).map(|line| line + after).or_else(|| header(path)).or(find_line(text, key))
}

fn wrong(file: &Path, line: Option<usize>, message: &str) -> Refusal {
    let place = match line {
        Some(line) => format!("{}:{line}", file.display()),
        None => file.display().to_string(),
    };
    Refusal::input(format!("{place}: {message}"))
        .hint(
            say("fix the file; ")
                .quote(op("init"))
                .say(" in an empty directory writes one that shows every key"),
        )
        .detail("file", file.display().to_string())
        .detail("line", line)
}

fn unreadable(file: &Path, error: &std::io::Error) -> Refusal {
    Refusal::input(format!("cannot read {}: {error}", file.display()))
}

#[cfg(test)]
mod tests;

//! The tables `[supervisor]` and `[ci]`, and the project's own rows of the supervisor's table.

use crate::config::{Config, duration};
use crate::plain_file;
use crate::problem::Problem;
use crate::root::{Root, SETTINGS_DIR};
use crate::trust::Power;
use comity_core::refusal::Refusal;
use comity_core::supervise::{Settings, Table};
use comity_core::time::Millis;
use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SupervisorTable {
    heartbeat: Option<String>,
    seat_ttl: Option<String>,
    auto_decide: Option<bool>,
    push_ok: Option<Vec<String>>,
    dedup_days: Option<i64>,
    cooldown: Option<String>,
    /// Read by whoever writes prompts.
    pub(crate) memories: Option<usize>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CiTable {
    check: Option<String>,
    timeout: Option<String>,
    tail: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PrTable {
    create: Option<String>,
}

/// The part of `[fleet]` that a supervisor goes by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    pub(crate) max_runs: Option<usize>,
    pub(crate) max_per_repo: Option<usize>,
    pub(crate) retry_backoff: Option<(String, String)>,
}

/// How the checks of a pull request are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct CiCheck {
    /// A shell command; `{pr}`, `{branch}` and `{commit}` are filled in.
    pub command: String,
    /// How much of its output is kept, in bytes.
    pub tail: usize,
}

/// The table in which the command stands that asks for checks.
pub const CI_CHECK: &str = "ci.check";
/// The table in which the command stands that opens pull requests.
pub const PR_CREATE: &str = "pr.create";
/// The file with a project's own rows.
const RULES_FILE: &str = "supervisor.toml";
const TAIL: usize = 8 * 1024;

impl Config {
    /// Tells whether the project wants a supervisor: its settings have the table, whatever is in it.
    pub fn wants_supervisor(&self) -> bool {
        self.supervisor.is_some()
    }

    /// Returns what the supervisor goes by.
    pub fn supervisor(&self) -> Result<Settings, Problem> {
        let default = Settings::default();
        let table = self.supervisor.clone().unwrap_or_default();
        let time = |key: &str, text: &Option<String>, or: Millis| {
            Ok::<_, Problem>(duration(key, text)?.unwrap_or(or))
        };
        let slots = self.slots();
        let retry_backoff = match &slots.retry_backoff {
            None => default.retry_backoff,
            Some((first, most)) => {
                let key = "fleet.retry_backoff";
                let of = |text: &String, or| time(key, &Some(text.clone()), or);
                (of(first, default.retry_backoff.0)?, of(most, default.retry_backoff.1)?)
            }
        };
        Ok(Settings {
            heartbeat: time("supervisor.heartbeat", &table.heartbeat, default.heartbeat)?,
            seat_ttl: time("supervisor.seat_ttl", &table.seat_ttl, default.seat_ttl)?,
            auto_decide: table.auto_decide.unwrap_or(default.auto_decide),
            push_ok: table.push_ok.clone().unwrap_or(default.push_ok),
            dedup_days: table.dedup_days.unwrap_or(default.dedup_days),
            cooldown: time("supervisor.cooldown", &table.cooldown, default.cooldown)?,
            max_runs: slots.max_runs.unwrap_or(default.max_runs),
            max_per_repo: slots.max_per_repo.unwrap_or(default.max_per_repo),
            retry_backoff,
            ci_timeout: time("ci.timeout", &self.ci.timeout, default.ci_timeout)?,
        })
    }

    /// Returns how the checks of a pull request are asked for, where that is set.
    pub fn ci_check(&self) -> Result<Option<CiCheck>, Problem> {
        let Some(command) = self.ci.check.clone().filter(|text| !text.trim().is_empty()) else {
            return Ok(None);
        };
        let tail = match &self.ci.tail {
            None => TAIL,
            Some(text) => bytes(text).ok_or_else(|| {
                Problem::new("ci.tail", format!("{text:?} is not a size such as 8KiB"))
            })?,
        };
        Ok(Some(CiCheck { command, tail }))
    }

    /// Returns the command that opens a pull request, where that is set.
    pub fn pr_create(&self) -> Option<String> {
        self.pr.create.clone().filter(|text| !text.trim().is_empty())
    }

    /// Returns what the user has to trust before checks are asked for or pull requests are opened.
    pub(crate) fn pull_powers(&self, root: &Root) -> Result<Vec<Power>, Problem> {
        let check = self.ci_check()?.map(|check| (CI_CHECK, check.command));
        let create = self.pr_create().map(|command| (PR_CREATE, command));
        let power = |(kind, value): (&str, String)| Power {
            root: root.dir.clone(),
            kind: kind.to_owned(),
            value,
        };
        Ok(check.into_iter().chain(create).map(power).collect())
    }
}

/// The largest table of a project's own that is read.
const TABLE_BYTES_MAX: usize = 1024 * 1024;

pub(crate) fn bytes(text: &str) -> Option<usize> {
    let text = text.trim();
    let units = [("KiB", 1024), ("MiB", 1024 * 1024), ("B", 1)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, size)| Some((text.strip_suffix(name)?, *size)))
        .unwrap_or((text, 1));
    number.trim().parse::<usize>().ok()?.checked_mul(unit)
}

/// Returns the table of a project: the built-in one, with the project's own rows.
pub fn table(root: &Root) -> Result<Table, Refusal> {
    let file = root.dir.join(SETTINGS_DIR).join(RULES_FILE);
    let wrong = |why: String| {
        Refusal::input(format!("{}: {why}", file.display()))
            .hint("the built-in rows, fields and actions are in docs/reference/supervisor.md")
    };
    match plain_file::read_text(&file, TABLE_BYTES_MAX) {
        Ok(text) => Table::with_own(&text).map_err(wrong),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Table::built_in().map_err(wrong)
        }
        Err(error) => Err(wrong(error.to_string())),
    }
}

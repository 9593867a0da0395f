//! `[gates]` and `[gate.NAME]`: which commands check the work, and how they are run.

use comity_core::task::Tier;
use comity_core::time::Millis;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Component, Path};

/// How long a gate may run where its settings do not say.
const TIMEOUT_DEFAULT: Millis = Millis::from_secs(15 * 60);
/// No gate may run for longer.
const TIMEOUT_MAX: Millis = Millis::from_secs(24 * 60 * 60);
/// Gates that run side by side at most.
const JOBS_MAX: u32 = 64;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GatesTable {
    pub(crate) required: Vec<String>,
    pub(crate) min_tier: Option<Tier>,
    keep: Vec<String>,
    jobs: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GateTable {
    pub(crate) command: Option<String>,
    timeout: Option<String>,
    env: Variables,
}

/// Further environment variables of a command.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Variables {
    /// With these values.
    Set(BTreeMap<String, String>),
    /// With the values that they have for whoever runs the gate.
    Passed(Vec<String>),
}

impl Default for Variables {
    fn default() -> Variables {
        Variables::Passed(Vec::new())
    }
}

/// A gate that comity can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateCommand {
    pub name: String,
    /// For `sh -c`.
    pub command: String,
    pub timeout: Millis,
    /// Variables with their values.
    pub set: BTreeMap<String, String>,
    /// Variables that keep the values of whoever runs the gate.
    pub passed: Vec<String>,
}

impl GateCommand {
    /// Makes a gate of a command alone.
    pub fn plain(name: &str, command: &str) -> GateCommand {
        GateCommand {
            name: name.to_owned(),
            command: command.to_owned(),
            timeout: TIMEOUT_DEFAULT,
            set: BTreeMap::new(),
            passed: Vec::new(),
        }
    }

    /// Writes everything that the repository says about what is run. This is what a user trusts.
    pub fn power(&self) -> String {
        let set = self.set.iter().map(|(name, value)| format!("{name}={value:?} "));
        let passed = self.passed.iter().map(|name| format!("{name}=(yours) "));
        format!("{}{}", set.chain(passed).collect::<String>(), self.command)
    }
}

/// How gates are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateRuns {
    /// Directories that one run leaves to the next.
    pub keep: Vec<String>,
    /// Gates that run side by side.
    pub jobs: usize,
}

impl GatesTable {
    /// Returns how gates are run; a text says what is wrong with a key.
    pub(crate) fn runs(&self) -> Result<GateRuns, (String, String)> {
        for dir in &self.keep {
            let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
            if dir.is_empty() || !Path::new(dir).components().all(is_name) {
                let message = format!("{dir:?} is not a directory below the root");
                return Err(("gates.keep".to_owned(), message));
            }
        }
        let jobs = self.jobs.unwrap_or(1);
        if !(1..=JOBS_MAX).contains(&jobs) {
            let message = format!("must be between 1 and {JOBS_MAX}");
            return Err(("gates.jobs".to_owned(), message));
        }
        let jobs = usize::try_from(jobs).unwrap_or(1);
        Ok(GateRuns { keep: self.keep.clone(), jobs })
    }
}

impl GateTable {
    /// Returns the gate, where it has a command; a text says what is wrong with a key.
    pub(crate) fn gate(&self, name: &str) -> Result<Option<GateCommand>, (String, String)> {
        let wrong = |key: &str, message: String| Err((format!("gate.{name}.{key}"), message));
        let timeout = match &self.timeout {
            None => TIMEOUT_DEFAULT,
            Some(text) => match Millis::parse(text) {
                Some(time) if time > Millis::default() && time <= TIMEOUT_MAX => time,
                _ => return wrong("timeout", format!("{text:?} is not a duration up to 24h")),
            },
        };
        let (set, passed) = match &self.env {
            Variables::Set(set) => (set.clone(), Vec::new()),
            Variables::Passed(names) => (BTreeMap::new(), names.clone()),
        };
        let is_bad = |text: &&String| text.is_empty() || text.contains(['=', '\0']);
        if let Some(bad) = set.keys().chain(&passed).find(is_bad) {
            return wrong("env", format!("{bad:?} is not the name of a variable"));
        }
        let Some(command) = &self.command else { return Ok(None) };
        if command.trim().is_empty() || command.contains('\0') {
            return wrong("command", "is no command".to_owned());
        }
        let (name, command) = (name.to_owned(), command.clone());
        Ok(Some(GateCommand { name, command, timeout, set, passed }))
    }
}

//! The settings that work is checked by. They come from the base branch, never from the work itself: with one checkout, the
//! root's files are those of the work. For a task, both the name of that branch and the settings come from where its work
//! cannot change them.

use crate::base_branch::Standing;
use crate::diff::text_at;
use crate::git::Git;
use comity_api::SettingsFrom;
use comity_core::policy::Policy;
use comity_core::refusal::{Code, Refusal};
use comity_core::task::{Deliverable, Task};
use comity_project::{Config, Context, GateCommand, SETTINGS_DIR, detect, plain_file};
use std::path::Path;

/// The largest manifest that gates are looked for in.
const MANIFEST_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What work is checked by.
pub struct CheckSettings {
    pub config: Config,
    pub from: SettingsFrom,
    /// The name of the base branch, where settings have one.
    pub base: Option<String>,
    /// The gates that have a command: those that are set, else those that the project has by its looks.
    pub commands: Vec<GateCommand>,
}

/// Reads the settings that a commit of the base branch has.
pub(crate) fn base_config(git: &Git, base: &str) -> Result<Option<Config>, Refusal> {
    let file = format!("{SETTINGS_DIR}/config.toml");
    let Some(text) = text_at(git, base, &file) else { return Ok(None) };
    let name = format!("{}:{file}", base.get(..10).unwrap_or(base));
    Ok(Some(Config::parse(&text, Path::new(&name))?))
}

/// What settings are wanted for: nothing in particular, or a task and a commit of its work.
#[derive(Clone, Copy, Default)]
pub struct About<'a> {
    pub task: Option<&'a Task>,
    pub work: Option<&'a str>,
}

/// Where work on a task began, which no work on it can change, and the name of its base branch.
pub(crate) struct Began {
    /// None where nobody knows, and for what is about no task.
    commit: Option<String>,
    /// None where no settings name a base branch.
    pub base: Option<String>,
    is_code: bool,
}

impl Began {
    /// The settings where the task was claimed first name its base branch; where there are none, those that are set here do.
    pub fn of(git: &Git, set: Option<&str>, task: Option<&Task>) -> Result<Began, Refusal> {
        let set = set.map(str::to_owned);
        let is_code = task.is_some_and(|task| task.deliverable == Deliverable::Code);
        let Some((task, first)) = task.and_then(|task| Some((task, task.began_at().next()?)))
        else {
            return Ok(Began { commit: None, base: set, is_code });
        };
        let is_here = |at: &&str| git.line(&["cat-file", "-t", at]).is_some();
        let commit = task.began_at().find(is_here).ok_or_else(|| {
            let message = format!("git does not have {first}, where the work on {} began", task.id);
            Refusal::new(Code::Unobserved, message)
                .hint("run the command in the repository of the task, and fetch the commit there")
        })?;
        // What makes no sense there cannot be mended any more, and names nothing.
        let there = base_config(git, commit).ok().flatten();
        let base = there.map_or(set, |config| config.base_branch().map(str::to_owned));
        Ok(Began { commit: Some(commit.to_owned()), base, is_code })
    }

    /// Returns the commit whose settings judge: the tip of the base branch, as long as that has none of the work. Once it has,
    /// and until work is handed in, it is the commit where the work began.
    pub fn judge(&self, git: &Git, tip: Option<&String>, work: Option<&str>) -> Option<String> {
        let (Some(began), true) = (&self.commit, self.is_code) else { return tip.cloned() };
        let has = |tip: &str, work: &str| git.does(&["merge-base", "--is-ancestor", work, tip]);
        let lacks = |tip: &&String| *tip == began || work.is_some_and(|work| !has(tip, work));
        tip.filter(lacks).or(Some(began)).cloned()
    }
}

/// Returns the settings with those that work is checked by, and where these come from: the commit that judges it where that has
/// some, else the root's checkout. The third is the name of the base branch.
pub(crate) fn checked_by(
    context: &Context,
    git: &Git,
    About { task, work }: About<'_>,
) -> Result<(Config, SettingsFrom, Option<String>), Refusal> {
    let began = Began::of(git, context.config.base_branch(), task)?;
    let tip = Standing::of(git, began.base.as_deref())?.base;
    let judge = began.judge(git, tip.as_ref(), work);
    let judging = judge.as_deref().map(|commit| base_config(git, commit)).transpose()?.flatten();
    let from = |from: &str, commit| SettingsFrom { from: from.to_owned(), commit };
    Ok(match judging {
        Some(config) => {
            (context.config.clone().checked_by(config), from("base", judge), began.base)
        }
        None => (context.config.clone(), from("checkout", None), began.base),
    })
}

impl CheckSettings {
    pub fn of(context: &Context, git: &Git, about: About<'_>) -> Result<CheckSettings, Refusal> {
        let (config, from, base) = checked_by(context, git, about)?;
        let mut commands = config.gate_commands()?;
        if commands.is_empty() {
            commands = match &from.commit {
                Some(base) => detect::detect(&|name| text_at(git, base, name)),
                None => detect::detect(&|name| {
                    plain_file::read_text(&context.root.dir.join(name), MANIFEST_BYTES_MAX).ok()
                }),
            };
        }
        Ok(CheckSettings { config, from, base, commands })
    }

    /// Returns a policy with the rules that judge the work.
    pub fn policy(&self, policy: &Policy) -> Result<Policy, Refusal> {
        Ok(policy.clone().judging_by(self.config.settings()?.policy.base_rules()))
    }
}

//! What a project may set: limits on attempts, required gates, wider roles, the branch pattern.

use crate::budget::{Cap, Per, Scope};
use crate::decide::linked_issue;
use crate::ids::AgentId;
use crate::lease::{LeaseMode, is_covered};
use crate::money::Usd;
use crate::observed::{Observed, RulesSeen};
use crate::pattern::{CaseRule, Pattern};
use crate::refusal::{Code, Refusal};
use crate::role::{Role, Verb};
use crate::run::run_of;
use crate::task::{Task, Tier};
use crate::time::Millis;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What happens to changed files that a task neither declared nor leased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Undeclared {
    Allow,
    #[default]
    Warn,
    Refuse,
}

/// What happens to work that changes what another owner had leased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Land {
    #[default]
    Refuse,
    Warn,
    Off,
}

/// Files that runs do not share, unless `[fleet] exclusive` says otherwise: generated ones, and those whose order counts.
const EXCLUSIVE: [&str; 3] = ["**/*.lock", "**/*-lock.*", "**/migrations/**"];

/// What a project sets for runs and what they cost.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetPolicy {
    /// Life of a run, and of its claim and leases, without a sign of life.
    pub ttl: Millis,
    /// Live runs of a repository, those that wait included.
    pub queue: usize,
    /// What is kept for a run that names no highest cost.
    pub run_usd: Usd,
    /// What a repository may spend a day, unless a budget says otherwise.
    pub day_usd: Usd,
    /// From which part of a budget on people are told, in percent.
    pub alert_percent: u64,
    /// Files that cannot be merged: a claim that shares its files has these for itself alone.
    pub exclusive: Vec<String>,
}

impl Default for FleetPolicy {
    fn default() -> FleetPolicy {
        FleetPolicy {
            ttl: Millis::from_secs(120),
            queue: 50,
            run_usd: Usd::from_micros(2_000_000),
            day_usd: Usd::from_micros(50_000_000),
            alert_percent: 80,
            exclusive: EXCLUSIVE.map(str::to_owned).to_vec(),
        }
    }
}

impl FleetPolicy {
    /// Returns the caps that hold in a scope for which no budget is set.
    pub fn default_caps(&self, scope: &Scope) -> BTreeMap<Per, Cap> {
        let day = Cap { usd: Some(self.day_usd), runs: None };
        (*scope == Scope::repo()).then_some((Per::Day, day)).into_iter().collect()
    }
}

/// The settings that submitted work is checked by, as a door read them from the base branch: `[gates]`, `[gate]`, `[guard]` and
/// `[roles]`. The checkout may be that very work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseRules {
    pub required_gates: Vec<String>,
    pub gates: Vec<String>,
    pub min_tier: Tier,
    pub extra_permissions: BTreeSet<(Role, Verb)>,
    pub undeclared: Undeclared,
    pub land: Land,
}

/// A project's settings, as far as rules depend on them.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Attempts before a task is blocked with an error report.
    pub max_attempts: u32,
    /// Failures of one gate in one round that do the same.
    pub max_gate_failures: u32,
    /// Review rounds that do the same.
    pub max_review_rounds: u32,
    /// How long a task may stay blocked before a planner is asked.
    pub blocked_grace: Millis,
    pub required_gates: Vec<String>,
    /// Further gates that the settings name.
    pub gates: Vec<String>,
    /// Lowest tier of evidence that counts.
    pub min_tier: Tier,
    /// Whether an unknown agent is refused instead of registered.
    pub registration_required: bool,
    /// Permissions beyond the table.
    pub extra_permissions: BTreeSet<(Role, Verb)>,
    /// Branch names: `{id}`, `{number}`, `{issue}` and `{slug}` are replaced.
    pub branch_pattern: String,
    /// The same for tasks that are linked to an issue at home, where the protocol of the project names their branches.
    pub linked_branches: Option<String>,
    /// Life of a claim or lease when none is asked for.
    pub default_ttl: Millis,
    /// Whether the project has git. Without it, code is handed in and finished unseen.
    pub has_git: bool,
    /// Whether the project itself names the branches of tasks, so that work belongs there and nowhere else.
    pub names_branches: bool,
    pub undeclared: Undeclared,
    pub land: Land,
    /// How a claim holds the files of its task, unless it is the claim of a run: a run shares them.
    pub lease_mode: LeaseMode,
    /// The branch that approved work goes into; none is the base branch.
    pub merge_target: Option<String>,
    pub fleet: FleetPolicy,
    /// Whether paths differ only by case are the same, as on the store's file system.
    pub fold_case: bool,
}

impl Policy {
    /// Returns the pattern of the branch of a task, and whether work belongs there and nowhere else.
    pub fn branches_of(&self, task: &Task) -> (&str, bool) {
        match self.linked_branches.as_deref().filter(|_| linked_issue(task).is_some()) {
            Some(pattern) => (pattern, true),
            None => (&self.branch_pattern, self.names_branches),
        }
    }

    /// Returns what submitted work is checked by.
    #[must_use]
    pub fn base_rules(self) -> BaseRules {
        let Policy { required_gates, gates, min_tier, extra_permissions, undeclared, land, .. } =
            self;
        BaseRules { required_gates, gates, min_tier, extra_permissions, undeclared, land }
    }

    /// Returns the policy that a request is decided by: where a door saw the settings of the base branch, those judge the work.
    /// Whether anybody had to look is a rule of its own.
    pub fn checked_by<'p>(&'p self, seen: &Observed) -> Cow<'p, Policy> {
        match &seen.rules {
            Some(RulesSeen::Set(rules)) => Cow::Owned(self.clone().judging_by(rules.clone())),
            Some(RulesSeen::NoneThere) | None => Cow::Borrowed(self),
        }
    }

    /// Returns the policy with the rules of others for submitted work.
    #[must_use]
    pub fn judging_by(self, rules: BaseRules) -> Policy {
        let BaseRules { required_gates, gates, min_tier, extra_permissions, undeclared, land } =
            rules;
        Policy { required_gates, gates, min_tier, extra_permissions, undeclared, land, ..self }
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            max_attempts: 3,
            max_gate_failures: 3,
            max_review_rounds: 6,
            blocked_grace: Millis::from_secs(86_400),
            required_gates: Vec::new(),
            gates: Vec::new(),
            min_tier: Tier::Claimed,
            registration_required: false,
            extra_permissions: BTreeSet::new(),
            branch_pattern: "feat/{id}-{slug}".to_owned(),
            linked_branches: None,
            default_ttl: crate::limits::TTL_DEFAULT,
            has_git: true,
            names_branches: false,
            undeclared: Undeclared::Warn,
            land: Land::Refuse,
            lease_mode: LeaseMode::Exclusive,
            fold_case: false,
            merge_target: None,
            fleet: FleetPolicy::default(),
        }
    }
}

/// An agent changes no setting of the project: the settings are what its work is held to.
pub fn may_set(actor: &AgentId) -> Result<(), Refusal> {
    if actor.is_person() || actor.is_script() {
        return Ok(());
    }
    let text = format!("an agent ({actor}) cannot change the project's settings");
    Err(Refusal::new(Code::HumanOnly, text))
}

impl Policy {
    pub fn case_rule(&self) -> CaseRule {
        CaseRule::folding(self.fold_case)
    }

    /// Returns how a claim of this owner holds a declared file. A run shares what git can merge: if it held such files alone,
    /// the few files that most tasks change would bound how many runs can work at once.
    pub fn claim_mode(&self, owner: &AgentId, declared: &Pattern) -> LeaseMode {
        let shares = self.lease_mode == LeaseMode::Shared || run_of(owner).is_some();
        match shares && !is_covered(declared, &self.fleet.exclusive) {
            true => LeaseMode::Shared,
            false => LeaseMode::Exclusive,
        }
    }

    pub fn allows(&self, roles: &[Role], verb: Verb) -> bool {
        roles.iter().any(|role| {
            verb.roles().contains(role) || self.extra_permissions.contains(&(*role, verb))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_changes_no_settings() {
        for (actor, may) in [
            ("human:ann", true),
            ("script:ann", true),
            ("ada", false),
            ("claude-code:3f2a9c1d", false),
        ] {
            let ruling = may_set(&AgentId::parse(actor).unwrap());
            assert_eq!(
                ruling.map_err(|refusal| refusal.code),
                may.then_some(()).ok_or(Code::HumanOnly)
            );
        }
    }
}

//! The land rule: work does not land that changes what another owner had leased for itself alone.
//!
//! It is decided from the leases in the log and the paths that a door saw changed. When a commit was made plays no part:
//! anybody can set that.

use crate::facts::{Facts, Ruling};
use crate::ids::{AgentId, Fence, LeaseId, RepoName, Seq, TaskId};
use crate::lease::{Lease, LeaseMode, PastLease};
use crate::pattern::{CaseRule, Pattern, RepoPath};
use crate::task::Task;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The gate whose waiver lets such work pass.
pub const GUARD_GATE: &str = "guard";

/// A changed path that another owner had leased.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "constraint", rename = "lease")]
pub struct LeaseViolation {
    pub path: String,
    pub holder: AgentId,
    pub lock_id: String,
    pub from: Timestamp,
    /// When the lease ended; for one that is held, when it ends unless it is renewed.
    pub until: Timestamp,
}

/// What a submission says of its round: it is all that later commands have to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LandRecord {
    pub agent: AgentId,
    /// The claim that the round began with.
    pub fence: Fence,
    pub claimed_at: Timestamp,
    /// The commit that the round began with: what was submitted last, or the base of the claim.
    pub base: Option<String>,
    /// Changes of leased files that were found and let through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<LeaseViolation>,
}

/// A round of work: whose it is, and the part of the log in which the leases of others count.
#[derive(Clone, Copy, Debug)]
pub struct Window<'t> {
    task: &'t TaskId,
    agent: &'t AgentId,
    from: Fence,
    from_at: Timestamp,
    /// The submission; none is now.
    until: Option<Seq>,
}

impl<'t> Window<'t> {
    /// Returns the round that is under way, until now.
    pub fn of_claim(task: &'t Task) -> Option<Window<'t>> {
        let claim = task.claim.as_ref()?;
        let (from, from_at) = (claim.fence, claim.claimed_at);
        Some(Window { task: &task.id, agent: &claim.agent, from, from_at, until: None })
    }

    /// Returns the round that was handed in, until it was.
    pub fn of_submission(task: &'t Task) -> Option<Window<'t>> {
        let round = task.handed_in.as_ref()?;
        Some(Window { until: Some(round.seq), ..Window::since_submission(task)? })
    }

    /// Returns the round that was handed in, until now: for what only the merge brought.
    pub fn since_submission(task: &'t Task) -> Option<Window<'t>> {
        let land = &task.handed_in.as_ref()?.land;
        let (agent, from, from_at) = (&land.agent, land.fence, land.claimed_at);
        Some(Window { task: &task.id, agent, from, from_at, until: None })
    }
}

/// A lease that lived in the window, live or ended.
struct Span<'f> {
    /// A stored pattern that no longer parses covers everything: never a false "free".
    pattern: Option<Pattern>,
    owner: &'f AgentId,
    mode: LeaseMode,
    claim_of: Option<&'f TaskId>,
    late: bool,
    id: LeaseId,
    from: Timestamp,
    until: Timestamp,
}

impl Span<'_> {
    fn covers(&self, path: &RepoPath, folded: &str) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        let prefix = pattern.literal_prefix();
        // A path that has something below it is a submodule, or was a directory before.
        pattern.covers(path) || prefix == folded || is_below(prefix, folded)
    }

    /// Tells whether the lease excuses changes of a round: it is of that round, and came before them.
    fn excuses(&self, window: &Window<'_>) -> bool {
        let is_of_round = self.claim_of.is_none_or(|task| task == window.task);
        self.owner == window.agent && is_of_round && !self.late
    }

    fn forbids(&self, window: &Window<'_>) -> bool {
        self.owner != window.agent && self.mode == LeaseMode::Exclusive
    }
}

/// Lists the paths that another owner had leased for itself alone at any time in the window, unless a lease of the round
/// covered them before they were changed.
pub fn violations<'p>(
    facts: &Facts,
    repo: &RepoName,
    window: &Window<'_>,
    paths: impl IntoIterator<Item = &'p str>,
) -> Ruling<Vec<LeaseViolation>> {
    let rule = facts.case_rule_of(repo)?;
    let paths: BTreeMap<&str, Option<RepoPath>> =
        paths.into_iter().map(|path| (path, placed(path))).collect();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut near: Vec<String> = paths.values().map(|path| folded(path.as_ref(), rule)).collect();
    near.sort();
    near.dedup();
    let (live, past) = facts.held_near(repo, Seq(window.from.get()), &near)?;
    let mut spans = Vec::new();
    for lease in live {
        spans.extend(live_span(facts, lease, window, rule)?);
    }
    spans.extend(past.into_iter().filter_map(|lease| past_span(lease, window, rule)));
    let by_prefix = by_prefix(&spans);
    let mut found = Vec::new();
    for (text, path) in &paths {
        let folded = folded(path.as_ref(), rule);
        let covering: Vec<&Span<'_>> = match path {
            Some(path) => {
                let near = near_spans(&by_prefix, &folded);
                near.into_iter().filter(|span| span.covers(path, &folded)).collect()
            }
            // A path that no pattern can name is as wide as the root.
            None => spans.iter().collect(),
        };
        if covering.iter().any(|span| span.excuses(window)) {
            continue;
        }
        let other = covering.into_iter().filter(|span| span.forbids(window)).min_by_key(|s| s.id);
        found.extend(other.map(|span| LeaseViolation {
            path: (*text).to_owned(),
            holder: span.owner.clone(),
            lock_id: span.id.to_string(),
            from: span.from,
            until: span.until,
        }));
    }
    Ok(found)
}

type ByPrefix<'s, 'f> = BTreeMap<&'s str, Vec<&'s Span<'f>>>;

fn by_prefix<'s, 'f>(spans: &'s [Span<'f>]) -> ByPrefix<'s, 'f> {
    let mut found: ByPrefix<'s, 'f> = BTreeMap::new();
    for span in spans {
        let prefix = span.pattern.as_ref().map_or("", Pattern::literal_prefix);
        found.entry(prefix).or_default().push(span);
    }
    found
}

/// Returns the spans whose literal prefix lies on the way to, at, or below a path.
fn near_spans<'s, 'f>(all: &ByPrefix<'s, 'f>, path: &str) -> Vec<&'s Span<'f>> {
    let above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
    let at = std::iter::once("").chain(above).chain([path]).filter_map(|at| all.get(at));
    let from = format!("{path}/");
    let below = all.range(&*from..).take_while(|(prefix, _)| prefix.starts_with(&from));
    at.chain(below.map(|(_, spans)| spans)).flatten().copied().collect()
}

fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns a path as patterns can match it: no pattern has a backslash. Of one that is too long, the directory that is
/// not.
fn placed(path: &str) -> Option<RepoPath> {
    let spelled = path.replace('\\', "\u{fffd}");
    let mut text = spelled.as_str();
    loop {
        match RepoPath::parse(text) {
            Ok(path) => return Some(path),
            Err(_) => text = text.rsplit_once('/')?.0,
        }
    }
}

fn folded(path: Option<&RepoPath>, rule: CaseRule) -> String {
    path.map(|path| path.folded(rule).into_owned()).unwrap_or_default()
}

fn live_span<'f>(
    facts: &Facts,
    lease: &'f Lease,
    window: &Window<'_>,
    rule: CaseRule,
) -> Ruling<Option<Span<'f>>> {
    if window.until.is_some_and(|until| lease.fence.get() > until.0) {
        return Ok(None);
    }
    let until = facts.lease_expiry(lease)?;
    // It ran out before the round began, and nobody has noticed yet.
    if until <= window.from_at {
        return Ok(None);
    }
    Ok(Some(Span {
        pattern: Pattern::parse_with(&lease.path, rule).ok(),
        owner: &lease.owner,
        mode: lease.mode,
        claim_of: lease.claim_of.as_ref(),
        late: lease.late,
        id: lease.id,
        from: lease.acquired_at,
        until,
    }))
}

fn past_span<'f>(lease: &'f PastLease, window: &Window<'_>, rule: CaseRule) -> Option<Span<'f>> {
    let is_later = window.until.is_some_and(|until| lease.fence.get() > until.0);
    let is_earlier =
        lease.ended.0 <= window.from.get() || (lease.expired && lease.ended_at <= window.from_at);
    if is_later || is_earlier {
        return None;
    }
    Some(Span {
        pattern: Pattern::parse_with(&lease.path, rule).ok(),
        owner: &lease.owner,
        mode: lease.mode,
        claim_of: lease.claim_of.as_ref(),
        late: lease.late,
        id: lease.id,
        from: lease.acquired_at,
        until: lease.ended_at,
    })
}

//! What an event of the log says on GitHub. Pure: the text comes from the event, not from the present.

use crate::desired::{generation, is_ace};
use comity_core::chain::Stored;
use comity_core::event::{
    ErrorReport, Event, OutsideRefused, ReviewRequested, StatusChanged, TaskClaimed,
};
use comity_core::ids::{AgentId, DecisionId};
use comity_core::status::Status;
use comity_core::task::Tier;
use comity_core::via::Via;
use comity_protocol::ace::{Asked, Blocked, Claim, Comment, Done, Failed, with_options};
use comity_protocol::labels::Dialect;
use comity_protocol::neomjs::{ErrorContract, ResultContract, fenced};
use std::collections::BTreeMap;

/// Something to be said in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub kind: &'static str,
    pub text: String,
}

/// What an event refers to, found in the log before it or beside it.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    pub questions: BTreeMap<DecisionId, String>,
    /// The report of the transaction in which the task gave up.
    pub error: Option<ErrorReport>,
    /// The last evidence for the gate `tests`: passed or not, and how far it is to be trusted.
    pub tests: Option<(bool, Tier, Option<String>)>,
    /// Files that the submitted work changes.
    pub files: Vec<String>,
    /// What an agent handed in with it, as the protocol writes it.
    pub result: Option<ResultContract>,
    /// The questions of the last block were answered since.
    pub resuming: bool,
    /// The pull request that was opened for the work right after it was handed in.
    pub opened: Option<String>,
    /// The directory of the user, which is nobody's business.
    pub home: Option<String>,
    pub attempts: u32,
}

/// Returns what an event says. What was caused on GitHub is known there; only a refusal, and that the work goes on, is
/// said all the same.
pub fn said(stored: &Stored, event: &Event, dialect: &Dialect, beside: &Beside) -> Vec<Said> {
    let via = stored.body.as_deref().map(Via::of_body).unwrap_or_default();
    let from_there = via.source.is_some();
    let said = |kind, text: String| vec![Said { kind, text }];
    let ace = is_ace(dialect);
    let comment = |comment: &Comment| comment.render(generation(dialect));
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events are not said")]
    match event {
        Event::OutsideRefused(refused) => said("refused", refusal(refused)),
        Event::TaskClaimed(claimed) if ace => {
            let mut all = Vec::new();
            if beside.resuming {
                all.push(Said { kind: "resuming", text: comment(&Comment::Resuming) });
            }
            if !from_there {
                let claim = Comment::Claim(claim(claimed, stored, beside));
                all.push(Said { kind: "claim", text: comment(&claim) });
            }
            all
        }
        _ if from_there => Vec::new(),
        Event::ReviewRequested(asked) => said(if ace { "done" } else { "result" }, {
            let pr = asked.pr.clone().or_else(|| beside.opened.clone());
            let asked = ReviewRequested { pr, ..asked.clone() };
            if ace { opened(&asked, dialect) } else { result(&asked, beside) }
        }),
        Event::TaskUpdated(changes) => match &changes.pr {
            Some(pr) if ace => said("done", comment(&Comment::Done(Done::of(pr)))),
            Some(pr) => {
                let mut result = ResultContract { pr_url: Some(pr.clone()), ..told(beside) };
                "success".clone_into(&mut result.status);
                said("result", fenced(&result.render()))
            }
            None => Vec::new(),
        },
        Event::StatusChanged(change) => status(stored, change, dialect, beside),
        Event::Released(released) => {
            let why = released.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            said("released", format!("{} released the task{why}", stored.agent))
        }
        Event::ReviewFeedback(feedback) if feedback.status == Status::ChangesRequested => {
            let notes = feedback.notes.as_deref().unwrap_or("no reason given");
            said("sent-back", format!("{} sent the work back: {notes}", stored.agent))
        }
        Event::Note(note) if ace && ["milestone", "progress"].contains(&note.kind.as_str()) => {
            said("progress", format!("- {} {}", stored.ts, note.text))
        }
        _ => Vec::new(),
    }
}

fn status(
    stored: &Stored,
    change: &StatusChanged,
    dialect: &Dialect,
    beside: &Beside,
) -> Vec<Said> {
    let said = |kind, text: String| vec![Said { kind, text }];
    let why = || change.reason.clone().unwrap_or_else(|| "no reason given".to_owned());
    match change.new_status {
        Status::Blocked if is_ace(dialect) => said("blocked", questions(change, dialect, beside)),
        Status::Blocked => said("error", error(change, beside)),
        Status::Failed if is_ace(dialect) => {
            let failed = Comment::Failed(Failed { error: why() });
            said("failed", failed.render(generation(dialect)))
        }
        Status::Queued
            if change.old_status.is_held() && stored.agent == AgentId::watchdog().as_str() =>
        {
            said("reclaimed", format!("comity took the task back: {}", why()))
        }
        Status::Abandoned => {
            said("abandoned", format!("{} gave the task up: {}", stored.agent, why()))
        }
        Status::Done => said("done-by", format!("{} finished the task", stored.agent)),
        Status::Queued
        | Status::Claimed
        | Status::InProgress
        | Status::Review
        | Status::ChangesRequested
        | Status::Approved
        | Status::Merging
        | Status::Failed => Vec::new(),
    }
}

fn claim(claimed: &TaskClaimed, stored: &Stored, beside: &Beside) -> Claim {
    Claim {
        agent: Some(claimed.assignee.to_string()),
        host: claimed.host.clone(),
        repository: Some(stored.repo.clone()),
        branch: claimed.branch.clone(),
        workspace: claimed.workspace.as_deref().map(|path| at_home(path, beside)),
        started: Some(stored.ts),
        other: Vec::new(),
    }
}

/// Where a user's files are is shown from the user's own directory on.
fn at_home(path: &str, beside: &Beside) -> String {
    let rest = beside.home.as_deref().and_then(|home| path.strip_prefix(home));
    match rest {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
        _ => path.rsplit('/').next().unwrap_or(path).to_owned(),
    }
}

fn opened(asked: &ReviewRequested, dialect: &Dialect) -> String {
    if let Some(pr) = &asked.pr {
        return Comment::Done(Done::of(pr)).render(generation(dialect));
    }
    let branch = asked.branch.as_deref().map(|branch| format!("- Branch: {branch}\n"));
    let commit = asked.commit.as_deref().map(|commit| format!("- Commit: {commit}\n"));
    let (branch, commit) = (branch.unwrap_or_default(), commit.unwrap_or_default());
    format!("**Agent Complete**\n\n{branch}{commit}").trim_end().to_owned()
}

/// What is known of the work that was handed in.
fn told(beside: &Beside) -> ResultContract {
    let mut result = beside.result.clone().unwrap_or_default();
    if result.files_modified.is_empty() {
        result.files_modified.clone_from(&beside.files);
    }
    if let Some((pass, tier, report)) = &beside.tests {
        let word = if *pass { "Passed" } else { "Failed" };
        let more = report.as_deref().map(|report| format!(": {report}")).unwrap_or_default();
        result.test_results = Some(format!("{word} ({}){more}", tier.as_str()));
    }
    result
}

fn result(asked: &ReviewRequested, beside: &Beside) -> String {
    let mut result = told(beside);
    "success".clone_into(&mut result.status);
    result.pr_url = asked.pr.clone().or(result.pr_url);
    if result.pr_url.is_none() {
        for (key, value) in [("branch", &asked.branch), ("commit", &asked.commit)] {
            if let Some(value) = value {
                result.more.other.insert(key.to_owned(), value.as_str().into());
            }
        }
    }
    fenced(&result.render())
}

fn asked(change: &StatusChanged, beside: &Beside) -> Vec<String> {
    let texts = change.questions.iter().filter_map(|id| beside.questions.get(id).cloned());
    texts.collect()
}

fn questions(change: &StatusChanged, dialect: &Dialect, beside: &Beside) -> String {
    let mut texts = asked(change, beside);
    if texts.is_empty() {
        texts.extend(beside.error.as_ref().map(|error| {
            let options = [("retry", None), ("split", None), ("abandon", None)];
            with_options(&format!("{}. What now?", error.reason), &options)
        }));
    }
    if texts.is_empty() {
        texts.extend(change.needs.clone().or_else(|| change.reason.clone()));
    }
    let numbered = (1..).zip(texts).map(|(number, text)| Asked { number, text });
    match Blocked::numbered(numbered) {
        Some(blocked) => Comment::Blocked(blocked).render(generation(dialect)),
        None => "BLOCKED:".to_owned(),
    }
}

fn error(change: &StatusChanged, beside: &Beside) -> String {
    let texts = asked(change, beside);
    let contract = match &beside.error {
        Some(report) => ErrorContract {
            reason: report.reason.clone(),
            error_log: report.error_log.clone(),
            attempts: Some(report.attempts),
            request: Some(report.request.clone()),
            ..ErrorContract::default()
        },
        None => ErrorContract {
            reason: change.reason.clone().or_else(|| change.needs.clone()).unwrap_or_default(),
            attempts: Some(beside.attempts),
            request: if texts.is_empty() { change.needs.clone() } else { Some(texts.join("\n")) },
            ..ErrorContract::default()
        },
    };
    fenced(&contract.render())
}

fn refusal(refused: &OutsideRefused) -> String {
    let OutsideRefused { wish, by, why, code, .. } = refused;
    format!("comity cannot do what {by} asked for ({wish}): {why} ({code})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_core::chain::Hash;
    use comity_core::event::{Draft, Placed};
    use comity_core::ids::{Fence, RepoName, Seq, TaskId};
    use comity_core::time::{Millis, Timestamp};

    fn stored(event: Event, via: Via) -> (Stored, Event) {
        let draft = Draft {
            repo: RepoName::parse("acme/app").unwrap(),
            agent: AgentId::parse("ace-default").unwrap(),
            task: Some(TaskId::parse("T1").unwrap()),
            event: event.clone(),
            via,
        };
        let ts = Timestamp::parse("2026-11-18T10:00:00Z").unwrap();
        let placed = Placed { seq: Seq(7), ts, draft };
        (Stored::seal(&placed, Hash::GENESIS).unwrap(), event)
    }

    fn text(event: Event, dialect: &Dialect, beside: &Beside) -> String {
        let (stored, event) = stored(event, Via::default());
        let all = said(&stored, &event, dialect, beside);
        all.into_iter().map(|said| format!("[{}]\n{}", said.kind, said.text)).collect()
    }

    fn blocked() -> (Event, Beside) {
        let mut change = StatusChanged::new(Status::InProgress, Status::Blocked, None);
        change.questions = vec![DecisionId(1), DecisionId(2)];
        change.needs = Some("two answers".to_owned());
        let mut beside = Beside { attempts: 1, ..Beside::default() };
        beside.questions.insert(DecisionId(1), "Opt-in or default?".to_owned());
        beside.questions.insert(DecisionId(2), "Which colours?".to_owned());
        (Event::StatusChanged(change), beside)
    }

    #[test]
    fn a2_a_block_is_said_as_the_protocol_says_it() {
        let (event, beside) = blocked();
        assert_eq!(
            text(event, &Dialect::ace(), &beside),
            "[blocked]\nBLOCKED:\n\n- Question 1: Opt-in or default?\n- Question 2: Which colours?\n\n\
             Reply with `ANSWER:` followed by your responses when ready."
        );
    }

    #[test]
    fn n6_a_block_is_an_error_report() {
        let (event, beside) = blocked();
        let text = text(event, &Dialect::neo(), &beside);
        assert!(
            text.starts_with("[error]\n```yaml\n# AGENT ERROR REPORT\nstatus: blocked\n"),
            "{text}"
        );
        assert!(text.contains("attempts: 1"), "{text}");
    }

    #[test]
    fn a4_a_claim_names_agent_host_branch_workspace_and_start() {
        let claimed = TaskClaimed {
            assignee: AgentId::parse("ace-default").unwrap(),
            fence: Fence::new(7).unwrap(),
            branch: Some("agent/123-dark-mode".to_owned()),
            ttl: Millis::from_secs(900),
            host: Some("h".to_owned()),
            workspace: Some("/home/ann/app".to_owned()),
            base: None,
            head: None,
            first_base: None,
        };
        let beside = Beside { home: Some("/home/ann".to_owned()), ..Beside::default() };
        let event = Event::TaskClaimed(claimed);
        let text = text(event.clone(), &Dialect::ace(), &beside);
        for line in [
            "**Agent Claim**",
            "- Agent ID: ace-default",
            "- Host: h",
            "- Branch: agent/123-dark-mode",
            "- Workspace: ~/app",
            "- Started: 2026-11-18T10:00:00.000Z",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let again = Beside { resuming: true, ..Beside::default() };
        let (stored, event) = stored(event, Via { source: Some("gh:1".into()), ..Via::default() });
        let kinds: Vec<&str> =
            said(&stored, &event, &Dialect::ace(), &again).iter().map(|said| said.kind).collect();
        assert_eq!(kinds, ["resuming"], "what happened on GitHub is known there");
    }

    #[test]
    fn n6_a_result_has_the_pull_request_the_files_and_the_tests_with_their_tier() {
        let asked = ReviewRequested {
            commit: Some("c0ffee".to_owned()),
            branch: Some("feat/issue-7".to_owned()),
            pr: Some("https://github.com/acme/app/pull/9".to_owned()),
            reviewer: None,
            round: 1,
            undeclared: Vec::new(),
            shared_with: Vec::new(),
            land: None,
        };
        let beside = Beside {
            tests: Some((true, Tier::Verified, None)),
            files: vec!["src/a.rs".to_owned()],
            ..Beside::default()
        };
        let event = Event::ReviewRequested(asked);
        let neo = text(event.clone(), &Dialect::neo(), &beside);
        assert!(neo.contains("pr_url: \"https://github.com/acme/app/pull/9\""), "{neo}");
        assert!(neo.contains("- \"src/a.rs\"") && neo.contains("\"Passed (verified)\""), "{neo}");
        assert_eq!(text(event, &Dialect::ace(), &beside), "[done]\nPR opened: #9");
    }

    #[test]
    fn what_was_caused_on_github_is_not_said_there_again() {
        let change = StatusChanged::new(Status::Queued, Status::Blocked, None);
        let via = Via { source: Some("gh:acme/app#1:event:3".to_owned()), ..Via::default() };
        let (stored, event) = stored(Event::StatusChanged(change), via);
        assert_eq!(said(&stored, &event, &Dialect::neo(), &Beside::default()), []);
    }
}

//! Pull requests, reviews and checks: evidence for the commit that was submitted, and for no other.

use crate::field;
use comity_standin::{AGENT, ANN, Engine, Field, at};
use serde_json::{Value, json};

/// Hands in work with a pull request; returns its number and its commit.
fn handed_in(field: &Field, engine: &Engine, file: &str) -> (u64, String) {
    field.open("ann", "Dates", "Parse dates.", &["agent:ready"]);
    engine.settle();
    let claimed = engine.json(AGENT, &["task", "claim", "T1", "--start"]);
    let commit = engine.work(claimed["branch"].as_str().unwrap(), file);
    engine.json(AGENT, &["task", "submit", "T1"]);
    let pull = engine.json(ANN, &["github", "pr", "T1"]);
    engine.settle();
    (pull["number"].as_u64().unwrap(), commit)
}

fn merge(field: &Field, login: &str, pull: u64) {
    let path = at(&format!("pulls/{pull}/merge"));
    field.hub.person(login, "PUT", &path, json!({ "merge_method": "merge" }));
}

fn review(field: &Field, login: &str, pull: u64, verdict: &str) -> u64 {
    let body = json!({ "event": verdict, "body": "I looked." });
    let path = at(&format!("pulls/{pull}/reviews"));
    field.hub.person(login, "POST", &path, body)["id"].as_u64().unwrap()
}

fn check(field: &Field, commit: &str, name: &str, conclusion: &str) {
    let body = json!({ "name": name, "head_sha": commit, "status": "completed", "conclusion": conclusion });
    field.hub.person("ann", "POST", &at("check-runs"), body);
}

fn gate(engine: &Engine, name: &str) -> (String, String) {
    let task = engine.task("T1");
    let gates = task["gates"].as_array().unwrap().clone();
    let gate = gates.iter().find(|gate| gate["name"] == name).unwrap_or(&Value::Null).clone();
    let text = |key: &str| gate[key].as_str().unwrap_or_default().to_owned();
    (text("state"), text("tier"))
}

#[test]
fn a_merge_by_somebody_who_may_approve_finishes_the_task() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    let (pull, _) = handed_in(&field, &engine, "src/dates.rs");
    let text = field.hub.person("ann", "GET", &at(&format!("pulls/{pull}")), Value::Null)["body"]
        .to_string();
    assert!(text.contains("Part of #1") && text.contains("src/dates.rs"), "{text}");
    assert_eq!(engine.json(ANN, &["github", "pr", "T1"])["state"], "found", "there is one already");
    merge(&field, "bob", pull);
    engine.settle();
    let task = engine.task("T1");
    assert_eq!(task["status"], "done", "{task}");
    let issue = field.issue(1);
    assert_eq!((&issue["state"], &issue["state_reason"]), (&json!("closed"), &json!("completed")));
    assert_eq!(field.labels(1), ["agent:done"]);
    assert_eq!(engine.sync()["writes"], 0);
}

#[test]
fn a_merge_that_nobody_answers_for_finishes_only_what_was_approved() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    let (pull, _) = handed_in(&field, &engine, "src/dates.rs");
    merge(&field, "comity-bot", pull);
    engine.settle();
    engine.settle();
    assert_eq!(engine.status("T1"), "review");
    let open = engine.json(ANN, &["decision", "list"])["decisions"].as_array().unwrap().clone();
    assert_eq!(open.len(), 1, "asked once: {open:?}");
    assert!(open[0]["question"].to_string().contains("was merged on GitHub"), "{open:?}");
    engine.json(ANN, &["task", "approve", "T1"]);
    engine.settle();
    assert_eq!(engine.status("T1"), "done", "approved work is finished by any merge");
}

#[test]
fn a_merge_counts_where_it_has_the_submitted_commit_and_goes_to_the_base_branch() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    let (pull, _) = handed_in(&field, &engine, "src/dates.rs");
    // A commit on top of the submitted one: the merge has both.
    engine.write("src/more.rs", "fn more() {}\n");
    engine.commit("More");
    engine.git(&["push", "--quiet", "origin", "HEAD"]);
    let found = engine.sync()["findings"].to_string();
    assert!(found.contains("head-moved"), "{found}");
    merge(&field, "ann", pull);
    engine.settle();
    assert_eq!(engine.status("T1"), "done", "GitHub says that it is contained");
}

#[test]
fn a_merge_of_other_work_or_into_another_branch_is_a_question() {
    for other_branch in [false, true] {
        let Some(field) = field("ace", "") else { return };
        let engine = field.engine("one");
        let (pull, _) = handed_in(&field, &engine, "src/dates.rs");
        let branch = engine.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
        if other_branch {
            engine.git(&["push", "--quiet", "origin", "main:release"]);
            let path = at(&format!("pulls/{pull}"));
            field.hub.person("ann", "PATCH", &path, json!({ "base": "release" }));
        } else {
            engine.git(&["switch", "--quiet", "main"]);
            engine.work(&branch, "src/other.rs");
        }
        merge(&field, "ann", pull);
        engine.settle();
        assert_eq!(engine.status("T1"), "review");
        let open = engine.json(ANN, &["decision", "list"])["decisions"].as_array().unwrap().clone();
        assert_eq!(open.len(), 1, "{open:?}");
    }
}

const GATED: &str = "checks = { ci = \"test\" }\n\n[gates]\nrequired = [\"test\"]\n\n[gate.test]\ncommand = \"true\"";

#[test]
fn checks_are_evidence_for_gates_and_a_review_waits_for_them() {
    let Some(field) = field("ace", GATED) else { return };
    let engine = field.engine("one");
    let (pull, commit) = handed_in(&field, &engine, "src/dates.rs");
    review(&field, "ann", pull, "APPROVE");
    engine.settle();
    assert_eq!(engine.status("T1"), "review", "the gate is open");
    check(&field, &commit, "ci", "neutral");
    engine.settle();
    assert_eq!(gate(&engine, "test").0, "open", "neutral says nothing");
    check(&field, &commit, "ci", "failure");
    engine.settle();
    assert_eq!(gate(&engine, "test"), ("failed".to_owned(), "observed".to_owned()));
    check(&field, &commit, "ci", "success");
    engine.settle();
    assert_eq!(gate(&engine, "test"), ("met".to_owned(), "observed".to_owned()));
    assert_eq!(engine.status("T1"), "approved", "the review was looked at again");
}

#[test]
fn rule_3_6_a_review_is_judged_by_the_base_branch_and_not_by_the_checkout() {
    let Some(field) = field("ace", GATED) else { return };
    let engine = field.engine("one");
    let settings = ".comity/config.toml";
    engine.git(&["add", "--force", settings]);
    engine.commit("Settings");
    let (pull, _) = handed_in(&field, &engine, "src/dates.rs");
    let text = std::fs::read_to_string(engine.root.join(settings)).unwrap();
    engine.write(settings, &text.replace("required = [\"test\"]", "required = []"));
    review(&field, "ann", pull, "APPROVE");
    engine.settle();
    assert_eq!(engine.status("T1"), "review", "the gate is open");
}

#[test]
fn who_can_change_the_checks_only_claims() {
    let Some(field) = field("ace", GATED) else { return };
    let engine = field.engine("one");
    let (_, commit) = handed_in(&field, &engine, ".github/workflows/ci.yml");
    check(&field, &commit, "ci", "success");
    engine.settle();
    assert_eq!(gate(&engine, "test"), ("met".to_owned(), "claimed".to_owned()));
}

#[test]
fn a_commit_status_only_claims() {
    let Some(field) = field("ace", GATED) else { return };
    let engine = field.engine("one");
    let (_, commit) = handed_in(&field, &engine, "src/dates.rs");
    let body = json!({ "state": "success", "context": "ci" });
    field.hub.person("ann", "POST", &at(&format!("statuses/{commit}")), body);
    engine.settle();
    assert_eq!(gate(&engine, "test"), ("met".to_owned(), "claimed".to_owned()));
}

#[test]
fn reviews_count_from_those_who_may_and_the_newest_of_each() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    let (pull, _) = handed_in(&field, &engine, "src/dates.rs");
    review(&field, "eve", pull, "APPROVE");
    review(&field, "tess", pull, "APPROVE");
    engine.settle();
    assert_eq!(engine.status("T1"), "review", "neither may approve");
    review(&field, "bob", pull, "APPROVE");
    engine.settle();
    assert_eq!(engine.status("T1"), "approved");
    review(&field, "bob", pull, "REQUEST_CHANGES");
    engine.settle();
    let task = engine.task("T1");
    assert_eq!(task["status"], "changes_requested", "{task}");
    assert_eq!(task["feedback"]["text"], "I looked.");
    assert_eq!(field.labels(1), ["agent:in-progress"]);
}

#[test]
fn who_wants_changes_is_heard_beside_who_approves() {
    let Some(field) = field("ace", "") else { return };
    let engine = field.engine("one");
    let (pull, _) = handed_in(&field, &engine, "src/dates.rs");
    // Both within one pass, the approval first by every order but this one.
    let approved = review(&field, "ann", pull, "APPROVE");
    let wanted = review(&field, "bob", pull, "REQUEST_CHANGES");
    engine.settle();
    assert_eq!(engine.status("T1"), "changes_requested");
    engine.json(AGENT, &["task", "start", "T1"]);
    engine.json(AGENT, &["task", "submit", "T1"]);
    engine.settle();
    assert_eq!(engine.status("T1"), "approved", "the approval of the same commit still stands");
    let dismiss = |review: u64| {
        let path = at(&format!("pulls/{pull}/reviews/{review}/dismissals"));
        field.hub.person("ann", "PUT", &path, json!({ "message": "That was wrong." }));
        engine.settle();
    };
    dismiss(wanted);
    assert_eq!(engine.status("T1"), "approved", "nobody wants changes any more");
    dismiss(approved);
    assert_eq!(engine.status("T1"), "changes_requested", "what was taken back counts no more");
}

#[test]
fn the_login_of_an_agent_has_the_roles_of_that_agent() {
    for (agent, verdict, status) in
        [("agent.critic.1", "applied", "approved"), ("agent.impl.2", "refused", "review")]
    {
        let Some(field) = field("ace", &format!("agents = {{ bob = \"{agent}\" }}")) else {
            return;
        };
        let engine = field.engine("one");
        engine.json(ANN, &["agent", "register", "agent.critic.1", "--role", "critic"]);
        let (pull, _) = handed_in(&field, &engine, "src/dates.rs");
        review(&field, "bob", pull, "APPROVE");
        let (inside, _) = engine.settle();
        let said = inside.iter().find(|one| one["by"] == "bob").unwrap();
        assert_eq!((&said["as"], &said["verdict"]), (&json!(agent), &json!(verdict)), "{said}");
        assert_eq!(engine.status("T1"), status);
    }
}

//! What is shown: `task why`, and the shapes of INTERFACE section 4.

use crate::verbs::{question, task, task_on, texts};
use crate::world::{ANN, CRITIC, Expect, IMPL, OTHER, World, id};
use comity_core::command::NewTask;
use comity_core::ready::Caller;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::task::Deliverable;
use comity_core::why::{Why, why};
use comity_core::{decide, view};

fn explain(w: &World, text: &str, who: &str) -> Why {
    let actor = id(who);
    let roles = [Role::Implementer];
    w.read(|facts| {
        let task = decide::find_task(facts, &w.repo, text)?;
        why(facts, task, Caller { id: &actor, roles: &roles }, &w.policy)
    })
}

#[test]
fn why_says_ready_when_a_claim_would_be_accepted() {
    let mut w = World::new();
    w.have(task("work"));
    let said = explain(&w, "T1", IMPL);
    assert!(said.ready);
    assert_eq!(said.next.to_string(), "task.claim {id: \"T1\"}");
}

#[test]
fn why_names_everything_in_the_way_of_a_queued_task() {
    let mut w = World::new();
    w.have(task("first"));
    w.by(OTHER).leases(&["src/"]).accepted();
    w.have(NewTask {
        depends_on: texts(&["T1"]),
        blockers: texts(&["vendor"]),
        assignee: Some(id(OTHER)),
        role: Some(Role::Critic),
        ..task_on("second", &["src/a.rs"])
    });
    let said = explain(&w, "T2", IMPL);
    assert!(!said.ready);
    assert_eq!(
        said.reasons,
        [
            "it depends on T1, which is queued",
            "blocker: vendor",
            "it is assigned to agent.impl.2",
            "it is for the role critic",
            "src/a.rs overlaps src/ held by agent.impl.2 (L1; both cover src/a.rs)",
        ]
    );
    assert_eq!(said.next.to_string(), "finish T1 first");
}

#[test]
fn why_tells_what_approval_and_an_answer_wait_for() {
    let mut w = World::new();
    w.have_this(NewTask { gates: texts(&["tests"]), ..task("work") }, Status::Review);
    assert_eq!(explain(&w, "T1", CRITIC).reasons, ["gate tests has no evidence"]);
    w.have_one(Status::InProgress);
    w.by(IMPL).blocks_with("T2", "a choice", &["which?"], None).accepted();
    let said = explain(&w, "T2", IMPL);
    assert_eq!(said.reasons, ["it needs: a choice", "D1 asks person: which?"]);
    assert_eq!(said.next.to_string(), "decision.answer {id: \"D1\", answer: ANSWER}");
}

#[test]
fn why_speaks_to_the_caller() {
    let mut w = World::new();
    w.have_one(Status::Claimed);
    let said = explain(&w, "T1", IMPL);
    assert_eq!(said.next.to_string(), "task.start {id: \"T1\"}");
    assert!(said.summary.ends_with("by you.") && said.reasons[0].contains("unless you show"));
    assert!(explain(&w, "T1", OTHER).next.to_string().starts_with("wait for agent.impl.1"));
    w.have_one(Status::ChangesRequested);
    assert_eq!(explain(&w, "T2", IMPL).next.to_string(), "task.start {id: \"T2\"}");
    w.have_one(Status::Review);
    let critic = explain(&w, "T3", ANN).next.to_string();
    assert!(critic.contains("task.approve") && critic.contains("task.request-changes"), "{critic}");
    w.have_one(Status::Approved);
    assert_eq!(explain(&w, "T4", ANN).next.to_string(), "task.merge {id: \"T4\"}");
}

#[test]
fn why_tells_a_person_who_works_alone_how_to_waive_the_review() {
    let mut w = World::new();
    w.have(task("work"));
    w.by(ANN).claims("T1").accepted();
    w.by(ANN).starts("T1").accepted();
    w.by(ANN).submits("T1").accepted();
    let said = explain(&w, "T1", ANN).next.to_string();
    let waive = "gate.waive {id: \"T1\", gate: \"review\", reason: …}";
    assert!(said.contains(waive), "{said}");
    // Who had no part in it reviews it.
    assert!(!explain(&w, "T1", "human:bob").next.to_string().contains("gate.waive"));
}

#[test]
fn why_has_a_next_step_for_every_status() {
    for status in Status::ALL {
        let mut w = World::new();
        w.have_one(status);
        let said = explain(&w, "T1", IMPL);
        assert_eq!(said.status, status);
        assert!(!said.summary.is_empty() && !said.next.is_empty(), "{status}");
    }
    let mut w = World::new();
    w.have_this(NewTask { deliverable: Deliverable::Document, ..task("work") }, Status::Approved);
    let next = explain(&w, "T1", IMPL).next.to_string();
    assert_eq!(next, "an integrator runs `task.done {id: \"T1\"}`");
}

#[test]
fn the_shapes_have_the_keys_of_the_interface() {
    let mut w = World::new();
    w.have_this(task_on("work", &["a"]), Status::InProgress);
    w.by(IMPL).asks(question("what?")).accepted();
    let shown = w.read(|facts| {
        let task = decide::find_task(facts, &w.repo, "T1")?;
        view::task(facts, task, &w.policy, None)
    });
    let shown = serde_json::to_value(shown).unwrap();
    for key in "id number version repo title description type complexity deliverable status \
                priority labels role assignee reviewer fence dependencies blockers files branch \
                commit pr merged_sha round requirements dod gates constraints context \
                timeout_seconds attempts max_attempts needs ready feedback epic prd initiative parent \
                external_ids claim created_at updated_at"
        .split_whitespace()
    {
        assert!(shown.get(key).is_some(), "TASK has no {key}");
    }
    let lease = w.lease("L1").unwrap();
    let shown = serde_json::to_value(w.read(|facts| view::lease(facts, lease))).unwrap();
    for key in "lock_id repo path mode owner purpose fence acquired_at ttl_seconds heartbeat_at \
                expires_at"
        .split_whitespace()
    {
        assert!(shown.get(key).is_some(), "LEASE has no {key}");
    }
    let shown = serde_json::to_value(view::decision(w.decision("D1"))).unwrap();
    for key in "id question context type options default to task asked_by created_at expires_at \
                answer text answered_by answered_at state"
        .split_whitespace()
    {
        assert!(shown.get(key).is_some(), "DECISION has no {key}");
    }
    w.by(ANN).notes("done").accepted();
}

#[test]
fn why_does_not_ask_to_finish_what_was_abandoned() {
    let mut w = World::new();
    w.have(task("first"));
    w.have(NewTask { depends_on: texts(&["T1"]), ..task("second") });
    w.by(ANN).abandons("T1").accepted();
    let said = explain(&w, "T2", IMPL);
    let next = said.next.to_string();
    assert!(next.contains("task.depend {id: \"T2\", on: \"T1\", remove: true}"), "{next}");
}

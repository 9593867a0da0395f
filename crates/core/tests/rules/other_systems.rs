//! What other systems bring along: tasks with a state, leases of an owner that is named, agents with more fields.

use crate::verbs::{task, texts};
use crate::world::{ANN, CRITIC, Done, Expect, IMPL, OTHER, PLANNER, World, id};
use comity_core::command::{
    Adoption, ClaimWish, Command, ImportedTask, LeaseChange, Made, NewDirective, NewTask, Question,
    StepVerb,
};
use comity_core::decision::{Addressee, DecisionState, DecisionType};
use comity_core::directive::Trigger;
use comity_core::directive_duration::End;
use comity_core::event::{Event, TaskLinked, TaskUpdated};
use comity_core::origin::Origin;
use comity_core::refusal::Code;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::task::Deliverable;
use comity_core::time::{Millis, Timestamp};
use serde_json::{Map, json};

fn imported(name: &str, status: Status, assignee: Option<&str>) -> Command {
    let new = NewTask { id: Some(name.to_owned()), assignee: assignee.map(id), ..task("old work") };
    Command::ImportTask(Box::new(ImportedTask {
        task: new,
        status: Some(status),
        needs: (status == Status::Blocked).then(|| "a key".to_owned()),
        branch: None,
        source: "elsewhere".to_owned(),
        with_state: true,
        ..ImportedTask::default()
    }))
}

fn lease(path: &str) -> LeaseChange {
    let patterns = texts(&[path]);
    LeaseChange::Acquire { patterns, task: None, purpose: None, ttl: None, shared: false }
}

fn named(owner: &str, command: LeaseChange) -> Command {
    Command::LeaseFor { owner: id(owner), since: None, command }
}

fn ids(list: &[&str]) -> Vec<String> {
    texts(list)
}

#[test]
fn a_person_takes_over_every_state_through_the_table_but_no_claim_of_another() {
    for status in Status::ALL {
        let mut w = World::new();
        let done = w.by(ANN).does(imported("task-007", status, Some("codex-cli"))).accepted();
        let here = if status.is_held() { Status::Blocked } else { status };
        assert_eq!(w.status("task-007"), here);
        assert_eq!(w.task("task-007").assignee, Some(id("codex-cli")), "{status}");
        assert!(w.state.agents.contains_key(&id("codex-cli")), "who is named is registered");
        assert!(!done.names().contains(&"task_claimed"), "{status}");
    }
}

#[test]
fn rule_1_8_an_import_gets_no_further_than_the_roles_of_who_imports() {
    use Status::*;
    for status in Status::ALL {
        for (who, with_state) in [
            (IMPL, true),
            (IMPL, false),
            (PLANNER, true),
            (PLANNER, false),
            (ANN, true),
            (ANN, false),
        ] {
            let mut w = World::new();
            let wish = with(imported("task-007", status, Some(who)), |i| i.with_state = with_state);
            w.by(who).does(wish).accepted();
            let taken = match status {
                Queued | Blocked => true,
                Approved | Merging | Done => with_state && who == ANN,
                _ => with_state && who != IMPL,
            };
            let task = w.task("task-007");
            assert_eq!(task.status, if taken { status } else { Blocked }, "{who} {with_state}");
            let kept = task.block.as_ref().and_then(|block| block.kept);
            assert_eq!(kept, (!taken).then_some(status));
            if let Some(kept) = kept {
                let needs = format!("{kept} in elsewhere: a person imports it with --with-state");
                assert_eq!(task.block.as_ref().unwrap().needs, needs);
            }
        }
    }
}

#[test]
fn who_held_a_task_elsewhere_starts_it_here_and_nobody_claims_it_for_that_one() {
    let mut w = World::new();
    w.by(ANN).does(imported("task-007", Status::InProgress, Some(OTHER))).accepted();
    let needs = &w.task("task-007").block.as_ref().unwrap().needs;
    assert_eq!(
        *needs,
        format!("in_progress in elsewhere: {OTHER} starts it here, or a planner unblocks it")
    );
    assert_eq!(w.task("task-007").claim, None);
    w.by(IMPL).starts("task-007").refused(Code::NotHolder);
    w.by(OTHER).starts("task-007").accepted();
    assert_eq!(w.task("task-007").claim.as_ref().unwrap().agent, id(OTHER));
}

#[test]
fn what_an_import_has_kept_back_waits_for_a_person_and_never_becomes_a_question() {
    let mut w = World::new();
    w.by(IMPL).does(imported("task-007", Status::Done, None)).accepted();
    w.pass(60 * 60 * 48);
    w.sweep();
    assert!(w.state.decisions.is_empty());
    assert_eq!(w.status("task-007"), Status::Blocked);
}

#[test]
fn whoever_edited_a_file_is_an_implementer_and_nothing_more() {
    let mut w = World::new();
    let file = "file:collaboration/state/tasks.json";
    w.policy.registration_required = true;
    let (roles, skills) = (vec![Role::Planner, Role::Critic], vec![]);
    w.by(ANN)
        .does(Command::AgentRegister { id: id(file), roles, skills })
        .refused(Code::InvalidInput);
    w.by(file).creates(task("from a file")).accepted();
    w.by(file).does(imported("old", Status::Review, None)).accepted();
    assert_eq!(w.status("old"), Status::Blocked);
    w.policy.registration_required = false;
    w.by(ANN).does(imported("new", Status::Review, None)).accepted();
    w.by(file).approves("new").refused(Code::RoleForbidden);
    assert_eq!(comity_core::ids::AgentId::file("a b/\u{e9}").as_str(), "file:a_b/_");
    let long = comity_core::ids::AgentId::file(&"d/".repeat(500));
    assert!(long.as_str().len() == 128 && long.is_file());
}

#[test]
fn an_imported_task_is_new_and_says_what_it_needs() {
    let mut w = World::new();
    w.by(IMPL).does(imported("task-007", Status::Done, None)).accepted();
    w.by(IMPL).does(imported("task-007", Status::Done, None)).refused(Code::DuplicateId);
    let Command::ImportTask(mut silent) = imported("task-008", Status::Blocked, None) else {
        unreachable!()
    };
    silent.needs = None;
    w.by(IMPL).does(Command::ImportTask(silent)).refused(Code::NeedsMissing);
}

fn with(command: Command, change: impl FnOnce(&mut ImportedTask)) -> Command {
    let Command::ImportTask(mut imported) = command else { unreachable!() };
    change(&mut imported);
    Command::ImportTask(imported)
}

#[test]
fn nobody_becomes_the_assignee_of_an_imported_task_that_names_nobody() {
    for status in [Status::Review, Status::Done, Status::Failed, Status::Abandoned] {
        let mut w = World::new();
        w.by(ANN).does(imported("task-007", status, None)).accepted();
        assert_eq!((w.status("task-007"), &w.task("task-007").assignee), (status, &None));
    }
}

#[test]
fn references_and_notes_come_with_an_imported_task_or_not_at_all() {
    let mut w = World::new();
    let full = || {
        with(imported("task-007", Status::Blocked, None), |imported| {
            let link = |key: &str| TaskLinked {
                provider: "elsewhere".to_owned(),
                key: key.to_owned(),
                value: "7".to_owned(),
            };
            imported.task.links = vec![link("id"), link("ref")];
            imported.notes = texts(&["first", "second"]);
            imported.reason = Some("a key is missing".to_owned());
        })
    };
    let done = w.by(IMPL).does(full()).accepted();
    let names = ["task_created", "task_linked", "task_linked", "note", "note", "status_changed"];
    assert!(done.names().ends_with(&names), "{:?}", done.names());
    w.by(IMPL).does(full()).refused(Code::DuplicateId);
    let unknown = with(full(), |imported| imported.task.depends_on = texts(&["task-00"]));
    let unknown = with(unknown, |imported| imported.task.id = Some("task-008".to_owned()));
    w.by(IMPL).does(unknown).refused(Code::NotFound);
}

#[test]
fn what_is_finished_elsewhere_is_a_part_of_what_is_finished_and_goes_past_merging_without_code() {
    let mut w = World::new();
    w.by(ANN).does(imported("whole", Status::Done, None)).accepted();
    let part = |status| {
        with(imported("part", status, None), |imported| {
            imported.task.parent = Some("whole".to_owned());
            imported.task.deliverable = Deliverable::None;
        })
    };
    w.by(IMPL).does(part(Status::Queued)).refused(Code::InvalidTransition);
    let done = w.by(ANN).does(part(Status::Done)).accepted();
    assert_eq!(done.names().iter().filter(|name| **name == "status_changed").count(), 5);
}

#[test]
fn the_state_elsewhere_counts_also_where_a_dependency_was_given_up() {
    let mut w = World::new();
    w.by(PLANNER).does(imported("gone", Status::Abandoned, None)).accepted();
    for status in [Status::Abandoned, Status::Done, Status::Queued] {
        let name = format!("was-{status}");
        let late = with(imported(&name, status, None), |imported| {
            imported.task.depends_on = texts(&["gone"]);
        });
        w.by(ANN).does(late).accepted();
        let here = if status == Status::Queued { Status::Blocked } else { status };
        assert_eq!(w.status(&name), here);
    }
}

#[test]
fn what_an_import_kept_back_a_person_accepts_at_once_with_its_gates_waived() {
    let mut w = World::new();
    w.policy.required_gates = texts(&["tests"]);
    w.by(IMPL).does(imported("old", Status::Done, None)).accepted();
    let accept = |status| {
        with(imported("old", status, None), |imported| {
            imported.settles = true;
            imported.worker = Some(id("import:elsewhere"));
        })
    };
    let without = || with(accept(Status::Done), |imported| imported.with_state = false);
    w.by(PLANNER).does(accept(Status::Done)).refused(Code::RoleForbidden);
    w.by(ANN).does(without()).refused(Code::RoleForbidden);
    w.by(IMPL).does(accept(Status::Queued)).refused(Code::RoleForbidden);
    let done = w.by(ANN).does(accept(Status::Done)).accepted();
    assert!(done.names().contains(&"gate_waived"));
    let task = w.task("old");
    assert_eq!((task.status, &task.block), (Status::Done, &None));
    assert_eq!((&task.assignee, &task.reserved_for), (&Some(id("import:elsewhere")), &None));
    w.by(ANN).does(accept(Status::Done)).refused(Code::InvalidTransition);
}

#[test]
fn a_task_that_was_blocked_here_is_not_settled_by_an_import_whatever_it_says_it_needs() {
    let mut w = World::new();
    w.by(PLANNER).creates(NewTask { id: Some("old".to_owned()), ..task("work") }).accepted();
    w.by(PLANNER).blocks("old", &comity_core::decide::kept_back(Status::Done, "x")).accepted();
    let accept = with(imported("old", Status::Done, None), |imported| imported.settles = true);
    w.by(ANN).does(accept).refused(Code::InvalidTransition);
}

#[test]
fn what_was_kept_back_is_not_accepted_before_its_parts_and_dependencies() {
    let mut w = World::new();
    let kept = |name: &str, on: &[&str], parent: Option<&str>| {
        with(imported(name, Status::Done, None), |imported| {
            imported.task.depends_on = texts(on);
            imported.task.parent = parent.map(str::to_owned);
        })
    };
    w.by(IMPL).does(kept("whole", &[], None)).accepted();
    w.by(IMPL).does(kept("first", &[], Some("whole"))).accepted();
    w.by(IMPL).does(kept("second", &["first"], Some("whole"))).accepted();
    let accept = |name: &str| with(imported(name, Status::Done, None), |i| i.settles = true);
    w.by(ANN).does(accept("whole")).refused(Code::NotReady);
    w.by(ANN).does(accept("second")).refused(Code::NotReady);
    for name in ["first", "second", "whole"] {
        w.by(ANN).does(accept(name)).accepted();
    }
}

#[test]
fn imported_work_that_a_review_sends_back_is_for_anybody_who_may_claim_it() {
    for worker in [Some("import:elsewhere"), None] {
        let mut w = World::new();
        let review = with(imported("old", Status::Review, None), |imported| {
            imported.worker = worker.map(id);
        });
        w.by(ANN).does(review).accepted();
        w.by(CRITIC).requests_changes("old").accepted();
        let task = w.task("old").clone();
        assert_eq!((task.status, task.assignee), (Status::Queued, None), "{worker:?}");
        assert_eq!(task.review_rounds, 1, "the verdict counts");
        w.by(IMPL).claims("old").accepted();
        w.by(IMPL).starts("old").accepted();
        w.by(IMPL).submits("old").accepted();
        // By now it has an author here, who goes on with it.
        w.by(CRITIC).requests_changes("old").accepted();
        assert_eq!(w.status("old"), Status::ChangesRequested, "{worker:?}");
        w.by(OTHER).starts("old").refused(Code::NotHolder);
        w.by(IMPL).starts("old").accepted();
    }
}

#[test]
fn who_may_not_block_what_nobody_holds_is_told_who_may() {
    let mut w = World::new();
    w.have_one(Status::Queued);
    let block = Command::Block {
        id: "T1".to_owned(),
        needs: Some("a key".to_owned()),
        questions: Vec::new(),
        retry_after: None,
        reason: None,
    };
    let refusal = w.by(IMPL).does(block).refused(Code::RoleForbidden);
    assert!(!refusal.message.contains("implementer"), "{}", refusal.message);
    assert!(refusal.message.contains("planner"), "{}", refusal.message);
}

#[test]
fn who_holds_an_imported_task_and_shows_no_life_loses_it_as_any_holder_does() {
    let mut w = World::new();
    w.by(PLANNER).does(imported("task-007", Status::InProgress, Some(PLANNER))).accepted();
    assert_eq!(w.status("task-007"), Status::InProgress);
    w.pass(901);
    w.sweep();
    assert_eq!(w.status("task-007"), Status::Queued);
}

#[test]
fn ids_with_a_prefix_count_on_from_the_highest_number_and_pass_over_those_taken() {
    let mut w = World::new();
    let prefixed = || {
        Command::CreateTask(Box::new(NewTask {
            id_prefix: Some("task-".to_owned()),
            ..task("work")
        }))
    };
    assert_eq!(w.by(IMPL).does(prefixed()).accepted().task_id(), "task-001");
    w.by(IMPL).does(imported("task-003", Status::Queued, None)).accepted();
    assert_eq!(w.by(IMPL).does(prefixed()).accepted().task_id(), "task-004");
    assert_eq!(w.task("task-004").number, 4);
}

#[test]
fn a_lease_for_an_owner_that_is_named_is_the_owners_and_its_event_names_who_acted() {
    let mut w = World::new();
    let done = w.by(IMPL).does(named("codex-cli", lease("a.rs"))).accepted();
    assert_eq!(w.paths_of("codex-cli"), ["a.rs"]);
    assert_eq!(done.events[0].draft.agent, id(IMPL));
    assert!(w.state.agents.contains_key(&id("codex-cli")));
    w.by(OTHER).leases(&["a.rs"]).refused(Code::LeaseHeld);
    w.by(IMPL).does(named(OTHER, lease("a.rs"))).refused(Code::LeaseHeld);
    w.by(IMPL).leases(&["a.rs"]).refused(Code::LeaseHeld);
}

/// The same, done some seconds before now elsewhere; after now when they are negative.
fn ago(w: &World, secs: i64, command: LeaseChange) -> Command {
    let since = Some(Timestamp::from_ms(w.now().ms() - secs * 1000));
    Command::LeaseFor { owner: id("codex-cli"), since, command }
}

#[test]
fn a_lease_that_was_taken_elsewhere_has_what_is_left_of_its_life() {
    for (taken_ago, left) in [(500, 400), (899, 1), (0, 900), (-500, 900)] {
        let mut w = World::new();
        let taken = ago(&w, taken_ago, lease("a.rs"));
        w.by(IMPL).does(taken).accepted();
        w.pass(left - 1);
        w.by(OTHER).does(Command::Lease(lease("a.rs"))).refused(Code::LeaseHeld);
        w.pass(1);
        w.by(OTHER).does(Command::Lease(lease("a.rs"))).accepted();
    }
    let mut w = World::new();
    let taken = ago(&w, 900, lease("a.rs"));
    w.by(IMPL).does(taken).refused(Code::InvalidInput);
    w.by(OTHER).does(Command::Lease(lease("a.rs"))).accepted();
}

#[test]
fn a_renewal_elsewhere_counts_from_when_it_was_and_never_shortens_a_life() {
    let mut w = World::new();
    let taken = ago(&w, 500, lease("a.rs"));
    w.by(IMPL).does(taken).accepted();
    for (ago_secs, left) in [(100, 800), (700, 800)] {
        let renew = ago(&w, ago_secs, LeaseChange::Renew { ids: ids(&["L1"]), ttl: None });
        w.by(IMPL).does(renew).accepted();
        let expiry = w.read(|facts| facts.lease_expiry(w.lease("L1").unwrap()));
        assert_eq!(expiry, w.now().plus(Millis::from_secs(left)));
    }
}

#[test]
fn only_who_names_the_right_owner_renews_and_releases_also_a_person() {
    let mut w = World::new();
    w.by(IMPL).does(named("codex-cli", lease("a.rs"))).accepted();
    let renew = || LeaseChange::Renew { ids: ids(&["L1"]), ttl: None };
    let release = || LeaseChange::Release { ids: ids(&["L1"]), all: false };
    w.by(IMPL).does(named(OTHER, renew())).refused(Code::NotHolder);
    w.by(ANN).does(named(OTHER, release())).refused(Code::NotHolder);
    w.pass(600);
    w.by(OTHER).does(named("codex-cli", renew())).accepted();
    w.pass(600);
    w.by(OTHER).does(named("codex-cli", release())).accepted();
    assert!(w.lease("L1").is_none());
}

#[test]
fn no_agent_takes_leases_for_a_person_and_a_stranger_is_registered_first() {
    let mut w = World::new();
    w.by(IMPL).does(named(ANN, lease("a.rs"))).refused(Code::HumanOnly);
    w.by(ANN).does(named("human:bob", lease("a.rs"))).accepted();
    w.policy.registration_required = true;
    w.by(IMPL).does(named("stranger", lease("c.rs"))).refused(Code::RoleForbidden);
}

fn describe(
    who: &str,
    roles: &[Role],
    skills: Option<&[&str]>,
    about: &serde_json::Value,
) -> Command {
    let about: Map<_, _> = about.as_object().cloned().unwrap();
    Command::AgentDescribe { id: id(who), roles: roles.to_vec(), skills: skills.map(texts), about }
}

#[test]
fn anybody_tells_skills_and_more_of_an_agent_but_only_a_planner_or_a_person_gives_roles() {
    let mut w = World::new();
    w.by(IMPL).does(describe("codex-cli", &[], Some(&["rust"]), &json!({"model": "m"}))).accepted();
    let agent = &w.state.agents[&id("codex-cli")];
    assert_eq!(
        (agent.skills.as_slice(), agent.roles.as_slice()),
        (&texts(&["rust"])[..], &[Role::Implementer][..])
    );
    assert_eq!(agent.about["model"], "m");
    w.by(IMPL)
        .does(describe("codex-cli", &[Role::Critic], None, &json!({})))
        .refused(Code::RoleForbidden);
    w.by(PLANNER)
        .does(describe("codex-cli", &[Role::Critic], None, &json!({"model": null})))
        .accepted();
    let agent = &w.state.agents[&id("codex-cli")];
    assert_eq!(agent.roles, [Role::Critic]);
    assert_eq!(agent.skills, ["rust"], "what is not said stays");
    assert!(agent.about.is_empty());
    w.by(ANN)
        .does(Command::AgentRegister { id: id("codex-cli"), roles: vec![], skills: vec![] })
        .accepted();
}

#[test]
fn a_hand_off_is_an_event_that_changes_nothing() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let version = w.task("T1").version;
    let subtask = Some("the next step".to_owned());
    let done = w.by(IMPL).does(Command::Handoff { id: "T1".to_owned(), subtask }).accepted();
    assert_eq!(done.names(), ["context_reset"]);
    assert_eq!(w.task("T1").version, version);
    w.pass(Millis::from_secs(1).ms() / 1000);
    let none = Command::Handoff { id: "T9".to_owned(), subtask: None };
    w.by(IMPL).does(none).refused(Code::NotFound);
}

#[test]
fn an_imported_task_that_nobody_is_named_for_is_nobodys() {
    let mut w = World::new();
    for (n, status) in [Status::Done, Status::Review, Status::Failed].into_iter().enumerate() {
        let name = format!("task-{n}");
        w.by(ANN).does(imported(&name, status, None)).accepted();
        assert_eq!((w.status(&name), w.task(&name).assignee.clone()), (status, None));
    }
}

#[test]
fn a_task_is_claimed_for_another_by_who_may_assign_it() {
    let wish = |owner: &str| {
        let (id, owner) = (Some("T1".to_owned()), Some(id(owner)));
        Command::Claim(ClaimWish { id, owner, ..ClaimWish::default() })
    };
    let mut w = World::new();
    w.by(PLANNER).creates(crate::verbs::task_on("work", &["src/a"])).accepted();
    let before = w.log.len();
    w.by(IMPL).does(wish(OTHER)).refused(Code::RoleForbidden);
    w.by(PLANNER).does(wish(ANN)).refused(Code::HumanOnly);
    assert_eq!(w.log.len(), before, "nothing is changed");
    w.by(PLANNER).does(wish(OTHER)).accepted();
    let claim = w.task("T1").claim.clone().unwrap();
    assert_eq!((claim.agent, claim.host), (id(OTHER), None));
    assert!(w.state.leases.values().all(|lease| lease.owner == id(OTHER)));
    w.by(OTHER).starts("T1").accepted();
    w.by(PLANNER).does(wish(IMPL)).refused(Code::NotReady);
}

#[test]
fn what_a_blocked_task_needs_can_be_said_anew_and_of_no_other() {
    let needs = |text: &str| TaskUpdated { needs: Some(text.to_owned()), ..TaskUpdated::default() };
    let mut w = World::new();
    w.by(PLANNER).creates(task("work")).accepted();
    w.by(PLANNER).updates("T1", needs("a key")).refused(Code::InvalidTransition);
    w.by(PLANNER).blocks("T1", "a key").accepted();
    w.by(PLANNER).updates("T1", needs(" ")).refused(Code::NeedsMissing);
    w.by(PLANNER).updates("T1", needs("two keys")).accepted();
    assert_eq!(w.task("T1").block.as_ref().unwrap().needs, "two keys");
}

fn subtask_of(done: &Done) -> &str {
    match &done.events[0].draft.event {
        Event::ContextReset(body) => body.subtask.as_deref().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_hand_off_names_the_step_that_is_open_or_the_one_that_comes_next() {
    let mut w = World::new();
    w.by(PLANNER).creates(task("work")).accepted();
    w.by(IMPL).claims("T1").accepted();
    for (subtask, named) in [(None, "T1-01"), (Some("do x"), "T1-01"), (Some("T1-01"), "T1-01")] {
        let subtask = subtask.map(str::to_owned);
        let done = w.by(IMPL).does(Command::Handoff { id: "T1".to_owned(), subtask }).accepted();
        assert_eq!(subtask_of(&done), named);
    }
    w.by(IMPL).step("T1", StepVerb::Start, "first").accepted();
    for (subtask, named) in [(None, "T1-01"), (Some("first"), "T1-01"), (Some("do x"), "T1-02")] {
        let subtask = subtask.map(str::to_owned);
        let done = w.by(IMPL).does(Command::Handoff { id: "T1".to_owned(), subtask }).accepted();
        assert_eq!(subtask_of(&done), named);
    }
}

fn taken(made: Made, answer: Option<&str>, disabled: bool) -> Command {
    let mut other = Map::new();
    other.insert("createdAt".to_owned(), json!("2026-01-01T00:00:00.000Z"));
    let origin = Origin { source: "neo".to_owned(), item: "dec_1".to_owned(), other };
    let answer = answer.map(str::to_owned);
    Command::TakeOver(Box::new(Adoption { origin, made, answer, disabled }))
}

fn question() -> Made {
    Made::Decision(Box::new(Question {
        question: "Which?".to_owned(),
        task: None,
        options: Vec::new(),
        kind: Some(DecisionType::Free),
        context: Some("neo: {\"id\":\"dec_2\"}".to_owned()),
        default: None,
        to: Some(Addressee::Planner),
        expires: None,
        proposes: None,
    }))
}

#[test]
fn what_is_taken_over_has_its_origin_beside_it_and_no_text_says_another() {
    let mut w = World::new();
    w.by(IMPL).does(question().command()).accepted();
    assert_eq!(w.decision("D1").origin, None, "a text is a text");
    w.by(ANN).does(taken(question(), Some("this"), false)).accepted();
    let decision = w.decision("D2");
    assert_eq!(decision.origin.as_ref().unwrap().item, "dec_1");
    assert_eq!(decision.state, DecisionState::Answered);
}

#[test]
fn what_is_taken_over_obeys_the_rules_of_what_is_made_here_and_comes_whole_or_not_at_all() {
    let mut w = World::new();
    w.by(IMPL).does(taken(question(), Some("this"), false)).refused(Code::RoleForbidden);
    assert!(w.state.decisions.is_empty(), "who may not answer has asked nothing either");
    let directive = |text: &str| {
        Made::Directive(Box::new(NewDirective {
            text: text.to_owned(),
            trigger: Trigger::Idle,
            priority: 0,
            description: None,
            duration: None,
            end: End::Never,
        }))
    };
    w.by(IMPL).does(taken(directive("scout"), None, true)).accepted();
    let made = w.state.directives.values().next().unwrap();
    assert!(!made.enabled && made.origin.is_some());
    w.by(IMPL).does(taken(directive(" "), None, false)).refused(Code::InvalidInput);
}

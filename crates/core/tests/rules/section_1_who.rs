//! RULES section 1: who acts.

use crate::verbs::{question, task, texts};
use crate::world::{
    ANN, BOB, CRITIC, Expect, IMPL, INTEGRATOR, OBSERVER, OTHER, PLANNER, WATCHER, World, id,
};
use comity_core::command::NewTask;
use comity_core::event::TaskUpdated;
use comity_core::ids::AgentId;
use comity_core::refusal::Code;
use comity_core::role::{Role, Verb};
use comity_core::status::Status;
use comity_core::task::Constraints;

#[test]
fn rule_1_1_an_identity_is_a_person_or_an_agent() {
    for good in ["human:ann", "claude-code:3f2a", "agent.impl.1", "codex-cli", "script:ann"] {
        assert_eq!(AgentId::parse(good).unwrap().is_person(), good.starts_with("human:"));
    }
    for bad in ["", "human:", "a b", "a\nb", "é"] {
        assert!(AgentId::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn rule_1_1_nobody_is_given_a_name_under_which_comity_itself_acts() {
    let mut w = World::new();
    w.have(task("work"));
    for name in ["watchdog", "github", "supervisor", "worker:one", "file:a", "import:beads"] {
        assert!(id(name).not_reserved().is_err(), "{name}");
        w.by(ANN).registers(name, &[Role::Implementer]).refused(Code::InvalidInput);
        w.by(ANN).assigns("T1", Some(name)).refused(Code::InvalidInput);
    }
    // comity makes known what it starts, with the roles that it has.
    w.by(ANN).registers("worker:one", &[Role::Watchdog]).accepted();
    let own = Role::of_helper(&id("supervisor")).unwrap();
    w.by(ANN).registers("supervisor", own).accepted();
    assert_eq!(Role::of_helper(&id("developer")), None);
}

#[test]
fn rule_1_2_a_script_is_an_ordinary_implementer() {
    let mut w = World::new();
    w.have(task("work"));
    w.by("script:ann").claims("T1").accepted();
    assert_eq!(w.state.agents[&id("script:ann")].roles, [Role::Implementer]);
}

#[test]
fn rule_1_3_a_person_passes_role_and_holder_checks() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    w.by(BOB).submits("T1").accepted();
    w.by(ANN).approves("T1").accepted();
    w.by(ANN).merges("T1").accepted();
    w.by(ANN).finishes("T1").accepted();
    w.by(OTHER).leases(&["a.rs"]).accepted();
    w.by(ANN).gives_back(&["L1"]).accepted();
}

#[test]
fn rule_1_3_a_person_does_not_pass_the_transition_table() {
    let mut w = World::new();
    w.have_one(Status::Queued);
    for status in [Status::Review, Status::Approved, Status::Merging, Status::Done, Status::Failed]
    {
        w.by(ANN).moves("T1", status).refused(Code::InvalidTransition);
    }
}

#[test]
fn rule_1_3_a_person_does_not_pass_a_given_fence() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let fence = w.fence("T1");
    w.by(ANN).with_fence(fence + 1).submits("T1").refused(Code::StaleFence);
    w.by(ANN).with_fence(fence).submits("T1").accepted();
}

#[test]
fn rule_1_3_a_person_does_not_pass_self_review() {
    let mut w = World::new();
    w.have(task("work"));
    w.by(ANN).starts("T1").accepted();
    w.by(ANN).submits("T1").accepted();
    w.by(ANN).approves("T1").refused(Code::SelfReview);
    w.by(ANN).takes_review("T1").refused(Code::SelfReview);
    w.by("human:bob").approves("T1").accepted();
}

#[test]
fn rule_1_3_a_person_does_not_pass_gates_but_waives_them_with_a_reason() {
    let mut w = World::new();
    let new = NewTask { gates: texts(&["tests"]), dod: texts(&["documented"]), ..task("work") };
    w.have_this(new, Status::Review);
    w.by(ANN).approves("T1").refused(Code::GateUnmet);
    w.by(ANN).waives("T1", "tests", "").refused(Code::InvalidInput);
    w.by(ANN).waives("T1", "tests", "nothing to test").accepted();
    w.by(ANN).waives_item("T1", "documented", "").refused(Code::InvalidInput);
    let done = w.by(ANN).waives_item("T1", "documented", "nothing to say").accepted();
    assert_eq!(done.names(), ["item_checked"]);
    w.by(ANN).approves("T1").accepted();
}

#[test]
fn rule_1_3_a_critic_may_waive_but_an_implementer_may_not() {
    let mut w = World::new();
    w.have_this(NewTask { gates: texts(&["tests"]), ..task("work") }, Status::Review);
    w.by(OTHER).waives("T1", "tests", "because").refused(Code::RoleForbidden);
    let done = w.by(CRITIC).waives("T1", "tests", "flaky elsewhere").accepted();
    assert_eq!(done.names(), ["gate_waived"]);
    w.by(CRITIC).approves("T1").accepted();
}

#[test]
fn rule_1_4_an_unknown_agent_is_registered_on_first_use_as_implementer() {
    let mut w = World::new();
    let done = w.by("codex-cli").notes("hello").accepted();
    assert_eq!(done.names(), ["agent_registered", "note"]);
    assert_eq!(w.state.agents[&id("codex-cli")].roles, [Role::Implementer]);
    let done = w.by("codex-cli").notes("again").accepted();
    assert_eq!(done.names(), ["note"]);
}

#[test]
fn rule_1_4_a_refused_command_registers_nobody() {
    let mut w = World::new();
    w.by("codex-cli").claims("T99").refused(Code::NotFound);
    assert!(!w.state.agents.contains_key(&id("codex-cli")));
}

#[test]
fn rule_1_4_where_registration_is_required_an_unknown_agent_is_refused() {
    let mut w = World::new();
    w.policy.registration_required = true;
    w.by("codex-cli").notes("hello").refused(Code::RoleForbidden);
    w.by("codex-cli").registers("codex-cli", &[]).refused(Code::RoleForbidden);
    w.by(ANN).registers("codex-cli", &[]).accepted();
    w.by("codex-cli").notes("hello").accepted();
}

#[test]
fn rule_1_4_any_other_role_is_given_by_a_person_or_a_planner() {
    let mut w = World::new();
    w.by(IMPL).registers(IMPL, &[Role::Critic]).refused(Code::RoleForbidden);
    w.by("new-one").registers("new-one", &[Role::Planner]).refused(Code::RoleForbidden);
    w.by(IMPL).registers(OTHER, &[Role::Implementer]).refused(Code::RoleForbidden);
    w.by(PLANNER).registers(IMPL, &[Role::Implementer, Role::Critic]).accepted();
    assert_eq!(w.state.agents[&id(IMPL)].roles, [Role::Implementer, Role::Critic]);
    w.by(ANN).registers("new-one", &[Role::Integrator]).accepted();
    assert_eq!(w.state.agents[&id("new-one")].roles, [Role::Integrator]);
}

#[test]
fn rule_1_4_registering_again_without_roles_keeps_them_and_giving_up_a_role_is_free() {
    let mut w = World::new();
    w.by(ANN).registers(IMPL, &[Role::Implementer, Role::Critic]).accepted();
    let done = w.by(IMPL).registers(IMPL, &[]).accepted();
    assert_eq!(done.names(), ["agent_updated"]);
    assert_eq!(w.state.agents[&id(IMPL)].roles.len(), 2);
    w.by(IMPL).registers(IMPL, &[Role::Implementer]).accepted();
    assert_eq!(w.state.agents[&id(IMPL)].roles, [Role::Implementer]);
    let done = w.by("fresh").registers("fresh", &[]).accepted();
    assert_eq!(done.names(), ["agent_registered"]);
}

fn demanding() -> NewTask {
    NewTask {
        gates: texts(&["tests", "lint"]),
        dod: texts(&["documented"]),
        requirements: texts(&["fast"]),
        constraints: Constraints {
            max_files: Some(3),
            no_new_deps: true,
            ..Constraints::default()
        },
        ..task("work")
    }
}

fn weaker() -> Vec<TaskUpdated> {
    let none = TaskUpdated::default;
    let loose = |constraints| TaskUpdated { constraints: Some(constraints), ..none() };
    let strict = Constraints { max_files: Some(3), no_new_deps: true, ..Constraints::default() };
    vec![
        TaskUpdated { gates: Some(texts(&["tests"])), ..none() },
        TaskUpdated { dod: Some(Vec::new()), ..none() },
        TaskUpdated { requirements: Some(texts(&["slow"])), ..none() },
        loose(Constraints { max_files: Some(4), ..strict.clone() }),
        loose(Constraints { max_files: None, ..strict.clone() }),
        loose(Constraints { no_new_deps: false, ..strict.clone() }),
        loose(Constraints { allow_delete: texts(&["src/**"]), ..strict }),
    ]
}

#[test]
fn rule_1_4_an_implementer_cannot_weaken_the_task_that_it_holds() {
    let mut w = World::new();
    w.have_this(demanding(), Status::InProgress);
    for changes in weaker() {
        w.by(IMPL).updates("T1", changes).refused(Code::RoleForbidden);
    }
    let more = TaskUpdated { gates: Some(texts(&["tests", "lint", "e2e"])), ..Default::default() };
    w.by(IMPL).updates("T1", more).accepted();
}

#[test]
fn rule_1_4_the_holder_cannot_weaken_its_task_as_a_planner_either_nor_after_submitting() {
    let mut w = World::new();
    w.give_roles(IMPL, &[Role::Implementer, Role::Planner, Role::Critic]);
    w.have_this(demanding(), Status::InProgress);
    for changes in weaker() {
        w.by(IMPL).updates("T1", changes).refused(Code::RoleForbidden);
    }
    w.by(IMPL).submits("T1").accepted();
    for changes in weaker() {
        w.by(IMPL).updates("T1", changes).refused(Code::RoleForbidden);
    }
    w.by(IMPL).waives("T1", "tests", "because").refused(Code::SelfReview);
    w.by(IMPL).waives_item("T1", "documented", "because").refused(Code::SelfReview);
    for changes in weaker() {
        w.by(PLANNER).updates("T1", changes).accepted();
    }
}

#[test]
fn rule_1_4_an_agent_cannot_answer_its_own_question() {
    let mut w = World::new();
    w.give_roles(IMPL, &[Role::Implementer, Role::Planner]);
    let mut asked = question("which colour?");
    asked.to = Some("planner".to_owned().try_into().unwrap());
    w.by(IMPL).asks(asked).accepted();
    w.by(IMPL).answers("D1", "blue").refused(Code::RoleForbidden);
    w.by(PLANNER).answers("D1", "blue").accepted();
}

#[test]
fn rule_1_roles_any_role_creates_asks_notes_and_leases() {
    let mut w = World::new();
    for who in [IMPL, CRITIC, PLANNER, INTEGRATOR, WATCHER, OBSERVER] {
        w.by(who).creates(task("found something")).accepted();
        w.by(who).asks(question("why?")).accepted();
        w.by(who).notes("a note").accepted();
        w.by(who).leases(&[&format!("{who}.rs")]).accepted();
    }
}

#[test]
fn rule_1_roles_implementers_claim_critics_review_integrators_finish_planners_plan() {
    let mut w = World::new();
    w.have_one(Status::Queued);
    for who in [CRITIC, INTEGRATOR, WATCHER, OBSERVER, PLANNER] {
        w.by(who).claims("T1").refused(Code::RoleForbidden);
    }
    w.bring("T1", Status::Review);
    for who in [OTHER, INTEGRATOR, WATCHER, OBSERVER, PLANNER] {
        w.by(who).approves("T1").refused(Code::RoleForbidden);
        w.by(who).takes_review("T1").refused(Code::RoleForbidden);
    }
    w.by(CRITIC).approves("T1").accepted();
    for who in [OTHER, CRITIC, WATCHER, OBSERVER, PLANNER] {
        w.by(who).merges("T1").refused(Code::RoleForbidden);
    }
    w.by(INTEGRATOR).merges("T1").accepted();
    w.by(CRITIC).finishes("T1").refused(Code::RoleForbidden);
    for who in [IMPL, CRITIC, INTEGRATOR, WATCHER, OBSERVER] {
        w.by(who).abandons("T1").refused(Code::RoleForbidden);
        w.by(who).assigns("T1", Some(IMPL)).refused(Code::RoleForbidden);
    }
    w.by(PLANNER).abandons("T1").accepted();
}

#[test]
fn rule_1_roles_the_watchdog_requeues() {
    let mut w = World::new();
    w.have_one(Status::Failed);
    w.by(OTHER).requeues("T1").refused(Code::RoleForbidden);
    w.by(WATCHER).requeues("T1").accepted();
    assert_eq!(w.status("T1"), Status::Queued);
}

#[test]
fn rule_1_roles_a_task_with_a_role_is_claimed_only_by_an_agent_that_has_it() {
    let mut w = World::new();
    w.have(NewTask { role: Some(Role::Critic), ..task("look at it") });
    w.by(IMPL).claims("T1").refused(Code::RoleForbidden);
    w.by(IMPL).starts("T1").refused(Code::RoleForbidden);
    w.by(IMPL).claims_best().refused(Code::NothingReady);
    w.by(CRITIC).claims("T1").accepted();
    w.by(CRITIC).starts("T1").accepted();
    w.by(CRITIC).submits("T1").accepted();
    w.by(CRITIC).approves("T1").refused(Code::SelfReview);
}

#[test]
fn rule_1_roles_config_may_widen_the_table() {
    let mut w = World::new();
    w.have_one(Status::Merging);
    w.by(CRITIC).finishes("T1").refused(Code::RoleForbidden);
    w.policy.extra_permissions.insert((Role::Critic, Verb::Done));
    w.by(CRITIC).finishes("T1").accepted();
}

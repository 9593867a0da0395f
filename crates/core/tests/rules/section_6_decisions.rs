//! RULES section 6: decisions.

use crate::verbs::question;
use crate::world::{ANN, BOB, Expect, IMPL, OTHER, PLANNER, World, id};
use comity_core::command::Question;
use comity_core::decide::Answer;
use comity_core::decision::{Addressee, DecisionOption, DecisionState, DecisionType, Proposal};
use comity_core::ids::{DecisionId, TaskId};
use comity_core::refusal::Code;
use comity_core::status::Status;
use comity_core::task::Priority;
use comity_core::time::Millis;

fn choice(keys: &[&str]) -> Question {
    let option =
        |key: &&str| DecisionOption { key: (*key).to_owned(), label: None, description: None };
    Question { options: keys.iter().map(option).collect(), ..question("which one?") }
}

#[test]
fn rule_6_1_a_decision_has_question_context_options_type_addressee_default_deadline_and_task() {
    let mut w = World::new();
    w.have_one(Status::InProgress);
    let asked = Question {
        context: Some("there are two".into()),
        default: Some("a".into()),
        to: Some(Addressee::Planner),
        expires: Some(Millis::from_secs(60)),
        task: Some("T1".into()),
        ..choice(&["a", "b"])
    };
    w.by(IMPL).asks(asked).accepted();
    let decision = w.decision("D1");
    assert_eq!(decision.kind, DecisionType::Choice);
    assert_eq!(decision.asked_by, id(IMPL));
    assert_eq!(decision.state, DecisionState::Open);
    assert_eq!(decision.expires_at, Some(w.now().plus(Millis::from_secs(60))));
    assert_eq!(w.task("T1").decisions.len(), 1);
    assert_eq!(w.status("T1"), Status::InProgress, "asking does not stop the work");
}

#[test]
fn rule_6_1_an_approval_is_approved_approved_with_changes_or_rejected() {
    let mut w = World::new();
    let asked = || Question { kind: Some(DecisionType::Approval), ..question("may I?") };
    w.by(IMPL).asks(asked()).accepted();
    w.by(ANN).answers("D1", "yes").refused(Code::InvalidAnswer);
    w.by(ANN).answers("D1", "approved_with_changes: rename it").accepted();
    assert_eq!(w.decision("D1").text.as_deref(), Some("rename it"));
    let mut bad = asked();
    bad.options = choice(&["x"]).options;
    w.by(IMPL).asks(bad).refused(Code::InvalidInput);
}

#[test]
fn rule_6_1_the_form_of_a_question_is_checked() {
    let mut w = World::new();
    let kind = Some(DecisionType::Choice);
    w.by(IMPL).asks(Question { kind, ..question("which?") }).refused(Code::InvalidInput);
    let kind = Some(DecisionType::Free);
    w.by(IMPL).asks(Question { kind, ..choice(&["a"]) }).refused(Code::InvalidInput);
    w.by(IMPL).asks(choice(&["a", "a"])).refused(Code::InvalidInput);
    w.by(IMPL).asks(choice(&["a:b"])).refused(Code::InvalidInput);
    w.by(IMPL).asks(question(" ")).refused(Code::InvalidInput);
    let default = Some("c".to_owned());
    w.by(IMPL).asks(Question { default, ..choice(&["a", "b"]) }).refused(Code::InvalidInput);
}

#[test]
fn rule_6_2_an_answer_is_key_or_key_and_text_and_free_takes_any_text() {
    let mut w = World::new();
    w.by(IMPL).asks(choice(&["a", "b"])).accepted();
    w.by(ANN).answers("D1", "c").refused(Code::InvalidAnswer);
    w.by(ANN).answers("D1", "").refused(Code::InvalidAnswer);
    w.by(ANN).answers("D1", "b: but soon").accepted();
    let decision = w.decision("D1");
    assert_eq!(decision.answer.as_deref(), Some("b"));
    assert_eq!(decision.text.as_deref(), Some("but soon"));
    w.by(IMPL).asks(question("what?")).accepted();
    w.by(ANN).answers("D2", "anything: at all").accepted();
    assert_eq!(w.decision("D2").answer.as_deref(), Some("anything: at all"));
    w.by(ANN).answers("D9", "x").refused(Code::NotFound);
}

#[test]
fn rule_6_2_an_answer_is_given_once() {
    let mut w = World::new();
    w.by(IMPL).asks(question("what?")).accepted();
    w.by(ANN).answers("D1", "this").accepted();
    w.by(BOB).answers("D1", "that").refused(Code::AlreadyAnswered);
    assert_eq!(w.decision("D1").answered_by, Some(id(ANN)));
}

#[test]
fn rule_6_2_the_addressee_or_a_person_answers() {
    let mut w = World::new();
    let to =
        |to: &str| Question { to: Some(to.to_owned().try_into().unwrap()), ..question("what?") };
    w.by(IMPL).asks(to("person")).accepted();
    w.by(PLANNER).answers("D1", "x").refused(Code::HumanOnly);
    w.by(ANN).answers("D1", "x").accepted();
    w.by(IMPL).asks(to("planner")).accepted();
    w.by(OTHER).answers("D2", "x").refused(Code::RoleForbidden);
    w.by(PLANNER).answers("D2", "x").accepted();
    w.by(IMPL).asks(to(OTHER)).accepted();
    w.by(PLANNER).answers("D3", "x").refused(Code::NotHolder);
    w.by(OTHER).answers("D3", "x").accepted();
    w.by(IMPL).asks(to(OTHER)).accepted();
    w.by(ANN).answers("D4", "x").accepted();
}

#[test]
fn rule_6_2_never_by_the_asker_unless_a_person() {
    let mut w = World::new();
    let to = Some(Addressee::Agent(id(IMPL)));
    w.by(IMPL).asks(Question { to, ..question("to myself?") }).accepted();
    w.by(IMPL).answers("D1", "x").refused(Code::RoleForbidden);
    w.by(ANN).asks(question("to myself?")).accepted();
    w.by(ANN).answers("D2", "x").accepted();
}

#[test]
fn rule_6_3_at_the_deadline_the_default_is_applied() {
    let mut w = World::new();
    let asked = Question {
        default: Some("b: it is simpler".into()),
        expires: Some(Millis::from_secs(60)),
        ..choice(&["a", "b"])
    };
    w.by(IMPL).asks(asked).accepted();
    w.pass(59);
    w.sweep();
    assert_eq!(w.decision("D1").state, DecisionState::Open);
    w.pass(1);
    assert_eq!(w.sweep().expired_names(), ["decision_answered"]);
    let decision = w.decision("D1");
    assert_eq!(decision.state, DecisionState::Defaulted);
    assert_eq!(decision.answer.as_deref(), Some("b"));
    assert_eq!(decision.text.as_deref(), Some("it is simpler"));
    w.by(ANN).answers("D1", "a").refused(Code::AlreadyAnswered);
}

#[test]
fn rule_6_3_at_the_deadline_without_a_default_the_decision_expires() {
    let mut w = World::new();
    w.by(IMPL).asks(Question { expires: Some(Millis::from_secs(60)), ..question("?!") }).accepted();
    w.pass(60);
    assert_eq!(w.sweep().expired_names(), ["decision_expired"]);
    assert_eq!(w.decision("D1").state, DecisionState::Expired);
    w.by(ANN).answers("D1", "a").refused(Code::AlreadyAnswered);
}

#[test]
fn the_answer_yes_makes_the_task_that_a_question_proposes() {
    let mut w = World::new();
    let proposal = Proposal {
        title: "Mask secrets".into(),
        description: "In the log".into(),
        priority: Some(Priority::from_rank(0)),
        effort: None,
    };
    let proposes = Some(Box::new(proposal));
    let asked = || Question { proposes: proposes.clone(), ..choice(&["yes", "later", "no"]) };
    let default = Some("yes".into());
    w.by(IMPL).asks(Question { default, ..asked() }).refused(Code::InvalidInput);
    w.by(IMPL).asks(asked()).accepted();
    w.by(IMPL).asks(asked()).accepted();
    w.by(ANN).answers("D1", "no").accepted();
    let outcome = w.by(ANN).answers("D2", "yes: soon").accepted();
    let (asked, made) = (DecisionId::parse("D2").unwrap(), TaskId::parse("T1").ok());
    assert_eq!(outcome.answer, Answer::Answered(asked, made));
    let task = w.task("T1");
    assert_eq!((&*task.title, task.priority), ("Mask secrets", Priority::from_rank(0)));
    assert_eq!((task.status, &task.created_by), (Status::Queued, &id(ANN)));
    assert_eq!(task.context["decision"], "D2", "no made none");
}

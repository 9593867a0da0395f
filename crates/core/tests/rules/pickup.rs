//! What the supervisor does with tickets, failures, answers and idle time, beyond single rows of its table.

use crate::table::{
    agent, design, developing, directive, done, fails, small, steps, steps_of, take_step, view,
};
use crate::verbs::{question, task, task_on};
use crate::world::{ANN, Expect, IMPL, World};
use comity_core::command::{Command, NewDirective, NewTask, TaskVerb};
use comity_core::directive::Trigger as When;
use comity_core::directive_duration::End;
use comity_core::run::RunFault;
use comity_core::status::Status;
use comity_core::supervise::{Deed, Table, View, are_similar, due, is_idle, stems};
use comity_core::task::Priority;
use serde_json::json;

#[test]
fn what_is_done_is_due_no_more() {
    let mut w = World::new();
    w.have(small());
    w.have(NewTask { complexity: Some(8), ..task_on("Build a calendar of holidays", &["b.rs"]) });
    for _ in 0..20 {
        let found = steps(&w);
        let Some(step) = found.first().cloned() else { break };
        take_step(&mut w, &step);
    }
    assert_eq!(steps(&w), []);
    let live: Vec<&str> = w.state.runs.values().map(|run| run.agent.as_str()).collect();
    assert_eq!(live, ["developer", "architect"]);
}

#[test]
fn tickets_are_picked_up_by_priority_and_number_within_the_slots() {
    let mut w = World::new();
    for rank in [3, 1, 2, 1, 2, 1] {
        let title = format!("Add colour number {rank} of {}", w.state.tasks.len());
        let priority = Some(Priority::from_rank(rank));
        w.have(NewTask {
            priority,
            requirements: vec!["it".to_owned()],
            ..task_on(&title, &["a"])
        });
    }
    let picked: Vec<String> = steps(&w).iter().map(|step| step.subject.clone()).collect();
    assert_eq!(picked, ["T2", "T4", "T6", "T3"], "four runs a repository");
    let mut v = view(&w);
    v.seen.live_elsewhere = 3;
    assert_eq!(steps_of(&w, &v).len(), 2, "five runs a host");
    v.seen.passed_over.extend(v.tasks.iter().find(|task| task.number == 2).map(|t| t.id.clone()));
    assert_eq!(steps_of(&w, &v)[0].subject, "T4", "what cannot be started makes room");
}

#[test]
fn a_ticket_that_says_little_is_evaluated_before_it_is_started() {
    let table = Table::built_in().unwrap();
    let found = |new: NewTask| {
        let mut w = World::new();
        w.have(new);
        table.triage.evaluate(w.task("T1"))
    };
    let kind = |title: &str| (found(task(title)).kind, found(task(title)).deletion);
    for (title, is) in [
        ("The clock crashes at night", ("bug", false)),
        ("Errors in the log", ("bug", false)),
        ("Broken links", ("bug", false)),
        ("A regression of the parser", ("bug", false)),
        ("Adding colours", ("feature", false)),
        ("Create a page", ("feature", false)),
        ("Implement dates", ("feature", false)),
        ("Build the docs", ("feature", false)),
        ("A new page", ("feature", false)),
        ("Refactoring the parser", ("chore", false)),
        ("Clean the house", ("chore", false)),
        ("Optimize the loop", ("chore", false)),
        ("Remove the old parser", ("chore", true)),
        ("Delete the page that crashes", ("chore", true)),
        ("Fix what was deleted", ("bug", false)),
        ("Dates", ("feature", false)),
    ] {
        assert_eq!(kind(title), is, "{title}");
    }
    let points = |given: Option<u32>, files: &[&str], title: &str| {
        found(NewTask { complexity: given, ..task_on(title, files) }).complexity
    };
    assert_eq!(points(Some(4), &[], "x"), 5, "rounded up");
    assert_eq!(points(None, &[], "A page"), 3);
    assert_eq!(points(None, &["a"], "A page"), 2);
    assert_eq!(points(None, &["a"], "Bump the version"), 1);
    assert_eq!(points(None, &["a", "b", "c"], "A page"), 3);
    assert_eq!(points(None, &["src/**"], "A page"), 13);
    let many: Vec<String> = (0..9).map(|n| format!("f{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(points(None, &many[..8], "A page"), 8);
    assert_eq!(points(None, &many, "A page"), 13);
    let criteria = |title: &str| found(task(title)).derived.unwrap();
    assert!(criteria("Fix the clock").contains("does not regress"));
    assert_eq!(criteria("Add dates"), "\"Add dates\" works and is tested");
    assert!(criteria("Clean the parser").contains("without breaking"));
    assert!(criteria("Remove the parser").starts_with("ONLY the named subsystem"));
    assert_eq!(found(small()).derived, None, "a ticket that has criteria keeps them");
    assert!(found(task("Faster dates please")).vague);
    assert!(found(task_on("Make various things of the parser better", &["a"])).vague);
    assert!(!found(task("Add a parser of dates")).vague);
    let mut w = World::new();
    w.have(task_on("Add dates of today", &["a.rs"]));
    let step = steps(&w).remove(0);
    take_step(&mut w, &step);
    let evaluated = w.task("T1");
    assert_eq!((evaluated.kind.as_deref(), evaluated.complexity), (Some("feature"), Some(2)));
    assert_eq!(evaluated.requirements.len(), 1);
    assert_eq!(evaluated.context["derived"], json!(["type", "complexity", "requirements"]));
}

#[test]
fn a_deletion_may_delete_only_what_the_answer_names() {
    for (files, answer, allowed) in [
        (&["src/old.rs"][..], "only", Some(&["src/old.rs"][..])),
        (&["src/old.rs"][..], "also: docs/old.md", Some(&["src/old.rs", "docs/old.md"][..])),
        (&[][..], "only: src/x.rs", Some(&["src/x.rs"][..])),
        (&["src/old.rs"][..], "cancel", None),
    ] {
        let mut w = World::new();
        w.have(task_on("Remove the old parser", files));
        let asked = steps(&w).remove(0);
        take_step(&mut w, &asked);
        let question = &w.decision("D1").question;
        assert_eq!(question, "Should I delete ONLY the old parser, or also what depends on it?");
        assert_eq!(steps(&w).iter().filter(|step| step.rule != "decide.person").count(), 0);
        w.by(ANN).answers("D1", answer).accepted();
        let next = steps(&w).into_iter().find(|step| step.subject == "T1").unwrap();
        take_step(&mut w, &next);
        match allowed {
            Some(files) => assert_eq!(w.task("T1").constraints.allow_delete, files, "{answer}"),
            None => assert_eq!(w.status("T1"), Status::Abandoned),
        }
    }
}

#[test]
fn the_next_after_a_failure_goes_on_with_the_failed_run_and_a_vendor_gets_time() {
    let mut w = developing(small());
    fails(&mut w, "developer:R1", RunFault::Crash);
    let step = steps(&w).remove(0);
    let Deed::Dispatch(new) = &step.deed else { panic!("{step:?}") };
    assert_eq!(new.resumed_from.unwrap().to_string(), "R1");
    assert_eq!(step.because, "R1 failed: crash; attempt 1 of 3");
    let mut w = developing(small());
    fails(&mut w, "developer:R1", RunFault::RateLimit);
    assert_eq!(steps(&w), [], "not at once");
    w.pass(10);
    assert_eq!(agent(&steps(&w)[0]), "developer");
}

#[test]
fn a_fresh_start_has_nothing_of_the_last_run() {
    let mut w = developing(small());
    w.policy.max_attempts = 1;
    fails(&mut w, "developer:R1", RunFault::Crash);
    w.by(ANN).answers("D1", "fresh").accepted();
    let step = steps(&w).into_iter().find(|step| step.subject == "T1").unwrap();
    let Deed::Dispatch(new) = &step.deed else { panic!("{step:?}") };
    assert_eq!((new.resumed_from, new.fresh), (None, true));
}

#[test]
fn answers_to_concerns_send_the_work_where_they_say() {
    for (answer, who) in
        [("accept", "reviewer"), ("architect", "architect"), ("rework", "developer")]
    {
        let said = json!({"status": "DONE_WITH_CONCERNS", "concerns": ["a breaking interface"]});
        let mut w = done(said);
        let asked = steps(&w).remove(0);
        take_step(&mut w, &asked);
        assert_eq!(steps(&w).iter().filter(|one| one.subject == "T1").count(), 0, "it waits");
        w.by(ANN).answers("D1", answer).accepted();
        let step = steps(&w).into_iter().find(|step| step.subject == "T1").unwrap();
        assert_eq!(agent(&step), who, "{answer}");
        take_step(&mut w, &step);
    }
    let said = json!({"status": "DONE_WITH_CONCERNS", "concerns": ["security of tokens"]});
    let mut v = view(&done(said));
    v.settings.auto_decide = true;
    let w = World::new();
    let found = steps_of(&w, &v);
    assert_eq!(agent(&found[0]), "architect", "auto_decide sends an architect, once a task");
}

#[test]
fn a_design_is_approved_without_a_person_only_if_it_stays_within_its_task() {
    for (context, passes) in [
        ("Change src/a.rs, plan in .comity/specs/t1.md", true),
        ("Change src/a.rs and lib/z.rs, plan in .comity/specs/t1.md", false),
        ("Change src/a.rs", false),
        ("Delete src/a.rs, plan in .comity/specs/t1.md", false),
        ("Change src/a.rs with a new dependency, plan in .comity/specs/t1.md", false),
    ] {
        let w = design(context);
        let mut v = view(&w);
        assert!(!steps_of(&w, &v).iter().any(|step| step.rule == "decide.design"));
        v.settings.auto_decide = true;
        let answers = steps_of(&w, &v).iter().any(|step| step.rule == "decide.design");
        assert_eq!(answers, passes, "{context}");
    }
    let steps: String = (1..=21).map(|n| format!("\n{n}. step")).collect();
    let w = design(&format!("Change src/a.rs, plan in .comity/specs/t1.md{steps}"));
    let mut v = view(&w);
    v.settings.auto_decide = true;
    assert!(!steps_of(&w, &v).iter().any(|step| step.rule == "decide.design"));
}

#[test]
fn idle_is_when_nothing_is_due_and_nothing_under_way_and_then_one_directive_is_followed() {
    let mut w = directive("update the dependencies");
    let again = NewDirective {
        text: "look for dead links".to_owned(),
        trigger: When::Idle,
        priority: 9,
        description: None,
        duration: None,
        end: End::default(),
    };
    w.by(ANN).does(Command::DirectiveCreate(Box::new(again))).accepted();
    assert!(is_idle(&view(&w), &[], w.now()));
    let found = steps(&w);
    assert_eq!(found.len(), 1, "one at a time");
    assert_eq!(found[0].subject, "I2", "the most urgent first");
    take_step(&mut w, &found[0]);
    let made = w.task("T1");
    assert_eq!(made.title, "look for dead links");
    assert!(!steps(&w).iter().any(|step| step.rule.starts_with("directive")), "T1 is under way");
    w.by(ANN).does(TaskVerb::Abandon.on("T1".to_owned(), None)).accepted();
    assert_eq!(steps(&w)[0].subject, "I1", "the other one rests for an hour");
    let mut v = view(&w);
    v.seen.moment = Some(When::Startup);
    assert_eq!(steps_of(&w, &v), [], "idle directives wait for idleness");
    w.pass(3_601);
    assert_eq!(steps(&w)[0].subject, "I2");
}

#[test]
fn nobody_remembers_what_stands_in_the_files_or_is_remembered_already() {
    let mut w = World::new();
    w.by(IMPL).asks(question("Tabs or spaces?")).accepted();
    w.by(ANN).answers("D1", "always use spaces").accepted();
    let mut v = view(&w);
    let due = |v: &View| steps_of(&w, v).iter().any(|step| step.rule == "memory.feedback");
    assert!(due(&v));
    v.seen.known_texts.push("# Style\n\nAlways use\nspaces.".to_owned());
    assert!(!due(&v), "it stands in a file");
    let mut w = World::new();
    w.by(IMPL).asks(question("Where?")).accepted();
    w.by(ANN).answers("D1", "--remember src/a.rs src/b.rs").accepted();
    assert!(!steps(&w).iter().any(|step| step.rule == "memory.feedback"), "only paths");
    let mut w = World::new();
    w.by(IMPL).asks(question("Tabs?")).accepted();
    w.by(ANN).answers("D1", "never use tabs").accepted();
    let step = steps(&w).remove(0);
    take_step(&mut w, &step);
    assert!(!steps(&w).iter().any(|step| step.rule == "memory.feedback"), "it is remembered");
}

#[test]
fn similar_titles_share_two_stems_and_half_of_all() {
    let similar = |a: &str, b: &str| {
        let (a, b) = (stems(a), stems(b));
        are_similar(a.len(), b.len(), a.intersection(&b).count())
    };
    assert!(similar("Parse the dates", "Parsing dates"));
    assert!(!similar("Parse dates", "Parse names"));
    assert!(!similar("Dates", "Dates"), "one stem is not enough");
}

#[test]
fn ten_thousand_tickets_are_looked_at_in_an_instant() {
    let mut w = World::new();
    w.have(small());
    let one = w.task("T1").clone();
    let mut v = view(&w);
    v.tasks = (1..=10_000)
        .map(|number| {
            let mut task = one.clone();
            task.id = comity_core::ids::TaskId::parse(&format!("T{number}")).unwrap();
            task.number = number;
            task.title = format!("Add feature number {number} to the page");
            task
        })
        .collect();
    let table = Table::built_in().unwrap();
    let best = (0..5)
        .map(|_| {
            let began = std::time::Instant::now();
            assert_eq!(due(&v, &table, w.now()).len(), 4);
            began.elapsed()
        })
        .min();
    // A build for tests is many times slower than a release, which `bench fleet` measures.
    assert!(best < Some(std::time::Duration::from_millis(500)), "{best:?}");
}

#[test]
fn a_directive_that_cannot_be_followed_now_makes_room_for_the_next() {
    let mut w = directive("launch scout and implement findings");
    let new = NewDirective {
        text: "update the dependencies".to_owned(),
        trigger: When::Idle,
        priority: 0,
        description: None,
        duration: None,
        end: End::default(),
    };
    w.by(ANN).does(Command::DirectiveCreate(Box::new(new))).accepted();
    let rules = |v: &View| steps_of(&w, v).into_iter().map(|step| step.rule).collect::<Vec<_>>();
    let mut v = view(&w);
    assert_eq!(rules(&v), ["directive.scout"], "one at a time");
    v.seen
        .not_feasible
        .extend(v.directives.iter().filter(|one| one.priority == 1).map(|one| one.id));
    assert_eq!(rules(&v), ["directive.task"]);
}

#[test]
fn a_vendor_that_lets_nobody_in_is_a_question_and_nothing_starts_there_until_the_answer() {
    let mut w = developing(small());
    fails(&mut w, "developer:R1", RunFault::Auth);
    w.have(NewTask { title: "Paint the door".to_owned(), ..small() });
    let step = steps(&w).into_iter().find(|step| step.rule == "run.auth").unwrap();
    assert_eq!(step.because, "the vendor of developer does not let R1 in");
    take_step(&mut w, &step);
    assert_eq!(w.status("T1"), Status::Blocked);
    let starts = |w: &World| {
        steps(w)
            .into_iter()
            .filter(|step| matches!(step.deed, Deed::Dispatch(_)))
            .collect::<Vec<_>>()
    };
    assert_eq!(starts(&w), [], "T2 would fail in the same way");
    w.by(ANN).answers("D1", "go-on").accepted();
    let found = starts(&w);
    let Deed::Dispatch(new) = &found[0].deed else { panic!("{found:?}") };
    assert_eq!(new.resumed_from.map(|run| run.to_string()).as_deref(), Some("R1"));
    assert!(found.iter().any(|step| step.subject == "T2"));
}

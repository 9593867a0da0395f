//! The table of the supervisor: every row of it is due where it should be, and what is done is due no more.

use crate::runs::{call, change, dispatch, end, new_run, take};
use crate::verbs::{question, task, task_on};
use crate::world::{ANN, CRITIC, Expect, IMPL, PLANNER, World};
use comity_core::command::{
    Command, NewDirective, NewRun, NewTask, Question, RunChange, RunEnd, Submission, TaskVerb,
};
use comity_core::decision::{Addressee, DecisionOption, DecisionType, Proposal};
use comity_core::directive::Trigger as When;
use comity_core::directive_duration::End;
use comity_core::role::Role;
use comity_core::run::{RunFault, RunState, Stage};
use comity_core::status::Status;
use comity_core::supervise::{BUILT_IN, Ci, Deed, Settings, Step, Table, View, due};
use comity_core::task::{Deliverable, Priority};
use comity_core::time::Millis;
use serde_json::{Value, json};

pub fn view(w: &World) -> View {
    View {
        tasks: w.state.tasks.values().map(|task| (**task).clone()).collect(),
        runs: w.state.runs.values().cloned().collect(),
        decisions: w.state.decisions.values().cloned().collect(),
        directives: w.state.directives.values().cloned().collect(),
        memories: w.state.memories.values().cloned().collect(),
        policy: w.policy.clone(),
        ..View::default()
    }
}

pub fn steps_of(w: &World, view: &View) -> Vec<Step> {
    due(view, &Table::built_in().unwrap(), w.now())
}

pub fn steps(w: &World) -> Vec<Step> {
    steps_of(w, &view(w))
}

pub fn agent(step: &Step) -> &str {
    match &step.deed {
        Deed::Dispatch(new) => &new.agent,
        other => panic!("{} starts nobody: {other:?}", step.rule),
    }
}

/// Takes a step as the supervisor does.
pub fn take_step(w: &mut World, step: &Step) {
    let seats = w.state.repos.get(&w.repo).map(|repo| repo.seats.clone()).unwrap_or_default();
    if !seats.contains_key("supervisor") {
        w.give_roles(PLANNER, &[Role::Planner, Role::Critic, Role::Integrator, Role::Watchdog]);
        w.by(PLANNER).does(crate::supervised::seat("supervisor")).accepted();
    }
    let fence = w.state.repos[&w.repo].seats["supervisor"].fence.get();
    let mut commands = match &step.deed {
        Deed::Write(commands) | Deed::Gates(commands) | Deed::Discard(_, commands) => {
            commands.clone()
        }
        Deed::Dispatch(new) => new.before.clone(),
        Deed::Push(run) => vec![change(
            &run.to_string(),
            RunChange::HandOver { pr: Some("https://x/7".to_owned()), text: "pushed".to_owned() },
        )],
        Deed::Ask(_) | Deed::Land(_) => Vec::new(),
    };
    if let Deed::Dispatch(new) = &step.deed {
        let stage = match new.agent.as_str() {
            "architect" => Stage::Plan,
            "reviewer" => Stage::Review,
            "scout" => Stage::Scout,
            _ => Stage::Develop,
        };
        let on = new.task.as_ref().map(|task| task.as_str());
        let new_task = new
            .prompt
            .clone()
            .filter(|_| on.is_none())
            .map(|text| Box::new(NewTask { deliverable: Deliverable::None, ..task(&text) }));
        let run = NewRun { new_task, ..new_run(&new.agent, on, stage) };
        commands.push(Command::RunDispatch(Box::new(run)));
    }
    let plan = step.task.as_ref().and_then(|id| {
        w.task(id.as_str()).context.get("plan_path").and_then(Value::as_str).map(str::to_owned)
    });
    let command = Command::Supervise(Box::new(step.supervision(commands)));
    w.by(PLANNER).with_fence(fence).does_seeing(command, |seen| seen.plan = plan).accepted();
}

/// A run takes up its work.
pub fn works(w: &mut World, who: &str) {
    let id = who.rsplit_once(':').unwrap().1;
    w.by(who).does(change(id, take())).accepted();
    w.by(who).does(change(id, call(0.01))).accepted();
}

/// A run ends well, with what its report says.
pub fn reports(w: &mut World, who: &str, said: Value, steps: Vec<Command>) {
    let id = who.rsplit_once(':').unwrap().1;
    let RunChange::End(mut ended) = end(RunState::Succeeded, None) else { unreachable!() };
    let Value::Object(said) = said else { unreachable!() };
    *ended = RunEnd { said, steps, ..*ended };
    w.by(who).does(change(id, RunChange::End(ended))).accepted();
}

pub fn fails(w: &mut World, who: &str, fault: RunFault) {
    let id = who.rsplit_once(':').unwrap().1;
    w.by(who).does(change(id, end(RunState::Failed, Some(fault)))).accepted();
}

fn submit() -> Command {
    Command::Submit(Submission { id: "T1".to_owned(), ..Submission::default() })
}

pub fn small() -> NewTask {
    NewTask { requirements: vec!["dates are parsed".to_owned()], ..task_on("Add dates", &["a.rs"]) }
}

/// A world with one task, which a developer has at work.
pub fn developing(new: NewTask) -> World {
    let mut w = World::new();
    w.have(new);
    w.by(ANN).does(dispatch(new_run("developer", Some("T1"), Stage::Develop))).accepted();
    works(&mut w, "developer:R1");
    w
}

pub fn done(said: Value) -> World {
    let mut w = developing(small());
    reports(&mut w, "developer:R1", said, vec![submit()]);
    w
}

fn finding(answer: &str, effort: &str) -> World {
    let mut w = World::new();
    let proposal = Proposal {
        title: "Mask secrets in the log".to_owned(),
        description: String::new(),
        priority: None,
        effort: Some(effort.to_owned()),
    };
    let option =
        |key: &&str| DecisionOption { key: (*key).to_owned(), label: None, description: None };
    let options = ["yes", "later", "no"].iter().map(option).collect();
    let asked = Question { options, proposes: Some(Box::new(proposal)), ..question("F-1 HIGH") };
    w.by(IMPL).asks(asked).accepted();
    w.by(ANN).answers("D1", answer).accepted();
    w
}

pub fn directive(text: &str) -> World {
    let mut w = World::new();
    let new = NewDirective {
        text: text.to_owned(),
        trigger: When::Idle,
        priority: 1,
        description: None,
        duration: None,
        end: End::default(),
    };
    w.by(ANN).does(Command::DirectiveCreate(Box::new(new))).accepted();
    w
}

pub fn design(context: &str) -> World {
    let mut w = World::new();
    w.have(task_on("Add dates", &["src/a.rs", "src/b.rs", "src/c.rs"]));
    w.by(ANN).does(dispatch(new_run("architect", Some("T1"), Stage::Plan))).accepted();
    works(&mut w, "architect:R1");
    let asked = Question {
        kind: Some(DecisionType::Approval),
        context: Some(context.to_owned()),
        ..question("Design approval for T1")
    };
    w.by("architect:R1").asks(asked).accepted();
    w
}

/// The step that a row asks for in a world made for it, in words.
#[expect(clippy::too_many_lines, reason = "one arm a row")]
fn scenario(rule: &str) -> String {
    let (w, view) = match rule {
        "limit.redispatch" => {
            let mut w = done(json!({"status": "DONE"}));
            w.policy.max_review_rounds = 7;
            w.by(CRITIC).requests_changes("T1").accepted();
            w.state.tasks.values_mut().next().unwrap().review_rounds = 6;
            let v = view(&w);
            (w, v)
        }
        "limit.same-error" => {
            let mut w = developing(small());
            w.policy.max_attempts = 9;
            for run in 1..=3 {
                fails(&mut w, &format!("developer:R{run}"), RunFault::Stall);
                if run < 3 {
                    let new = new_run("developer", Some("T1"), Stage::Develop);
                    w.by(ANN).does(dispatch(new)).accepted();
                    works(&mut w, &format!("developer:R{}", run + 1));
                }
            }
            let v = view(&w);
            (w, v)
        }
        "resume.diverged" => {
            let mut w = developing(small());
            fails(&mut w, "developer:R1", RunFault::Crash);
            let mut v = view(&w);
            v.seen.diverged.extend(w.state.runs.values().map(|run| run.id));
            (w, v)
        }
        "dedup" => {
            let mut w = done(json!({"status": "DONE"}));
            w.have(NewTask { title: "Add the dates".to_owned(), ..small() });
            let v = view(&w);
            (w, v)
        }
        "route.deletion" => whole(task_on("Remove the old parser", &["src/old.rs"])),
        "route.deletion.go" => {
            let mut w = World::new();
            w.have(task_on("Remove the old parser", &["src/old.rs"]));
            let asked = steps(&w).remove(0);
            take_step(&mut w, &asked);
            w.by(ANN).answers("D1", "also: src/older.rs").accepted();
            let v = view(&w);
            (w, v)
        }
        "route.hotfix" => whole(NewTask {
            priority: Some(Priority::from_rank(0)),
            ..task("Fix the crash of dates on leap days")
        }),
        "route.vague" => whole(NewTask { complexity: Some(1), ..task("Improve things") }),
        "route.large" => whole(NewTask { complexity: Some(4), ..small() }),
        "route.direct" => whole(small()),
        "plan.ready" => {
            let mut w = World::new();
            w.have(small());
            w.by(ANN).does(dispatch(new_run("architect", Some("T1"), Stage::Plan))).accepted();
            works(&mut w, "architect:R1");
            let release = TaskVerb::Release.on("T1".to_owned(), None);
            let said = json!({"plan_path": ".comity/specs/t1.md"});
            reports(&mut w, "architect:R1", said, vec![release]);
            let v = view(&w);
            (w, v)
        }
        "dev.concerns.architectural" => {
            let said = json!({"status": "DONE_WITH_CONCERNS",
                "concerns": ["it changes the schemas of the store"]});
            let w = done(said);
            let v = view(&w);
            (w, v)
        }
        // The end of the run has done it already.
        "dev.done" => {
            let w = done(json!({"status": "DONE_WITH_CONCERNS", "concerns": ["a long name"]}));
            assert_eq!(w.status("T1"), Status::Review);
            return "submit".to_owned();
        }
        "dev.stopped" => {
            let mut w = developing(small());
            let ask = Command::Block {
                id: "T1".to_owned(),
                needs: Some("a word".to_owned()),
                questions: vec!["Which format?".to_owned()],
                retry_after: None,
                reason: None,
            };
            reports(&mut w, "developer:R1", json!({"status": "NEEDS_CONTEXT"}), vec![ask]);
            assert!(!steps(&w).iter().any(|step| step.rule == "dev.stopped"), "it waits");
            w.by(ANN).answers("D1", "ISO").accepted();
            let v = view(&w);
            (w, v)
        }
        "submit.no-code" => {
            let new = NewTask { deliverable: Deliverable::Document, ..small() };
            let mut w = developing(new);
            reports(&mut w, "developer:R1", json!({"status": "DONE"}), vec![submit()]);
            let v = view(&w);
            (w, v)
        }
        "ci.pass" | "ci.fail" | "ci.pending" | "ci.timeout" => {
            let mut w = done(json!({"status": "DONE"}));
            if rule == "ci.timeout" {
                w.pass(7_201);
            }
            let mut v = view(&w);
            let ci = match rule {
                "ci.pass" => Ci::Pass,
                "ci.fail" => Ci::Fail,
                _ => Ci::Pending,
            };
            let id = v.tasks[0].id.clone();
            v.seen.ci.insert(id, (ci, "1 test failed".to_owned()));
            (w, v)
        }
        "review.changes" => {
            let mut w = done(json!({"status": "DONE"}));
            w.by(CRITIC).requests_changes("T1").accepted();
            let v = view(&w);
            (w, v)
        }
        "review.approved" => {
            let mut w = done(json!({"status": "DONE"}));
            w.by(CRITIC).approves("T1").accepted();
            let v = view(&w);
            (w, v)
        }
        // The end of the run asks; a yes gives the task up.
        "branch.discard" => {
            let mut w = developing(small());
            let said = json!({"status": "DONE", "recommendation": "discard"});
            reports(&mut w, "developer:R1", said, vec![]);
            assert_eq!(w.decision("D1").rule.as_deref(), Some("branch.discard"));
            w.by(ANN).answers("D1", "yes").accepted();
            let found = steps(&w);
            let step = found.iter().find(|step| step.rule == "branch.discard.yes").unwrap();
            assert!(matches!(step.deed, Deed::Discard(..)));
            return "decide".to_owned();
        }
        "branch.keep" => {
            let mut w = developing(small());
            let keep = Command::Block {
                id: "T1".to_owned(),
                needs: Some("time".to_owned()),
                questions: vec![],
                retry_after: Some(Millis::from_secs(7_200)),
                reason: None,
            };
            let said = json!({"status": "DONE", "recommendation": "keep"});
            reports(&mut w, "developer:R1", said, vec![keep]);
            let v = view(&w);
            (w, v)
        }
        "branch.push" => {
            let w = done(json!({"status": "DONE", "recommendation": "pr"}));
            let v = view(&w);
            (w, v)
        }
        "scout.yes.small" | "scout.yes" | "scout.later" => {
            let w = match rule {
                "scout.yes.small" => finding("yes", "S"),
                "scout.yes" => finding("yes", "M"),
                _ => finding("later", "S"),
            };
            let v = view(&w);
            (w, v)
        }
        "decide.design" => {
            let w = design("Change src/a.rs and src/b.rs, plan in .comity/specs/t1.md\n1. parse");
            let mut v = view(&w);
            v.settings.auto_decide = true;
            (w, v)
        }
        "decide.code" => {
            let mut w = World::new();
            let to = Some(Addressee::try_from("scout".to_owned()).unwrap());
            w.by(IMPL).asks(Question { to, ..question("Where are dates parsed?") }).accepted();
            let v = view(&w);
            (w, v)
        }
        "decide.person" => {
            let w = design("anything");
            let v = view(&w);
            (w, v)
        }
        "memory.procedure.error" => {
            let mut w = developing(small());
            for run in 1..=2 {
                fails(&mut w, &format!("developer:R{run}"), RunFault::Hook);
                let new = new_run("developer", Some("T1"), Stage::Develop);
                w.by(ANN).does(dispatch(new)).accepted();
                works(&mut w, &format!("developer:R{}", run + 1));
            }
            let said = json!({"status": "DONE", "notes": "install the hook first"});
            reports(&mut w, "developer:R3", said, vec![submit()]);
            let v = view(&w);
            (w, v)
        }
        "memory.procedure.review" => {
            let mut w = done(json!({"status": "DONE"}));
            for run in 2..=3 {
                let new = new_run("reviewer", Some("T1"), Stage::Review);
                w.by(ANN).does(dispatch(new)).accepted();
                works(&mut w, &format!("reviewer:R{run}"));
                let said = json!({"verdict": "CHANGES_REQUESTED", "issues": ["coverage in src/"]});
                reports(&mut w, &format!("reviewer:R{run}"), said, vec![]);
            }
            let v = view(&w);
            (w, v)
        }
        "memory.feedback" => {
            let mut w = World::new();
            w.by(IMPL).asks(question("Tabs or spaces?")).accepted();
            w.by(ANN).answers("D1", "always use spaces in this project").accepted();
            let v = view(&w);
            (w, v)
        }
        "memory.fact" => {
            let mut w = design("Dates are kept as milliseconds");
            w.by(ANN).answers("D1", "approved").accepted();
            let v = view(&w);
            (w, v)
        }
        "directive.scout" => of(directive("launch scout and implement findings")),
        "directive.tests" => of(directive("run the tests and fix failures")),
        "directive.task" => of(directive("update the dependencies")),
        "run.auth" => {
            let mut w = developing(small());
            fails(&mut w, "developer:R1", RunFault::Auth);
            let v = view(&w);
            (w, v)
        }
        "run.failed" => {
            let mut w = developing(small());
            fails(&mut w, "developer:R1", RunFault::Crash);
            let v = view(&w);
            (w, v)
        }
        other => panic!("the row {other} has no scenario"),
    };
    let found = steps_of(&w, &view);
    let step = found.iter().find(|step| step.rule == rule);
    let step = step.unwrap_or_else(|| panic!("{rule} is not due: {found:#?}"));
    assert!(!step.because.is_empty(), "{rule} says why");
    assert!(step.key().starts_with(&format!("sup:{rule}:")), "{}", step.key());
    match &step.deed {
        Deed::Dispatch(new) => format!("dispatch {}", new.agent),
        Deed::Ask(ask) => format!("decide {}", ask.options.join(" ")),
        Deed::Land(_) => "merge".to_owned(),
        Deed::Gates(_) => "gate".to_owned(),
        Deed::Discard(..) => "discard".to_owned(),
        Deed::Push(_) => "push".to_owned(),
        Deed::Write(commands) => {
            let names: Vec<String> = commands.iter().map(word).collect();
            format!("write {}", names.join(" ")).trim().to_owned()
        }
    }
}

fn word(command: &Command) -> String {
    let Value::Object(map) = serde_json::to_value(command).unwrap() else { return String::new() };
    map.keys().next().cloned().unwrap_or_default()
}

fn whole(new: NewTask) -> (World, View) {
    let mut w = World::new();
    w.have(new);
    of(w)
}

fn of(w: World) -> (World, View) {
    let v = view(&w);
    (w, v)
}

/// Every row of the table with what it does in its own scenario.
const ROWS: &[(&str, &str)] = &[
    ("limit.redispatch", "decide retry split abandon"),
    ("limit.same-error", "decide retry split abandon"),
    ("resume.diverged", "decide take-branch restore abandon"),
    ("dedup", "write note block"),
    ("route.deletion", "decide only also cancel"),
    ("route.deletion.go", "dispatch developer"),
    ("route.hotfix", "dispatch developer"),
    ("route.vague", "dispatch architect"),
    ("route.large", "dispatch architect"),
    ("route.direct", "dispatch developer"),
    ("plan.ready", "dispatch developer"),
    ("dev.concerns.architectural", "decide accept architect rework"),
    ("dev.done", "submit"),
    ("dev.stopped", "dispatch developer"),
    ("submit.no-code", "write move"),
    ("ci.pass", "dispatch reviewer"),
    ("ci.fail", "dispatch developer"),
    ("ci.pending", "write memory_write"),
    ("review.changes", "dispatch developer"),
    ("review.approved", "merge"),
    ("branch.discard", "decide"),
    ("branch.keep", "write memory_write"),
    ("branch.push", "push"),
    ("scout.yes.small", "dispatch developer"),
    ("scout.yes", "dispatch architect"),
    ("scout.later", "write create_task"),
    ("decide.design", "write decision_answer"),
    ("decide.code", "dispatch scout"),
    ("decide.person", "write"),
    ("memory.procedure.error", "write memory_write"),
    ("memory.procedure.review", "write memory_write"),
    ("memory.feedback", "write memory_write"),
    ("memory.fact", "write memory_write"),
    ("directive.scout", "dispatch scout"),
    ("directive.tests", "gate"),
    ("directive.task", "write note directive_trigger create_task"),
    ("run.auth", "decide go-on abandon"),
    ("run.failed", "dispatch developer"),
    ("ci.timeout", "decide wait review-anyway rework"),
];

#[test]
fn every_row_of_the_table_is_due_where_it_should_be() {
    let table = Table::built_in().unwrap();
    let rows: Vec<&str> = table.rows.iter().map(|row| row.id.as_str()).collect();
    let known: Vec<&str> = ROWS.iter().map(|(id, _)| *id).collect();
    assert_eq!(rows, known, "each row has its scenario");
    for (id, does) in ROWS {
        assert_eq!(scenario(id), *does, "{id}");
    }
}

#[test]
fn the_settings_are_those_of_the_table() {
    let file: toml::Table = toml::from_str(BUILT_IN).unwrap();
    let set = Settings::default();
    let text = |table: &str, key: &str| file[table][key].as_str().unwrap().to_owned();
    let time = |table: &str, key: &str| Millis::parse(&text(table, key)).unwrap();
    let number = |table: &str, key: &str| file[table][key].as_integer().unwrap();
    assert_eq!(set.heartbeat, time("supervisor", "heartbeat"));
    assert_eq!(set.seat_ttl, time("supervisor", "seat_ttl"));
    assert_eq!(set.auto_decide, file["supervisor"]["auto_decide"].as_bool().unwrap());
    assert_eq!(set.cooldown, time("supervisor", "cooldown"));
    assert_eq!(set.dedup_days, number("supervisor", "dedup_days"));
    assert_eq!(set.max_runs as i64, number("fleet", "max_runs"));
    assert_eq!(set.max_per_repo as i64, number("fleet", "max_per_repo"));
    assert_eq!(set.ci_timeout, time("ci", "timeout"));
    let push_ok: Vec<String> = file["supervisor"]["push_ok"].clone().try_into().unwrap();
    assert_eq!(set.push_ok, push_ok);
    let backoff: Vec<String> = file["fleet"]["retry_backoff"].clone().try_into().unwrap();
    let backoff: Vec<Millis> = backoff.iter().map(|text| Millis::parse(text).unwrap()).collect();
    assert_eq!([set.retry_backoff.0, set.retry_backoff.1], backoff[..]);
    let patience = comity_core::progress::Patience::default();
    assert_eq!(patience.turns as i64, number("budget", "no_progress_turns"));
    assert_eq!(patience.time, time("budget", "no_progress"));
    assert_eq!(i64::from(patience.same_call), number("budget", "same_tool_call"));
    let policy = comity_core::policy::FleetPolicy::default();
    assert_eq!(policy.ttl, time("fleet", "ttl"));
    assert_eq!(policy.queue as i64, number("fleet", "queue"));
    assert_eq!(comity_core::supervise::ROWS_MAX as i64, number("limits", "rows"));
}

#[test]
fn a_project_replaces_rows_by_id_and_its_new_rows_go_first() {
    let own = "[[rule]]\nid = 'route.direct'\non = 'task.ready'\ndo = 'dispatch architect'\n\
        [[rule]]\nid = 'mine'\non = 'task.ready'\nwhen = [['task.priority', '=', 'P3']]\ndo = 'note'\n";
    let table = Table::with_own(own).unwrap();
    assert_eq!(table.rows[0].id, "mine");
    assert_eq!(table.rows.len(), ROWS.len() + 1);
    let mut w = World::new();
    w.have(small());
    let found = due(&view(&w), &table, w.now());
    assert_eq!((found[0].rule.as_str(), agent(&found[0])), ("route.direct", "architect"));
}

#[test]
fn what_the_table_does_not_know_is_refused_when_it_is_read() {
    for (row, why) in [
        ("id = 'a'\non = 'task.eaten'\ndo = 'note'", "trigger"),
        ("id = 'a'\non = 'task.ready'\ndo = 'dance'", "action"),
        ("id = 'a'\non = 'task.ready'\ndo = 'dispatch show'", "agent"),
        ("id = 'a'\non = 'task.ready'\ndo = 'note'\nwhen = [['task.mood', '=', 1]]", "field"),
        ("id = 'a'\non = 'task.ready'\ndo = 'note'\nwhen = [['task.type', '~', 1]]", "comparison"),
        ("id = 'a'\non = 'task.ready'\ndo = 'note'\nwhen = [['task.type', 'matches', '(']]", "("),
        ("id = 'a b'\non = 'task.ready'\ndo = 'note'", "id"),
        ("id = 'a'\non = 'task.ready'\ndo = 'note'\ncolour = 1", "colour"),
    ] {
        let refused = Table::with_own(&format!("[[rule]]\n{row}\n")).unwrap_err();
        assert!(refused.contains(why), "{row}: {refused}");
    }
    let many: String = (0..500)
        .map(|n| format!("[[rule]]\nid = 'r{n}'\non = 'task.ready'\ndo = 'note'\n"))
        .collect();
    assert!(Table::with_own(&many).unwrap_err().contains("500"));
    assert!(Table::with_own("[fleet]\nqueue = 1").is_err(), "settings do not stand there");
}

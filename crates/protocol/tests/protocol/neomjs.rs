//! The Neo.mjs Agent Task Protocol.

use comity_core::chain::Hash;
use comity_core::command::{Extra, NewTask, ReportStatus};
use comity_core::event::ResultReported;
use comity_core::role::Role;
use comity_protocol::contract::{self, Checked, Mode, kind};
use comity_protocol::neomjs::safety::{Push, is_pattern, protected_pushes, read_pushes};
use comity_protocol::neomjs::{
    ErrorContract, ResultContract, TaskContract, fenced, new_task, read_plan, title_beside, written,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn golden(name: &str) -> String {
    let path = format!("{}/tests/golden/neomjs/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn check(text: &str, name: &str) -> Checked {
    contract::check(text, kind(name), Mode::Full)
}

fn errors(text: &str, name: &str) -> Vec<String> {
    let checked = check(text, name);
    checked.problems.iter().map(|p| format!("{}:{} {}", p.line, p.column, p.message)).collect()
}

fn task(text: &str) -> TaskContract {
    let checked = check(text, "neo-task");
    assert!(checked.is_valid(), "{:?}", checked.problems);
    TaskContract::of(&checked.tree.unwrap())
}

#[test]
fn contracts_are_written_and_read_exactly_as_the_protocol_shows_them() {
    for name in ["task", "result", "error"] {
        let text = golden(name);
        let checked = contract::check(&text, None, Mode::Full);
        assert_eq!(checked.kind.unwrap().name, format!("neo-{name}"));
        assert!(checked.problems.is_empty(), "{:?}", checked.problems);
        let tree = checked.tree.unwrap();
        let written = match name {
            "task" => TaskContract::of(&tree).render(),
            "result" => ResultContract::of(&tree).render(),
            _ => ErrorContract::of(&tree).render(),
        };
        assert_eq!(written, text);
    }
}

#[test]
fn a_contract_is_found_fenced_bare_quoted_and_with_any_spelling_of_its_version() {
    let bare = golden("task");
    let wanted = task(&bare);
    let quoted: String = bare.lines().map(|line| format!("> {line}\n")).collect();
    let icons: String = bare.lines().map(|line| format!("> ✦ {line}\n")).collect();
    for text in [
        fenced(&bare),
        format!("Words before: it.\n\n{}\nand after\n", fenced(&bare)),
        bare.lines().skip(1).map(|line| format!("{line}\r\n")).collect(),
        format!("**Input from gemini:**\n\n{quoted}"),
        format!("**Input from gemini:**\n\n{icons}"),
        quoted.lines().map(|line| format!("> {line}\n")).collect(),
        quoted.lines().map(|line| format!(" {line}\n")).collect(),
        format!("---\nid: 7933\ntitle: A --- B\n---\n{bare}"),
    ] {
        assert_eq!(task(&text), wanted, "{text}");
        assert_eq!(contract::recognise(&text).map(|kind| kind.name), Some("neo-task"), "{text}");
    }
    for version in ["10", "1.1", "one", "v1"] {
        let text = bare.replace("version: 1.0", &format!("version: {version}"));
        assert!(!check(&text, "neo-task").is_valid(), "{version}");
    }
    for version in ["1", "1.0", "\"1.0\"", "'1'", "1.00"] {
        let text = bare.replace("version: 1.0", &format!("version: {version}"));
        assert_eq!(task(&text), wanted, "{version}");
    }
}

#[test]
fn what_the_planning_agent_writes_is_read_without_a_complaint() {
    let text = "version: 1\ntype: implementation\nrole: dev\ngoal: Write it\ncontext:\n  \
                epic_issue: 7914\nrequirements:\n  - Must work\n";
    assert!(check(text, "neo-task").problems.is_empty());
    assert_eq!(task(text).context, json!({"epic_issue": 7914}).as_object().cloned().unwrap());
}

#[test]
fn everything_that_is_wrong_is_said_with_its_place() {
    assert_eq!(
        errors(
            "```yaml\nversion: 2\nrole: king\ngoal: ''\ncontext:\n  files: [../x, 'a b']\n```\n",
            "neo-task"
        ),
        [
            "2:10 version must be 1.0, not 2",
            "2:1 type is missing: the kind of work, such as implementation",
            "3:7 role must be pm, dev, qa or another role, not \"king\"",
            "4:7 goal is blank",
            "2:1 requirements is missing: what the result must satisfy",
            "6:11 context.files[0]: \"../x\": path leaves the repository: remove the leading '..'",
        ]
    );
    let colon = "version: 1\ntype: a\nrole: qa\ngoal: g\nrequirements:\n  - Must: have\n  - ''\n";
    assert_eq!(
        errors(colon, "neo-task"),
        [
            "6:5 requirements[0] must be a text; put it in quotes if it has a colon",
            "7:5 requirements[1] is blank",
        ]
    );
    let twice = "version: 1\ntype: a\nrole: qa\ngoal: g\nrequirements: [a, b, a]\n";
    assert_eq!(errors(twice, "neo-task"), ["5:22 requirements[2] is requirements[0] again"]);
    assert_eq!(errors("- a\n", "neo-task"), ["1:1 the contract must be an object"]);
    assert_eq!(
        errors("status: maybe\npr_url: here\nfiles_modified:\n  - /etc/x\n", "neo-result"),
        [
            "1:9 status must be one of success, completed, done, ok, failure, failed, error, fail, blocked, not \"maybe\"",
            "2:9 pr_url must be an http address, not \"here\"",
            "4:5 files_modified[0]: \"/etc/x\": path starts with '/': write it relative to the repository root",
        ]
    );
    assert_eq!(
        errors("status: open\nattempts: many\n", "neo-error"),
        [
            "1:9 status must be blocked, not \"open\"",
            "1:1 reason is missing: what went wrong, in short",
            "2:11 attempts must be a count, not \"many\"",
            "1:1 request is missing: what is asked for",
        ]
    );
}

#[test]
fn a_comment_that_names_the_pull_request_is_a_result() {
    let text = "PR Created: https://github.com/neomjs/neo/pull/456";
    let checked = contract::check(text, None, Mode::Full);
    assert_eq!(checked.kind.unwrap().name, "neo-result");
    assert!(checked.is_valid(), "{:?}", checked.problems);
    let result = ResultContract::of(&checked.tree.unwrap());
    assert_eq!(result.pr_url.as_deref(), Some("https://github.com/neomjs/neo/pull/456"));
    assert_eq!(result.status, "success");
    assert!(!check("> PR Created: https://x.example/1", "neo-result").is_valid());
    let wrapped =
        "**Input from Claude:**\n\n> ✦ PR Created: https://x.example/pull/456\n> Thanks.\n";
    let checked = contract::check(wrapped, None, Mode::Full);
    assert_eq!(checked.kind.map(|kind| kind.name), Some("neo-result"));
    let url = checked.tree.as_ref().unwrap().get("pr_url").unwrap();
    assert_eq!(url.text(), Some("https://x.example/pull/456"));
    assert_eq!((url.at.line, url.at.column), (3, 17));
}

#[test]
fn a_result_reports_what_it_says_and_what_its_tests_claim() {
    let checked = check(&golden("result"), "neo-result");
    let report = kind("neo-result").unwrap().report.unwrap()(&checked.tree.unwrap()).unwrap();
    assert_eq!(report.status, ReportStatus::Completed);
    assert_eq!(report.files_modified[0].path, "src/view/Main.mjs");
    let claims = |words: &str| {
        let test_results = Some(words.to_owned());
        ResultContract { test_results, ..ResultContract::default() }.tests_pass()
    };
    for (words, claim) in [
        ("Passed (3/3)", Some(true)),
        ("Passed (2/3)", Some(false)),
        ("3 passed, 0 failed", Some(true)),
        ("Failed (1/3)", Some(false)),
        ("all green", Some(true)),
        ("not run", None),
        ("0/0", Some(false)),
    ] {
        assert_eq!(claims(words), claim, "{words}");
    }
    let checked = check(&golden("error"), "neo-error");
    let report = kind("neo-error").unwrap().report.unwrap()(&checked.tree.unwrap()).unwrap();
    assert_eq!(report.status, ReportStatus::Blocked);
    assert_eq!(report.issues[0].description, "Please clarify the selector for the toggle button.");
    assert_eq!(report.cause(), Some("Test failure loop"));
}

#[test]
fn a_contract_becomes_a_task_with_its_files_role_and_epic() {
    let new = task(&golden("task")).new_task(None);
    assert_eq!(new.title, "Implement the \"Dark Mode Toggle\" in the MainView.");
    assert_eq!(new.description, "");
    assert_eq!(new.role, Some(Role::Implementer));
    assert_eq!(new.files, ["src/view/Main.mjs", "resources/scss/theme-dark.scss"]);
    assert_eq!(new.requirements.len(), 3);
    assert_eq!(new.epic.as_deref(), Some("123"));
    assert_eq!(new.kind.as_deref(), Some("implementation"));
    assert_eq!(new.context["knowledge_base_refs"], json!(["learn/guides/styling/Theming.md"]));
    let titled = task(&golden("task")).new_task(Some("Dark mode"));
    assert_eq!(titled.title, "Dark mode");
    assert_eq!(titled.description, "Implement the \"Dark Mode Toggle\" in the MainView.");
}

/// A task as the rules make it of a wish, by the words it is stored in.
fn made(new: &NewTask) -> comity_core::task::Task {
    let fixed = r#"{"repo":"r","id":"T1","number":1,"version":1,"complexity":null,"deliverable":"code",
        "status":"queued","priority":"P2","labels":[],"assignee":null,"reserved_for":null,"preferred":null,
        "reviewer":null,"review_taken":false,"dependencies":[],"blockers":[],"branch":null,"commit":null,
        "pr":null,"merged_sha":null,"round":0,"review_rounds":0,"dod":[],"gates":[],"constraints":{},
        "timeout":0,"attempts":0,"prd":null,"initiative":null,"parent":null,"external_ids":{},"claim":null,
        "block":null,"steps":[],"decisions":[],"last_error":null,"created_by":"x",
        "created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}"#;
    let mut task: Value = serde_json::from_str(fixed).unwrap();
    for (key, value) in [
        ("title", json!(new.title)),
        ("description", json!(new.description)),
        ("kind", json!(new.kind)),
        ("role", json!(new.role)),
        ("labels", json!(new.labels)),
        ("files", json!(new.files)),
        ("requirements", json!(new.requirements)),
        ("context", json!(new.context)),
        ("epic", json!(new.epic)),
    ] {
        task[key] = value;
    }
    serde_json::from_value(task).unwrap()
}

#[test]
fn the_title_of_an_issues_file_is_in_its_front_matter() {
    let text = format!("---\nid: 7933\ntitle: 'A --- B: c'\nlabels: [x]\n---\n{}", golden("task"));
    assert_eq!(title_beside(&text).as_deref(), Some("A --- B: c"));
    assert_eq!(title_beside(&golden("task")), None);
    assert_eq!(title_beside("---\ntitle: x\n---\n"), None, "that is the contract itself");
}

#[test]
fn a_plan_is_a_list_of_contracts_with_keys_between_them() {
    let text = "epic: 12\ntasks:\n  - key: api\n    version: 1.0\n    type: implementation\n    role: dev\n    \
                goal: Build the API\n    requirements: [tested]\n  - title: Look at it\n    depends_on: [api, T7]\n    \
                priority: high\n    labels: [ui]\n    version: 1.0\n    type: review\n    role: qa\n    goal: Check\n    \
                context: {epic_issue: 13}\n    requirements: []\n";
    let plan = read_plan(text).unwrap();
    let tasks: Vec<_> = plan.iter().map(|item| item.planned()).collect();
    assert_eq!(tasks[0].key.as_deref(), Some("api"));
    assert_eq!(tasks[0].task.epic.as_deref(), Some("12"));
    assert_eq!(tasks[0].task.title, "Build the API");
    assert_eq!(tasks[1].task.title, "Look at it");
    assert_eq!(tasks[1].task.depends_on, ["api", "T7"]);
    assert_eq!(tasks[1].task.epic.as_deref(), Some("13"));
    assert_eq!(tasks[1].task.role, Some(Role::Critic));
    assert!(tasks.iter().all(|task| task.task.body.is_some()));
}

#[test]
fn a_plan_with_mistakes_names_all_of_them() {
    let text = "- goal: a\n  requirements: []\n  priority: soon\n- version: 3\n  depends_on: {a: b}\n  key: [a]\n  \
         id: {a: b}\n  title: [a]\n  priority: [a]\n";
    let problems = read_plan(text).unwrap_err();
    let errors = problems.errors();
    for wanted in [
        "[0]: priority \"soon\" is not known",
        "[1]: version must be 1.0, not 3",
        "[1]: goal is missing: what is wanted",
        "[1]: requirements is missing: what the result must satisfy",
        "[1]: depends_on must be a list, not an object",
        "[1]: key must be a text, not a list",
        "[1]: id must be a text, not an object",
        "[1]: title must be a text, not a list",
        "[1]: priority must be a text, not a list",
    ] {
        assert!(errors.contains(&wanted), "{wanted}: {errors:?}");
    }
    let epic = "epic: {a: b}\ntasks:\n  - goal: a\n    requirements: []\n";
    assert_eq!(read_plan(epic).unwrap_err().errors(), ["epic must be a text, not an object"]);
    let twice =
        "tasks:\n- {key: a, goal: a, requirements: []}\n- {id: a, goal: b, requirements: []}\n";
    let problems = read_plan(twice).unwrap_err();
    assert_eq!(problems.errors(), ["tasks[1]: tasks[0] has the same id"]);
    let at = problems.iter().find(|problem| problem.path == "tasks[1].id").unwrap();
    assert_eq!((at.line, at.column), (3, 8));
    assert!(read_plan("a: 1").is_err());
    assert!(read_plan("tasks: []").is_err());
}

#[test]
fn a_push_to_a_protected_branch_is_seen_a_deletion_too() {
    let zero = "0".repeat(40);
    let sha = Hash::of(b"x").to_string();
    let text = format!(
        "refs/heads/x {sha} refs/heads/main {zero}\nrefs/heads/y {sha} refs/heads/feat/main {zero}\n(delete) {zero} refs/heads/master {sha}\n"
    );
    let pushes = read_pushes(&text).unwrap();
    assert_eq!(
        pushes[1],
        Push { local: "refs/heads/y".into(), commit: sha, remote: "refs/heads/feat/main".into() }
    );
    let protected = ["main".to_owned(), "master".to_owned()];
    assert_eq!(protected_pushes(&pushes, &protected), ["main", "master"]);
    assert!(read_pushes("refs/heads/main").is_err());
}

#[test]
fn a_protected_branch_may_be_a_glob_and_a_plain_name_is_that_branch_only() {
    let to = |branch: &str| format!("HEAD 1 refs/heads/{branch} 0\n");
    let text: String = ["release/1.0", "release/1/x", "release", "main/x", "v1"].map(to).concat();
    let pushes = read_pushes(&text).unwrap();
    let hit = |pattern: &str| protected_pushes(&pushes, &[pattern.to_owned()]);
    assert_eq!(hit("release/*"), ["release/1.0"]);
    assert_eq!(hit("release/**"), ["release/1.0", "release/1/x"]);
    assert_eq!(hit("release"), ["release"]);
    assert_eq!(hit("{main,v[0-9]}"), ["v1"]);
    assert!(
        is_pattern("release/*").is_ok() && is_pattern("a{").is_err() && is_pattern("").is_err()
    );
}

const ISSUE: &str = "---\nid: 7933\ntitle: 'Toggle: dark'   # of the issue\nlabels: [agent-role:qa, agent-task:in-progress, ui]\n\
assignees: [ann]\nblockedBy: [7900]\nparentIssue: 7914\n---\n\nSome prose: of the issue.\n\n```yaml\n# AGENT TASK CONTRACT\n\
requirements:\n  - Must work   # always\nversion: 1\ntype: implementation\n\n# what is wanted\ngoal: |\n  Build it.\n  # not a \
comment\n\nx_build: 123456789012345678901234567890\ncontext:\n  neo_contract: {role: pm}\n  files: [./src/a, src/b]\n  knowledge_base_refs: []\n  # the end\n```\n\nMore prose.\n";

fn issue(change: impl FnOnce(&mut Value)) -> (NewTask, String) {
    let tree = check(ISSUE, "neo-task").tree.unwrap();
    let new = new_task(ISSUE, &tree, None);
    let mut task = serde_json::to_value(made(&new)).unwrap();
    task["files"] = json!(["src/a", "src/b"]);
    change(&mut task);
    let back = written(&serde_json::from_value(task).unwrap(), new.body.as_deref());
    (new, back.text)
}

#[test]
fn an_issue_comes_back_as_it_was_with_everything_around_its_contract() {
    let (new, back) = issue(|_| {});
    assert_eq!(back, ISSUE);
    assert_eq!(new.role, Some(Role::Critic), "the label says it");
    assert_eq!(new.labels, ["ui"]);
    assert_eq!((new.links[0].key.as_str(), new.links[0].value.as_str()), ("issue", "7933"));
    assert_eq!(new.title, "Toggle: dark");
    assert_eq!(new.context["neo_contract"], json!({"role": "pm"}), "a key like any other");
    let tree = check(&ISSUE.replace('\n', "\r\n"), "neo-task").tree.unwrap();
    let text = ISSUE.replace('\n', "\r\n");
    let new = new_task(&text, &tree, None);
    assert_eq!(
        written(
            &made(&NewTask { files: vec!["src/a".into(), "src/b".into()], ..new.clone() }),
            new.body.as_deref()
        )
        .text,
        text
    );
    let quoted: String = golden("task").lines().map(|line| format!("> ✦ {line}\n")).collect();
    let tree = check(&quoted, "neo-task").tree.unwrap();
    let new = new_task(&quoted, &tree, None);
    assert_eq!(new.body.as_deref(), Some(golden("task").as_str()), "a quotation is no body");
}

#[test]
fn what_a_task_says_otherwise_is_set_in_its_place_and_the_rest_stays() {
    let changed = |before: &str, after: &str| {
        assert!(ISSUE.contains(before), "{before}");
        ISSUE.replace(before, after)
    };
    let (_, back) = issue(|task| task["title"] = json!("New title"));
    assert_eq!(back, changed("title: 'Toggle: dark'   # of the issue", "title: New title"));
    let (_, back) = issue(|task| task["role"] = json!("implementer"));
    assert_eq!(back, changed("  # the end\n", "role: dev\n  # the end\n"));
    let (_, back) = issue(|task| task["epic"] = json!("9"));
    assert_eq!(back, changed("refs: []\n", "refs: []\n  epic_issue: 9\n"));
    let (_, back) = issue(|task| task["description"] = json!("Build all of it."));
    assert_eq!(
        back,
        changed("goal: |\n  Build it.\n  # not a comment\n", "goal: >\n  Build all of it.\n")
    );
    let (_, back) = issue(|task| task["requirements"] = json!(["Must be fast"]));
    assert_eq!(back, changed("  - Must work   # always\n", "  - \"Must be fast\"\n"));
    let (_, back) = issue(|task| task["files"] = json!([]));
    assert_eq!(back, changed("  files: [./src/a, src/b]\n", ""));
    let (_, back) = issue(|task| task["kind"] = json!("review"));
    assert_eq!(back, changed("type: implementation", "type: review"));
    let (_, back) = issue(|task| {
        task["context"] =
            json!({"neo_contract": {"role": "pm"}, "knowledge_base_refs": [], "x": "z"});
    });
    assert_eq!(back, changed("refs: []\n", "refs: []\n  x: z\n"));
}

#[test]
fn a_contract_that_is_not_written_line_by_line_is_written_anew() {
    for text in [
        "{\"version\": 1, \"type\": \"a\", \"role\": \"dev\", \"goal\": \"g\", \"title\": \"t\", \"requirements\": [], \"x\": 1}",
        "version: 1\ntype: a\nrole: dev\ngoal: g\ntitle: t\nrequirements: []\ncontext: {epic_issue: 5}\nx: 1\n",
    ] {
        let tree = check(text, "neo-task").tree.unwrap();
        let new = new_task(text, &tree, None);
        let mut task = made(&new);
        (task.epic, task.role, task.title) = (Some("9".into()), Some(Role::Critic), "u".into());
        let back = written(&task, new.body.as_deref());
        let read = check(&back.text, "neo-task").tree.unwrap();
        assert_eq!(made(&new_task(&back.text, &read, None)), task, "{}", back.text);
        let other = TaskContract::of(&read).other;
        assert_eq!((&other["x"], &other["title"]), (&json!(1), &json!("u")), "{}", back.text);
    }
}

#[test]
fn a_contract_may_be_meant_for_another_repository() {
    let named = |extra: &str| {
        task(&format!("version: 1\ntype: a\nrole: dev\ngoal: g\nrequirements: []\n{extra}"))
            .repository()
            .map(str::to_owned)
    };
    assert_eq!(named("repository: neomjs/middleware\n").as_deref(), Some("neomjs/middleware"));
    assert_eq!(named("context: {repository: o/r}\n").as_deref(), Some("o/r"));
    assert_eq!(named(""), None);
}

#[test]
fn results_and_error_reports_come_back_from_what_the_log_keeps_of_them() {
    let told = |text: &str, name: &str| {
        let report = kind(name).unwrap().report.unwrap()(&check(text, name).tree.unwrap()).unwrap();
        ResultReported {
            contract: report.contract,
            status: report.status,
            files_modified: report.files_modified,
            log: report.log,
            issues: report.issues,
            tips: Vec::new(),
            completed_at: None,
            other: report.other,
            keys: report.keys,
        }
    };
    for keys in [
        "status: blocked\nreason: \"r\"\nattempts: 0\nrequest: \"\"\n",
        "status: blocked\nreason: \"r\"\n",
        "status: blocked\nreason: \"r\"\nattempts: null\nrequest: \"q\"\n",
        "request: \"q\"\nticket: 44\nattempts: 2\nreason: \"r\"\nstatus: blocked\n",
    ] {
        let text = format!("# AGENT ERROR REPORT\n{keys}");
        assert_eq!(ErrorContract::of_report(&told(&text, "neo-error")).render(), text);
    }
    let text = format!("{}ticket: 44\n", golden("error"));
    assert_eq!(ErrorContract::of_report(&told(&text, "neo-error")).render(), text);
    let pr = Some("https://github.com/neomjs/neo/pull/456");
    let url = "pr_url: \"https://github.com/neomjs/neo/pull/456\"\n";
    for keys in [
        format!("status: success\n{url}files_modified: []\ntest_results: \"Passed\"\n"),
        format!("status: success\n{url}test_results: \"Passed\"\n"),
        format!("{url}status: success\nextra: 1\ntest_results: \"\"\nfiles_modified: []\n"),
        format!("{url}status: success\nextra: 1\nfiles_modified:\n  - \"a\"\n"),
    ] {
        let text = format!("# AGENT RESULT CONTRACT\n{keys}");
        assert_eq!(ResultContract::of_report(&told(&text, "neo-result"), pr).render(), text);
    }
    let text = format!("{}reviewed_by: me\n", golden("result"));
    assert_eq!(ResultContract::of_report(&told(&text, "neo-result"), pr).render(), text);
    let unnamed = told("status: success\npr_url: null\n", "neo-result");
    let later = ResultContract::of_report(&unnamed, pr).render();
    assert_eq!(later, format!("# AGENT RESULT CONTRACT\nstatus: success\n{url}"), "the task's");
}

fn beside(note: Value) -> Extra {
    Extra { other: Map::from_iter([("x_note".to_owned(), note)]), keys: Vec::new() }
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z][a-zA-Z :#\"'>|&*-]{0,20}[a-z.]",
        Just("yes".to_owned()),
        Just("1.0".to_owned()),
        Just("null".to_owned()),
        Just("- item".to_owned()),
        Just("é 漢 🤖".to_owned()),
        Just("```yaml".to_owned()),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        word().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        proptest::collection::vec(word(), 0..3).prop_map(|list| json!(list)),
    ]
}

fn any_task() -> impl Strategy<Value = TaskContract> {
    let other = || proptest::collection::btree_map("x_[a-z]{1,6}", any_value(), 0..3);
    let files = proptest::collection::btree_set("[a-z]{1,4}(/[a-z]{1,4}){0,2}\\.rs", 0..3);
    let goal = proptest::collection::vec(word(), 1..4).prop_map(|lines| lines.join("\n"));
    (
        (word(), proptest::sample::select(vec!["dev", "pm", "qa", "developer", "observer"])),
        (goal, proptest::option::of(1..999u32), files),
        proptest::collection::vec(word(), 0..4),
        (other(), other()),
    )
        .prop_map(|((kind, role), (goal, epic, files), mut requirements, (more, other))| {
            requirements.sort();
            requirements.dedup();
            let mut context: Map<String, Value> = more.into_iter().collect();
            if let Some(epic) = epic {
                context.insert("epic_issue".into(), json!(epic));
            }
            if !files.is_empty() {
                context.insert("files".into(), json!(files));
            }
            TaskContract {
                kind: Some(kind),
                role: Some(role.to_owned()),
                goal: goal.trim_end().to_owned(),
                context,
                requirements,
                other: other.into_iter().collect(),
            }
        })
}

proptest! {
    #[test]
    fn a_task_contract_reads_back_unchanged_bare_and_fenced(contract in any_task()) {
        let written = contract.render();
        prop_assert_eq!(&task(&written), &contract, "{}", written);
        prop_assert_eq!(task(&fenced(&written)), contract, "{}", written);
    }

    #[test]
    fn a_contract_goes_through_a_task_and_back_without_loss(contract in any_task(), titled in any::<bool>()) {
        let text = contract.render();
        let tree = check(&text, "neo-task").tree.unwrap();
        let new = new_task(&text, &tree, titled.then_some("A title"));
        let back = written(&made(&new), new.body.as_deref());
        prop_assert_eq!(&back.text, &text);
        prop_assert_eq!(back.contract, text);
    }

    #[test]
    fn a_task_that_changed_is_written_into_the_body_it_came_from(
        contract in any_task(),
        now in any_task(),
        body in proptest::sample::select(vec![false, true]),
    ) {
        let text = if body {
            format!("---\nid: 7\ntitle: Old\n---\nBefore.\n\n{}\nAfter.\n", fenced(&contract.render()))
        } else {
            contract.render()
        };
        let tree = check(&text, "neo-task").tree.unwrap();
        let came = new_task(&text, &tree, None);
        let task = made(&now.new_task(None));
        let back = written(&task, came.body.as_deref());
        let read = check(&back.text, "neo-task").tree.unwrap();
        let again = made(&new_task(&back.text, &read, None));
        prop_assert_eq!(&again, &task, "{}", back.text);
        prop_assert_eq!(TaskContract::of(&read).other, contract.other);
        if body {
            let around = back.text.starts_with("---\nid: 7\n") && back.text.ends_with("```\n\nAfter.\n");
            prop_assert!(around, "{}", back.text);
        }
    }

    #[test]
    fn results_and_reports_read_back_unchanged(
        url in proptest::option::of("https://[a-z]{1,8}/pull/[0-9]{1,3}"),
        files in proptest::collection::btree_set("[a-z]{1,6}\\.rs", 0..3),
        words in proptest::collection::vec(word(), 4),
        attempts in proptest::option::of(0..9u32),
    ) {
        let result = ResultContract {
            status: "success".into(),
            pr_url: url,
            files_modified: files.into_iter().collect(),
            test_results: Some(words[0].clone()),
            more: beside(json!(words[1])),
        };
        let checked = check(&result.render(), "neo-result");
        prop_assert!(checked.is_valid(), "{:?}\n{}", checked.problems, result.render());
        prop_assert_eq!(ResultContract::of(&checked.tree.unwrap()), result);
        let error = ErrorContract {
            reason: words[1].clone(),
            error_log: Some(words.join("\n")),
            attempts,
            request: Some(words[2].clone()),
            more: beside(json!(words[3])),
        };
        let checked = check(&error.render(), "neo-error");
        prop_assert!(checked.is_valid(), "{:?}\n{}", checked.problems, error.render());
        prop_assert_eq!(ErrorContract::of(&checked.tree.unwrap()), error);
    }

    #[test]
    fn no_text_makes_the_readers_fail(text in any::<String>(), lines in proptest::collection::vec(word(), 0..6)) {
        for text in [text, lines.join("\n"), lines.join("\n> ")] {
            contract::check(&text, None, Mode::Full);
            for name in ["neo-task", "neo-result", "neo-error"] {
                let checked = check(&text, name);
                if let Some(tree) = checked.tree {
                    let new = new_task(&text, &tree, None);
                    written(&made(&NewTask::default()), new.body.as_deref());
                    TaskContract::of(&tree).render();
                    ResultContract::of(&tree).render();
                    ErrorContract::of(&tree).render();
                }
            }
            let _ = read_plan(&text);
            let _ = read_pushes(&text);
        }
    }
}

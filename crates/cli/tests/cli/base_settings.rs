//! Submitted work is judged by the settings of the base branch. With one checkout, the root's files are those of the work.

use crate::collab::Rpc;
use crate::mcp::Client;
use crate::people::{Server, token};
use crate::sandbox::Sandbox;
use crate::whose_work::typed_context;
use comity_api::{RecordGate, op};
use comity_core::command::{Command, TaskVerb};
use comity_project::store::Access;
use serde_json::{Value, json};

const CONFIG: &str = ".comity/config.toml";
const STRICT: &str = "[gates]\nrequired = [\"tests\"]\n[guard]\nundeclared = \"refuse\"\n[roles]\n";
const LOOSE: &str = "[gates]\nrequired = []\n[guard]\nundeclared = \"allow\"\nland = \"off\"\n\
                     [roles]\nimplementer = [\"approve\", \"merge\", \"done\", \"waive\"]\n";

/// A project whose base branch demands a gate and declared files. An agent has begun its task there.
fn begun() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["init", "--clients", "none"]);
    sandbox.write(CONFIG, STRICT);
    sandbox.commit(&sandbox.root, "Settings");
    sandbox.json(&["task", "create", "Work", "--file", "a.rs"]);
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    sandbox
}

/// The same with the agent's branch checked out, which demands nothing.
fn project() -> Sandbox {
    let sandbox = begun();
    sandbox.git(&sandbox.root, &["switch", "--quiet", "-c", "work"]);
    sandbox.write(CONFIG, LOOSE);
    sandbox.write("a.rs", "one\n");
    sandbox
}

/// Takes the loose settings into the work and hands it in, as far as the strict ones allow.
fn handed_in(sandbox: &Sandbox) {
    sandbox.commit(&sandbox.root, "Work");
    let (error, _) = sandbox.comity().by("ada").args(&["task", "submit", "T1"]).refusal();
    assert_eq!(error["code"], "undeclared-files", "{error}");
    sandbox.comity().by("ada").args(&["lease", "acquire", CONFIG, "--task", "T1"]).json();
    sandbox.comity().by("ada").args(&["task", "submit", "T1"]).json();
}

/// Goes on up to the end of the task by the strict settings; whatever the loose ones would allow is refused on the way.
fn judged_strictly(sandbox: &Sandbox) {
    let by = |agent: &str, args: &[&str]| sandbox.comity().by(agent).args(args);
    let code = |agent: &str, args: &[&str]| by(agent, args).refusal().0["code"].clone();
    let waive = ["gate", "waive", "T1", "tests", "--reason", "mine"];
    assert_eq!(code("bob", &waive), "role-forbidden");
    assert_eq!(code("bob", &["task", "approve", "T1"]), "role-forbidden");
    assert_eq!(code("human:ann", &["task", "approve", "T1"]), "gate-unmet");
    by("human:ann", &["gate", "record", "T1", "tests", "pass"]).json();
    by("human:ann", &["task", "approve", "T1"]).json();
    assert_eq!(code("bob", &["task", "merge", "T1"]), "role-forbidden");
    by("human:ann", &["task", "merge", "T1"]).json();
    assert_eq!(code("bob", &["task", "done", "T1"]), "role-forbidden");
}

#[test]
fn work_on_the_base_branch_itself_is_judged_by_the_settings_before_it() {
    let sandbox = begun();
    sandbox.write(CONFIG, LOOSE);
    sandbox.write("a.rs", "one\n");
    sandbox.commit(&sandbox.root, "Early work");
    let waive = ["gate", "waive", "T1", "tests", "--reason", "mine"];
    let (error, _) = sandbox.comity().by("bob").args(&waive).refusal();
    assert_eq!(error["code"], "role-forbidden", "nothing is handed in yet: {error}");
    sandbox.write("a.rs", "two\n");
    handed_in(&sandbox);
    judged_strictly(&sandbox);
    let done = sandbox.comity().by("human:ann").args(&["task", "done", "T1"]).json();
    assert_eq!(done["task"]["status"], "done");
}

#[test]
fn work_does_not_choose_its_own_base_branch() {
    let sandbox = begun();
    let main = sandbox.git(&sandbox.root, &["rev-parse", "main"]);
    sandbox.git(&sandbox.root, &["switch", "--quiet", "-c", "work"]);
    sandbox.write(CONFIG, &format!("[project]\nbase = \"work\"\n{LOOSE}"));
    sandbox.write("a.rs", "one\n");
    handed_in(&sandbox);
    judged_strictly(&sandbox);
    let (error, _) = sandbox.comity().by("human:ann").args(&["task", "done", "T1"]).refusal();
    assert_eq!((&error["code"], &error["details"]["merged"]), (&json!("not-merged"), &json!(main)));
    // In the next round, too: what is handed in then began where the first round began.
    sandbox.comity().by("human:ann").args(&["task", "request-changes", "T1"]).json();
    sandbox.comity().by("ada").args(&["task", "start", "T1"]).json();
    sandbox.write("a.rs", "two\n");
    sandbox.commit(&sandbox.root, "More work");
    sandbox.comity().by("ada").args(&["task", "submit", "T1"]).json();
    let (error, _) = sandbox.comity().by("bob").args(&["task", "approve", "T1"]).refusal();
    assert_eq!(error["code"], "role-forbidden", "{error}");
}

#[test]
fn settings_that_somebody_changes_on_the_base_branch_meanwhile_judge_work_on_another() {
    let sandbox = project();
    handed_in(&sandbox);
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    sandbox.write(CONFIG, "[gates]\nrequired = [\"lint\"]\n[roles]\nobserver = [\"approve\"]\n");
    sandbox.commit(&sandbox.root, "Other settings");
    sandbox.git(&sandbox.root, &["switch", "--quiet", "work"]);
    let approve = || sandbox.comity().by("eye").args(&["task", "approve", "T1"]);
    let register = ["agent", "register", "eye", "--role", "observer"];
    sandbox.comity().by("human:ann").args(&register).json();
    let (error, _) = approve().refusal();
    assert!(error["message"].as_str().unwrap().contains("lint"), "{error}");
    sandbox.comity().by("human:ann").args(&["gate", "record", "T1", "lint", "pass"]).json();
    assert_eq!(approve().json()["task"]["status"], "approved");
}

/// What a door says to an agent that approves T1: a code.
type Review = fn(&Sandbox, &str) -> Value;

const REVIEWS: [(&str, Review); 8] = [
    ("the command line", |sandbox, agent| {
        sandbox.comity().by(agent).args(&["task", "approve", "T1"]).refusal().0["code"].clone()
    }),
    ("a transition", |sandbox, agent| {
        let args = ["task", "transition", "T1", "approved"];
        sandbox.comity().by(agent).args(&args).refusal().0["code"].clone()
    }),
    ("several steps", |sandbox, agent| {
        let steps = vec![TaskVerb::Approve.on("T1".to_owned(), None)];
        let command = Command::Several { ids: vec!["T1".to_owned()], steps };
        let context = typed_context(sandbox, agent, &sandbox.root);
        let service = context.service(Access::Write).unwrap();
        json!(service.run(&context.caller(), command).unwrap_err().code.as_str())
    }),
    ("JSON-RPC", |sandbox, agent| {
        let mut rpc = Rpc::start(&sandbox.root, agent);
        let wish = json!({"id": "T1", "new_status": "approved"});
        let said = rpc.fails("transition_task", &wish);
        rpc.end();
        let unmet = said.contains("tests");
        json!(if unmet { "gate-unmet" } else { "role-forbidden" })
    }),
    ("a contract", |sandbox, agent| {
        let report = include_str!("../../../protocol/tests/golden/neotx/reviewer.json");
        let report = report.replace("CRITICAL", "WARNING");
        let args = ["contract", "apply", "-", "--task", "T1"];
        let call = sandbox.comity().by(agent).args(&args).stdin(&report);
        call.refusal().0["code"].clone()
    }),
    ("MCP", |sandbox, agent| {
        let args = ["--as", agent, "mcp", "--client", "codex"];
        let mut client = Client::start(sandbox, &args, &[], "t");
        let verdict = json!({"task": "T1", "verdict": "approve"});
        client.refused("review_task", &verdict)["code"].clone()
    }),
    ("HTTP", |sandbox, agent| {
        let server = Server::start(sandbox, &[]);
        let headers = token(sandbox, agent, &[]);
        let path = "/api/v1/tasks/T1/approve";
        server.send("POST", path, &headers, Some(&json!({}))).json()["code"].clone()
    }),
    ("the typed call", |sandbox, agent| {
        let context = typed_context(sandbox, agent, &sandbox.root);
        let service = context.service(Access::Write).unwrap();
        let reason = serde_json::from_value(json!({"id": "T1"})).unwrap();
        let refusal = service.call::<op::TaskApprove>(&context.caller(), reason).unwrap_err();
        json!(refusal.code.as_str())
    }),
];

#[test]
fn rule_3_3_one_review_gets_the_same_verdict_at_every_door() {
    let sandbox = project();
    handed_in(&sandbox);
    let register = ["agent", "register", "eve", "--role", "critic"];
    sandbox.comity().by("human:ann").args(&register).json();
    for (name, review) in REVIEWS {
        assert_eq!(review(&sandbox, "bob"), "role-forbidden", "{name}");
        assert_eq!(review(&sandbox, "eve"), "gate-unmet", "{name}");
    }
    let status = sandbox.json(&["task", "show", "T1"])["task"]["status"].clone();
    assert_eq!(status, "review");
}

/// Records the gate `tests` at one door; returns the gate as that door shows it.
type Record = fn(&Sandbox) -> Value;

const RECORDS: [(&str, Record); 3] = [
    ("the command line", |sandbox| {
        let args = ["gate", "record", "T1", "tests", "pass"];
        sandbox.comity().by("eve").args(&args).json()["gate"].clone()
    }),
    ("HTTP", |sandbox| {
        let server = Server::start(sandbox, &[]);
        let headers = token(sandbox, "eve", &[]);
        let body = json!({"gate": "tests", "pass": true});
        let heard = server.send("POST", "/api/v1/gates/T1/record", &headers, Some(&body));
        heard.json()["gate"].clone()
    }),
    ("the typed call", |sandbox| {
        let context = typed_context(sandbox, "eve", &sandbox.root);
        let service = context.service(Access::Write).unwrap();
        let (id, gate) = ("T1".to_owned(), "tests".to_owned());
        let input = RecordGate { id, gate, pass: true, report: None, commit: None, new: false };
        let answer = service.call::<op::GateRecord>(&context.caller(), input).unwrap();
        serde_json::to_value(answer.gate).unwrap()
    }),
];

#[test]
fn rule_3_1_a_gate_that_the_base_branch_requires_is_required_at_every_door() {
    let sandbox = project();
    handed_in(&sandbox);
    let register = ["agent", "register", "eve", "--role", "critic"];
    sandbox.comity().by("human:ann").args(&register).json();
    for (name, record) in RECORDS {
        let gate = record(&sandbox);
        let shown = (&gate["name"], &gate["required"], &gate["state"]);
        assert_eq!(shown, (&json!("tests"), &json!(true), &json!("met")), "{name}: {gate}");
    }
}

#[test]
fn the_settings_that_work_brings_along_do_not_judge_it() {
    let sandbox = project();
    sandbox.write("b.rs", "one\n");
    sandbox.commit(&sandbox.root, "Work");
    let by = |agent: &str, args: &[&str]| sandbox.comity().by(agent).args(args).refusal().0;
    let error = by("ada", &["task", "submit", "T1"]);
    assert_eq!(error["code"], "undeclared-files", "{error}");
    sandbox.comity().by("ada").args(&["lease", "acquire", "b.rs", CONFIG, "--task", "T1"]).json();
    sandbox.comity().by("ada").args(&["task", "submit", "T1"]).json();
    assert_eq!(by("bob", &["task", "approve", "T1"])["code"], "role-forbidden");
    let error = by("human:ann", &["task", "approve", "T1"]);
    assert_eq!(error["code"], "gate-unmet", "{error}");
    let known = sandbox.comity().by("human:ann").args(&["gate", "record", "T1", "tests", "pass"]);
    assert_eq!(known.json()["gate"]["required"], true);
    sandbox.comity().by("human:ann").args(&["task", "approve", "T1"]).json();
    assert_eq!(by("bob", &["task", "merge", "T1"])["code"], "role-forbidden");
}

#[test]
fn what_another_has_leased_does_not_land_because_the_work_switches_the_rule_off() {
    let sandbox = project();
    sandbox.comity().by("bob").args(&["lease", "acquire", CONFIG]).json();
    sandbox.commit(&sandbox.root, "Work");
    for args in [&["guard", "check", "T1"][..], &["task", "submit", "T1"]] {
        let (error, _) = sandbox.comity().by("ada").args(args).refusal();
        assert!(
            ["lease-held", "undeclared-files"].contains(&error["code"].as_str().unwrap()),
            "{args:?}: {error}"
        );
    }
}

#[test]
fn settings_of_the_base_branch_that_make_no_sense_are_named() {
    let sandbox = project();
    sandbox.commit(&sandbox.root, "Work");
    sandbox.git(&sandbox.root, &["switch", "--quiet", "main"]);
    sandbox.write(CONFIG, "[gates]\nrequired = 3\n");
    sandbox.commit(&sandbox.root, "Broken settings");
    sandbox.git(&sandbox.root, &["switch", "--quiet", "work"]);
    let (error, exit) = sandbox.comity().by("ada").args(&["task", "submit", "T1"]).refusal();
    assert_eq!((error["code"].as_str(), exit), (Some("invalid-input"), 2), "{error}");
    assert!(error["message"].as_str().unwrap().contains(":.comity/config.toml"), "{error}");
}

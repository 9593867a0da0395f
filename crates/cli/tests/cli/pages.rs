//! What the pages of the dashboard are told, beyond what the tests of the browser look at.

use crate::people::{Server, project};
use serde_json::json;

#[test]
fn an_agent_that_was_refused_a_file_and_holds_nothing_is_said_to_wait_for_it() {
    let sandbox = project();
    let by = |who: &str, args: &[&str]| sandbox.comity().by(who).args(args).json();
    by("w1", &["task", "claim", "T1", "--start"]);
    by("w2", &["agent", "register", "w2", "--role", "implementer"]);
    let refused = r#"{"event": "write_refused", "path": "src/date/a.rs", "holder": "w1"}"#;
    by("w2", &["event", "emit", refused]);
    let server = Server::start(&sandbox, &[]);
    let page = server.session();
    let crew = server.get("/api/v1/crew", &page).json();
    let member = |id: &str| {
        crew["agents"].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap().clone()
    };
    let waits = member("w2");
    assert_eq!((&waits["group"], &waits["doing"]), (&json!("waiting"), &json!("for_file")));
    assert!(waits["words"].as_str().unwrap().starts_with("`a.rs`, "), "{waits}");
    assert_eq!(member("w1")["group"], "at_work");
    by("w1", &["task", "release", "T1"]);
    let after = server.get("/api/v1/crew", &page).json();
    assert!(after["agents"].as_array().unwrap().iter().all(|one| one["doing"] != "for_file"));
}

#[test]
fn the_tree_counts_what_nobody_holds_beside_what_is_held() {
    let sandbox = project();
    for file in ["src/date/a.rs", "src/date/b.rs", "src/lib.rs", "src/time.rs"] {
        sandbox.write(file, "");
    }
    sandbox.commit(&sandbox.root, "Some files");
    sandbox.comity().by("w1").args(&["lease", "acquire", "src/lib.rs"]).json();
    let server = Server::start(&sandbox, &[]);
    let tree = server.get("/api/v1/tree", &server.session()).json();
    assert_eq!(tree["free"]["src/"], 3, "{tree}");
    assert!(tree["free"][""].as_u64().unwrap() >= 3 && tree["free"].get("src/date/").is_none());
}

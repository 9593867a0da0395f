//! Webhooks are hints: lost, doubled and late ones change nothing but the time.

use crate::field_of;
use comity_standin::{ANN, Delivery, Engine, Field, Seed, at};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const SECRET: &str = "s3cret-of-the-hook";

struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(engine: &Engine) -> Server {
    let mut command = engine.comity(ANN, &["github", "serve", "--listen", "127.0.0.1:0"]);
    command.env("HOOK_SECRET", SECRET).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.find(|line| line.contains("127.0.0.1:")).unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    let port: String = first
        .split("127.0.0.1:")
        .nth(1)
        .unwrap()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    Server { child, url: format!("http://127.0.0.1:{port}/webhook") }
}

fn wait_for(what: &str, most: Duration, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + most;
    while !is_so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn hooked() -> Option<Field> {
    // Only who administers a repository sees its hooks.
    let mut seed = Seed::default();
    seed.levels[0].2 = "admin".to_owned();
    field_of("ace", "webhook_secret_env = [\"HOOK_SECRET\"]\npoll = \"1h\"", &seed)
}

#[test]
fn a_hint_is_followed_whether_it_comes_once_twice_or_late() {
    let Some(field) = hooked() else { return };
    let engine = field.engine("one");
    engine.settle();
    let server = serve(&engine);
    let hook = json!({ "name": "web", "active": true, "events": ["issues", "issue_comment"], "config": { "url": server.url, "secret": SECRET, "content_type": "json" } });
    field.hub.person("ann", "POST", &at("hooks"), hook);
    let patience = Duration::from_secs(60);
    field.open("ann", "First", "Do it.", &["agent:ready"]);
    wait_for("a task by a hint", patience, || engine.tasks().len() == 1);
    field.hub.hooks.set(Delivery::Double);
    field.open("ann", "Second", "Do it.", &["agent:ready"]);
    wait_for("a task by two hints", patience, || engine.tasks().len() == 2);
    field.hub.hooks.set(Delivery::Hold);
    field.open("ann", "Third", "Do it.", &["agent:ready"]);
    wait_for("held deliveries", patience, || field.hub.hooks.held() >= 2);
    field.hub.hooks.set(Delivery::Pass);
    field.hub.hooks.release();
    wait_for("a task by late hints", patience, || engine.tasks().len() == 3);
    let answers = field.hub.hooks.answers();
    assert!(answers.iter().all(|(_, status)| [200, 202, 204].contains(status)), "{answers:?}");
    assert!(
        answers.iter().any(|(_, status)| *status == 200),
        "a known delivery is known: {answers:?}"
    );
    let checks = engine.json(ANN, &["github", "doctor"])["checks"].to_string();
    assert!(checks.contains("\"hooks\"") && checks.contains("all hooks deliver (1)"), "{checks}");
    drop(server);
    // A lost one is found by the next pass.
    field.hub.hooks.set(Delivery::Drop);
    field.open("ann", "Fourth", "Do it.", &["agent:ready"]);
    engine.settle();
    assert_eq!(engine.tasks().len(), 4);
}

#[test]
fn all_published_payloads_are_read_and_none_commands() {
    let Some(field) = hooked() else { return };
    let engine = field.engine("one");
    engine.settle();
    let server = serve(&engine);
    let head = engine.head();
    let said = field.hub.script("examples.mjs", &[&server.url, SECRET]).unwrap();
    assert!(said.contains("329 payloads"), "{said}");
    assert_eq!(engine.head(), head);
    assert_eq!(engine.tasks().len(), 0);
}

//! Whatever is read from GitHub: no text stops comity, and none says more than it may.

use crate::bus::IssueKey;
use crate::client::next_page;
use crate::hook::about;
use crate::inbound::queues;
use crate::intake::new_task;
use crate::model::{self, Comment, Issue, IssueEvent, Item, Pull, Review};
use crate::text;
use comity_protocol::labels::Dialect;
use proptest::prelude::*;
use serde_json::{Value, json};

#[expect(clippy::disallowed_methods, reason = "the environment says how long tests may take")]
fn cases() -> u32 {
    if std::env::var_os("COMITY_LONG").is_some() { 10_000 } else { 200 }
}

/// Texts of pieces that mean something, and of anything else.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<!-- comity op=0a1b2c3d/7.aabbcc/claim -->".to_owned()),
        prop::sample::select(vec![
            "<!--",
            "-->",
            "```",
            "~~~",
            "\r\n",
            "\n",
            "@ann",
            "ANSWER:",
            "accept 0a1b2c3d",
            "#7",
            "<https://h/a?page=2>",
            "; rel=\"next\"",
            ",",
            "acme/app",
            "/issues/",
            "role: [",
            "# AGENT TASK CONTRACT",
            "\u{1F980}",
            "\u{0}",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,12}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// A payload with any text where text is expected, and other things where it is not.
fn any_payload() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any_text().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(Value::Null),
        Just(json!(true)),
    ];
    (leaf.clone(), leaf.clone(), leaf.clone(), leaf).prop_map(|(a, b, c, d)| {
        json!({"id": a, "number": b, "title": c, "body": d, "state": a, "user": {"login": b}, "labels": [{"name": c}, d],
            "assignees": b, "issue": {"number": b}, "pull_request": c, "repository": {"full_name": d}, "event": a,
            "actor": {"login": c}, "label": {"name": d}, "head": {"sha": a, "ref": b}, "content": c, "fields": [d]})
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_stops_a_reader(text in any_text()) {
        for mark in text::marks(&text) {
            let _ = text::engine_of(&mark);
        }
        if let Some(hash) = text::accepts(&text) {
            prop_assert!(hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
        prop_assert!(!text::without_hidden(&text).contains("<!--"), "{text:?}");
        let sent = text::marked(&text::outgoing(&text), &["0a1b2c3d/9.aabbcc/note".to_owned()]);
        prop_assert_eq!(text::marks(&sent), vec!["0a1b2c3d/9.aabbcc/note".to_owned()], "{}", sent);
        let _ = (next_page(&text), IssueKey::parse(&text, "acme/app"), IssueKey::of_url(&text));
        let issue = Issue { title: text.clone(), body: text, ..Issue::default() };
        for dialect in [Dialect::neo(), Dialect::ace()] {
            let _ = new_task(&issue, &dialect);
        }
    }

    #[test]
    fn no_payload_stops_a_reader(payload in any_payload()) {
        let _ = (model::one::<Issue>(&payload), model::one::<Comment>(&payload), model::one::<Pull>(&payload));
        let _ = (model::one::<Review>(&payload), model::one::<Item>(&payload));
        let _ = queues(&model::one::<IssueEvent>(&payload), "agent:ready");
        if let Some(key) = about(&payload) {
            prop_assert!(comity_project::github::is_repository(&key.repository));
        }
    }
}

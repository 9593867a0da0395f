use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::time::{Duration, Instant};

fn value(text: &str) -> Value {
    read(text).unwrap().to_value()
}

fn fault(text: &str) -> (String, u32, u32) {
    let fault = read(text).unwrap_err();
    (fault.message, fault.at.line, fault.at.column)
}

#[test]
fn every_node_and_key_knows_its_place() {
    let root = read("a: 1\nb:\n  - x\n  - c: 'd'\n").unwrap();
    assert_eq!(root.entry("b").unwrap().key_at, Place { line: 2, column: 1 });
    assert_eq!(root.place_of("a"), Place { line: 1, column: 4 });
    assert_eq!(root.place_of("b[0]"), Place { line: 3, column: 5 });
    assert_eq!(root.place_of("b[1].c"), Place { line: 4, column: 8 });
    assert_eq!(root.place_of("b[1].missing"), Place { line: 4, column: 5 });
    let root = read("{\n  \"ä\": [true,\n    null]}").unwrap();
    assert_eq!(root.entry("ä").unwrap().key_at, Place { line: 2, column: 3 });
    assert_eq!(root.place_of("ä[1]"), Place { line: 3, column: 5 });
}

#[test]
fn scalars_resolve_as_the_original_reader_resolves_them() {
    let text = "[~, null, '', true, TRUE, yes, 1, 0x1F, 0b11, 0o17, 1_000, -3, 1.5, 1e3, .inf, 1.0, '1', 12e, 1.2.3, +, 08]";
    let expected = json!([
        null, null, "", true, true, "yes", 1, 31, 3, 15, 1000, -3, 1.5, 1000.0, ".inf", 1.0, "1",
        "12e", "1.2.3", "+", 8
    ]);
    assert_eq!(value(text), expected);
    let text = "[-.5, +.5, .5, -.5e3, 0x_1, 0b_1, _1, 1_, 0x1_, -0x1F]";
    assert_eq!(value(text), json!(["-.5", "+.5", 0.5, "-.5e3", 1, 1, "_1", "1_", "0x1_", -31]));
}

#[test]
fn a_number_keeps_its_text_so_that_versions_can_be_compared() {
    let root = read("a: 1.0\nb: 1\nc: '1.0'").unwrap();
    let written = |key: &str| root.get(key).unwrap().written().unwrap();
    assert_eq!(
        (written("a"), written("b"), written("c")),
        ("1.0".into(), "1".into(), "1.0".into())
    );
    assert!(root.get("c").unwrap().text().is_some() && root.get("a").unwrap().text().is_none());
}

#[test]
fn key_order_and_unknown_keys_are_kept() {
    let keys = |text: &str| {
        read(text).unwrap().entries().iter().map(|e| e.key.clone()).collect::<Vec<_>>()
    };
    assert_eq!(keys("z: 1\na: 2\n7: 3\nm: 4"), ["z", "a", "7", "m"]);
    assert_eq!(keys(r#"{"z":1,"a":2,"7":3}"#), ["z", "a", "7"]);
}

#[test]
fn a_key_given_twice_is_refused_with_its_place() {
    let said = "the key \"a\" is given twice; first on line 1".to_owned();
    assert_eq!(fault("a: 1\nb: 2\na: 3\n"), (said.clone(), 3, 1));
    assert_eq!(fault("{\"a\": 1,\n \"a\": 2}"), (said, 2, 2));
}

#[test]
fn a_second_document_or_prose_after_one_is_refused_with_its_place() {
    let (message, line, _) = fault("---\nstatus: completed\n---\n\nAll done, have a look.\n");
    assert!(message.contains("expected a single document"), "{message}");
    assert_eq!(line, 3);
    assert_eq!(fault("a: 1\n---\nb: 2\n").1, 2);
    let (message, line, column) = fault("{\"a\": 1}\nDone.\n");
    assert_eq!((message.as_str(), line, column), ("text after the end of the JSON document", 2, 1));
    assert_eq!(value("---\na: 1\n...\n"), json!({"a": 1}));
}

#[test]
fn nothing_at_all_is_null() {
    assert_eq!(value(""), Value::Null);
    assert_eq!(value("# only a comment\n"), Value::Null);
    assert_eq!(value("\u{feff}a: 1"), json!({"a": 1}));
}

#[test]
fn json_that_is_no_yaml_is_read_and_flow_yaml_that_is_no_json() {
    assert_eq!(value(r#"{"a":"\ud83d\ude00\/","b":[]}"#), json!({"a": "😀/", "b": []}));
    assert_eq!(value("{a: b, c: [d, 'e']}"), json!({"a": "b", "c": ["d", "e"]}));
    assert!(fault(r#"{"a": "\ud83d"}"#).0.contains("escape"));
    assert!(fault("{\"a\": [1, 2}").1 == 1);
}

#[test]
fn aliases_and_merges_are_followed() {
    let text = "base: &b {x: 1, y: 2}\nall:\n  <<: *b\n  y: 3\nagain: *b\n";
    let expected =
        json!({"base": {"x": 1, "y": 2}, "all": {"x": 1, "y": 3}, "again": {"x": 1, "y": 2}});
    assert_eq!(value(text), expected);
    assert!(fault("a: &a [*a]\n").0.contains("alias"));
    assert!(fault("a: *nowhere\n").0.contains("anchor"));
}

#[test]
fn a_small_text_cannot_become_a_large_tree() {
    let mut text = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let below = format!("*l{}", level - 1);
        text += &format!("l{level}: &l{level} [{}]\n", [below.as_str(); 10].join(", "));
    }
    assert!(fault(&text).0.contains("more than 100000 values"));
    let long = format!("a: &a '{}'\nb: [{}]\n", "x".repeat(100_000), ["*a"; 60].join(", "));
    assert!(fault(&long).0.contains("by its aliases"));
    assert!(fault(&"x".repeat(BYTES_MAX + 1)).0.contains("at most"));
}

#[test]
fn deep_nesting_is_refused_whatever_it_is_made_of() {
    let flow = "[".repeat(100);
    let closed = format!("{flow}{}", "]".repeat(100));
    let block = "- ".repeat(5_000);
    let maps: String = (0..100).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    for text in [flow, closed, block, maps, "{\"a\":".repeat(500_000 / 5)] {
        let message = fault(&text).0;
        assert!(message.contains("deeper than 64"), "{message}");
    }
}

#[test]
fn tags_are_the_ordinary_ones_or_refused() {
    assert_eq!(value("a: !!str 1\nb: !!int '2'\nc: ! 3"), json!({"a": "1", "b": 2, "c": "3"}));
    assert!(fault("a: !!python/object:os.system x").0.contains("not known"));
    assert!(fault("a: !thing [x]").0.contains("not known"));
    assert!(fault("a: !!int x").0.contains("no !!int"));
    let text = "a: !!timestamp 2020-01-01\nb: !!float 1\nc: !!null\nd: !!int 0x1F";
    assert_eq!(value(text), json!({"a": "2020-01-01", "b": 1, "c": null, "d": 31}));
    let text = "a: !!omap [{x: 1}, {y: 2}]\nb: !!binary |\n  aGVs\n  bG8=\n";
    assert_eq!(value(text), json!({"a": [{"x": 1}, {"y": 2}], "b": "aGVsbG8="}));
    for wrong in [
        "!!binary 'a b'",
        "!!int 1.5",
        "!!float 0x1F",
        "!!null ''",
        "!!timestamp soon",
        "!!bool yes",
    ] {
        assert!(fault(&format!("a: {wrong}")).0.starts_with("this value is no !!"), "{wrong}");
    }
}

#[test]
fn control_characters_are_refused_with_their_place() {
    assert_eq!(
        fault("a: b\nc: d\0e\n"),
        ("the control character U+0000 is not allowed".into(), 2, 5)
    );
}

#[test]
fn large_and_odd_texts_are_read_or_refused_in_bounded_time() {
    let many = |piece: &str| piece.repeat(BYTES_MAX / 2 / piece.len());
    let keys: String = (0..90_000).map(|n| format!("k{n}: \n")).collect();
    let texts = [
        many("a"),
        many("a: "),
        many("? "),
        many("- a\n"),
        many("["),
        many("{a: "),
        many("\"a\" "),
        many("&a "),
        many("*a "),
        many("!t "),
        many("# \n"),
        many("\n"),
        many(" "),
        many("\t"),
        many("'"),
        many("|\n "),
        many(">\n\n"),
        many("a:\n"),
        many("a\n"),
        many("- \n"),
        many("{},"),
        many("%TAG ! x\n"),
        many("...\n"),
        many("---\n"),
        many("\\"),
        many("[a, b]: "),
        keys,
        many("x y\n "),
        many("\"\\u0041"),
        many("[{"),
        many(": "),
        many("a: b\n "),
        many("<<: 1\n"),
    ];
    for text in texts {
        let before = Instant::now();
        let _ = read(&text);
        let head: String = text.chars().take(10).collect();
        assert!(before.elapsed() < Duration::from_secs(5), "{head:?}: {:?}", before.elapsed());
    }
}

#[test]
fn yaml_is_written_as_people_write_it() {
    let data = json!({
        "version": "1", "task_id": "T042", "plain": "a plain text", "none": null, "empty": "",
        "yes": "no", "time": "2025-01-15T10:30:00Z", "colon": "a: b", "hash": "a #b", "dash": "- a",
        "quote": "it's", "tab": "a\tb", "lines": "one\ntwo\n", "open": "one\ntwo",
        "list": ["a", 1, {"b": "c", "d": ["e"]}, [], {}, ["x", "y"]],
        "goal": "fold me", "deep": {"text": "single"},
    });
    let style = Style { literal: &["deep.text"], folded: &["goal"], quoted: &["task_id"] };
    let expected = r#"version: '1'
task_id: "T042"
plain: a plain text
none: null
empty: ''
'yes': 'no'
time: '2025-01-15T10:30:00Z'
colon: 'a: b'
hash: 'a #b'
dash: '- a'
quote: it's
tab: "a\tb"
lines: |
  one
  two
open: |-
  one
  two
list:
  - a
  - 1
  - b: c
    d:
      - e
  - []
  - {}
  - - x
    - 'y'
goal: >-
  fold me
deep:
  text: |-
    single
"#;
    assert_eq!(to_yaml(&data, &style), expected);
    assert_eq!(value(expected), data);
}

fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a", "B", " ", "  ", "\n", "\n\n", "\t", ":", ": ", " #", "#", "-", "- ", "'", "\"", "\\",
        "|", ">", "1", "0x", ".", "e3", "~", "null", "true", "é", "😀", "\u{85}", "\u{2028}", "\r",
        "{", "}", "[", "]", ",", "&", "*", "!", "%", "@", "`", "---", "...", "<<", "=", "?",
        "word", "\u{1}",
    ]);
    prop_oneof![
        prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat()),
        prop::collection::vec("[a-z]{1,12}", 0..40).prop_map(|words| words.join(" ")),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9f64..1e9).prop_map(Value::from),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((texts(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn what_is_written_as_yaml_is_read_as_the_same(data in values()) {
        let text = to_yaml(&data, &Style::default());
        prop_assert_eq!(read(&text).map(|node| node.to_value()), Ok(data), "{}", text);
    }

    #[test]
    fn folded_literal_and_quoted_text_is_read_as_the_same(text in texts()) {
        let data = json!({"a": text, "b": {"c": text}, "d": text, "e": 1});
        let style = Style { folded: &["a"], literal: &["b.c"], quoted: &["d"] };
        let written = to_yaml(&data, &style);
        prop_assert_eq!(read(&written).map(|node| node.to_value()), Ok(data), "{}", written);
    }

    #[test]
    fn what_is_written_as_json_is_read_as_the_same(data in values()) {
        let data = json!([data]);
        prop_assert_eq!(json::read(&data.to_string()).map(|node| node.to_value()), Ok(data));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}", odd in texts()) {
        let _ = read(&text);
        let _ = read(&odd);
        let _ = read(&format!("{{{odd}"));
    }
}

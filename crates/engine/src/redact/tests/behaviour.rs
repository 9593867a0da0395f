use super::*;
use crate::redact::KnownSecrets;

const SURVIVORS: &[&str] = &[
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "\"integrity\": \"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg\
     5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==\"",
    "550e8400-e29b-41d4-a716-446655440000",
    "token=550e8400-e29b-41d4-a716-446655440000",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "/usr/local/lib/python3.12/site-packages/token/__init__.py",
    "C:\\Users\\alice\\AppData\\token.json",
    "crates/engine/src/redact/tests.rs:42:17",
    "v1.2.3-beta.4+build.5",
    "https://example.org/a/b?page=2&sort=token#frag",
    "http://localhost:8080/login?next=/@alice",
    "ssh://git@github.com:22/owner/repo.git",
    "https://alice@example.org/path",
    "git@github.com:owner/repo.git",
    "deploy@git.example.org:srv/repo.git",
    "@scope/pkg@1.2.3",
    "@types/node@20.1.0-rc.beta",
    "actions/checkout@v4.1.x",
    "icon@2x.png",
    "getty@tty1.service",
    "the token bucket algorithm limits tokens: 4096 per second",
    "password: required",
    "password: optional, secret: disabled",
    "PASSWORD=${PASSWORD}",
    "token: $GITHUB_TOKEN",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "--token <token> --password <password>",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: required for every request",
    "use Basic authentication or a bearer certificate instead",
    "postgres://user:${DB_PASSWORD}@localhost/db",
    "postgres://user:****@localhost/db",
    "PWD=/home/alice/work/project-7",
    "password_hash_rounds=12345678 token_count=1234567890123456",
    "nextPageToken: CAUQAAabc123def456ghi789",
    "secretName: my-kubernetes-secret-name",
    "let token = self.lexer.next_token(input2);",
    "let token: Token = Token::new(Kind::Ident, 12..34);",
    "password: Option<SecretString>, token: &'static str,",
    "std::collections::HashMap<String, comity_engine::redact::Redactor>",
    "secret = std::env::var(\"CLIENT_SECRET\")?",
    "api_key = os.environ[\"API_KEY\"]",
    "api_key: process.env.OPENAI_API_KEY_2024",
    "task-force-disk-usage-risk-assessment-2024-report",
    "sk-learn-contrib-some-long-package-name",
    "npm_config_user_agent npm_lifecycle_event npm_package_version",
    "hf_hub_download cio precious social",
    "2026-01-02T03:04:05.678Z INFO engine::lease: granted lease=L-41 fence=7 agent=a-7",
    "[2026-01-02 03:04:05] WARN retry in 250ms (attempt 3/5) id=01J9ZQ8Z5W3N8Q4B2V7C6X1Y0T",
    "-----BEGIN CERTIFICATE-----",
    "grep for '-----BEGIN PRIVATE KEY-----' in the tree",
    "the header is eyJ and then base64",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx is what a token looks like",
    "cmt_some_function_name_without_digits",
    "0000000000000000000000000000000000000000",
    "index 3f78685..89e495e 100644",
    "self.push_token(Token::RecursiveZeroOrMore2)?; Secret::from_bytes32x1y2z3",
    "`RFC6749#Authorization`: https://tools.example.org/html/rfc6749#section-3.1",
    "[redacted:github-token:40]",
    "password=[redacted:password:10]",
    "passwords are secrets; tokens are too: keep them away",
    "IMPORTANT MTU NTP OTHER NDJSON.abcdef.words",
];

#[test]
fn ordinary_text_survives_byte_for_byte() {
    let r = redactor();
    for text in SURVIVORS {
        assert_eq!(r.text(text), *text);
        assert_eq!(r.free_text(text), *text);
        let mut value = json!({ "title": text, "list": [text] });
        let before = value.clone();
        r.value(&mut value);
        assert_eq!(value, before);
    }
    let all = SURVIVORS.join("\n");
    assert_eq!(r.free_text(&all), all);
}

#[test]
fn mail_addresses_go_from_free_text_only() {
    let r = redactor();
    let text = "ask Alice <alice.b+c@mail.example.org>, or bob@example.com.";
    assert_eq!(r.text(text), text);
    let out = "ask Alice <[redacted:email:26]>, or [redacted:email:15].";
    assert_eq!(r.free_text(text), out);
    assert_eq!(r.free_text("write bob@example.com: now"), "write [redacted:email:15]: now");
    let off = Redactor::new(RedactOptions { emails: false, ..RedactOptions::default() }).unwrap();
    assert_eq!(off.free_text(text), text);
}

#[test]
fn configured_patterns_apply_to_free_text_only() {
    let r = with_patterns(&[r"ACME-\d{4}", r"(?i)project\s+\w+"]);
    let text = "ACME-1234 is Project Falcon";
    assert_eq!(r.text(text), text);
    assert_eq!(r.free_text(text), "[redacted:pattern-1:9] is [redacted:pattern-2:14]");
}

#[test]
fn patterns_that_match_next_to_markers_settle_in_one_run() {
    for pattern in [r"x$", r"[a-z]+", r".", r"\bx", r"^x", r"x.*", r"(?s).+", r"\d|redacted"] {
        let r = with_patterns(&[pattern, "y$"]);
        let once =
            r.free_text("xxxxxxxxxxxxxxxx yx xy [redacted:jwt:9]xx 12\nx bob@a.org").into_owned();
        assert_eq!(r.free_text(&once), once, "{pattern}");
        assert!(once.contains("[redacted:jwt:9]"), "{pattern}: {once}");
    }
}

#[test]
fn a_bad_pattern_is_named() {
    let fails = |patterns: Vec<String>| {
        Redactor::new(RedactOptions { extra_patterns: patterns, ..RedactOptions::default() })
            .unwrap_err()
    };
    let open = fails(vec!["fine".into(), "(open".into()]);
    assert_eq!((open.number, open.shown.as_str()), (2, "(open"));
    assert!(matches!(open.reason, BadPatternReason::Invalid(_)));
    let long = fails(vec!["a".repeat(PATTERN_BYTES_MAX + 1)]);
    assert!(matches!(long.reason, BadPatternReason::TooLong { .. }));
    assert!(matches!(fails(vec!["a*".into()]).reason, BadPatternReason::MatchesEmpty));
    let large = fails(vec![r"(\w{200}){200}".into()]);
    assert!(matches!(large.reason, BadPatternReason::Invalid(_)), "{large}");
    let many = fails(vec!["a".into(); PATTERNS_MAX + 1]);
    assert!(matches!(many.reason, BadPatternReason::TooMany));
}

#[test]
fn nested_json_loses_its_secrets_and_nothing_else() {
    let mut dice = Dice(11);
    let token = format!("gh{}_{}", "p", dice.alnum(36));
    let mut value = json!({
        "note": format!("use {token} now"),
        "config": { "password": "correct horse", "Client-Secret": "abcDEF12", "port": 5432 },
        "headers": [{ "authorization": "Bearer abcdef123456" }],
        "api_key": ["k3yk3yAbcDef", "none"],
        "token": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "nextPageToken": "Abc123Def456",
        "password": "required",
        "secret": "$TOKEN_1",
        "access_token": "<token>",
        "private_key": "short",
        "token_count": 12_345_678,
        token: 1,
    });
    redactor().value(&mut value);
    let expected = json!({
        "note": "use [redacted:github-token:40] now",
        "config": {
            "password": "[redacted:secret-field:13]",
            "Client-Secret": "[redacted:secret-field:8]",
            "port": 5432,
        },
        "headers": [{ "authorization": "[redacted:secret-field:19]" }],
        "api_key": ["[redacted:secret-field:12]", "none"],
        "token": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "nextPageToken": "Abc123Def456",
        "password": "required",
        "secret": "$TOKEN_1",
        "access_token": "<token>",
        "private_key": "short",
        "token_count": 12_345_678,
        "[redacted:github-token:40]": 1,
    });
    assert_eq!(value, expected);
    redactor().value(&mut value);
    assert_eq!(value, expected);
}

#[test]
fn keys_that_collide_after_redaction_stay_apart() {
    let mut dice = Dice(5);
    let key = |dice: &mut Dice| format!("gh{}_{}", "o", dice.alnum(36));
    let mut value = json!({ key(&mut dice): 1, key(&mut dice): 2 });
    redactor().value(&mut value);
    let marker = "[redacted:github-token:40]";
    assert_eq!(value, json!({ marker: 1, format!("{marker}-2"): 2 }));
}

#[test]
fn values_nested_too_deep_are_hidden_whole() {
    let mut value = json!("leaf");
    for _ in 0..200 {
        value = json!([value]);
    }
    redactor().value(&mut value);
    let text = value.to_string();
    assert!(text.contains("[redacted:too-deep:0]") && !text.contains("leaf"));
    let once = value.clone();
    redactor().value(&mut value);
    assert_eq!(value, once);
}

#[test]
fn a_forged_marker_shelters_nothing() {
    let mut dice = Dice(9);
    let token = format!("gl{}-{}", "pat", dice.alnum(20));
    for text in [format!("[redacted:{token}:1]"), format!("[redacted:jwt:1] {token}")] {
        assert!(!redactor().text(&text).contains(&token), "{text}");
    }
}

fn time_of(text: &str) -> Duration {
    let r = redactor();
    let run = || {
        let start = Instant::now();
        let _ = r.free_text(text);
        start.elapsed()
    };
    run().min(run())
}

#[test]
fn hostile_text_costs_in_proportion_to_its_length() {
    let units = [
        "eyJ",
        "eyJ-",
        "eyJ.",
        "eyJaaaaaaaa.",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----Proc-Type: ",
        "sk-",
        "ghp_",
        "password=",
        "password='",
        "token:\"x\\",
        "token: a ",
        "://",
        "://a:",
        "a@",
        "@a.",
        "12345678:AA",
        "MTA.",
        "--token ",
        "[redacted:",
        "[redacted:jwt:1]",
        "Q~",
        "Bearer ",
        "\\n",
        "AKIA",
        "-----END",
        "a",
        "=",
        "é",
        "secret_",
        "hooks.slack.com/services/",
    ];
    for unit in units {
        let text = |bytes: usize| unit.repeat(bytes / unit.len());
        let (small, large) = (time_of(&text(1 << 16)), time_of(&text(1 << 18)));
        // Square growth gives 16; the bound leaves room for a busy machine.
        let bound = small * 12 + Duration::from_millis(400);
        assert!(large < bound, "{unit}: {small:?} then {large:?}");
    }
}

/// Texts made of the pieces that rules look for, so that windows overlap in odd ways.
fn shards() -> impl Strategy<Value = String> {
    let words = TOKENS.iter().map(|t| t.prefixes).chain(NAMES.iter().map(|(_, names)| *names));
    let mut pieces: Vec<String> = words.flatten().map(|&word| word.to_owned()).collect();
    let rest = "= : \" ' \\n \\\" . - _ / @ [ ] ( ) < > é 😀 %3D eyJ eyJhbGciOi :// a.b a@b.org \
                [redacted:jwt:3] [redacted: Bearer Basic -----BEGIN PRIVATE KEY----- -----END \
                PRIVATE 12345678 :AA Q~ MTk4 git@ 7xQ9aZ3kP1vB5nM2wL8s";
    pieces.extend(rest.split(' ').map(str::to_owned));
    pieces.extend([" ".to_owned(), "\n".to_owned()]);
    let random = "[a-zA-Z0-9+/_-]{1,45}";
    let piece = prop_oneof![3 => prop::sample::select(pieces), 1 => random.boxed()];
    prop::collection::vec(piece, 0..24).prop_map(|parts| parts.concat())
}

fn holds(text: &str) -> Result<(), TestCaseError> {
    for r in [redactor(), with_patterns(&[r"\b[a-f]+\b", "a.*b", "x$"])] {
        let once = r.text(text).into_owned();
        prop_assert_eq!(r.text(&once), once.as_str());
        let free = r.free_text(text).into_owned();
        prop_assert_eq!(r.free_text(&free), free.as_str());
        let mut value = json!({ text: text, "password": text, "token": [text] });
        r.value(&mut value);
        let again = {
            let mut v = value.clone();
            r.value(&mut v);
            v
        };
        prop_assert_eq!(again, value);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics_and_settles(text in any::<String>()) {
        holds(&text)?;
    }

    #[test]
    fn text_made_of_rule_shards_never_panics_and_settles(text in shards()) {
        holds(&text)?;
    }
}

#[test]
fn scalars_are_left_alone() {
    for mut value in [Value::Null, json!(true), json!(1.5)] {
        let before = value.clone();
        redactor().value(&mut value);
        assert_eq!(value, before);
    }
}

#[test]
fn a_known_secret_is_hidden_whatever_it_looks_like_and_is_never_shown() {
    let known = KnownSecrets::new(["hunter2!hunter2 ".to_owned(), "short".to_owned()]);
    let redactor = Redactor::new(RedactOptions { known, ..RedactOptions::default() }).unwrap();
    let text = "say hunter2!hunter2, in short";
    let hidden = "say [redacted:known-secret:15], in short";
    assert_eq!(redactor.text(text), hidden);
    assert_eq!(redactor.free_text(text), hidden);
    assert!(matches!(redactor.text(hidden), Cow::Borrowed(_)));
    assert!(!format!("{redactor:?}").contains("hunter2"), "{redactor:?}");
}

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::rules::{Class, Length, NAMES, OTHER_IDS, TOKENS};
use super::scan::prefilter_builds;
use super::{BadPatternReason, PATTERN_BYTES_MAX, PATTERNS_MAX, RedactOptions, Redactor};

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn redactor() -> Redactor {
    Redactor::new(RedactOptions::default()).unwrap()
}

fn with_patterns(patterns: &[&str]) -> Redactor {
    let extra_patterns = patterns.iter().map(ToString::to_string).collect();
    Redactor::new(RedactOptions { extra_patterns, ..RedactOptions::default() }).unwrap()
}

/// A small generator, so that no secret stands in this file and every run sees the same ones.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn text(&mut self, from: &str, length: usize) -> String {
        let from = from.as_bytes();
        (0..length).map(|_| char::from(from[self.roll(from.len())])).collect()
    }

    fn alnum(&mut self, length: usize) -> String {
        self.text(ALNUM, length)
    }
}

struct Planted {
    kind: String,
    /// What is written into the text.
    line: String,
    /// What must be gone.
    secret: String,
}

fn planted_tokens(dice: &mut Dice) -> Vec<Planted> {
    let one = |token: &super::rules::Token, prefix: &str, dice: &mut Dice| {
        let (Length::Least(length) | Length::Exact(length)) = token.length;
        let from = match token.class {
            Class::Hex => HEX,
            Class::Upper => UPPER,
            _ => ALNUM,
        };
        let body = dice.text(from, length);
        let line = format!("{prefix}{body}");
        let secret = if token.keep_prefix { body } else { line.clone() };
        Planted { kind: token.id.to_owned(), line, secret }
    };
    let prefixes = TOKENS.iter().flat_map(|t| t.prefixes.iter().map(move |prefix| (t, prefix)));
    prefixes.map(|(token, prefix)| one(token, prefix, dice)).collect()
}

fn pem(dice: &mut Dice, label: &str, line_end: &str, end: &str) -> (String, String) {
    let lines: Vec<String> = (0..6).map(|_| dice.text(&format!("{ALNUM}+/"), 64)).collect();
    let secret = lines[3].clone();
    let body = lines.join(line_end);
    (format!("-----{} {label}-----{line_end}{body}{line_end}{end}", "BEGIN"), secret)
}

fn planted_shapes(dice: &mut Dice) -> Vec<Planted> {
    let mut out = Vec::new();
    let mut add = |kind: &str, line: String, secret: String| {
        out.push(Planted { kind: kind.to_owned(), line, secret });
    };
    for _ in 0..2 {
        let part = |dice: &mut Dice, n| dice.text(&format!("{ALNUM}_-"), n);
        let jwt = format!("ey{}.ey{}.{}", "J", part(dice, 60), part(dice, 43));
        let jwt = jwt.replacen("J.", &format!("J{}.", dice.alnum(20)), 1);
        add("jwt", jwt.clone(), jwt);
        for label in ["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY"] {
            let end = format!("-----END {label}-----");
            let (line, secret) = pem(dice, label, "\n", &end);
            add("private-key", line, secret);
            let (line, secret) = pem(dice, label, "\\n", &end);
            add("private-key", format!("{{\"private_key\": \"{line}\\n\"}}"), secret);
            let (line, secret) = pem(dice, label, "\n", "");
            add("private-key", line, secret);
            let (line, secret) = pem(dice, label, "\n+", &end);
            add("private-key", line, secret);
        }
        let s = dice.alnum(14);
        add("url-password", format!("postgres://app:{s}@db.example.org:5432/app"), s);
        let s = format!("{}%40{}", dice.alnum(6), dice.alnum(6));
        add("url-password", format!("redis://:{s}@cache:6379"), s);
        for name in ["Authorization: Bearer ", "authorization: token ", "Authorization: Basic "] {
            let s = format!("{}7xQ=", dice.alnum(28));
            add("authorization", format!("{name}{s}"), s);
        }
        let s = format!("{}9aB", dice.alnum(30));
        add("bearer", format!("curl -H 'x: Bearer {s}'"), s);
        let s = format!("{}:AA{}", dice.text("123456789", 9), dice.alnum(33));
        add("telegram-token", format!("https://api.telegram.org/bot{s}/getMe"), s);
        let s = format!("M{}{}.{}.{}", "T", dice.alnum(22), dice.alnum(6), dice.alnum(27));
        add("discord-token", s.clone(), s);
        let s = format!("{}8Q~{}", dice.alnum(3), dice.alnum(34));
        add("azure-client-secret", s.clone(), s);
        let s = format!("{}==", dice.text(&format!("{ALNUM}+/"), 86));
        let line = format!("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={s};x=y");
        add("azure-key", line, s);
        let s = dice.text(&format!("{ALNUM}+/"), 39);
        add("aws-secret-key", format!("aws_secret_access_key = /{s}"), s);
        let s = dice.text(&format!("{ALNUM}+/"), 40);
        add("aws-secret-key", format!("\"SecretAccessKey\": \"{s}\""), s);
    }
    out
}

fn planted_assignments(dice: &mut Dice) -> Vec<Planted> {
    let shapes: &[(&str, &str, &str)] = &[
        ("password", "password=", ""),
        ("password", "DB_PASSWORD=", " next"),
        ("password", "\"password\": \"", "\","),
        ("password", "\\\"password\\\":\\\"", "\\\"}"),
        ("password", "<password>", "</password>"),
        ("password", "mysql --password ", " -h db"),
        ("password", "password: ", "\nuser: x"),
        ("secret", "SECRET_KEY_BASE=", ""),
        ("secret", "client_secret: '", "'"),
        ("secret", "?client_secret=", "&x=1"),
        ("api-key", "\"api_key\": \"", "\""),
        ("api-key", "X-Api-Key: ", "\r\n"),
        ("api-key", "const apiKey: string = \"", "\";"),
        ("token", "export ACCESS_TOKEN=", ";"),
        ("token", "--token=", " run"),
        ("token", "os.environ['TOKEN'] = '", "'"),
    ];
    let one = |&(kind, before, after): &(&str, &str, &str)| {
        let secret = format!("{}7f", dice.alnum(26));
        Planted { kind: kind.to_owned(), line: format!("{before}{secret}{after}"), secret }
    };
    shapes.iter().map(one).collect()
}

fn planted() -> Vec<Planted> {
    let mut dice = Dice(7);
    let mut all = planted_shapes(&mut dice);
    for _ in 0..3 {
        all.extend(planted_tokens(&mut dice));
        all.extend(planted_assignments(&mut dice));
    }
    all
}

#[test]
fn the_prefilter_builds() {
    assert!(prefilter_builds());
}

#[test]
fn a_long_text_is_redacted_as_a_short_one_is() {
    let filler = format!("{}\n", ".".repeat(16 * 1024));
    for Planted { kind, line, .. } in planted() {
        let short = redactor().text(&line).into_owned();
        let long = redactor().text(&format!("{filler}{line}")).into_owned();
        assert_eq!(long.strip_prefix(&filler), Some(short.as_str()), "{kind}");
    }
    let all: Vec<String> = planted().into_iter().map(|planted| planted.line).collect();
    for lines in all.chunks(16).map(|lines| lines.join("\n")) {
        let long = redactor().text(&format!("{filler}{lines}")).into_owned();
        assert_eq!(long.strip_prefix(&filler), Some(redactor().text(&lines).as_ref()));
    }
}

#[test]
fn every_rule_id_can_stand_in_a_marker() {
    let ids = TOKENS.iter().map(|t| t.id).chain(NAMES.iter().map(|(k, _)| k.id()));
    for id in ids.chain(OTHER_IDS.iter().copied()) {
        let marker = format!("[redacted:{id}:12]");
        assert_eq!(super::scan::markers(&marker).len(), 1, "{marker}");
    }
}

#[test]
fn every_planted_secret_is_gone_wherever_it_stands() {
    let all = planted();
    let kinds: BTreeSet<&str> = all.iter().map(|p| p.kind.as_str()).collect();
    assert!(all.len() >= 400 && kinds.len() >= 60, "{} of {} kinds", all.len(), kinds.len());
    let around =
        [("", ""), ("at 12:01 got ", " and left"), ("x\\n", "\\nnext"), ("\"", "\""), ("(", ")")];
    for Planted { kind, line, secret } in &all {
        for (before, after) in around {
            let text = format!("{before}{line}{after}");
            let out = redactor().text(&text).into_owned();
            assert!(!out.contains(secret.as_str()), "{kind}: {text}\n-> {out}");
            assert!(out.contains("[redacted:"), "{kind}: {out}");
            assert!(out.starts_with(before) && out.ends_with(after), "{kind}: {text}\n-> {out}");
            assert_eq!(redactor().text(&out), out, "{kind} twice");
            assert_eq!(redactor().free_text(&out), out, "{kind} twice");
        }
    }
}

#[test]
fn secrets_of_one_text_are_all_gone_and_the_rest_stays() {
    let all = planted();
    let text: String =
        all.iter().map(|p| format!("before {}\nordinary line 42\n", p.line)).collect();
    let out = redactor().text(&text).into_owned();
    for Planted { kind, secret, .. } in &all {
        assert!(!out.contains(secret.as_str()), "{kind}");
    }
    assert_eq!(out.matches("ordinary line 42").count(), all.len());
    assert_eq!(redactor().text(&out), out);
}

#[test]
fn a_marker_names_rule_and_length_and_keeps_the_surroundings() {
    let mut dice = Dice(3);
    let token = format!("ghp{}{}", "_", dice.alnum(36));
    let r = redactor();
    assert_eq!(r.text(&format!("push {token}, then")), "push [redacted:github-token:40], then");
    assert_eq!(
        r.text("https://alice:hunter2@example.org/x"),
        "https://alice:[redacted:url-password:7]@example.org/x"
    );
    assert_eq!(
        r.text(&format!("https://x-access-token:{token}@github.com/o/r.git")),
        "https://x-access-token:[redacted:github-token:40]@github.com/o/r.git"
    );
    assert_eq!(r.text("password = hunter2xyz;"), "password = [redacted:password:10];");
}

#[test]
fn text_without_a_keyword_is_borrowed() {
    let r = redactor();
    for text in ["", "plain words", "naïve – ünïcode", "git commit -m 'fix'"] {
        assert!(matches!(r.text(text), Cow::Borrowed(_)));
        assert!(matches!(r.free_text(text), Cow::Borrowed(_)));
    }
}

mod behaviour;
mod classes;

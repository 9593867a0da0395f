//! The ACE labels protocol.

use comity_core::command::ReportStatus;
use comity_core::time::Timestamp;
use comity_protocol::ace::{
    Answer, AnswerPart, Asked, Author, Blocked, Claim, Comment, Done, Failed, Generation, HandOver,
    HandOverError, HandOverState, Mismatch, with_options,
};
use comity_protocol::contract::{self, Mode};
use comity_protocol::problem::Level;
use proptest::prelude::*;

const BOTH: [Generation; 2] = [Generation::Labels, Generation::Project];

fn golden(name: &str) -> String {
    let path = format!("{}/tests/golden/ace/{name}.md", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn blocked(questions: &[&str]) -> Comment {
    let questions: Vec<String> = questions.iter().map(|text| (*text).to_owned()).collect();
    Comment::Blocked(Blocked::new(&questions).unwrap())
}

fn questions(text: &str) -> Vec<String> {
    match Comment::parse(text) {
        Some(Comment::Blocked(blocked)) => texts_of(&blocked),
        other => panic!("{other:?}"),
    }
}

fn texts_of(blocked: &Blocked) -> Vec<String> {
    blocked.questions.iter().map(|asked| asked.text.clone()).collect()
}

fn answer(text: &str) -> Answer {
    match Comment::read(text, Author::Allowed) {
        Some(Comment::Answer(answer)) => answer,
        other => panic!("{text:?}: {other:?}"),
    }
}

fn matched(text: &str, questions: usize) -> Vec<Option<String>> {
    answer(text).matched(questions).unwrap().answers
}

fn part(number: Option<u32>, text: &str) -> AnswerPart {
    AnswerPart { number, text: text.to_owned() }
}

#[test]
fn comments_are_written_and_read_exactly_as_the_protocol_shows_them() {
    let started = Timestamp::parse("2026-01-27T10:00:00.123Z");
    let claim = |generation| {
        let mut claim =
            Claim { branch: Some("agent/12-dark-mode".to_owned()), started, ..Claim::default() };
        match generation {
            Generation::Labels => {
                claim.agent = Some("ace-default".to_owned());
                claim.host = Some("build-1".to_owned());
                claim.workspace = Some("worktrees/tool/12".to_owned());
            }
            Generation::Project => claim.repository = Some("o/r".to_owned()),
        }
        Comment::Claim(claim)
    };
    let asked = blocked(&["Should dark mode be opt-in or default?", "Which colours?"]);
    let answered = Comment::Answer(Answer {
        parts: vec![part(Some(1), "Opt-in."), part(Some(2), "The ones of the theme.")],
        beside: String::new(),
    });
    let failed = Comment::Failed(Failed { error: "boom".to_owned() });
    let done = Comment::Done(Done::of("https://github.com/o/r/pull/5"));
    let numbered = Comment::Done(Done::of("#5"));
    for (name, generation, comment) in [
        ("claim-labels", Generation::Labels, claim(Generation::Labels)),
        ("claim-project", Generation::Project, claim(Generation::Project)),
        ("blocked-labels", Generation::Labels, asked.clone()),
        ("blocked-project", Generation::Project, asked),
        ("answer", Generation::Labels, answered),
        ("resuming", Generation::Project, Comment::Resuming),
        ("done-labels", Generation::Labels, numbered),
        ("done-project", Generation::Project, done),
        ("failed-labels", Generation::Labels, failed.clone()),
        ("failed-project", Generation::Project, failed),
    ] {
        assert_eq!(comment.render(generation), golden(name), "{name}");
        assert_eq!(Comment::parse(&golden(name)), Some(comment), "{name}");
    }
}

#[test]
fn the_invitation_to_answer_is_no_answer() {
    for generation in BOTH {
        let text = blocked(&["Which?"]).render(generation);
        assert_eq!(Answer::find(&text), None);
        assert!(matches!(Comment::read(&text, Author::Agent), Some(Comment::Blocked(_))));
        assert_eq!(Comment::read(&text, Author::Allowed), None);
    }
}

#[test]
fn an_answer_counts_only_at_the_start_of_a_line_outside_code_and_quotes() {
    for text in [
        "I will ANSWER: later",
        "`ANSWER:` goes first",
        "> ANSWER: yes",
        "```\nANSWER: yes\n```",
        "~~~text\nANSWER: yes\n~~~",
        "    ANSWER: yes",
        "<!-- ANSWER:\nANSWER: yes -->",
        "code `over\nANSWER: yes` lines",
        "answer: yes",
    ] {
        assert_eq!(Comment::read(text, Author::Allowed), None, "{text}");
    }
    for text in ["ANSWER: yes", "Hello,\n\nANSWER: yes", "> Which?\nANSWER: yes", "**ANSWER:** yes"]
    {
        assert_eq!(matched(text, 1), [Some("yes".to_owned())], "{text}");
    }
}

#[test]
fn an_answer_counts_only_from_who_may_answer_and_never_from_comity_itself() {
    let text = "ANSWER: yes";
    assert!(Comment::read(text, Author::Allowed).is_some());
    assert_eq!(Comment::read(text, Author::Other), None);
    assert_eq!(Comment::read(text, Author::Agent), None);
    assert_eq!(Comment::read("<!-- comity:T1 -->\nANSWER: yes", Author::Allowed), None);
    assert_eq!(Comment::read("BLOCKED:\n\n- Which?", Author::Other), None);
}

#[test]
fn questions_are_read_as_agents_write_them() {
    assert_eq!(
        questions("BLOCKED: - Should dark mode be opt-in?"),
        ["Should dark mode be opt-in?"]
    );
    assert_eq!(questions("BLOCKED:\nWhich colours,\nand why?"), ["Which colours,\nand why?"]);
    assert_eq!(questions("BLOCKED:\n\n* a?\n* b?\n"), ["a?", "b?"]);
    assert_eq!(questions("BLOCKED:\n\nQuestion 1: a?\nQuestion 2: b?\n"), ["a?", "b?"]);
    assert_eq!(
        questions("BLOCKED:\n\n- a\n  - nested\n\n  more\n- b"),
        ["a\n- nested\n\nmore", "b"]
    );
    let text =
        "Some words.\n\n**BLOCKED - Agent Needs Input**\n\nI saw two ways.\n\n1. a?\n2. b?\n";
    let Some(Comment::Blocked(read)) = Comment::parse(text) else { panic!() };
    assert_eq!(texts_of(&read), ["a?", "b?"]);
    assert_eq!(read.about.as_deref(), Some("I saw two ways."));
    assert_eq!(Comment::parse("BLOCKED:\n\nReply with `ANSWER:` please."), None);
}

#[test]
fn answers_go_to_their_questions_by_number_by_order_or_as_one_text() {
    let some = |texts: &[&str]| -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned())).collect()
    };
    let by_number = "ANSWER:\n\n- Answer to question 2: b\n- Answer to question 1: a";
    assert_eq!(matched(by_number, 2), some(&["a", "b"]));
    assert_eq!(matched("ANSWER:\n2. b\n1. a", 2), some(&["a", "b"]));
    assert_eq!(matched("ANSWER:\nQ1: a\nQ2: b", 2), some(&["a", "b"]));
    assert_eq!(matched("ANSWER:\n- a\n- b", 2), some(&["a", "b"]));
    assert_eq!(matched("ANSWER:\n1. a\n1. b", 2), some(&["a", "b"]));
    assert_eq!(matched("ANSWER: do as you like", 2), some(&["do as you like"; 2]));
    assert_eq!(matched("ANSWER:\n- a\n- b", 1), some(&["- a\n- b"]));
    assert_eq!(matched("ANSWER:\n- Answer to question 2: b\n- a", 2), some(&["a", "b"]));
    assert_eq!(matched("ANSWER:\n- Answer to question 2: b", 2), [None, Some("b".to_owned())]);
    assert!(!answer("ANSWER:\n- a").matched(2).unwrap().answers.iter().all(Option::is_some));
    let code =
        "ANSWER:\n\n- Answer to question 1: use\n```\n- x: 1\n```\n- Answer to question 2: no";
    assert_eq!(matched(code, 2), some(&["use\n```\n- x: 1\n```", "no"]));
}

#[test]
fn what_belongs_to_no_question_is_kept_beside_the_answers() {
    let read = answer("ANSWER: Thanks for asking.\n\n- a\n- b\n\nGood luck!").matched(2).unwrap();
    assert_eq!(read.beside.as_deref(), Some("Thanks for asking.\n\nGood luck!"));
    assert!(read.answers.iter().all(Option::is_some));
}

#[test]
fn an_answer_that_fits_no_question_is_said_not_guessed() {
    for (text, wrong) in [
        ("ANSWER:", Mismatch::Empty),
        ("ANSWER:\n- Answer to question 3: c", Mismatch::NoSuchQuestion(3)),
        ("ANSWER:\n- Answer to question 0: c", Mismatch::NoSuchQuestion(0)),
        ("ANSWER:\n- Answer to question 1: a\n- Answer to question 1: b", Mismatch::Twice(1)),
        ("ANSWER:\n- a\n- b\n- c", Mismatch::TooMany(3, 2)),
    ] {
        assert_eq!(answer(text).matched(2), Err(wrong), "{text}");
    }
}

#[test]
fn a_claim_is_read_with_or_without_a_z_and_keeps_what_it_does_not_know() {
    let text = "**Agent Claim**\n\n- Agent ID: a\n- Started: 2026-01-27T10:00:00.123456\n- Mood: fine\n- \
                Started: yesterday\n";
    let Some(Comment::Claim(claim)) = Comment::parse(text) else { panic!() };
    assert_eq!(claim.started, Timestamp::parse("2026-01-27T10:00:00.123Z"));
    let other = [("Mood", "fine"), ("Started", "yesterday")];
    assert_eq!(claim.other, other.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn a_value_with_a_line_break_stays_on_its_line() {
    let claim = Claim { host: Some("h\n- Agent ID: other".to_owned()), ..Claim::default() };
    let text = Comment::Claim(claim).render(Generation::Labels);
    let Some(Comment::Claim(read)) = Comment::parse(&text) else { panic!() };
    assert_eq!(read.agent, None);
    assert_eq!(read.host.as_deref(), Some("h - Agent ID: other"));
}

#[test]
fn the_hand_over_file_is_read_with_the_keys_that_are_tolerated() {
    let read = |text: &str| HandOver::of(&serde_json::from_str(text).unwrap()).unwrap();
    let whole = read(
        r#"{"task_id":"task-1","summary":"did it","files_changed":["a.rs"],"commands_run":["make"],"x":1}"#,
    );
    assert_eq!(whole.task_id.as_deref(), Some("task-1"));
    assert_eq!(whole.files_changed, ["a.rs"]);
    assert_eq!(whole.commands_run, ["make"]);
    assert_eq!(whole.state, HandOverState::Done);
    assert_eq!(whole.other["x"], 1);
    let asks = |list: &[&str]| {
        HandOverState::Blocked(list.iter().map(|text| (*text).to_owned()).collect())
    };
    assert_eq!(read(r#"{"blocked":true,"summary":"which?"}"#).state, asks(&["which?"]));
    assert_eq!(read(r#"{"blocked":"which?"}"#).state, asks(&["which?"]));
    assert_eq!(
        read(r#"{"status":"blocked","blocked_questions":["a","b"]}"#).state,
        asks(&["a", "b"])
    );
    assert_eq!(read(r#"{"state":"Blocked","blocked_questions":"a"}"#).state, asks(&["a"]));
    let empty = r#"{"summary":"Blocked: which key?","files_changed":[],"commands_run":[]}"#;
    assert_eq!(read(empty).state, asks(&["which key?"]));
    assert_eq!(read(r#"{"summary":"blocked"}"#).state, HandOverState::Done, "a word is no reason");
    let worked = r#"{"summary":"Blocked: no more","files_changed":["a"]}"#;
    assert_eq!(read(worked).state, HandOverState::Done);
    assert_eq!(read(r#"{"status":"failed"}"#).state, HandOverState::Failed);
    assert_eq!(read(r#"{"blocked":false,"files_changed":null}"#).state, HandOverState::Done);
}

#[test]
fn a_hand_over_that_is_none_is_named_as_the_protocol_names_it() {
    let read = |text: &str| HandOver::of(&serde_json::from_str(text).unwrap());
    let refused = read(r#"{"summary":"I'm sorry, I cannot do that"}"#).unwrap_err();
    assert_eq!(refused.as_str(), "instruction_refusal");
    let worked = r#"{"summary":"a refused connection is retried","files_changed":["net.rs"]}"#;
    assert!(read(worked).is_ok());
    assert_eq!(HandOverError::MissingDoneFile.to_string(), "missing_done_file");
    assert_eq!(HandOverError::TaskWaitTimeout.to_string(), "task_wait_timeout");
}

/// Texts that try to be something else: markers, fences, lists, quotes.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-z ?.`*>:#-]{0,12}",
        Just("ANSWER: x".to_owned()),
        Just("BLOCKED:".to_owned()),
        Just("- Question 2: y".to_owned()),
        Just("1. z".to_owned()),
        Just("```".to_owned()),
        Just("~~~".to_owned()),
        Just("**Agent Failed**".to_owned()),
        Just("Status: Done".to_owned()),
        Just("  indented".to_owned()),
        Just("é\u{200b}漢".to_owned()),
    ];
    proptest::collection::vec(line, 1..5).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn what_is_asked_reads_back_unchanged(questions in proptest::collection::vec(text(), 1..4)) {
        let Some(blocked) = Blocked::new(&questions) else { return Ok(()) };
        for generation in BOTH {
            let written = Comment::Blocked(blocked.clone()).render(generation);
            prop_assert_eq!(Comment::parse(&written), Some(Comment::Blocked(blocked.clone())), "{}", written);
            prop_assert_eq!(Answer::find(&written), None);
        }
    }

    #[test]
    fn what_is_answered_reads_back_unchanged(texts in proptest::collection::vec(text(), 1..4)) {
        let texts: Vec<String> =
            Blocked::new(&texts).map(|tidied| texts_of(&tidied)).unwrap_or_default();
        let parts: Vec<AnswerPart> =
            (1..).zip(&texts).map(|(number, text)| part(Some(number), text)).collect();
        let given = Answer { parts, beside: String::new() };
        let written = Comment::Answer(given.clone()).render(Generation::Labels);
        prop_assert_eq!(Comment::parse(&written), Some(Comment::Answer(given)), "{}", written);
    }

    #[test]
    fn what_failed_reads_back_unchanged(error in text()) {
        let failed = Failed { error: error.trim_end_matches('\n').to_owned() };
        for generation in BOTH {
            let written = Comment::Failed(failed.clone()).render(generation);
            prop_assert_eq!(Comment::parse(&written), Some(Comment::Failed(failed.clone())), "{}", written);
        }
    }

    #[test]
    fn no_text_makes_the_reader_fail(text in any::<String>(), lines in text()) {
        for text in [&text, &lines] {
            for author in [Author::Agent, Author::Allowed, Author::Other] {
                if let Some(comment) = Comment::read(text, author) {
                    comment.render(Generation::Labels);
                }
            }
            let _ = contract::check(text, contract::kind("ace-done"), Mode::Full);
            if let Some(answer) = Answer::find(text) {
                for count in 0..3 {
                    let _ = answer.matched(count);
                }
            }
        }
    }
}

#[test]
fn a_hand_over_is_a_contract_that_can_be_handed_in() {
    let text = r#"{"task_id":"task-1","summary":"did it","files_changed":["a.rs"],"commands_run":["make"]}"#;
    let checked = contract::check(text, None, Mode::Full);
    assert_eq!(checked.kind.map(|kind| kind.name), Some("ace-done"));
    assert!(checked.is_valid(), "{:?}", checked.problems);
    let reports = |text: &str| {
        let tree = contract::check(text, contract::kind("ace-done"), Mode::Full).tree.unwrap();
        contract::kind("ace-done").unwrap().report.unwrap()(&tree).unwrap()
    };
    let report = reports(text);
    assert_eq!((report.status, report.task_id), (ReportStatus::Completed, None));
    assert_eq!(report.log[1].message, "ran: make");
    let blocked = reports(r#"{"summary":"s","blocked":true,"blocked_questions":["a?","b?"]}"#);
    assert_eq!((blocked.status, blocked.issues.len()), (ReportStatus::Blocked, 2));
    let errors = |text: &str| {
        let checked = contract::check(text, contract::kind("ace-done"), Mode::Full);
        checked.problems.errors().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        errors(r#"{"task_id":"t","summary":"I'm sorry"}"#),
        ["instruction_refusal: I'm sorry"]
    );
    assert_eq!(
        errors(r#"{"task_id":"t","summary":"s","files_changed":{}}"#),
        ["files_changed must be a list, not an object"]
    );
}

#[test]
fn a_question_that_is_asked_again_keeps_its_number() {
    let asked =
        Blocked::numbered([Asked { number: 2, text: "Which colours?".to_owned() }]).unwrap();
    let comment = Comment::Blocked(asked);
    for (generation, line) in [
        (Generation::Labels, "- Question 2: Which colours?"),
        (Generation::Project, "2. Which colours?"),
    ] {
        let text = comment.render(generation);
        assert!(text.lines().any(|other| other == line), "{text}");
        assert_eq!(Comment::parse(&text), Some(comment.clone()));
    }
    let open = [false, true];
    let matched = |text: &str| answer(text).matched_to(&open).unwrap().answers;
    for text in ["ANSWER:\n- Answer to question 2: blue", "ANSWER:\n- blue", "ANSWER: blue"] {
        assert_eq!(matched(text), [None, Some("blue".to_owned())], "{text}");
    }
    assert_eq!(matched("ANSWER:\n- Answer to question 1: x")[0].as_deref(), Some("x"));
    let too_many = answer("ANSWER:\n- a\n- b").matched_to(&[false, true, true, false]).unwrap();
    assert_eq!(too_many.answers, [None, Some("a".to_owned()), Some("b".to_owned()), None]);
}

#[test]
fn every_answer_of_a_comment_counts_and_a_byte_order_mark_hides_none() {
    let some = |list: &[&str]| list.iter().map(|text| Some((*text).to_owned())).collect::<Vec<_>>();
    assert_eq!(matched("\u{feff}ANSWER: yes", 1), some(&["yes"]));
    let twice = "ANSWER:\n- Answer to question 1: a\n\nANSWER:\n- Answer to question 2: b\n";
    assert_eq!(matched(twice, 2), some(&["a", "b"]));
    assert_eq!(matched("ANSWER: a\n\nANSWER: b", 2), some(&["a", "b"]));
    assert_eq!(answer("ANSWER:\n1. a\n\nANSWER:\n1. b").matched(2), Err(Mismatch::Twice(1)));
    assert_eq!(matched("ANSWER: a\n\nANSWER:\n", 1), some(&["a"]));
}

#[test]
fn the_second_generation_is_answered_by_a_plain_reply() {
    let reply = |text: &str, generation| {
        Comment::answer_in(text, generation).map(|answer| answer.matched(2).unwrap().answers)
    };
    let both = Some(vec![Some("yes".to_owned()), Some("no".to_owned())]);
    let quoted = "> 1. Opt-in?\n> 2. Colours?\n\n1. yes\n2. no\n";
    for text in ["1. yes\n2. no", quoted, "Here:\n\nANSWER:\n1. yes\n2. no"] {
        assert_eq!(reply(text, Generation::Project), both, "{text}");
    }
    assert_eq!(reply("1. yes\n2. no", Generation::Labels), None);
    for text in [
        "<!-- comity -->\n1. yes",
        "**Agent Resuming**\n\nContinuing with provided answers.",
        "> quoted\n",
        "  \n",
    ] {
        assert_eq!(reply(text, Generation::Project), None, "{text}");
    }
    let asks = blocked(&["Which?"]).render(Generation::Project);
    assert_eq!(reply(&asks, Generation::Project), None, "the question is no reply");
}

#[test]
fn a_question_with_options_names_its_keys() {
    let options = [("retry", Some("Start over")), ("abandon", None)];
    assert_eq!(
        with_options("What now?", &options),
        "What now? Answer with one of: `retry` (Start over), `abandon`."
    );
    assert_eq!(with_options("What now?", &[]), "What now?");
}

#[test]
fn every_comment_of_both_generations_is_recognised_and_only_an_end_is_handed_in() {
    for (name, comment, ends) in [
        ("claim-labels", "claim", false),
        ("claim-project", "claim", false),
        ("blocked-labels", "blocked", true),
        ("blocked-project", "blocked", true),
        ("answer", "answer", false),
        ("resuming", "resuming", false),
        ("done-labels", "done", true),
        ("done-project", "done", true),
        ("failed-labels", "failed", true),
        ("failed-project", "failed", true),
    ] {
        let checked = contract::check(&golden(name), None, Mode::Strict);
        assert_eq!(checked.kind.map(|kind| kind.name), Some("ace-comment"), "{name}");
        assert!(checked.is_valid(), "{name}: {:?}", checked.problems);
        let (kind, tree) = (checked.kind.unwrap(), checked.tree.unwrap());
        assert_eq!(tree.get("comment").unwrap().text(), Some(comment), "{name}");
        assert_eq!(contract::report(kind, &tree).is_some(), ends, "{name}");
    }
    let about = "BLOCKED: two ways are open.\n\n- Question 1: A?\n- Question 2: B?\n";
    let checked = contract::check(about, None, Mode::Full);
    let asked = contract::report(checked.kind.unwrap(), &checked.tree.unwrap()).unwrap();
    assert_eq!(asked.needs().as_deref(), Some("two ways are open.; A?; B?"));
}

#[test]
fn a_comment_with_a_mistake_is_named_with_its_place() {
    for (text, wanted) in [
        ("Hello.\n\n BLOCKED:\n", "error 3:2 the comment asks for input, but it has no question"),
        ("Hi\nANSWER:\n", "error 2:1 the answer is empty"),
        ("**Agent Claim**\n", "warning 1:1 the claim names neither agent nor branch"),
        ("**Agent Complete**\n", "warning 1:1 the comment names no pull request"),
        ("**Agent Failed**\n", "warning 1:1 the comment does not say what went wrong"),
    ] {
        let checked = contract::check(text, None, Mode::Full);
        assert_eq!(checked.kind.map(|kind| kind.name), Some("ace-comment"), "{text}");
        let problem = checked.problems.iter().next().unwrap();
        let level = if problem.level == Level::Error { "error" } else { "warning" };
        let (line, column) = (problem.line, problem.column);
        assert_eq!(format!("{level} {line}:{column} {}", problem.message), wanted);
    }
    let none = contract::check("just words", contract::kind("ace-comment"), Mode::Full);
    assert!(none.problems.errors()[0].contains("**Agent Claim**, BLOCKED:, ANSWER:"));
}

#[test]
fn the_comments_that_end_a_piece_of_work_can_be_handed_in() {
    let reports = |text: &str| {
        let checked = contract::check(text, None, Mode::Full);
        assert_eq!(checked.kind.map(|kind| kind.name), Some("ace-comment"), "{text}");
        assert!(checked.is_valid(), "{:?}", checked.problems);
        checked.kind.unwrap().report.unwrap()(&checked.tree.unwrap()).unwrap()
    };
    for generation in BOTH {
        let asked = reports(&blocked(&["a?", "b?"]).render(generation));
        assert_eq!(asked.status, ReportStatus::Blocked);
        let questions: Vec<&str> = asked.issues.iter().map(|i| i.description.as_str()).collect();
        assert_eq!(questions, ["a?", "b?"]);
        let failed = Comment::Failed(Failed { error: "boom".to_owned() });
        let failed = reports(&failed.render(generation));
        assert_eq!((failed.status, failed.cause()), (ReportStatus::Failed, Some("boom")));
    }
    for (text, pr) in [
        ("PR opened: #456", Some("#456")),
        (
            "**Agent Complete**\n\nPR: #5\nURL: https://x.example/pull/5\n",
            Some("https://x.example/pull/5"),
        ),
        ("**Agent Complete**\n", None),
    ] {
        let done = reports(text);
        assert_eq!((done.status, done.pr.as_deref()), (ReportStatus::Completed, pr), "{text}");
    }
    for text in ["just words", "> BLOCKED: no", "say `ANSWER: yes`"] {
        let checked = contract::check(text, None, Mode::Full);
        assert_eq!(checked.kind.map(|kind| kind.name), None, "{text}");
    }
    let report =
        "BLOCKED: see below\n\n```yaml\n# AGENT ERROR REPORT\nstatus: blocked\nreason: r\n```\n";
    assert_eq!(contract::recognise(report).map(|kind| kind.name), Some("neo-error"));
}

//! States as labels and as a board's field.

use comity_core::policy::Policy;
use comity_core::role::{Role, Verb};
use comity_core::status::Status;
use comity_protocol::labels::{Change, Dialect, Issue, Mark, Outside, Settled, Wish};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn labels(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn table(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn own() -> Dialect {
    let states = table(&[
        ("queued", "todo"),
        ("in_progress", "doing"),
        ("review", "look at me"),
        ("done", "shipped"),
        ("blocked", "stuck"),
        ("approved", "fine"),
    ]);
    Dialect::configured(None, &states, &table(&[("critic", "for: reviewers")])).unwrap()
}

fn all() -> [Dialect; 4] {
    [Dialect::neo(), Dialect::ace(), Dialect::ace_project(), own()]
}

/// One state in the three dialects, as the table of the rules has it.
const CELLS: [(&str, &str, &str, &str); 11] = [
    ("queued", "agent-task:pending open", "agent:ready open", "Ready open"),
    ("claimed", "agent-task:in-progress open", "agent:in-progress open", "In progress open"),
    ("in_progress", "agent-task:in-progress open", "agent:in-progress open", "In progress open"),
    ("review", "agent-task:review open", "agent:done open", "Done open"),
    (
        "changes_requested",
        "agent-task:in-progress open",
        "agent:in-progress open",
        "In progress open",
    ),
    ("approved", "agent-task:review open", "agent:done open", "Done open"),
    ("merging", "agent-task:review open", "agent:done open", "Done open"),
    ("done", "agent-task:completed completed", "agent:done completed", "Done completed"),
    ("blocked", "agent-task:blocked open", "agent:blocked open", "Blocked open"),
    ("failed", "agent-task:blocked open", "agent:failed open", "Blocked open"),
    ("abandoned", "none not-planned", "agent:failed not-planned", "Blocked not-planned"),
];

fn words_of(mark: Mark<'_>) -> String {
    let issue = match mark.issue {
        Issue::Open => "open",
        Issue::Completed => "completed",
        Issue::NotPlanned => "not-planned",
    };
    format!("{} {issue}", mark.word.unwrap_or("none"))
}

#[test]
fn rule_7_every_status_is_shown_as_the_table_says() {
    assert_eq!(CELLS.len(), Status::ALL.len());
    for (status, neo, ace, project) in CELLS {
        let status = Status::parse(status).unwrap();
        assert_eq!(words_of(Dialect::neo().mark(status)), neo);
        assert_eq!(words_of(Dialect::ace().mark(status)), ace);
        assert_eq!(words_of(Dialect::ace_project().mark(status)), project);
    }
}

#[test]
fn rule_7_every_word_seen_outside_is_read_as_the_rules_say() {
    let neo = Dialect::neo();
    let ace = Dialect::ace();
    let project = Dialect::ace_project();
    for (dialect, word, status) in [
        (&neo, "agent-task:pending", Status::Queued),
        (&neo, "agent-task:in-progress", Status::InProgress),
        (&neo, "agent-task:review", Status::Review),
        (&neo, "agent-task:completed", Status::Done),
        (&neo, "agent-task:blocked", Status::Blocked),
        (&ace, "agent:ready", Status::Queued),
        (&ace, "agent:in-progress", Status::InProgress),
        (&ace, "agent:done", Status::Review),
        (&ace, "agent:failed", Status::Failed),
        (&ace, "agent:blocked", Status::Blocked),
        (&project, "Ready", Status::Queued),
        (&project, "In Progress", Status::InProgress),
        (&project, "In progress", Status::InProgress),
        (&project, "done", Status::Review),
        (&project, "Blocked", Status::Blocked),
    ] {
        assert_eq!(dialect.status(Some(word), Issue::Open), Some(status), "{word}");
    }
    assert_eq!(ace.status(Some("agent:done"), Issue::Completed), Some(Status::Done));
    assert_eq!(ace.status(Some("agent:failed"), Issue::Completed), Some(Status::Abandoned));
    assert_eq!(project.status(Some("Blocked"), Issue::Completed), Some(Status::Abandoned));
    assert_eq!(neo.status(Some("agent-task:review"), Issue::Completed), Some(Status::Done));
    assert_eq!(neo.status(None, Issue::NotPlanned), Some(Status::Abandoned));
    assert_eq!(neo.status(Some("bug"), Issue::Open), None);
    assert_eq!(neo.status(None, Issue::Open), None);
}

#[test]
fn what_is_shown_reads_back_as_a_state_that_is_shown_the_same() {
    for dialect in all() {
        for status in Status::ALL {
            let mark = dialect.mark(status);
            let read = dialect.status(mark.word, mark.issue).unwrap();
            assert_eq!(dialect.mark(read), mark, "{} {status}", dialect.name());
        }
    }
}

#[test]
fn roles_are_labels_too() {
    let neo = Dialect::neo();
    assert_eq!(neo.role_word(Role::Planner), Some("agent-role:pm"));
    assert_eq!(neo.role_word(Role::Implementer), Some("agent-role:dev"));
    assert_eq!(neo.role_word(Role::Critic), Some("agent-role:qa"));
    assert_eq!(neo.role_word(Role::Watchdog), None);
    assert_eq!(neo.role(&labels(&["bug", "Agent-Role:QA"])), Some(Role::Critic));
    assert_eq!(neo.role(&labels(&["agent-role:architect"])), Some(Role::Planner));
    assert_eq!(neo.role(&labels(&["agent-role:king", "bug"])), None);
    assert_eq!(own().role(&labels(&["for: reviewers"])), Some(Role::Critic));
}

#[test]
fn a_change_sets_one_state_and_leaves_foreign_labels_alone() {
    let neo = Dialect::neo();
    let there = labels(&["bug", "agent-task:Pending", "agent-role:dev"]);
    assert_eq!(
        neo.change(&there, Status::Claimed),
        Change {
            add: labels(&["agent-task:in-progress"]),
            remove: labels(&["agent-task:Pending"]),
            issue: Issue::Open,
        }
    );
    let same = neo.change(&there, Status::Queued);
    assert!(same.add.is_empty() && same.remove.is_empty());
    let given_up = neo.change(&there, Status::Abandoned);
    assert_eq!(given_up.remove, labels(&["agent-task:Pending"]));
    assert_eq!((given_up.add.len(), given_up.issue), (0, Issue::NotPlanned));
}

#[test]
fn the_words_that_may_follow_are_those_of_the_transition_table() {
    use Status::*;
    for (dialect, status, words) in [
        (Dialect::ace(), Queued, "agent:in-progress agent:blocked agent:failed"),
        (Dialect::ace(), InProgress, "agent:ready agent:done agent:blocked agent:failed"),
        (Dialect::ace(), Claimed, "agent:ready agent:blocked agent:failed"),
        (Dialect::ace(), Review, "agent:in-progress agent:blocked agent:failed"),
        (Dialect::ace(), Blocked, "agent:ready agent:in-progress agent:failed"),
        (Dialect::ace(), Failed, "agent:ready agent:in-progress agent:blocked"),
        (Dialect::ace(), Done, "agent:ready"),
        (Dialect::ace(), Abandoned, "agent:ready"),
        (Dialect::neo(), Claimed, "agent-task:pending agent-task:blocked"),
        (Dialect::neo(), Review, "agent-task:in-progress agent-task:blocked"),
        (Dialect::neo(), Approved, "agent-task:in-progress agent-task:completed"),
        (Dialect::neo(), Done, "agent-task:pending"),
        (Dialect::neo(), Abandoned, "agent-task:pending"),
    ] {
        assert_eq!(dialect.next(status).join(" "), words, "{} {status}", dialect.name());
    }
}

#[test]
fn of_two_states_the_one_that_was_added_counts() {
    let neo = Dialect::neo();
    let both = labels(&["agent-task:in-progress", "agent-task:review"]);
    let settled = neo.settle(&both, Some(Status::InProgress)).unwrap();
    assert_eq!(settled.word, "agent-task:review");
    assert_eq!(settled.remove, ["agent-task:in-progress"]);
    assert_eq!(
        settled.why.as_deref(),
        Some("somebody added agent-task:review beside agent-task:in-progress")
    );
    assert_eq!(neo.settle(&both, Some(Status::Review)).unwrap().word, "agent-task:in-progress");
}

#[test]
fn of_two_states_of_which_nothing_is_known_a_stop_counts_and_else_the_later() {
    let ace = Dialect::ace();
    let word = |list: &[&str]| ace.settle(&labels(list), None).map(|settled| settled.word);
    assert_eq!(word(&["agent:ready", "agent:in-progress"]).unwrap(), "agent:in-progress");
    assert_eq!(word(&["agent:done", "agent:in-progress"]).unwrap(), "agent:done");
    assert_eq!(word(&["agent:done", "agent:blocked"]).unwrap(), "agent:blocked");
    assert_eq!(word(&["agent:failed", "agent:ready"]).unwrap(), "agent:failed");
    assert_eq!(word(&["bug"]), None);
    let one = ace.settle(&labels(&["bug", "agent:ready"]), None).unwrap();
    let word = "agent:ready".to_owned();
    assert_eq!(one, Settled { word, remove: Vec::new(), why: None });
}

fn seen(word: &str) -> Mark<'_> {
    Mark { word: Some(word), issue: Issue::Open }
}

fn way(dialect: &Dialect, known: Status, mark: Mark<'_>) -> Vec<Status> {
    match dialect.outside(known, mark, true) {
        Outside::Wish(wish) => wish.steps,
        other => panic!("{known} {mark:?}: {other:?}"),
    }
}

#[test]
fn a_change_seen_outside_is_a_wish_with_the_way_there() {
    use Status::*;
    let neo = Dialect::neo();
    assert_eq!(way(&neo, Queued, seen("agent-task:in-progress")), [InProgress]);
    assert_eq!(way(&neo, Claimed, seen("agent-task:review")), [InProgress, Review]);
    assert_eq!(way(&neo, InProgress, seen("agent-task:pending")), [Queued]);
    assert_eq!(way(&neo, Review, seen("agent-task:in-progress")), [ChangesRequested]);
    let finished = [Approved, Merging, Done];
    assert_eq!(way(&neo, Review, seen("agent-task:completed")), finished);
    let closed = Mark { word: Some("agent-task:review"), issue: Issue::Completed };
    assert_eq!(way(&neo, Review, closed), finished);
    let document = neo.outside(Review, closed, false);
    let wish = Wish { from: Review, steps: vec![Approved, Done] };
    assert_eq!(document, Outside::Wish(wish));
    assert_eq!(way(&neo, Failed, seen("agent-task:pending")), [Queued]);
    assert_eq!(way(&neo, Done, seen("agent-task:completed")), [Queued]);
    let ace = Dialect::ace();
    assert_eq!(way(&ace, Failed, seen("agent:ready")), [Queued]);
    assert_eq!(way(&ace, Blocked, seen("agent:failed")), [Failed]);
    assert_eq!(way(&ace, InProgress, seen("agent:done")), [Review]);
    let not_planned = Mark { word: Some("agent:ready"), issue: Issue::NotPlanned };
    assert_eq!(way(&ace, Queued, not_planned), [Abandoned]);
    let none = Mark { word: None, issue: Issue::Open };
    assert_eq!(way(&ace, Queued, none), [Blocked], "readiness is withdrawn");
}

#[test]
fn what_cannot_follow_is_refused_and_said() {
    let ace = Dialect::ace();
    let none = Mark { word: None, issue: Issue::Open };
    for (known, mark, said) in [
        (
            Status::Queued,
            seen("agent:done"),
            "a task that is queued cannot become review; comity puts \
          back agent:ready",
        ),
        (Status::Review, seen("agent:ready"), "a task that is review cannot become queued"),
        (Status::InProgress, none, "a task that is in_progress keeps its label"),
    ] {
        match ace.outside(known, mark, true) {
            Outside::Refused(why) => assert!(why.starts_with(said), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ace.outside(Status::Approved, seen("agent:done"), true), Outside::Agrees);
    assert_eq!(ace.outside(Status::Claimed, seen("AGENT:In-Progress"), true), Outside::Agrees);
}

#[test]
fn completed_becomes_done_by_one_who_may() {
    let neo = Dialect::neo();
    let mark = seen("agent-task:completed");
    let Outside::Wish(wish) = neo.outside(Status::Review, mark, false) else { panic!() };
    assert_eq!(wish.verbs(), [Verb::Approve, Verb::Done]);
    let mut policy = Policy::default();
    assert_eq!(wish.forbidden(&policy, &[], true), None);
    assert_eq!(wish.forbidden(&policy, &[Role::Implementer], false), Some(Verb::Approve));
    assert_eq!(wish.forbidden(&policy, &[Role::Critic], false), Some(Verb::Done));
    policy.extra_permissions.insert((Role::Critic, Verb::Done));
    assert_eq!(wish.forbidden(&policy, &[Role::Critic], false), None);
}

#[test]
fn a_board_is_written_with_the_spelling_that_it_has() {
    let board = labels(&["READY", "In Progress", "Blocked", "Done", "Later"]);
    let spelled = Dialect::ace_project().spelled(&board).unwrap();
    assert_eq!(spelled.mark(Status::Queued).word, Some("READY"));
    assert_eq!(spelled.mark(Status::Claimed).word, Some("In Progress"));
    let missing = Dialect::ace_project().spelled(&labels(&["Ready", "Done"])).unwrap_err();
    assert_eq!(missing, ["In progress", "Blocked"]);
}

#[test]
fn a_project_may_have_words_of_its_own() {
    let dialect = own();
    assert_eq!(dialect.mark(Status::Claimed).word, Some("doing"));
    assert_eq!(dialect.mark(Status::Failed).word, Some("stuck"));
    assert_eq!(dialect.mark(Status::Abandoned).word, None);
    assert_eq!(dialect.status(Some("Fine"), Issue::Open), Some(Status::Approved));
    assert_eq!(dialect.words(), ["todo", "doing", "look at me", "shipped", "stuck", "fine"]);
}

#[test]
fn own_words_that_make_no_sense_are_named_by_their_key() {
    let whole = [
        ("queued", "todo"),
        ("in_progress", "doing"),
        ("review", "look"),
        ("done", "shipped"),
        ("blocked", "stuck"),
    ];
    let with = |extra: (&'static str, &'static str)| {
        let mut pairs = whole.to_vec();
        pairs.retain(|(key, _)| *key != extra.0);
        pairs.push(extra);
        table(&pairs)
    };
    let none = BTreeMap::new();
    let long = Box::leak("x".repeat(51).into_boxed_str());
    for (name, states, roles, key) in [
        (Some("jira"), none.clone(), none.clone(), "dialect"),
        (Some("own"), none.clone(), none.clone(), "dialect"),
        (Some("ace"), table(&whole), none.clone(), "dialect"),
        (None, table(&whole[1..]), none.clone(), "states"),
        (None, with(("finished", "x")), none.clone(), "states.finished"),
        (None, with(("done", "TODO")), none.clone(), "states.done"),
        (None, with(("failed", "")), none.clone(), "states.failed"),
        (None, with(("failed", "todo")), none.clone(), "states.failed"),
        (None, with(("claimed", "Shipped")), none.clone(), "states.claimed"),
        (None, with(("changes_requested", "look")), none.clone(), "states.changes_requested"),
        (None, with(("approved", "shipped")), none.clone(), "states.approved"),
        (None, with(("abandoned", "todo")), none.clone(), "states.abandoned"),
        (None, with(("failed", long)), none.clone(), "states.failed"),
        (None, table(&whole), table(&[("king", "x")]), "roles.king"),
        (None, table(&whole), table(&[("critic", "todo")]), "roles.critic"),
    ] {
        let bad = Dialect::configured(name, &states, &roles).unwrap_err();
        assert_eq!(bad.key, key, "{}", bad.message);
    }
    assert_eq!(Dialect::configured(None, &none, &none).unwrap(), Dialect::neo());
    for shared in
        [("done", "look"), ("failed", "stuck"), ("abandoned", "stuck"), ("claimed", "doing")]
    {
        assert!(Dialect::configured(None, &with(shared), &none).is_ok(), "{shared:?}");
    }
}

fn any_labels() -> impl Strategy<Value = Vec<String>> {
    let words: Vec<String> = all()
        .iter()
        .flat_map(|dialect| dialect.words().into_iter().map(str::to_owned).collect::<Vec<_>>())
        .chain(labels(&["bug", "", "agent-role:dev", "é"]))
        .collect();
    proptest::collection::vec(proptest::sample::select(words), 0..5)
}

proptest! {
    #[test]
    fn after_a_change_exactly_the_wanted_state_is_set(
        before in any_labels(),
        which in 0_usize..4,
        to in proptest::sample::select(Status::ALL.to_vec()),
    ) {
        let dialect = &all()[which];
        let change = dialect.change(&before, to);
        let mut after: Vec<String> =
            before.iter().filter(|label| !change.remove.contains(label)).cloned().collect();
        after.extend(change.add);
        after.dedup();
        let mut states = dialect.states_in(&after);
        states.dedup();
        prop_assert_eq!(states, dialect.mark(to).word.into_iter().collect::<Vec<_>>());
        let again = dialect.change(&after, to);
        prop_assert!(again.add.is_empty() && again.remove.is_empty());
        let foreign = |list: &[String]| {
            list.iter().filter(|label| dialect.states_in(&[(*label).clone()]).is_empty()).count()
        };
        prop_assert!(foreign(&after) <= foreign(&before));
    }

    #[test]
    fn repair_keeps_one_of_what_is_set_and_a_wish_walks_the_table(
        set in any_labels(),
        which in 0_usize..4,
        known in proptest::sample::select(Status::ALL.to_vec()),
        closed in 0_usize..3,
    ) {
        let dialect = &all()[which];
        let settled = dialect.settle(&set, Some(known));
        prop_assert_eq!(settled.is_none(), dialect.states_in(&set).is_empty());
        let issue = [Issue::Open, Issue::Completed, Issue::NotPlanned][closed];
        let word = settled.as_ref().map(|settled| settled.word.as_str());
        if let Outside::Wish(wish) = dialect.outside(known, Mark { word, issue }, true) {
            prop_assert!(!wish.steps.is_empty());
            let mut at = known;
            for step in &wish.steps {
                prop_assert!(at.may_become(*step), "{} to {}", at, step);
                at = *step;
            }
            prop_assert_eq!(wish.verbs().len(), wish.steps.len());
        }
    }
}

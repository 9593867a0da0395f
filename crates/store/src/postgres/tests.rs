//! The plans of the statements that every command runs, in tables that the planner knows nothing or the
//! wrong things about.

use super::link::SESSION;
use super::sql;
use crate::test_server::{empty_store, open, psql};

/// Statement, its name, and the indexes that it may use.
const WANTED: &[(&str, &str, &[&str])] = &[
    ("TASK", sql::TASK, &["tasks_pkey"]),
    ("TASKS_STORED", sql::TASKS_STORED, &["tasks_pkey"]),
    ("TASKS_BY_NUMBER", sql::TASKS_BY_NUMBER, &["tasks_by_number"]),
    ("TASKS_BY_PREFIX", sql::TASKS_BY_PREFIX, &["tasks_pkey"]),
    ("TASKS_BY_PARENT", sql::TASKS_BY_PARENT, &["tasks_by_parent"]),
    ("CANDIDATES", sql::CANDIDATES, &["tasks_by_place"]),
    ("PREFERRED", sql::PREFERRED, &["tasks_by_preference"]),
    ("SENT_BACK", sql::SENT_BACK, &["tasks_by_status", "tasks_by_assignee"]),
    ("HELD_BY", sql::HELD_BY, &["tasks_by_holder"]),
    ("TASKS_ALL", sql::TASKS_ALL, &["tasks_by_number"]),
    ("TASKS_OF_STATUS", sql::TASKS_OF_STATUS, &["tasks_by_status"]),
    ("TASKS_OF_ASSIGNEE", sql::TASKS_OF_ASSIGNEE, &["tasks_by_assignee"]),
    ("TASKS_OF_ROLE", sql::TASKS_OF_ROLE, &["tasks_by_role"]),
    ("TASKS_OF_INITIATIVE", sql::TASKS_OF_INITIATIVE, &["tasks_by_initiative"]),
    ("TASKS_OF_LABEL", sql::TASKS_OF_LABEL, &["task_labels_pkey", "tasks_pkey"]),
    (
        "FIRST_DUE",
        sql::FIRST_DUE,
        &["tasks_due", "leases_due", "decisions_due", "memories_due", "directives_due", "runs_due"],
    ),
    ("TASKS_DUE", sql::TASKS_DUE, &["tasks_due"]),
    ("DELETE_TASKS", sql::DELETE_TASKS, &["tasks_pkey"]),
    ("DELETE_DEPS", sql::DELETE_DEPS, &["deps_pkey"]),
    ("DELETE_LABELS", sql::DELETE_LABELS, &["task_labels_by_task"]),
    ("SET_TASKS_DUE", sql::SET_TASKS_DUE, &["tasks_pkey"]),
    ("LEASE", sql::LEASE, &["leases_pkey"]),
    ("LEASES_NEAR", sql::LEASES_NEAR, &["leases_by_prefix"]),
    ("PAST_LEASE", sql::PAST_LEASE, &["past_leases_pkey"]),
    ("PAST_LEASES_NEAR", sql::PAST_LEASES_NEAR, &["past_leases_by_prefix"]),
    ("LEASES_BY_OWNER", sql::LEASES_BY_OWNER, &["leases_by_owner"]),
    ("LEASES_BY_NUMBER", sql::LEASES_BY_NUMBER, &["leases_pkey"]),
    ("LEASES_DUE", sql::LEASES_DUE, &["leases_due"]),
    ("DELETE_LEASES", sql::DELETE_LEASES, &["leases_pkey"]),
    ("SET_LEASES_DUE", sql::SET_LEASES_DUE, &["leases_pkey"]),
    ("DECISION", sql::DECISION, &["decisions_pkey"]),
    ("DECISIONS_OPEN", sql::DECISIONS_OPEN, &["decisions_open", "decisions_pkey"]),
    ("DECISIONS_DUE", sql::DECISIONS_DUE, &["decisions_due"]),
    ("MEMORY", sql::MEMORY, &["memories_pkey"]),
    ("MEMORIES_DUE", sql::MEMORIES_DUE, &["memories_due"]),
    ("MEMORIES_OF_WORD", sql::MEMORIES_OF_WORD, &["memory_words_pkey"]),
    ("MEMORIES_OF_PREFIX", sql::MEMORIES_OF_PREFIX, &["memory_words_pkey"]),
    ("DELETE_WORDS", sql::DELETE_WORDS, &["memory_words_by_memory"]),
    ("DELETE_OTHER_WORDS", sql::DELETE_OTHER_WORDS, &["memory_words_by_memory"]),
    ("DIRECTIVE", sql::DIRECTIVE, &["directives_pkey"]),
    ("DIRECTIVES_DUE", sql::DIRECTIVES_DUE, &["directives_due"]),
    ("RUN", sql::RUN, &["runs_pkey"]),
    ("RUNS_LIVE", sql::RUNS_LIVE, &["runs_live", "runs_pkey"]),
    ("RUNS_OF_TASK", sql::RUNS_OF_TASK, &["runs_by_task"]),
    ("RUNS_DUE", sql::RUNS_DUE, &["runs_due"]),
    ("BUDGET", sql::BUDGET, &["budgets_pkey"]),
    ("SAVED", sql::SAVED, &["idempotency_pkey"]),
    ("PRESENCE", sql::PRESENCE, &["signs_newest_first"]),
    ("AGENT", sql::AGENT, &["agents_pkey"]),
    ("REPO", sql::REPO, &["repos_pkey"]),
    ("HEAD", sql::HEAD, &["events_pkey"]),
    ("EVENTS_ALL", sql::EVENTS_ALL, &["events_pkey"]),
    ("EVENTS_OF_REPO", sql::EVENTS_OF_REPO, &["events_by_repo"]),
    ("EVENTS_OF_TASK", sql::EVENTS_OF_TASK, &["events_by_task"]),
    ("EVENTS_OF_TASK_ANYWHERE", sql::EVENTS_OF_TASK_ANYWHERE, &["events_by_task"]),
    ("EVENTS_ALL_BACK", sql::EVENTS_ALL_BACK, &["events_pkey"]),
    ("EVENTS_OF_REPO_BACK", sql::EVENTS_OF_REPO_BACK, &["events_by_repo"]),
    ("EVENTS_OF_TASK_BACK", sql::EVENTS_OF_TASK_BACK, &["events_by_task"]),
    ("EVENTS_OF_NAME", sql::EVENTS_OF_NAME, &["events_by_name"]),
];

fn values(text: &str) -> usize {
    (1..=16).rev().find(|number| text.contains(&format!("${number}"))).unwrap_or(0)
}

/// Asks for all plans at once; each comes after a line with its statement's name.
fn plans(url: &str) -> String {
    let asked: Vec<String> = WANTED
        .iter()
        .map(|(name, text, _)| {
            let given = vec!["NULL"; values(text)].join(", ");
            let call = if given.is_empty() { String::new() } else { format!("({given})") };
            format!(
                "PREPARE s_{name} AS {text}; SELECT '## {name}'; EXPLAIN EXECUTE s_{name}{call}"
            )
        })
        .collect();
    psql(url, &format!("{SESSION}; {}", asked.join("; ")))
}

/// Returns the plans that are others than wanted.
fn wrong_plans(url: &str) -> Vec<String> {
    let plans = plans(url);
    let plans: Vec<&str> = plans.split("## ").skip(1).collect();
    assert_eq!(plans.len(), WANTED.len());
    let is_wrong = |plan: &&str, (name, _, wanted): &(&str, &str, &[&str])| {
        assert_eq!(plan.lines().next(), Some(*name));
        let used: Vec<&str> = plan
            .lines()
            .filter_map(|line| line.split(" using ").nth(1).or(line.split("Index Scan on ").nth(1)))
            .filter_map(|rest| rest.split_whitespace().next())
            .collect();
        let right = used.iter().all(|index| wanted.contains(index)) && !used.is_empty();
        !right || plan.contains("Seq Scan")
    };
    let wrong = plans.into_iter().zip(WANTED).filter(|(plan, wanted)| is_wrong(plan, wanted));
    wrong.map(|(plan, _)| plan.to_owned()).collect()
}

const FILL: &str = "INSERT INTO tasks (repo, id, number, status, priority, role, assignee, initiative, \
        parent, holder, fence, preferred, due_at, body)
        SELECT 'a/b', 'T' || n, n, 'queued', 2, 'critic', 'ann', 'x', 'T1', 'ann', n, 'ann', n, 'x'
        FROM generate_series(1, 20000) n;
    INSERT INTO task_labels SELECT 'a/b', 'l', n, 'T' || n FROM generate_series(1, 20000) n;
    INSERT INTO deps SELECT 'a/b', 'T' || n, 'T' || n - 1 FROM generate_series(2, 20000) n;
    INSERT INTO leases SELECT 'a/b', n, 'src/' || n, 'src/' || n, false, 'ann', NULL, NULL, n, n, n, n, n
        FROM generate_series(1, 20000) n;
    INSERT INTO past_leases SELECT 'a/b', n, 'src/' || n, n, 'src/' || n, false, 'ann', NULL, n, n, false,
        n, false FROM generate_series(1, 20000) n;
    INSERT INTO decisions SELECT 'a/b', n, true, n, 'x' FROM generate_series(1, 20000) n;
    INSERT INTO memories SELECT 'a/b', n, 'fact', 'global', false, n, 'x' FROM generate_series(1, 20000) n;
    INSERT INTO memory_words SELECT 'a/b', 'w' || n % 100, n FROM generate_series(1, 20000) n;
    INSERT INTO directives SELECT 'a/b', n, n, 'x' FROM generate_series(1, 20000) n;
    INSERT INTO runs SELECT 'a/b', n, 'T1', true, n, 'x' FROM generate_series(1, 20000) n;
    INSERT INTO budgets SELECT 'a/b', 'task:T' || n, 'x' FROM generate_series(1, 20000) n;
    INSERT INTO signs SELECT 'ann', n, n FROM generate_series(1, 20000) n;
    INSERT INTO idempotency SELECT 'ann', 'k' || n, '', 'x', n FROM generate_series(1, 20000) n;
    INSERT INTO events SELECT n, n, 'note', 1, 'a/b', 'ann', 'T1', '', '', ''
        FROM generate_series(1, 20000) n";
const EMPTY: &str = "DELETE FROM tasks; DELETE FROM task_labels; DELETE FROM deps; DELETE FROM leases; \
    DELETE FROM past_leases; DELETE FROM decisions; DELETE FROM memories; DELETE FROM memory_words; DELETE FROM directives; \
    DELETE FROM runs; DELETE FROM budgets; DELETE FROM signs; DELETE FROM idempotency; DELETE FROM events";

#[test]
fn rows_are_found_by_the_same_index_whatever_the_planner_believes_of_a_table() {
    let url = empty_store();
    drop(open(&url));
    let none: [String; 0] = [];
    assert_eq!(wrong_plans(&url), none, "in a store that nobody has used");
    psql(&url, FILL);
    psql(&url, EMPTY);
    psql(&url, "ANALYZE");
    assert_eq!(wrong_plans(&url), none, "where everything has ended and was counted then");
    psql(&url, FILL);
    assert_eq!(wrong_plans(&url), none, "where much has come since it was counted");
    psql(&url, "VACUUM ANALYZE");
    assert_eq!(wrong_plans(&url), none, "in a large store");
}

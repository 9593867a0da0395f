//! Every statement in one place, so that a test can ask SQLite how it would run each of them.
//!
//! Lists name their index: a plan must not change with what statistics say.

use crate::listing::statement_tables;

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* pub(super) const $name: &str = $text;)*

        #[cfg(test)]
        pub(super) const ALL: &[(&str, &str)] = &[$((stringify!($name), $text),)*];
    };
}

macro_rules! event_columns {
    () => {
        "SELECT seq, ts, event, v, repo, agent, task, body, body_hash, hash FROM events "
    };
}

/// ?1 after, ?2 limit, ?3 repository, ?4 task, ?5 name.
macro_rules! event_filter {
    () => {
        event_filter!("seq")
    };
    ($order:literal) => {
        concat!(
            " AND (?3 IS NULL OR repo = ?3) AND (?4 IS NULL OR task = ?4) \
             AND (?5 IS NULL OR event = ?5) ORDER BY ",
            $order,
            " LIMIT ?2"
        )
    };
}

macro_rules! lease_columns {
    () => {
        "SELECT repo, number, path, shared, owner, purpose, claim_of, fence, acquired_at, \
         renewed_at, ttl, late FROM leases "
    };
}

macro_rules! past_lease_columns {
    () => {
        "SELECT repo, number, path, shared, owner, claim_of, fence, acquired_at, late, ended, \
         ended_at, expired FROM past_leases "
    };
}

/// ?1 repository, ?2 after, ?3 limit, ?4 statuses, ?5 assignee, ?6 role, ?7 initiative, ?8
/// unblocked.
macro_rules! task_filter {
    () => {
        " AND (?4 IS NULL OR instr(?4, ',' || t.status || ',') > 0) \
         AND (?5 IS NULL OR t.assignee = ?5) AND (?6 IS NULL OR t.role = ?6) \
         AND (?7 IS NULL OR t.initiative = ?7) \
         AND (?8 = 0 OR (t.status = 'queued' AND t.waits = 0))"
    };
}

macro_rules! task_list {
    ($index:literal, $driver:literal) => {
        concat!(
            "SELECT t.body FROM tasks t INDEXED BY ",
            $index,
            " WHERE t.repo = ?1 AND t.number > ?2",
            $driver,
            task_filter!(),
            " ORDER BY t.number LIMIT ?3"
        )
    };
}

statements! {
    HEAD = "SELECT seq, ts, hash FROM events ORDER BY seq DESC LIMIT 1";
    META = "SELECT key, value FROM meta WHERE key IN (?1, ?2)";
    DELETE_META = "DELETE FROM meta WHERE key = ?1";
    SET_META = "INSERT INTO meta (key, value) VALUES (?1, ?2)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";

    EVENTS_ALL = concat!(event_columns!(), "WHERE seq > ?1", event_filter!());
    EVENTS_OF_REPO = concat!(event_columns!(),
        "INDEXED BY events_by_repo WHERE repo = ?3 AND seq > ?1", event_filter!());
    EVENTS_OF_TASK = concat!(event_columns!(),
        "INDEXED BY events_by_task WHERE task = ?4 AND repo = ?3 AND seq > ?1", event_filter!());
    EVENTS_OF_TASK_ANYWHERE = concat!(event_columns!(),
        "INDEXED BY events_by_task WHERE task = ?4 AND seq > ?1", event_filter!());
    EVENTS_OF_NAME = concat!(event_columns!(),
        "INDEXED BY events_by_name WHERE event = ?5 AND seq > ?1", event_filter!());
    EVENTS_ALL_BACK = concat!(event_columns!(), "WHERE seq < ?1", event_filter!("seq DESC"));
    EVENTS_OF_REPO_BACK = concat!(event_columns!(),
        "INDEXED BY events_by_repo WHERE repo = ?3 AND seq < ?1", event_filter!("seq DESC"));
    EVENTS_OF_TASK_BACK = concat!(event_columns!(),
        "INDEXED BY events_by_task WHERE task = ?4 AND repo = ?3 AND seq < ?1",
        event_filter!("seq DESC"));
    EVENT_HASH = "SELECT hash FROM events WHERE seq = ?1";
    EVENT_TS = "SELECT ts FROM events WHERE seq >= ?1 ORDER BY seq LIMIT 1";
    APPEND = "INSERT INTO events (seq, ts, event, v, repo, agent, task, body, body_hash, hash)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

    REPO = "SELECT tasks, leases, decisions, memories, directives, fold_case, seats FROM repos
        WHERE repo = ?1";
    REPOS_AFTER = "SELECT repo, tasks, leases, decisions, memories, directives, fold_case, seats FROM repos
        WHERE repo > ?1 ORDER BY repo LIMIT ?2";
    SET_REPO = "INSERT INTO repos
        (repo, tasks, leases, decisions, memories, directives, fold_case, seats)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        ON CONFLICT (repo) DO UPDATE SET tasks = excluded.tasks, leases = excluded.leases,
        decisions = excluded.decisions, memories = excluded.memories,
        directives = excluded.directives, fold_case = excluded.fold_case,
        seats = excluded.seats";
    DELETE_REPOS = "DELETE FROM repos WHERE repo = ?1";

    AGENT = "SELECT body FROM agents WHERE id = ?1";
    AGENTS_AFTER = "SELECT body FROM agents WHERE id > ?1 ORDER BY id LIMIT ?2";
    SET_AGENT = "INSERT INTO agents (id, body) VALUES (?1, ?2)
        ON CONFLICT (id) DO UPDATE SET body = excluded.body";
    DELETE_AGENTS = "DELETE FROM agents WHERE id = ?1";
    PRESENCE = "SELECT fence, last_seen FROM presence
        WHERE agent = ?1 AND (fence = 0 OR last_seen > ?2)";
    SET_PRESENCE = "INSERT INTO presence (agent, fence, last_seen) VALUES (?1, ?2, ?3)
        ON CONFLICT (agent, fence) DO UPDATE SET last_seen = max(last_seen, excluded.last_seen)";
    PRUNE_PRESENCE = "DELETE FROM presence WHERE (agent, fence) IN (
        SELECT agent, fence FROM presence INDEXED BY presence_of_grants
        WHERE fence > 0 AND last_seen <= ?1 ORDER BY last_seen LIMIT ?2)";

    CORRECT_PRESENCE = "DELETE FROM presence WHERE last_seen > ?1";
    CORRECT_SAVED = "UPDATE idempotency SET at = ?1 WHERE at > ?1";
    SAVED = "SELECT input, answer, at FROM idempotency WHERE actor = ?1 AND key = ?2 AND at > ?3";
    SAVED_AFTER = "SELECT actor, key, input, answer, at FROM idempotency
        WHERE (actor, key) > (?1, ?2) AND at > ?3 ORDER BY actor, key LIMIT ?4";
    SET_SAVED = "INSERT OR REPLACE INTO idempotency (actor, key, input, answer, at)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    KEPT_AFTER = "SELECT space, key, value FROM kept
        WHERE (space, key) > (?1, ?2) ORDER BY space, key LIMIT ?3";
    SET_KEPT = "INSERT OR REPLACE INTO kept (space, key, value) VALUES (?1, ?2, ?3)";
    DELETE_KEPT = "DELETE FROM kept WHERE space = ?1 AND key = ?2";
    PRUNE_SAVED = "DELETE FROM idempotency WHERE (actor, key) IN (
        SELECT actor, key FROM idempotency WHERE at <= ?1 ORDER BY at LIMIT ?2)";

    TASK = "SELECT body, rowid, due_at FROM tasks WHERE repo = ?1 AND id = ?2";
    TASK_COLUMNS = "SELECT rowid, number, status, priority, role, assignee, initiative, parent,
        holder, fence, preferred, due_at FROM tasks WHERE repo = ?1 AND id = ?2";
    TASKS_BY_NUMBER = "SELECT id, body, rowid, due_at FROM tasks INDEXED BY tasks_by_number
        WHERE repo = ?1 AND number = ?2";
    TASKS_BY_PREFIX = "SELECT id, body, rowid, due_at FROM tasks
        WHERE repo = ?1 AND id >= ?2 AND id < ?2 || char(127) ORDER BY id LIMIT ?3";
    TASKS_AFTER = "SELECT repo, id, body FROM tasks INDEXED BY tasks_by_id
        WHERE (repo, id) > (?1, ?2) ORDER BY repo, id LIMIT ?3";
    TASKS_BY_PARENT = "SELECT id, body, rowid, due_at FROM tasks INDEXED BY tasks_by_parent
        WHERE repo = ?1 AND parent = ?2 ORDER BY id";
    DEPENDANTS = "SELECT t.id, t.body, t.rowid, t.due_at FROM deps d CROSS JOIN tasks t
        ON t.repo = d.repo AND t.id = d.task WHERE d.repo = ?1 AND d.on_task = ?2
        ORDER BY d.task";
    CANDIDATES = "SELECT id, priority, number, body, rowid, due_at FROM tasks
        INDEXED BY tasks_by_place
        WHERE repo = ?1 AND (priority, number) > (?2, ?3) AND status = 'queued' AND waits = 0
        ORDER BY priority, number LIMIT ?4";
    PREFERRED = "SELECT id, body, rowid, due_at FROM tasks INDEXED BY tasks_by_preference
        WHERE repo = ?1 AND preferred = ?2 AND status = 'queued' AND waits = 0
        ORDER BY priority, number LIMIT ?3";
    SENT_BACK = "SELECT id, body, rowid, due_at FROM tasks INDEXED BY tasks_by_status
        WHERE repo = ?1 AND status = 'changes_requested' AND assignee = ?2 ORDER BY number LIMIT ?3";
    WAITING = "SELECT count(*) FROM (SELECT 1 FROM tasks INDEXED BY tasks_waiting
        WHERE repo = ?1 AND status = 'queued' AND waits > 0 LIMIT ?2)";
    HELD_BY = "SELECT repo, id FROM tasks INDEXED BY tasks_by_holder
        WHERE holder = ?1 ORDER BY repo, number LIMIT ?2";
    STATUS_COUNTS = "SELECT status, count(*) FROM tasks INDEXED BY tasks_by_status
        WHERE repo = ?1 GROUP BY status";
    TASKS_ALL = task_list!("tasks_by_number", "");
    TASKS_UNBLOCKED = task_list!("tasks_unblocked", " AND t.status = 'queued' AND t.waits = 0");
    TASKS_OF_STATUS = concat!(
        "SELECT t.body FROM tasks t INDEXED BY tasks_by_status \
         WHERE t.repo = ?1 AND t.status = ?9 AND t.number > ?2", task_filter!(),
        " ORDER BY t.number LIMIT ?3");
    TASKS_OF_ASSIGNEE = task_list!("tasks_by_assignee", " AND t.assignee = ?5");
    TASKS_OF_ROLE = task_list!("tasks_by_role", " AND t.role = ?6");
    TASKS_OF_INITIATIVE = task_list!("tasks_by_initiative", " AND t.initiative = ?7");
    TASKS_OF_LABEL = concat!(
        "SELECT t.body FROM task_labels l CROSS JOIN tasks t INDEXED BY tasks_by_id \
         ON t.repo = l.repo AND t.id = l.task \
         WHERE l.repo = ?1 AND l.label = ?9 AND l.number > ?2", task_filter!(),
        " ORDER BY l.number LIMIT ?3");

    INSERT_TASK = "INSERT INTO tasks (repo, id, number, status, priority, role, assignee,
        initiative, parent, holder, fence, preferred, due_at, body, rowid)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
    UPDATE_TASK = "UPDATE tasks SET number = ?3, status = ?4, priority = ?5, role = ?6,
        assignee = ?7, initiative = ?8, parent = ?9, holder = ?10, fence = ?11,
        preferred = ?12, due_at = ?13, body = ?14 WHERE rowid = ?15";
    UPDATE_TASK_BODY = "UPDATE tasks SET body = ?2 WHERE rowid = ?1";
    DELETE_TASKS = "DELETE FROM tasks WHERE repo = ?1 AND id = ?2";
    SET_TASK_DUE = "UPDATE tasks SET due_at = ?3 WHERE repo = ?1 AND id = ?2";
    SET_WAITS = "UPDATE tasks SET waits = (
        SELECT count(*) FROM deps d WHERE d.repo = ?1 AND d.task = ?2 AND NOT EXISTS (
            SELECT 1 FROM tasks o
            WHERE o.repo = d.repo AND o.id = d.on_task AND o.status = 'done'))
        WHERE repo = ?1 AND id = ?2";
    DEPS_OF = "SELECT on_task FROM deps WHERE repo = ?1 AND task = ?2";
    DEPENDANT_IDS = "SELECT task FROM deps INDEXED BY deps_by_target
        WHERE repo = ?1 AND on_task = ?2";
    ADD_DEP = "INSERT OR IGNORE INTO deps (repo, task, on_task) VALUES (?1, ?2, ?3)";
    DELETE_DEPS = "DELETE FROM deps WHERE repo = ?1 AND task = ?2";
    LABELS_OF = "SELECT label FROM task_labels INDEXED BY task_labels_by_task
        WHERE repo = ?1 AND task = ?2";
    ADD_LABEL = "INSERT OR IGNORE INTO task_labels (repo, label, number, task)
        VALUES (?1, ?2, ?3, ?4)";
    DELETE_LABELS = "DELETE FROM task_labels WHERE repo = ?1 AND task = ?2";

    LEASE = concat!(lease_columns!(),
        "INDEXED BY leases_by_number WHERE repo = ?1 AND number = ?2");
    LEASES_AT = concat!(lease_columns!(), "WHERE repo = ?1 AND prefix = ?2");
    LEASES_BELOW = concat!(lease_columns!(),
        "WHERE repo = ?1 AND prefix >= ?2 || '/' AND prefix < ?2 || '0'");
    LEASES_FIRST_BELOW = concat!(lease_columns!(),
        "WHERE repo = ?1 AND prefix >= ?2 || '/' AND prefix < ?2 || '0'
        ORDER BY prefix, number LIMIT ?3");
    LEASES_OF_REPO = concat!(lease_columns!(), "WHERE repo = ?1");
    LEASES_BY_OWNER = concat!(lease_columns!(),
        "INDEXED BY leases_by_owner WHERE repo = ?1 AND owner = ?2 AND number > ?3
        ORDER BY number LIMIT ?4");
    LEASES_BY_NUMBER = concat!(lease_columns!(),
        "INDEXED BY leases_by_number WHERE repo = ?1 AND number > ?2 ORDER BY number LIMIT ?3");
    LEASES_AFTER = concat!(lease_columns!(),
        "INDEXED BY leases_by_number WHERE (repo, number) > (?1, ?2)
        ORDER BY repo, number LIMIT ?3");
    SET_LEASE = "INSERT INTO leases (repo, prefix, number, path, shared, owner, purpose, claim_of,
        fence, acquired_at, renewed_at, ttl, due_at, late)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?15)
        ON CONFLICT (repo, number) DO UPDATE SET prefix = excluded.prefix, path = excluded.path,
        shared = excluded.shared, owner = excluded.owner, purpose = excluded.purpose,
        claim_of = excluded.claim_of, fence = excluded.fence, acquired_at = excluded.acquired_at,
        renewed_at = excluded.renewed_at, ttl = excluded.ttl, late = excluded.late,
        due_at = iif(?14, excluded.due_at, due_at)";
    DELETE_LEASES = "DELETE FROM leases WHERE repo = ?1 AND number = ?2";
    PAST_LEASE = concat!(past_lease_columns!(),
        "INDEXED BY past_leases_by_number WHERE repo = ?1 AND number = ?2");
    PAST_LEASES_AT = concat!(past_lease_columns!(),
        "WHERE repo = ?1 AND prefix = ?2 AND ended > ?3");
    PAST_LEASES_BELOW = concat!(past_lease_columns!(),
        "WHERE repo = ?1 AND prefix >= ?2 || '/' AND prefix < ?2 || '0' AND ended > ?3");
    PAST_LEASES_OF_REPO = concat!(past_lease_columns!(), "WHERE repo = ?1 AND ended > ?2");
    PAST_LEASES_AFTER = concat!(past_lease_columns!(),
        "INDEXED BY past_leases_by_number WHERE (repo, number) > (?1, ?2)
        ORDER BY repo, number LIMIT ?3");
    SET_PAST_LEASE = "INSERT OR REPLACE INTO past_leases (repo, prefix, ended, number, path, shared,
        owner, claim_of, fence, acquired_at, late, ended_at, expired)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    DELETE_PAST_LEASES = "DELETE FROM past_leases WHERE repo = ?1 AND number = ?2";
    SET_LEASE_DUE = "UPDATE leases SET due_at = ?3 WHERE repo = ?1 AND number = ?2";

    DECISION = "SELECT body FROM decisions WHERE repo = ?1 AND number = ?2";
    DECISIONS_BY_NUMBER = "SELECT body FROM decisions
        WHERE repo = ?1 AND number > ?2 ORDER BY number LIMIT ?3";
    DECISIONS_OPEN = "SELECT body FROM decisions INDEXED BY decisions_open
        WHERE repo = ?1 AND number > ?2 AND open = 1 ORDER BY number LIMIT ?3";
    DECISIONS_AFTER = "SELECT body FROM decisions INDEXED BY decisions_by_number
        WHERE (repo, number) > (?1, ?2) ORDER BY repo, number LIMIT ?3";
    SET_DECISION = "INSERT INTO decisions (repo, number, open, due_at, body)
        VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (repo, number) DO UPDATE SET open = excluded.open, body = excluded.body,
        due_at = iif(?6, excluded.due_at, due_at)";
    DELETE_DECISIONS = "DELETE FROM decisions WHERE repo = ?1 AND number = ?2";
    SET_DECISION_DUE = "UPDATE decisions SET due_at = ?3 WHERE repo = ?1 AND number = ?2";

    MEMORY = "SELECT body FROM memories WHERE repo = ?1 AND number = ?2";
    MEMORIES = "SELECT body FROM memories INDEXED BY memories_by_number
        WHERE repo = ?1 AND number > ?2 AND (?3 IS NULL OR kind = ?3)
        AND (?4 IS NULL OR scope = ?4 OR scope = 'global') AND (?5 OR superseded = 0)
        ORDER BY number";
    MEMORIES_AFTER = "SELECT body FROM memories INDEXED BY memories_by_number
        WHERE (repo, number) > (?1, ?2) ORDER BY repo, number LIMIT ?3";
    MEMORIES_OF_WORD = "SELECT memory FROM memory_words WHERE repo = ?1 AND word = ?2";
    MEMORIES_OF_PREFIX = "SELECT memory FROM memory_words
        WHERE repo = ?1 AND word >= ?2 AND word < ?3";
    WORDS_OF_MEMORY = "SELECT word FROM memory_words INDEXED BY memory_words_by_memory
        WHERE repo = ?1 AND memory = ?2";
    SET_MEMORY = "INSERT INTO memories (repo, number, kind, scope, superseded, due_at, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (repo, number) DO UPDATE SET kind = excluded.kind, scope = excluded.scope,
        superseded = excluded.superseded, body = excluded.body,
        due_at = iif(?8, excluded.due_at, due_at)";
    ADD_MEMORY_WORD = "INSERT OR IGNORE INTO memory_words (repo, word, memory)
        VALUES (?1, ?2, ?3)";
    DELETE_MEMORY_WORD = "DELETE FROM memory_words
        WHERE repo = ?1 AND word = ?2 AND memory = ?3";
    DELETE_MEMORIES = "DELETE FROM memories WHERE repo = ?1 AND number = ?2";
    DELETE_MEMORY_WORDS = "DELETE FROM memory_words WHERE repo = ?1 AND memory = ?2";
    SET_MEMORY_DUE = "UPDATE memories SET due_at = ?3 WHERE repo = ?1 AND number = ?2";

    DIRECTIVE = "SELECT body FROM directives WHERE repo = ?1 AND number = ?2";
    DIRECTIVES_BY_NUMBER = "SELECT body FROM directives
        WHERE repo = ?1 AND number > ?2 ORDER BY number LIMIT ?3";
    DIRECTIVES_AFTER = "SELECT body FROM directives INDEXED BY directives_by_number
        WHERE (repo, number) > (?1, ?2) ORDER BY repo, number LIMIT ?3";
    SET_DIRECTIVE = "INSERT INTO directives (repo, number, due_at, body) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (repo, number) DO UPDATE SET body = excluded.body,
        due_at = iif(?5, excluded.due_at, due_at)";
    DELETE_DIRECTIVES = "DELETE FROM directives WHERE repo = ?1 AND number = ?2";
    SET_DIRECTIVE_DUE = "UPDATE directives SET due_at = ?3 WHERE repo = ?1 AND number = ?2";

    POST = "SELECT body FROM posts WHERE repo = ?1 AND id = ?2";
    POSTS_AFTER = "SELECT body FROM posts INDEXED BY posts_by_id
        WHERE (repo, id) > (?1, ?2) ORDER BY repo, id LIMIT ?3";
    POSTS_BEFORE = "SELECT seq, id FROM posts INDEXED BY posts_by_seq
        WHERE repo = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";
    POSTS_BACK_FROM = "SELECT seq, id FROM post_places
        WHERE repo = ?1 AND place = ?2 AND seq < ?3 ORDER BY seq DESC LIMIT ?4";
    POSTS_ON_FROM = "SELECT seq, id FROM post_places
        WHERE repo = ?1 AND place = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4";
    PLACES_OF = "SELECT place, seq FROM post_places INDEXED BY post_places_by_id
        WHERE repo = ?1 AND id = ?2";
    SET_POST = "INSERT INTO posts (repo, id, seq, body) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (repo, id) DO UPDATE SET seq = excluded.seq, body = excluded.body";
    ADD_PLACE = "INSERT OR IGNORE INTO post_places (repo, place, seq, id)
        VALUES (?1, ?2, ?3, ?4)";
    DELETE_POSTS = "DELETE FROM posts WHERE repo = ?1 AND id = ?2";
    DELETE_PLACES = "DELETE FROM post_places WHERE repo = ?1 AND id = ?2";
    RUN = "SELECT body FROM runs WHERE repo = ?1 AND number = ?2";
    RUNS_BY_NUMBER = "SELECT body FROM runs INDEXED BY runs_by_number
        WHERE repo = ?1 AND number > ?2 ORDER BY number LIMIT ?3";
    RUNS_LIVE = "SELECT body FROM runs INDEXED BY runs_live
        WHERE repo = ?1 AND number > ?2 AND live ORDER BY number LIMIT ?3";
    RUNS_OF_TASK = "SELECT body FROM runs INDEXED BY runs_by_task
        WHERE repo = ?1 AND number > ?2 AND task = ?4 AND (live OR NOT ?5) ORDER BY number LIMIT ?3";
    RUNS_AFTER = "SELECT body FROM runs INDEXED BY runs_by_number
        WHERE (repo, number) > (?1, ?2) ORDER BY repo, number LIMIT ?3";
    SET_RUN = "INSERT INTO runs (repo, number, task, live, due_at, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (repo, number) DO UPDATE SET body = excluded.body, live = excluded.live,
        task = excluded.task, due_at = iif(?7, excluded.due_at, due_at)";
    DELETE_RUNS = "DELETE FROM runs WHERE repo = ?1 AND number = ?2";
    SET_RUN_DUE = "UPDATE runs SET due_at = ?3 WHERE repo = ?1 AND number = ?2";

    BUDGET = "SELECT body FROM budgets WHERE repo = ?1 AND scope = ?2";
    BUDGETS_OF_REPO = "SELECT body FROM budgets
        WHERE repo = ?1 AND scope > ?2 ORDER BY scope LIMIT ?3";
    BUDGETS_AFTER = "SELECT body FROM budgets
        WHERE (repo, scope) > (?1, ?2) ORDER BY repo, scope LIMIT ?3";
    SET_BUDGET = "INSERT INTO budgets (repo, scope, body) VALUES (?1, ?2, ?3)
        ON CONFLICT (repo, scope) DO UPDATE SET body = excluded.body";
    DELETE_BUDGETS = "DELETE FROM budgets WHERE repo = ?1 AND scope = ?2";

    TASKS_DUE = "SELECT due_at, repo, id FROM tasks INDEXED BY tasks_due
        WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2";
    LEASES_DUE = "SELECT due_at, repo, number FROM leases INDEXED BY leases_due
        WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2";
    DECISIONS_DUE = "SELECT due_at, repo, number FROM decisions INDEXED BY decisions_due
        WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2";
    MEMORIES_DUE = "SELECT due_at, repo, number FROM memories INDEXED BY memories_due
        WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2";
    DIRECTIVES_DUE = "SELECT due_at, repo, number FROM directives INDEXED BY directives_due
        WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2";
    RUNS_DUE = "SELECT due_at, repo, number FROM runs INDEXED BY runs_due
        WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2";
}

statement_tables!();

//! Every statement in one place. Those that write take whole batches as arrays.
//!
//! One way to find rows, whatever the planner believes of a table: most tables begin empty, and one of
//! leases is always full of rows that ended, so that its figures say nothing and an index on the repository
//! alone looks as good as the right one. Therefore a column is compared as `x >= v AND x <= v` and rows are
//! wanted `ORDER BY x`: sessions avoid sorting, and only the right index gives that order. A test looks at
//! the plans.

use crate::listing::statement_tables;

macro_rules! event_columns {
    () => {
        "SELECT seq, ts, event, v, repo, agent, task, body, body_hash, hash FROM events "
    };
}

/// $1 after, $2 limit, $3 repository, $4 task, $5 name.
macro_rules! event_filter {
    ($order:literal) => {
        concat!(
            " AND ($3::text IS NULL OR repo = $3) AND ($4::text IS NULL OR task = $4) \
             AND ($5::text IS NULL OR event = $5) ORDER BY ",
            $order,
            " LIMIT $2"
        )
    };
}

macro_rules! lease_columns {
    () => {
        "SELECT repo, number, path, shared, owner, purpose, claim_of, fence, acquired_at, \
         renewed_at, ttl, late FROM leases "
    };
}

/// $3 limit, $4 statuses, $5 assignee, $6 role, $7 initiative, $8 unblocked, $9 the one that leads.
macro_rules! task_filter {
    ($order:literal) => {
        concat!(
            " AND ($4::text[] IS NULL OR t.status = ANY($4)) \
             AND ($5::text IS NULL OR t.assignee = $5) AND ($6::text IS NULL OR t.role = $6) \
             AND ($7::text IS NULL OR t.initiative = $7) \
             AND (NOT $8::boolean OR (t.status = 'queued' AND t.waits = 0)) \
             AND ($9::text IS NULL OR TRUE) ORDER BY ",
            $order,
            " LIMIT $3"
        )
    };
}

/// $1 repository, $2 after, and what the filter takes.
macro_rules! task_list {
    ($driver:literal, $order:literal) => {
        concat!(
            "SELECT t.body FROM tasks t WHERE t.repo = $1 AND t.number > $2",
            $driver,
            task_filter!($order)
        )
    };
}

/// The earliest time at which anything is due, so that no query is needed before it. NULL means never.
macro_rules! first_due {
    () => {
        "least((SELECT due_at FROM tasks WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1),
        (SELECT due_at FROM leases WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1),
        (SELECT due_at FROM decisions WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1),
        (SELECT due_at FROM memories WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1),
        (SELECT due_at FROM directives WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1),
        (SELECT due_at FROM runs WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1))"
    };
}

#[cfg(test)]
pub(super) const FIRST_DUE: &str = concat!("SELECT ", first_due!());
/// One round trip tells the time, what others did, where the log ends, and when anything is due.
pub(super) const START: &str = concat!(
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    (extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint,
    c.last_value, m.value, h.seq, h.ts, h.hash, closed.value, ",
    first_due!(),
    ", current_setting('synchronous_standby_names') <> '' FROM commits c
    LEFT JOIN meta m ON m.key = 'clock'
    LEFT JOIN meta closed ON closed.key = 'closed'
    LEFT JOIN LATERAL (SELECT seq, ts, hash FROM events ORDER BY seq DESC LIMIT 1) h ON TRUE"
);
/// Changes nothing and yet has a place in the server's log, which a commit waits for.
pub(super) const MARK: &str = "SELECT pg_logical_emit_message(true, 'comity', '')";
pub(super) const LOCK: &str = "SELECT pg_advisory_xact_lock($1)";
/// What every commit ends with: adds its events and signs of life, counts the commit, and tells every listener.
pub(super) const COMMITTED: &str = "WITH appended AS (INSERT INTO events
    (seq, ts, event, v, repo, agent, task, body, body_hash, hash)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[],
    $6::text[], $7::text[], $8::bytea[], $9::bytea[], $10::bytea[])),
    signed AS (INSERT INTO signs (agent, fence, at)
    SELECT * FROM unnest($11::text[], $12::bigint[], $13::bigint[])
    ON CONFLICT (agent, fence, at) DO NOTHING)
    SELECT nextval('commits'), pg_notify($14, '')";
pub(super) const SET_META: &str = "INSERT INTO meta (key, value) VALUES ($1, $2)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";

pub(super) const DELETE_META: &str = "DELETE FROM meta WHERE key = $1";

pub(super) const HEAD: &str = "SELECT seq, ts, hash FROM events ORDER BY seq DESC LIMIT 1";
pub(super) const EVENTS_ALL: &str =
    concat!(event_columns!(), "WHERE seq > $1", event_filter!("seq"));
pub(super) const EVENTS_OF_REPO: &str = concat!(
    event_columns!(),
    "WHERE repo >= $3 AND repo <= $3 AND seq > $1",
    event_filter!("repo, seq")
);
pub(super) const EVENTS_OF_TASK: &str = concat!(
    event_columns!(),
    "WHERE task >= $4 AND task <= $4 AND repo = $3 AND seq > $1",
    event_filter!("task, seq")
);
/// A task of that name in any repository: few enough to be sorted.
pub(super) const EVENTS_OF_TASK_ANYWHERE: &str = concat!(
    "SELECT * FROM (",
    event_columns!(),
    "WHERE task >= $4 AND task <= $4 AND seq > $1 ORDER BY task, repo, seq) e WHERE TRUE",
    event_filter!("seq")
);
pub(super) const EVENTS_OF_NAME: &str = concat!(
    event_columns!(),
    "WHERE event >= $5 AND event <= $5 AND seq > $1",
    event_filter!("event, seq")
);
pub(super) const EVENTS_ALL_BACK: &str =
    concat!(event_columns!(), "WHERE seq < $1", event_filter!("seq DESC"));
pub(super) const EVENTS_OF_REPO_BACK: &str = concat!(
    event_columns!(),
    "WHERE repo >= $3 AND repo <= $3 AND seq < $1",
    event_filter!("repo DESC, seq DESC")
);
pub(super) const EVENTS_OF_TASK_BACK: &str = concat!(
    event_columns!(),
    "WHERE task >= $4 AND task <= $4 AND repo = $3 AND seq < $1",
    event_filter!("task DESC, seq DESC")
);
pub(super) const EVENT_HASHES: &str = "SELECT seq, hash FROM events WHERE seq = ANY($1)";
pub(super) const EVENT_TS: &str = "SELECT ts FROM events WHERE seq >= $1 ORDER BY seq LIMIT 1";

pub(super) const REPO: &str =
    "SELECT tasks, leases, decisions, memories, directives, fold_case, seats FROM repos
    WHERE repo = $1 ORDER BY at_commit DESC LIMIT 1";
pub(super) const REPOS_AFTER: &str = "SELECT DISTINCT ON (repo) repo, tasks, leases, decisions,
    memories, directives, fold_case, seats FROM repos WHERE repo > $1 ORDER BY repo, at_commit DESC LIMIT $2";
/// The number of a commit is known before it is counted, under the lock.
pub(super) const SET_REPOS: &str = "INSERT INTO repos
    (repo, at_commit, tasks, leases, decisions, memories, directives, fold_case, seats)
    SELECT repo, $1, tasks, leases, decisions, memories, directives, fold_case, seats
    FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[])
    u (repo, tasks, leases, decisions, memories, directives, fold_case, seats)
    ON CONFLICT (repo, at_commit) DO UPDATE SET tasks = excluded.tasks, leases = excluded.leases,
    decisions = excluded.decisions, memories = excluded.memories,
    directives = excluded.directives, fold_case = excluded.fold_case, seats = excluded.seats";
pub(super) const PRUNE_REPOS: &str =
    "DELETE FROM repos r WHERE at_commit >= $1 AND at_commit < $2 AND EXISTS (
    SELECT 1 FROM repos n WHERE n.repo = r.repo AND n.at_commit > r.at_commit)";

pub(super) const AGENT: &str = "SELECT body FROM agents WHERE id = $1";
pub(super) const AGENTS_AFTER: &str = "SELECT body FROM agents WHERE id > $1 ORDER BY id LIMIT $2";
pub(super) const SET_AGENTS: &str = "INSERT INTO agents (id, body)
    SELECT * FROM unnest($1::text[], $2::text[])
    ON CONFLICT (id) DO UPDATE SET body = excluded.body";
pub(super) const DELETE_AGENTS: &str = "DELETE FROM agents WHERE id = ANY($1)";
/// The newest sign for each fence of an agent, found by as many steps in the index.
pub(super) const PRESENCE: &str = "WITH RECURSIVE newest AS (
        (SELECT fence, at FROM signs WHERE agent = $1 ORDER BY fence, at DESC LIMIT 1)
        UNION ALL
        SELECT n.fence, n.at FROM newest, LATERAL (
            SELECT fence, at FROM signs WHERE agent = $1 AND fence > newest.fence
            ORDER BY fence, at DESC LIMIT 1) n)
    SELECT fence, at FROM newest WHERE fence = 0 OR at > $2";
/// Forgets what a newer sign has made void, and old ones for single grants.
pub(super) const PRUNE_SIGNS: &str = "DELETE FROM signs WHERE ctid = ANY(ARRAY(
    SELECT s.ctid FROM signs s WHERE s.at >= $4 AND s.at < $1 AND ((s.fence > 0 AND s.at <= $2) OR EXISTS (
        SELECT 1 FROM signs n WHERE n.agent = s.agent AND n.fence = s.fence AND n.at > s.at))
    ORDER BY s.at LIMIT $3))";

pub(super) const CORRECT_SIGNS: &str = "DELETE FROM signs WHERE at > $1";
pub(super) const CORRECT_SAVED: &str = "UPDATE idempotency SET at = $1 WHERE at > $1";
pub(super) const SAVED: &str = "SELECT input, answer, at FROM idempotency
    WHERE actor = $1 AND key >= $2 AND key <= $2 AND at > $3 ORDER BY key";
pub(super) const SAVED_AFTER: &str = "SELECT actor, key, input, answer, at FROM idempotency
    WHERE (actor, key) > ($1, $2) AND at > $3 ORDER BY actor, key LIMIT $4";
pub(super) const SET_SAVED: &str = "INSERT INTO idempotency (actor, key, input, answer, at)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::bigint[])
    ON CONFLICT (actor, key) DO UPDATE SET input = excluded.input,
    answer = excluded.answer, at = excluded.at";
pub(super) const KEPT_AFTER: &str = "SELECT space, key, value FROM kept
    WHERE (space, key) > ($1, $2) ORDER BY space, key LIMIT $3";
pub(super) const SET_KEPT: &str = "INSERT INTO kept (space, key, value)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[])
    ON CONFLICT (space, key) DO UPDATE SET value = excluded.value";
pub(super) const DELETE_KEPT: &str = "DELETE FROM kept WHERE (space, key) IN (
    SELECT * FROM unnest($1::text[], $2::text[]))";
pub(super) const PRUNE_SAVED: &str = "DELETE FROM idempotency WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotency WHERE at <= $1 ORDER BY at LIMIT $2))";

pub(super) const TASK: &str = "SELECT id, body FROM tasks
    WHERE repo = $1 AND id >= $2 AND id <= $2 ORDER BY id";
pub(super) const TASKS_STORED: &str = "SELECT t.repo, t.body
    FROM unnest($1::text[], $2::text[]) u (repo, id), LATERAL (
        SELECT repo, body FROM tasks WHERE repo = u.repo AND id >= u.id AND id <= u.id ORDER BY id) t";
pub(super) const TASKS_BY_NUMBER: &str = "SELECT id, body FROM tasks
    WHERE repo = $1 AND number >= $2 AND number <= $2 ORDER BY number";
pub(super) const TASKS_BY_PREFIX: &str = "SELECT id, body FROM tasks
    WHERE repo = $1 AND id >= $2 AND id < $2 || chr(127) ORDER BY id LIMIT $3";
pub(super) const TASKS_AFTER: &str = "SELECT repo, id, body FROM tasks
    WHERE (repo, id) > ($1, $2) ORDER BY repo, id LIMIT $3";
pub(super) const TASKS_BY_PARENT: &str = "SELECT id, body FROM (SELECT id, body FROM tasks
    WHERE repo = $1 AND parent >= $2 AND parent <= $2 ORDER BY parent) t ORDER BY id";
pub(super) const DEPENDANTS: &str = "SELECT t.id, t.body FROM deps d
    JOIN tasks t ON t.repo = d.repo AND t.id = d.task
    WHERE d.repo = $1 AND d.on_task = $2 ORDER BY d.task";
pub(super) const CANDIDATES: &str = "SELECT id, body, priority, number FROM tasks
    WHERE repo = $1 AND (priority, number) > ($2, $3) AND status = 'queued' AND waits = 0
    ORDER BY priority, number LIMIT $4";
/// At most $3 for each of the agents $2.
pub(super) const PREFERRED: &str = "SELECT t.* FROM unnest($2::text[]) u (agent), LATERAL (
    SELECT id, body FROM tasks WHERE repo = $1 AND preferred >= u.agent AND preferred <= u.agent
        AND status = 'queued' AND waits = 0
    ORDER BY preferred, priority, number LIMIT $3) t";
/// At most $3 for each of the agents $2.
pub(super) const SENT_BACK: &str = "SELECT t.* FROM unnest($2::text[]) u (agent), LATERAL (
    SELECT id, body FROM tasks WHERE repo = $1 AND status = 'changes_requested' AND assignee = u.agent
    ORDER BY repo, status, number LIMIT $3) t";
pub(super) const WAITING: &str = "SELECT count(*) FROM (SELECT 1 FROM tasks
    WHERE repo = $1 AND status = 'queued' AND waits > 0 LIMIT $2) few";
pub(super) const HELD_BY: &str =
    "SELECT repo, id FROM tasks WHERE holder = $1 ORDER BY repo, number LIMIT $2";
pub(super) const STATUS_COUNTS: &str =
    "SELECT status, count(*) FROM tasks WHERE repo = $1 GROUP BY status";
pub(super) const TASKS_ALL: &str = task_list!("", "t.number");
pub(super) const TASKS_UNBLOCKED: &str =
    task_list!(" AND t.status = 'queued' AND t.waits = 0", "t.number");
pub(super) const TASKS_OF_STATUS: &str =
    task_list!(" AND t.status >= $9 AND t.status <= $9", "t.status, t.number");
pub(super) const TASKS_OF_ASSIGNEE: &str =
    task_list!(" AND t.assignee >= $5 AND t.assignee <= $5", "t.assignee, t.number");
pub(super) const TASKS_OF_ROLE: &str =
    task_list!(" AND t.role >= $6 AND t.role <= $6", "t.role, t.number");
pub(super) const TASKS_OF_INITIATIVE: &str =
    task_list!(" AND t.initiative >= $7 AND t.initiative <= $7", "t.initiative, t.number");
pub(super) const TASKS_OF_LABEL: &str = concat!(
    "SELECT t.body FROM task_labels l, LATERAL (
        SELECT * FROM tasks WHERE repo = l.repo AND id >= l.task AND id <= l.task ORDER BY id) t
    WHERE l.repo = $1 AND l.label >= $9 AND l.label <= $9 AND l.number > $2",
    task_filter!("l.label, l.number")
);
/// A time of -1 leaves the stored one as it is.
pub(super) const SET_TASKS: &str = "INSERT INTO tasks (repo, id, number, status, priority, role,
    assignee, initiative, parent, holder, fence, preferred, due_at, body)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::integer[],
    $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[], $12::text[],
    $13::bigint[], $14::text[])
    ON CONFLICT (repo, id) DO UPDATE SET number = excluded.number, status = excluded.status,
    priority = excluded.priority, role = excluded.role, assignee = excluded.assignee,
    initiative = excluded.initiative, parent = excluded.parent, holder = excluded.holder,
    fence = excluded.fence, preferred = excluded.preferred, body = excluded.body,
    due_at = CASE WHEN excluded.due_at = -1 THEN tasks.due_at ELSE excluded.due_at END";
pub(super) const DELETE_TASKS: &str = "DELETE FROM tasks WHERE ctid = ANY(ARRAY(
    SELECT t.ctid FROM unnest($1::text[], $2::text[]) u (repo, id), LATERAL (
        SELECT ctid FROM tasks WHERE repo = u.repo AND id >= u.id AND id <= u.id
        ORDER BY id) t))";
pub(super) const DELETE_DEPS: &str = "DELETE FROM deps WHERE ctid = ANY(ARRAY(
    SELECT t.ctid FROM unnest($1::text[], $2::text[]) u (repo, id), LATERAL (
        SELECT ctid FROM deps WHERE repo = u.repo AND task >= u.id AND task <= u.id
        ORDER BY task) t))";
pub(super) const DELETE_LABELS: &str = "DELETE FROM task_labels WHERE ctid = ANY(ARRAY(
    SELECT t.ctid FROM unnest($1::text[], $2::text[]) u (repo, id), LATERAL (
        SELECT ctid FROM task_labels WHERE repo = u.repo AND task >= u.id AND task <= u.id
        ORDER BY task) t))";
pub(super) const ADD_DEPS: &str = "INSERT INTO deps (repo, task, on_task)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) ON CONFLICT DO NOTHING";
pub(super) const ADD_LABELS: &str = "INSERT INTO task_labels (repo, label, number, task)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) ON CONFLICT DO NOTHING";
/// $1, $2 tasks whose own edges changed; $3, $4 tasks that became done or stopped being so.
pub(super) const SET_WAITS: &str = "UPDATE tasks t SET waits = n.waits FROM (
        SELECT h.repo, h.id, (SELECT count(*) FROM deps d
            WHERE d.repo = h.repo AND d.task = h.id AND NOT EXISTS (SELECT 1 FROM tasks o
                WHERE o.repo = d.repo AND o.id = d.on_task AND o.status = 'done')) AS waits
        FROM (SELECT * FROM unnest($1::text[], $2::text[]) own (repo, id)
            UNION SELECT d.repo, d.task FROM unnest($3::text[], $4::text[]) c (repo, id)
            JOIN deps d ON d.repo = c.repo AND d.on_task = c.id) h) n
    WHERE t.repo = n.repo AND t.id = n.id AND t.waits <> n.waits";
pub(super) const SET_TASKS_DUE: &str = "UPDATE tasks t SET due_at = n.due_at FROM (
        SELECT o.ctid AS place, u.due_at
        FROM unnest($1::text[], $2::text[], $3::bigint[]) u (repo, id, due_at), LATERAL (
            SELECT ctid FROM tasks WHERE repo = u.repo AND id >= u.id AND id <= u.id
            ORDER BY id) o) n
    WHERE t.ctid = n.place";
/// A new row for which no time was given has none.
pub(super) const MEND_TASKS_DUE: &str = "UPDATE tasks SET due_at = NULL WHERE due_at = -1";

pub(super) const LEASE: &str =
    concat!(lease_columns!(), "WHERE repo = $1 AND number >= $2 AND number <= $2 ORDER BY number");
pub(super) const LEASES_OF_REPO: &str = concat!(lease_columns!(), "WHERE repo = $1");
/// At one of the prefixes $2, or from one of $3 up to the one of $4 beside it.
pub(super) const LEASES_NEAR: &str = concat!(
    "SELECT l.* FROM unnest($2::text[]) u (prefix), LATERAL (",
    lease_columns!(),
    "WHERE repo = $1 AND prefix >= u.prefix AND prefix <= u.prefix ORDER BY prefix) l UNION ALL
    SELECT l.* FROM unnest($3::text[], $4::text[]) u (low, high), LATERAL (",
    lease_columns!(),
    "WHERE repo = $1 AND prefix >= u.low AND prefix < u.high ORDER BY prefix) l"
);
macro_rules! past_lease_columns {
    () => {
        "SELECT repo, number, path, shared, owner, claim_of, fence, acquired_at, late, ended, \
         ended_at, expired FROM past_leases "
    };
}

pub(super) const PAST_LEASE: &str = concat!(
    past_lease_columns!(),
    "WHERE repo = $1 AND number >= $2 AND number <= $2 ORDER BY number"
);
pub(super) const PAST_LEASES_OF_REPO: &str =
    concat!(past_lease_columns!(), "WHERE repo = $1 AND ended > $2");
pub(super) const PAST_LEASES_NEAR: &str = concat!(
    "SELECT l.* FROM unnest($2::text[]) u (prefix), LATERAL (",
    past_lease_columns!(),
    "WHERE repo = $1 AND prefix >= u.prefix AND prefix <= u.prefix AND ended > $5
    ORDER BY prefix, past_leases.ended) l UNION ALL
    SELECT l.* FROM unnest($3::text[], $4::text[]) u (low, high), LATERAL (",
    past_lease_columns!(),
    "WHERE repo = $1 AND prefix >= u.low AND prefix < u.high AND ended > $5
    ORDER BY prefix, past_leases.ended) l"
);
pub(super) const PAST_LEASES_AFTER: &str = concat!(
    past_lease_columns!(),
    "WHERE (repo, number) > ($1, $2) ORDER BY repo, number LIMIT $3"
);
pub(super) const SET_PAST_LEASES: &str =
    "INSERT INTO past_leases (repo, number, prefix, ended, path,
    shared, owner, claim_of, fence, acquired_at, late, ended_at, expired)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[],
    $6::boolean[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::boolean[],
    $12::bigint[], $13::boolean[])
    ON CONFLICT (repo, number) DO UPDATE SET prefix = excluded.prefix, ended = excluded.ended,
    path = excluded.path, shared = excluded.shared, owner = excluded.owner,
    claim_of = excluded.claim_of, fence = excluded.fence, acquired_at = excluded.acquired_at,
    late = excluded.late, ended_at = excluded.ended_at, expired = excluded.expired";
pub(super) const DELETE_PAST_LEASES: &str = "DELETE FROM past_leases t
    USING unnest($1::text[], $2::bigint[]) u (repo, number)
    WHERE t.repo = u.repo AND t.number = u.number";
pub(super) const LEASES_FIRST_BELOW: &str = concat!(
    lease_columns!(),
    "WHERE repo = $1 AND prefix >= $2 AND prefix < $3 ORDER BY prefix, number LIMIT $4"
);
pub(super) const LEASES_BY_OWNER: &str = concat!(
    lease_columns!(),
    "WHERE repo = $1 AND owner >= $2 AND owner <= $2 AND number > $3 ORDER BY owner, number LIMIT $4"
);
pub(super) const LEASES_BY_NUMBER: &str =
    concat!(lease_columns!(), "WHERE repo = $1 AND number > $2 ORDER BY number LIMIT $3");
pub(super) const LEASES_AFTER: &str =
    concat!(lease_columns!(), "WHERE (repo, number) > ($1, $2) ORDER BY repo, number LIMIT $3");
pub(super) const SET_LEASES: &str = "INSERT INTO leases (repo, number, prefix, path, shared, owner,
    purpose, claim_of, fence, acquired_at, renewed_at, ttl, due_at, late)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::boolean[],
    $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
    $13::bigint[], $14::boolean[])
    ON CONFLICT (repo, number) DO UPDATE SET prefix = excluded.prefix, path = excluded.path,
    shared = excluded.shared, owner = excluded.owner, purpose = excluded.purpose,
    claim_of = excluded.claim_of, fence = excluded.fence, acquired_at = excluded.acquired_at,
    renewed_at = excluded.renewed_at, ttl = excluded.ttl, late = excluded.late,
    due_at = CASE WHEN excluded.due_at = -1 THEN leases.due_at ELSE excluded.due_at END";
pub(super) const DELETE_LEASES: &str = "DELETE FROM leases WHERE ctid = ANY(ARRAY(
    SELECT t.ctid FROM unnest($1::text[], $2::bigint[]) u (repo, number), LATERAL (
        SELECT ctid FROM leases WHERE repo = u.repo AND number >= u.number AND number <= u.number
        ORDER BY number) t))";
pub(super) const SET_LEASES_DUE: &str = "UPDATE leases t SET due_at = n.due_at FROM (
        SELECT o.ctid AS place, u.due_at
        FROM unnest($1::text[], $2::bigint[], $3::bigint[]) u (repo, number, due_at), LATERAL (
            SELECT ctid FROM leases WHERE repo = u.repo AND number >= u.number AND number <= u.number
            ORDER BY number) o) n
    WHERE t.ctid = n.place";
pub(super) const MEND_LEASES_DUE: &str = "UPDATE leases SET due_at = NULL WHERE due_at = -1";

pub(super) const DECISION: &str = "SELECT body FROM decisions
    WHERE repo = $1 AND number >= $2 AND number <= $2 ORDER BY number";
pub(super) const DECISIONS_BY_NUMBER: &str =
    "SELECT body FROM decisions WHERE repo = $1 AND number > $2 ORDER BY number LIMIT $3";
pub(super) const DECISIONS_OPEN: &str =
    "SELECT body FROM decisions WHERE repo = $1 AND number > $2 AND open ORDER BY number LIMIT $3";
pub(super) const DECISIONS_AFTER: &str = "SELECT body FROM decisions
    WHERE (repo, number) > ($1, $2) ORDER BY repo, number LIMIT $3";
pub(super) const SET_DECISIONS: &str = "INSERT INTO decisions (repo, number, open, due_at, body)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::boolean[], $4::bigint[], $5::text[])
    ON CONFLICT (repo, number) DO UPDATE SET open = excluded.open, body = excluded.body,
    due_at = CASE WHEN excluded.due_at = -1 THEN decisions.due_at ELSE excluded.due_at END";
pub(super) const DELETE_DECISIONS: &str = "DELETE FROM decisions WHERE ctid = ANY(ARRAY(
    SELECT t.ctid FROM unnest($1::text[], $2::bigint[]) u (repo, number), LATERAL (
        SELECT ctid FROM decisions WHERE repo = u.repo AND number >= u.number AND number <= u.number
        ORDER BY number) t))";
pub(super) const SET_DECISIONS_DUE: &str = "UPDATE decisions t SET due_at = n.due_at FROM (
        SELECT o.ctid AS place, u.due_at
        FROM unnest($1::text[], $2::bigint[], $3::bigint[]) u (repo, number, due_at), LATERAL (
            SELECT ctid FROM decisions WHERE repo = u.repo AND number >= u.number AND number <= u.number
            ORDER BY number) o) n
    WHERE t.ctid = n.place";
pub(super) const MEND_DECISIONS_DUE: &str = "UPDATE decisions SET due_at = NULL WHERE due_at = -1";

pub(super) const MEMORY: &str = "SELECT body FROM memories WHERE repo = $1 AND number = $2";
pub(super) const MEMORIES: &str = "SELECT body FROM memories WHERE repo = $1 AND number > $2
    AND ($4::text IS NULL OR kind = $4)
    AND ($5::text IS NULL OR scope = $5 OR scope = 'global') AND ($6::boolean OR NOT superseded)
    ORDER BY number LIMIT $3";
pub(super) const MEMORIES_AFTER: &str = "SELECT body FROM memories
    WHERE (repo, number) > ($1, $2) ORDER BY repo, number LIMIT $3";
pub(super) const MEMORIES_OF_WORD: &str =
    "SELECT memory FROM memory_words WHERE repo = $1 AND word >= $2 AND word <= $2 ORDER BY word";
pub(super) const MEMORIES_OF_PREFIX: &str =
    "SELECT DISTINCT memory FROM (SELECT memory FROM memory_words
    WHERE repo = $1 AND word >= $2 AND word < $3 ORDER BY word) w";
pub(super) const SET_MEMORIES: &str = "INSERT INTO memories
    (repo, number, kind, scope, superseded, due_at, body)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::boolean[],
    $6::bigint[], $7::text[])
    ON CONFLICT (repo, number) DO UPDATE SET kind = excluded.kind, scope = excluded.scope,
    superseded = excluded.superseded, body = excluded.body,
    due_at = CASE WHEN excluded.due_at = -1 THEN memories.due_at ELSE excluded.due_at END";
pub(super) const DELETE_MEMORIES: &str = "DELETE FROM memories t
    USING unnest($1::text[], $2::bigint[]) u (repo, number)
    WHERE t.repo = u.repo AND t.number = u.number";
pub(super) const DELETE_WORDS: &str = "DELETE FROM memory_words WHERE ctid = ANY(ARRAY(
    SELECT t.ctid FROM unnest($1::text[], $2::bigint[]) u (repo, number), LATERAL (
        SELECT ctid FROM memory_words
        WHERE repo = u.repo AND memory >= u.number AND memory <= u.number ORDER BY memory) t))";
/// $1, $2 memories; $3, $4, $5 the words that they have now.
pub(super) const DELETE_OTHER_WORDS: &str = "DELETE FROM memory_words WHERE ctid = ANY(ARRAY(
    SELECT t.ctid FROM unnest($1::text[], $2::bigint[]) u (repo, number), LATERAL (
        SELECT ctid, word FROM memory_words
        WHERE repo = u.repo AND memory >= u.number AND memory <= u.number ORDER BY memory) t
    WHERE NOT EXISTS (
        SELECT 1 FROM unnest($3::text[], $4::text[], $5::bigint[]) n (repo, word, memory)
        WHERE n.repo = u.repo AND n.word = t.word AND n.memory = u.number)))";
pub(super) const ADD_WORDS: &str = "INSERT INTO memory_words (repo, word, memory)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]) ON CONFLICT DO NOTHING";
pub(super) const SET_MEMORIES_DUE: &str = "UPDATE memories t SET due_at = u.due_at
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) u (repo, number, due_at)
    WHERE t.repo = u.repo AND t.number = u.number";
pub(super) const MEND_MEMORIES_DUE: &str = "UPDATE memories SET due_at = NULL WHERE due_at = -1";

pub(super) const DIRECTIVE: &str = "SELECT body FROM directives WHERE repo = $1 AND number = $2";
pub(super) const DIRECTIVES_BY_NUMBER: &str =
    "SELECT body FROM directives WHERE repo = $1 AND number > $2 ORDER BY number LIMIT $3";
pub(super) const DIRECTIVES_AFTER: &str = "SELECT body FROM directives
    WHERE (repo, number) > ($1, $2) ORDER BY repo, number LIMIT $3";
pub(super) const SET_DIRECTIVES: &str = "INSERT INTO directives (repo, number, due_at, body)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[])
    ON CONFLICT (repo, number) DO UPDATE SET body = excluded.body,
    due_at = CASE WHEN excluded.due_at = -1 THEN directives.due_at ELSE excluded.due_at END";
pub(super) const DELETE_DIRECTIVES: &str = "DELETE FROM directives t
    USING unnest($1::text[], $2::bigint[]) u (repo, number)
    WHERE t.repo = u.repo AND t.number = u.number";
pub(super) const SET_DIRECTIVES_DUE: &str = "UPDATE directives t SET due_at = u.due_at
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) u (repo, number, due_at)
    WHERE t.repo = u.repo AND t.number = u.number";
pub(super) const MEND_DIRECTIVES_DUE: &str =
    "UPDATE directives SET due_at = NULL WHERE due_at = -1";

pub(super) const RUN: &str = "SELECT body FROM runs
    WHERE repo = $1 AND number >= $2 AND number <= $2 ORDER BY number";
pub(super) const RUNS_BY_NUMBER: &str =
    "SELECT body FROM runs WHERE repo = $1 AND number > $2 ORDER BY number LIMIT $3";
pub(super) const RUNS_LIVE: &str =
    "SELECT body FROM runs WHERE repo = $1 AND number > $2 AND live ORDER BY number LIMIT $3";
pub(super) const RUNS_OF_TASK: &str = "SELECT body FROM runs
    WHERE task >= $4 AND task <= $4 AND repo = $1 AND number > $2 AND (live OR NOT $5::boolean)
    ORDER BY task, number LIMIT $3";
pub(super) const RUNS_AFTER: &str = "SELECT body FROM runs
    WHERE (repo, number) > ($1, $2) ORDER BY repo, number LIMIT $3";
pub(super) const SET_RUNS: &str = "INSERT INTO runs (repo, number, task, live, due_at, body)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::boolean[], $5::bigint[], $6::text[])
    ON CONFLICT (repo, number) DO UPDATE SET body = excluded.body, task = excluded.task,
    live = excluded.live,
    due_at = CASE WHEN excluded.due_at = -1 THEN runs.due_at ELSE excluded.due_at END";
pub(super) const DELETE_RUNS: &str = "DELETE FROM runs t
    USING unnest($1::text[], $2::bigint[]) u (repo, number)
    WHERE t.repo = u.repo AND t.number = u.number";
pub(super) const SET_RUNS_DUE: &str = "UPDATE runs t SET due_at = u.due_at
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) u (repo, number, due_at)
    WHERE t.repo = u.repo AND t.number = u.number";
pub(super) const MEND_RUNS_DUE: &str = "UPDATE runs SET due_at = NULL WHERE due_at = -1";

pub(super) const BUDGET: &str = "SELECT body FROM budgets WHERE repo = $1 AND scope = $2";
pub(super) const BUDGETS_OF_REPO: &str =
    "SELECT body FROM budgets WHERE repo = $1 AND scope > $2 ORDER BY scope LIMIT $3";
pub(super) const BUDGETS_AFTER: &str = "SELECT body FROM budgets
    WHERE (repo, scope) > ($1, $2) ORDER BY repo, scope LIMIT $3";
pub(super) const SET_BUDGETS: &str = "INSERT INTO budgets (repo, scope, body)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
    ON CONFLICT (repo, scope) DO UPDATE SET body = excluded.body";
pub(super) const DELETE_BUDGETS: &str = "DELETE FROM budgets t
    USING unnest($1::text[], $2::text[]) u (repo, scope)
    WHERE t.repo = u.repo AND t.scope = u.scope";

pub(super) const TASKS_DUE: &str =
    "SELECT due_at, repo, id FROM tasks WHERE due_at <= $1 ORDER BY due_at LIMIT $2";
pub(super) const LEASES_DUE: &str =
    "SELECT due_at, repo, number FROM leases WHERE due_at <= $1 ORDER BY due_at LIMIT $2";
pub(super) const DECISIONS_DUE: &str =
    "SELECT due_at, repo, number FROM decisions WHERE due_at <= $1 ORDER BY due_at LIMIT $2";

pub(super) const MEMORIES_DUE: &str =
    "SELECT due_at, repo, number FROM memories WHERE due_at <= $1 ORDER BY due_at LIMIT $2";
pub(super) const DIRECTIVES_DUE: &str =
    "SELECT due_at, repo, number FROM directives WHERE due_at <= $1 ORDER BY due_at LIMIT $2";

pub(super) const POST: &str = "SELECT body FROM posts WHERE repo = $1 AND id = $2";
pub(super) const POSTS_AFTER: &str = "SELECT body FROM posts
    WHERE (repo, id) > ($1, $2) ORDER BY repo, id LIMIT $3";
pub(super) const POSTS_BEFORE: &str =
    "SELECT seq, id FROM posts WHERE repo = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3";
pub(super) const POSTS_BACK_FROM: &str = "SELECT t.seq, t.id
    FROM unnest($2::text[]) u (place), LATERAL (
    SELECT seq, id FROM post_places WHERE repo = $1 AND place = u.place AND seq < $3
    ORDER BY seq DESC LIMIT $4) t";
pub(super) const POSTS_ON_FROM: &str = "SELECT t.seq, t.id
    FROM unnest($2::text[]) u (place), LATERAL (
    SELECT seq, id FROM post_places WHERE repo = $1 AND place = u.place AND seq > $3
    ORDER BY seq LIMIT $4) t";
pub(super) const SET_POSTS: &str = "INSERT INTO posts (repo, id, seq, body)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[])
    ON CONFLICT (repo, id) DO UPDATE SET seq = excluded.seq, body = excluded.body";
pub(super) const ADD_PLACES: &str = "INSERT INTO post_places (repo, place, seq, id)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) ON CONFLICT DO NOTHING";
pub(super) const DELETE_POSTS: &str = "DELETE FROM posts t
    USING unnest($1::text[], $2::text[]) u (repo, id) WHERE t.repo = u.repo AND t.id = u.id";
pub(super) const DELETE_PLACES: &str = "DELETE FROM post_places WHERE ctid = ANY(ARRAY(
    SELECT t.ctid FROM unnest($1::text[], $2::text[]) u (repo, id), LATERAL (
        SELECT ctid FROM post_places WHERE repo = u.repo AND id = u.id ORDER BY id) t))";
pub(super) const RUNS_DUE: &str =
    "SELECT due_at, repo, number FROM runs WHERE due_at <= $1 ORDER BY due_at LIMIT $2";

pub(super) const CLEAR: &str = "DELETE FROM repos; DELETE FROM agents; DELETE FROM tasks; \
    DELETE FROM deps; DELETE FROM task_labels; DELETE FROM leases; DELETE FROM decisions; \
    DELETE FROM memories; DELETE FROM memory_words; DELETE FROM directives; \
    DELETE FROM past_leases; DELETE FROM posts; DELETE FROM post_places;
    DELETE FROM runs; DELETE FROM budgets";

/// Counters are never taken back.
const DELETE_REPOS: &str = "SELECT 1";

statement_tables!();

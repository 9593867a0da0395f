-- Which migrations have been applied, and what they said.
CREATE TABLE schema_migrations (
  version INTEGER PRIMARY KEY,
  checksum TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;

-- The log. The predecessor's hash is the hash of the row before; it is not stored twice.
-- ts only grows with seq, so that a place in time is found by bisection, without an index.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  ts INTEGER NOT NULL,
  event TEXT NOT NULL,
  v INTEGER NOT NULL,
  repo TEXT NOT NULL,
  agent TEXT NOT NULL,
  task TEXT,
  body BLOB,
  body_hash BLOB NOT NULL,
  hash BLOB NOT NULL
) STRICT;
CREATE INDEX events_by_task ON events (task, repo) WHERE task IS NOT NULL;
CREATE INDEX events_by_name ON events (event);
CREATE INDEX events_by_repo ON events (repo);

-- Projections: columns to find rows by, and the entity as JSON.
CREATE TABLE repos (
  repo TEXT PRIMARY KEY,
  tasks INTEGER NOT NULL,
  leases INTEGER NOT NULL,
  decisions INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- waits is a cache: how many dependencies are not done.
CREATE TABLE tasks (
  rowid INTEGER PRIMARY KEY,
  repo TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  status TEXT NOT NULL,
  priority INTEGER NOT NULL,
  role TEXT,
  assignee TEXT,
  initiative TEXT,
  parent TEXT,
  holder TEXT,
  fence INTEGER,
  waits INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER,
  body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX tasks_by_id ON tasks (repo, id);
CREATE INDEX tasks_by_number ON tasks (repo, number);
CREATE INDEX tasks_by_status ON tasks (repo, status, number);
CREATE INDEX tasks_by_place ON tasks (repo, priority, number)
  WHERE status = 'queued' AND waits = 0;
CREATE INDEX tasks_unblocked ON tasks (repo, number) WHERE status = 'queued' AND waits = 0;
CREATE INDEX tasks_waiting ON tasks (repo) WHERE status = 'queued' AND waits > 0;
CREATE INDEX tasks_by_assignee ON tasks (repo, assignee, number) WHERE assignee IS NOT NULL;
CREATE INDEX tasks_by_role ON tasks (repo, role, number) WHERE role IS NOT NULL;
CREATE INDEX tasks_by_initiative ON tasks (repo, initiative, number) WHERE initiative IS NOT NULL;
CREATE INDEX tasks_by_parent ON tasks (repo, parent) WHERE parent IS NOT NULL;
CREATE INDEX tasks_by_holder ON tasks (holder, repo, number) WHERE holder IS NOT NULL;
CREATE INDEX tasks_by_fence ON tasks (fence) WHERE fence IS NOT NULL;
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE deps (
  repo TEXT NOT NULL,
  task TEXT NOT NULL,
  on_task TEXT NOT NULL,
  PRIMARY KEY (repo, task, on_task)
) STRICT, WITHOUT ROWID;
CREATE INDEX deps_by_target ON deps (repo, on_task, task);

CREATE TABLE task_labels (
  repo TEXT NOT NULL,
  label TEXT NOT NULL,
  number INTEGER NOT NULL,
  task TEXT NOT NULL,
  PRIMARY KEY (repo, label, number, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_labels_by_task ON task_labels (repo, task);

-- Ordered by literal prefix, so that the leases near a path lie side by side. No JSON: a thousand of
-- them are read for one acquisition.
CREATE TABLE leases (
  repo TEXT NOT NULL,
  prefix TEXT NOT NULL,
  number INTEGER NOT NULL,
  path TEXT NOT NULL,
  shared INTEGER NOT NULL,
  owner TEXT NOT NULL,
  purpose TEXT,
  claim_of TEXT,
  fence INTEGER NOT NULL,
  acquired_at INTEGER NOT NULL,
  renewed_at INTEGER NOT NULL,
  ttl INTEGER NOT NULL,
  due_at INTEGER,
  PRIMARY KEY (repo, prefix, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX leases_by_number ON leases (repo, number);
CREATE INDEX leases_by_owner ON leases (repo, owner, number);
CREATE INDEX leases_by_fence ON leases (fence);
CREATE INDEX leases_due ON leases (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE decisions (
  rowid INTEGER PRIMARY KEY,
  repo TEXT NOT NULL,
  number INTEGER NOT NULL,
  open INTEGER NOT NULL,
  due_at INTEGER,
  body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX decisions_by_number ON decisions (repo, number);
CREATE INDEX decisions_open ON decisions (repo, number) WHERE open = 1;
CREATE INDEX decisions_due ON decisions (due_at) WHERE due_at IS NOT NULL;

-- Outside the log. Fence 0 is a sign of life in general.
CREATE TABLE presence (
  agent TEXT NOT NULL,
  fence INTEGER NOT NULL,
  last_seen INTEGER NOT NULL,
  PRIMARY KEY (agent, fence)
) STRICT, WITHOUT ROWID;
CREATE INDEX presence_of_grants ON presence (last_seen) WHERE fence > 0;

CREATE TABLE idempotency (
  actor TEXT NOT NULL,
  key TEXT NOT NULL,
  input BLOB NOT NULL,
  answer TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (actor, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (at);

CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

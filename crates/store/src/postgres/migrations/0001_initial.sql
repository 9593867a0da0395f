-- The log. The predecessor's hash is the hash of the row before; it is not stored twice.
CREATE TABLE events (
  seq BIGINT PRIMARY KEY,
  ts BIGINT NOT NULL,
  event TEXT COLLATE "C" NOT NULL,
  v BIGINT NOT NULL,
  repo TEXT COLLATE "C" NOT NULL,
  agent TEXT COLLATE "C" NOT NULL,
  task TEXT COLLATE "C",
  body BYTEA,
  body_hash BYTEA NOT NULL,
  hash BYTEA NOT NULL
);
CREATE INDEX events_by_task ON events (task, repo, seq) WHERE task IS NOT NULL;
CREATE INDEX events_by_name ON events (event, seq);
CREATE INDEX events_by_repo ON events (repo, seq);

-- Counts commits, so that a writer knows whether another has been at work. A sequence leaves no dead rows.
CREATE SEQUENCE commits;

-- Rows that change with nearly every commit are never updated, only added: a reader with an old snapshot
-- would keep every dead version, and each look would pass over all of them. The newest row counts.
CREATE TABLE repos (
  repo TEXT COLLATE "C" NOT NULL,
  at_commit BIGINT NOT NULL,
  tasks BIGINT NOT NULL,
  leases BIGINT NOT NULL,
  decisions BIGINT NOT NULL,
  PRIMARY KEY (repo, at_commit)
);
-- Fence 0 is a sign of life in general.
CREATE TABLE signs (
  agent TEXT COLLATE "C" NOT NULL,
  fence BIGINT NOT NULL,
  at BIGINT NOT NULL
);
CREATE UNIQUE INDEX signs_newest_first ON signs (agent, fence, at DESC);
CREATE INDEX signs_by_age ON signs (at);

-- Projections: columns to find rows by, and the entity as JSON.
CREATE TABLE agents (
  id TEXT COLLATE "C" PRIMARY KEY,
  body TEXT NOT NULL
);

-- waits is a cache: how many dependencies are not done.
CREATE TABLE tasks (
  repo TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  priority INTEGER NOT NULL,
  role TEXT COLLATE "C",
  assignee TEXT COLLATE "C",
  initiative TEXT COLLATE "C",
  parent TEXT COLLATE "C",
  holder TEXT COLLATE "C",
  fence BIGINT,
  preferred TEXT COLLATE "C",
  waits BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT,
  body TEXT NOT NULL,
  PRIMARY KEY (repo, id)
) WITH (fillfactor = 70);
CREATE INDEX tasks_by_number ON tasks (repo, number);
CREATE INDEX tasks_by_status ON tasks (repo, status, number);
CREATE INDEX tasks_by_place ON tasks (repo, priority, number) WHERE status = 'queued' AND waits = 0;
CREATE INDEX tasks_unblocked ON tasks (repo, number) WHERE status = 'queued' AND waits = 0;
CREATE INDEX tasks_by_preference ON tasks (repo, preferred, priority, number)
  WHERE status = 'queued' AND waits = 0 AND preferred IS NOT NULL;
CREATE INDEX tasks_waiting ON tasks (repo) WHERE status = 'queued' AND waits > 0;
CREATE INDEX tasks_by_assignee ON tasks (repo, assignee, number) WHERE assignee IS NOT NULL;
CREATE INDEX tasks_by_role ON tasks (repo, role, number) WHERE role IS NOT NULL;
CREATE INDEX tasks_by_initiative ON tasks (repo, initiative, number) WHERE initiative IS NOT NULL;
CREATE INDEX tasks_by_parent ON tasks (repo, parent) WHERE parent IS NOT NULL;
CREATE INDEX tasks_by_holder ON tasks (holder, repo, number) WHERE holder IS NOT NULL;
CREATE INDEX tasks_by_fence ON tasks (fence) WHERE fence IS NOT NULL;
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE deps (
  repo TEXT COLLATE "C" NOT NULL,
  task TEXT COLLATE "C" NOT NULL,
  on_task TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (repo, task, on_task)
);
CREATE INDEX deps_by_target ON deps (repo, on_task, task);

CREATE TABLE task_labels (
  repo TEXT COLLATE "C" NOT NULL,
  label TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  task TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (repo, label, number, task)
);
CREATE INDEX task_labels_by_task ON task_labels (repo, task);

CREATE TABLE leases (
  repo TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  prefix TEXT COLLATE "C" NOT NULL,
  path TEXT NOT NULL,
  shared BOOLEAN NOT NULL,
  owner TEXT COLLATE "C" NOT NULL,
  purpose TEXT,
  claim_of TEXT,
  fence BIGINT NOT NULL,
  acquired_at BIGINT NOT NULL,
  renewed_at BIGINT NOT NULL,
  ttl BIGINT NOT NULL,
  due_at BIGINT,
  PRIMARY KEY (repo, number)
);
CREATE INDEX leases_by_prefix ON leases (repo, prefix);
CREATE INDEX leases_by_owner ON leases (repo, owner, number);
CREATE INDEX leases_by_fence ON leases (fence);
CREATE INDEX leases_due ON leases (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE decisions (
  repo TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  open BOOLEAN NOT NULL,
  due_at BIGINT,
  body TEXT NOT NULL,
  PRIMARY KEY (repo, number)
);
CREATE INDEX decisions_open ON decisions (repo, number) WHERE open;
CREATE INDEX decisions_due ON decisions (due_at) WHERE due_at IS NOT NULL;

-- Outside the log.
CREATE TABLE idempotency (
  actor TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  input BYTEA NOT NULL,
  answer TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (actor, key)
);
CREATE INDEX idempotency_by_age ON idempotency (at);

CREATE TABLE meta (
  key TEXT COLLATE "C" PRIMARY KEY,
  value TEXT NOT NULL
);

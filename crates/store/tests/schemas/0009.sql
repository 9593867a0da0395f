-- A store of schema 9 with four events. Never edited; comity made it of the one before, and sqlite3's .dump wrote it down.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO agents VALUES('ann','{"id":"ann","roles":["implementer"],"skills":["rust"],"registered_at":"2026-01-01T00:00:01.000Z"}');
CREATE TABLE budgets (
  repo TEXT NOT NULL,
  scope TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (repo, scope)
) STRICT, WITHOUT ROWID;
CREATE TABLE decisions (
  rowid INTEGER PRIMARY KEY,
  repo TEXT NOT NULL,
  number INTEGER NOT NULL,
  open INTEGER NOT NULL,
  due_at INTEGER,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE deps (
  repo TEXT NOT NULL,
  task TEXT NOT NULL,
  on_task TEXT NOT NULL,
  PRIMARY KEY (repo, task, on_task)
) STRICT, WITHOUT ROWID;
INSERT INTO deps VALUES('acme/app','T1','T9');
CREATE TABLE directives (
  rowid INTEGER PRIMARY KEY,
  repo TEXT NOT NULL,
  number INTEGER NOT NULL,
  due_at INTEGER,
  body TEXT NOT NULL
) STRICT;
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
INSERT INTO events VALUES(1,1767225600000,'task_created',1,'acme/app','ann','T1',X'7b226e756d626572223a312c227469746c65223a224669727374222c226465736372697074696f6e223a22222c2274797065223a6e756c6c2c22636f6d706c6578697479223a6e756c6c2c2264656c6976657261626c65223a22636f6465222c227072696f72697479223a225032222c226c6162656c73223a5b2261225d2c22726f6c65223a22696d706c656d656e746572222c2261737369676e6565223a6e756c6c2c22646570656e64656e63696573223a5b225439225d2c22626c6f636b657273223a5b5d2c2266696c6573223a5b227372632f2a2a225d2c22726571756972656d656e7473223a5b5d2c22646f64223a5b22697420776f726b73225d2c226761746573223a5b227465737473225d2c22636f6e73747261696e7473223a7b226d61785f66696c6573223a6e756c6c2c226e6f5f6769745f636f6d6d6974223a66616c73652c226e6f5f6e65775f64657073223a66616c73652c22616c6c6f775f64656c657465223a5b5d7d2c22636f6e74657874223a7b7d2c2274696d656f7574223a302c2265706963223a6e756c6c2c22707264223a6e756c6c2c22696e6974696174697665223a6e756c6c2c22706172656e74223a6e756c6c7d',X'020fe2e076effc8fd5a7ea0cedc4d95c539fc3060ba8fa5a88601c29a8d9f611',X'd7f6946a026d2e84f90f743181e50208bab3d8a9c8805909b38f5d381a0bb5bc');
INSERT INTO events VALUES(2,1767225601000,'file_locked',1,'acme/app','ann',NULL,X'7b226c6f636b5f6964223a224c31222c2270617468223a227372632f2a2a222c226d6f6465223a226578636c7573697665222c226f776e6572223a22616e6e222c22707572706f7365223a225431222c22636c61696d5f6f66223a6e756c6c2c2266656e6365223a322c2274746c223a3930303030307d',X'31e3d1427342c43e8f7ec086e30e783629aff1d6269dd5db7d5a13752188db26',X'973c2db5929b370bce88e95f8801ba4f50722a3e38b31212811fd6563957412b');
INSERT INTO events VALUES(3,1767225601000,'agent_registered',1,'acme/app','ann',NULL,X'7b226964223a22616e6e222c22726f6c6573223a5b22696d706c656d656e746572225d2c22736b696c6c73223a5b2272757374225d7d',X'13099c890a0fe613d901e7db3e9c83b65b5a9ffb325c1a6a909750a8eb06d373',X'5a86e6683009ff7b9acc4bdc74e26393cbba755e77c92875560ca86d46560014');
INSERT INTO events VALUES(4,1767225601000,'note',1,'acme/app','ann','T1',X'7b2274797065223a2270726f6772657373222c2274657874223a2268616c6620646f6e65227d',X'eb6dbed445f5fd81355fd97f4efae259135e741bdf086dadc55cd5e4803f496b',X'756d0bf68838945a61589559cc6f3c564879e6aea2e41c4e02e8fed9fcf5b00b');
CREATE TABLE idempotency (
  actor TEXT NOT NULL,
  key TEXT NOT NULL,
  input BLOB NOT NULL,
  answer TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (actor, key)
) STRICT, WITHOUT ROWID;
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
  due_at INTEGER, late INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (repo, prefix, number)
) STRICT, WITHOUT ROWID;
INSERT INTO leases VALUES('acme/app','src',1,'src/**',0,'ann','T1',NULL,2,1767225601000,1767225601000,900000,NULL,0);
CREATE TABLE memories (
  rowid INTEGER PRIMARY KEY,
  repo TEXT NOT NULL,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL,
  scope TEXT NOT NULL,
  superseded INTEGER NOT NULL,
  due_at INTEGER,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE memory_words (
  repo TEXT NOT NULL,
  word TEXT NOT NULL,
  memory INTEGER NOT NULL,
  PRIMARY KEY (repo, word, memory)
) STRICT, WITHOUT ROWID;
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('clock','{"wall_ms":1767225600000,"boot_ms":1000000,"slept_ms":0,"boot_id":"boot","woke_at":null}');
CREATE TABLE past_leases (
  repo TEXT NOT NULL,
  prefix TEXT NOT NULL,
  ended INTEGER NOT NULL,
  number INTEGER NOT NULL,
  path TEXT NOT NULL,
  shared INTEGER NOT NULL,
  owner TEXT NOT NULL,
  claim_of TEXT,
  fence INTEGER NOT NULL,
  acquired_at INTEGER NOT NULL,
  late INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  expired INTEGER NOT NULL,
  PRIMARY KEY (repo, prefix, ended, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE presence (
  agent TEXT NOT NULL,
  fence INTEGER NOT NULL,
  last_seen INTEGER NOT NULL,
  PRIMARY KEY (agent, fence)
) STRICT, WITHOUT ROWID;
CREATE TABLE repos (
  repo TEXT PRIMARY KEY,
  tasks INTEGER NOT NULL,
  leases INTEGER NOT NULL,
  decisions INTEGER NOT NULL
, memories INTEGER NOT NULL DEFAULT 0, directives INTEGER NOT NULL DEFAULT 0, fold_case INTEGER NOT NULL DEFAULT 0, seats TEXT NOT NULL DEFAULT '{}') STRICT, WITHOUT ROWID;
INSERT INTO repos VALUES('acme/app',1,1,0,0,0,0,'{}');
CREATE TABLE runs (
  rowid INTEGER PRIMARY KEY,
  repo TEXT NOT NULL,
  number INTEGER NOT NULL,
  task TEXT NOT NULL,
  live INTEGER NOT NULL,
  due_at INTEGER,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE schema_migrations (
  version INTEGER PRIMARY KEY,
  checksum TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;
INSERT INTO schema_migrations VALUES(1,'9905971469d26048af3a4b21540fc2a45e803126275d95553f7ee5b30f8123fe',1767225600000);
INSERT INTO schema_migrations VALUES(2,'2a007415fdfeeeb4ff1cd3f66ea45f91143f9d537672ea5075ec8f5e9bf57540',1794798976173);
INSERT INTO schema_migrations VALUES(3,'3de93a34afa9abadb5cd6a6a97c47b6b993e4e994346a697dee7dd02dbf42c13',1794798976173);
INSERT INTO schema_migrations VALUES(4,'03a9a90174051f44fd48727180f2477aeb84598c76ba8c69bd922c1f43035820',1794798976173);
INSERT INTO schema_migrations VALUES(5,'281a5f1da3ac53e7b61d42b5266ab6ecfa84b442d65ec85c7ccda7e9167c8678',1794798976178);
INSERT INTO schema_migrations VALUES(6,'b726efbcba1ed6e1ac1fc8396c271b72c89c6f6fc597628a32bc596f60e71c59',1794798976178);
INSERT INTO schema_migrations VALUES(7,'da7d4e60f923bb413c841a0f687928f8e27637c6740b5decd731ba5caa55b2e5',1795020642739);
INSERT INTO schema_migrations VALUES(8,'e53dab4cb9e212e7117c8bf36bdb638657ee5ca1717c29098b64eeaf18419de3',1795020690176);
INSERT INTO schema_migrations VALUES(9,'bee33884ba20e4ce3b4fdbd5b87fba75816cee818a6877bb025f8a3f1f0703bb',1795024149015);
CREATE TABLE task_labels (
  repo TEXT NOT NULL,
  label TEXT NOT NULL,
  number INTEGER NOT NULL,
  task TEXT NOT NULL,
  PRIMARY KEY (repo, label, number, task)
) STRICT, WITHOUT ROWID;
INSERT INTO task_labels VALUES('acme/app','a',1,'T1');
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
, preferred TEXT) STRICT;
INSERT INTO tasks VALUES(1,'acme/app','T1',1,'queued',2,'implementer',NULL,NULL,NULL,NULL,NULL,1,NULL,'{"repo":"acme/app","id":"T1","number":1,"version":1,"title":"First","description":"","kind":null,"complexity":null,"deliverable":"code","status":"queued","priority":"P2","labels":["a"],"role":"implementer","assignee":null,"reserved_for":null,"preferred":null,"reviewer":null,"review_taken":false,"dependencies":["T9"],"blockers":[],"files":["src/**"],"branch":null,"commit":null,"pr":null,"merged_sha":null,"round":0,"review_rounds":0,"requirements":[],"dod":[{"text":"it works","state":"open","by":null,"at":null}],"gates":[{"name":"tests","required":true,"evidence":null,"waiver":null,"failures":0}],"constraints":{"max_files":null,"no_git_commit":false,"no_new_deps":false,"allow_delete":[]},"context":{},"timeout":0,"attempts":0,"epic":null,"prd":null,"initiative":null,"parent":null,"external_ids":{},"claim":null,"block":null,"steps":[],"decisions":[],"last_error":null,"created_by":"ann","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z"}',NULL);
CREATE TABLE posts (
  rowid INTEGER PRIMARY KEY,
  repo TEXT NOT NULL,
  id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE post_places (
  repo TEXT NOT NULL,
  place TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (repo, place, seq, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE kept (
  space TEXT NOT NULL,
  key TEXT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (space, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX events_by_task ON events (task, repo) WHERE task IS NOT NULL;
CREATE INDEX events_by_name ON events (event);
CREATE INDEX events_by_repo ON events (repo);
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
CREATE INDEX deps_by_target ON deps (repo, on_task, task);
CREATE INDEX task_labels_by_task ON task_labels (repo, task);
CREATE UNIQUE INDEX leases_by_number ON leases (repo, number);
CREATE INDEX leases_by_owner ON leases (repo, owner, number);
CREATE INDEX leases_by_fence ON leases (fence);
CREATE INDEX leases_due ON leases (due_at) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX decisions_by_number ON decisions (repo, number);
CREATE INDEX decisions_open ON decisions (repo, number) WHERE open = 1;
CREATE INDEX decisions_due ON decisions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX presence_of_grants ON presence (last_seen) WHERE fence > 0;
CREATE INDEX idempotency_by_age ON idempotency (at);
CREATE INDEX tasks_by_preference ON tasks (repo, preferred, priority, number)
  WHERE status = 'queued' AND waits = 0 AND preferred IS NOT NULL;
CREATE UNIQUE INDEX memories_by_number ON memories (repo, number);
CREATE INDEX memories_due ON memories (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX memory_words_by_memory ON memory_words (repo, memory);
CREATE UNIQUE INDEX directives_by_number ON directives (repo, number);
CREATE INDEX directives_due ON directives (due_at) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX past_leases_by_number ON past_leases (repo, number);
CREATE UNIQUE INDEX runs_by_number ON runs (repo, number);
CREATE INDEX runs_by_task ON runs (repo, task, number);
CREATE INDEX runs_live ON runs (repo, number) WHERE live;
CREATE INDEX runs_due ON runs (due_at) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX posts_by_id ON posts (repo, id);
CREATE INDEX posts_by_seq ON posts (repo, seq);
CREATE INDEX post_places_by_id ON post_places (repo, id);
COMMIT;
PRAGMA user_version = 9;

-- A store of schema 6 with four events. Never edited; made with sqlite3's .dump.
BEGIN TRANSACTION;
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "agents" VALUES('ann','{"id":"ann","roles":["implementer"],"skills":["rust"],"registered_at":"2026-01-01T00:00:01.000Z"}');
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
INSERT INTO "deps" VALUES('acme/app','T1','T9');
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
INSERT INTO "events" VALUES(1,1767225600000,'task_created',1,'acme/app','ann','T1',X'7B226E756D626572223A312C227469746C65223A224669727374222C226465736372697074696F6E223A22222C2274797065223A6E756C6C2C22636F6D706C6578697479223A6E756C6C2C2264656C6976657261626C65223A22636F6465222C227072696F72697479223A225032222C226C6162656C73223A5B2261225D2C22726F6C65223A22696D706C656D656E746572222C2261737369676E6565223A6E756C6C2C22646570656E64656E63696573223A5B225439225D2C22626C6F636B657273223A5B5D2C2266696C6573223A5B227372632F2A2A225D2C22726571756972656D656E7473223A5B5D2C22646F64223A5B22697420776F726B73225D2C226761746573223A5B227465737473225D2C22636F6E73747261696E7473223A7B226D61785F66696C6573223A6E756C6C2C226E6F5F6769745F636F6D6D6974223A66616C73652C226E6F5F6E65775F64657073223A66616C73652C22616C6C6F775F64656C657465223A5B5D7D2C22636F6E74657874223A7B7D2C2274696D656F7574223A302C2265706963223A6E756C6C2C22707264223A6E756C6C2C22696E6974696174697665223A6E756C6C2C22706172656E74223A6E756C6C7D',X'020FE2E076EFFC8FD5A7EA0CEDC4D95C539FC3060BA8FA5A88601C29A8D9F611',X'D7F6946A026D2E84F90F743181E50208BAB3D8A9C8805909B38F5D381A0BB5BC');
INSERT INTO "events" VALUES(2,1767225601000,'file_locked',1,'acme/app','ann',NULL,X'7B226C6F636B5F6964223A224C31222C2270617468223A227372632F2A2A222C226D6F6465223A226578636C7573697665222C226F776E6572223A22616E6E222C22707572706F7365223A225431222C22636C61696D5F6F66223A6E756C6C2C2266656E6365223A322C2274746C223A3930303030307D',X'31E3D1427342C43E8F7EC086E30E783629AFF1D6269DD5DB7D5A13752188DB26',X'973C2DB5929B370BCE88E95F8801BA4F50722A3E38B31212811FD6563957412B');
INSERT INTO "events" VALUES(3,1767225601000,'agent_registered',1,'acme/app','ann',NULL,X'7B226964223A22616E6E222C22726F6C6573223A5B22696D706C656D656E746572225D2C22736B696C6C73223A5B2272757374225D7D',X'13099C890A0FE613D901E7DB3E9C83B65B5A9FFB325C1A6A909750A8EB06D373',X'5A86E6683009FF7B9ACC4BDC74E26393CBBA755E77C92875560CA86D46560014');
INSERT INTO "events" VALUES(4,1767225601000,'note',1,'acme/app','ann','T1',X'7B2274797065223A2270726F6772657373222C2274657874223A2268616C6620646F6E65227D',X'EB6DBED445F5FD81355FD97F4EFAE259135E741BDF086DADC55CD5E4803F496B',X'756D0BF68838945A61589559CC6F3C564879E6AEA2E41C4E02E8FED9FCF5B00B');
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
INSERT INTO "leases" VALUES('acme/app','src',1,'src/**',0,'ann','T1',NULL,2,1767225601000,1767225601000,900000,NULL,0);
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
INSERT INTO "meta" VALUES('clock','{"wall_ms":1767225600000,"boot_ms":1000000,"slept_ms":0,"boot_id":"boot","woke_at":null}');
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
, memories INTEGER NOT NULL DEFAULT 0, directives INTEGER NOT NULL DEFAULT 0, fold_case INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO "repos" VALUES('acme/app',1,1,0,0,0,0);
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
INSERT INTO "schema_migrations" VALUES(1,'9905971469d26048af3a4b21540fc2a45e803126275d95553f7ee5b30f8123fe',1767225600000);
INSERT INTO "schema_migrations" VALUES(2,'2a007415fdfeeeb4ff1cd3f66ea45f91143f9d537672ea5075ec8f5e9bf57540',1794798976173);
INSERT INTO "schema_migrations" VALUES(3,'3de93a34afa9abadb5cd6a6a97c47b6b993e4e994346a697dee7dd02dbf42c13',1794798976173);
INSERT INTO "schema_migrations" VALUES(4,'03a9a90174051f44fd48727180f2477aeb84598c76ba8c69bd922c1f43035820',1794798976173);
INSERT INTO "schema_migrations" VALUES(5,'281a5f1da3ac53e7b61d42b5266ab6ecfa84b442d65ec85c7ccda7e9167c8678',1794798976178);
INSERT INTO "schema_migrations" VALUES(6,'b726efbcba1ed6e1ac1fc8396c271b72c89c6f6fc597628a32bc596f60e71c59',1794798976178);
CREATE TABLE task_labels (
  repo TEXT NOT NULL,
  label TEXT NOT NULL,
  number INTEGER NOT NULL,
  task TEXT NOT NULL,
  PRIMARY KEY (repo, label, number, task)
) STRICT, WITHOUT ROWID;
INSERT INTO "task_labels" VALUES('acme/app','a',1,'T1');
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
INSERT INTO "tasks" VALUES(1,'acme/app','T1',1,'queued',2,'implementer',NULL,NULL,NULL,NULL,NULL,1,NULL,'{"repo":"acme/app","id":"T1","number":1,"version":1,"title":"First","description":"","kind":null,"complexity":null,"deliverable":"code","status":"queued","priority":"P2","labels":["a"],"role":"implementer","assignee":null,"reserved_for":null,"preferred":null,"reviewer":null,"review_taken":false,"dependencies":["T9"],"blockers":[],"files":["src/**"],"branch":null,"commit":null,"pr":null,"merged_sha":null,"round":0,"review_rounds":0,"requirements":[],"dod":[{"text":"it works","state":"open","by":null,"at":null}],"gates":[{"name":"tests","required":true,"evidence":null,"waiver":null,"failures":0}],"constraints":{"max_files":null,"no_git_commit":false,"no_new_deps":false,"allow_delete":[]},"context":{},"timeout":0,"attempts":0,"epic":null,"prd":null,"initiative":null,"parent":null,"external_ids":{},"claim":null,"block":null,"steps":[],"decisions":[],"last_error":null,"created_by":"ann","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z"}',NULL);
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
COMMIT;
PRAGMA user_version = 6;

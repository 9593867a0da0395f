-- What agents remember, and what each memory is found by: its words and their stems.
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
CREATE UNIQUE INDEX memories_by_number ON memories (repo, number);
CREATE INDEX memories_due ON memories (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE memory_words (
  repo TEXT NOT NULL,
  word TEXT NOT NULL,
  memory INTEGER NOT NULL,
  PRIMARY KEY (repo, word, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_words_by_memory ON memory_words (repo, memory);

CREATE TABLE directives (
  rowid INTEGER PRIMARY KEY,
  repo TEXT NOT NULL,
  number INTEGER NOT NULL,
  due_at INTEGER,
  body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX directives_by_number ON directives (repo, number);
CREATE INDEX directives_due ON directives (due_at) WHERE due_at IS NOT NULL;

ALTER TABLE repos ADD COLUMN memories INTEGER NOT NULL DEFAULT 0;
ALTER TABLE repos ADD COLUMN directives INTEGER NOT NULL DEFAULT 0;

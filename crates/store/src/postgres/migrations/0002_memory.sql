-- What agents remember, and what each memory is found by: its words and their stems.
CREATE TABLE memories (
  repo TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  scope TEXT COLLATE "C" NOT NULL,
  superseded BOOLEAN NOT NULL,
  due_at BIGINT,
  body TEXT NOT NULL,
  PRIMARY KEY (repo, number)
);
CREATE INDEX memories_due ON memories (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE memory_words (
  repo TEXT COLLATE "C" NOT NULL,
  word TEXT COLLATE "C" NOT NULL,
  memory BIGINT NOT NULL,
  PRIMARY KEY (repo, word, memory)
);
CREATE INDEX memory_words_by_memory ON memory_words (repo, memory);

CREATE TABLE directives (
  repo TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  due_at BIGINT,
  body TEXT NOT NULL,
  PRIMARY KEY (repo, number)
);
CREATE INDEX directives_due ON directives (due_at) WHERE due_at IS NOT NULL;

ALTER TABLE repos ADD COLUMN memories BIGINT NOT NULL DEFAULT 0;
ALTER TABLE repos ADD COLUMN directives BIGINT NOT NULL DEFAULT 0;

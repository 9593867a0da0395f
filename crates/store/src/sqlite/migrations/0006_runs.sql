-- Agents at work, and what they may spend.
CREATE TABLE runs (
  rowid INTEGER PRIMARY KEY,
  repo TEXT NOT NULL,
  number INTEGER NOT NULL,
  task TEXT NOT NULL,
  live INTEGER NOT NULL,
  due_at INTEGER,
  body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX runs_by_number ON runs (repo, number);
CREATE INDEX runs_by_task ON runs (repo, task, number);
CREATE INDEX runs_live ON runs (repo, number) WHERE live;
CREATE INDEX runs_due ON runs (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE budgets (
  repo TEXT NOT NULL,
  scope TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (repo, scope)
) STRICT, WITHOUT ROWID;

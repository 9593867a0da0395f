-- Agents at work, and what they may spend.
CREATE TABLE runs (
  repo TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  task TEXT COLLATE "C" NOT NULL,
  live BOOLEAN NOT NULL,
  due_at BIGINT,
  body TEXT NOT NULL,
  PRIMARY KEY (repo, number)
);
CREATE INDEX runs_by_task ON runs (task, repo, number);
CREATE INDEX runs_live ON runs (repo, number) WHERE live;
CREATE INDEX runs_due ON runs (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE budgets (
  repo TEXT COLLATE "C" NOT NULL,
  scope TEXT COLLATE "C" NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (repo, scope)
);

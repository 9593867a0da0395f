-- A lease that was granted when its paths had been changed already.
ALTER TABLE leases ADD COLUMN late INTEGER NOT NULL DEFAULT 0;

-- Leases that have ended. They lie beside each other by literal prefix and by the event that ended them: whoever asks which
-- of them lived in a round reads nothing else.
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
CREATE UNIQUE INDEX past_leases_by_number ON past_leases (repo, number);

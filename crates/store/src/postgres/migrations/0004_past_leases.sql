-- A lease that was granted when its paths had been changed already.
ALTER TABLE leases ADD COLUMN late BOOLEAN NOT NULL DEFAULT false;

-- Leases that have ended, found by literal prefix and by the event that ended them.
CREATE TABLE past_leases (
  repo TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  prefix TEXT COLLATE "C" NOT NULL,
  ended BIGINT NOT NULL,
  path TEXT NOT NULL,
  shared BOOLEAN NOT NULL,
  owner TEXT COLLATE "C" NOT NULL,
  claim_of TEXT,
  fence BIGINT NOT NULL,
  acquired_at BIGINT NOT NULL,
  late BOOLEAN NOT NULL,
  ended_at BIGINT NOT NULL,
  expired BOOLEAN NOT NULL,
  PRIMARY KEY (repo, number)
);
CREATE INDEX past_leases_by_prefix ON past_leases (repo, prefix, ended);

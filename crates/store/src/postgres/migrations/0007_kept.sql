-- What doors keep beside the log: bytes under a space and a key.
CREATE TABLE kept (
  space TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  value BYTEA NOT NULL,
  PRIMARY KEY (space, key)
);

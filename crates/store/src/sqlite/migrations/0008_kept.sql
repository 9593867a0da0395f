-- What doors keep beside the log: bytes under a space and a key.
CREATE TABLE kept (
  space TEXT NOT NULL,
  key TEXT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (space, key)
) STRICT, WITHOUT ROWID;

-- What agents leave for each other: change notices, interfaces, messages, pads.
CREATE TABLE posts (
  rowid INTEGER PRIMARY KEY,
  repo TEXT NOT NULL,
  id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX posts_by_id ON posts (repo, id);
CREATE INDEX posts_by_seq ON posts (repo, seq);

-- Where posts and memories are found: at paths, below directories, and under the names that they are for.
CREATE TABLE post_places (
  repo TEXT NOT NULL,
  place TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (repo, place, seq, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX post_places_by_id ON post_places (repo, id);

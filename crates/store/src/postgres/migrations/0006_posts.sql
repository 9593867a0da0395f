-- What agents leave for each other: change notices, interfaces, messages, pads.
CREATE TABLE posts (
  repo TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (repo, id)
);
CREATE INDEX posts_by_seq ON posts (repo, seq);

-- Where posts and memories are found: at paths, below directories, and under the names that they are for.
CREATE TABLE post_places (
  repo TEXT COLLATE "C" NOT NULL,
  place TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (repo, place, seq, id)
);
CREATE INDEX post_places_by_id ON post_places (repo, id);

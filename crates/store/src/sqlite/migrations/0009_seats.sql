-- Who sits where in a repository, as JSON.
ALTER TABLE repos ADD COLUMN seats TEXT NOT NULL DEFAULT '{}';

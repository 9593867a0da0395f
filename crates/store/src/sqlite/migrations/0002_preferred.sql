-- Whom a queued task prefers, so that a claim finds those that prefer its caller without a look at the
-- others.
ALTER TABLE tasks ADD COLUMN preferred TEXT;
UPDATE tasks SET preferred = json_extract(body, '$.preferred');
CREATE INDEX tasks_by_preference ON tasks (repo, preferred, priority, number)
  WHERE status = 'queued' AND waits = 0 AND preferred IS NOT NULL;

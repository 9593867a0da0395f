-- How paths are compared in a repository: 0 nobody has set it, 1 case is folded, 2 case is kept.
ALTER TABLE repos ADD COLUMN fold_case INTEGER NOT NULL DEFAULT 0;

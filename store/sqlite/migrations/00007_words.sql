-- +goose Up

-- Kept texts are searched too. What is fresh came when the index may have had its part already.
ALTER TABLE kept ADD COLUMN fresh INTEGER NOT NULL DEFAULT 1;

CREATE INDEX kept_fresh ON kept (session) WHERE fresh;

-- Words are folded otherwise than before, and fields are kept apart: the index begins anew, and follows when somebody searches.
INSERT INTO found (found) VALUES ('delete-all');

DELETE FROM sought;

DELETE FROM stale;

UPDATE session SET indexed = 0;

PRAGMA user_version = 7;

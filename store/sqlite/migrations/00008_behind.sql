-- +goose Up

-- Sessions that the index of words is behind of. Without it, each of them was found by looking through all those before it, which
-- made filling the index quadratic in the number of sessions.
CREATE INDEX session_behind ON session (num) WHERE indexed < messages;

PRAGMA user_version = 8;

-- +goose Up

-- When a gateway relayed the request that was paid for, in milliseconds; NULL where none did. It finds the sessions of a day without
-- reading the others.
ALTER TABLE spend ADD COLUMN relayed REAL;

CREATE INDEX spend_relayed ON spend (relayed) WHERE relayed IS NOT NULL;

PRAGMA user_version = 9;

-- +goose Up

-- Has a row if the store does without the index of words.
CREATE TABLE unindexed (
    one INTEGER PRIMARY KEY CHECK (one = 1)
) STRICT;

PRAGMA user_version = 12;

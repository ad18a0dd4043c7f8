-- +goose Up

-- The summary that is wanted or written before it is needed.
CREATE TABLE prepared (
    session INTEGER NOT NULL PRIMARY KEY,
    data    ANY     NOT NULL
) STRICT;

PRAGMA user_version = 10;

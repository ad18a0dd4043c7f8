-- +goose Up

-- Constraints that the user said are none.
CREATE TABLE dismissed (
    session INTEGER NOT NULL,
    words   TEXT    NOT NULL, -- of the sentence (recall.Key)
    PRIMARY KEY (session, words)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 5;

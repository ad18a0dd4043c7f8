-- +goose Up

-- The index of words follows the log: it is brought up to date when somebody searches, not when a message is appended, which it would
-- make several times slower. Messages of a session before this position are in it.
ALTER TABLE session ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;

-- Messages that were changed after the index took them up.
CREATE TABLE stale (
    session INTEGER NOT NULL,
    message INTEGER NOT NULL, -- position
    PRIMARY KEY (session, message)
) STRICT, WITHOUT ROWID;

-- A document of the index is a part that has text.
CREATE TABLE sought (
    doc     INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    message INTEGER NOT NULL, -- position
    part    INTEGER NOT NULL, -- position
    role    TEXT    NOT NULL,
    tool    TEXT    NOT NULL,
    time    REAL    NOT NULL  -- the message's, milliseconds
) STRICT;

CREATE INDEX sought_message ON sought (session, message);

-- The texts themselves are not in it. They come folded and cut into words by store/internal/words, which puts a space after each: the
-- tokenizer only has to take them apart again.
CREATE VIRTUAL TABLE found USING fts5 (said, asked, answered, content = '', contentless_delete = 1, tokenize = 'ascii');

PRAGMA user_version = 3;

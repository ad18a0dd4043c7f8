-- +goose Up

-- Files that were looked at: one that is as it was need not be read again.
CREATE TABLE file (
    path     TEXT    PRIMARY KEY,
    size     INTEGER NOT NULL,
    modified INTEGER NOT NULL, -- nanoseconds since 1970
    seen     INTEGER NOT NULL, -- when it was read
    hash     BLOB    NOT NULL, -- SHA-256
    session  TEXT    NOT NULL, -- id of the session that is in it, '' when it is none
    messages INTEGER NOT NULL  -- of the file, that the session has (store.File)
) STRICT, WITHOUT ROWID;

CREATE INDEX file_session ON file (session);

PRAGMA user_version = 4;

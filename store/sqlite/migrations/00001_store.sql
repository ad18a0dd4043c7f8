-- +goose Up

-- Values of the log (info, data) are JSON text where JSON holds them to the byte, else a blob (store/internal/exact).
-- Positions count from 0 within what they are in.

CREATE TABLE session (
    num      INTEGER PRIMARY KEY,
    id       TEXT    NOT NULL UNIQUE,
    info     ANY     NOT NULL,
    updated  REAL    NOT NULL, -- the info's, to sort by
    changed  INTEGER NOT NULL, -- milliseconds since 1970 by the store's clock, made to ascend
    revision INTEGER NOT NULL,
    messages INTEGER NOT NULL  -- how many there are
) STRICT;

CREATE INDEX session_changed ON session (changed);

CREATE TABLE message (
    session  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id       TEXT    NOT NULL, -- may occur twice
    parts    INTEGER NOT NULL, -- how many there are
    info     ANY     NOT NULL,
    PRIMARY KEY (session, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX message_id ON message (session, id);

-- Large tool outputs, once each.
CREATE TABLE content (
    num  INTEGER PRIMARY KEY,
    hash BLOB    NOT NULL UNIQUE, -- SHA-256 of what it was before compression
    size INTEGER NOT NULL,        -- bytes before compression
    data BLOB    NOT NULL         -- gzip
) STRICT;

CREATE TABLE part (
    session  INTEGER NOT NULL,
    message  INTEGER NOT NULL, -- position of its message
    position INTEGER NOT NULL,
    id       TEXT    NOT NULL,
    type     TEXT    NOT NULL,
    field    TEXT,             -- "output" or "error": the text that is kept in content, and left out of data
    content  INTEGER,
    data     ANY     NOT NULL,
    PRIMARY KEY (session, message, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX part_content ON part (content) WHERE content IS NOT NULL;

CREATE TABLE elision (
    session  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    part     TEXT    NOT NULL,
    field    TEXT    NOT NULL,
    data     ANY     NOT NULL,
    PRIMARY KEY (session, position),
    UNIQUE (session, part, field)
) STRICT, WITHOUT ROWID;

CREATE TABLE pin (
    session  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id       TEXT    NOT NULL,
    data     ANY     NOT NULL,
    PRIMARY KEY (session, position),
    UNIQUE (session, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE undone (
    session INTEGER NOT NULL,
    marker  TEXT    NOT NULL, -- id of its message
    PRIMARY KEY (session, marker)
) STRICT, WITHOUT ROWID;

CREATE TABLE receipt (
    session  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    data     ANY     NOT NULL,
    PRIMARY KEY (session, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE spend (
    session  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    data     ANY     NOT NULL,
    PRIMARY KEY (session, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE source (
    session INTEGER PRIMARY KEY,
    format  TEXT    NOT NULL,
    path    TEXT    NOT NULL,
    size    INTEGER NOT NULL, -- bytes before compression
    data    BLOB    NOT NULL  -- gzip
) STRICT;

-- What tells a store from another program's database, and its version: both are read before anything is written.
PRAGMA application_id = 2003725943; -- "wnnw"
PRAGMA user_version = 1;

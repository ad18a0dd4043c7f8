-- +goose Up

-- Every table begins with the tenant, and every query names it. What comes from outside (ids, names, texts) is bytea: it may hold
-- NUL and bytes that are not UTF-8. Ids in keys are shortened where they are longer than an index takes (key.go). Values of the log
-- (info, data, parts) are JSON where JSON holds them to the byte, else a form of their own (store/internal/exact). Positions count
-- from 0 within what they are in.

CREATE SEQUENCE session_change;

CREATE TABLE session (
    tenant   text     NOT NULL,
    id       bytea    NOT NULL,
    num      bigint   NOT NULL GENERATED ALWAYS AS IDENTITY,
    info     bytea    NOT NULL,
    updated  float8   NOT NULL, -- the info's, to sort by
    changed  bigint   NOT NULL DEFAULT nextval('session_change'), -- orders sessions that were updated at the same time
    revision bigint   NOT NULL,
    messages bigint   NOT NULL, -- how many there are
    indexed  bigint   NOT NULL DEFAULT 0, -- messages before this position are in the index of words
    token    bytea,             -- of the change that made this revision: it is not written twice
    PRIMARY KEY (tenant, id)
) WITH (fillfactor = 80);

CREATE UNIQUE INDEX session_num ON session (tenant, num);

CREATE INDEX session_behind ON session (tenant, num) WHERE indexed < messages;

CREATE TABLE message (
    tenant   text    NOT NULL,
    session  bigint  NOT NULL,
    position bigint  NOT NULL,
    id       bytea   NOT NULL, -- may occur twice
    info     bytea   NOT NULL,
    parts    bytea[] NOT NULL,
    names    bytea[] NOT NULL, -- ids of the parts
    apart    int     NOT NULL, -- how many of its texts are kept apart
    PRIMARY KEY (tenant, session, position)
);

CREATE INDEX message_id ON message (tenant, session, id, position);

-- Large texts, once each within a tenant.
CREATE TABLE content (
    tenant text     NOT NULL,
    hash   bytea    NOT NULL, -- SHA-256 of the text before compression
    size   bigint   NOT NULL, -- bytes before compression
    codec  smallint NOT NULL, -- 0 as it is, 2 zstd
    data   bytea    NOT NULL,
    PRIMARY KEY (tenant, hash)
);

ALTER TABLE content ALTER data SET STORAGE EXTERNAL; -- it is compressed already

-- The texts of parts that are kept as contents, and left out of the parts.
CREATE TABLE apart (
    tenant  text   NOT NULL,
    session bigint NOT NULL,
    message bigint NOT NULL, -- position of its message
    part    int    NOT NULL, -- position of its part
    field   text   NOT NULL,
    content bytea  NOT NULL,
    PRIMARY KEY (tenant, session, message, part, field)
);

CREATE INDEX apart_content ON apart (tenant, content);

-- Contents that may be in use no longer. They are deleted when nobody adds any.
CREATE TABLE garbage (
    tenant text  NOT NULL,
    hash   bytea NOT NULL,
    PRIMARY KEY (tenant, hash)
);

-- Decisions, in the order of the changes that made them and within these.
CREATE TABLE elision (
    tenant   text   NOT NULL,
    session  bigint NOT NULL,
    part     bytea  NOT NULL,
    field    bytea  NOT NULL,
    revision bigint NOT NULL,
    ordinal  bigint NOT NULL,
    data     bytea  NOT NULL,
    PRIMARY KEY (tenant, session, part, field)
);

CREATE TABLE pin (
    tenant   text   NOT NULL,
    session  bigint NOT NULL,
    id       bytea  NOT NULL,
    revision bigint NOT NULL,
    ordinal  bigint NOT NULL,
    data     bytea  NOT NULL,
    PRIMARY KEY (tenant, session, id)
);

CREATE TABLE undone (
    tenant  text   NOT NULL,
    session bigint NOT NULL,
    marker  bytea  NOT NULL,
    whole   bytea  NOT NULL, -- the marker, never shortened
    PRIMARY KEY (tenant, session, marker)
);

CREATE TABLE dismissed (
    tenant  text   NOT NULL,
    session bigint NOT NULL,
    words   bytea  NOT NULL,
    whole   bytea  NOT NULL, -- the words, never shortened
    PRIMARY KEY (tenant, session, words)
);

CREATE TABLE receipt (
    tenant   text   NOT NULL,
    session  bigint NOT NULL,
    revision bigint NOT NULL,
    ordinal  bigint NOT NULL,
    data     bytea  NOT NULL,
    PRIMARY KEY (tenant, session, revision, ordinal)
);

CREATE TABLE spend (
    tenant   text   NOT NULL,
    session  bigint NOT NULL,
    revision bigint NOT NULL,
    ordinal  bigint NOT NULL,
    data     bytea  NOT NULL,
    relayed  float8,          -- when a gateway relayed the request, milliseconds since 1970
    PRIMARY KEY (tenant, session, revision, ordinal)
);

CREATE INDEX spend_relayed ON spend (tenant, relayed) WHERE relayed IS NOT NULL;

-- The file that a session comes from, in pieces of equal size: one that grew shares those that it had.
CREATE TABLE source (
    tenant  text   NOT NULL,
    session bigint NOT NULL,
    format  bytea  NOT NULL,
    path    bytea  NOT NULL,
    size    bigint NOT NULL, -- bytes
    pieces  int    NOT NULL, -- how many there are
    PRIMARY KEY (tenant, session)
);

CREATE TABLE piece (
    tenant   text   NOT NULL,
    session  bigint NOT NULL,
    position int    NOT NULL,
    content  bytea  NOT NULL,
    PRIMARY KEY (tenant, session, position)
);

CREATE INDEX piece_content ON piece (tenant, content);

-- Outputs that were too long to be sent whole: the log has their beginning and their end.
CREATE TABLE kept (
    tenant  text    NOT NULL,
    session bigint  NOT NULL,
    part    bytea   NOT NULL, -- id
    whole   bytea   NOT NULL, -- this id, never shortened
    content bytea   NOT NULL,
    fresh   boolean NOT NULL DEFAULT true, -- it came when the index may have had its part already
    PRIMARY KEY (tenant, session, part)
);

CREATE INDEX kept_content ON kept (tenant, content);

CREATE INDEX kept_fresh ON kept (tenant, session) WHERE fresh;

-- Files that were looked at: one that is as it was need not be read again.
CREATE TABLE file (
    tenant   text   NOT NULL,
    path     bytea  NOT NULL,
    whole    bytea  NOT NULL, -- the path, never shortened
    size     bigint NOT NULL,
    modified bigint NOT NULL, -- nanoseconds since 1970
    seen     bigint NOT NULL, -- when it was read
    hash     bytea  NOT NULL, -- SHA-256
    session  bytea  NOT NULL, -- id of the session that is in it, empty if there is none
    owner    bytea  NOT NULL, -- this id, never shortened
    messages bigint NOT NULL, -- of the file, that the session has (store.File)
    PRIMARY KEY (tenant, path)
);

CREATE INDEX file_session ON file (tenant, session);

-- Messages that changed after the index took them up. One that changes while it is being indexed is noted once more.
CREATE TABLE stale (
    tenant   text   NOT NULL,
    session  bigint NOT NULL,
    message  bigint NOT NULL, -- position
    revision bigint NOT NULL,
    PRIMARY KEY (tenant, session, message, revision)
);

-- The index of words follows the log: it is brought up to date when somebody searches. A document is a part that has text, in as
-- many rows as its words need: a tsvector holds few places of a word, and few places in all.
CREATE TABLE found (
    tenant  text     NOT NULL,
    session bigint   NOT NULL,
    message bigint   NOT NULL, -- position
    part    int      NOT NULL, -- position
    piece   int      NOT NULL,
    role    bytea    NOT NULL,
    tool    bytea    NOT NULL,
    time    float8   NOT NULL, -- the message's, milliseconds
    words   tsvector NOT NULL, -- as store/internal/words cuts and folds them
    PRIMARY KEY (tenant, session, message, part, piece)
);

CREATE INDEX found_words ON found USING gin (words);

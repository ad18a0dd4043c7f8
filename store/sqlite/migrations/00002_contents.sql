-- +goose Up

-- What is large is kept once, whatever it is: any text of a part, and the files that sessions came from. Contents that version 1
-- wrote stay as they are; a content never changes, and the next writer of the same text finds it by its hash.
ALTER TABLE content ADD COLUMN codec INTEGER NOT NULL DEFAULT 1; -- 0 as it is, 1 gzip, 2 zstd

-- The first large text of a part is named by field and content, as before; this counts those in the table apart.
ALTER TABLE part ADD COLUMN apart INTEGER NOT NULL DEFAULT 0;

CREATE TABLE apart (
    session INTEGER NOT NULL,
    message INTEGER NOT NULL, -- position of its message
    part    INTEGER NOT NULL, -- position of its part
    field   TEXT    NOT NULL,
    content INTEGER NOT NULL,
    PRIMARY KEY (session, message, part, field)
) STRICT, WITHOUT ROWID;

CREATE INDEX apart_content ON apart (content);

-- A file in pieces of equal size: one that grew shares those that it had.
CREATE TABLE piece (
    session  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    content  INTEGER NOT NULL,
    PRIMARY KEY (session, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX piece_content ON piece (content);

-- How many pieces it has, and no data then; 0 where data holds the file itself, as version 1 wrote it.
ALTER TABLE source ADD COLUMN pieces INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 2;

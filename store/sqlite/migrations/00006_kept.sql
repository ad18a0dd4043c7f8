-- +goose Up

-- Outputs that were too long to be sent whole: the log has their beginning and their end.
CREATE TABLE kept (
    session INTEGER NOT NULL,
    part    TEXT    NOT NULL, -- id
    content INTEGER NOT NULL,
    PRIMARY KEY (session, part)
) STRICT, WITHOUT ROWID;

CREATE INDEX kept_content ON kept (content);

PRAGMA user_version = 6;

-- +goose Up
-- All scopes of a token where it has one that the version before does not know, which fails on such a word in
-- scopes; empty: scopes has all. A token of which that version knows no scope has a hash with "-" before it there,
-- so that it is nobody's token for that version.
ALTER TABLE book_token ADD COLUMN allows TEXT NOT NULL DEFAULT '';

-- A person is the owner of a token, or the id of a token without one. The version before leaves these columns as
-- they are by default, and adds nothing to the table.
ALTER TABLE book_token ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE book_audit ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE book_reserved ADD COLUMN person TEXT NOT NULL DEFAULT '';
CREATE TABLE book_person (
  tenant    TEXT NOT NULL,
  person    TEXT NOT NULL,
  day       TEXT NOT NULL, -- 2026-05-31, UTC
  dollars   DOUBLE PRECISION NOT NULL,
  estimated DOUBLE PRECISION NOT NULL,
  requests  BIGINT NOT NULL,
  PRIMARY KEY (tenant, person, day)
);

-- The version before goes on with these tables: see book.go.
CREATE TABLE book_compatible (version BIGINT PRIMARY KEY);
INSERT INTO book_compatible VALUES (5);

-- +goose Down
DROP TABLE book_compatible;
DROP TABLE book_person;
ALTER TABLE book_reserved DROP COLUMN person;
ALTER TABLE book_audit DROP COLUMN person;
ALTER TABLE book_token DROP COLUMN owner;
ALTER TABLE book_token DROP COLUMN allows;

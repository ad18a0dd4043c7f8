-- +goose Up
-- Runs on SQLite and on PostgreSQL. Times are milliseconds since 1970, 0 for never.
CREATE TABLE book_tenant (
  name     TEXT NOT NULL PRIMARY KEY,
  folded   TEXT NOT NULL UNIQUE, -- the name in lower case: names also name files
  settings TEXT NOT NULL,        -- JSON: limits, budget, retention, capture, mode, names of keys
  created  BIGINT NOT NULL
);
CREATE TABLE book_token (
  id      TEXT NOT NULL PRIMARY KEY,
  tenant  TEXT NOT NULL REFERENCES book_tenant (name) ON DELETE CASCADE,
  label   TEXT NOT NULL,
  hash    TEXT NOT NULL UNIQUE, -- SHA-256 of the token, hexadecimal
  scopes  TEXT NOT NULL,
  created BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  used    BIGINT NOT NULL,
  revoked BIGINT NOT NULL
);
CREATE INDEX book_token_tenant ON book_token (tenant);
-- What was spent stays when a tenant is removed, and when its conversations are deleted.
CREATE TABLE book_spent (
  tenant  TEXT NOT NULL,
  day     TEXT NOT NULL, -- 2026-05-31, UTC
  dollars DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (tenant, day)
);
CREATE TABLE book_audit (
  time    BIGINT NOT NULL,
  id      TEXT NOT NULL,
  tenant  TEXT NOT NULL,
  who     TEXT NOT NULL,
  did     TEXT NOT NULL,
  session TEXT NOT NULL,
  what    TEXT NOT NULL,
  PRIMARY KEY (time, id)
);
CREATE INDEX book_audit_tenant ON book_audit (tenant, time);
CREATE TABLE book_revision (
  one    INTEGER NOT NULL PRIMARY KEY,
  number BIGINT NOT NULL
);
INSERT INTO book_revision (one, number) VALUES (1, 1);

-- +goose Down
DROP TABLE book_revision;
DROP TABLE book_audit;
DROP TABLE book_spent;
DROP TABLE book_token;
DROP TABLE book_tenant;

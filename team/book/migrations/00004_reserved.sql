-- +goose Up
-- What requests that are under way may cost, through every process. One that is killed leaves its rows until they
-- expire.
CREATE TABLE book_reserved (
  id      TEXT NOT NULL PRIMARY KEY,
  tenant  TEXT NOT NULL,
  process TEXT NOT NULL,
  dollars DOUBLE PRECISION NOT NULL,
  expires BIGINT NOT NULL
);
CREATE INDEX book_reserved_tenant ON book_reserved (tenant);
ALTER TABLE book_spent ADD COLUMN estimated DOUBLE PRECISION NOT NULL DEFAULT 0; -- of dollars: not reported

-- +goose Down
ALTER TABLE book_spent DROP COLUMN estimated;
DROP TABLE book_reserved;

-- +goose Up
-- Until which day book_spent has all that a tenant's sessions know; the days before are not summed again.
CREATE TABLE book_closed (
  tenant TEXT NOT NULL PRIMARY KEY,
  day    TEXT NOT NULL -- 2026-05-31, UTC
);

-- +goose Down
DROP TABLE book_closed;

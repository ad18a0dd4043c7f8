-- +goose Up
ALTER TABLE book_spent ADD COLUMN requests BIGINT NOT NULL DEFAULT 0; -- that were answered on the day

-- +goose Down
ALTER TABLE book_spent DROP COLUMN requests;

-- +goose Up

-- The summary that is wanted or written before it is needed; NULL if there is none.
ALTER TABLE session ADD COLUMN prepared bytea;

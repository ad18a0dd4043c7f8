-- +goose Up
-- All scopes of a token where it has one that the version before does not know, which fails on such a word in
-- scopes; empty: scopes has all. A token of which that version knows no scope has a hash with "-" before it there,
-- so that it is nobody's token for that version.
ALTER TABLE book_token ADD COLUMN allows TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE book_token DROP COLUMN allows;

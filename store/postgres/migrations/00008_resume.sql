-- +goose Up

-- The revision that replaced a message; 0 for one that is as it was appended. A reader that has a session takes what was added and
-- what was replaced since. Older programs write no revision: their messages are new to every reader, each time.
ALTER TABLE message ADD COLUMN revision bigint NOT NULL DEFAULT 0;
ALTER TABLE message ALTER COLUMN revision SET DEFAULT 9223372036854775807;

-- Those from before version 6 replace messages in their place.
-- +goose StatementBegin
CREATE FUNCTION winnow_replaced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := 9223372036854775807;
    RETURN NEW;
END $$;
-- +goose StatementEnd

CREATE TRIGGER message_replaced BEFORE UPDATE ON message FOR EACH ROW EXECUTE FUNCTION winnow_replaced();

INSERT INTO winnow_compatible VALUES (8);

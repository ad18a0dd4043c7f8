-- +goose Up

-- The id of a session's parent, '' without one. NULL where SQL does not read it as Go does, or where it is too long for an index:
-- such a session is looked at by itself. It is made from the info, so that an older program that writes one need not know of it.
-- +goose StatementBegin
CREATE FUNCTION winnow_parent(_info bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    _said text;
BEGIN
    _said := convert_from(_info, 'UTF8')::json -> 'parentID';
    IF _said IS NULL THEN
        RETURN '';
    END IF;
    IF left(_said, 1) <> '"' OR position('\' in _said) > 0 OR octet_length(_said) > 512 THEN
        RETURN NULL;
    END IF;
    RETURN convert_to(substr(_said, 2, length(_said) - 2), 'UTF8');
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;
-- +goose StatementEnd

ALTER TABLE session ADD COLUMN parent bytea GENERATED ALWAYS AS (winnow_parent(info)) STORED;

CREATE INDEX session_parent ON session (tenant, parent) WHERE parent <> '';

CREATE INDEX session_aside ON session (tenant) WHERE parent IS NULL;

-- +goose Up

-- The id of a session's parent, '' without one. NULL where SQL does not read it as Go does: such a session is looked at by itself.
ALTER TABLE session ADD COLUMN parent TEXT GENERATED ALWAYS AS (
    CASE WHEN typeof(info) <> 'text' OR NOT json_valid(info) THEN NULL
         WHEN json_type(info, '$.parentID') IS NULL THEN ''
         WHEN json_type(info, '$.parentID') <> 'text' OR instr(info -> '$.parentID', '\') > 0 THEN NULL
         ELSE info ->> '$.parentID' END
) VIRTUAL;

CREATE INDEX session_parent ON session (parent) WHERE parent <> '';

CREATE INDEX session_aside ON session (num) WHERE parent IS NULL;

PRAGMA user_version = 11;

-- +goose Up

-- As before, but whether a content is in use is looked up for one after the other (that is what OFFSET does): a plan that joins
-- reads all that a tenant has, where the server knows little of the tables.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION winnow_sweep(_tenant text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    _gone bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM garbage WHERE tenant = _tenant)
        OR NOT pg_try_advisory_xact_lock(winnow_contents_lock(_tenant)) THEN
        RETURN 0;
    END IF;
    WITH candidate AS (DELETE FROM garbage WHERE tenant = _tenant RETURNING hash),
    unused AS MATERIALIZED (
        SELECT hash FROM candidate
        WHERE NOT EXISTS (SELECT FROM apart WHERE apart.tenant = _tenant AND apart.content = candidate.hash OFFSET 0)
        AND NOT EXISTS (SELECT FROM piece WHERE piece.tenant = _tenant AND piece.content = candidate.hash OFFSET 0)
        AND NOT EXISTS (SELECT FROM kept WHERE kept.tenant = _tenant AND kept.content = candidate.hash OFFSET 0)
    )
    DELETE FROM content WHERE tenant = _tenant AND hash = ANY (ARRAY(SELECT hash FROM unused));
    GET DIAGNOSTICS _gone = ROW_COUNT;
    RETURN _gone;
END $$;
-- +goose StatementEnd

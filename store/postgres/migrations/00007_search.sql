-- +goose Up

-- Tenants that do without the index of words.
CREATE TABLE unindexed (
    tenant text PRIMARY KEY
);

-- As before, but in pieces: what adds contents waits for one piece at most. Returns how many candidates it looked at.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION winnow_sweep(_tenant text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    _looked bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM garbage WHERE tenant = _tenant)
        OR NOT pg_try_advisory_xact_lock(winnow_contents_lock(_tenant)) THEN
        RETURN 0;
    END IF;
    WITH candidate AS (
        DELETE FROM garbage WHERE tenant = _tenant AND hash IN (SELECT hash FROM garbage WHERE tenant = _tenant LIMIT 1000)
        RETURNING hash
    ),
    unused AS MATERIALIZED (
        SELECT hash FROM candidate
        WHERE NOT EXISTS (SELECT FROM apart WHERE apart.tenant = _tenant AND apart.content = candidate.hash OFFSET 0)
        AND NOT EXISTS (SELECT FROM piece WHERE piece.tenant = _tenant AND piece.content = candidate.hash OFFSET 0)
        AND NOT EXISTS (SELECT FROM kept WHERE kept.tenant = _tenant AND kept.content = candidate.hash OFFSET 0)
    ),
    gone AS (DELETE FROM content WHERE tenant = _tenant AND hash = ANY (ARRAY(SELECT hash FROM unused)))
    SELECT count(*) INTO _looked FROM candidate;
    RETURN _looked;
END $$;
-- +goose StatementEnd

-- As before, but a tenant without an index need not know which messages it would have to take up anew.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION winnow_replace(_tenant text, _num bigint, _revision bigint, _message bytea, _hash bytea[])
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    _position bigint;
BEGIN
    SELECT max(position) INTO _position FROM message
        WHERE tenant = _tenant AND session = _num AND id = _message AND _message <> '';
    IF _position IS NULL THEN
        RAISE EXCEPTION 'message' USING ERRCODE = 'WN405';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(winnow_contents_lock(_tenant));
    WITH gone AS (
        DELETE FROM apart WHERE tenant = _tenant AND session = _num AND message = _position RETURNING content
    ) INSERT INTO garbage (tenant, hash)
        SELECT DISTINCT _tenant, content FROM gone WHERE content <> ALL (_hash) ORDER BY content ON CONFLICT DO NOTHING;
    DELETE FROM message WHERE tenant = _tenant AND session = _num AND position = _position;
    INSERT INTO stale (tenant, session, message, revision)
        SELECT _tenant, _num, _position, _revision WHERE NOT EXISTS (SELECT FROM unindexed WHERE tenant = _tenant)
        ON CONFLICT DO NOTHING;
    RETURN _position;
END $$;
-- +goose StatementEnd

-- The version before can work on these tables. It goes on with an index where it finds none.
CREATE TABLE IF NOT EXISTS winnow_compatible (version bigint PRIMARY KEY);
INSERT INTO winnow_compatible VALUES (7);

-- +goose Up

-- A change is one batch of statements (apply.go): a beginning, which fails if the session is not as the change was decided on, and
-- one statement for each thing that it does. winnow_apply stays for gateways that began before this version: both lock the session,
-- and both number revisions alike. Two more errors end a batch: WN208, the change was written and its answer lost (the message is
-- its revision), and WN405 now stands for the one message of its statement.

-- Begins a change of a session that exists. It locks the session against other changes, but not against what only needs it to stay
-- (KEY SHARE: keeping a text, indexing); deleting it waits for both.
-- +goose StatementBegin
CREATE FUNCTION winnow_begin(_tenant text, _id bytea, _base bigint, _token bytea) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    _revision bigint;
    _last bytea;
BEGIN
    SELECT revision, token INTO _revision, _last FROM session WHERE tenant = _tenant AND id = _id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'session' USING ERRCODE = 'WN404';
    END IF;
    IF _last = _token THEN
        RAISE EXCEPTION '%', _revision USING ERRCODE = 'WN208';
    END IF;
    IF _base <> 0 AND _base <> _revision THEN
        RAISE EXCEPTION '%', _revision USING ERRCODE = 'WN409';
    END IF;
END $$;
-- +goose StatementEnd

-- Begins a change that creates its session. A session that has its id already is renamed to _aside, if that is given and it is still
-- at the revision at which its new info was made.
-- +goose StatementBegin
CREATE FUNCTION winnow_create(_tenant text, _id bytea, _token bytea, _info bytea, _updated float8,
    _aside bytea, _aside_info bytea, _aside_revision bigint)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    _revision bigint;
    _last bytea;
BEGIN
    IF _aside IS NOT NULL THEN
        IF EXISTS (SELECT FROM session WHERE tenant = _tenant AND id = _aside) THEN
            RAISE EXCEPTION 'aside' USING ERRCODE = 'WN410';
        END IF;
        UPDATE session SET id = _aside, info = _aside_info, revision = revision + 1, token = NULL
            WHERE tenant = _tenant AND id = _id AND revision = _aside_revision;
    END IF;
    INSERT INTO session (tenant, id, info, updated, revision, messages)
        VALUES (_tenant, _id, _info, _updated, 1, 0) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        SELECT revision, token INTO _revision, _last FROM session WHERE tenant = _tenant AND id = _id;
        IF _last = _token THEN
            RAISE EXCEPTION '%', _revision USING ERRCODE = 'WN208';
        END IF;
        RAISE EXCEPTION 'session' USING ERRCODE = 'WN410';
    END IF;
END $$;
-- +goose StatementEnd

-- Deletes the newest message that has an id, so that it can be written again, and returns its position. Of its contents those of
-- _hash stay in use.
-- +goose StatementBegin
CREATE FUNCTION winnow_replace(_tenant text, _num bigint, _revision bigint, _message bytea, _hash bytea[])
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
        VALUES (_tenant, _num, _position, _revision) ON CONFLICT DO NOTHING;
    RETURN _position;
END $$;
-- +goose StatementEnd

-- Gives a session the texts that another one keeps for some parts.
-- +goose StatementBegin
CREATE FUNCTION winnow_keep_of(_tenant text, _id bytea, _other bytea, _part bytea[]) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    _from bigint;
BEGIN
    SELECT num INTO _from FROM session WHERE tenant = _tenant AND id = _other FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'kept' USING ERRCODE = 'WN406';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(winnow_contents_lock(_tenant));
    INSERT INTO kept (tenant, session, part, whole, content)
        SELECT _tenant, (SELECT num FROM session WHERE tenant = _tenant AND id = _id), part, whole, content FROM kept
        WHERE tenant = _tenant AND session = _from AND part = ANY (_part);
END $$;
-- +goose StatementEnd

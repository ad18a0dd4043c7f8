-- +goose Up

-- A change is one call, so that it takes one round trip and is written whole or not at all. Its errors are codes of their own:
-- WN404 no such session, WN409 it is at another revision (in the message), WN410 it exists, WN405 no such message (in the message),
-- WN406 there is no session whose kept texts the new one is to get, WN412 a content that was there has gone since: send it again.

-- What adds contents, or takes them out of use, holds this lock together with others; what deletes them holds it alone.
-- +goose StatementBegin
CREATE FUNCTION winnow_contents_lock(_tenant text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT hashtextextended('winnow contents ' || _tenant, 0) $$;
-- +goose StatementEnd

-- Adds the contents that are not there yet. Those of _held the caller has seen there.
-- +goose StatementBegin
CREATE FUNCTION winnow_contents(_tenant text, _hash bytea[], _size bigint[], _codec smallint[], _data bytea[], _held bytea[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF cardinality(_hash) = 0 AND cardinality(_held) = 0 THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(winnow_contents_lock(_tenant));
    INSERT INTO content (tenant, hash, size, codec, data)
        SELECT _tenant, c.hash, c.size, c.codec, c.data
        FROM unnest(_hash, _size, _codec, _data) AS c(hash, size, codec, data)
        ORDER BY c.hash -- so that two that add the same ones do not wait for each other
        ON CONFLICT DO NOTHING;
    IF EXISTS (SELECT FROM unnest(_held) AS h(hash) WHERE NOT EXISTS (
            SELECT FROM content WHERE tenant = _tenant AND content.hash = h.hash)) THEN
        RAISE EXCEPTION 'a content has gone' USING ERRCODE = 'WN412';
    END IF;
END $$;
-- +goose StatementEnd

-- Sets the file that a session comes from.
-- +goose StatementBegin
CREATE FUNCTION winnow_source(_tenant text, _num bigint, _format bytea, _path bytea, _size bigint, _pieces bytea[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM pg_advisory_xact_lock_shared(winnow_contents_lock(_tenant));
    INSERT INTO garbage (tenant, hash)
        SELECT DISTINCT _tenant, content FROM piece WHERE tenant = _tenant AND session = _num AND content <> ALL (_pieces)
        ORDER BY content ON CONFLICT DO NOTHING;
    DELETE FROM piece WHERE tenant = _tenant AND session = _num;
    INSERT INTO piece (tenant, session, position, content)
        SELECT _tenant, _num, p.ordinal - 1, p.hash FROM unnest(_pieces) WITH ORDINALITY AS p(hash, ordinal);
    INSERT INTO source (tenant, session, format, path, size, pieces)
        VALUES (_tenant, _num, _format, _path, _size, cardinality(_pieces))
        ON CONFLICT (tenant, session) DO UPDATE
        SET format = excluded.format, path = excluded.path, size = excluded.size, pieces = excluded.pieces;
END $$;
-- +goose StatementEnd

-- Writes a change and returns the new revision. It locks the session against other changes, but not against what only needs it to
-- stay (KEY SHARE: keeping a text, indexing); deleting it waits for both.
--
-- Messages come as three lists of arrays, to be appended (a) and to be updated (u):
-- the messages, their parts with the ordinal of the message, and what is kept apart of these.
-- +goose StatementBegin
CREATE FUNCTION winnow_apply(
    _tenant text, _id bytea, _base bigint, _token bytea,
    _create bytea, _updated float8, _aside bytea, _aside_info bytea, _aside_revision bigint, _keep bytea,
    _info bytea, _info_updated float8,
    _hash bytea[], _size bigint[], _codec smallint[], _data bytea[], _held bytea[],
    _a_id bytea[], _a_info bytea[], _a_apart int[],
    _a_part_message bigint[], _a_part bytea[], _a_part_name bytea[],
    _a_field_message bigint[], _a_field_part int[], _a_field text[], _a_field_hash bytea[],
    _u_id bytea[], _u_info bytea[], _u_apart int[],
    _u_part_message bigint[], _u_part bytea[], _u_part_name bytea[],
    _u_field_message bigint[], _u_field_part int[], _u_field text[], _u_field_hash bytea[],
    _restore_part bytea[], _restore_field bytea[],
    _commit_part bytea[], _commit_field bytea[], _commit bytea[],
    _undo bytea[], _undo_whole bytea[], _redo bytea[],
    _dismiss bytea[], _dismiss_whole bytea[], _undismiss bytea[],
    _unpin bytea[], _pin_id bytea[], _pin bytea[],
    _receipt bytea[], _spend bytea[], _spend_relayed float8[],
    _source boolean, _source_format bytea, _source_path bytea, _source_size bigint, _source_pieces bytea[]
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    _num bigint;
    _revision bigint;
    _messages bigint;
    _indexed bigint;
    _last bytea;
    _other bigint;
    _places bigint[];
BEGIN
    IF _create IS NOT NULL THEN
        IF _aside IS NOT NULL THEN
            IF EXISTS (SELECT FROM session WHERE tenant = _tenant AND id = _aside) THEN
                RAISE EXCEPTION 'aside' USING ERRCODE = 'WN410';
            END IF;
            UPDATE session SET id = _aside, info = _aside_info, revision = revision + 1, token = NULL
                WHERE tenant = _tenant AND id = _id AND revision = _aside_revision;
        END IF;
        INSERT INTO session (tenant, id, info, updated, revision, messages)
            VALUES (_tenant, _id, _create, _updated, 1, 0)
            ON CONFLICT DO NOTHING RETURNING num INTO _num;
        IF _num IS NULL THEN
            SELECT revision, token INTO _revision, _last FROM session WHERE tenant = _tenant AND id = _id;
            IF _last = _token THEN
                RETURN _revision;
            END IF;
            RAISE EXCEPTION 'session' USING ERRCODE = 'WN410';
        END IF;
        _revision := 1;
        _messages := 0;
        _indexed := 0;
    ELSE
        SELECT num, revision, messages, indexed, token INTO _num, _revision, _messages, _indexed, _last
            FROM session WHERE tenant = _tenant AND id = _id FOR NO KEY UPDATE;
        IF _num IS NULL THEN
            RAISE EXCEPTION 'session' USING ERRCODE = 'WN404';
        END IF;
        IF _last = _token THEN -- it was written, and the answer was lost
            RETURN _revision;
        END IF;
        IF _base <> 0 AND _base <> _revision THEN
            RAISE EXCEPTION '%', _revision USING ERRCODE = 'WN409';
        END IF;
    END IF;
    _revision := _revision + 1;

    PERFORM winnow_contents(_tenant, _hash, _size, _codec, _data, _held);

    IF cardinality(_a_id) > 0 THEN
        INSERT INTO message (tenant, session, position, id, info, parts, names, apart)
            SELECT _tenant, _num, _messages + m.ordinal - 1, m.id, m.info, coalesce(p.parts, '{}'), coalesce(p.names, '{}'), m.apart
            FROM unnest(_a_id, _a_info, _a_apart) WITH ORDINALITY AS m(id, info, apart, ordinal)
            LEFT JOIN (
                SELECT message, array_agg(data ORDER BY ordinal) AS parts, array_agg(name ORDER BY ordinal) AS names
                FROM unnest(_a_part_message, _a_part, _a_part_name) WITH ORDINALITY AS p(message, data, name, ordinal)
                GROUP BY message
            ) AS p ON p.message = m.ordinal - 1;
        INSERT INTO apart (tenant, session, message, part, field, content)
            SELECT _tenant, _num, _messages + f.message, f.part, f.field, f.hash
            FROM unnest(_a_field_message, _a_field_part, _a_field, _a_field_hash) AS f(message, part, field, hash);
        _messages := _messages + cardinality(_a_id);
    END IF;

    IF cardinality(_u_id) > 0 THEN
        SELECT array_agg((SELECT max(position) FROM message WHERE tenant = _tenant AND session = _num AND id = u.id AND u.id <> '')
            ORDER BY u.ordinal) INTO _places
            FROM unnest(_u_id) WITH ORDINALITY AS u(id, ordinal);
        IF array_position(_places, NULL) IS NOT NULL THEN
            RAISE EXCEPTION '%', array_position(_places, NULL) USING ERRCODE = 'WN405';
        END IF;
        PERFORM pg_advisory_xact_lock_shared(winnow_contents_lock(_tenant));
        INSERT INTO garbage (tenant, hash)
            SELECT DISTINCT _tenant, content FROM apart
            WHERE tenant = _tenant AND session = _num AND message = ANY (_places) AND content <> ALL (_u_field_hash)
            ORDER BY content ON CONFLICT DO NOTHING;
        DELETE FROM apart WHERE tenant = _tenant AND session = _num AND message = ANY (_places);
        UPDATE message SET info = u.info, parts = u.parts, names = u.names, apart = u.apart
            FROM (
                SELECT _places[m.ordinal] AS position, m.info, coalesce(p.parts, '{}') AS parts, coalesce(p.names, '{}') AS names, m.apart
                FROM unnest(_u_info, _u_apart) WITH ORDINALITY AS m(info, apart, ordinal)
                LEFT JOIN (
                    SELECT message, array_agg(data ORDER BY ordinal) AS parts, array_agg(name ORDER BY ordinal) AS names
                    FROM unnest(_u_part_message, _u_part, _u_part_name) WITH ORDINALITY AS p(message, data, name, ordinal)
                    GROUP BY message
                ) AS p ON p.message = m.ordinal - 1
            ) AS u
            WHERE tenant = _tenant AND session = _num AND message.position = u.position;
        INSERT INTO apart (tenant, session, message, part, field, content)
            SELECT _tenant, _num, _places[f.message + 1], f.part, f.field, f.hash
            FROM unnest(_u_field_message, _u_field_part, _u_field, _u_field_hash) AS f(message, part, field, hash);
        INSERT INTO stale (tenant, session, message, revision)
            SELECT DISTINCT _tenant, _num, place, _revision FROM unnest(_places) AS p(place);
    END IF;

    IF cardinality(_restore_part) > 0 THEN
        DELETE FROM elision USING unnest(_restore_part, _restore_field) AS r(part, field)
            WHERE tenant = _tenant AND session = _num AND elision.part = r.part AND elision.field = r.field;
    END IF;
    IF cardinality(_commit) > 0 THEN
        INSERT INTO elision (tenant, session, part, field, revision, ordinal, data)
            SELECT _tenant, _num, c.part, c.field, _revision, c.ordinal, c.data
            FROM unnest(_commit_part, _commit_field, _commit) WITH ORDINALITY AS c(part, field, data, ordinal)
            ORDER BY c.ordinal ON CONFLICT DO NOTHING;
    END IF;
    IF cardinality(_undo) > 0 THEN
        INSERT INTO undone (tenant, session, marker, whole)
            SELECT _tenant, _num, u.marker, u.whole FROM unnest(_undo, _undo_whole) AS u(marker, whole) ON CONFLICT DO NOTHING;
    END IF;
    IF cardinality(_redo) > 0 THEN
        DELETE FROM undone WHERE tenant = _tenant AND session = _num AND marker = ANY (_redo);
    END IF;
    IF cardinality(_dismiss) > 0 THEN
        INSERT INTO dismissed (tenant, session, words, whole)
            SELECT _tenant, _num, d.words, d.whole FROM unnest(_dismiss, _dismiss_whole) AS d(words, whole) ON CONFLICT DO NOTHING;
    END IF;
    IF cardinality(_undismiss) > 0 THEN
        DELETE FROM dismissed WHERE tenant = _tenant AND session = _num AND words = ANY (_undismiss);
    END IF;
    IF cardinality(_unpin) > 0 THEN
        DELETE FROM pin WHERE tenant = _tenant AND session = _num AND id = ANY (_unpin);
    END IF;
    IF cardinality(_pin) > 0 THEN
        -- If an id comes twice, it has the place of the first and the value of the last.
        INSERT INTO pin (tenant, session, id, revision, ordinal, data)
            SELECT _tenant, _num, p.id, _revision, min(p.ordinal), (array_agg(p.data ORDER BY p.ordinal DESC))[1]
            FROM unnest(_pin_id, _pin) WITH ORDINALITY AS p(id, data, ordinal) GROUP BY p.id
            ON CONFLICT (tenant, session, id) DO UPDATE SET data = excluded.data;
    END IF;
    IF cardinality(_receipt) > 0 THEN
        INSERT INTO receipt (tenant, session, revision, ordinal, data)
            SELECT _tenant, _num, _revision, r.ordinal, r.data FROM unnest(_receipt) WITH ORDINALITY AS r(data, ordinal);
    END IF;
    IF cardinality(_spend) > 0 THEN
        INSERT INTO spend (tenant, session, revision, ordinal, data, relayed)
            SELECT _tenant, _num, _revision, s.ordinal, s.data, s.relayed
            FROM unnest(_spend, _spend_relayed) WITH ORDINALITY AS s(data, relayed, ordinal);
    END IF;
    IF _source THEN
        PERFORM winnow_source(_tenant, _num, _source_format, _source_path, _source_size, _source_pieces);
    END IF;
    IF _keep IS NOT NULL THEN
        SELECT num INTO _other FROM session WHERE tenant = _tenant AND id = _keep FOR KEY SHARE;
        IF _other IS NULL THEN
            RAISE EXCEPTION 'kept' USING ERRCODE = 'WN406';
        END IF;
        PERFORM pg_advisory_xact_lock_shared(winnow_contents_lock(_tenant));
        INSERT INTO kept (tenant, session, part, whole, content)
            SELECT _tenant, _num, part, whole, content FROM kept
            WHERE tenant = _tenant AND session = _other AND part = ANY (_a_part_name);
    END IF;

    UPDATE session SET revision = _revision, messages = _messages, token = _token, changed = nextval('session_change'),
        info = coalesce(_info, info), updated = coalesce(_info_updated, updated)
        WHERE tenant = _tenant AND num = _num;
    RETURN _revision;
END $$;
-- +goose StatementEnd

-- Keeps a text for a part.
-- +goose StatementBegin
CREATE FUNCTION winnow_keep(_tenant text, _id bytea, _part bytea, _whole bytea, _hash bytea, _size bigint, _codec smallint, _data bytea)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    _num bigint;
BEGIN
    SELECT num INTO _num FROM session WHERE tenant = _tenant AND id = _id FOR KEY SHARE;
    IF _num IS NULL THEN
        RAISE EXCEPTION 'session' USING ERRCODE = 'WN404';
    END IF;
    PERFORM winnow_contents(_tenant, ARRAY[_hash], ARRAY[_size], ARRAY[_codec], ARRAY[_data], '{}');
    INSERT INTO garbage (tenant, hash)
        SELECT _tenant, content FROM kept
        WHERE tenant = _tenant AND session = _num AND part = _part AND content <> _hash ON CONFLICT DO NOTHING;
    INSERT INTO kept (tenant, session, part, whole, content) VALUES (_tenant, _num, _part, _whole, _hash)
        ON CONFLICT (tenant, session, part) DO UPDATE SET content = excluded.content, fresh = true;
END $$;
-- +goose StatementEnd

-- Sets the file that a session comes from, as no change of it.
-- +goose StatementBegin
CREATE FUNCTION winnow_set_source(_tenant text, _id bytea,
    _hash bytea[], _size bigint[], _codec smallint[], _data bytea[], _held bytea[],
    _format bytea, _path bytea, _length bigint, _pieces bytea[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    _num bigint;
BEGIN
    SELECT num INTO _num FROM session WHERE tenant = _tenant AND id = _id FOR NO KEY UPDATE;
    IF _num IS NULL THEN
        RAISE EXCEPTION 'session' USING ERRCODE = 'WN404';
    END IF;
    PERFORM winnow_contents(_tenant, _hash, _size, _codec, _data, _held);
    PERFORM winnow_source(_tenant, _num, _format, _path, _length, _pieces);
END $$;
-- +goose StatementEnd

-- Deletes a session with everything that belongs to it.
-- +goose StatementBegin
CREATE FUNCTION winnow_delete(_tenant text, _id bytea) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    _num bigint;
BEGIN
    SELECT num INTO _num FROM session WHERE tenant = _tenant AND id = _id FOR UPDATE;
    IF _num IS NULL THEN
        RAISE EXCEPTION 'session' USING ERRCODE = 'WN404';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(winnow_contents_lock(_tenant));
    INSERT INTO garbage (tenant, hash)
        SELECT _tenant, content FROM (
            SELECT content FROM apart WHERE tenant = _tenant AND session = _num
            UNION SELECT content FROM piece WHERE tenant = _tenant AND session = _num
            UNION SELECT content FROM kept WHERE tenant = _tenant AND session = _num) AS held
        ORDER BY content ON CONFLICT DO NOTHING;
    DELETE FROM found WHERE tenant = _tenant AND session = _num;
    DELETE FROM stale WHERE tenant = _tenant AND session = _num;
    DELETE FROM apart WHERE tenant = _tenant AND session = _num;
    DELETE FROM message WHERE tenant = _tenant AND session = _num;
    DELETE FROM elision WHERE tenant = _tenant AND session = _num;
    DELETE FROM pin WHERE tenant = _tenant AND session = _num;
    DELETE FROM undone WHERE tenant = _tenant AND session = _num;
    DELETE FROM dismissed WHERE tenant = _tenant AND session = _num;
    DELETE FROM receipt WHERE tenant = _tenant AND session = _num;
    DELETE FROM spend WHERE tenant = _tenant AND session = _num;
    DELETE FROM piece WHERE tenant = _tenant AND session = _num;
    DELETE FROM source WHERE tenant = _tenant AND session = _num;
    DELETE FROM kept WHERE tenant = _tenant AND session = _num;
    DELETE FROM file WHERE tenant = _tenant AND session = _id;
    DELETE FROM session WHERE tenant = _tenant AND num = _num;
END $$;
-- +goose StatementEnd

-- Deletes the contents that are in use no longer, unless somebody is adding some: then a later call does. Returns how many.
-- +goose StatementBegin
CREATE FUNCTION winnow_sweep(_tenant text) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    _gone bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM garbage WHERE tenant = _tenant)
        OR NOT pg_try_advisory_xact_lock(winnow_contents_lock(_tenant)) THEN
        RETURN 0;
    END IF;
    WITH candidate AS (DELETE FROM garbage WHERE tenant = _tenant RETURNING hash)
    DELETE FROM content USING candidate
        WHERE content.tenant = _tenant AND content.hash = candidate.hash
        AND NOT EXISTS (SELECT FROM apart WHERE apart.tenant = _tenant AND apart.content = candidate.hash)
        AND NOT EXISTS (SELECT FROM piece WHERE piece.tenant = _tenant AND piece.content = candidate.hash)
        AND NOT EXISTS (SELECT FROM kept WHERE kept.tenant = _tenant AND kept.content = candidate.hash);
    GET DIAGNOSTICS _gone = ROW_COUNT;
    RETURN _gone;
END $$;
-- +goose StatementEnd

package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
	"github.com/winnowhq/winnow/store/internal/words"
)

// checkPage is how many contents or messages are looked at in one transaction. Each sees one
// moment, and none holds up the server's cleaning.
const checkPage = 32

// Check looks through what a tenant has: whether tables refer to rows that exist, messages have
// their places without a gap, values can be read, contents are what their hashes say, and the index
// of words has every message that it is said to have. That pages of the server's files are whole is
// checked by the server as it reads them, if it was set up with checksums.
func (s *Store) Check(ctx context.Context) (h store.Health, err error) {
	defer s.explain(ctx, "check", "", &err)
	err = s.one(ctx, `SELECT pg_database_size(current_database()),
		(SELECT max(version_id) FROM `+versions+` WHERE is_applied)`, nil, &h.Bytes, &h.Schema)
	if err != nil {
		return h, err
	}
	c := checkup{s: s}
	for _, look := range []func(context.Context) error{c.references, c.contents, c.sessions, c.messages} {
		err := look(ctx)
		switch code(err) {
		case pgerrcode.DataCorrupted, pgerrcode.IndexCorrupted: // a page: the others may be read
			c.find("the server says: %v", err)
			err = nil
		}
		if err != nil && !errors.Is(err, errEnough) {
			return h, err
		}
	}
	h.Problems = c.problems
	return h, nil
}

// checkup is one look through a store.
type checkup struct {
	s        *Store
	problems []string
}

// errEnough ends the look: as many problems were found as are told.
var errEnough = errors.New("enough was found")

func (c *checkup) find(format string, args ...any) {
	if len(c.problems) < store.MostProblems {
		c.problems = append(c.problems, fmt.Sprintf(format, args...))
	}
}

// enough is errEnough once enough was found.
func (c *checkup) enough() error {
	if len(c.problems) >= store.MostProblems {
		return errEnough
	}
	return nil
}

// perSession are the tables whose rows belong to a session.
var perSession = []string{"message", "apart", "elision", "pin", "undone", "dismissed", "receipt", "spend", "source",
	"piece", "kept", "stale", "found"}

// inconsistent are queries for what contradicts itself within a tenant, each with the sentence
// about a row of it.
var inconsistent = []struct{ sentence, query string }{
	{"session %s has %s messages from position %s to %s, but %s are counted",
		`SELECT convert_from(s.id, 'LATIN1'), count(m.position)::text, coalesce(min(m.position), 0)::text,
			coalesce(max(m.position), -1)::text, s.messages::text
		FROM session AS s LEFT JOIN message AS m ON m.tenant = s.tenant AND m.session = s.num
		WHERE s.tenant = $1 GROUP BY s.num, s.id, s.messages
		HAVING count(m.position) <> s.messages OR coalesce(min(m.position), 0) <> 0
			OR coalesce(max(m.position), -1) <> s.messages - 1`},
	{"session %s: %s messages are in the index of words, of %s",
		`SELECT convert_from(id, 'LATIN1'), indexed::text, messages::text
		FROM session WHERE tenant = $1 AND (indexed > messages OR indexed < 0)`},
	{"message %s of session %s has %s texts apart, but %s are counted",
		`SELECT (m.position + 1)::text, convert_from(s.id, 'LATIN1'), count(a.part)::text, m.apart::text
		FROM message AS m JOIN session AS s ON s.tenant = m.tenant AND s.num = m.session
		LEFT JOIN apart AS a ON a.tenant = m.tenant AND a.session = m.session AND a.message = m.position
		WHERE m.tenant = $1 GROUP BY m.session, m.position, s.id, m.apart HAVING count(a.part) <> m.apart`},
	{"message %s of session %s has %s parts, but a text or a document of part %s",
		`SELECT (p.message + 1)::text, convert_from(s.id, 'LATIN1'), coalesce(cardinality(m.parts), 0)::text,
			(p.part + 1)::text
		FROM (SELECT tenant, session, message, part FROM apart WHERE tenant = $1
			UNION SELECT tenant, session, message, part FROM found AS f WHERE tenant = $1
				AND NOT EXISTS (SELECT FROM stale AS o
					WHERE o.tenant = f.tenant AND o.session = f.session AND o.message = f.message)) AS p
		JOIN session AS s ON s.tenant = p.tenant AND s.num = p.session
		LEFT JOIN message AS m ON m.tenant = p.tenant AND m.session = p.session AND m.position = p.message
		WHERE p.part < 0 OR p.part >= coalesce(cardinality(m.parts), 0)`},
	{"message %s of session %s: a text of part %s is missing",
		`SELECT (a.message + 1)::text, convert_from(s.id, 'LATIN1'), (a.part + 1)::text
		FROM apart AS a JOIN session AS s ON s.tenant = a.tenant AND s.num = a.session
		WHERE a.tenant = $1 AND NOT EXISTS (SELECT FROM content AS c WHERE c.tenant = a.tenant AND c.hash = a.content)`},
	{"session %s: piece %s of its original file is missing",
		`SELECT convert_from(s.id, 'LATIN1'), (p.position + 1)::text
		FROM piece AS p JOIN session AS s ON s.tenant = p.tenant AND s.num = p.session
		WHERE p.tenant = $1 AND NOT EXISTS (SELECT FROM content AS c WHERE c.tenant = p.tenant AND c.hash = p.content)`},
	{"session %s: the whole output that is kept for part %s is missing",
		`SELECT convert_from(s.id, 'LATIN1'), convert_from(k.part, 'LATIN1')
		FROM kept AS k JOIN session AS s ON s.tenant = k.tenant AND s.num = k.session
		WHERE k.tenant = $1 AND NOT EXISTS (SELECT FROM content AS c WHERE c.tenant = k.tenant AND c.hash = k.content)`},
	{"session %s: %s pieces of its original file are there, of %s",
		`SELECT convert_from(s.id, 'LATIN1'), count(p.position)::text, f.pieces::text
		FROM source AS f JOIN session AS s ON s.tenant = f.tenant AND s.num = f.session
		LEFT JOIN piece AS p ON p.tenant = f.tenant AND p.session = f.session
		WHERE f.tenant = $1 GROUP BY f.session, s.id, f.pieces
		HAVING count(p.position) <> f.pieces OR coalesce(max(p.position), -1) <> f.pieces - 1`},
}

// references looks whether tables refer to rows that exist.
func (c *checkup) references(ctx context.Context) error {
	for _, table := range perSession {
		query := `SELECT DISTINCT t.session::text FROM ` + table + ` AS t WHERE t.tenant = $1
			AND NOT EXISTS (SELECT FROM session AS s WHERE s.tenant = t.tenant AND s.num = t.session)`
		sentence := "rows of the table " + table + " belong to the session numbered %s, which does not exist"
		if err := c.tell(ctx, sentence, query); err != nil {
			return err
		}
	}
	for _, q := range inconsistent {
		if err := c.tell(ctx, q.sentence, q.query); err != nil {
			return err
		}
	}
	return nil
}

// tell finds a problem in each row of a query, whose columns are texts.
func (c *checkup) tell(ctx context.Context, sentence, query string) error {
	found, err := rows(ctx, c.s, func(row pgx.CollectableRow) ([]any, error) { return row.Values() },
		query+fmt.Sprint(` LIMIT `, store.MostProblems), c.s.tenant)
	if err != nil {
		return err
	}
	for _, values := range found {
		c.find(sentence, values...)
	}
	return c.enough()
}

// contents looks whether contents are what their hashes say.
func (c *checkup) contents(ctx context.Context) error {
	type content struct {
		hash []byte
		contentRow
	}
	for last := []byte{}; ; {
		page, err := rows(ctx, c.s, func(row pgx.CollectableRow) (r content, err error) {
			err = row.Scan(&r.hash, &r.size, &r.codec, &r.data)
			return r, err
		}, `SELECT hash, size, codec, data FROM content WHERE tenant = $1 AND hash > $2 ORDER BY hash LIMIT $3`,
			c.s.tenant, last, checkPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			text, err := c.s.unpack(&page[i].contentRow)
			if hash := sha256.Sum256(text); err == nil && !bytes.Equal(hash[:], page[i].hash) {
				err = errors.New("it is not what its hash says")
			}
			if err != nil {
				where, failed := c.user(ctx, page[i].hash)
				if failed != nil {
					return failed
				}
				c.find("a text of %s is damaged: %v", where, err)
			}
		}
		if err := c.enough(); err != nil {
			return err
		}
		last = page[len(page)-1].hash
	}
}

// user is a session that has a content.
func (c *checkup) user(ctx context.Context, hash []byte) (string, error) {
	users, err := rows(ctx, c.s, pgx.RowTo[[]byte], `SELECT s.id FROM session AS s JOIN (
			SELECT session FROM apart WHERE tenant = $1 AND content = $2
			UNION ALL SELECT session FROM piece WHERE tenant = $1 AND content = $2
			UNION ALL SELECT session FROM kept WHERE tenant = $1 AND content = $2
		) AS u ON u.session = s.num WHERE s.tenant = $1 LIMIT 1`, c.s.tenant, hash)
	if err != nil || len(users) == 0 {
		return "no session", err
	}
	return "session " + string(users[0]), nil
}

// sessions looks whether what belongs to a session beside its log can be read.
func (c *checkup) sessions(ctx context.Context) error {
	type row struct {
		Num      int64
		ID, Info []byte
	}
	for last := int64(-1); ; {
		page, err := rows(ctx, c.s, pgx.RowToStructByPos[row],
			`SELECT num, id, info FROM session WHERE tenant = $1 AND num > $2 ORDER BY num LIMIT $3`,
			c.s.tenant, last, checkPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			info, err := packed.Decode[session.Info](r.Info)
			if err == nil && !bytes.Equal(key(info.ID), r.ID) {
				err = fmt.Errorf("its info is that of %s", info.ID)
			}
			if err == nil {
				_, err = c.s.State(ctx, info.ID)
			}
			if of := (*store.Error)(nil); errors.As(err, &of) {
				err = of.Err // the rest is about the operation
			}
			switch {
			case err == nil || errors.Is(err, store.ErrNotFound): // it was deleted meanwhile
			case errors.Is(err, store.ErrCorrupt) || code(err) == "" && ctx.Err() == nil && !passing(err):
				c.find("session %s: %v", r.ID, err)
			default:
				return err
			}
		}
		if err := c.enough(); err != nil {
			return err
		}
		last = page[len(page)-1].Num
	}
}

// checkedRow is a message with what is said about it elsewhere.
type checkedRow struct {
	messageRow
	session int64
	id      []byte  // of the session
	indexed bool    // the index has it, as it is
	found   []int32 // the parts of which the index has words
}

// messages looks whether messages can be read, and whether the index has their words.
func (c *checkup) messages(ctx context.Context) error {
	for session, position := int64(-1), int64(0); ; {
		var page []checkedRow
		apart := map[int64]map[int64][]apartRow{} // by session and message
		err := c.s.with(ctx, func(conn *pgxpool.Conn) error {
			oneMoment := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
			return pgx.BeginTxFunc(ctx, conn, oneMoment, func(tx pgx.Tx) (err error) {
				page, apart, err = c.page(ctx, tx, session, position)
				return err
			})
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			c.message(&page[i], apart[page[i].session][page[i].position])
		}
		if err := c.enough(); err != nil {
			return err
		}
		last := &page[len(page)-1]
		session, position = last.session, last.position
	}
}

// page reads the messages behind a place.
func (c *checkup) page(ctx context.Context, tx pgx.Tx, session, position int64) (
	page []checkedRow, apart map[int64]map[int64][]apartRow, err error) {
	found, err := tx.Query(ctx, `SELECT m.session, m.position, m.info, m.parts, m.apart, s.id,
			m.position < s.indexed AND NOT EXISTS (SELECT FROM stale AS o
				WHERE o.tenant = m.tenant AND o.session = m.session AND o.message = m.position),
			ARRAY(SELECT f.part FROM found AS f
				WHERE f.tenant = m.tenant AND f.session = m.session AND f.message = m.position)
		FROM message AS m JOIN session AS s ON s.tenant = m.tenant AND s.num = m.session
		WHERE m.tenant = $1 AND (m.session, m.position) > ($2, $3) ORDER BY m.session, m.position LIMIT $4`,
		c.s.tenant, session, position, checkPage)
	if err != nil {
		return nil, nil, err
	}
	page, err = pgx.CollectRows(found, func(row pgx.CollectableRow) (r checkedRow, err error) {
		err = row.Scan(&r.session, &r.position, &r.info, &r.parts, &r.messageRow.apart, &r.id, &r.indexed, &r.found)
		return r, err
	})
	if err != nil || len(page) == 0 {
		return nil, nil, err
	}
	last := &page[len(page)-1]
	texts, err := tx.Query(ctx, `SELECT a.session, a.message, a.part, a.field, c.size, c.codec, c.data
		FROM apart AS a LEFT JOIN content AS c ON c.tenant = a.tenant AND c.hash = a.content
		WHERE a.tenant = $1 AND (a.session, a.message) > ($2, $3) AND (a.session, a.message) <= ($4, $5)`,
		c.s.tenant, session, position, last.session, last.position)
	if err != nil {
		return nil, nil, err
	}
	apart = map[int64]map[int64][]apartRow{}
	for texts.Next() {
		var session, message int64
		var a apartRow
		if err := texts.Scan(&session, &message, &a.part, &a.field, &a.size, &a.codec, &a.data); err != nil {
			texts.Close()
			return nil, nil, err
		}
		if apart[session] == nil {
			apart[session] = map[int64][]apartRow{}
		}
		apart[session][message] = append(apart[session][message], a)
	}
	return page, apart, texts.Err()
}

// message looks at a message. Texts that are kept apart were looked at by contents; if one is
// damaged there is nothing to compare with the index.
func (c *checkup) message(r *checkedRow, apart []apartRow) {
	if _, err := c.s.message(&r.messageRow, nil, true); err != nil {
		c.find("message %d of session %s cannot be read: %v", r.position+1, r.id, err)
		return
	}
	m, err := c.s.message(&r.messageRow, apart, false)
	if err != nil || !r.indexed {
		return
	}
	has := map[int32]bool{}
	for _, part := range r.found {
		has[part] = true
	}
	for i := range m.Parts {
		if !has[int32(i)] && hasWords(&m.Parts[i]) {
			c.find("the index of words lacks part %d of message %d of session %s", i+1, r.position+1, r.id)
			return
		}
	}
}

// hasWords reports whether the log has words of a part.
func hasWords(p *session.Part) bool {
	for _, f := range words.Fields(p, "") {
		for range words.Of(f.Text) {
			return true
		}
	}
	return false
}

package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// writing is a change with everything that its batch is made from.
type writing struct {
	store.Change
	id       []byte // key of the session
	packed   *packed.Change
	token    []byte
	aside    aside
	contents contents
	failed   []statement
}

// batch is the statements of a change. The first two parameters of each are the tenant and the key
// of the session.
type batch struct {
	pgx.Batch
	tenant string
	id     []byte
}

func (b *batch) add(sql string, args ...any) *pgx.QueuedQuery {
	return b.Queue(sql, append([]any{b.tenant, b.id}, args...)...)
}

// statement is SQL with its parameters from the third on.
type statement struct {
	sql  string
	args []any
}

// batch is all of a change but its end.
func (s *Store) batch(w *writing) *batch {
	b, p := &batch{tenant: s.tenant, id: w.id}, w.packed
	if w.Create == nil {
		b.add(`SELECT winnow_begin($1, $2, $3, $4)`, w.Base, w.token)
	} else {
		b.add(`SELECT winnow_create($1, $2, $3, $4, $5, $6, $7, $8)`, w.token, bytesOf(p.Created),
			updated(*w.Create), w.aside.id, w.aside.info, w.aside.revision)
	}
	if c := w.contents; len(c.hashes)+len(c.held) > 0 {
		b.Queue(`SELECT winnow_contents($1, $2, $3, $4, $5, $6)`, s.tenant, c.hashes, c.sizes, c.codecs, c.data, c.held)
	}
	for i := range p.Appended {
		b.message(appendMessage, i, &p.Appended[i])
	}
	if len(p.Updated) > 1 || len(p.Updated) > 0 && p.Source != nil {
		var pieces [][]byte // that stay
		if p.Source != nil {
			pieces = hashesOf(p.Source.Contents())
		}
		b.Queue(`SELECT pg_advisory_xact_lock_shared(winnow_contents_lock($1))`, b.tenant)
		b.add(discard, messageKeys(p.Updated), pieces)
	}
	for i := range p.Updated {
		b.update(&p.Updated[i])
	}
	for i := range p.Decided {
		b.decide(&p.Decided[i])
	}
	for _, f := range w.failed {
		b.add(f.sql, f.args...)
	}
	if f := p.Source; f != nil {
		b.add(`SELECT winnow_source($1, `+num+`, $3, $4, $5, $6)`, []byte(f.Format), []byte(f.Path), f.Size,
			hashesOf(f.Contents()))
	}
	if w.File != nil {
		s.queueFile(&b.Batch, *w.File)
	}
	if w.Create != nil && w.Keep != "" {
		b.add(`SELECT winnow_keep_of($1, $2, $3, $4)`, key(w.Keep), partKeys(p.Appended))
	}
	return b
}

// end makes the revision that the change leads to. A parameter that is NULL leaves its column.
func (b *batch) end(w *writing) *pgx.QueuedQuery {
	var at *float64
	if w.Info != nil {
		t := updated(*w.Info)
		at = &t
	}
	return b.add(`UPDATE session SET revision = revision + 1, messages = messages + $3, token = $4,
			changed = nextval('session_change'), info = coalesce($5, info), updated = coalesce($6, updated),
			prepared = nullif(coalesce($7, prepared), '')
		WHERE tenant = $1 AND id = $2 RETURNING revision`,
		len(w.Append), w.token, bytesOf(w.packed.Info), at, bytesOf(w.packed.Prepared))
}

// A message is written with the texts that are kept apart of it, at a position that is counted from
// the end of the log, or that of a message with the same id.
const (
	appendMessage = `WITH at AS (
			SELECT tenant, num, messages + $3 AS position, 0 AS revision FROM session WHERE tenant = $1 AND id = $2
		)` + writeMessage
	updateMessage = `WITH at AS (
			SELECT tenant, num, winnow_replace(tenant, num, revision + 1, $3, $10) AS position, revision + 1 AS revision
			FROM session WHERE tenant = $1 AND id = $2
		)` + writeMessage
	writeMessage = `, m AS (
			INSERT INTO message (tenant, session, position, id, info, parts, names, apart, revision)
			SELECT tenant, num, position, $4, $5, $6, $7, cardinality($8::int[]), revision FROM at
		)
		INSERT INTO apart (tenant, session, message, part, field, content)
		SELECT tenant, num, position, a.part, a.field, a.content
		FROM at, unnest($8::int[], $9::text[], $10::bytea[]) AS a(part, field, content)`
)

// discard notes all contents that may be in use no longer after a change, in the order of their
// hashes. winnow_replace and winnow_source do the same, each for its own: two changes with several of
// them would wait for each other if they shared contents. Pieces that stay are $4, NULL for all.
const discard = `INSERT INTO garbage (tenant, hash)
	SELECT $1, content FROM (
		SELECT a.content FROM session AS s
			JOIN message AS m ON m.tenant = s.tenant AND m.session = s.num AND m.id = ANY ($3)
			JOIN apart AS a ON a.tenant = m.tenant AND a.session = m.session AND a.message = m.position
			WHERE s.tenant = $1 AND s.id = $2
		UNION SELECT p.content FROM session AS s
			JOIN piece AS p ON p.tenant = s.tenant AND p.session = s.num AND p.content <> ALL ($4)
			WHERE s.tenant = $1 AND s.id = $2
	) AS discarded ORDER BY content ON CONFLICT DO NOTHING`

// message writes a message at a place.
func (b *batch) message(sql string, place any, m *packed.Message) *pgx.QueuedQuery {
	data, at, fields, hashes := [][]byte{}, []int32{}, []string{}, [][]byte{}
	for i := range m.Parts {
		p := &m.Parts[i]
		data = append(data, bytesOf(p.Data))
		for k := range p.Apart {
			at, fields = append(at, int32(i)), append(fields, p.Apart[k].Field)
			hashes = append(hashes, p.Apart[k].Hash[:])
		}
	}
	return b.add(sql, place, key(m.ID), bytesOf(m.Info), data, partKeys([]packed.Message{*m}), at, fields, hashes)
}

// update replaces the newest message with the id of m.
func (b *batch) update(m *packed.Message) {
	b.message(updateMessage, key(m.ID), m).Fn = func(r pgx.BatchResults) error {
		_, err := r.Exec()
		if code(err) == codeNoMessage {
			return fmt.Errorf("update %q: %w", m.ID, store.ErrNoMessage)
		}
		return err
	}
}

// messageKeys are the keys of some messages.
func messageKeys(messages []packed.Message) [][]byte {
	keys := make([][]byte, len(messages))
	for i := range messages {
		keys[i] = key(messages[i].ID)
	}
	return keys
}

// partKeys are the keys of all parts of some messages.
func partKeys(messages []packed.Message) [][]byte {
	all := [][]byte{}
	for i := range messages {
		for j := range messages[i].Parts {
			all = append(all, key(messages[i].Parts[j].ID))
		}
	}
	return all
}

// num is the number of the session.
const num = `(SELECT num FROM session WHERE tenant = $1 AND id = $2)`

// steps write all rows of a step. Their parameters from the third on are its columns; Undo and
// Dismiss keep the whole key too.
var steps = map[packed.Step]string{
	packed.Restore: `DELETE FROM elision USING unnest($3::bytea[], $4::bytea[]) AS r(part, field)
		WHERE tenant = $1 AND session = ` + num + ` AND elision.part = r.part AND elision.field = r.field`,
	packed.Commit: `INSERT INTO elision (tenant, session, part, field, revision, ordinal, data)
		SELECT tenant, num, c.part, c.field, revision + 1, c.ordinal, c.data
		FROM session, unnest($3::bytea[], $4::bytea[], $5::bytea[]) WITH ORDINALITY AS c(part, field, data, ordinal)
		WHERE tenant = $1 AND id = $2 ORDER BY c.ordinal ON CONFLICT DO NOTHING`,
	packed.Undo: `INSERT INTO undone (tenant, session, marker, whole)
		SELECT tenant, num, u.marker, u.whole FROM session, unnest($3::bytea[], $4::bytea[]) AS u(marker, whole)
		WHERE tenant = $1 AND id = $2 ON CONFLICT DO NOTHING`,
	packed.Redo: `DELETE FROM undone WHERE tenant = $1 AND session = ` + num + ` AND marker = ANY ($3)`,
	packed.Dismiss: `INSERT INTO dismissed (tenant, session, words, whole)
		SELECT tenant, num, d.words, d.whole FROM session, unnest($3::bytea[], $4::bytea[]) AS d(words, whole)
		WHERE tenant = $1 AND id = $2 ON CONFLICT DO NOTHING`,
	packed.Undismiss: `DELETE FROM dismissed WHERE tenant = $1 AND session = ` + num + ` AND words = ANY ($3)`,
	packed.Unpin:     `DELETE FROM pin WHERE tenant = $1 AND session = ` + num + ` AND id = ANY ($3)`,
	// If an id comes twice, it has the place of the first and the value of the last.
	packed.Pin: `INSERT INTO pin (tenant, session, id, revision, ordinal, data)
		SELECT s.tenant, s.num, p.id, s.revision + 1, min(p.ordinal), (array_agg(p.data ORDER BY p.ordinal DESC))[1]
		FROM session AS s, unnest($3::bytea[], $4::bytea[]) WITH ORDINALITY AS p(id, data, ordinal)
		WHERE s.tenant = $1 AND s.id = $2 GROUP BY s.tenant, s.num, s.revision, p.id
		ON CONFLICT (tenant, session, id) DO UPDATE SET data = excluded.data`,
	packed.Receipts: `INSERT INTO receipt (tenant, session, revision, ordinal, data)
		SELECT tenant, num, revision + 1, r.ordinal, r.data
		FROM session, unnest($3::bytea[]) WITH ORDINALITY AS r(data, ordinal) WHERE tenant = $1 AND id = $2`,
	packed.Spend: `INSERT INTO spend (tenant, session, revision, ordinal, data, relayed)
		SELECT tenant, num, revision + 1, p.ordinal, p.data, p.relayed
		FROM session, unnest($3::bytea[], $4::float8[]) WITH ORDINALITY AS p(data, relayed, ordinal)
		WHERE tenant = $1 AND id = $2`,
}

// decide does a step.
func (b *batch) decide(r *packed.Rows) {
	var args []any
	column := func(n int, value func(i int) []byte) {
		values := make([][]byte, n)
		for i := range values {
			values[i] = value(i)
		}
		args = append(args, values)
	}
	if r.Keys != nil {
		column(len(r.Keys), func(i int) []byte { return key(r.Keys[i]) })
	}
	if r.Step == packed.Undo || r.Step == packed.Dismiss {
		column(len(r.Keys), func(i int) []byte { return []byte(r.Keys[i]) })
	}
	if r.Fields != nil {
		column(len(r.Fields), func(i int) []byte { return key(r.Fields[i]) })
	}
	if r.Data != nil {
		column(len(r.Data), func(i int) []byte { return bytesOf(r.Data[i]) })
	}
	if r.Times != nil {
		args = append(args, r.Times)
	}
	b.add(steps[r.Step], args...)
}

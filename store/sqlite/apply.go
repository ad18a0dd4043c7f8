package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
)

// Apply writes a change in one transaction. What takes time, encoding and compressing, is done before it begins.
func (s *Store) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	revision, err := s.apply(ctx, id, c)
	if err != nil {
		return 0, s.failed(ctx, "apply", id, err)
	}
	return revision, nil
}

func (s *Store) apply(ctx context.Context, id string, c store.Change) (revision int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := c.Check(id); err != nil {
		return 0, s.missing(ctx, id, err)
	}
	rows, err := encodeChange(c)
	if err != nil {
		return 0, err
	}
	if err := s.compressNew(ctx, rows.appended, rows.updated); err != nil {
		return 0, err
	}
	err = s.write(ctx, func(t *transaction) error {
		row, err := t.find(id)
		if err != nil {
			return err
		}
		if c.Base != 0 && c.Base != row.revision {
			return fmt.Errorf("%w: it is at revision %d, the change was decided on %d", store.ErrConflict, row.revision, c.Base)
		}
		if err := t.apply(row, c, rows); err != nil {
			return err
		}
		revision = row.revision + 1
		_, err = t.run(s.writer.touch, revision, row.messages+len(c.Append), s.now().UnixMilli(), row.num)
		return err
	})
	return revision, err
}

// missing prefers to say that there is no session at all.
func (s *Store) missing(ctx context.Context, id string, err error) error {
	now, findErr := s.reader.at(ctx, id)
	if findErr != nil {
		return findErr
	}
	now.Rollback()
	return err
}

// rows are the encoded values of a change, in the order of its lists.
type rows struct {
	info                            any
	appended, updated               []messageRow
	elisions, pins, receipts, spent []any
}

type messageRow struct {
	id    string
	info  any
	parts []partRow
}

type partRow struct {
	id, typ, field string
	text           string // of the field, when it is kept apart
	hash           [sha256.Size]byte
	compressed     []byte // text, nil when it is known already
	data           any
}

func encodeChange(c store.Change) (r rows, err error) {
	if c.Info != nil {
		if r.info, err = exact.Encode(*c.Info); err != nil {
			return r, err
		}
	}
	if r.appended, err = encodeMessages(c.Append); err != nil {
		return r, err
	}
	if r.updated, err = encodeMessages(c.Update); err != nil {
		return r, err
	}
	if r.elisions, err = encodeAll(c.Commit); err != nil {
		return r, err
	}
	if r.pins, err = encodeAll(c.Pin); err != nil {
		return r, err
	}
	if c.Receipt != nil {
		data, err := exact.Encode(*c.Receipt)
		if err != nil {
			return r, err
		}
		r.receipts = []any{data}
	}
	r.spent, err = encodeAll(c.Spend)
	return r, err
}

func encodeAll[T any](values []T) ([]any, error) {
	rows := make([]any, len(values))
	for i, v := range values {
		var err error
		if rows[i], err = exact.Encode(v); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func encodeMessages(messages []session.Message) ([]messageRow, error) {
	rows := make([]messageRow, len(messages))
	for i, m := range messages {
		info, err := exact.Encode(head{m.MessageInfo, m.Unknown})
		if err != nil {
			return nil, fmt.Errorf("message %s: %w", m.ID, err)
		}
		rows[i] = messageRow{m.ID, info, make([]partRow, len(m.Parts))}
		for j, p := range m.Parts {
			rest, field, text := split(p)
			data, err := exact.Encode(rest)
			if err != nil {
				return nil, fmt.Errorf("part %s: %w", p.ID, err)
			}
			row := partRow{id: p.ID, typ: string(p.Type), field: field, text: text, data: data}
			if field != "" {
				row.hash = sha256.Sum256([]byte(text))
			}
			rows[i].parts[j] = row
		}
	}
	return rows, nil
}

// compressNew compresses the large texts that the store does not have yet.
func (s *Store) compressNew(ctx context.Context, lists ...[]messageRow) error {
	for _, messages := range lists {
		for _, m := range messages {
			for i := range m.parts {
				p := &m.parts[i]
				if p.field == "" {
					continue
				}
				var num int64
				err := s.reader.content.QueryRowContext(ctx, p.hash[:]).Scan(&num)
				if err == nil {
					continue
				}
				if !errors.Is(err, sql.ErrNoRows) {
					return err
				}
				if p.compressed, err = s.gzip.compress([]byte(p.text)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// apply writes the rows of a change, in the order that store.Change tells.
func (t *transaction) apply(row sessionRow, c store.Change, r rows) error {
	if c.Info != nil {
		err := t.exec(`UPDATE session SET info = ?, updated = ? WHERE num = ?`, r.info, updated(*c.Info), row.num)
		if err != nil {
			return err
		}
	}
	for i, m := range r.appended {
		if err := t.append(row.num, int64(row.messages+i), m); err != nil {
			return err
		}
	}
	for _, m := range r.updated {
		if err := t.update(row.num, m); err != nil {
			return err
		}
	}
	if err := t.ledger(row.num, c, r); err != nil {
		return err
	}
	for _, data := range r.receipts {
		if err := t.exec(`INSERT INTO receipt (session, position, data)
			SELECT ?1, coalesce(max(position) + 1, 0), ?2 FROM receipt WHERE session = ?1`, row.num, data); err != nil {
			return err
		}
	}
	for _, data := range r.spent {
		if err := t.exec(`INSERT INTO spend (session, position, data)
			SELECT ?1, coalesce(max(position) + 1, 0), ?2 FROM spend WHERE session = ?1`, row.num, data); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) append(num, position int64, m messageRow) error {
	if _, err := t.run(t.w.insertMessage, num, position, m.id, len(m.parts), m.info); err != nil {
		return err
	}
	for i, p := range m.parts {
		var field, content any
		if p.field != "" {
			at, err := t.content(p)
			if err != nil {
				return err
			}
			field, content = p.field, at
		}
		_, err := t.run(t.w.insertPart, num, position, i, p.id, p.typ, field, content, p.data)
		if err != nil {
			return err
		}
	}
	return nil
}

// content returns the number of a large text, and keeps it where it is not kept yet.
func (t *transaction) content(p partRow) (num int64, err error) {
	err = t.Stmt(t.w.findContent).QueryRow(p.hash[:]).Scan(&num)
	if !errors.Is(err, sql.ErrNoRows) {
		return num, err
	}
	data := p.compressed
	if data == nil { // it was known when we looked, and is gone since
		if data, err = t.gzip.compress([]byte(p.text)); err != nil {
			return 0, err
		}
	}
	result, err := t.run(t.w.addContent, p.hash[:], len(p.text), data)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// update replaces the latest message with an id.
func (t *transaction) update(num int64, m messageRow) error {
	var position int64
	err := t.QueryRow(`SELECT position FROM message WHERE session = ? AND id = ? ORDER BY position DESC LIMIT 1`, num, m.id).
		Scan(&position)
	if m.id == "" || errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("update %q: %w", m.id, store.ErrNoMessage)
	}
	if err != nil {
		return err
	}
	held, err := t.contents(`SELECT DISTINCT content FROM part WHERE session = ? AND message = ? AND content IS NOT NULL`,
		num, position)
	if err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM part WHERE session = ? AND message = ?`, num, position); err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM message WHERE session = ? AND position = ?`, num, position); err != nil {
		return err
	}
	if err := t.append(num, position, m); err != nil {
		return err
	}
	return t.drop(held)
}

// ledger writes elisions, undone markers and pins.
func (t *transaction) ledger(num int64, c store.Change, r rows) error {
	for _, k := range c.Restore {
		if err := t.exec(`DELETE FROM elision WHERE session = ? AND part = ? AND field = ?`,
			num, k.Part, string(k.Field)); err != nil {
			return err
		}
	}
	for i, e := range c.Commit {
		if err := t.exec(`INSERT OR IGNORE INTO elision (session, position, part, field, data)
			SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3, ?4 FROM elision WHERE session = ?1`,
			num, e.Part, string(e.Field), r.elisions[i]); err != nil {
			return err
		}
	}
	for _, marker := range c.Undo {
		if err := t.exec(`INSERT OR IGNORE INTO undone (session, marker) VALUES (?, ?)`, num, marker); err != nil {
			return err
		}
	}
	for _, marker := range c.Redo {
		if err := t.exec(`DELETE FROM undone WHERE session = ? AND marker = ?`, num, marker); err != nil {
			return err
		}
	}
	for _, id := range c.Unpin {
		if err := t.exec(`DELETE FROM pin WHERE session = ? AND id = ?`, num, id); err != nil {
			return err
		}
	}
	for i, p := range c.Pin {
		if err := t.exec(`INSERT INTO pin (session, position, id, data)
			SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3 FROM pin WHERE session = ?1
			ON CONFLICT (session, id) DO UPDATE SET data = excluded.data`, num, p.ID, r.pins[i]); err != nil {
			return err
		}
	}
	return nil
}

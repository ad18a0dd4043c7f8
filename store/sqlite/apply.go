package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

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
		if c.Create != nil {
			return 0, err
		}
		return 0, s.missing(ctx, id, err)
	}
	rows, err := encodeChange(c)
	if err != nil {
		return 0, err
	}
	if err := s.packNew(ctx, contents(rows.appended), contents(rows.updated), rows.source.contents()); err != nil {
		return 0, err
	}
	err = s.write(ctx, func(t *transaction) error {
		if c.Create != nil {
			if err := t.create(*c.Create, rows.created, s.now().UnixMilli(), c.Aside); err != nil {
				return err
			}
		}
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
		if c.Create != nil && c.Keep != "" {
			if err := t.keepOf(c.Keep, row.num); err != nil {
				return err
			}
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
	created, info                   any
	source                          *sourceRow
	appended, updated               []messageRow
	elisions, pins, receipts, spent []any
}

type messageRow struct {
	id    string
	info  any
	parts []partRow
}

type partRow struct {
	id, typ string
	apart   []apartRow // what is kept as contents
	data    any        // the rest
}

type apartRow struct {
	field string
	content
}

func encodeChange(c store.Change) (r rows, err error) {
	if c.Create != nil {
		if r.created, err = exact.Encode(*c.Create); err != nil {
			return r, err
		}
	}
	if c.Source != nil {
		r.source = newSourceRow(*c.Source)
	}
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
	receipts := c.Receipts
	if c.Receipt != nil {
		receipts = append(receipts[:len(receipts):len(receipts)], *c.Receipt)
	}
	if r.receipts, err = encodeAll(receipts); err != nil {
		return r, err
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
			rest, apart := split(p)
			data, err := exact.Encode(rest)
			if err != nil {
				return nil, fmt.Errorf("part %s: %w", p.ID, err)
			}
			rows[i].parts[j] = partRow{p.ID, string(p.Type), apart, data}
		}
	}
	return rows, nil
}

// contents are all that a list of messages keeps apart.
func contents(messages []messageRow) iter.Seq[*content] {
	return func(yield func(*content) bool) {
		for i := range messages {
			for j := range messages[i].parts {
				apart := messages[i].parts[j].apart
				for k := range apart {
					if !yield(&apart[k].content) {
						return
					}
				}
			}
		}
	}
}

// packNew compresses the contents that the store does not have yet.
func (s *Store) packNew(ctx context.Context, lists ...iter.Seq[*content]) error {
	for _, list := range lists {
		for c := range list {
			var num int64
			err := s.reader.content.QueryRowContext(ctx, c.hash[:]).Scan(&num)
			if err == nil {
				continue
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if c.codec, c.packed, err = s.packer.compress([]byte(c.text)); err != nil {
				return err
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
		if err := t.update(row, m); err != nil {
			return err
		}
	}
	if err := t.ledger(row.num, c, r); err != nil {
		return err
	}
	if r.source != nil {
		if err := t.source(row.num, r.source); err != nil {
			return err
		}
	}
	if c.File != nil {
		if err := t.file(*c.File); err != nil {
			return err
		}
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
		var field, first any
		for k := range p.apart {
			at, err := t.keep(&p.apart[k].content)
			if err != nil {
				return err
			}
			if k == 0 {
				field, first = p.apart[k].field, at
			} else if _, err := t.run(t.w.insertApart, num, position, i, p.apart[k].field, at); err != nil {
				return err
			}
		}
		_, err := t.run(t.w.insertPart, num, position, i, p.id, p.typ, field, first, max(0, len(p.apart)-1), p.data)
		if err != nil {
			return err
		}
	}
	return nil
}

// update replaces the latest message with an id.
func (t *transaction) update(row sessionRow, m messageRow) error {
	num := row.num
	var position int64
	err := t.QueryRow(`SELECT position FROM message WHERE session = ? AND id = ? ORDER BY position DESC LIMIT 1`, num, m.id).
		Scan(&position)
	if m.id == "" || errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("update %q: %w", m.id, store.ErrNoMessage)
	}
	if err != nil {
		return err
	}
	held, err := t.contents(`SELECT content FROM part WHERE session = ?1 AND message = ?2 AND content IS NOT NULL
		UNION SELECT content FROM apart WHERE session = ?1 AND message = ?2`, num, position)
	if err != nil {
		return err
	}
	for _, table := range []string{"part", "apart"} {
		if err := t.exec(`DELETE FROM `+table+` WHERE session = ? AND message = ?`, num, position); err != nil {
			return err
		}
	}
	if err := t.exec(`DELETE FROM message WHERE session = ? AND position = ?`, num, position); err != nil {
		return err
	}
	if err := t.append(num, position, m); err != nil {
		return err
	}
	if position < int64(row.indexed) {
		if err := t.exec(`INSERT OR IGNORE INTO stale (session, message) VALUES (?, ?)`, num, position); err != nil {
			return err
		}
	}
	return t.drop(held)
}

// ledger writes elisions, undone markers, pins and dismissals.
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
	for _, words := range c.Dismiss {
		if err := t.exec(`INSERT OR IGNORE INTO dismissed (session, words) VALUES (?, ?)`, num, words); err != nil {
			return err
		}
	}
	for _, words := range c.Undismiss {
		if err := t.exec(`DELETE FROM dismissed WHERE session = ? AND words = ?`, num, words); err != nil {
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

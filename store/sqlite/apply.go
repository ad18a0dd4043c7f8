package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// Apply writes a change in one transaction. What takes time, encoding and compressing, is done
// before it begins.
func (s *Store) Apply(ctx context.Context, id string, c store.Change) (revision int64, err error) {
	defer func() { s.written.Note(err) }()
	defer s.explain(ctx, "apply", id, &err)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := c.Check(id); err != nil {
		if c.Create != nil {
			return 0, err
		}
		return 0, s.missing(ctx, id, err)
	}
	rows, err := packed.NewChange(&c)
	if err != nil {
		return 0, err
	}
	if err := s.packNew(ctx, rows.Contents()); err != nil {
		return 0, err
	}
	err = s.write(ctx, func(t *transaction) error {
		if c.Create != nil {
			if err := t.create(*c.Create, rows.Created, s.now().UnixMilli(), c.Aside); err != nil {
				return err
			}
		}
		row, err := t.find(id)
		if err != nil {
			return err
		}
		if c.Base != 0 && c.Base != row.revision {
			return fmt.Errorf("%w: it is at revision %d, the change was decided on %d",
				store.ErrConflict, row.revision, c.Base)
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
		return t.exec(`UPDATE session SET revision = ?, messages = ?,
			changed = max(?, (SELECT max(changed) + 1 FROM session)) WHERE num = ?`,
			revision, row.messages+len(c.Append), s.now().UnixMilli(), row.num)
	})
	if err != nil {
		return 0, err
	}
	return revision, nil
}

// missing returns err, or ErrNotFound if there is no such session: that says more.
func (s *Store) missing(ctx context.Context, id string, err error) error {
	now, findErr := s.reader.at(ctx, id)
	if findErr != nil {
		return findErr
	}
	now.Rollback()
	return err
}

// steps write or delete one row each. The first parameter is the number of the session, the others
// are the columns of the row.
var steps = map[packed.Step]string{
	packed.Restore: `DELETE FROM elision WHERE session = ?1 AND part = ?2 AND field = ?3`,
	packed.Commit: `INSERT OR IGNORE INTO elision (session, position, part, field, data)
		SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3, ?4 FROM elision WHERE session = ?1`,
	packed.Undo:      `INSERT OR IGNORE INTO undone (session, marker) VALUES (?1, ?2)`,
	packed.Redo:      `DELETE FROM undone WHERE session = ?1 AND marker = ?2`,
	packed.Dismiss:   `INSERT OR IGNORE INTO dismissed (session, words) VALUES (?1, ?2)`,
	packed.Undismiss: `DELETE FROM dismissed WHERE session = ?1 AND words = ?2`,
	packed.Unpin:     `DELETE FROM pin WHERE session = ?1 AND id = ?2`,
	packed.Pin: `INSERT INTO pin (session, position, id, data)
		SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3 FROM pin WHERE session = ?1
		ON CONFLICT (session, id) DO UPDATE SET data = excluded.data`,
	packed.Receipts: `INSERT INTO receipt (session, position, data)
		SELECT ?1, coalesce(max(position) + 1, 0), ?2 FROM receipt WHERE session = ?1`,
	packed.Spend: `INSERT INTO spend (session, position, data, relayed)
		SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3 FROM spend WHERE session = ?1`,
}

// packNew compresses the contents that the store does not have yet.
func (s *Store) packNew(ctx context.Context, all []*packed.Content) error {
	return packed.Spread(len(all), func(i int) error {
		c := all[i]
		done, err := s.reader.briefly(ctx)
		if err != nil {
			return err
		}
		var num int64 // to watch the context would take a goroutine for each
		err = s.reader.content.QueryRowContext(context.WithoutCancel(ctx), c.Hash[:]).Scan(&num)
		done()
		if errors.Is(err, sql.ErrNoRows) {
			c.Codec, c.Packed, err = s.packer.Compress([]byte(c.Text))
		}
		return err
	})
}

// apply writes the rows of a change. Update comes after Append.
func (t *transaction) apply(row sessionRow, c store.Change, p *packed.Change) error {
	if c.Info != nil {
		err := t.exec(`UPDATE session SET info = ?, updated = ? WHERE num = ?`, p.Info, updated(*c.Info), row.num)
		if err != nil {
			return err
		}
	}
	for i, m := range p.Appended {
		if err := t.append(row.num, int64(row.messages+i), m); err != nil {
			return err
		}
	}
	for _, m := range p.Updated {
		if err := t.update(row, m); err != nil {
			return err
		}
	}
	if err := t.failed(row.num, c.Vain); err != nil {
		return err
	}
	for i := range p.Decided {
		if err := t.decide(row.num, &p.Decided[i]); err != nil {
			return err
		}
	}
	if err := t.prepare(row.num, p.Prepared); err != nil {
		return err
	}
	if p.Source != nil {
		if err := t.source(row.num, p.Source); err != nil {
			return err
		}
	}
	if c.File != nil {
		return t.file(*c.File)
	}
	return nil
}

// decide does a step, row by row.
func (t *transaction) decide(num int64, r *packed.Rows) error {
	for i := range r.Len() {
		args := []any{num}
		if r.Keys != nil {
			args = append(args, r.Keys[i])
		}
		if r.Fields != nil {
			args = append(args, r.Fields[i])
		}
		if r.Data != nil {
			args = append(args, r.Data[i])
		}
		if r.Times != nil {
			args = append(args, r.Times[i])
		}
		if err := t.exec(steps[r.Step], args...); err != nil {
			return err
		}
	}
	return nil
}

// prepare replaces the summary that is prepared: nil leaves it, "" deletes it.
func (t *transaction) prepare(num int64, data any) error {
	switch data {
	case nil:
		return nil
	case "":
		return t.exec(`DELETE FROM prepared WHERE session = ?`, num)
	}
	return t.exec(`INSERT INTO prepared (session, data) VALUES (?, ?)
		ON CONFLICT (session) DO UPDATE SET data = excluded.data`, num, data)
}

// failed marks requests, by their positions, as failed.
func (t *transaction) failed(num int64, vain []int) error {
	for _, at := range vain {
		var data []byte
		err := t.read(`SELECT data FROM spend WHERE session = ? AND position = ?`, []any{num, at}, &data)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("there is no request %d", at)
		}
		if err != nil {
			return err
		}
		encoded, err := packed.Failed(data)
		if err != nil {
			return err
		}
		if err := t.exec(`UPDATE spend SET data = ? WHERE session = ? AND position = ?`, encoded, num, at); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) append(num, position int64, m packed.Message) error {
	if err := t.exec(`INSERT INTO message (session, position, id, parts, info) VALUES (?, ?, ?, ?, ?)`,
		num, position, m.ID, len(m.Parts), m.Info); err != nil {
		return err
	}
	for i, p := range m.Parts {
		var field, first any
		for k := range p.Apart {
			at, err := t.keep(&p.Apart[k].Content)
			if err != nil {
				return err
			}
			if k == 0 {
				field, first = p.Apart[k].Field, at
			} else if err := t.exec(`INSERT INTO apart (session, message, part, field, content) VALUES (?, ?, ?, ?, ?)`,
				num, position, i, p.Apart[k].Field, at); err != nil {
				return err
			}
		}
		err := t.exec(`INSERT INTO part (session, message, position, id, type, field, content, apart, data)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			num, position, i, p.ID, p.Type, field, first, max(0, len(p.Apart)-1), p.Data)
		if err != nil {
			return err
		}
	}
	return nil
}

// update replaces the latest message that has the id of m.
func (t *transaction) update(row sessionRow, m packed.Message) error {
	var position int64
	err := t.read(`SELECT position FROM message WHERE session = ? AND id = ? ORDER BY position DESC LIMIT 1`,
		[]any{row.num, m.ID}, &position)
	if m.ID == "" || errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("update %q: %w", m.ID, store.ErrNoMessage)
	}
	if err != nil {
		return err
	}
	held, err := t.contents(`SELECT content FROM part WHERE session = ?1 AND message = ?2 AND content IS NOT NULL
		UNION SELECT content FROM apart WHERE session = ?1 AND message = ?2`, row.num, position)
	if err != nil {
		return err
	}
	for _, sql := range []string{
		`DELETE FROM part WHERE session = ? AND message = ?`,
		`DELETE FROM apart WHERE session = ? AND message = ?`,
		`DELETE FROM message WHERE session = ? AND position = ?`,
	} {
		if err := t.exec(sql, row.num, position); err != nil {
			return err
		}
	}
	if err := t.append(row.num, position, m); err != nil {
		return err
	}
	if position < int64(row.indexed) {
		err := t.exec(`INSERT OR IGNORE INTO stale (session, message) VALUES (?, ?)`, row.num, position)
		if err != nil {
			return err
		}
	}
	return t.drop(held)
}

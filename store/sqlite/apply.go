package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// Apply writes a change in one transaction. What takes time, encoding and compressing, is done
// before it begins.
func (s *Store) Apply(ctx context.Context, id string, c store.Change) (revision int64, err error) {
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
	rows, err := encodeChange(c)
	if err != nil {
		return 0, err
	}
	err = s.packNew(ctx, contents(rows.appended), contents(rows.updated), rows.source.contents())
	if err != nil {
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

// rows is a change with all its values encoded.
type rows struct {
	created           any
	source            *sourceRow
	appended, updated []packed.Message
	statements        []statement
}

// statement is SQL whose first parameter is the number of the session; args are the others.
type statement struct {
	sql  string
	args []any
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
	if r.appended, err = packed.Messages(c.Append); err != nil {
		return r, err
	}
	if r.updated, err = packed.Messages(c.Update); err != nil {
		return r, err
	}
	r.statements, err = statements(c)
	return r, err
}

// statements writes everything in a change but messages and files, in the order that store.Change
// promises.
func statements(c store.Change) (list []statement, err error) {
	add := func(sql string, args ...any) { list = append(list, statement{sql, args}) }
	encode := func(data any, e error) any {
		err = errors.Join(err, e)
		return data
	}
	if c.Info != nil {
		add(`UPDATE session SET info = ?2, updated = ?3 WHERE num = ?1`,
			encode(exact.Encode(*c.Info)), updated(*c.Info))
	}
	for _, k := range c.Restore {
		add(`DELETE FROM elision WHERE session = ?1 AND part = ?2 AND field = ?3`, k.Part, string(k.Field))
	}
	for _, e := range c.Commit {
		add(`INSERT OR IGNORE INTO elision (session, position, part, field, data)
			SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3, ?4 FROM elision WHERE session = ?1`,
			e.Part, string(e.Field), encode(exact.Encode(e)))
	}
	for _, marker := range c.Undo {
		add(`INSERT OR IGNORE INTO undone (session, marker) VALUES (?1, ?2)`, marker)
	}
	for _, marker := range c.Redo {
		add(`DELETE FROM undone WHERE session = ?1 AND marker = ?2`, marker)
	}
	for _, words := range c.Dismiss {
		add(`INSERT OR IGNORE INTO dismissed (session, words) VALUES (?1, ?2)`, words)
	}
	for _, words := range c.Undismiss {
		add(`DELETE FROM dismissed WHERE session = ?1 AND words = ?2`, words)
	}
	for _, id := range c.Unpin {
		add(`DELETE FROM pin WHERE session = ?1 AND id = ?2`, id)
	}
	for _, p := range c.Pin {
		add(`INSERT INTO pin (session, position, id, data)
			SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3 FROM pin WHERE session = ?1
			ON CONFLICT (session, id) DO UPDATE SET data = excluded.data`, p.ID, encode(exact.Encode(p)))
	}
	receipts := c.Receipts
	if c.Receipt != nil {
		receipts = append(receipts[:len(receipts):len(receipts)], *c.Receipt)
	}
	for _, r := range receipts {
		add(`INSERT INTO receipt (session, position, data)
			SELECT ?1, coalesce(max(position) + 1, 0), ?2 FROM receipt WHERE session = ?1`, encode(exact.Encode(r)))
	}
	switch p := c.Prepared; {
	case p == nil:
	case *p == (store.Prepared{}):
		add(`DELETE FROM prepared WHERE session = ?1`)
	default:
		add(`INSERT INTO prepared (session, data) VALUES (?1, ?2) ON CONFLICT (session) DO UPDATE SET data = excluded.data`,
			encode(exact.Encode(*p)))
	}
	for _, p := range c.Spend {
		add(`INSERT INTO spend (session, position, data, relayed)
			SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3 FROM spend WHERE session = ?1`,
			encode(exact.Encode(p)), relayed(&p))
	}
	return list, err
}

// contents yields all contents of some messages.
func contents(messages []packed.Message) iter.Seq[*packed.Content] {
	return func(yield func(*packed.Content) bool) {
		for i := range messages {
			for j := range messages[i].Parts {
				apart := messages[i].Parts[j].Apart
				for k := range apart {
					if !yield(&apart[k].Content) {
						return
					}
				}
			}
		}
	}
}

// packNew compresses the contents that the store does not have yet.
func (s *Store) packNew(ctx context.Context, lists ...iter.Seq[*packed.Content]) error {
	var all []*packed.Content
	for _, list := range lists {
		all = slices.AppendSeq(all, list)
	}
	return packed.Spread(len(all), func(i int) error {
		c := all[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		var num int64 // to watch the context would take a goroutine for each
		err := s.reader.content.QueryRowContext(context.WithoutCancel(ctx), c.Hash[:]).Scan(&num)
		if errors.Is(err, sql.ErrNoRows) {
			c.Codec, c.Packed, err = s.packer.Compress([]byte(c.Text))
		}
		return err
	})
}

// apply writes the rows of a change. Update comes after Append.
func (t *transaction) apply(row sessionRow, c store.Change, r rows) error {
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
	if err := t.failed(row.num, c.Vain); err != nil {
		return err
	}
	for _, s := range r.statements {
		if err := t.exec(s.sql, append([]any{row.num}, s.args...)...); err != nil {
			return err
		}
	}
	if r.source != nil {
		if err := t.source(row.num, r.source); err != nil {
			return err
		}
	}
	if c.File != nil {
		return t.file(*c.File)
	}
	return nil
}

// failed notes of requests, by their positions, that they were paid in vain.
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
		p, err := exact.Decode[store.Spend](data)
		if err != nil {
			return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		}
		p.Failed = true
		encoded, err := exact.Encode(p)
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

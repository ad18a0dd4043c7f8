package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

var _ store.Keeper = (*Store)(nil)

// Keep keeps a text for a part, compressed. Equal texts are stored once.
func (s *Store) Keep(ctx context.Context, id, part, text string) (err error) {
	defer s.explain(ctx, "keep", id, &err)
	if err := ctx.Err(); err != nil {
		return err
	}
	c := packed.New(text)
	if err := s.packNew(ctx, []*packed.Content{&c}); err != nil {
		return err
	}
	return s.write(ctx, func(t *transaction) error {
		session, err := t.find(id)
		if err != nil {
			return err
		}
		held, err := t.contents(`SELECT content FROM kept WHERE session = ? AND part = ?`, session.num, part)
		if err != nil {
			return err
		}
		num, err := t.keep(&c)
		if err != nil {
			return err
		}
		err = t.exec(`INSERT OR REPLACE INTO kept (session, part, content) VALUES (?, ?, ?)`, session.num, part, num)
		if err != nil {
			return err
		}
		return t.drop(held)
	})
}

// keepOf gives a new session the kept texts of another one, for the parts that both have. The
// contents are shared.
func (t *transaction) keepOf(other string, num int64) error {
	from, err := t.find(other)
	if err != nil {
		return fmt.Errorf("what session %s keeps: %w", other, err)
	}
	return t.exec(`INSERT INTO kept (session, part, content) SELECT ?1, part, content FROM kept
		WHERE session = ?2 AND part IN (SELECT id FROM part WHERE session = ?1)`, num, from.num)
}

// Kept returns the text that is kept for a part.
func (s *Store) Kept(ctx context.Context, id, part string) (text string, err error) {
	defer s.explain(ctx, "kept", id, &err)
	now, err := s.reader.at(ctx, id)
	if err != nil {
		return "", err
	}
	defer now.Rollback()
	return keptText(ctx, now.Tx, &s.packer, now.row.num, part)
}

// KeptParts returns the ids of the parts for which texts are kept, in ascending order.
func (s *Store) KeptParts(ctx context.Context, id string) (parts []string, err error) {
	defer s.explain(ctx, "kept", id, &err)
	now, err := s.reader.at(ctx, id)
	if err != nil {
		return nil, err
	}
	defer now.Rollback()
	return column[string](now.QueryContext(ctx, `SELECT part FROM kept WHERE session = ? ORDER BY part`, now.row.num))
}

// keptText reads the text that is kept for a part, or returns ErrNotKept.
func keptText(ctx context.Context, from interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, packer *packed.Compressor, num int64, part string) (string, error) {
	var size int
	var how packed.Codec
	var data []byte
	err := from.QueryRowContext(ctx, `SELECT coalesce(content.size, -1), coalesce(content.codec, 0), content.data
		FROM kept LEFT JOIN content ON content.num = kept.content
		WHERE kept.session = ? AND kept.part = ?`, num, part).Scan(&size, &how, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return "", store.ErrNotKept
	}
	if err != nil {
		return "", err
	}
	text, err := packer.Decompress(how, data, size)
	if err != nil {
		return "", fmt.Errorf("%w: what is kept for %s: %w", store.ErrCorrupt, part, err)
	}
	return string(text), nil
}

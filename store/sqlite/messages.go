package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// Messages yields the log newest first, in one read transaction. Each message is read when its turn
// comes.
func (s *Store) Messages(ctx context.Context, id string) iter.Seq2[session.Message, error] {
	return s.log(ctx, id, false)
}

var _ store.Sketcher = (*Store)(nil)

// Sketch yields the log without the texts that are kept apart.
func (s *Store) Sketch(ctx context.Context, id string) iter.Seq2[session.Message, error] {
	return s.log(ctx, id, true)
}

func (s *Store) log(ctx context.Context, id string, sketch bool) iter.Seq2[session.Message, error] {
	return func(yield func(session.Message, error) bool) {
		err := s.messages(ctx, id, sketch, func(m session.Message) bool { return yield(m, nil) })
		if err != nil {
			s.explain(ctx, "messages", id, &err)
			yield(session.Message{}, err)
		}
	}
}

// messages returns no error once yield wants no more.
func (s *Store) messages(ctx context.Context, id string, sketch bool, yield func(session.Message) bool) error {
	now, err := s.reader.at(ctx, id)
	if err != nil {
		return err
	}
	defer now.Rollback()
	rows, err := now.StmtContext(ctx, s.reader.messages).QueryContext(ctx, now.row.num)
	if err != nil {
		return err
	}
	defer rows.Close()
	read := s.parts(ctx, now.Tx)
	if sketch {
		read = partReader{parts: now.StmtContext(ctx, s.reader.sketched)}
	}
	for rows.Next() {
		var position int64
		var count int
		var data sql.RawBytes
		if err := rows.Scan(&position, &count, &data); err != nil {
			return err
		}
		h, err := exact.Decode[packed.Head](data)
		if err != nil {
			return fmt.Errorf("%w: message %d: %w", store.ErrCorrupt, position, err)
		}
		m := session.Message{MessageInfo: h.MessageInfo, Unknown: h.Unknown}
		if count > 0 {
			m.Parts, err = read.all(ctx, now.row.num, position, count)
			if err != nil {
				return fmt.Errorf("message %s: %w", m.ID, err)
			}
		}
		if !yield(m) {
			return nil
		}
	}
	return rows.Err()
}

// partReader reads the parts of messages within a transaction.
type partReader struct {
	parts, apart *sql.Stmt
	packer       *packed.Compressor
}

func (s *Store) parts(ctx context.Context, tx *sql.Tx) partReader {
	return partReader{tx.StmtContext(ctx, s.reader.parts), tx.StmtContext(ctx, s.reader.apart), &s.packer}
}

func (r *partReader) all(ctx context.Context, num, message int64, count int) ([]session.Part, error) {
	parts, err := r.some(ctx, num, message, 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	if len(parts) != count {
		return nil, fmt.Errorf("%w: it has %d parts of %d", store.ErrCorrupt, len(parts), count)
	}
	return parts, nil
}

// some reads the parts at positions from first to last.
func (r *partReader) some(ctx context.Context, num, message, first, last int64) ([]session.Part, error) {
	rows, err := r.parts.QueryContext(ctx, num, message, first, last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var parts []session.Part
	for rows.Next() {
		var data, short sql.RawBytes
		var apart int
		var field sql.NullString
		var size, how sql.NullInt64
		if err := rows.Scan(&data, &apart, &field, &size, &how, &short); err != nil {
			return nil, err
		}
		p, err := exact.Decode[session.Part](data)
		if err == nil && field.Valid {
			if !size.Valid {
				err = errors.New("its " + field.String + " is gone")
			} else {
				err = r.join(&p, field.String, packed.Codec(how.Int64), short, size.Int64)
			}
		}
		if err == nil && apart > 0 {
			err = r.joinMore(ctx, &p, apart, num, message, int(first)+len(parts))
		}
		if ended := ctx.Err(); ended != nil {
			return nil, ended
		}
		if err != nil {
			return nil, fmt.Errorf("%w: part %d: %w", store.ErrCorrupt, len(parts), err)
		}
		parts = append(parts, p)
	}
	return parts, rows.Err()
}

func (r *partReader) join(p *session.Part, field string, how packed.Codec, short []byte, size int64) error {
	text, err := r.packer.Decompress(how, short, int(size))
	if err != nil {
		return err
	}
	return packed.Join(p, field, text)
}

// joinMore puts back the texts that are kept apart, except the first.
func (r *partReader) joinMore(ctx context.Context, p *session.Part, count int, num, message int64, position int) error {
	rows, err := r.apart.QueryContext(ctx, num, message, position)
	if err != nil {
		return err
	}
	defer rows.Close()
	for ; rows.Next(); count-- {
		var field string
		var size int64
		var how packed.Codec
		var short sql.RawBytes
		if err := rows.Scan(&field, &size, &how, &short); err != nil {
			return err
		}
		if err := r.join(p, field, how, short, size); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if count != 0 {
		return fmt.Errorf("%d of its large texts are gone", count)
	}
	return nil
}

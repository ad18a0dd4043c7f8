package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
)

// head is what is known about a message but for its parts.
type head struct {
	session.MessageInfo `json:"info"`

	Unknown jsontext.Value `json:",embed"`
}

// Messages yields the log newest first, within one read transaction. Message and parts are read when their turn comes.
func (s *Store) Messages(ctx context.Context, id string) iter.Seq2[session.Message, error] {
	return func(yield func(session.Message, error) bool) {
		err := s.messages(ctx, id, func(m session.Message) bool { return yield(m, nil) })
		if err != nil {
			yield(session.Message{}, s.failed(ctx, "messages", id, err))
		}
	}
}

// messages returns an error only while yield wants more.
func (s *Store) messages(ctx context.Context, id string, yield func(session.Message) bool) error {
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
	parts := now.StmtContext(ctx, s.reader.parts)
	for rows.Next() {
		var position int64
		var count int
		var data sql.RawBytes
		if err := rows.Scan(&position, &count, &data); err != nil {
			return err
		}
		h, err := exact.Decode[head](data)
		if err != nil {
			return fmt.Errorf("%w: message %d: %w", store.ErrCorrupt, position, err)
		}
		m := session.Message{MessageInfo: h.MessageInfo, Unknown: h.Unknown}
		if count > 0 {
			m.Parts, err = s.readParts(ctx, parts, now.row.num, position, count)
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

func (s *Store) readParts(ctx context.Context, stmt *sql.Stmt, num, message int64, count int) ([]session.Part, error) {
	rows, err := stmt.QueryContext(ctx, num, message)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var parts []session.Part
	for rows.Next() {
		var data, compressed sql.RawBytes
		var field sql.NullString
		var size sql.NullInt64
		if err := rows.Scan(&data, &field, &size, &compressed); err != nil {
			return nil, err
		}
		p, err := exact.Decode[session.Part](data)
		if err == nil && field.Valid {
			var text []byte
			if text, err = s.gzip.decompress(compressed, int(size.Int64)); err == nil {
				err = join(&p, field.String, string(text))
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: part %d: %w", store.ErrCorrupt, len(parts), err)
		}
		parts = append(parts, p)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(parts) != count {
		return nil, fmt.Errorf("%w: it has %d parts of %d", store.ErrCorrupt, len(parts), count)
	}
	return parts, nil
}

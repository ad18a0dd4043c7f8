package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// Source returns the file that a session was imported from, or nil.
func (s *Store) Source(ctx context.Context, id string) (_ *store.Source, err error) {
	defer s.explain(ctx, "source", id, &err)
	now, err := s.reader.at(ctx, id)
	if err != nil {
		return nil, err
	}
	defer now.Rollback()
	var source store.Source
	var size, pieces int
	var data []byte
	err = now.QueryRowContext(ctx, `SELECT format, path, size, pieces, data FROM source WHERE session = ?`,
		now.row.num).
		Scan(&source.Format, &source.Path, &size, &pieces, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch {
	case pieces > 0:
		source.Data, err = s.readPieces(ctx, now, size, pieces)
	case len(data) > 0: // of version 1
		if source.Data, err = s.packer.Decompress(packed.Gzipped, data, size); err != nil {
			err = fmt.Errorf("%w: its source: %w", store.ErrCorrupt, err)
		}
	}
	if err != nil {
		return nil, err
	}
	return &source, nil
}

func (s *Store) readPieces(ctx context.Context, now moment, size, pieces int) ([]byte, error) {
	if size < 0 || (size+packed.PieceSize-1)/packed.PieceSize != pieces {
		return nil, fmt.Errorf("%w: its source: %d pieces for %d bytes", store.ErrCorrupt, pieces, size)
	}
	rows, err := now.QueryContext(ctx, `SELECT content.size, content.codec, content.data
		FROM piece JOIN content ON content.num = piece.content
		WHERE piece.session = ? ORDER BY piece.position`, now.row.num)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var whole []byte
	for ; rows.Next(); pieces-- {
		var length int
		var how packed.Codec
		var short sql.RawBytes
		if err := rows.Scan(&length, &how, &short); err != nil {
			return nil, err
		}
		data, err := s.packer.Decompress(how, short, length)
		if err != nil {
			return nil, fmt.Errorf("%w: its source: %w", store.ErrCorrupt, err)
		}
		if whole == nil && pieces == 1 {
			whole = data
		} else {
			whole = append(whole, data...)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if pieces != 0 || len(whole) != size {
		return nil, fmt.Errorf("%w: its source: %d of %d bytes are left", store.ErrCorrupt, len(whole), size)
	}
	return whole, nil
}

// SetSource keeps the file that a session was imported from.
func (s *Store) SetSource(ctx context.Context, id string, source store.Source) (err error) {
	defer s.explain(ctx, "source", id, &err)
	file := packed.NewSource(source)
	if err := s.packNew(ctx, file.Contents()); err != nil {
		return err
	}
	return s.write(ctx, func(t *transaction) error {
		session, err := t.find(id)
		if err != nil {
			return err
		}
		return t.source(session.num, file)
	})
}

// source writes the file of a session in place of the previous one. Pieces that both have are not
// written again.
func (t *transaction) source(num int64, file *packed.Source) error {
	held, err := t.contents(`SELECT content FROM piece WHERE session = ?`, num)
	if err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM piece WHERE session = ?`, num); err != nil {
		return err
	}
	for i := range file.Pieces {
		content, err := t.keep(&file.Pieces[i])
		if err != nil {
			return err
		}
		err = t.exec(`INSERT INTO piece (session, position, content) VALUES (?, ?, ?)`, num, i, content)
		if err != nil {
			return err
		}
	}
	err = t.exec(`INSERT OR REPLACE INTO source (session, format, path, size, pieces, data)
		VALUES (?, ?, ?, ?, ?, x'')`, num, file.Format, file.Path, file.Size, len(file.Pieces))
	if err != nil {
		return err
	}
	return t.drop(held)
}

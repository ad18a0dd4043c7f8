package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// Source returns the file that a session was imported from, or nil.
func (s *Store) Source(ctx context.Context, id string) (_ *store.Source, err error) {
	defer s.explain(ctx, "source", id, &err)
	type piece struct {
		format, path []byte
		size         *int64
		pieces       *int
		position     *int
		contentRow
	}
	found, err := rows(ctx, s, func(row pgx.CollectableRow) (p piece, err error) {
		err = row.Scan(&p.format, &p.path, &p.size, &p.pieces, &p.position, &p.contentRow.size, &p.codec, &p.data)
		return p, err
	}, `SELECT f.format, f.path, f.size, f.pieces, p.position, c.size, c.codec, c.data
		FROM session AS s
		LEFT JOIN source AS f ON f.tenant = s.tenant AND f.session = s.num
		LEFT JOIN piece AS p ON p.tenant = f.tenant AND p.session = f.session
		LEFT JOIN content AS c ON c.tenant = p.tenant AND c.hash = p.content
		WHERE s.tenant = $1 AND s.id = $2 ORDER BY p.position`, s.tenant, key(id))
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, store.ErrNotFound
	case found[0].size == nil:
		return nil, nil
	}
	first := &found[0]
	source := store.Source{Format: string(first.format), Path: string(first.path)}
	if *first.pieces > 0 {
		for i := range found {
			data, err := s.unpack(&found[i].contentRow)
			if err != nil {
				return nil, fmt.Errorf("%w: piece %d of its source: %w", store.ErrCorrupt, i, err)
			}
			if *first.pieces == 1 {
				source.Data = data
			} else {
				source.Data = append(source.Data, data...)
			}
		}
	}
	if int64(len(source.Data)) != *first.size {
		return nil, fmt.Errorf("%w: its source: %d of %d bytes are left", store.ErrCorrupt, len(source.Data),
			*first.size)
	}
	return &source, nil
}

// SetSource keeps the file that a session was imported from.
func (s *Store) SetSource(ctx context.Context, id string, source store.Source) (err error) {
	defer s.explain(ctx, "source", id, &err)
	if err := s.writable(ctx); err != nil {
		return err
	}
	f := packed.NewSource(source)
	for ask := true; ; ask = false {
		p, err := s.pack(ctx, f.Contents(), ask)
		if err != nil {
			return err
		}
		err = s.with(ctx, func(c *pgxpool.Conn) error {
			_, err := c.Exec(ctx, `SELECT winnow_set_source($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, s.tenant,
				key(id), p.hashes, p.sizes, p.codecs, p.data, p.held,
				[]byte(f.Format), []byte(f.Path), f.Size, hashesOf(f.Contents()))
			return err
		})
		if err == nil {
			return s.sweep(ctx)
		}
		if code(err) != codeGone || !ask {
			return err
		}
	}
}

// Keep keeps a text for a part, compressed. Equal texts are stored once.
func (s *Store) Keep(ctx context.Context, id, part, text string) (err error) {
	defer s.explain(ctx, "keep", id, &err)
	if err := s.writable(ctx); err != nil {
		return err
	}
	content := packed.New(text)
	p, err := s.pack(ctx, []*packed.Content{&content}, false)
	if err != nil {
		return err
	}
	err = s.with(ctx, func(c *pgxpool.Conn) error {
		_, err := c.Exec(ctx, `SELECT winnow_keep($1, $2, $3, $4, $5, $6, $7, $8)`, s.tenant, key(id), key(part),
			[]byte(part),
			p.hashes[0], p.sizes[0], p.codecs[0], p.data[0])
		return err
	})
	if err != nil {
		return err
	}
	return s.sweep(ctx)
}

// Kept returns the text that is kept for a part.
func (s *Store) Kept(ctx context.Context, id, part string) (text string, err error) {
	defer s.explain(ctx, "kept", id, &err)
	var hash []byte
	var c contentRow
	err = s.one(ctx, `SELECT k.content, c.size, c.codec, c.data
		FROM session AS s
		LEFT JOIN kept AS k ON k.tenant = s.tenant AND k.session = s.num AND k.part = $3
		LEFT JOIN content AS c ON c.tenant = k.tenant AND c.hash = k.content
		WHERE s.tenant = $1 AND s.id = $2`, []any{s.tenant, key(id), key(part)}, &hash, &c.size, &c.codec, &c.data)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", store.ErrNotFound
	case err != nil:
		return "", err
	case hash == nil:
		return "", store.ErrNotKept
	}
	data, err := s.unpack(&c)
	if err != nil {
		return "", fmt.Errorf("%w: what is kept for %s: %w", store.ErrCorrupt, part, err)
	}
	return string(data), nil
}

// KeptParts returns the ids of the parts for which texts are kept, in ascending order.
func (s *Store) KeptParts(ctx context.Context, id string) (parts []string, err error) {
	defer s.explain(ctx, "kept", id, &err)
	if _, err := s.revision(ctx, id); err != nil {
		return nil, err
	}
	return rows(ctx, s, func(row pgx.CollectableRow) (string, error) {
		var part []byte
		err := row.Scan(&part)
		return string(part), err
	}, `SELECT k.whole FROM session AS s JOIN kept AS k ON k.tenant = s.tenant AND k.session = s.num
		WHERE s.tenant = $1 AND s.id = $2 ORDER BY k.whole`, s.tenant, key(id))
}

// Files returns the files that were read before, by path.
func (s *Store) Files(ctx context.Context) (files map[string]store.File, err error) {
	defer s.explain(ctx, "files", "", &err)
	list, err := rows(ctx, s, func(row pgx.CollectableRow) (f store.File, err error) {
		var path, hash, owner []byte
		err = row.Scan(&path, &f.Size, &f.Modified, &f.Seen, &hash, &owner, &f.Messages)
		f.Path, f.Session = string(path), string(owner)
		copy(f.Hash[:], hash)
		return f, err
	}, `SELECT whole, size, modified, seen, hash, owner, messages FROM file WHERE tenant = $1`, s.tenant)
	if err != nil {
		return nil, err
	}
	files = map[string]store.File{}
	for _, f := range list {
		files[f.Path] = f
	}
	return files, nil
}

// mostFiles is how many files are sent at once.
const mostFiles = 1000

// SetFiles remembers files, in one transaction and in the order of their paths, so that two that
// remember the same ones do not wait for each other.
func (s *Store) SetFiles(ctx context.Context, files ...store.File) (err error) {
	defer s.explain(ctx, "files", "", &err)
	if err := s.writable(ctx); err != nil {
		return err
	}
	files = slices.SortedStableFunc(slices.Values(files), func(a, b store.File) int {
		return strings.Compare(a.Path, b.Path)
	})
	return s.with(ctx, func(c *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			for from := 0; from < len(files); from += mostFiles {
				var b pgx.Batch
				for _, f := range files[from:min(from+mostFiles, len(files))] {
					s.queueFile(&b, f)
				}
				if err := tx.SendBatch(ctx, &b).Close(); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (s *Store) queueFile(b *pgx.Batch, f store.File) {
	b.Queue(`INSERT INTO file (tenant, path, whole, size, modified, seen, hash, session, owner, messages)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (tenant, path) DO UPDATE SET size = excluded.size, modified = excluded.modified,
			seen = excluded.seen,
			hash = excluded.hash, session = excluded.session, owner = excluded.owner, messages = excluded.messages`,
		s.tenant, key(f.Path), []byte(f.Path), f.Size, f.Modified, f.Seen, f.Hash[:], key(f.Session), []byte(f.Session),
		f.Messages).
		Exec(func(pgconn.CommandTag) error { return nil })
}

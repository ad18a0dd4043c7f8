package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
	"github.com/winnowhq/winnow/store/internal/words"
)

// Search finds parts. What a person or a model wrote weighs more than the input of a tool, and that
// more than its output: a word in a message is a better place to begin than its hundredth
// occurrence in a listing.
func (s *Store) Search(ctx context.Context, q store.Search) (found store.Found, err error) {
	defer s.explain(ctx, "search", q.Session, &err)
	if err := s.ready(ctx); err != nil {
		return found, err
	}
	terms := words.Parse(q.Words)
	if len(terms) == 0 {
		return found, store.ErrNoWord
	}
	if !s.db.readOnly {
		if err := s.index(ctx, nil); err != nil {
			return found, err
		}
	}
	if found.Behind, err = s.behind(ctx); err != nil {
		return found, err
	}
	err = s.with(ctx, func(c *pgxpool.Conn) error {
		found.Hits, found.Damaged = nil, nil
		return pgx.BeginTxFunc(ctx, c, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			places, total, err := s.places(ctx, tx, terms, q)
			found.Total = total
			if err != nil {
				return err
			}
			var b pgx.Batch
			rows := make([]hitRow, len(places))
			for i := range places {
				rows[i].queue(&b, s, &places[i])
			}
			if err := tx.SendBatch(ctx, &b).Close(); err != nil {
				return err
			}
			for i := range places {
				hit, damage, err := s.hit(&places[i], &rows[i], terms)
				switch {
				case err != nil:
					return err
				case damage != nil:
					found.Damaged = append(found.Damaged, damage)
				default:
					found.Hits = append(found.Hits, hit)
				}
			}
			return nil
		})
	})
	return found, err
}

// place is where a matching part is, and how well it matches.
type place struct {
	session, message int64
	part             int
	score            float64
}

// places returns the best matches, and how many there are without a limit.
func (s *Store) places(ctx context.Context, tx pgx.Tx, terms words.Query, q store.Search) (
	places []place, total int, err error) {
	if q.Limit <= 0 {
		q.Limit = store.DefaultLimit
	}
	args := []any{s.tenant, []byte(q.Session), []byte(q.Product), []byte(q.Tool), []byte(q.Role), since(q), q.Limit}
	if q.Session != "" {
		args[1] = key(q.Session)
	}
	var queries []string
	for _, t := range terms {
		queries = append(queries, "("+query(t)+")")
	}
	some := strings.Join(queries, " | ")
	ours := some
	if s.tenant != "" {
		ours = quoted(tenantWord(s.tenant)) + " & (" + some + ")"
	}
	args = append(args, some, ours)
	having := ""
	if len(queries) > 1 { // a part may be in several pieces, which have all the terms together
		for i, q := range queries {
			args = append(args, q)
			having += fmt.Sprintf(" AND bool_or(f.words @@ $%d::text::tsquery)", len(args))
			if i == 0 {
				having = " HAVING" + strings.TrimPrefix(having, " AND")
			}
		}
	}
	rows, err := tx.Query(ctx, `
		WITH hit AS MATERIALIZED (
			SELECT f.session, f.message, f.part, max(f.time) AS time,
				sum(ts_rank('{0.1, 0.25, 0.5, 1}', f.words, $8::text::tsquery, 1))::float8 AS score
			FROM found AS f
			JOIN session AS s ON s.tenant = f.tenant AND s.num = f.session
			LEFT JOIN source AS o ON o.tenant = f.tenant AND o.session = f.session
			WHERE f.tenant = $1 AND f.words @@ $9::text::tsquery
				AND ($2::bytea = '' OR s.id = $2) AND ($3::bytea = '' OR o.format = $3)
				AND ($4::bytea = '' OR f.tool = $4) AND ($5::bytea = '' OR f.role = $5) AND f.time >= $6
			GROUP BY f.session, f.message, f.part`+having+`
		)
		SELECT session, message, part, score, (SELECT count(*) FROM hit) FROM hit
		ORDER BY score DESC, time DESC, session DESC, message DESC, part DESC LIMIT $7`, args...)
	if err != nil {
		return nil, 0, err
	}
	places, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p place, err error) {
		err = row.Scan(&p.session, &p.message, &p.part, &p.score, &total)
		return p, err
	})
	return places, total, err
}

// hitRow is what a hit shows of its part, as it is in the database.
type hitRow struct {
	info, format, head, data []byte
	apart                    map[int64][]apartRow
	kept                     *contentRow
}

// queue asks for what a hit shows.
func (r *hitRow) queue(b *pgx.Batch, s *Store, p *place) {
	args := []any{s.tenant, p.session, p.message, p.part}
	b.Queue(`SELECT s.info, o.format, m.info, m.parts[$4::int + 1]
		FROM session AS s JOIN message AS m ON m.tenant = s.tenant AND m.session = s.num AND m.position = $3
		LEFT JOIN source AS o ON o.tenant = s.tenant AND o.session = s.num
		WHERE s.tenant = $1 AND s.num = $2`, args...).
		QueryRow(func(row pgx.Row) error { return row.Scan(&r.info, &r.format, &r.head, &r.data) })
	b.Queue(`SELECT a.message, a.part, a.field, c.size, c.codec, c.data
		FROM apart AS a LEFT JOIN content AS c ON c.tenant = a.tenant AND c.hash = a.content
		WHERE a.tenant = $1 AND a.session = $2 AND a.message = $3 AND a.part = $4`, args...).
		Query(func(rows pgx.Rows) error {
			r.apart = map[int64][]apartRow{}
			return scanApart(rows, r.apart)
		})
	b.Queue(`SELECT c.size, c.codec, c.data
		FROM message AS m JOIN kept AS k ON k.tenant = m.tenant AND k.session = m.session AND k.part = m.names[$4::int + 1]
		LEFT JOIN content AS c ON c.tenant = k.tenant AND c.hash = k.content
		WHERE m.tenant = $1 AND m.session = $2 AND m.position = $3`, args...).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				r.kept = &contentRow{}
				if err := rows.Scan(&r.kept.size, &r.kept.codec, &r.kept.data); err != nil {
					return err
				}
			}
			return rows.Err()
		})
}

// hit decodes what a hit shows. damage says why it cannot be shown.
func (s *Store) hit(p *place, r *hitRow, terms words.Query) (hit store.Hit, damage, err error) {
	hit.Score = p.score
	hit.Origin = string(r.format)
	if hit.Session, err = decoded[session.Info](r.info); err != nil {
		return hit, nil, err
	}
	h, err := headOf(r.head)
	if err != nil {
		return hit, fmt.Errorf("message %d of session %s: %w: %w", p.message+1, hit.Session.ID, store.ErrCorrupt, err), nil
	}
	part, text, err := s.shown(r.data, r.apart[p.message], r.kept)
	if err != nil {
		return hit, fmt.Errorf("message %s of session %s: %w: %w", h.ID, hit.Session.ID, store.ErrCorrupt, err), nil
	}
	words.Tell(&hit, terms, &h.MessageInfo, &part, text)
	return hit, nil, nil
}

// shown is a part, and the text that is kept for it.
func (s *Store) shown(data []byte, apart []apartRow, kept *contentRow) (p session.Part, text string, err error) {
	if data == nil {
		return p, "", errors.New("the part is gone")
	}
	if p, err = exact.Decode[session.Part](data); err != nil {
		return p, "", err
	}
	for i := range apart {
		if err := s.join(&p, &apart[i]); err != nil {
			return p, "", err
		}
	}
	if kept != nil && p.Type == session.ToolPart {
		data, err := s.unpack(kept)
		if err != nil {
			return p, "", err
		}
		text = string(data)
	}
	return p, text, nil
}

// since returns the earliest time to search. If none is given, messages without a time match too.
func since(q store.Search) float64 {
	if q.Since == 0 {
		return math.Inf(-1)
	}
	return finite(float64(q.Since))
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
	"github.com/winnowhq/winnow/store/internal/packed"
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
	var without bool
	if found.Behind, without, err = s.behind(ctx); err != nil {
		return found, err
	}
	if without {
		return words.Scan(ctx, s, q)
	}
	if found.Behind > 0 && !s.db.readOnly {
		// If somebody else is at it, the index is searched as it is.
		if err := s.index(ctx, nil); err != nil && !errors.Is(err, store.ErrLocked) {
			return found, err
		}
		if found.Behind, _, err = s.behind(ctx); err != nil {
			return found, err
		}
	}
	var places []place
	var rows []hitRow
	// Two round trips, which see one moment. A connection on which they fail is not used again.
	err = s.with(ctx, func(c *pgxpool.Conn) error {
		var b pgx.Batch
		b.Queue(beginRead)
		places, found.Total = nil, 0
		s.queuePlaces(&b, terms, q, func(p place, total int) { places, found.Total = append(places, p), total })
		if err := c.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		b = pgx.Batch{}
		rows = make([]hitRow, len(places))
		for i := range places {
			rows[i].queue(&b, s, &places[i])
		}
		b.Queue(`COMMIT`)
		return c.SendBatch(ctx, &b).Close()
	})
	if err != nil {
		return found, err
	}
	for i := range places {
		hit, damage, err := s.hit(&places[i], &rows[i], terms)
		switch {
		case err != nil:
			return found, err
		case damage != nil:
			found.Damaged = append(found.Damaged, damage)
		default:
			found.Hits = append(found.Hits, hit)
		}
	}
	return found, nil
}

// place is where a matching part is, and how well it matches.
type place struct {
	session, message int64
	part             int
	score            float64
}

// queuePlaces asks for the best matches. tell is told of each, with how many there are without a
// limit.
func (s *Store) queuePlaces(b *pgx.Batch, terms words.Query, q store.Search, tell func(p place, total int)) {
	if q.Limit <= 0 {
		q.Limit = store.DefaultLimit
	}
	args := []any{s.tenant, q.Limit}
	argument := func(v any) string { args = append(args, v); return fmt.Sprint("$", len(args)) }
	// The words are looked up in their index. Before its tables were looked through, a server may
	// take that of the tenant for more telling, which has all that the tenant has.
	where := `f.tenant || '' = $1`
	if q.Session != "" {
		where = `f.tenant = $1 AND f.session = (SELECT num FROM session
			WHERE tenant = $1 AND id = ` + argument(key(q.Session)) + `)`
	}
	if q.Product != "" {
		where += ` AND f.session IN (SELECT session FROM source
			WHERE tenant = $1 AND format = ` + argument([]byte(q.Product)) + `)`
	}
	if q.Tool != "" {
		where += ` AND f.tool = ` + argument([]byte(q.Tool))
	}
	if q.Role != "" {
		where += ` AND f.role = ` + argument([]byte(q.Role))
	}
	if q.Since != 0 {
		where += ` AND f.time >= ` + argument(packed.Finite(float64(q.Since)))
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
	where += ` AND f.words @@ ` + argument(ours) + `::text::tsquery`
	rank := argument(some)
	having := ""
	if len(queries) > 1 { // a part may be in several pieces, which have all the terms together
		for i, q := range queries {
			having += fmt.Sprintf(" AND bool_or(f.words @@ %s::text::tsquery)", argument(q))
			if i == 0 {
				having = " HAVING" + strings.TrimPrefix(having, " AND")
			}
		}
	}
	b.Queue(`
		WITH hit AS MATERIALIZED (
			SELECT f.session, f.message, f.part, max(f.time) AS time,
				sum(ts_rank('{0.1, 0.25, 0.5, 1}', f.words, `+rank+`::text::tsquery, 1))::float8 AS score
			FROM found AS f WHERE `+where+`
			GROUP BY f.session, f.message, f.part`+having+`
		)
		SELECT session, message, part, score, (SELECT count(*) FROM hit) FROM hit
		ORDER BY score DESC, time DESC, session DESC, message DESC, part DESC LIMIT $2`, args...).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var p place
				var total int
				if err := rows.Scan(&p.session, &p.message, &p.part, &p.score, &total); err != nil {
					return err
				}
				tell(p, total)
			}
			return rows.Err()
		})
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
		FROM message AS m JOIN kept AS k ON k.tenant = m.tenant AND k.session = m.session AND k.part = m.names[$4::int +
			1]
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
	if hit.Session, err = packed.Decode[session.Info](r.info); err != nil {
		return hit, nil, err
	}
	h, err := headOf(r.head)
	if err != nil {
		return hit, fmt.Errorf("message %d of session %s: %w: %w", p.message+1, hit.Session.ID, store.ErrCorrupt, err),
			nil
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

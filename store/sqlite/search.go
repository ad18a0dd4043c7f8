package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
	"github.com/winnowhq/winnow/store/internal/packed"
	"github.com/winnowhq/winnow/store/internal/words"
)

var _ store.Searcher = (*Store)(nil)

// Search finds parts. What a person or a model wrote weighs more than the input of a tool, and that
// more than its output: a word in a message is a better place to begin than its hundredth
// occurrence in a listing.
func (s *Store) Search(ctx context.Context, q store.Search) (found store.Found, err error) {
	defer s.explain(ctx, "search", q.Session, &err)
	query := words.Parse(q.Words)
	if len(query) == 0 {
		return found, store.ErrNoWord
	}
	if without, err := s.unindexed(ctx); err != nil {
		return found, err
	} else if without {
		return words.Scan(ctx, s, q)
	}
	if s.writer != nil {
		// If another process is writing, search the index as it is.
		if err := s.index(ctx, nil); err != nil && (!isBusy(err) || ctx.Err() != nil) {
			return found, err
		}
	}
	if found.Behind, err = s.behind(ctx); err != nil {
		return found, err
	}
	now, err := s.reader.now(ctx)
	if err != nil {
		return found, err
	}
	defer now.Rollback()
	var places []hitPlace
	if places, found.Total, err = findPlaces(ctx, now, query, q); err != nil {
		return found, err
	}
	read := s.parts(ctx, now)
	for _, p := range places {
		hit, damage, err := p.read(ctx, now, &read, query)
		if err != nil {
			return found, err
		}
		if damage != nil {
			found.Damaged = append(found.Damaged, damage)
		} else {
			found.Hits = append(found.Hits, hit)
		}
	}
	return found, nil
}

// hitPlace is where a matching part is, and how well it matches.
type hitPlace struct {
	num, message, part int64
	score              float64
}

// findPlaces returns the best matches, and how many there are without a limit.
func findPlaces(ctx context.Context, now *sql.Tx, query words.Query, q store.Search) (
	places []hitPlace, total int, err error,
) {
	if q.Limit <= 0 {
		q.Limit = store.DefaultLimit
	}
	rows, err := now.QueryContext(ctx, `
		WITH hit AS MATERIALIZED (
		SELECT sought.session, sought.message, sought.part, sought.time, sought.doc, -bm25(found, 4, 2, 1) AS score
		FROM found JOIN sought ON sought.doc = found.rowid
		JOIN session ON session.num = sought.session
		LEFT JOIN source ON source.session = sought.session
		WHERE found MATCH ?1 AND (?2 = '' OR session.id = ?2) AND (?3 = '' OR source.format = ?3)
			AND (?4 = '' OR sought.tool = ?4) AND (?5 = '' OR sought.role = ?5) AND sought.time >= ?6)
		SELECT session, message, part, score, (SELECT count(*) FROM hit) FROM hit
		ORDER BY score DESC, time DESC, doc DESC LIMIT ?7`,
		query.FTS5(), q.Session, q.Product, q.Tool, string(q.Role), sinceOf(q), q.Limit)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var p hitPlace
		if err := rows.Scan(&p.num, &p.message, &p.part, &p.score, &total); err != nil {
			return nil, 0, err
		}
		places = append(places, p)
	}
	return places, total, rows.Err()
}

// read reads what a hit shows of its part. damage says why it cannot be shown.
func (p hitPlace) read(ctx context.Context, now *sql.Tx, parts *partReader, query words.Query) (
	hit store.Hit, damage, err error,
) {
	hit.Score = p.score
	var info, message []byte
	err = now.QueryRowContext(ctx, `SELECT session.info, coalesce(source.format, ''), message.info
		FROM session JOIN message ON message.session = session.num LEFT JOIN source ON source.session = session.num
		WHERE session.num = ? AND message.position = ?`, p.num, p.message).Scan(&info, &hit.Origin, &message)
	if err != nil {
		return hit, nil, err
	}
	if hit.Session, err = packed.Decode[session.Info](info); err != nil {
		return hit, nil, err
	}
	h, err := exact.Decode[packed.Head](message)
	if err != nil {
		return hit, fmt.Errorf("message %d of session %s: %w: %w",
			p.message+1, hit.Session.ID, store.ErrCorrupt, err), nil
	}
	found, err := parts.some(ctx, p.num, p.message, p.part, p.part)
	if err == nil && len(found) == 0 {
		err = store.ErrCorrupt
	}
	kept := ""
	if err == nil && found[0].Type == session.ToolPart {
		kept, err = keptText(ctx, now, parts.packer, p.num, found[0].ID)
		if errors.Is(err, store.ErrNotKept) {
			err = nil
		}
	}
	if err != nil {
		corrupt := errors.Is(err, store.ErrCorrupt) && code(err) == 0
		err = fmt.Errorf("message %s of session %s: %w", h.ID, hit.Session.ID, err)
		if corrupt {
			return hit, err, nil
		}
		return hit, nil, err
	}
	words.Tell(&hit, query, &h.MessageInfo, &found[0], kept)
	return hit, nil, nil
}

// sinceOf returns the earliest time to search. If none is given, messages without a time match too.
func sinceOf(q store.Search) float64 {
	if q.Since == 0 {
		return -1e300
	}
	return packed.Finite(float64(q.Since))
}

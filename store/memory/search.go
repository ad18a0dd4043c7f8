package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/words"
)

var _ store.Searcher = (*Store)(nil)

// Index does nothing: there is no index.
func (s *Store) Index(ctx context.Context, tell func(done, all int)) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.ready(ctx, "index", "")
}

// Search reads all that there is. The score is how often it occurs.
func (s *Store) Search(ctx context.Context, q store.Search) (found store.Found, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx, "search", q.Session); err != nil {
		return found, err
	}
	query := words.Parse(q.Words)
	if len(query) == 0 {
		return found, failed("search", q.Session, store.ErrNoWord)
	}
	type place struct {
		k     *kept
		m     *session.Message
		p     *session.Part
		score int
		at    int // position of the message
	}
	var places []place
	for id, k := range s.sessions {
		if q.Session != "" && id != q.Session || q.Product != "" && (k.source == nil || k.source.Format != q.Product) {
			continue
		}
		for i := range k.messages {
			if err := ctx.Err(); err != nil {
				return found, failed("search", q.Session, err)
			}
			m := k.messages[i]
			if q.Role != "" && m.Role != q.Role || q.Since != 0 && m.Time.Created < q.Since {
				continue
			}
			for j := range m.Parts {
				if q.Tool != "" && m.Parts[j].Tool != q.Tool {
					continue
				}
				if fits, n := query.Fits(&m.Parts[j], k.texts[m.Parts[j].ID]); fits {
					places = append(places, place{k, m, &m.Parts[j], n, i})
				}
			}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.m.Time.Created, a.m.Time.Created), cmp.Compare(b.k.changed, a.k.changed),
			cmp.Compare(b.at, a.at))
	})
	found.Total = len(places)
	if q.Limit <= 0 {
		q.Limit = store.DefaultLimit
	}
	for _, p := range places[:min(len(places), q.Limit)] {
		hit := store.Hit{Session: clone(p.k.info), Score: float64(p.score)}
		if p.k.source != nil {
			hit.Origin = p.k.source.Format
		}
		words.Tell(&hit, query, &p.m.MessageInfo, p.p, p.k.texts[p.p.ID])
		found.Hits = append(found.Hits, hit)
	}
	return found, nil
}

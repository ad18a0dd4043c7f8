package words

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// How much Scan reads at most, the newest first: some seconds' worth from a database.
const (
	MostSessions = 500
	MostMessages = 5_000
	MostBytes    = 32 << 20
)

// Readable is a store for Scan to read.
type Readable interface {
	List(ctx context.Context) ([]store.Listing, error)
	Messages(ctx context.Context, id string) iter.Seq2[session.Message, error]
	store.Keeper
}

// scan is a search that reads.
type scan struct {
	from  Readable
	ask   store.Search
	query Query
	store.Scan
	bytes int
	hits  []store.Hit
	found store.Found
}

// Scan searches a store without an index: it reads the newest sessions, up to a bound. The score is
// the number of matches.
func Scan(ctx context.Context, from Readable, ask store.Search) (store.Found, error) {
	s := scan{from: from, ask: ask, query: Parse(ask.Words), Scan: store.Scan{All: true}}
	if len(s.query) == 0 {
		return s.found, store.ErrNoWord
	}
	list, err := from.List(ctx)
	if err != nil {
		return s.found, err
	}
	sessions := 0
	for _, l := range list {
		if ask.Session != "" && l.Info.ID != ask.Session || ask.Product != "" && l.Origin != ask.Product {
			continue
		}
		if sessions++; sessions > MostSessions {
			s.All = false
		}
		if !s.All {
			break
		}
		switch err := s.session(ctx, l); {
		case errors.Is(err, store.ErrNotFound): // it was deleted meanwhile
		case errors.Is(err, store.ErrCorrupt):
			s.found.Damaged = append(s.found.Damaged, err)
		case err != nil:
			return s.found, err
		}
	}
	slices.SortStableFunc(s.hits, func(a, b store.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Time, a.Time))
	})
	s.found.Total, s.found.Scan = len(s.hits), &s.Scan
	if ask.Limit <= 0 {
		ask.Limit = store.DefaultLimit
	}
	s.found.Hits = s.hits[:min(len(s.hits), ask.Limit)]
	return s.found, nil
}

// session reads one session, as far as it may.
func (s *scan) session(ctx context.Context, l store.Listing) error {
	texts := map[string]string{}
	kept, err := s.from.KeptParts(ctx, l.Info.ID)
	if err != nil {
		return err
	}
	for _, part := range kept {
		text, err := s.from.Kept(ctx, l.Info.ID, part)
		if err != nil && !errors.Is(err, store.ErrNotKept) && !errors.Is(err, store.ErrCorrupt) {
			return err
		}
		texts[part] = text
		if s.bytes += len(text); s.bytes >= MostBytes {
			s.All = false
			return nil
		}
	}
	for m, err := range s.from.Messages(ctx, l.Info.ID) {
		if err != nil {
			return fmt.Errorf("session %s: %w", l.Info.ID, err)
		}
		if s.Scan.Messages >= MostMessages || s.bytes >= MostBytes {
			s.All = false
			return nil
		}
		s.Scan.Messages++
		s.message(l, &m, texts)
	}
	return nil
}

func (s *scan) message(l store.Listing, m *session.Message, texts map[string]string) {
	wanted := (s.ask.Role == "" || m.Role == s.ask.Role) && (s.ask.Since == 0 || m.Time.Created >= s.ask.Since)
	for i := range m.Parts {
		p := &m.Parts[i]
		for _, f := range Fields(p, texts[p.ID]) {
			s.bytes += len(f.Text)
		}
		if !wanted || s.ask.Tool != "" && p.Tool != s.ask.Tool {
			continue
		}
		if fits, matches := s.query.Fits(p, texts[p.ID]); fits {
			hit := store.Hit{Session: l.Info, Origin: l.Origin, Score: float64(matches)}
			Tell(&hit, s.query, &m.MessageInfo, p, texts[p.ID])
			s.hits = append(s.hits, hit)
		}
	}
}

package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/words"
)

var (
	_ store.Filer    = (*Store)(nil)
	_ store.Keeper   = (*Store)(nil)
	_ store.Searcher = (*Store)(nil)
)

// Files returns the files that were read before, by path.
func (s *Store) Files(ctx context.Context) (map[string]store.File, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx, "files", ""); err != nil {
		return nil, err
	}
	files := maps.Clone(s.files)
	if files == nil {
		files = map[string]store.File{}
	}
	return files, nil
}

// SetFiles remembers files.
func (s *Store) SetFiles(ctx context.Context, files ...store.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx, "files", ""); err != nil {
		return err
	}
	s.setFiles(files...)
	return nil
}

func (s *Store) setFiles(files ...store.File) {
	if s.files == nil {
		s.files = map[string]store.File{}
	}
	for _, f := range files {
		s.files[f.Path] = f
	}
}

// Keep keeps a text for a part.
func (s *Store) Keep(ctx context.Context, id, part, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.find(ctx, "keep", id)
	if err != nil {
		return err
	}
	next := *k
	if next.texts = maps.Clone(k.texts); next.texts == nil {
		next.texts = map[string]string{}
	}
	next.texts[part] = text
	s.sessions[id] = &next
	return nil
}

// textsOf returns the texts that are kept for the parts of some messages.
func (k *kept) textsOf(messages []session.Message) map[string]string {
	texts := map[string]string{}
	for i := range messages {
		for j := range messages[i].Parts {
			id := messages[i].Parts[j].ID
			if text, ok := k.texts[id]; ok {
				texts[id] = text
			}
		}
	}
	return texts
}

// Kept returns the text that is kept for a part.
func (s *Store) Kept(ctx context.Context, id, part string) (string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	k, err := s.find(ctx, "kept", id)
	if err != nil {
		return "", err
	}
	text, ok := k.texts[part]
	if !ok {
		return "", failed("kept", id, store.ErrNotKept)
	}
	return text, nil
}

// KeptParts returns the ids of the parts for which texts are kept, in ascending order.
func (s *Store) KeptParts(ctx context.Context, id string) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	k, err := s.find(ctx, "kept", id)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(k.texts)), nil
}

// Index does nothing: there is no index.
func (s *Store) Index(ctx context.Context, tell func(done, all int)) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.ready(ctx, "index", "")
}

// Search reads everything. The score is the number of matches.
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
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.m.Time.Created, a.m.Time.Created),
			cmp.Compare(b.k.changed, a.k.changed),
			cmp.Compare(b.at, a.at))
	})
	found.Total = len(places)
	if q.Limit <= 0 {
		q.Limit = store.DefaultLimit
	}
	for _, p := range places[:min(len(places), q.Limit)] {
		hit := store.Hit{Session: clone(p.k.Info), Score: float64(p.score)}
		if p.k.source != nil {
			hit.Origin = p.k.source.Format
		}
		words.Tell(&hit, query, &p.m.MessageInfo, p.p, p.k.texts[p.p.ID])
		found.Hits = append(found.Hits, hit)
	}
	return found, nil
}

package memory

import (
	"context"
	"maps"

	"github.com/winnowhq/winnow/store"
)

var _ store.Keeper = (*Store)(nil)

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

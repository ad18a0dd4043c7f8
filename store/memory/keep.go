package memory

import (
	"context"
	"maps"

	"github.com/winnowhq/winnow/session"
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

// textsOf are the texts that are kept for the parts of messages.
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

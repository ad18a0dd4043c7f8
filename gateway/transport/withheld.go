package transport

import (
	"context"
	"iter"
	"sync"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/cache"
)

// Withholding is a store that does not write down what was said: of the client's messages it keeps
// ids, kinds, the names of tools, times, usage and a hash; everything else stays in memory. What
// winnow itself wrote is kept: placeholders, which name a call and its target, and summaries with
// what they quote.
//
// After a restart, or when there was no more room in memory, the client's next request has the
// texts: clients send their whole history. So decisions stand as they did, and requests have the
// same bytes as before. What a client no longer sends can no longer be read. The folder in which
// the client works is not kept either.
type Withholding struct {
	store.Store
	cache *cache.Pool

	mu   sync.Mutex
	said map[string]*said
}

// said is what was said in a session, by the ids of messages.
type said struct {
	messages map[string]kept
	memory   *cache.Entry
}

// kept is a message with its texts. hash is that of what was withheld of it, "" if nothing was.
type kept struct {
	session.Message
	hash string
}

// Withhold keeps what is said out of a store. It is at hand as long as there is room for it.
func Withhold(s store.Store, memory *cache.Pool) *Withholding {
	return &Withholding{Store: s, cache: memory, said: map[string]*said{}}
}

// Close implements store.Store.
func (w *Withholding) Close() error {
	w.mu.Lock()
	for id := range w.said {
		w.forget(id)
	}
	w.mu.Unlock()
	return w.Store.Close()
}

// Create implements store.Store.
func (w *Withholding) Create(ctx context.Context, info session.Info) error {
	err := w.Store.Create(ctx, *nameless(&info))
	if err == nil {
		w.remember(info.ID, nil, nil, true)
	}
	return err
}

// Lost implements store.Remote.
func (w *Withholding) Lost() error { return store.Lost(w.Store) }

// Once implements store.Remote.
func (w *Withholding) Once(name string, ask func(context.Context)) <-chan struct{} {
	return store.Once(w.Store, name, ask)
}

// Unwritable implements store.Writer.
func (w *Withholding) Unwritable() error { return store.Unwritable(w.Store) }

// Answered implements store.Remote.
func (w *Withholding) Answered() (reads, writes int64) { return store.Answered(w.Store) }

// Delete implements store.Store.
func (w *Withholding) Delete(ctx context.Context, id string) error {
	w.mu.Lock()
	w.forget(id)
	w.mu.Unlock()
	return w.Store.Delete(ctx, id)
}

// Apply implements store.Store.
func (w *Withholding) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	whole := append(c.Append[:len(c.Append):len(c.Append)], c.Update...)
	bare := withheld(whole)
	c.Append, c.Update, c.Source, c.File = bare[:len(c.Append)], bare[len(c.Append):], nil, nil
	c.Create, c.Info = nameless(c.Create), nameless(c.Info)
	revision, err := w.Store.Apply(ctx, id, c)
	if err == nil {
		w.remember(id, whole, bare, c.Create != nil)
	}
	return revision, err
}

// Messages implements store.Store.
func (w *Withholding) Messages(ctx context.Context, id string) iter.Seq2[session.Message, error] {
	return func(yield func(session.Message, error) bool) {
		for m, err := range w.Store.Messages(ctx, id) {
			if err == nil && m.Withheld() != "" {
				m = w.recalled(id, m)
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// Relayed implements store.Relayer.
func (w *Withholding) Relayed(
	ctx context.Context, since session.Millis, wanted func(session.Info) bool,
) ([]store.Account, error) {
	return store.Relayed(ctx, w.Store, since, wanted)
}

// Family implements store.FamilyLister.
func (w *Withholding) Family(ctx context.Context, id string) ([]session.Info, error) {
	return store.Family(ctx, w.Store, id)
}

// recalled is a message with its texts, if they are at hand.
func (w *Withholding) recalled(id string, m session.Message) session.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.said[id]; s != nil {
		if whole, ok := s.messages[m.ID]; ok && whole.hash == m.Withheld() {
			return whole.Message
		}
	}
	return m
}

// remember keeps messages at hand: of a session that begins, or of which everything is at hand.
// bare are the same without what is withheld of them.
func (w *Withholding) remember(id string, messages, bare []session.Message, begins bool) {
	if s, grown := w.added(id, messages, bare, begins); s != nil {
		s.memory.Grow(grown)
	}
}

// added is remember without making room: the session, nil if not everything of it is at hand, and
// how many bytes more it takes.
func (w *Withholding) added(id string, messages, bare []session.Message, begins bool) (s *said, grown int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s = w.said[id]; s == nil {
		if !begins {
			return nil, 0
		}
		s = &said{messages: map[string]kept{}}
		s.memory = w.cache.Add(func() { w.release(id, s) })
		w.said[id] = s
	}
	for i, m := range messages {
		if m.Withheld() != "" {
			w.forget(id)
			return nil, 0
		}
		grown += weight(&m)
		if old, ok := s.messages[m.ID]; ok {
			grown -= weight(&old.Message)
		}
		s.messages[m.ID] = kept{m, bare[i].Withheld()}
	}
	return s, grown
}

// release forgets a session, as there is no more room.
func (w *Withholding) release(id string, s *said) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.said[id] == s {
		delete(w.said, id)
	}
}

func (w *Withholding) forget(id string) {
	if s := w.said[id]; s != nil {
		s.memory.Drop()
		delete(w.said, id)
	}
}

// has reports whether everything that was said in a session is at hand.
func (w *Withholding) has(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said[id] != nil
}

// weight is about how many bytes of memory a message takes.
func weight(m *session.Message) int {
	n := 1 << 10
	for i := range m.Parts {
		p := &m.Parts[i]
		n += 1<<10 + len(p.Text) + len(p.Metadata) + len(p.URL)
		if s := p.State; s != nil {
			n += len(s.Input) + len(s.Output) + len(s.Error)
			for j := range s.Attachments {
				n += len(s.Attachments[j].URL)
			}
		}
	}
	return n
}

// withheld are messages without what the client or the model said in them.
func withheld(messages []session.Message) []session.Message {
	bare := make([]session.Message, len(messages))
	for i := range messages {
		m := &messages[i]
		bare[i] = *m
		bare[i].Path = nil // of a summary, too
		if isClients(m) && m.Withheld() == "" {
			bare[i] = m.Withhold(content(m).String())
		}
	}
	return bare
}

// nameless is the info of a session without what tells of its content and place; nil of none.
func nameless(info *session.Info) *session.Info {
	if info == nil {
		return nil
	}
	bare := *info
	bare.Title, bare.Directory = "", ""
	return &bare
}

// refill gives a session the texts again that its store does not keep: those of its first messages,
// which are the request's.
func (t *Transport) refill(ctx context.Context, id string, messages []session.Message) error {
	w, ok := t.engine.Store().(*Withholding)
	if !ok || w.has(id) {
		return nil
	}
	s, _, err := t.engine.Session(ctx, id)
	if err != nil {
		return err
	}
	said := clients(s.Messages)
	var whole, bare []session.Message
	for i := range min(len(said), len(messages)) {
		if said[i].Withheld() != "" {
			whole, bare = append(whole, known(messages[i], &said[i])), append(bare, said[i])
		}
	}
	if err := winnow.Extend(ctx, t.engine, id, nil, whole); err != nil {
		return err
	}
	if len(said) <= len(messages) {
		w.remember(id, whole, bare, true)
	}
	return nil
}

package chat

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
)

// beat is how often the screen is told what happens, at most: twenty times a second are enough for
// the eye, and little enough for a slow line.
const beat = 50 * time.Millisecond

// feed carries what happens elsewhere to the program, in order. Who tells something never waits,
// and pieces of one text that nobody took yet are joined.
type feed struct {
	mu    sync.Mutex
	items []any
	ready chan struct{} // has room for one
	taken time.Time
}

func newFeed() *feed { return &feed{ready: make(chan struct{}, 1)} }

// fedMsg is what happened since the last one: agent.Event, winnow.Event, *question.
type fedMsg []any

func (f *feed) push(item any) {
	f.mu.Lock()
	if n := len(f.items); n == 0 || !join(&f.items[n-1], item) {
		f.items = append(f.items, item)
	}
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// join puts an item into the one before it, where one says as much as two.
func join(last *any, item any) bool {
	switch b := item.(type) {
	case agent.Event:
		a, ok := (*last).(agent.Event)
		switch {
		case !ok || a.Type != b.Type || a.SessionID != b.SessionID || a.Step != b.Step:
			return false
		case b.Type == agent.Delta:
			b.Text = a.Text + b.Text
		case b.Type != agent.CallProgress || a.Part.ID != b.Part.ID:
			return false
		}
		*last = b
		return true
	case winnow.Event:
		a, ok := (*last).(winnow.Event)
		if !ok || a.Type != b.Type || a.SessionID != b.SessionID || b.Type != winnow.CompactionDelta ||
			a.Request != b.Request {
			return false
		}
		b.Text = a.Text + b.Text
		*last = b
		return true
	}
	return false
}

// take gives what happened and was not taken yet.
func (f *feed) take() fedMsg {
	f.mu.Lock()
	defer f.mu.Unlock()
	items := f.items
	f.items = nil
	return items
}

// next waits for something to happen, and a little longer where something was taken just now.
func (f *feed) next(ctx context.Context) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-f.ready:
		case <-ctx.Done():
			return nil
		}
		f.mu.Lock()
		rest := beat - time.Since(f.taken)
		f.mu.Unlock()
		if rest > 0 {
			select {
			case <-time.After(rest):
			case <-ctx.Done():
				return nil
			}
		}
		f.mu.Lock()
		f.taken = time.Now()
		f.mu.Unlock()
		return f.take()
	}
}

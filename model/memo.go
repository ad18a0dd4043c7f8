package model

import "sync"

// Memo looks models up in a catalogue and remembers what it found, for programs that ask for the
// same few with every request. It is safe for concurrent use. The catalogue must not be changed any
// more.
type Memo struct {
	catalogue *Catalogue

	mu    sync.Mutex
	found map[string]Model
}

// mostFound is how many names a Memo remembers: names come from requests, and anybody may make some
// up.
const mostFound = 256

// Memo returns a new Memo of the catalogue.
func (c *Catalogue) Memo() *Memo { return &Memo{catalogue: c, found: map[string]Model{}} }

// Lookup is Catalogue.Lookup. What is inside the model is shared and must not be changed.
func (m *Memo) Lookup(name string) Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, known := m.found[name]
	if !known {
		if len(m.found) >= mostFound {
			clear(m.found)
		}
		found = m.catalogue.Lookup(name)
		m.found[name] = found
	}
	return found
}

package upstream

import (
	"slices"
	"sync"
)

// remembered is how many conversations a client remembers, newest first: those of an agent and of the agents that work for it. An encoder is about
// twice as large as its body.
const remembered = 8

// Encoders keeps an encoder for each of the newest conversations, so that what was written down of them is not written again. The zero value
// keeps none. It is safe for concurrent use.
type Encoders[E any] struct {
	mu   sync.Mutex
	kept []kept[E] // newest first
}

type kept[E any] struct {
	conversation string
	encoder      *E
}

// Take hands out the encoder of a conversation, to one caller at a time: another one gets a new one, and so does a conversation without name.
func (k *Encoders[E]) Take(conversation string) *E {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, one := range k.kept {
		if one.conversation == conversation {
			k.kept = slices.Delete(k.kept, i, i+1)
			return one.encoder
		}
	}
	return new(E)
}

// Keep takes an encoder back.
func (k *Encoders[E]) Keep(conversation string, encoder *E) {
	if conversation == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = slices.DeleteFunc(k.kept, func(one kept[E]) bool { return one.conversation == conversation })
	k.kept = slices.Insert(k.kept, 0, kept[E]{conversation, encoder})
	if len(k.kept) > remembered {
		k.kept = slices.Delete(k.kept, remembered, len(k.kept))
	}
}

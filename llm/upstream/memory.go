package upstream

import (
	"slices"
	"sync"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/wire"
)

// remembered is how many conversations a client remembers: those of an agent and of the agents that
// work for it. What is remembered of a conversation is about twice as large as its body.
const remembered = 8

// Memory keeps what was written down of the newest conversations, so that it is not written again.
// The zero value keeps nothing. It is safe for concurrent use.
type Memory struct {
	mu   sync.Mutex
	kept []kept // newest first
}

type kept struct {
	conversation string
	elements     *wire.Elements
}

// Encode writes a request down in a form. Of several requests that are written at once in one
// conversation, all but one are written anew. So are those without a conversation.
func (m *Memory) Encode(r llm.Request, o wire.Options, form *wire.Form) (wire.Body, error) {
	known := m.take(r.Conversation)
	body, err := known.Encode(r.Messages, o, form)
	m.keep(r.Conversation, known)
	return body, err
}

func (m *Memory) take(conversation string) *wire.Elements {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, one := range m.kept {
		if one.conversation == conversation {
			m.kept = slices.Delete(m.kept, i, i+1)
			return one.elements
		}
	}
	return new(wire.Elements)
}

func (m *Memory) keep(conversation string, elements *wire.Elements) {
	if conversation == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = slices.DeleteFunc(m.kept, func(one kept) bool { return one.conversation == conversation })
	m.kept = slices.Insert(m.kept, 0, kept{conversation, elements})
	m.kept = slices.Delete(m.kept, min(len(m.kept), remembered), len(m.kept))
}

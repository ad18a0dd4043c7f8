package rpc

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// View is what the model is to be sent now.
type View struct {
	Of
	// As is the format of the messages.
	As string `json:"as,omitzero"`
	// Since is the State of the view that the client has: only what differs from it is sent. ""
	// asks for the whole view, and so does a state that the server does not have any more.
	Since string `json:"since,omitzero"`
}

// Viewed is a view, or the end of one.
type Viewed struct {
	As string `json:"as"`
	// Model is who reads it, "provider/id".
	Model string `json:"model"`
	// Tokens is the size of the whole view by the session's counter, without system prompt and
	// tools.
	Tokens int `json:"tokens"`
	// Keep is how many messages of the view that the client has begin this one; Messages come
	// behind them. It is 0 for a whole view.
	Keep int `json:"keep"`
	// Messages are what a request body has in that format.
	Messages []jsontext.Value `json:"messages"`
	// State names this view, for Since.
	State string `json:"state"`
}

// text is the view as JSON. Its messages are JSON already, and many: they are not looked at again.
func (v Viewed) text() (jsontext.Value, error) {
	type head Viewed // without this method
	messages := v.Messages
	v.Messages = []jsontext.Value{}
	text, err := write(head(v))
	before, after, _ := bytes.Cut(text, []byte(`"messages":[]`)) // within a text its quotes are escaped
	return slices.Concat(before, []byte(`"messages":`), span.Array(messages), after), err
}

// viewer is what a client has seen of a session in one format. Requests of one session come one
// after the other, so that it needs no lock.
type viewer struct {
	elements wire.Elements
	last     []jsontext.Value
	state    string
}

// maxViewers is how many views are remembered: each is as large as its request bodies.
const maxViewers = 64

// views are those that the client has been sent.
type views struct {
	boot  string // tells the states of this process from those of an earlier one
	count atomic.Int64

	mu      sync.Mutex
	viewers map[string]*viewer
	readers map[string]string // the model of the newest view, by session
}

// viewer returns what is known of a view; after maxViewers others it begins anew.
func (vs *views) viewer(session, reader string, f *format) *viewer {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if len(vs.readers) > 100*maxViewers {
		clear(vs.readers)
	}
	vs.readers[session] = reader
	key := f.name + " " + session
	v := vs.viewers[key]
	if v == nil {
		for other := range vs.viewers {
			if len(vs.viewers) < maxViewers {
				break
			}
			delete(vs.viewers, other)
		}
		v = &viewer{}
		vs.viewers[key] = v
	}
	return v
}

// reader is the model of the newest view of a session, if there was one.
func (vs *views) reader(session string) (name string, ok bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	name, ok = vs.readers[session]
	return name, ok
}

func (s *Server) view(c *call, p View) (Viewed, error) {
	f, err := formatOf(p.As)
	if err != nil {
		return Viewed{}, err
	}
	now, err := s.engine.View(c.ctx, p.Session)
	if err != nil {
		return Viewed{}, err
	}
	provider, id, _ := strings.Cut(now.Model, "/")
	v := s.views.viewer(p.Session, now.Model, f)
	body, err := v.elements.Encode(now.Messages, wire.Options{Provider: provider, Model: id}, f.Form)
	if err != nil {
		return Viewed{}, err
	}
	viewed := Viewed{As: f.name, Model: now.Model, Tokens: now.Tokens}
	if p.Since != "" && p.Since == v.state {
		viewed.Keep = common(v.last, body.Elements)
	}
	if viewed.Keep < len(body.Elements) || len(v.last) != len(body.Elements) || v.state == "" {
		v.state = fmt.Sprint(s.views.boot, s.views.count.Add(1))
	}
	v.last = body.Elements
	viewed.Messages, viewed.State = body.Elements[viewed.Keep:], v.state
	return viewed, nil
}

// common is how many elements two lists begin with alike. What was written down once is the same
// memory.
func common(a, b []jsontext.Value) int {
	n := 0
	for n < min(len(a), len(b)) && (same(a[n], b[n]) || bytes.Equal(a[n], b[n])) {
		n++
	}
	return n
}

func same(a, b jsontext.Value) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

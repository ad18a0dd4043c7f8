package opencodeserver

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/text/span"
)

// Outcome says what became of a change.
type Outcome struct {
	URL     string   `json:"url"`     // its address
	Version string   `json:"version"` // the version of OpenCode
	Applied []string `json:"applied"` // ids of the parts whose marks are now as requested
	// Ids of the messages that were removed: those of a compaction that was undone.
	Removed []string `json:"removed"`
	// The parts and messages that are as they were. The exit code is then 4; the command can be run
	// again.
	Left []Left `json:"left"`
}

// Left is a part whose marks are as they were, or a message that is still there.
type Left struct {
	Part    string `json:"part,omitzero"`    // id of the part
	Message string `json:"message,omitzero"` // id of the message
	Reason  string `json:"reason"`           // the reason, a sentence
}

// Untried is the reason of what comes after an error that is not about one part alone.
const Untried = "not tried after that"

// What names the part or the message.
func (l Left) What() string { return cmp.Or(l.Part, l.Message) }

// Apply makes a session on the server what a change makes of it, except for messages that it adds:
// one part after the other, each read before, so that nothing but its marks changes, and read again
// after; then the messages that it removes. What is so already counts as done, so that Apply may be
// repeated. A part that is another one by now is left; after an error that is not about one part
// alone, all that follows is.
func (s *Server) Apply(ctx context.Context, d opencode.Delta) Outcome {
	o := Outcome{URL: s.URL, Version: s.Version, Applied: []string{}, Removed: []string{}, Left: []Left{}}
	stopped := false
	try := func(done *[]string, what Left, do func() error) {
		err := errors.New(Untried)
		if !stopped {
			err = do()
		}
		if err == nil {
			*done = append(*done, what.What())
			return
		}
		stopped = stopped || fatal(err)
		what.Reason = err.Error()
		o.Left = append(o.Left, what)
	}
	for _, m := range d.Markings {
		try(&o.Applied, Left{Part: m.Part}, func() error { return s.mark(ctx, d.Session, m) })
	}
	// The marker of a compaction goes first: one without a summary asks the product for a new one.
	for _, id := range d.Removed {
		try(&o.Removed, Left{Message: id}, func() error {
			_, err := s.call(ctx, http.MethodDelete, path("session", d.Session, "message", id), nil)
			return err
		})
	}
	return o
}

// one is an error about one part alone.
type one struct{ error }

var (
	errGone    = one{errors.New("the message has no such part any more")}
	errChanged = one{errors.New("the part was changed meanwhile")}
	errIgnored = one{errors.New("the server accepted the mark and did not keep it")}
)

func (s *Server) mark(ctx context.Context, session string, m opencode.Marking) error {
	had, err := s.part(ctx, session, m)
	if err != nil {
		return err
	}
	marked, ok := m.On(had)
	switch {
	case !ok:
		return errChanged
	case opencode.SameJSON(had, marked):
		return nil
	}
	at := path("session", session, "message", m.InMessage, "part", m.ID)
	if _, err := s.call(ctx, http.MethodPatch, at, marked); err != nil {
		return err
	}
	// It answers with what it was sent, also if it has no such message.
	has, err := s.part(ctx, session, m)
	if err == nil && !opencode.SameJSON(has, marked) {
		err = errIgnored
	}
	return err
}

// part is a part as the server has it now.
func (s *Server) part(ctx context.Context, session string, m opencode.Marking) ([]byte, error) {
	message, err := s.call(ctx, http.MethodGet, path("session", session, "message", m.InMessage), nil)
	if err != nil {
		return nil, err
	}
	for at := range span.Values(message, span.Find(message, span.All(message), "parts")) {
		if part := at.Of(message); span.String(span.Get(part, "id")) == m.ID {
			return part, nil
		}
	}
	return nil, errGone
}

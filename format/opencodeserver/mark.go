package opencodeserver

import (
	"context"
	"errors"
	"net/http"

	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/span"
)

// Outcome says what became of markings.
type Outcome struct {
	URL     string   `json:"url"`
	Version string   `json:"version"` // of OpenCode
	Applied []string `json:"applied"` // the parts that are marked as was asked for now
	Left    []Left   `json:"left"`    // the others
}

// Left is a part whose marks are as they were.
type Left struct {
	Part   string `json:"part"`
	Reason string `json:"reason"`
}

// Mark makes the parts of a session on the server what a change makes of them: one after the other,
// each read before, so that nothing but its marks changes, and read again after. A part that is so
// already counts as applied, so that Mark may be repeated. A part that is another one by now is
// left; after an error that is not about one part alone, all that follow are.
func (s *Server) Mark(ctx context.Context, d opencode.Delta) Outcome {
	o := Outcome{URL: s.URL, Version: s.Version, Applied: []string{}, Left: []Left{}}
	var stopped error
	for _, m := range d.Markings {
		err := stopped
		if err == nil {
			err = s.mark(ctx, d.Session, m)
		}
		switch {
		case err == nil:
			o.Applied = append(o.Applied, m.Part)
			continue
		case stopped != nil:
			err = errors.New("not tried after that")
		case fatal(err):
			stopped = err
		}
		o.Left = append(o.Left, Left{Part: m.Part, Reason: err.Error()})
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

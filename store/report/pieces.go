package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Piece is one text of a part: as the log has it, and as the model is shown it.
type Piece struct {
	Field rule.Field `json:"field"` // the field of the part, as in an elision
	Log   string     `json:"log"`   // the text as in the log
	// The text as the model sees it, or would see it if it were not folded.
	Shown string `json:"shown"`
	// The text as the model would see it if the candidates were committed.
	Would string `json:"would"`
}

// Pieces are the texts of a part that a model reads, with what elisions that stand and candidates
// make of each. Of attachments, names and types are given, one on a line.
func Pieces(p *session.Part, elisions, candidates []rule.Elision) []Piece {
	shown, stays := applied(*p, elisions)
	would, remains := shown, stays
	if stays {
		would, remains = applied(shown, candidates)
	}
	pieces := []Piece{}
	for _, field := range fieldsOf(p) {
		one := Piece{Field: field, Log: pieceOf(p, field)}
		if stays {
			one.Shown = pieceOf(&shown, field)
		}
		if remains {
			one.Would = pieceOf(&would, field)
		}
		if one.Log+one.Shown+one.Would != "" {
			pieces = append(pieces, one)
		}
	}
	return pieces
}

// applied is a part once elisions were applied; stays is false when nothing of it is left.
func applied(p session.Part, elisions []rule.Elision) (_ session.Part, stays bool) {
	for _, el := range elisions {
		if p, stays = view.Apply(p, el); !stays {
			return p, false
		}
	}
	return p, true
}

func fieldsOf(p *session.Part) []rule.Field {
	switch {
	case p.Type == session.FilePart:
		return []rule.Field{rule.Attachments}
	case p.Type != session.ToolPart:
		return []rule.Field{rule.Text}
	case p.State == nil:
		return nil
	case p.State.Status == session.Failed:
		return []rule.Field{rule.Input, rule.Error, rule.Attachments}
	}
	return []rule.Field{rule.Input, rule.Output, rule.Attachments}
}

func pieceOf(p *session.Part, field rule.Field) string {
	switch {
	case field == rule.Input:
		return string(p.State.Input)
	case field == rule.Output || field == rule.Error:
		return p.State.Result()
	case field == rule.Attachments && p.State != nil:
		names := make([]string, len(p.State.Attachments))
		for i := range p.State.Attachments {
			names[i] = fileName(&p.State.Attachments[i])
		}
		return strings.Join(names, "\n")
	case p.Type == session.FilePart:
		return fileName(p)
	case p.Type == session.SubtaskPart:
		return p.Prompt
	}
	return p.Text
}

func fileName(p *session.Part) string { return strings.TrimSpace(p.Filename + " " + p.Mime) }

// Whole is all that the log has of a part, whatever the model is shown of it.
type Whole struct {
	Handle string
	Part   session.Part
	Target string // what the call was about
	// Text is the result of a call, or the text of another part.
	Text string
	// Kept says that Text was kept beside the log, because all of it was too long to be sent.
	Kept bool
	// Elided are the fields of which the model is shown less, or nothing.
	Elided []rule.Field
}

// Read returns the whole of the part named: by its id, its call's id or its handle.
func Read(name string) func(*Session) (Whole, error) {
	return func(s *Session) (Whole, error) {
		m, p := Find(s.Log, s.Handles, name)
		if p != nil && m.Withheld() != "" {
			return Whole{}, &Missing{Op: "read", Withheld: true, What: "text of " + rule.Shorten(name, 40) +
				" in the store: gateway.capture was \"none\" when it was said; the agent's own session has it"}
		}
		if p == nil {
			what := "part " + rule.Shorten(name, 40)
			if near := s.Handles.Near(name); near != "" {
				what += fmt.Sprintf(" (%s is almost the same)", near)
			}
			return Whole{}, &Missing{Op: "read", What: what}
		}
		w := Whole{Handle: s.Handles.Of(p), Part: *p, Target: s.Facts.Target(p), Text: p.Text}
		if p.State != nil {
			state := *p.State
			state.Attachments = slices.Clone(state.Attachments)
			w.Part.State, w.Text = &state, state.Result()
		}
		for _, el := range s.State.Ledger.Of(p.ID) {
			w.Elided = append(w.Elided, el.Field)
		}
		return w, nil
	}
}

// Files names what of a part is no text, with its type.
func (w Whole) Files() (names []string) {
	if w.Part.Type == session.FilePart {
		return []string{fileName(&w.Part)}
	}
	if s := w.Part.State; s != nil {
		for i := range s.Attachments {
			names = append(names, fileName(&s.Attachments[i]))
		}
	}
	return names
}

// Everything is what there is to read of a part: its text, and before it the arguments of a call
// where they were left out.
func (w Whole) Everything() string {
	if w.Part.State == nil || !slices.Contains(w.Elided, rule.Input) {
		return w.Text
	}
	var b strings.Builder
	members := map[string]string{}
	for name, value := range call.Members(w.Part.State.Input) {
		members[name] = string(value)
		if value.Kind() == '"' {
			members[name] = span.String(value)
		}
	}
	if len(members) == 0 {
		members["arguments"] = string(w.Part.State.Input)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		fmt.Fprintf(&b, "[argument %s]\n%s\n", name, strings.TrimSuffix(members[name], "\n"))
	}
	b.WriteString("[result]\n" + w.Text)
	return b.String()
}

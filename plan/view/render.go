package view

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Render applies a ledger to a window: the messages that the model is sent. Nothing of the log is
// changed, and messages that no elision concerns share their parts with it.
//
// Left out are markers that no summary answers, summaries that are not complete, calls of which
// neither input nor outcome is known, and messages of which nothing is left. Each message is
// rendered from itself and the ledger alone, so that the rendering of a longer window begins with
// that of the shorter one. What a user message says to people about its turn is left out too.
func Render(window []session.Message, ledger rule.Ledger) []session.Message {
	rendered := make([]session.Message, 0, len(window))
	for i := range window {
		m := window[i]
		if m.IsSummary() && (!m.Completes() || len(m.Parts) == 0) || m.Marker() != nil && !answered(window[i:]) {
			continue
		}
		if touched(&m, ledger) {
			if m.Parts = elide(m.Parts, ledger); len(m.Parts) == 0 {
				continue
			}
		}
		if slices.ContainsFunc(m.Parts, stateless) {
			if m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), stateless); len(m.Parts) == 0 {
				continue
			}
		}
		if m.Role == session.User {
			m.Summary = nil
		}
		rendered = append(rendered, m)
	}
	return rendered
}

// stateless reports whether a part is a call without state: a damaged file has such.
func stateless(p session.Part) bool { return p.Type == session.ToolPart && p.State == nil }

// answered reports whether the first message, a marker, is followed by its summary, and that has an
// answer. In a window that can only be the next one. A summary without one is that of a compaction
// that another program composed of messages: it hides the past, and nothing is asked.
func answered(rest []session.Message) bool {
	return len(rest) > 1 && rest[1].Completes() && rest[1].ParentID == rest[0].ID && len(rest[1].Parts) > 0
}

func touched(m *session.Message, ledger rule.Ledger) bool {
	for j := range m.Parts {
		if ledger.Touches(m.Parts[j].ID) {
			return true
		}
	}
	return false
}

func elide(parts []session.Part, ledger rule.Ledger) []session.Part {
	shown := make([]session.Part, 0, len(parts))
	for _, p := range parts {
		stays := true
		for _, e := range ledger.Of(p.ID) {
			if p, stays = Apply(p, e); !stays {
				break
			}
		}
		if stays {
			shown = append(shown, p)
		}
	}
	return shown
}

// Apply shows less of a part, as an elision says; stays is false when nothing of it is left. The
// part itself is not changed.
func Apply(p session.Part, e rule.Elision) (shown session.Part, stays bool) {
	if p.State != nil {
		state := *p.State
		p.State = &state
	}
	switch {
	case e.Field == rule.Whole && p.Type == session.ToolPart && p.State != nil:
		// A call cannot vanish alone: what is left is the shortest call with the shortest result.
		p.State.Input, p.State.Attachments = jsontext.Value(`{}`), nil
		setResult(p.State, e.Shown)
	case e.Field == rule.Whole || e.Field == rule.Attachments && p.Type == session.FilePart:
		if e.Shown == "" {
			return p, false
		}
		p = session.Part{ID: p.ID, SessionID: p.SessionID, MessageID: p.MessageID, Type: session.TextPart,
			Text: e.Shown, Synthetic: true}
	case e.Field == rule.Text && p.Type == session.ReasoningPart:
		return p, false // reasoning is signed: all of it or nothing
	case e.Field == rule.Text:
		p.Text = e.Shown
	case p.State == nil:
	case e.Field == rule.Output || e.Field == rule.Error:
		setResult(p.State, e.Shown)
		p.State.Attachments = nil
	case e.Field == rule.Attachments:
		p.State.Attachments = nil
		text := e.Shown
		if result := p.State.Result(); result != "" {
			text = result + "\n" + e.Shown
		}
		setResult(p.State, text)
	case e.Field == rule.Input:
		p.State.Input = object(e.Shown)
	}
	return p, true
}

// setResult replaces what a call gave back. Providers refuse a result that is nothing.
func setResult(s *session.ToolState, text string) {
	if text == "" {
		text = rule.Cleared
	}
	if s.Status == session.Failed {
		s.Error = text
	} else {
		s.Output = text
	}
}

// object is the text itself where it is a JSON object, else an object that holds it.
func object(text string) jsontext.Value {
	if v := jsontext.Value(text); v.IsValid() && v.Kind() == '{' {
		return v
	}
	held, err := json.Marshal(map[string]string{"elided": text}, session.ReadOptions())
	if err != nil {
		return jsontext.Value(`{}`)
	}
	return held
}

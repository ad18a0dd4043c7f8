package body

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// window is what a body holds of a changed session: the summary of the latest pivot and what is shown after it.
type window struct {
	summary string // "" without a pivot
	// messages that are shown, oldest first: the tail, then what follows the summary.
	messages []session.Message
}

// windowOf finds the latest completed pivot of a change that was not undone. Without one everything is shown but
// what was undone.
func windowOf(c format.Change) window {
	all := remaining(c)
	for i := len(all) - 1; i >= 0; i-- {
		if !all[i].Completes() {
			continue
		}
		at := session.Index(all[:i], all[i].ParentID)
		if at < 0 || all[at].Marker() == nil {
			continue
		}
		w := window{summary: summaryText(&all[i])}
		if tail := session.Index(all[:at], all[at].Marker().TailStartID); tail >= 0 {
			w.messages = append(w.messages, all[tail:at]...)
		}
		w.messages = append(w.messages, all[at+1:i]...)
		w.messages = append(w.messages, all[i+1:]...)
		return w
	}
	return window{messages: all}
}

func summaryText(m *session.Message) string {
	var texts []string
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == session.TextPart && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// The summary is the user's message in a body, in a tag that tells readers that no user wrote it.
const openSummary, closeSummary = "<conversation-summary>\n", "\n</conversation-summary>"

func summaryMessage(text string) session.Message {
	return session.Message{
		MessageInfo: session.MessageInfo{ID: "summary", Role: session.User},
		Parts:       []session.Part{{ID: "summary:0", Type: session.TextPart, Text: openSummary + text + closeSummary, Synthetic: true}},
	}
}

// remaining leaves out what was undone: markers, their summaries, and what the engine appended with them.
func remaining(c format.Change) []session.Message {
	if len(c.Undone) == 0 {
		return c.Session.Messages
	}
	return slices.DeleteFunc(slices.Clone(c.Session.Messages), func(m session.Message) bool {
		return c.Undone[m.ID] || m.IsSummary() && c.Undone[m.ParentID] || c.Undone[m.Companion()]
	})
}

// apply renders the elisions of a ledger into messages, for those that have to be encoded. The messages themselves stay as they are.
func apply(messages []session.Message, ledger rule.Ledger) []session.Message {
	if ledger.Len() == 0 {
		return messages
	}
	shown := slices.Clone(messages)
	for i := range shown {
		parts := shown[i].Parts
		if !slices.ContainsFunc(parts, func(p session.Part) bool { return ledger.Touches(p.ID) }) {
			continue
		}
		shown[i].Parts = make([]session.Part, 0, len(parts))
		for _, p := range parts {
			if q, ok := elide(p, ledger.Of(p.ID)); ok {
				shown[i].Parts = append(shown[i].Parts, q)
			}
		}
	}
	return shown
}

// elide returns a part with elisions applied; ok is false when nothing of it is left. A call is never taken out, only emptied.
func elide(p session.Part, elisions []rule.Elision) (session.Part, bool) {
	if p.State != nil {
		state := *p.State
		p.State = &state
	}
	for _, e := range elisions {
		switch {
		case p.Type == session.ToolPart && p.State == nil:
		case p.Type == session.ToolPart && e.Field == rule.Input:
			p.State.Input = inputJSON(e.Shown)
		case p.Type == session.ToolPart && e.Field == rule.Attachments:
			p.State.Attachments = nil
			p.State.Output = joined(p.State.Output, e.Shown)
		case p.Type == session.ToolPart && p.State.Status == session.Failed:
			p.State.Error = placeholder(e.Shown)
		case p.Type == session.ToolPart:
			p.State.Output, p.State.Attachments = placeholder(e.Shown), nil
		case e.Shown == "" || p.Type == session.ReasoningPart: // reasoning is signed: all of it or nothing
			return p, false
		default:
			p = session.Part{ID: p.ID, MessageID: p.MessageID, SessionID: p.SessionID, Type: session.TextPart, Text: e.Shown, Synthetic: p.Synthetic}
		}
	}
	return p, true
}

// placeholder is what stands for a result: never nothing, which providers refuse.
func placeholder(shown string) string {
	if shown == "" {
		return rule.Cleared
	}
	return shown
}

func joined(text, line string) string {
	if text == "" || line == "" {
		return text + line
	}
	return text + "\n" + line
}

// inputJSON is what stands for arguments: JSON objects as they are, anything else as the member "input" of one.
func inputJSON(shown string) jsontext.Value {
	v := jsontext.Value(shown)
	if v.Kind() == '{' && v.IsValid(session.ReadOptions()) {
		return v
	}
	if shown == "" {
		return jsontext.Value(`{}`)
	}
	return slices.Concat(jsontext.Value(`{"input":`), quote(shown), jsontext.Value(`}`))
}

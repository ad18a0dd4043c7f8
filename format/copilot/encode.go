package copilot

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// newEvent is an event as it is written, its members in the product's order.
type newEvent struct {
	Type      string         `json:"type"`
	Data      jsontext.Value `json:"data"`
	ID        string         `json:"id"`
	Timestamp string         `json:"timestamp"`
	Parent    jsontext.Value `json:"parentId"`
	Winnow    *entries.Mark  `json:"winnow,omitzero"`
}

// events writes a message: one of the user's as an event, an answer as an event for every step,
// each followed by the results of its calls.
func events(m *session.Message) []newEvent {
	var made []newEvent
	var at []int
	switch {
	case m.Role == session.User && m.Marker() == nil:
		made, at = asking(m)
	case m.Role == session.Assistant && !m.IsSummary():
		made, at = answering(m)
	}
	if len(made) == 0 { // the product has no form for it
		return []newEvent{{Type: keptEvent, Data: []byte("{}"), Winnow: &entries.Mark{Message: m}}}
	}
	first := &entries.Mark{}
	first.Message, first.From = jsonl.Without(m, nativeParts(made), at)
	made[0].Winnow = first
	return made
}

// asking writes a message in the user's name. at holds the position of each part among those that
// the event gives, -1 for one that it does not give.
func asking(m *session.Message) (made []newEvent, at []int) {
	var texts []string
	var files [][]byte
	at = slices.Repeat([]int{-1}, len(m.Parts))
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Type == session.TextPart && !p.Ignored && p.Text != "":
			texts = append(texts, p.Text)
			at[i] = 0
		case p.Type == session.FilePart:
			mime, data, ok := jsonl.Inline(p)
			if !ok {
				texts = append(texts, "[File: "+strings.TrimSpace(p.Filename+" "+p.Mime)+"]")
				continue
			}
			at[i] = len(files) + 1
			files = append(files, span.Make("type", "blob", "data", data, "mimeType", mime, "displayName", p.Filename))
		}
	}
	if len(texts) == 0 && len(files) == 0 {
		return nil, at
	}
	text := strings.Join(texts, "\n\n")
	shift := 0
	if text == "" {
		shift = 1
	}
	for i := range at {
		switch {
		case at[i] > 0:
			at[i] -= shift
		case at[i] == 0 && len(texts) > 1:
			at[i] = -1 // the event has them in one
		}
	}
	var data span.Object
	data.With("content", text, "transformedContent", text)
	if len(files) > 0 {
		data.Raw("attachments", span.Array(files))
	}
	if !m.Written() {
		data.Add("source", "winnow")
	}
	return []newEvent{{Type: "user.message", Data: data.Bytes()}}, at
}

// step is what one request gave.
type step struct {
	thought, opaque string
	texts           []string
	calls           [][]byte
	results         []newEvent
}

// answering writes an answer. at holds the position of each part among those that its events give,
// -1 for one that they do not give.
func answering(m *session.Message) (made []newEvent, at []int) {
	steps := []step{{}}
	given := 0
	for i := range m.Parts {
		p := &m.Parts[i]
		at = append(at, -1)
		now := &steps[len(steps)-1]
		switch p.Type {
		case session.StepStartPart:
			if len(now.texts)+len(now.calls) > 0 || now.thought != "" {
				steps = append(steps, step{})
			}
			continue
		case session.ReasoningPart:
			if now.thought != "" || len(now.texts)+len(now.calls) > 0 || p.Text == "" {
				continue // the event has room for one, before what was said
			}
			now.thought, now.opaque = p.Text, signature(p)
		case session.TextPart:
			if p.Ignored || p.Text == "" {
				continue
			}
			if now.texts = append(now.texts, p.Text); len(now.texts) > 1 || len(now.calls) > 0 {
				continue // the event has them in one, before its calls
			}
		case session.ToolPart:
			if p.State == nil {
				continue
			}
			now.calls = append(now.calls, span.Make("toolCallId", p.CallID, "name", p.Tool, "arguments",
				jsonl.Input(p.State), "type", "function"))
			if p.State.Final() {
				now.results = append(now.results, ended(p))
			}
		default:
			continue
		}
		at[i] = given
		given++
	}
	return stepEvents(m, steps), at
}

// stepEvents writes the steps of an answer.
func stepEvents(m *session.Message, steps []step) (made []newEvent) {
	for i := range steps {
		s := &steps[i]
		var data span.Object
		data.With("messageId", jsonl.UUID(m.ID+"/answer"), "model", m.ModelID, "content", strings.Join(s.texts, "\n\n"),
			"toolRequests", span.Array(s.calls))
		if s.thought != "" {
			data.Add("reasoningText", s.thought)
		}
		if s.opaque != "" {
			data.Add("reasoningOpaque", s.opaque)
		}
		made = append(made, newEvent{Type: "assistant.message", Data: data.Bytes()})
		if i > 0 {
			made[len(made)-1].Winnow = &entries.Mark{Of: m.ID}
		}
		made = append(made, s.results...)
	}
	return made
}

// signature is what the provider wants back of a reasoning part.
func signature(p *session.Part) string {
	var about struct {
		Signature string `json:"signature"`
	}
	_ = json.Unmarshal(p.Metadata, &about, session.ReadOptions()) // there may be none
	return about.Signature
}

// ended is the end of a call.
func ended(p *session.Part) newEvent {
	var data span.Object
	data.Add("toolCallId", p.CallID)
	if p.State.Status == session.Failed {
		data.With("success", false, "error", span.Make("message", p.State.Error, "code", "failure"))
		return newEvent{Type: "tool.execution_complete", Data: data.Bytes()}
	}
	var result span.Object
	result.Add("content", p.State.Output)
	var files [][]byte
	for i := range p.State.Attachments {
		f := &p.State.Attachments[i]
		if head, text, ok := strings.Cut(f.URL, ";base64,"); ok {
			mime := strings.TrimPrefix(head, "data:")
			files = append(files, span.Make("type", "image", "data", text, "mimeType", mime))
		}
	}
	if len(files) > 0 {
		result.Raw("binaryResultsForLlm", span.Array(files))
	}
	data.With("success", true, "result", result.Bytes())
	return newEvent{Type: "tool.execution_complete", Data: data.Bytes()}
}

// nativeParts are the parts that events give when they are read without their marks.
func nativeParts(made []newEvent) []session.Part {
	var text []byte
	for i, e := range made {
		e.ID = "m"
		if i > 0 {
			e.ID = jsonl.UUID(e.Type)
		}
		if e.Winnow != nil {
			e.Winnow = &entries.Mark{Of: "m"}
		}
		text = append(append(text, jsonl.Marshal(e)...), '\n')
	}
	doc, err := Format{}.Read(text)
	if err != nil || len(doc.Session.Messages) == 0 {
		return nil
	}
	return doc.Session.Messages[0].Parts
}

// compacting is the event of a compaction with its summary.
func compacting(marker, summary *session.Message) newEvent {
	texts, native, at := entries.Texts(summary)
	if len(texts) != 1 {
		native = nil // the event has them in one
	}
	note := &entries.Mark{}
	note.Fold(marker, summary, native, at)
	return newEvent{Type: completeEvent, Winnow: note,
		Data: span.Make("success", true, "summaryContent", strings.Join(texts, "\n\n"), "trigger", "manual")}
}

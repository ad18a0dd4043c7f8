package gemini

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Slot is what a part of a content is in the log: a part, its result, or a picture beside the
// result. The zero value is for what is not in the log.
type Slot struct {
	Part   string // id
	Result bool
	Beside bool // a picture of the result
}

// Piece is a part as it is written.
type Piece struct {
	Raw []byte
	Slot
}

// Raws are the parts of pieces.
func Raws(pieces []Piece) [][]byte {
	var raws [][]byte
	for i := range pieces {
		raws = append(raws, pieces[i].Raw)
	}
	return raws
}

// Slots are the slots of pieces.
func Slots(pieces []Piece) []Slot {
	var slots []Slot
	for i := range pieces {
		slots = append(slots, pieces[i].Slot)
	}
	return slots
}

// Asked writes what a user message says to the model.
func Asked(m *session.Message) (pieces []Piece) {
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Type == session.TextPart && !p.Ignored && p.Text != "":
			pieces = append(pieces, Piece{Text(p.Text), Slot{Part: p.ID}})
		case p.Type == session.FilePart:
			pieces = append(pieces, Piece{file(p), Slot{Part: p.ID}})
		}
	}
	return pieces
}

// Answered writes what an answer says, and the results of its calls. name gives a call the id that
// it has in the file.
func Answered(m *session.Message, name func(*session.Part) string) (said, results []Piece) {
	for i := range m.Parts {
		p := &m.Parts[i]
		var raw []byte
		switch {
		case p.Type == session.TextPart && !p.Ignored && p.Text != "":
			raw = Text(p.Text)
		case p.Type == session.ReasoningPart && p.Text != "":
			raw = span.Make("text", p.Text, "thought", true)
		case p.Type == session.FilePart:
			raw = file(p)
		case p.Type == session.ToolPart && p.State != nil:
			id, args := name(p), jsonl.OneLine(jsonl.Input(p.State))
			raw = span.Make("functionCall", span.Make("id", id, "name", p.Tool, "args", args))
			if p.State.Final() {
				results = append(results, Piece{Result(p, id), Slot{Part: p.ID, Result: true}})
			}
		}
		if raw != nil {
			said = append(said, Piece{raw, Slot{Part: p.ID}})
		}
	}
	return said, results
}

// Text is a part that is a text.
func Text(text string) []byte { return span.Make("text", text) }

// Result is a part with the result of a call.
func Result(p *session.Part, id string) []byte {
	member := "output"
	if p.State.Status == session.Failed {
		member = "error"
	}
	o := new(span.Object).With("id", id, "name", p.Tool, "response", span.Make(member, p.State.Result()))
	var pictures [][]byte
	for i := range p.State.Attachments {
		pictures = append(pictures, file(&p.State.Attachments[i]))
	}
	if len(pictures) > 0 {
		o.Raw("parts", span.Array(pictures))
	}
	return span.Make("functionResponse", o.Bytes())
}

// file is a part with a file: what is in it, where it is, or a text that says what was there.
func file(p *session.Part) []byte {
	if mime, data, ok := jsonl.Inline(p); ok {
		return span.Make("inlineData", span.Make("mimeType", mime, "data", data))
	}
	for _, scheme := range []string{"https://", "http://", "gs://"} {
		if strings.HasPrefix(p.URL, scheme) {
			return span.Make("fileData", span.Make("mimeType", p.Mime, "fileUri", p.URL))
		}
	}
	return Text(jsonl.FileNote(p))
}

// Shown is a list of parts under the elisions of a ledger, and those that show in it. slots say
// what each part is.
func Shown(list []byte, slots []Slot, ledger rule.Ledger) (shown []byte, found []rule.Elision) {
	if span.Kind(list) != '[' {
		return list, nil
	}
	var kept [][]byte
	at := 0
	for v := range span.Values(list, span.All(list)) {
		raw := v.Of(list)
		if at < len(slots) && slots[at].Part != "" {
			if all := ledger.Of(slots[at].Part); len(all) > 0 {
				var own []rule.Elision
				raw, own = slots[at].shown(raw, all)
				found = append(found, own...)
			}
		}
		if at++; raw != nil {
			kept = append(kept, raw)
		}
	}
	if len(found) == 0 {
		return list, nil
	}
	if len(kept) == 0 {
		kept = [][]byte{Text("")} // a content has parts
	}
	return span.Array(kept), found
}

// shown is a part under elisions in their order, nil if nothing of it is left, and those of them
// that show in it.
func (s Slot) shown(raw []byte, elisions []rule.Elision) (_ []byte, own []rule.Elision) {
	parts := Parts(raw)
	if len(parts) != 1 {
		return raw, nil
	}
	p := &parts[0]
	for _, e := range elisions {
		if s.shows(p, e.Field) {
			own = append(own, e)
		}
	}
	switch {
	case len(own) == 0:
		return raw, nil
	case s.Beside:
		return nil, own
	case s.Result && p.Response != nil:
		return p.replied(own), own
	case p.Call != nil:
		for _, e := range own {
			args := jsontext.Value("{}")
			if e.Field == rule.Input {
				args = jsonl.OneLine(jsonl.Argument(e.Shown))
			}
			raw = span.Set(raw, "", args, "functionCall", "args")
		}
		return raw, own
	}
	newest := own[len(own)-1]
	if newest.Shown == "" || p.Thought && newest.Field == rule.Text { // reasoning stays whole, or goes
		return nil, own
	}
	return Text(newest.Shown), own
}

// shows reports whether an elision of a field shows in a slot.
func (s Slot) shows(p *Part, field rule.Field) bool {
	switch field {
	case rule.Output, rule.Error:
		return s.Result
	case rule.Attachments:
		return s.Result || p.Media() != nil
	case rule.Input:
		return !s.Result && p.Call != nil
	case rule.Text:
		return !s.Result && p.Call == nil
	}
	return true
}

// replied is a result with elisions applied: without its pictures, and with another text.
func (p *Part) replied(elisions []rule.Elision) []byte {
	text, failed := Output(p.Response.Response)
	for _, e := range elisions {
		if e.Field == rule.Attachments {
			text = strings.TrimPrefix(text+"\n"+e.Shown, "\n")
		} else {
			text = e.Shown
		}
	}
	if text == "" {
		text = rule.Cleared
	}
	member := "output"
	if failed {
		member = "error"
	}
	response := p.Response.Response
	if span.Kind(response) != '{' || span.Kind(span.Get(response, member)) != '"' {
		response = []byte("{}")
	}
	raw := span.Set(p.Raw, "", span.Set(response, "", span.Quote(text), member), "functionResponse", "response")
	if len(p.Response.Parts) > 0 {
		raw = span.Remove(raw, false, "functionResponse", "parts")
	}
	return raw
}

// Caller gives calls ids that are not in use: their own, or else one made from the part's. called
// has what it gave.
func Caller(m *session.Message, used map[string]bool) (name func(*session.Part) string, called map[string]string) {
	called = map[string]string{}
	return func(p *session.Part) string {
		call := p.CallID
		if call == "" || used[call] {
			call = "call_" + strings.ReplaceAll(jsonl.UUID("call "+m.ID+" "+p.ID), "-", "")
		}
		used[call], called[p.ID] = true, call
		return call
	}, called
}

// Acknowledged is what the products put between a summary and what the user says behind it.
const Acknowledged = "Got it. Thanks for the additional context!"

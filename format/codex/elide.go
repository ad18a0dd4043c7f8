package codex

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/text/span"
)

// shown is a payload with an elision applied. element is which content element of a message it is
// about. withdrawn is true when nothing of the line is to be sent.
func shown(payload []byte, e rule.Elision, element int) (text []byte, withdrawn bool) {
	it := item{Type: typeOf(payload), CallID: "set"} // isOutput asks for one
	switch {
	case it.Type == "message":
		return shownContent(payload, e, element)
	case it.Type == "reasoning" && e.Field == rule.Whole:
		if e.Shown == "" {
			return payload, true
		}
		return answerItem(e.Shown), false
	case it.Type == "reasoning" && e.Field == rule.Text:
		summary := span.Array([][]byte{textElement("summary_text", e.Shown)})
		return span.Update(payload, summary, "summary"), e.Shown == "" // what is sealed would be sent with it
	case it.isOutput():
		switch e.Field {
		case rule.Attachments:
			return shownOutputs(payload, e), false
		case rule.Output, rule.Error, rule.Whole:
			return span.Update(payload, span.Quote(e.Shown), "output"), false
		}
	case it.isCall():
		switch e.Field {
		case rule.Whole: // a call cannot vanish alone: the shortest call is left, with the shortest result
			return span.Update(span.Update(payload, span.Quote("{}"), "arguments"), span.Quote(""), "input"), false
		case rule.Input:
			arguments := jsonl.Argument(e.Shown)
			payload = span.Update(payload, span.Quote(string(arguments)), "arguments")
			return span.Update(payload, span.Quote(e.Shown), "input"), false
		}
	}
	return payload, false
}

// shownContent applies an elision to one element of a message's content.
func shownContent(payload []byte, e rule.Elision, element int) ([]byte, bool) {
	at := span.Find(payload, span.All(payload), "content")
	if at.Empty() {
		return payload, false
	}
	if element == whole { // the content is one text
		if e.Field != rule.Text && e.Field != rule.Whole {
			return payload, false
		}
		return span.Replace(payload, at, span.Quote(e.Shown)), e.Shown == ""
	}
	spans := slices.Collect(span.Values(payload, at))
	if element >= len(spans) {
		return payload, false
	}
	var c content
	isFile := decode(spans[element].Of(payload), &c) == nil && c.url() != ""
	if e.Field != rule.Whole && (e.Field != rule.Attachments || !isFile) && (e.Field != rule.Text || isFile) {
		return payload, false
	}
	if e.Shown == "" && len(spans) == 1 {
		return payload, true
	}
	kind := "input_text"
	if span.String(span.Find(payload, span.All(payload), "role").Of(payload)) == "assistant" {
		kind = "output_text"
	}
	return span.Replace(payload, spans[element], textElement(kind, e.Shown)), false
}

// shownOutputs leaves the images of an output out and says so at its end.
func shownOutputs(payload []byte, e rule.Elision) []byte {
	at := span.Find(payload, span.All(payload), "output")
	var kept [][]byte
	for _, c := range contents(at.Of(payload)) {
		if c.url() == "" {
			kept = append(kept, c.raw)
		}
	}
	if e.Shown != "" {
		kept = append(kept, textElement("input_text", e.Shown))
	}
	return span.Update(payload, span.Array(kept), "output")
}

// aim says which content element of which line an elision is about.
type aim struct {
	elided
	element int
}

// apply shows a payload under its elisions.
func apply(payload []byte, aims []aim) (text []byte, withdrawn bool) {
	text = payload
	for _, a := range aims {
		if a.element == nowhere {
			continue
		}
		changed, gone := shown(text, a.Elision, a.element)
		text, withdrawn = changed, withdrawn || gone
	}
	return text, withdrawn
}

// rebuild writes a line anew with these elisions in place of the ones it had. Everything else in
// it stays byte for byte.
func rebuild(text []byte, l *line, m *mark, aims []aim) ([]byte, error) {
	payload, kind, bare := l.payload.Of(text), span.String(l.typ.Of(text)), mark{}
	if m != nil { // as it was before any elision
		bare = *m
		bare.Elisions, bare.Original, bare.Type = nil, nil, ""
		kind = cmp.Or(m.Type, kind)
		if len(m.Original) > 0 {
			payload = m.Original
		}
	}
	changed, withdrawn := apply(payload, aims)
	for _, a := range aims {
		bare.Elisions = append(bare.Elisions, a.elided)
	}
	if !bytes.Equal(changed, payload) || l.bare && len(aims) > 0 { // a bare line is its payload, mark and all
		bare.Original = payload
	}
	head := changed
	if !l.bare {
		head = span.Update(span.Remove(text, false, oursType), changed, "payload")
		head = span.Update(head, span.Quote(kind), "type")
	}
	if withdrawn {
		bare.Type = kind
		head = span.Update(head, span.Quote(oursType), "type")
	}
	if bare.empty() {
		return head, nil
	}
	return bare.on(head)
}

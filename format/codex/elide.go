package codex

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/rule"
)

// splice replaces a stretch of a text; neither argument is changed.
func splice(text []byte, at span, with []byte) []byte {
	return slices.Concat(text[:at.from], with, text[at.to:])
}

func quoted(text string) []byte {
	q, _ := jsontext.AppendQuote(nil, text) // invalid UTF-8 becomes U+FFFD
	return q
}

// set replaces the value of a member; an object without it stays as it is.
func set(object []byte, name string, with []byte) []byte {
	if at, ok := value(object, name); ok {
		return splice(object, at, with)
	}
	return object
}

// shown is a payload with an elision applied. element is which content element of a message it is about. withdrawn
// is true when nothing of the line is to be sent.
func shown(payload []byte, e rule.Elision, element int) (text []byte, withdrawn bool) {
	kindAt, _ := value(payload, "type")
	it := item{Type: unquoted(kindAt.of(payload))}
	it.CallID = "set" // isOutput asks for one
	switch {
	case it.Type == "message":
		return shownContent(payload, e, element)
	case it.Type == "reasoning":
		if e.Field == rule.Whole && e.Shown == "" {
			return payload, true
		}
		payload = set(payload, "summary", slices.Concat([]byte(`[{"type":"summary_text","text":`), quoted(e.Shown), []byte(`}]`)))
		payload = set(payload, "content", []byte("null"))
		return set(payload, "encrypted_content", []byte("null")), false
	case it.isOutput():
		switch e.Field {
		case rule.Output, rule.Error:
			return set(payload, "output", quoted(e.Shown)), false
		case rule.Attachments:
			return shownOutputs(payload, e), false
		case rule.Whole:
			return set(payload, "output", quoted(e.Shown)), e.Shown == ""
		}
	case it.isCall():
		switch {
		case e.Field == rule.Whole && e.Shown == "":
			return payload, true
		case e.Field == rule.Whole:
			return set(payload, "arguments", quoted("{}")), false
		case e.Field == rule.Input:
			arguments := jsontext.Value(e.Shown)
			if arguments.Kind() != '{' || !arguments.IsValid() {
				arguments = slices.Concat([]byte(`{"elided":`), quoted(e.Shown), []byte(`}`))
			}
			payload = set(payload, "arguments", quoted(string(arguments)))
			if it.Type == "custom_tool_call" {
				payload = set(payload, "input", quoted(e.Shown))
			}
		}
	}
	return payload, false
}

// shownContent applies an elision to one element of a message's content.
func shownContent(payload []byte, e rule.Elision, element int) ([]byte, bool) {
	at, ok := value(payload, "content")
	if !ok {
		return payload, false
	}
	list := at.of(payload)
	with := slices.Concat([]byte(`{"type":"input_text","text":`), quoted(e.Shown), []byte(`}`))
	if role, ok := value(payload, "role"); ok && unquoted(role.of(payload)) == "assistant" {
		with = slices.Concat([]byte(`{"type":"output_text","text":`), quoted(e.Shown), []byte(`}`))
	}
	if element < 0 { // the whole content is one text
		return splice(payload, at, quoted(e.Shown)), e.Shown == ""
	}
	spans := elements(list)
	if element >= len(spans) {
		return payload, false
	}
	if e.Shown == "" && len(spans) == 1 {
		return payload, true
	}
	return splice(payload, at, splice(list, spans[element], with)), false
}

// shownOutputs replaces the images of an output.
func shownOutputs(payload []byte, e rule.Elision) []byte {
	at, ok := value(payload, "output")
	if !ok {
		return payload
	}
	list := at.of(payload)
	spans := elements(list)
	for _, span := range slices.Backward(spans) {
		var c content
		if decode(span.of(list), &c) == nil && c.url() != "" {
			list = splice(list, span, slices.Concat([]byte(`{"type":"input_text","text":`), quoted(e.Shown), []byte(`}`)))
		}
	}
	return splice(payload, at, list)
}

// aim says which content element of which line an elision is about.
type aim struct {
	elided
	element int
}

// original is a line as it was before any elision: its payload, its type, and its mark without the elisions.
func original(text []byte, l *line, m *mark) (payload []byte, kind string, bare mark) {
	payload, kind = l.payload.of(text), unquoted(l.typ.of(text))
	if m == nil {
		return payload, kind, mark{}
	}
	bare = *m
	bare.Elisions, bare.Original, bare.Type = nil, nil, ""
	if len(m.Original) > 0 {
		payload = m.Original
	}
	if m.Type != "" {
		kind = m.Type
	}
	return payload, kind, bare
}

// apply shows a payload under its elisions.
func apply(payload []byte, aims []aim) (text []byte, withdrawn bool) {
	text = payload
	for _, a := range aims {
		changed, gone := shown(text, a.Elision, a.element)
		text, withdrawn = changed, withdrawn || gone
	}
	return text, withdrawn
}

// rebuild writes a line anew with these elisions instead of those that it had. Everything else in it stays byte for byte.
func rebuild(text []byte, l *line, m *mark, aims []aim) ([]byte, error) {
	payload, kind, bare := original(text, l, m)
	changed, withdrawn := apply(payload, aims)
	for _, a := range aims {
		bare.Elisions = append(bare.Elisions, a.elided)
	}
	if !bytes.Equal(changed, payload) || l.bare && len(aims) > 0 { // a bare line is its payload, mark and all
		bare.Original = payload
	}
	typ := kind
	if withdrawn {
		bare.Type, typ = kind, oursType
	}
	head := changed
	if l.bare && withdrawn {
		head = set(head, "type", quoted(oursType))
	} else if !l.bare {
		head = text
		if l.ours.to > 0 {
			head = withoutMember(text, l.ours)
		}
		head = set(set(head, "payload", changed), "type", quoted(typ))
	}
	if bare.empty() {
		return head, nil
	}
	return withMember(head, &bare)
}

// withMember adds the member "winnow" to an object.
func withMember(object []byte, m *mark) ([]byte, error) {
	v, err := m.encode()
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(object, '}')
	comma := []byte(`,"` + oursType + `":`)
	if trimmed := bytes.TrimSpace(object[:end]); len(trimmed) > 0 && trimmed[len(trimmed)-1] == '{' {
		comma = comma[1:]
	}
	return slices.Concat(object[:end], comma, v, object[end:]), nil
}

// withoutMember takes out the member "winnow" whose value is at v, with the comma before it.
func withoutMember(object []byte, v span) []byte {
	from := bytes.LastIndexByte(object[:v.from], ':')
	for from--; object[from] != '"'; from-- {
	}
	for from--; object[from] != '"'; from-- {
	}
	to := v.to
	i := from - 1
	for i > 0 && object[i] <= ' ' {
		i--
	}
	if object[i] == ',' {
		from = i
	} else if j := space(object, to); j < len(object) && object[j] == ',' {
		to = j + 1
	}
	return slices.Concat(object[:from], object[to:])
}

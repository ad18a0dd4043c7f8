package codex

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// lineKind tells lines apart as far as reading goes.
type lineKind uint8

const (
	otherLine     lineKind = iota // kept, without a bearing on the session
	metaLine                      // session_meta
	itemLine                      // response_item
	eventLine                     // event_msg
	turnLine                      // turn_context
	worldLine                     // world_state
	usageLine                     // token_usage_record
	compactedLine                 // compacted
	agentLine                     // inter_agent_communication: what another agent said to this one
	oursLine                      // winnow: what the product has no words for
)

var kinds = map[string]lineKind{
	"session_meta": metaLine, "response_item": itemLine, "event_msg": eventLine, "turn_context": turnLine,
	"world_state": worldLine, "token_usage_record": usageLine, "compacted": compactedLine, "inter_agent_communication": agentLine, oursType: oursLine,
}

// oursType is the type of lines, and the name of the member of lines, that are ours.
const oursType = "winnow"

// span is a stretch of bytes; what it is counted from, the place says. The zero value is "absent".
type span struct{ from, to int }

func (s span) of(text []byte) []byte {
	if s.to == 0 {
		return nil
	}
	return text[s.from:s.to]
}

// line is where the pieces of one line are. Spans count from the line's first byte.
type line struct {
	at         int // offset of the line in the file
	size       int // bytes, without what ends the line
	number     int // 1-based
	kind       lineKind
	bare       bool // a response item or a session's head without the envelope, as the first versions wrote them
	foreign    bool // an envelope with members that rollouts have not
	damaged    bool
	hasOrdinal bool
	ordinal    int64

	timestamp span // with its quotes
	typ       span // with its quotes
	payload   span
	metadata  span
	ours      span // the value of the member "winnow"
}

// text is the line's bytes.
func (l *line) text(src []byte) []byte { return src[l.at : l.at+l.size] }

var (
	errCut       = errors.New("the line ends inside a value")
	errNotObject = errors.New("not a JSON object")
)

// scanLine finds the members of a line without decoding them. It checks that quotes and brackets close, no more: what
// is used is decoded, and so checked, later.
func scanLine(text []byte, l *line) error {
	var id, record, instructions bool
	known := true
	err := members(text, func(key []byte, value span) {
		switch string(key) {
		case "timestamp":
			l.timestamp = value
		case "type":
			l.typ = value
		case "payload":
			l.payload = value
		case "ordinal":
			n, err := strconv.ParseInt(string(value.of(text)), 10, 64)
			l.ordinal, l.hasOrdinal = n, err == nil
		case "metadata":
			l.metadata = value
		case oursType:
			l.ours = value
		case "id":
			id = true
		case "record_type":
			record = true
		case "instructions", "git":
			instructions = true
		case "uuid", "parentUuid", "sessionId", "message", "parentId":
			known = false
		}
	})
	if err != nil {
		return err
	}
	if l.payload.to == 0 {
		l.bare = true
		l.payload = span{0, len(text)}
		switch {
		case record:
			l.kind = otherLine
		case l.typ.to > 0:
			l.kind = otherLine
			if known && isItem(unquoted(l.typ.of(text))) {
				l.kind = itemLine
			}
		case id && l.timestamp.to > 0 && instructions:
			l.kind = metaLine
		}
		return nil
	}
	l.foreign = !known
	l.kind = kinds[unquoted(l.typ.of(text))]
	return nil
}

// isItem knows the response items that the first versions wrote without an envelope.
func isItem(kind string) bool {
	switch kind {
	case "message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call", "custom_tool_call_output", "web_search_call":
		return true
	}
	return false
}

// unquoted is the text of a short JSON string, "" for anything else.
func unquoted(quoted []byte) string {
	if len(quoted) < 2 || quoted[0] != '"' {
		return ""
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil && len(text) == 0 {
		return ""
	}
	return string(text)
}

// members walks the members of a JSON object; spans count from its first byte. A key is given without quotes, as it
// is written.
func members(object []byte, member func(key []byte, value span)) error {
	i := space(object, 0)
	if i >= len(object) || object[i] != '{' {
		return errNotObject
	}
	i = space(object, i+1)
	if i < len(object) && object[i] == '}' {
		return trailing(object, i+1)
	}
	for {
		if i >= len(object) || object[i] != '"' {
			return errCut
		}
		end := skipString(object, i)
		if end < 0 {
			return errCut
		}
		key := object[i+1 : end-1]
		i = space(object, end)
		if i >= len(object) || object[i] != ':' {
			return errCut
		}
		i = space(object, i+1)
		end = skipValue(object, i)
		if end < 0 {
			return errCut
		}
		member(key, span{i, end})
		i = space(object, end)
		if i >= len(object) {
			return errCut
		}
		switch object[i] {
		case ',':
			i = space(object, i+1)
		case '}':
			return trailing(object, i+1)
		default:
			return errCut
		}
	}
}

// elements gives the elements of a JSON array, nil when it is none.
func elements(array []byte) []span {
	i := space(array, 0)
	if i >= len(array) || array[i] != '[' {
		return nil
	}
	var found []span
	for i = space(array, i+1); i < len(array) && array[i] != ']'; {
		end := skipValue(array, i)
		if end < 0 {
			return nil
		}
		found = append(found, span{i, end})
		if i = space(array, end); i < len(array) && array[i] == ',' {
			i = space(array, i+1)
		}
	}
	return found
}

// value finds the value of a member; of two with one name the last counts, as everywhere in JSON.
func value(object []byte, name string) (found span, ok bool) {
	err := members(object, func(key []byte, value span) {
		if string(key) == name {
			found, ok = value, true
		}
	})
	return found, ok && err == nil
}

func trailing(text []byte, i int) error {
	if space(text, i) != len(text) {
		return errors.New("there is more behind the object")
	}
	return nil
}

func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// skipString returns where the string that begins at i ends, -1 when it does not.
func skipString(text []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := 0
		for text[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns where the value that begins at i ends, -1 when it does not.
func skipValue(text []byte, i int) int {
	if i >= len(text) {
		return -1
	}
	switch text[i] {
	case '"':
		return skipString(text, i)
	case '{', '[':
		for depth := 0; i < len(text); {
			switch text[i] {
			case '"':
				if i = skipString(text, i); i < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return -1
	}
	from := i
	for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' && text[i] > ' ' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

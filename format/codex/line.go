package codex

import (
	"strconv"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/span"
	"github.com/winnowhq/winnow/session"
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
	"world_state": worldLine, "token_usage_record": usageLine, "compacted": compactedLine,
	"inter_agent_communication": agentLine, oursType: oursLine,
}

// oursType is the type of lines, and the name of the member of lines, that are ours.
const oursType = "winnow"

// line is where the pieces of one line are.
type line struct {
	json       span.Span // in the file
	number     int       // 1-based
	kind       lineKind
	bare       bool // a response item or a session's head without the envelope, as the first versions wrote them
	foreign    bool // an envelope with members that rollouts do not have
	damaged    bool
	hasOrdinal bool
	ordinal    int64

	// Values of members, counted from the beginning of the line's JSON.
	timestamp, typ, payload, metadata, ours span.Span
}

// text is the line's JSON.
func (l *line) text(src []byte) []byte { return l.json.Of(src) }

// created is the time of the line, 0 if it is unknown.
func (l *line) created(src []byte) session.Millis {
	return jsonl.Millis(span.String(l.timestamp.Of(l.text(src))))
}

// scanLine finds the members of a line without decoding them. It checks that quotes and brackets
// close, no more: what is used is decoded, and so checked, later.
func scanLine(text []byte, l *line) error {
	var id, record, instructions bool
	err := span.Walk(text, span.All(text), func(m span.Member) bool {
		switch string(m.Name) {
		case "timestamp":
			l.timestamp = m.Value
		case "type":
			l.typ = m.Value
		case "payload":
			l.payload = m.Value
		case "ordinal":
			n, err := strconv.ParseInt(string(m.Value.Of(text)), 10, 64)
			l.ordinal, l.hasOrdinal = n, err == nil
		case "metadata":
			l.metadata = m.Value
		case oursType:
			l.ours = m.Value
		case "id":
			id = true
		case "record_type":
			record = true
		case "instructions", "git":
			instructions = true
		case "uuid", "parentUuid", "sessionId", "message", "parentId":
			l.foreign = true
		}
		return true
	})
	if err != nil {
		return err
	}
	typ := span.String(l.typ.Of(text))
	if !l.payload.Empty() {
		l.kind = kinds[typ]
		return nil
	}
	switch {
	case !record && !l.typ.Empty() && !l.foreign && isItem(typ):
		l.kind = itemLine
	case !record && l.typ.Empty() && id && !l.timestamp.Empty() && instructions:
		l.kind = metaLine
	}
	l.bare, l.payload, l.foreign = true, span.All(text), false
	return nil
}

// isItem knows the response items that the first versions wrote without an envelope.
func isItem(kind string) bool {
	switch kind {
	case "message", "reasoning", "function_call", "function_call_output", "local_shell_call",
		"custom_tool_call", "custom_tool_call_output", "web_search_call":
		return true
	}
	return false
}

// typeOf is the type of a payload.
func typeOf(payload []byte) string {
	return span.String(span.Find(payload, span.All(payload), "type").Of(payload))
}

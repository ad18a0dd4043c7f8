package codex

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
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

// mark is the value of the member "winnow" of a line: what the product has no words for.
type mark struct {
	Version int `json:"v"`

	// Elisions of what the line holds, and the line's payload from before them. Type is the line's
	// type from before, if all of the line was withdrawn.
	Elisions []elided       `json:"elisions,omitzero"`
	Original jsontext.Value `json:"original,omitzero"`
	Type     string         `json:"type,omitzero"`

	// Messages of the log that the line's payload does not give: a marker and its summary on a
	// compacted line, and on lines of our own type what the product has no items for.
	Messages []session.Message `json:"messages,omitzero"`

	// Message is a message of the log that the items of this line and the lines that follow give;
	// the texts that the items hold are left out of it. Of is the message's id on the lines that
	// follow.
	Message *session.Message `json:"message,omitzero"`
	Of      string           `json:"of,omitzero"`
	// Parts says which part of the message each content element of the item is; of a call or a
	// result, the one part.
	Parts []int `json:"parts,omitzero"`

	// Pivot is the marker that a line was written with that does not belong to a message.
	Pivot string `json:"pivot,omitzero"`
	// Info is the session, in rollouts that we began; Session what else was known about it.
	Info    *session.Info  `json:"info,omitzero"`
	Session jsontext.Value `json:"session,omitzero"`
}

// elided is an elision with its place in the order of the ledger.
type elided struct {
	rule.Elision
	At int `json:"at"`
}

func (m *mark) empty() bool {
	return len(m.Elisions) == 0 && len(m.Messages) == 0 && m.Message == nil && m.Info == nil && m.Of+m.Pivot == ""
}

// on returns a line with the mark as its member "winnow". The original payload goes in byte for
// byte, so that undoing an elision gives the line back as the product wrote it.
func (m *mark) on(line []byte) ([]byte, error) {
	flat := *m
	flat.Version, flat.Original = 1, nil
	text, err := json.Marshal(&flat, session.ReadOptions(), jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, err
	}
	if len(m.Original) > 0 {
		text = span.Set(text, "", m.Original, "original")
	}
	return span.Set(line, "", text, oursType), nil
}

// place is where a part is in the file: the lines of a call and its result, or the line and content
// element of the rest.
type place struct {
	line    int32
	output  int32
	element int32
}

// placeOf is the place of a part that has no result.
func placeOf(line, element int32) place { return place{line, -1, element} }

// Special elements: the part is the whole item, or no item of its line has it.
const (
	whole   = -1
	nowhere = -2
)

// native is the index that the reader leaves to the writer.
type native struct {
	src    []byte // the file, behind its base
	before int    // bytes of the base
	lines  []line
	marks  map[int32]*mark
	places map[string]place // by part id
	owned  map[string][]int32
	next   int // place in the order of the ledger for what is committed next
	mode   mode
}

// mode is how the file's lines are written.
type mode struct {
	ordinals bool
	last     int64 // the newest ordinal
}

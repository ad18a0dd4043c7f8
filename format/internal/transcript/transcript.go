// Package transcript builds the session of a file that is only read: the record of a run.
package transcript

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Log is a document that grows message by message.
type Log struct {
	*format.Document
	Model   *session.ModelRef // which answers are by; nil if it is unknown
	LastAsk string            // id of the user's newest message
	calls   map[string]Place  // by the ids that the file has for them
	times   map[string]int    // how often the file has a call's id
}

// Place is where a part is in the log.
type Place struct{ Message, Part int }

// New returns the empty log of a file.
func New(name string, src []byte) *Log {
	return &Log{
		Document: &format.Document{Format: name, Source: src}, calls: map[string]Place{}, times: map[string]int{},
	}
}

// Hash is an id for a session whose file has none: a prefix, and what its content amounts to.
func (l *Log) Hash(prefix string) string {
	sum := sha256.Sum256(l.Source)
	return prefix + hex.EncodeToString(sum[:6])
}

// Message appends a message. An answer is by the log's model and to the user's newest message.
func (l *Log) Message(role session.Role, id, timestamp string) *session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{
		ID: id, SessionID: l.Session.Info.ID, Role: role, Time: session.MessageTime{Created: jsonl.Millis(timestamp)},
	}}
	if role == session.User {
		l.LastAsk = id
	} else {
		m.ParentID, m.Finish = l.LastAsk, "stop"
		if l.Model != nil {
			m.ProviderID, m.ModelID = l.Model.ProviderID, l.Model.ModelID
		}
	}
	l.Session.Messages = append(l.Session.Messages, m)
	return &l.Session.Messages[len(l.Session.Messages)-1]
}

// Compaction appends a marker, with what is known of it, and its summary, which has no text yet.
func (l *Log) Compaction(marker, summary, timestamp string, about session.Part) *session.Message {
	about.Type = session.CompactionPart
	l.Add(l.Message(session.User, marker, timestamp), about)
	s := l.Message(session.Assistant, summary, timestamp)
	s.Summary = jsontext.Value("true")
	return s
}

// Kept appends a message as it was when it was written.
func (l *Log) Kept(m session.Message) {
	if m.Written() {
		l.LastAsk = m.ID
	}
	l.Session.Messages = append(l.Session.Messages, m)
}

// Fold appends a marker and its summary as they were when they were written. Messages before them
// may have got other ids since: tail is the one with which the tail begins, as the file has it.
func (l *Log) Fold(marker, summary session.Message, tail string) {
	if start := marker.Marker().TailStartID; start != "" && session.Index(l.Session.Messages, start) < 0 {
		marker.Parts = slices.Clone(marker.Parts)
		marker.Marker().TailStartID = tail
	}
	summary.ParentID = marker.ID
	l.Session.Messages = append(l.Session.Messages, marker, summary)
}

// Add gives a message one more part, and fills in what every part has.
func (l *Log) Add(m *session.Message, p session.Part) *session.Part {
	p.SessionID, p.MessageID = m.SessionID, m.ID
	if p.ID == "" {
		p.ID = PartID(m.ID, len(m.Parts))
	}
	m.Parts = append(m.Parts, p)
	return &m.Parts[len(m.Parts)-1]
}

// PartID is the id of a part that has none of its own.
func PartID(message string, part int) string { return message + ":" + strconv.Itoa(part) }

// Call adds a call that waits for its result. It has the id that the file has for it, which may be
// "" or there more than once.
func (l *Log) Call(m *session.Message, id, tool string, input jsontext.Value) (*session.Part, Place) {
	l.Counts.ToolCalls++
	m.Finish = "tool-calls"
	if input.Kind() != '{' {
		input = jsontext.Value("{}")
	}
	own := id
	if l.times[id]++; id != "" && l.times[id] > 1 {
		own += "#" + strconv.Itoa(l.times[id])
	}
	p := l.Add(m, session.Part{
		ID: own, Type: session.ToolPart, CallID: id, Tool: tool,
		State: &session.ToolState{Status: session.Running, Input: input},
	})
	at := Place{len(l.Session.Messages) - 1, len(m.Parts) - 1}
	for at.Message > 0 && &l.Session.Messages[at.Message] != m {
		at.Message--
	}
	if id != "" {
		l.calls[id] = at
	}
	return p, at
}

// Calls adds calls as Chat Completions lists them, and reports how many there are.
func (l *Log) Calls(m *session.Message, list jsontext.Value) (calls int) {
	for v := range span.Values(list, span.All(list)) {
		var c struct {
			ID       string `json:"id"`
			Function struct {
				Name      string         `json:"name"`
				Arguments jsontext.Value `json:"arguments"`
			} `json:"function"`
		}
		if calls++; json.Unmarshal(v.Of(list), &c, session.ReadOptions()) == nil {
			l.Call(m, c.ID, c.Function.Name, Arguments(c.Function.Arguments))
		}
	}
	return calls
}

// Find returns where the newest call of an id is.
func (l *Log) Find(id string) (at Place, ok bool) {
	at, ok = l.calls[id]
	return at, ok
}

// Part is the part at a place.
func (l *Log) Part(at Place) *session.Part { return &l.Session.Messages[at.Message].Parts[at.Part] }

// Attach adds a picture to the result of a call.
func Attach(call *session.Part, picture session.Part) {
	picture.ID = call.ID + ":" + strconv.Itoa(len(call.State.Attachments))
	picture.SessionID, picture.MessageID = call.SessionID, call.MessageID
	call.State.Attachments = append(call.State.Attachments, picture)
}

// Thought is a block of reasoning as Anthropic writes it.
type Thought struct {
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

// Think adds blocks of reasoning.
func (l *Log) Think(m *session.Message, blocks []Thought) {
	for _, b := range blocks {
		p := l.Add(m, session.Part{Type: session.ReasoningPart, Text: b.Thinking})
		if b.Signature != "" {
			p.Metadata = span.Make("signature", b.Signature)
		}
	}
}

// End fills in what the log as a whole says: the model, and what the session has no member for,
// under a name of the product's.
func (l *Log) End(model *session.ModelRef, name string, about any) {
	if model != nil {
		l.Session.Info.Model = &session.ModelRef{ID: model.ModelID, ProviderID: model.ProviderID}
	}
	if about != nil {
		l.Session.Info.Unknown = span.Make(name, about)
	}
}

// Text is the text of a JSON string, "" for anything else.
func Text(v jsontext.Value) string { return span.String(bytes.TrimSpace(v)) }

// Arguments are the arguments of a call as an object, where they may be JSON in a text.
func Arguments(v jsontext.Value) jsontext.Value {
	if v.Kind() != '"' {
		return v
	}
	if inner := jsontext.Value(Text(v)); inner.Kind() == '{' && span.Valid(inner) {
		return inner
	}
	return span.Make("arguments", Text(v))
}

// Image is a picture at a URL, which may hold it.
func Image(url string) session.Part {
	mime := "image/png"
	if data, ok := strings.CutPrefix(url, "data:"); ok {
		mime, _, _ = strings.Cut(data, ";")
	}
	return session.Part{Type: session.FilePart, Mime: mime, URL: url}
}

// ModelOf takes "provider/model" or "model" apart.
func ModelOf(name string) *session.ModelRef {
	provider, model, ok := strings.Cut(name, "/")
	if !ok {
		provider, model = "", provider
	}
	return &session.ModelRef{ProviderID: provider, ModelID: model}
}

// Object visits the members of an object in the file, as far as it can be read. The rest is damage.
func (l *Log) Object(object span.Span, visit func(name string, value span.Span)) {
	end := object.Start
	err := span.Walk(l.Source, object, func(m span.Member) bool {
		visit(string(m.Name), m.Value)
		end = m.Value.End
		if m.Cut {
			end = m.Value.Start
		}
		return true
	})
	if n := len(l.Damaged); n > 0 && l.Damaged[n-1].Offset+int64(l.Damaged[n-1].Bytes) >= int64(object.End) {
		return // its end is damage already
	}
	if err != nil {
		if why := span.Check(object.Of(l.Source)); why != nil {
			err = why // it says where; nil for a value that is whole, and no object
		}
		l.damage(span.Span{Start: end, End: object.End}, err)
	}
}

// Elements decodes the objects of a list in the file one by one, so that a cut costs one of them.
func Elements[T any](l *Log, list span.Span, take func(T)) {
	for v := range span.Values(l.Source, list) {
		var one T
		text := v.Of(l.Source)
		err := json.Unmarshal(text, &one, session.ReadOptions())
		switch {
		case err == nil && text[0] == '{':
			take(one)
		case !span.Valid(text):
			l.damage(v, span.Check(text))
		case text[0] != '{':
			l.damage(v, errors.New("not a message: it is not an object"))
		default:
			l.damage(v, err)
		}
	}
}

func (l *Log) damage(s span.Span, err error) {
	l.Damaged = append(l.Damaged, format.Damage{
		Offset: int64(s.Start), Bytes: s.Len(), Reason: span.Reason(err, "the file"),
	})
}

// Syntax is the error for a file in which nothing could be read.
func (l *Log) Syntax(expected string) *format.SyntaxError {
	e := &format.SyntaxError{Format: l.Format, Line: 1, Expected: expected}
	if len(l.Damaged) > 0 {
		e.Line, e.Offset = l.Damaged[0].Line, l.Damaged[0].Offset
		e.Err = errors.New(l.Damaged[0].Reason)
	}
	return e
}

// Whole is the text of the file without a byte order mark and white space before it.
func (l *Log) Whole() span.Span {
	s := span.All(l.Source)
	if bytes.HasPrefix(l.Source, []byte("\xef\xbb\xbf")) {
		s.Start = 3
	}
	s.Start = span.Space(l.Source, s.Start)
	return s
}

package cline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// reader reads one file.
type reader struct {
	*entries.File
	about   conversation
	list    span.Span // of the messages
	records []record  // of the entries
	beside  []byte    // the file beside this one, or nil
	held    []held    // pivots that are not in the log yet
}

// held is a pivot that comes into the log behind a record. Its tail begins with what comes into the
// log from now on.
type held struct{ record, behind, tail int }

// Read reads a session. Messages that the product shows to people only count as nothing but an
// entry. A message with nothing in it that is known is damage.
func (Format) Read(src []byte) (*format.Document, error) { return document(src, nil) }

func document(src, beside []byte) (*format.Document, error) {
	r := &reader{File: entries.NewFile(Name, src), beside: beside}
	var about span.Object
	list, sidecar := false, false
	whole := r.Whole()
	if span.Kind(whole.Of(src)) != '{' {
		return nil, r.Syntax("a session with a sessionId and messages")
	}
	r.Object(whole, func(name string, value span.Span) {
		text := value.Of(src)
		switch {
		case name == "messages" && span.Kind(text) == '[':
			list, r.list = true, value
			r.elements(value)
		case name == "system_prompt": // the product's own
		case name == "source_message_count":
			sidecar = true
		case span.Valid(text):
			about.Raw(name, text)
		}
	})
	_ = json.Unmarshal(about.Bytes(), &r.about, session.ReadOptions()) // members of another type tell nothing
	if sidecar {
		e := r.Syntax("the messages of a session")
		e.Err = errors.New("this is what Cline sends after it has compacted a session; " +
			"the session is in " + Ending + " beside it")
		return nil, e
	}
	if !list || !r.any() && (r.about.SessionID == "" || len(r.Damaged) > 0) {
		return nil, r.Syntax("a session with a sessionId and messages")
	}
	r.compaction()
	r.log()
	if len(r.Session.Messages) == 0 && len(r.Damaged) > 0 {
		return nil, r.Syntax("a session with messages")
	}
	r.Native = r
	return r.Document, nil
}

// any reports whether there is a record that can be read.
func (r *reader) any() bool {
	return slices.ContainsFunc(r.records, func(m record) bool { return !m.damaged })
}

// elements decodes the messages one by one, so that a cut costs one of them. A message without an
// id is called by its number among those that the product wrote.
func (r *reader) elements(list span.Span) {
	number := 0
	for v := range span.Values(r.Source, list) {
		var m record
		text := v.Of(r.Source)
		err := span.Check(text)
		switch {
		case err != nil:
		case text[0] != '{':
			err = errors.New("not a message: it is not an object")
		default:
			err = json.Unmarshal(text, &m, session.ReadOptions())
		}
		r.Counts.Entries++
		if m.mark = entries.ReadMark[entries.Mark](m.Metadata.Winnow); !ours(m.mark) {
			number++
		}
		if err != nil {
			m = record{damaged: true}
			r.damage(v, span.Reason(err, "the file"))
		}
		m.at = v
		m.ID = cmp.Or(m.ID, fmt.Sprintf("cline_%06d", number))
		m.hidden = m.Metadata.DisplayOnly
		if m.mark != nil {
			m.Content = original(m.mark, m.Content)
			m.Metadata = metadata{}
			_ = json.Unmarshal(m.mark.Was, &m.Metadata, session.ReadOptions()) // there may have been none
		}
		r.records = append(r.records, m)
	}
}

func (r *reader) damage(at span.Span, reason string) {
	r.Damaged = append(r.Damaged, format.Damage{Offset: int64(at.Start), Bytes: at.Len(), Reason: reason})
}

// log makes the session of the records.
func (r *reader) log() {
	for i := range r.records {
		m := &r.records[i]
		r.Entries = append(r.Entries, entries.Entry{Whole: m.at, At: m.at, ID: m.ID, Mark: m.mark})
	}
	info := &r.Session.Info
	info.ID = cmp.Or(r.about.SessionID, r.Hash("cline_"))
	info.ParentID, info.Version = r.about.Origin.Parent, r.about.Origin.Version
	info.Time.Updated = jsonl.Millis(r.about.UpdatedAt)
	var last *session.ModelRef
	for i := range r.records {
		m := &r.records[i]
		if info.Time.Created == 0 {
			info.Time.Created = m.Time
		}
		before := len(r.Session.Messages)
		switch {
		case m.damaged:
		case m.mark.Pivot():
			r.hold(i)
		case m.hidden && m.mark != nil && m.mark.Message != nil && !m.mark.Folded:
			r.begin(m.mark.Message.Role, m) // the product has no form for it
			r.Took(i, before)
		case m.hidden && (m.mark == nil || !m.mark.Folded):
		case m.Role != "user" && m.Role != "assistant":
			r.damage(m.at, fmt.Sprintf("not a message: its role is %q", m.Role))
		default:
			r.Counts.Messages++
			r.Model = nil
			if m.Role == "assistant" && m.Model != nil && m.Model.ID != "" {
				r.Model = &session.ModelRef{ProviderID: m.Model.Provider, ModelID: m.Model.ID}
				last = r.Model
			}
			understood := r.message(m, i)
			r.Took(i, before)
			if !understood {
				r.damage(m.at, "not a message: nothing that is known is in it")
			}
		}
		r.release(i)
	}
	r.End(last, Name, r.about)
	r.Finish()
}

// message adds a message, unless it has only the results of calls, which are in them. It reports
// whether there was anything in it that is known.
func (r *reader) message(rec *record, at int) bool {
	blocks := blocksOf(rec.Content)
	if rec.Role == "assistant" {
		return r.answer(rec, at, blocks)
	}
	rest, replied := r.replies(blocks, at)
	var parts []session.Part
	var from []int
	for i := range rest {
		for _, p := range rest[i].parts(replied || !rec.byUser()) {
			parts, from = append(parts, p), append(from, rest[i].at)
		}
	}
	if len(parts) == 0 {
		return replied
	}
	asked := r.LastAsk
	m := r.begin(session.User, rec)
	if slices.ContainsFunc(parts, func(p session.Part) bool { return !p.Synthetic }) {
		asked = m.ID
	}
	r.LastAsk = asked
	for i, p := range parts {
		r.AddAt(m, p, entries.Spot{Entry: at, Block: from[i]})
	}
	return true
}

// begin appends the message of a record.
func (r *reader) begin(role session.Role, rec *record) *session.Message {
	m := r.Message(role, rec.ID, "")
	m.Time.Created = rec.Time
	return m
}

// answer adds a message of the model's, or what continues one.
func (r *reader) answer(rec *record, at int, blocks []block) bool {
	m := r.Continued(rec.mark)
	if m == nil {
		m = r.begin(session.Assistant, rec)
	}
	before := len(m.Parts)
	if u := rec.Metrics.usage(); u != nil {
		m.Tokens = u
	}
	if rec.Metrics != nil && rec.Metrics.Cost > 0 {
		m.Cost = &rec.Metrics.Cost
	}
	for i := range blocks {
		b := &blocks[i]
		here := entries.Spot{Entry: at, Block: b.at}
		switch b.Type {
		case "tool_use":
			_, place := r.Call(m, b.ID, b.Name, b.Input)
			r.Spot(place, here)
		case "thinking":
			p := session.Part{Type: session.ReasoningPart, Text: b.Thinking}
			if b.Signature != "" {
				p.Metadata = span.Make("signature", b.Signature)
			}
			r.AddAt(m, p, here)
		case "redacted_thinking":
			p := r.AddAt(m, session.Part{Type: session.ReasoningPart}, here)
			p.Metadata = span.Make("anthropic", map[string]string{"redactedData": b.data()})
		case "text":
			if b.Text != "" {
				r.AddAt(m, session.Part{Type: session.TextPart, Text: b.Text}, here)
			}
		default:
			for _, p := range b.parts(false) {
				r.AddAt(m, p, here)
			}
		}
	}
	if n := len(m.Parts); n > 0 && m.Parts[n-1].Type != session.ToolPart {
		m.Finish = "stop" // it said something after its calls
	}
	if before == 0 && len(m.Parts) == 0 && len(blocks) > 0 && !ours(rec.mark) {
		r.Session.Messages = r.Session.Messages[:len(r.Session.Messages)-1]
		return false
	}
	return true // an answer without content was paid for
}

// replies gives each result to its call, and returns the other blocks. replied reports whether
// there was a result.
func (r *reader) replies(blocks []block, record int) (rest []block, replied bool) {
	for _, b := range blocks {
		if b.Type != "tool_result" {
			rest = append(rest, b)
			continue
		}
		replied = true
		at, ok := r.Find(b.ToolUseID)
		if !ok {
			_, text, _, _ := b.output()
			rest = append(rest, block{Type: "text", Text: text, at: b.at}) // of no call that is known
			continue
		}
		call := r.Part(at)
		if call.State.Final() {
			continue
		}
		r.Counts.ToolResults++
		r.Result(at, entries.Spot{Entry: record, Block: b.at})
		title, text, failed, pictures := b.output()
		call.State.Title = title
		call.State.Status, call.State.Output = session.Completed, text
		if failed {
			call.State.Status, call.State.Error, call.State.Output = session.Failed, text, ""
		}
		for _, p := range pictures {
			transcript.Attach(call, p)
		}
	}
	return rest, replied
}

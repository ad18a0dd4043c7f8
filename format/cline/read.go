package cline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/span"
)

// conversation is what a file says beside its messages.
type conversation struct {
	SessionID string         `json:"sessionId,omitzero"`
	UpdatedAt string         `json:"updated_at,omitzero"`
	Origin    origin         `json:"origin,omitzero"`
	Unknown   jsontext.Value `json:",embed"`
}

// origin says who began a session.
type origin struct {
	Parent  string         `json:"parentThreadId,omitzero"` // the session that a sub-agent works for
	Version string         `json:"version,omitzero"`        // of the product
	Unknown jsontext.Value `json:",embed"`
}

// record is a message.
type record struct {
	ID       string         `json:"id"`
	Role     string         `json:"role"`
	Content  jsontext.Value `json:"content"` // a text, or a list of blocks
	Time     session.Millis `json:"ts"`
	Model    *modelInfo     `json:"modelInfo"`
	Metrics  *metrics       `json:"metrics"`
	Metadata metadata       `json:"metadata"`
	Unknown  jsontext.Value `json:",embed"`
}

type modelInfo struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
}

// metadata says what a message is for.
type metadata struct {
	Kind        string         `json:"kind"`
	DisplayOnly bool           `json:"displayOnly"` // never sent to the model
	DisplayRole string         `json:"displayRole"`
	Runs        *int           `json:"userRunSpan"` // how many prompts of the user's it stands for
	Unknown     jsontext.Value `json:",embed"`
}

// metrics are what one request took. The input has the cached tokens in it, whatever the provider.
type metrics struct {
	Input      int     `json:"inputTokens"`
	Output     int     `json:"outputTokens"`
	CacheRead  int     `json:"cacheReadTokens"`
	CacheWrite int     `json:"cacheWriteTokens"`
	Cost       float64 `json:"cost"` // US dollars
}

// usage is nil if nothing was reported: the product fills in zeros.
func (t *metrics) usage() *session.Usage {
	if t == nil || t.Input <= 0 && t.Output <= 0 {
		return nil
	}
	return &session.Usage{
		Input: max(0, t.Input-t.CacheRead-t.CacheWrite), Output: t.Output,
		Cache: session.CacheUsage{Read: t.CacheRead, Write: t.CacheWrite},
	}
}

// reader reads one file.
type reader struct {
	*transcript.Log
	about   conversation
	records []record
	places  []span.Span // of the records
}

// Read reads a session. Messages that the product shows to people only count as nothing but an
// entry. A message with nothing in it that is known is damage.
func (Format) Read(src []byte) (*format.Document, error) {
	r := &reader{Log: transcript.New(Name, src)}
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
			list = true
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
	if !list || len(r.records) == 0 && (r.about.SessionID == "" || len(r.Damaged) > 0) {
		return nil, r.Syntax("a session with a sessionId and messages")
	}
	r.log()
	if len(r.Session.Messages) == 0 && len(r.Damaged) > 0 {
		return nil, r.Syntax("a session with messages")
	}
	return r.Document, nil
}

// elements decodes the messages one by one, so that a cut costs one of them.
func (r *reader) elements(list span.Span) {
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
		if err != nil {
			r.damage(v, span.Reason(err, "the file"))
			continue
		}
		r.records, r.places = append(r.records, m), append(r.places, v)
	}
}

func (r *reader) damage(at span.Span, reason string) {
	r.Damaged = append(r.Damaged, format.Damage{Offset: int64(at.Start), Bytes: at.Len(), Reason: reason})
}

// log makes the session of the records.
func (r *reader) log() {
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
		if m.Metadata.DisplayOnly {
			continue
		}
		if m.Role != "user" && m.Role != "assistant" {
			r.damage(r.places[i], fmt.Sprintf("not a message: its role is %q", m.Role))
			continue
		}
		r.Counts.Messages++
		r.Model = nil
		if m.Role == "assistant" && m.Model != nil && m.Model.ID != "" {
			r.Model = &session.ModelRef{ProviderID: m.Model.Provider, ModelID: m.Model.ID}
			last = r.Model
		}
		if !r.message(m, i) {
			r.damage(r.places[i], "not a message: nothing that is known is in it")
		}
	}
	r.End(last, Name, r.about)
}

// message adds a message, unless it has only the results of calls, which are in them. It reports
// whether there was anything in it that is known.
func (r *reader) message(rec *record, at int) bool {
	id := cmp.Or(rec.ID, fmt.Sprintf("cline_%06d", at+1))
	blocks := blocksOf(rec.Content)
	if rec.Role == "assistant" {
		return r.answer(rec, id, blocks)
	}
	rest, replied := r.results(blocks)
	var parts []session.Part
	for i := range rest {
		parts = append(parts, rest[i].parts(replied || !rec.byUser())...)
	}
	if len(parts) == 0 {
		return replied
	}
	asked := r.LastAsk
	m := r.Message(session.User, id, "")
	m.Time.Created = rec.Time
	if slices.ContainsFunc(parts, func(p session.Part) bool { return !p.Synthetic }) {
		asked = id
	}
	r.LastAsk = asked
	for _, p := range parts {
		r.Add(m, p)
	}
	return true
}

// answer adds a message of the model's.
func (r *reader) answer(rec *record, id string, blocks []block) bool {
	m := r.Message(session.Assistant, id, "")
	m.Time.Created = rec.Time
	m.Tokens = rec.Metrics.usage()
	if rec.Metrics != nil && rec.Metrics.Cost > 0 {
		m.Cost = &rec.Metrics.Cost
	}
	for i := range blocks {
		switch b := &blocks[i]; b.Type {
		case "tool_use":
			r.Call(m, b.ID, b.Name, b.Input)
		case "thinking":
			r.Think(m, []transcript.Thought{{Thinking: b.Thinking, Signature: b.Signature}})
		case "redacted_thinking":
			p := r.Add(m, session.Part{Type: session.ReasoningPart})
			p.Metadata = span.Make("anthropic", map[string]string{"redactedData": b.data()})
		case "text":
			if b.Text != "" {
				r.Add(m, session.Part{Type: session.TextPart, Text: b.Text})
			}
		default:
			for _, p := range b.parts(false) {
				r.Add(m, p)
			}
		}
	}
	if n := len(m.Parts); n > 0 && m.Parts[n-1].Type != session.ToolPart {
		m.Finish = "stop" // it said something after its calls
	}
	if len(m.Parts) == 0 && len(blocks) > 0 {
		r.Session.Messages = r.Session.Messages[:len(r.Session.Messages)-1]
		return false
	}
	return true // an answer without content was paid for
}

// notices are the kinds of messages that the product writes in the user's name.
var notices = []string{
	"auto_compaction", "compaction_budget_emergency", "compaction_summary", "completion_reminder",
	"loop_detection_notice", "manual_compaction", "mistake_stop_notice", "recovery_notice",
}

// byUser reports whether what is in a message without a mark of its own is the user's.
func (m *record) byUser() bool {
	shown := strings.ToLower(strings.TrimSpace(m.Metadata.DisplayRole))
	switch {
	case slices.Contains(notices, m.Metadata.Kind):
		return false
	case m.Metadata.Runs != nil:
		return *m.Metadata.Runs > 0
	}
	return shown == "" || shown == "user"
}

// results gives each result to its call, and returns the other blocks. replied reports whether
// there was a result.
func (r *reader) results(blocks []block) (rest []block, replied bool) {
	for _, b := range blocks {
		if b.Type != "tool_result" {
			rest = append(rest, b)
			continue
		}
		replied = true
		at, ok := r.Find(b.ToolUseID)
		if !ok {
			_, text, _, _ := b.output()
			rest = append(rest, block{Type: "text", Text: text}) // of no call that is known
			continue
		}
		call := r.Part(at)
		if call.State.Final() {
			continue
		}
		r.Counts.ToolResults++
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

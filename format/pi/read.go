package pi

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Read reads a session file. The log is the active branch; branches that were left are counted
// alone. The elisions that Write left are the ledger, and the log has what they hide.
// Counts.Messages counts entries of the type message, which is what the product's own list of
// sessions shows: the user's, the model's, tool results and the user's own commands; a command's
// output counts as a tool result.
func (Format) Read(src []byte) (*format.Document, error) { return document(src, false) }

// ReadStretch reads lines that are all of one branch. See format.Outliner.
func (Format) ReadStretch(src []byte) (*format.Document, error) { return document(src, true) }

func document(src []byte, stretch bool) (*format.Document, error) {
	f := index(src)
	if stretch {
		f.allInPath()
	}
	f.count()
	if f.Counts.Entries == len(f.Damaged) || f.header < 0 && len(f.path) == 0 {
		return nil, jsonl.Unreadable(Name, "a session header or an entry, one JSON object a line", f.Damaged)
	}
	b := newBuilder(f)
	if f.header >= 0 {
		b.head(f.header)
	}
	for _, at := range f.path {
		b.entry(at)
	}
	b.finish()
	return f.Document, nil
}

// count counts what is in the file, the branches that were left included, and lists the requests of
// those branches.
func (f *file) count() {
	active := make([]bool, len(f.lines))
	for _, at := range f.path {
		active[at] = true
	}
	c := &f.Counts
	for i := range f.lines {
		e := &f.lines[i]
		if !e.gone || e.damaged {
			c.Entries++
		}
		m := e.Message
		if e.gone || e.Kind != messageEntry || m == nil {
			continue
		}
		c.Messages++
		if !active[i] {
			c.Aside++
		}
		switch m.Role {
		case resultRole, shellRole:
			c.ToolResults++
		case assistantRole:
			for j := range m.Content {
				if m.Content[j].Kind == callBlock {
					c.ToolCalls++
				}
			}
			if r := f.request(i); !active[i] && r.Usage != nil && bill.Usage(*r.Usage) != (model.Usage{}) {
				f.Beside = append(f.Beside, r)
			}
		}
	}
}

// request is that of an assistant's entry. Its usage is nil if it is unknown.
func (f *file) request(at int) bill.Request {
	e, m := &f.lines[at], f.lines[at].Message
	by := session.ModelRef{ProviderID: m.Provider, ModelID: m.Model}
	r := bill.Request{ID: f.messageID(at), Kind: bill.Left, Time: e.created(), Model: by.String()}
	if m.Usage != nil {
		r.Usage, r.Logged = m.Usage.tokens(), m.Usage.cost()
	}
	return r
}

// builder makes messages of entries.
type builder struct {
	f *file
	s *session.Session // of the file

	foreign  bool              // the header has the session that the file was written for
	model    *session.ModelRef // that answers from here on
	level    string            // of thinking, "" when it is off or unknown
	path     *session.Path
	lastUser string
	calls    map[string]transcript.Place // call id → its newest part
	parts    jsonl.IDs                   // part id → how often it occurs
	from     []int                       // position of a message → of the entry that gave it
	unasked  []int                       // user messages that came before any word about the model
}

func newBuilder(f *file) *builder {
	f.Session.Messages = make([]session.Message, 0, len(f.path))
	return &builder{f: f, s: &f.Session, calls: map[string]transcript.Place{}, parts: jsonl.IDs{}}
}

func (b *builder) head(at int) {
	e := &b.f.lines[at]
	if m := e.mark(); m != nil && m.Session != nil {
		*b.s, b.foreign, b.f.Entries[at].Mark = *m.Session, true, m
		b.s.Messages = make([]session.Message, 0, len(b.f.path))
		return
	}
	b.s.Info.ID, b.s.Info.Directory = e.ID, e.Cwd
	b.s.Info.ParentID = forkedFrom(cmp.Or(e.ParentSession, e.BranchedFrom))
	b.s.Info.Time.Created = jsonl.Millis(e.Timestamp)
	b.setModel(e.Provider, e.Model)
	b.setLevel(e.Thinking)
	for i := range b.f.lines {
		if e := &b.f.lines[i]; !e.gone && e.Kind == infoEntry {
			b.s.Info.Title = strings.TrimSpace(e.Title)
		}
	}
}

// forkedFrom is the id of a session from the path of its file: <time>_<id>.jsonl.
func forkedFrom(path string) string {
	path = path[strings.LastIndexAny(path, `/\`)+1:]
	path = strings.TrimSuffix(path, ".jsonl")
	return path[strings.LastIndexByte(path, '_')+1:]
}

func (b *builder) setModel(provider, model string) {
	if provider != "" || model != "" {
		b.model = &session.ModelRef{ProviderID: provider, ModelID: model, Variant: b.level}
	}
}

func (b *builder) setLevel(level string) {
	if level == "off" {
		level = ""
	}
	if b.level != level {
		b.level = level
		if b.model != nil {
			b.setModel(b.model.ProviderID, b.model.ModelID)
		}
	}
}

// entry adds what one entry of the active branch says.
func (b *builder) entry(at int) {
	e := &b.f.lines[at]
	m := e.mark()
	b.f.Entries[at].Mark = m
	if m != nil && len(m.Original) > 0 {
		original, ok := e.restored(m.Original)
		if ok {
			e = original
		}
	}
	before := len(b.s.Messages)
	switch e.Kind {
	case messageEntry:
		if e.Message != nil {
			b.message(at, e, m)
		}
	case customMessageEntry:
		b.user(at, e, e.Content, true)
	case branchEntry:
		if e.Summary != "" {
			const heading = "Summary of a branch of this conversation that was left:\n\n"
			b.user(at, e, content{{Kind: textBlock, Text: heading + e.Summary}}, true)
		}
	case compactionEntry:
		b.compaction(at, e, m)
	case modelEntry:
		b.setModel(e.Provider, e.Model)
	case thinkingEntry:
		b.setLevel(e.Thinking)
	case customEntry:
		if m != nil && m.Message != nil { // a message that has no form of its own in this format
			b.add(at, session.Message{MessageInfo: session.MessageInfo{ID: m.Message.ID, Role: m.Message.Role}})
		}
	}
	b.f.Took(at, before)
	if m != nil && m.Message != nil && len(b.s.Messages) > before && b.lastUser == b.s.Messages[before].ID {
		b.lastUser = m.Message.ID
	}
}

// add appends a message that was made from the entry at this position.
func (b *builder) add(at int, m session.Message) *session.Message {
	if m.Role == session.User && m.Marker() == nil {
		b.lastUser = m.ID
	}
	if m.Role == session.User && m.Model == nil {
		b.unasked = append(b.unasked, len(b.s.Messages))
	}
	b.from = append(b.from, at)
	b.s.Messages = append(b.s.Messages, m)
	return &b.s.Messages[len(b.s.Messages)-1]
}

// finish gives messages back that marks hold, and fills in what is only known at the end.
func (b *builder) finish() {
	if len(b.unasked) > 0 {
		for i := b.unasked[0]; i < len(b.s.Messages); i++ {
			if m := &b.s.Messages[i]; m.Role == session.Assistant && !m.IsSummary() {
				for _, asked := range b.unasked {
					b.s.Messages[asked].Model = m.Answers()
				}
				break
			}
		}
	}
	jsonl.Own(b.s)
	b.f.Finish()
	if b.s.Info.Model == nil && b.model != nil && !b.foreign {
		by := b.model
		b.s.Info.Model = &session.ModelRef{ID: by.ModelID, ProviderID: by.ProviderID, Variant: by.Variant}
	}
	if b.s.Info.Time.Updated == 0 {
		b.s.Info.Time.Updated = b.s.Info.Time.Created
		for i := range b.s.Messages {
			at := b.s.Messages[i].Time
			b.s.Info.Time.Updated = max(b.s.Info.Time.Updated, at.Created, at.Completed)
		}
	}
}

// restored reads the entry with the value that elisions replaced in its place.
func (e *entry) restored(original jsontext.Value) (*entry, bool) {
	full, err := parse(span.Make("type", e.Kind, e.replaceable(), original))
	if err != nil {
		return nil, false
	}
	restored := *e
	restored.text, restored.Message = full.text, full.Message
	restored.Content, restored.Summary = full.Content, full.Summary
	return &restored, true
}

// replaceable names the member of an entry that elisions change.
func (e *entry) replaceable() string {
	switch e.Kind {
	case customMessageEntry:
		return "content"
	case branchEntry, compactionEntry:
		return "summary"
	}
	return "message"
}

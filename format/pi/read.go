package pi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/rule"
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
	f, damaged := index(src)
	if stretch {
		f.allInPath()
	}
	doc := &format.Document{Format: Name, Damaged: damaged, Source: src, Native: f}
	f.count(doc)
	if doc.Counts.Entries == len(damaged) || f.header < 0 && len(f.path) == 0 {
		return nil, jsonl.Unreadable(Name, "a session header or an entry, one JSON object a line", damaged)
	}
	b := newBuilder(f)
	if f.header >= 0 {
		b.head(&f.entries[f.header])
	}
	for _, at := range f.path {
		b.entry(at)
	}
	doc.Session = b.finish()
	doc.Ledger = b.ledger()
	for _, marker := range b.theirs {
		doc.IsTheirs(marker)
	}
	return doc, nil
}

// count counts what is in the file, the branches that were left included, and lists the requests of
// those branches.
func (f *file) count(doc *format.Document) {
	active := make([]bool, len(f.entries))
	for _, at := range f.path {
		active[at] = true
	}
	c := &doc.Counts
	for i := range f.entries {
		e := &f.entries[i]
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
				doc.Beside = append(doc.Beside, r)
			}
		}
	}
}

// request is that of an assistant's entry. Its usage is nil if it is unknown.
func (f *file) request(at int) bill.Request {
	e, m := &f.entries[at], f.entries[at].Message
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
	s session.Session

	foreign  bool              // the header has the session that the file was written for
	model    *session.ModelRef // that answers from here on
	level    string            // of thinking, "" when it is off or unknown
	path     *session.Path
	lastUser string
	calls    map[string]place // call id → its newest part
	parts    jsonl.IDs        // part id → how often it occurs
	byID     map[string]int   // message id → position
	unasked  []int            // user messages that came before any word about the model
	restores []restore
	elisions []placed
	theirs   []string // markers of compactions that the product made itself
}

// restore is a message that is to be given back as its mark has it.
type restore struct {
	message int
	as      *session.Message
	from    []int
}

// placed is an elision that was read, with the message that it is in. result is set if the part is
// the call that the entry has the result of.
type placed struct {
	elided
	message int
	result  *place
}

func newBuilder(f *file) *builder {
	return &builder{f: f, calls: map[string]place{}, parts: jsonl.IDs{}, byID: map[string]int{},
		s: session.Session{Messages: make([]session.Message, 0, len(f.path))}}
}

func (b *builder) head(e *entry) {
	if m := readMark(e.Winnow.Of(e.text)); m != nil && m.Session != nil {
		b.s, b.foreign = *m.Session, true
		b.s.Messages = make([]session.Message, 0, len(b.f.path))
		return
	}
	b.s.Info.ID, b.s.Info.Directory = e.ID, e.Cwd
	b.s.Info.ParentID = forkedFrom(cmp.Or(e.ParentSession, e.BranchedFrom))
	b.s.Info.Time.Created = jsonl.Millis(e.Timestamp)
	b.setModel(e.Provider, e.Model)
	b.setLevel(e.Thinking)
	for i := range b.f.entries {
		if e := &b.f.entries[i]; !e.gone && e.Kind == infoEntry {
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
	e := &b.f.entries[at]
	var m *mark
	if !e.Winnow.Empty() {
		m = readMark(e.Winnow.Of(e.text))
	}
	if m != nil && len(m.Original) > 0 {
		original, ok := e.restored(m.Original)
		if ok {
			e = original
		}
	}
	before := len(b.s.Messages)
	var result *place
	switch e.Kind {
	case messageEntry:
		if e.Message != nil {
			result = b.message(at, e, m)
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
	if m != nil {
		b.mark(m, before, result)
	}
}

// mark notes what the mark of an entry says about the messages that the entry gave, from the one at
// before on.
func (b *builder) mark(m *mark, before int, result *place) {
	at := before
	if m.Of != "" {
		if known, ok := b.byID[m.Of]; ok {
			at = known
		}
	}
	if len(b.s.Messages) > before {
		if m.Message != nil {
			b.rename(before, m.Message.ID)
			b.restores = append(b.restores, restore{before, m.Message, m.From})
		}
		if m.Answer != nil && before+1 < len(b.s.Messages) {
			b.rename(before+1, m.Answer.ID)
			b.restores = append(b.restores, restore{before + 1, m.Answer, m.AnswerFrom})
		}
	}
	for _, e := range m.Elisions {
		switch {
		case result != nil:
			b.elisions = append(b.elisions, placed{e, result.message, result})
		case e.Answer && before+1 < len(b.s.Messages):
			b.elisions = append(b.elisions, placed{e, before + 1, nil})
		case at < len(b.s.Messages):
			b.elisions = append(b.elisions, placed{e, at, nil})
		}
	}
}

func (b *builder) rename(at int, id string) {
	m := &b.s.Messages[at]
	if b.lastUser == m.ID {
		b.lastUser = id
	}
	b.f.owner[id], b.byID[id] = b.f.owner[m.ID], at
	m.ID = id
}

// add appends a message that was made from the entry at this position.
func (b *builder) add(at int, m session.Message) *session.Message {
	if m.Role == session.User && m.Marker() == nil {
		b.lastUser = m.ID
	}
	if m.Role == session.User && m.Model == nil {
		b.unasked = append(b.unasked, len(b.s.Messages))
	}
	b.byID[m.ID], b.f.owner[m.ID] = len(b.s.Messages), at
	b.s.Messages = append(b.s.Messages, m)
	return &b.s.Messages[len(b.s.Messages)-1]
}

// finish gives messages back that marks hold, and fills in what is only known at the end.
func (b *builder) finish() session.Session {
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
	jsonl.Own(&b.s)
	for i := range b.restores {
		b.restore(&b.restores[i])
	}
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
	return b.s
}

func (b *builder) restore(r *restore) {
	native := b.s.Messages[r.message]
	m := jsonl.Given(r.as, r.from, native.Parts)
	if marker, was := m.Marker(), native.Marker(); marker != nil && was != nil {
		// By position: ids of messages change when the product rewrites an old file.
		marker.TailStartID = was.TailStartID
	}
	b.s.Messages[r.message] = m
	b.f.from[r.message] = r.from
}

// ledger is what was read of elisions, in the order of their commits.
func (b *builder) ledger() rule.Ledger {
	slices.SortStableFunc(b.elisions, func(x, y placed) int { return cmp.Compare(x.Order, y.Order) })
	var found []rule.Elision
	for _, p := range b.elisions {
		e, part := p.Elision, p.Index
		if p.result != nil {
			part = b.restoredAt(*p.result)
		}
		m := &b.s.Messages[p.message]
		if part < 0 || part >= len(m.Parts) {
			continue
		}
		e.Part, e.Message = m.Parts[part].ID, m.ID
		found = append(found, e)
	}
	return rule.NewLedger(found...)
}

// restoredAt is the position of a part after its message was given back as its mark has it.
func (b *builder) restoredAt(p place) int {
	if from, ok := b.f.from[p.message]; ok {
		return slices.Index(from, p.part)
	}
	return p.part
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

package codex

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Read understands a rollout. One response of the model becomes one assistant message; the
// product's own compactions become a marker and a summary.
func (Format) Read(src []byte) (*format.Document, error) { return document(src, src, 0) }

// document reads a rollout. whole is the file behind its base, which has so many bytes.
func document(src, whole []byte, before int) (*format.Document, error) {
	r := &reader{
		doc:   &format.Document{Format: name, Source: src},
		src:   whole,
		index: &native{src: whole, before: before, marks: map[int32]*mark{}, places: map[string]place{}, owned: map[string][]int32{}},
		calls: map[string]call{}, ids: map[string]int{}, names: jsonl.IDs{}, parts: jsonl.IDs{},
		step: -1, compaction: -1,
	}
	r.scan()
	if before > 0 {
		r.ownHead(src)
	}
	readable := 0
	for i := range r.index.lines {
		l := &r.index.lines[i]
		if l.damaged {
			continue
		}
		if err := r.line(int32(i), l); err != nil {
			r.damage(l, err)
			continue
		}
		readable++
	}
	r.endTurn()
	if readable == 0 {
		return nil, jsonl.Unreadable(name, "a line with timestamp, type and payload", r.doc.Damaged)
	}
	slices.SortFunc(r.doc.Damaged, func(a, b format.Damage) int { return cmp.Compare(a.Line, b.Line) })
	r.finish()
	return r.doc, nil
}

// call is where a tool call waits for its result.
type call struct {
	message, part int
	id            string // of the part
}

type reader struct {
	doc   *format.Document
	src   []byte
	index *native

	ids   map[string]int // positions of messages
	names jsonl.IDs      // of messages
	parts jsonl.IDs
	calls map[string]call // newest call by call id

	step       int  // position of the open assistant message, -1 between steps
	answered   bool // the open step has a result: the next item of the model begins another
	count      counting
	pending    *session.Usage
	compaction int // position of a marker of this turn whose kind is not known yet, -1 without
	spoken     bool
	inTurn     bool

	user            string // id of the newest user message
	provider, model string
	cwd             string
	meta            bool
	elisions        []elided
}

// scan finds the lines.
func (r *reader) scan() {
	r.index.lines = make([]line, 0, bytes.Count(r.src, []byte{'\n'})+1)
	others := bytes.Count(r.src[:r.index.before], []byte{'\n'})
	for found := range span.Lines(r.src) {
		if found.Text.Empty() {
			continue
		}
		l := line{json: found.Text, number: found.Number - others}
		r.doc.Counts.Entries++
		if err := scanLine(l.text(r.src), &l); err != nil {
			r.damage(&l, err)
		}
		if l.hasOrdinal && l.kind != oursLine {
			r.index.mode.ordinals, r.index.mode.last = true, l.ordinal
		}
		r.index.lines = append(r.index.lines, l)
	}
}

// reason says shortly why a line cannot be read.
func reason(err error) string { return strings.TrimPrefix(err.Error(), "jsontext: ") }

func (r *reader) damage(l *line, err error) {
	if l.damaged = true; l.json.Start < r.index.before {
		return // it is another file's
	}
	r.doc.Damaged = append(r.doc.Damaged, format.Damage{
		Line: l.number, Offset: int64(l.json.Start - r.index.before), Bytes: l.json.Len(), Reason: reason(err),
	})
}

// line reads one line.
func (r *reader) line(at int32, l *line) error {
	text := l.text(r.src)
	payload := l.payload.Of(text)
	kind := l.kind
	var m *mark
	if !l.ours.Empty() {
		m = new(mark)
		if err := decode(l.ours.Of(text), m); err != nil {
			m = nil // not ours, or of a version to come: the rest of the line is still readable
		}
	}
	if m != nil {
		r.index.marks[at] = m
		r.elisions = append(r.elisions, m.Elisions...)
		if len(m.Original) > 0 {
			payload = m.Original
		}
		if m.Type != "" {
			kind = kinds[m.Type]
		}
		if len(m.Messages) > 0 {
			r.endStep()
			for i := range m.Messages {
				r.adopt(at, m.Messages[i])
			}
			return nil
		}
		if m.Message != nil {
			r.endStep()
			r.adopt(at, *m.Message)
		}
	}
	switch kind {
	case metaLine:
		return r.sessionMeta(payload, m)
	case turnLine:
		var turn struct {
			Model string `json:"model"`
			Cwd   string `json:"cwd"`
		}
		if err := decode(payload, &turn); err != nil {
			return err
		}
		r.model, r.cwd = cmp.Or(turn.Model, r.model), cmp.Or(turn.Cwd, r.cwd)
		if r.doc.Session.Info.Model == nil && r.model != "" {
			r.doc.Session.Info.Model = &session.ModelRef{ID: r.model, ProviderID: r.provider}
		}
	case eventLine:
		return r.event(payload)
	case usageLine:
		u, _, err := r.count.usage(kind, payload)
		if err != nil {
			return err
		}
		r.usage(u)
		r.endStep()
	case compactedLine:
		return r.compacted(at, l, payload)
	case agentLine:
		return r.agent(at, l, payload)
	case itemLine:
		var it item
		if err := decode(payload, &it); err != nil {
			return err
		}
		if m != nil && (m.Message != nil || m.Of != "") && r.fill(at, &it, m) {
			return nil
		}
		if bytes.Contains(l.metadata.Of(text), []byte(`"compaction_output":true`)) {
			it.count(&r.doc.Counts)
			r.doc.Counts.Aside++
			return nil // the summary itself, as the model wrote it: the compacted line has it
		}
		r.item(at, l, &it, payload)
	}
	return nil
}

// finish fills in what only the whole file says.
func (r *reader) finish() {
	s := &r.doc.Session
	s.Info.Title = session.Called(s.Info, s.Messages)
	for i := len(r.index.lines) - 1; i >= 0 && s.Info.Time.Updated == 0; i-- {
		s.Info.Time.Updated = r.index.lines[i].created(r.src)
	}
	jsonl.Own(s)
	slices.SortStableFunc(r.elisions, func(a, b elided) int { return cmp.Compare(a.At, b.At) })
	committed := make([]rule.Elision, len(r.elisions))
	for i, e := range r.elisions {
		committed[i] = e.Elision
		r.index.next = e.At + 1
	}
	r.doc.Ledger = rule.NewLedger(committed...)
	r.doc.Native = r.index
}

// messageID is the id of a message that begins on this line: the item's own, or one made of the
// line's place.
func (r *reader) messageID(own string, l *line) string {
	if own != "" && r.names[own] == 0 {
		r.names[own]++
		return own
	}
	n := int64(l.number)
	if l.hasOrdinal {
		n = l.ordinal
	}
	return r.names.New(fmt.Sprintf("codex_%06d", n)) // ordinals repeat where files were joined
}

// append adds a message to the log and returns its position.
func (r *reader) append(at int32, m session.Message) int {
	if m.Role == session.Assistant {
		r.doc.Failed = ""
	}
	i := len(r.doc.Session.Messages)
	r.doc.Session.Messages = append(r.doc.Session.Messages, m)
	r.ids[m.ID] = i
	r.own(m.ID, at)
	return i
}

// own notes that a line is a message's.
func (r *reader) own(message string, at int32) {
	lines := r.index.owned[message]
	if n := len(lines); n == 0 || lines[n-1] != at {
		r.index.owned[message] = append(lines, at)
	}
}

// addPart appends a part to a message and notes where it is.
func (r *reader) addPart(message int, p session.Part, where place) *session.Part {
	m := &r.doc.Session.Messages[message]
	if p.ID == "" {
		p.ID = r.parts.New(fmt.Sprintf("%s:%d", m.ID, len(m.Parts)))
	}
	r.index.places[p.ID] = where
	m.Parts = append(m.Parts, p)
	return &m.Parts[len(m.Parts)-1]
}

// raw keeps a value of the file as a part's metadata.
func raw(v []byte) jsontext.Value { return jsontext.Value(slices.Clone(v)) }

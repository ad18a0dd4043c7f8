package codex

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// Read understands a rollout. One response of the model becomes one assistant message; the product's own
// compactions become a marker and a summary.
func (Format) Read(src []byte) (*format.Document, error) {
	r := &reader{
		doc:   &format.Document{Format: name, Source: src},
		src:   src,
		index: &native{marks: map[int32]*mark{}, places: map[string]place{}, owned: map[string][]int32{}},
		calls: map[string]call{}, ids: map[string]int{}, parts: map[string]bool{}, step: -1, compaction: -1,
	}
	r.scan()
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
		err := errors.New("the file is empty")
		expected, number, offset := "a line with timestamp, type and payload", 1, int64(0)
		if len(r.doc.Damaged) > 0 {
			first := r.doc.Damaged[0]
			err, number, offset = errors.New(first.Reason), first.Line, first.Offset
		}
		return nil, &format.SyntaxError{Format: name, Line: number, Offset: offset, Expected: expected, Err: err}
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

	ids   map[string]int  // positions of messages
	parts map[string]bool // ids of parts that are taken
	calls map[string]call // newest call by call id

	step       int  // position of the open assistant message, -1 between steps
	answered   bool // the open step has a result: the next item of the model begins another
	records    bool // usage records have been seen: what is counted in events repeats them
	total      int  // of the last token_count, to tell a repeated one
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
	src := r.src
	at := 0
	if bytes.HasPrefix(src, []byte("\xef\xbb\xbf")) {
		at = 3
	}
	r.index.lines = make([]line, 0, bytes.Count(src, []byte("\n"))+1)
	for number := 1; at < len(src); number++ {
		end := bytes.IndexByte(src[at:], '\n')
		next := at + end + 1
		if end < 0 {
			end, next = len(src)-at, len(src)
		}
		text := bytes.TrimRight(src[at:at+end], " \t\r")
		if len(bytes.TrimSpace(text)) > 0 {
			l := line{at: at, size: len(text), number: number}
			r.doc.Counts.Entries++
			if err := scanLine(text, &l); err != nil {
				r.damage(&l, err)
			}
			if l.hasOrdinal && l.kind != oursLine {
				r.index.mode.ordinals, r.index.mode.last = true, l.ordinal
			}
			r.index.lines = append(r.index.lines, l)
		}
		at = next
	}
}

func (r *reader) damage(l *line, err error) {
	l.damaged = true
	r.doc.Damaged = append(r.doc.Damaged, format.Damage{
		Line: l.number, Offset: int64(l.at), Bytes: l.size, Reason: strings.TrimPrefix(err.Error(), "jsontext: "),
	})
}

// line reads one line.
func (r *reader) line(at int32, l *line) error {
	text := l.text(r.src)
	payload := l.payload.of(text)
	kind := l.kind
	var m *mark
	if l.ours.to > 0 {
		m = new(mark)
		if err := decode(l.ours.of(text), m); err != nil {
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
		var record struct {
			Usage usage `json:"usage"`
		}
		if err := decode(payload, &record); err != nil {
			return err
		}
		r.records = true
		r.usage(record.Usage)
		r.endStep()
	case compactedLine:
		return r.compacted(at, l, payload)
	case itemLine:
		var it item
		if err := decode(payload, &it); err != nil {
			return err
		}
		if m != nil && (m.Message != nil || m.Of != "") && r.fill(at, &it, m) {
			return nil
		}
		if l.metadata.to > 0 && bytes.Contains(l.metadata.of(text), []byte(`"compaction_output":true`)) {
			r.count(&it)
			r.doc.Counts.Aside++
			return nil // the summary itself, as the model wrote it: the compacted line has it
		}
		r.item(at, l, &it, payload)
	}
	return nil
}

func (r *reader) sessionMeta(payload []byte, m *mark) error {
	var meta struct {
		ID        string `json:"id"`
		Timestamp string `json:"timestamp"`
		Cwd       string `json:"cwd"`
		Version   string `json:"cli_version"`
		Provider  string `json:"model_provider"`
		Parent    string `json:"parent_thread_id"`
		Forked    string `json:"forked_from_id"`
	}
	if err := decode(payload, &meta); err != nil {
		return err
	}
	if r.meta { // a fork repeats the head of what it was forked from
		return nil
	}
	r.meta = true
	r.provider, r.cwd = meta.Provider, meta.Cwd
	info := &r.doc.Session.Info
	if m != nil && m.Info != nil {
		*info, r.doc.Session.Unknown = *m.Info, m.Session
		return nil
	}
	info.ID, info.Directory, info.Version, info.ParentID = meta.ID, meta.Cwd, meta.Version, cmp.Or(meta.Parent, meta.Forked)
	info.Time.Created = millis(meta.Timestamp)
	return nil
}

// event reads what events tell that items do not: where turns begin and end, what was rolled back, and in older files what a
// request cost. Messages in events repeat response items.
func (r *reader) event(payload []byte) error {
	kind := ""
	if rest, ok := bytes.CutPrefix(payload, []byte(`{"type":"`)); ok {
		if end := bytes.IndexByte(rest, '"'); end >= 0 {
			kind = string(rest[:end])
		}
	} else if at, ok := value(payload, "type"); ok {
		kind = unquoted(at.of(payload))
	}
	switch kind {
	case "task_started", "turn_started":
		r.endTurn()
		r.inTurn = true
	case "task_complete", "turn_complete", "turn_aborted":
		r.endTurn()
	case "thread_rolled_back":
		var back struct {
			Turns int `json:"num_turns"`
		}
		if err := decode(payload, &back); err != nil {
			return err
		}
		r.endTurn()
		r.rollBack(back.Turns)
	case "token_count":
		if r.records {
			return nil
		}
		var count struct {
			Info *struct {
				Total usage `json:"total_token_usage"`
				Last  usage `json:"last_token_usage"`
			} `json:"info"`
		}
		if err := decode(payload, &count); err != nil {
			return err
		}
		if count.Info != nil && count.Info.Total.Total != r.total {
			r.total = count.Info.Total.Total
			r.usage(count.Info.Last)
		}
	}
	return nil
}

// usage notes what a request cost on the step that it belongs to: the open one, or in some older versions, which
// write the count first, the one to come.
func (r *reader) usage(u usage) {
	tokens := u.canonical()
	if r.step >= 0 && r.doc.Session.Messages[r.step].Tokens == nil {
		r.doc.Session.Messages[r.step].Tokens = &tokens
		return
	}
	r.pending = &tokens
}

func (r *reader) endStep() { r.step, r.answered = -1, false }

// endTurn closes what a turn leaves open. A compaction in a turn in which nobody spoke was asked for by hand.
func (r *reader) endTurn() {
	r.endStep()
	r.pending = nil
	if r.compaction >= 0 && r.inTurn && !r.spoken && r.compaction < len(r.doc.Session.Messages) {
		if marker := r.doc.Session.Messages[r.compaction].Marker(); marker != nil {
			marker.Auto = false
		}
	}
	r.compaction, r.spoken, r.inTurn = -1, false, false
}

// rollBack leaves the newest turns: they stay in the file and are no part of the session.
func (r *reader) rollBack(turns int) {
	messages := r.doc.Session.Messages
	from := len(messages)
	for i := len(messages) - 1; i >= 0 && turns > 0; i-- {
		if messages[i].Written() {
			turns--
			from = i
		}
	}
	r.doc.Counts.Aside += len(messages) - from
	for id, c := range r.calls {
		if c.message >= from {
			delete(r.calls, id)
		}
	}
	r.doc.Session.Messages = messages[:from]
}

// finish completes what only the whole file tells.
func (r *reader) finish() {
	s := &r.doc.Session
	if s.Info.Title == "" {
		for i := range s.Messages {
			if s.Messages[i].Written() {
				opening, _, _ := strings.Cut(strings.TrimSpace(s.Messages[i].Text()), "\n")
				s.Info.Title = rule.Shorten(opening, 80)
				break
			}
		}
	}
	for i := len(r.index.lines) - 1; i >= 0 && s.Info.Time.Updated == 0; i-- {
		if l := &r.index.lines[i]; l.timestamp.to > 0 {
			s.Info.Time.Updated = millis(unquoted(l.timestamp.of(l.text(r.src))))
		}
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.SessionID == "" {
			m.SessionID = s.Info.ID
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.SessionID == "" {
				p.SessionID = s.Info.ID
			}
			if p.MessageID == "" {
				p.MessageID = m.ID
			}
		}
	}
	slices.SortStableFunc(r.elisions, func(a, b elided) int { return cmp.Compare(a.At, b.At) })
	committed := make([]rule.Elision, len(r.elisions))
	for i, e := range r.elisions {
		committed[i] = e.Elision
		r.index.next = e.At + 1
	}
	r.doc.Ledger = rule.NewLedger(committed...)
	r.doc.Native = r.index
}

// messageID is the id of a message that begins on this line: the item's own, or one made of the line's place.
func (r *reader) messageID(own string, l *line) string {
	if own != "" {
		if _, taken := r.ids[own]; !taken {
			return own
		}
	}
	n := int64(l.number)
	if l.hasOrdinal {
		n = l.ordinal
	}
	id := fmt.Sprintf("codex_%06d", n)
	for {
		if _, taken := r.ids[id]; !taken {
			return id
		}
		id += "b"
	}
}

// append adds a message to the log and returns its position.
func (r *reader) append(at int32, m session.Message) int {
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

// partID makes an id that no part has yet.
func (r *reader) partID(id string) string {
	unique := id
	for n := 2; r.parts[unique]; n++ {
		unique = fmt.Sprintf("%s#%d", id, n)
	}
	r.parts[unique] = true
	return unique
}

// addPart appends a part to a message and notes where it is.
func (r *reader) addPart(message int, p session.Part, where place) *session.Part {
	m := &r.doc.Session.Messages[message]
	if p.ID == "" {
		p.ID = r.partID(fmt.Sprintf("%s:%d", m.ID, len(m.Parts)))
	}
	r.index.places[p.ID] = where
	m.Parts = append(m.Parts, p)
	return &m.Parts[len(m.Parts)-1]
}

// raw keeps a value of the file as a part's metadata.
func raw(v []byte) jsontext.Value { return jsontext.Value(slices.Clone(v)) }

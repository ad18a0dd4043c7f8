package copilot

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// reader reads one file.
type reader struct {
	*entries.File
	about   about
	usage   *usage            // of the request whose answer is still to come
	usedBy  *event            // that reported it
	chunks  map[string]string // requests whose answers came in chunks → the message with the first
	before  map[string]int    // event → how many messages came before it
	tail    int               // how many messages there were when the newest compaction began, -1: none began
	assets  map[string]binary // by their ids
	last    *session.ModelRef
	updated string         // when the newest event was written
	mark    *entries.Mark  // of the line that is read
	starts  map[string]int // marker → how many messages came before its tail
}

// Read reads a session. What sub-agents said and did counts as aside, and what they took is beside
// the session. Messages that were left, because the user went back or began anew, count as aside
// too.
func (Format) Read(src []byte) (*format.Document, error) {
	r := &reader{File: entries.NewFile(Name, src), chunks: map[string]string{}, before: map[string]int{}, tail: -1,
		assets: map[string]binary{}, starts: map[string]int{}}
	end := 0
	for l := range span.Lines(src) {
		if l.Text.Empty() {
			continue
		}
		whole := span.Span{Start: end, End: l.Whole.End} // with blank lines before it
		end = whole.End
		r.Entries = append(r.Entries, entries.Entry{Whole: whole, At: l.Text})
		if err := r.line(l.Text.Of(src)); err != nil {
			r.Damaged = append(r.Damaged, jsonl.Damage(l, span.Reason(err, "the line")))
		}
		r.Counts.Entries++
	}
	r.unclaimed()
	if r.about.SessionID == "" && len(r.Session.Messages) == 0 {
		return nil, jsonl.Unreadable(Name, "a session.start or a message, one event a line", r.Damaged)
	}
	if r.Counts.Messages > r.Counts.Aside && !r.says() {
		return nil, r.Syntax("messages that say something")
	}
	r.end()
	r.Native = r
	return r.Document, nil
}

// says reports whether there is a part in any of the messages.
func (r *reader) says() bool {
	for i := range r.Session.Messages {
		if len(r.Session.Messages[i].Parts) > 0 {
			return true
		}
	}
	return false
}

// end fills in what the session is as a whole.
func (r *reader) end() {
	info := &r.Session.Info
	info.ID = cmp.Or(r.about.SessionID, r.Hash("copilot_"))
	info.Directory = r.about.Context.Cwd
	info.Time.Created = jsonl.Millis(r.about.Start)
	info.Time.Updated = jsonl.Millis(r.updated)
	jsonl.Own(&r.Session)
	if r.last == nil && r.about.Model != "" {
		r.last = &session.ModelRef{ProviderID: "github-copilot", ModelID: r.about.Model}
	}
	r.End(r.last, "copilot", r.about)
	r.Finish()
}

// into decodes the data of an event.
func into[T any](e *event) (T, error) {
	var v T
	err := json.Unmarshal(e.Data, &v, session.ReadOptions())
	return v, err
}

func (r *reader) line(text []byte) error {
	var e event
	if err := json.Unmarshal(text, &e, session.ReadOptions()); err != nil {
		return err
	}
	if e.Type == "" || e.Data.Kind() != '{' {
		return errors.New("not an event: it has no type, or no data")
	}
	r.mark = entries.ReadMark[entries.Mark](e.Winnow)
	here := &r.Entries[len(r.Entries)-1]
	here.ID, here.Parent, here.Kind, here.Mark = e.ID, e.Parent, e.Type, r.mark
	if r.mark != nil && len(r.mark.Original) > 0 {
		e.Data = r.mark.Original
	}
	before := len(r.Session.Messages)
	err := r.event(&e)
	r.Took(len(r.Entries)-1, min(before, len(r.Session.Messages)))
	return err
}

// event takes what a line says.
func (r *reader) event(e *event) error {
	r.updated = cmp.Or(e.Timestamp, r.updated)
	if e.ID != "" && e.Agent == "" {
		r.before[e.ID] = len(r.Session.Messages)
	}
	switch e.Type {
	case "session.usage_record":
		return r.used(e)
	case "user.message", "system.notification":
		return r.asked(e)
	case "assistant.message":
		return r.answered(e)
	case "tool.execution_complete":
		return r.completed(e)
	}
	if e.Agent != "" {
		return nil
	}
	return r.changed(e)
}

// changed takes what an event says of the session as a whole. Other events are ignored.
func (r *reader) changed(e *event) error {
	switch e.Type {
	case "session.start":
		a, err := into[about](e)
		if r.about.SessionID == "" {
			r.about = a
		}
		return err
	case "session.title_changed":
		t, err := into[struct {
			Title string `json:"title"`
		}](e)
		r.Session.Info.Title = cmp.Or(t.Title, r.Session.Info.Title)
		return err
	case "session.binary_asset":
		b, err := into[binary](e)
		r.assets[b.Asset] = b
		return err
	case "session.snapshot_rewind":
		to, err := into[struct {
			Event string `json:"upToEventId"`
		}](e)
		if at, ok := r.before[to.Event]; ok {
			r.leave(at)
		}
		return err
	case "session.context_cleared":
		r.leave(0)
	case startEvent:
		if r.mark != nil && r.mark.Of != "" {
			r.starts[r.mark.Of] = len(r.Session.Messages)
			return nil
		}
		r.tail = len(r.Session.Messages)
	case completeEvent, standInEvent:
		return r.compacted(e)
	case keptEvent:
		if r.mark != nil && r.mark.Message != nil {
			r.Message(r.mark.Message.Role, r.mark.Message.ID, e.Timestamp)
		}
	}
	return nil
}

// used takes a report of usage. It comes before the answer of its request.
func (r *reader) used(e *event) error {
	d, err := into[struct {
		Usage usage `json:"usage"`
	}](e)
	if err != nil {
		return err
	}
	u := &d.Usage
	if e.Agent != "" || u.Parent != "" {
		r.Beside = append(r.Beside, request(e, u, bill.Agent))
		return nil
	}
	r.unclaimed()
	r.usage, r.usedBy, r.last = u, e, u.by()
	return nil
}

// unclaimed lists a request that no answer came of.
func (r *reader) unclaimed() {
	if r.usage != nil {
		r.Beside = append(r.Beside, request(r.usedBy, r.usage, bill.Left))
		r.usage = nil
	}
}

func request(e *event, u *usage, kind bill.Kind) bill.Request {
	return bill.Request{
		ID: cmp.Or(u.Call, e.ID), Kind: kind, Time: jsonl.Millis(e.Timestamp), Model: u.by().String(),
		Usage: u.tokens(),
	}
}

// id is the id of a message: that of its event.
func (r *reader) id(e *event) string {
	return cmp.Or(e.ID, fmt.Sprintf("copilot_%06d", r.Counts.Entries+1))
}

// asked adds a message in the user's name. The user wrote its content; what the product puts around
// it, and what it says itself, is synthetic.
func (r *reader) asked(e *event) error {
	a, err := into[asked](e)
	if err != nil {
		return err
	}
	r.Counts.Messages++
	if e.Agent != "" {
		r.Counts.Aside++
		return nil
	}
	synthetic := e.Type != "user.message" || a.Autopilot || a.Source != "" && a.Source != "user"
	before := r.LastAsk
	m := r.Message(session.User, r.id(e), e.Timestamp)
	if synthetic {
		r.LastAsk = before
	}
	r.keep(m, a.Unknown)
	add := func(text string, synthetic bool) {
		if text != "" {
			r.Add(m, session.Part{Type: session.TextPart, Text: text, Synthetic: synthetic})
		}
	}
	front, back, found := strings.Cut(a.Sent, a.Content)
	if !found {
		front, back = "", a.Sent
	}
	add(front, true)
	add(a.Content, synthetic)
	add(back, true)
	for _, b := range a.Attachments {
		if p, ok := r.file(b); ok {
			p.Synthetic = synthetic
			r.Add(m, p)
		}
	}
	return nil
}

// file is what an event has of a picture or another file; false if it is only named.
func (r *reader) file(b binary) (session.Part, bool) {
	if b.Data == "" {
		b.Data, b.Mime = r.assets[b.Asset].Data, cmp.Or(b.Mime, r.assets[b.Asset].Mime)
	}
	url := "data:" + b.Mime + ";base64," + b.Data
	return session.Part{Type: session.FilePart, Mime: b.Mime, Filename: b.Name, URL: url}, b.Data != ""
}

// keep keeps what the session has no member for.
func (r *reader) keep(m *session.Message, unknown jsontext.Value) {
	if len(unknown) > 2 {
		m.Unknown = span.Make("copilot", unknown)
	}
}

func (r *reader) answered(e *event) error {
	a, err := into[answer](e)
	if err != nil {
		return err
	}
	r.Counts.Messages++
	if e.Agent != "" || a.Parent != "" {
		r.Counts.Aside++
		r.Counts.ToolCalls += len(a.Calls)
		return nil
	}
	r.Model = nil
	if a.Model != "" {
		r.Model = &session.ModelRef{ProviderID: "github-copilot", ModelID: a.Model}
		if r.last != nil { // as the newest report has it
			r.Model.ProviderID = r.last.ProviderID
		}
		r.last = r.Model
	}
	m := r.Continued(r.mark)
	if m == nil {
		m = r.Message(session.Assistant, r.id(e), e.Timestamp)
	}
	r.keep(m, a.Unknown)
	if a.Chunk > 0 {
		m.Repeats = r.chunks[a.Call]
	} else if a.Call != "" {
		r.chunks[a.Call] = m.ID
	}
	if r.usage != nil {
		m.Tokens, r.usage = r.usage.tokens(), nil
	}
	if a.Thought != "" || a.Opaque != "" {
		r.Think(m, []transcript.Thought{{Thinking: a.Thought, Signature: a.Opaque}})
	}
	if a.Content != "" {
		r.Add(m, session.Part{Type: session.TextPart, Text: a.Content})
	}
	for _, c := range a.Calls {
		p, _ := r.Call(m, c.ID, c.Name, transcript.Arguments(c.Arguments))
		p.State.Title = c.Title
	}
	return nil
}

// completed gives a result to its call. That of no call, as of a command that the user runs, is a
// message that nobody wrote.
func (r *reader) completed(e *event) error {
	c, err := into[completed](e)
	if err != nil {
		return err
	}
	r.Counts.ToolResults++
	if e.Agent != "" || c.Parent != "" {
		return nil
	}
	text, status := c.Result.Content, session.Completed
	if !c.Success {
		text, status = cmp.Or(c.Error.Message, text), session.Failed
	}
	p := r.called(c.ID)
	if p == nil {
		asked := r.LastAsk
		m := r.Message(session.User, r.id(e), e.Timestamp)
		r.LastAsk = asked
		r.Add(m, session.Part{Type: session.TextPart, Text: text, Synthetic: true})
		return nil
	}
	if p.State.Final() {
		return nil // the first counts
	}
	if at, ok := r.Find(c.ID); ok {
		r.Result(at, entries.Spot{Entry: len(r.Entries) - 1, Block: -1})
	}
	if p.State.Status = status; status == session.Failed {
		p.State.Error = text
	} else {
		p.State.Output = text
	}
	for _, b := range c.Result.Binaries {
		if file, ok := r.file(b); ok {
			transcript.Attach(p, file)
		}
	}
	return nil
}

// called is the call with an id, nil if it is not there or was left.
func (r *reader) called(id string) *session.Part {
	at, ok := r.Find(id)
	if !ok || at.Message >= len(r.Session.Messages) || at.Part >= len(r.Session.Messages[at.Message].Parts) {
		return nil
	}
	if p := r.Part(at); p.CallID == id && p.State != nil {
		return p
	}
	return nil
}

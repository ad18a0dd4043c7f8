package geminicli

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/gemini"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// reader reads one file.
type reader struct {
	*transcript.Log
	*index
	ids      jsonl.IDs          // of messages
	nameless []transcript.Place // calls without an id and without a result
}

// index is what a writer needs to know of a file.
type index struct {
	history
	lined  bool             // a record a line
	theirs int              // where the last line ends that is not ours
	said   map[string]*said // message → what it says in the file
}

// said is what a message says in the file.
type said struct {
	says    []gemini.Piece
	results []gemini.Piece // of its calls
	answer  string         // id of the message with the results, "" if they are with the calls
	head    []record       // of a summary
}

func newIndex() *index {
	return &index{history: history{ids: map[string]int{}, passed: map[int]int{}}, said: map[string]*said{}}
}

// Read reads a chat. What the product shows to people only (info, warning, error) is not a message
// of the log and counts as nothing but an entry; messages that a rewind left behind count as aside.
// A compression is a marker with a summary, and what was before it stays in the log.
func (Format) Read(src []byte) (*format.Document, error) { return understand(src, false) }

// understand reads a chat; lines says that it is one of a record a line.
func understand(src []byte, lines bool) (*format.Document, error) {
	r := &reader{Log: transcript.New(Name, src), index: newIndex(), ids: jsonl.IDs{}}
	text := span.Trim(r.Whole().Of(src))
	first, _, more := bytes.Cut(text, []byte("\n"))
	cut := false
	switch first = bytes.TrimSpace(first); {
	case len(text) == 0:
	case lines, more && len(first) > 1 && first[0] == '{' && span.Valid(first), !more && oneRecord(first):
		r.lined = true
		r.lines()
	default:
		r.object()
		cut = len(r.Damaged) > 0
	}
	if !lines && len(r.entries) == 0 && (r.about.SessionID == "" || cut) {
		return nil, r.Syntax("a chat with a sessionId or messages")
	}
	r.log()
	r.Native = r.index
	return r.Document, nil
}

// oneRecord reports whether a line is the header of a recording that has no messages yet.
func oneRecord(line []byte) bool {
	id := span.Find(line, span.All(line), "sessionId").Of(line)
	return span.Valid(line) && span.String(id) != "" && span.Find(line, span.All(line), "messages").Empty()
}

// log makes the session of the records.
func (r *reader) log() {
	info := &r.Session.Info
	info.ID = cmp.Or(r.about.SessionID, r.Hash("gemini_"))
	info.Title = r.about.Summary
	if len(r.about.Directories) > 0 {
		info.Directory = r.about.Directories[0]
	}
	info.Time.Created = jsonl.Millis(r.about.StartTime)
	info.Time.Updated = jsonl.Millis(r.about.LastUpdated)
	var last *session.ModelRef
	active := r.active()
	for i, e := range r.entries {
		switch m := &e.record; {
		case !active[i]:
		case e.folds != nil:
			r.compression(e.folds)
		case m.spoken():
			r.Counts.Messages++
			r.Model = nil
			if m.Type == "gemini" && m.Model != "" {
				r.Model = &session.ModelRef{ProviderID: "google", ModelID: m.Model}
				last = r.Model
			}
			r.message(e, i)
		}
	}
	r.left(active)
	r.Ledger = rule.NewLedger(r.ledger...)
	r.End(last, "geminiCli", r.about)
}

// compression adds a marker and its summary.
func (r *reader) compression(f *folding) {
	var tail string
	for _, i := range f.behind {
		if e := r.entries[i]; e.folds == nil && r.said[e.message] != nil {
			tail = e.message
			break
		}
	}
	if f.marks != nil && f.marks.Summary != nil {
		m, s := *f.marks.Message, *f.marks.Summary
		m.ID, s.ID = r.ids.New(m.ID), r.ids.New(s.ID)
		r.Fold(m, s, tail)
		r.said[s.ID] = &said{head: f.head}
		return
	}
	id := r.ids.New(f.head[0].ID)
	r.IsTheirs(id)
	s := r.Compaction(id, r.ids.New(id+":summary"), f.head[0].Timestamp, session.Part{TailStartID: tail})
	s.Time.Completed = s.Time.Created
	s.Mode, s.Agent = "compaction", "compaction"
	own := &said{head: f.head}
	for i := range f.head {
		for _, p := range gemini.Parts(f.head[i].Content) {
			if text := p.Words(); text != "" {
				part := r.Add(s, session.Part{Type: session.TextPart, Text: text})
				own.says = append(own.says, gemini.Piece{Raw: p.Raw, Slot: gemini.Slot{Part: part.ID}})
			}
		}
	}
	r.said[s.ID] = own
}

func (r *reader) message(e *entry, at int) {
	rec := &e.record
	if marks := readMarks(rec.Winnow); marks != nil && marks.Message != nil {
		r.kept(e, *marks.Message)
		return
	}
	assistant := rec.Type == "gemini"
	parts := gemini.Parts(rec.Content)
	synthetic := false
	if !assistant {
		rest, replied := r.replies(parts, rec.ID)
		if replied && len(rest) == 0 {
			return // the results of calls, which are in them already
		}
		parts, synthetic = rest, replied // what goes along with results is not the user's
	}
	asked := r.LastAsk
	role := session.User
	if assistant {
		role = session.Assistant
	}
	m := r.Message(role, r.ids.New(cmp.Or(rec.ID, fmt.Sprintf("gemini_%06d", at+1))), rec.Timestamp)
	own := &said{}
	r.said[m.ID], e.message = own, m.ID
	if len(rec.Unknown) > 2 {
		m.Unknown = span.Make("geminiCli", rec.Unknown)
	}
	if assistant {
		m.Tokens = rec.Tokens.usage()
	}
	add := func(raw []byte, p session.Part) *session.Part {
		added := r.Add(m, p)
		own.says = append(own.says, gemini.Piece{Raw: raw, Slot: gemini.Slot{Part: added.ID}})
		return added
	}
	if !slices.ContainsFunc(parts, func(p gemini.Part) bool { return p.Thought }) {
		for _, t := range rec.Thoughts {
			text := strings.TrimSpace(t.Subject + "\n" + t.Description)
			add(span.Make("text", t.text(), "thought", true), session.Part{Type: session.ReasoningPart, Text: text})
		}
	}
	written := false
	for i := range parts {
		switch p := &parts[i]; {
		case p.Call != nil && assistant:
			named := func(c call) bool { return p.Call.ID != "" && c.ID == p.Call.ID }
			if at := slices.IndexFunc(rec.Calls, named); at >= 0 {
				r.call(m, own, &rec.Calls[at], p.Raw)
			} else {
				r.call(m, own, &call{ID: p.Call.ID, Name: p.Call.Name, Args: p.Call.Args}, p.Raw)
			}
		case p.Response != nil && !assistant: // of no call that is known
			add(p.Raw, session.Part{Type: session.TextPart, Text: p.Words(), Synthetic: true})
		default:
			part, ok := p.Part()
			if !ok {
				continue
			}
			if part.Type != session.ReasoningPart {
				anew := !assistant && injected(part.Text) // the product says it anew, and not what stands here
				part.Synthetic, part.Ignored = synthetic || anew, anew
				written = written || !part.Synthetic
			}
			add(piece(p), part)
		}
	}
	for i := range rec.Calls {
		c := &rec.Calls[i]
		same := func(p gemini.Part) bool { return p.Call != nil && p.Call.ID == c.ID }
		if c.ID == "" || !slices.ContainsFunc(parts, same) {
			args := c.Args
			if len(args) == 0 {
				args = jsontext.Value("{}")
			}
			r.call(m, own, c, span.Make("functionCall", span.Make("id", c.ID, "name", c.Name, "args", args)))
		}
	}
	if !assistant && !written {
		r.LastAsk = asked
	}
	if n := len(m.Parts); assistant && n > 0 && m.Parts[n-1].Type != session.ToolPart {
		m.Finish = "stop" // it said something after its calls
	}
}

// kept adds a message as it was when it was written.
func (r *reader) kept(e *entry, m session.Message) {
	m.ID = r.ids.New(m.ID)
	r.Kept(m)
	e.message, r.said[m.ID] = m.ID, &said{says: gemini.Asked(&m)}
}

// piece is a part as it is written: a text that stands alone is one.
func piece(p *gemini.Part) []byte {
	if span.Kind(p.Raw) == '"' {
		return gemini.Text(p.Text)
	}
	return p.Raw
}

// replies gives each result of a call to its call, with the pictures behind it, and returns the
// other parts. replied reports whether there was a result.
func (r *reader) replies(parts []gemini.Part, id string) (rest []gemini.Part, replied bool) {
	var call *session.Part // whose result came last
	had := false           // it had its result already
	for _, p := range parts {
		switch {
		case p.Response != nil:
			replied = true
			if call = r.called(p.Response); call == nil {
				rest = append(rest, p)
				continue
			}
			if had = call.State.Final(); !had {
				r.Counts.ToolResults++
				call.State.Status = session.Completed
				var failed bool
				if call.State.Output, failed = gemini.Output(p.Response.Response); failed {
					call.State.Status, call.State.Error, call.State.Output = session.Failed, call.State.Output, ""
				}
				r.replied(call, p.Raw, false)
				if own := r.said[call.MessageID]; own != nil {
					own.answer = id
				}
			}
		case p.Inline != nil && call != nil && !had:
			transcript.Attach(call, p.Inline.Part())
			r.replied(call, p.Raw, true)
		case p.Inline != nil && call != nil && len(call.State.Attachments) > 0: // they are in it
		default:
			rest = append(rest, p)
		}
	}
	return rest, replied
}

// replied notes what the file has of a call's result.
func (r *reader) replied(call *session.Part, raw []byte, beside bool) {
	if own := r.said[call.MessageID]; own != nil {
		slot := gemini.Slot{Part: call.ID, Result: true, Beside: beside}
		own.results = append(own.results, gemini.Piece{Raw: raw, Slot: slot})
	}
}

// called is the call that a result answers, or nil. The product names a call that the
// model did not name, but only in the result: that is the first call of the tool which has neither
// an id nor a result.
func (r *reader) called(reply *gemini.Reply) *session.Part {
	if at, ok := r.Find(reply.ID); ok {
		return r.Part(at)
	}
	for i, at := range r.nameless {
		if p := r.Part(at); p.Tool == reply.Name {
			r.nameless = slices.Delete(r.nameless, i, i+1)
			return p
		}
	}
	return nil
}

// call adds a call with what it gave.
func (r *reader) call(m *session.Message, own *said, c *call, raw []byte) {
	p, at := r.Call(m, c.ID, c.Name, c.Args)
	own.says = append(own.says, gemini.Piece{Raw: raw, Slot: gemini.Slot{Part: p.ID}})
	state := p.State
	state.Title = c.Description
	failed, found := false, false
	results := gemini.Parts(c.Result)
	mineAlone := func(p gemini.Part) bool { return p.Response != nil && p.Response.ID == c.ID }
	several := slices.ContainsFunc(results, mineAlone) // then those of other calls may be among them
	mine := true
	var texts []string
	for _, result := range results {
		if several && result.Response != nil {
			mine = mineAlone(result)
		}
		if !mine {
			continue
		}
		found = true
		switch {
		case result.Response != nil:
			text, bad := gemini.Output(result.Response.Response)
			texts, failed = append(texts, text), failed || bad
			r.replied(p, result.Raw, false)
		case result.Text != "":
			texts = append(texts, result.Text)
		case result.Inline != nil:
			transcript.Attach(p, result.Inline.Part())
			r.replied(p, result.Raw, true)
		}
	}
	text := strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "\n")
	if !found && c.ResultDisplay.Kind() == '"' {
		text, found = transcript.Text(c.ResultDisplay), true
	}
	switch {
	case c.Status == "error" || c.Status == "cancelled" || failed && c.Status != "success":
		state.Status, state.Error = session.Failed, text
		found = true
	case c.Status == "success" || found:
		state.Status, state.Output = session.Completed, text
		found = true
	}
	if found {
		r.Counts.ToolResults++
	}
	if c.Status != "" || len(c.ResultDisplay) > 0 {
		state.Metadata = span.Make("geminiCli", struct {
			Status  string         `json:"status,omitzero"`
			Display jsontext.Value `json:"resultDisplay,omitzero"`
			Unknown jsontext.Value `json:",embed"`
		}{c.Status, c.ResultDisplay, c.Unknown})
	}
	if c.ID == "" && !found {
		r.nameless = append(r.nameless, at)
	}
}

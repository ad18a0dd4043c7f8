package opencode

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// version is the release of the product whose import the encoder was tried against. A session that
// names none is given it, because the product requires one.
const version = "1.18.33"

// encoder turns messages of the log into messages that the product's import accepts: every member
// that it requires, whole numbers where it wants them, ids in its form.
type encoder struct {
	names  *names
	info   *session.Info
	ledger rule.Ledger
	order  map[rule.Key]int  // position among the elisions of one time, those of the product not counted
	parent string            // the file's id of the latest user message
	model  *session.ModelRef // the latest that was named
	aside  sessionNote       // what no part could hold
	// touched are the parts, by the file's ids, whose elisions aside has in place of those that the
	// session's note had.
	touched map[string]bool
	theirs  map[string]bool // markers of the compactions that the product made
}

func newEncoder(n *names, info *session.Info, ledger rule.Ledger) *encoder {
	e := &encoder{
		names: n, info: info, ledger: ledger, order: map[rule.Key]int{}, model: info.Model, touched: map[string]bool{},
	}
	commits := map[session.Millis]int{}
	for _, c := range ledger.All() {
		e.order[c.Key()] = commits[c.Time]
		if c.Rule != rule.Mark {
			commits[c.Time]++
		}
	}
	return e
}

// seen takes note of a message that is in the file already.
func (e *encoder) seen(m *session.Message) {
	e.names.seen(m)
	if m.Role == session.User {
		e.parent = e.names.of(m.ID)
	}
	if model := m.Answers(); model != nil {
		e.model = model
	}
}

// message encodes one message.
func (e *encoder) message(m *session.Message) session.Message {
	out := *m
	id, created := e.names.message(m)
	out.ID, out.SessionID, out.Time.Created = id, e.names.session, created
	if m.Time.Completed != 0 {
		out.Time.Completed = whole(m.Time.Completed)
	} else if m.Completes() { // OpenCode 2 drops a compaction whose summary has no end
		out.Time.Completed = created
	}
	if model := m.Answers(); model != nil {
		e.model = model
	}
	out.Agent = cmp.Or(out.Agent, "build")
	if m.Role == session.User {
		out.Model = e.modelRef(m.Model)
		out.Summary = forPeople(m.Summary)
		e.parent = id
	} else {
		e.assistant(m, &out)
	}
	ids := e.names.parts(m, created)
	out.Parts = make([]session.Part, len(m.Parts))
	told := id == m.ID // whether the original id of the message needs no note, or has one
	for i := range m.Parts {
		p, note := e.part(m, i, ids[i], created)
		out.Parts[i] = p
		out.Parts[i].MessageID = id
		if ids[i] != m.Parts[i].ID {
			note.ID = m.Parts[i].ID
		}
		if metadata := holder(&out.Parts[i]); metadata != nil {
			if !told {
				note.Message, told = m.ID, true
			}
			if len(*metadata) > 0 || !note.empty() {
				*metadata = setNote(*metadata, &note)
			}
			continue
		}
		e.remember(ids[i], note.ID)
		for _, s := range note.Elisions {
			s.Part = ids[i]
			e.aside.Elisions = append(e.aside.Elisions, s)
		}
	}
	if !told {
		e.remember(id, m.ID)
	}
	return out
}

// remember keeps an original id with the session.
func (e *encoder) remember(given, original string) {
	if original == "" || original == given {
		return
	}
	if e.aside.IDs == nil {
		e.aside.IDs = map[string]string{}
	}
	e.aside.IDs[given] = original
}

func (e *encoder) assistant(m, out *session.Message) {
	out.Role = session.Assistant
	out.Model = nil
	model := e.modelRef(m.Answers())
	out.ProviderID, out.ModelID = model.ProviderID, model.ModelID
	out.ParentID = e.names.of(m.ParentID)
	if !proper(session.MessageID, out.ParentID) {
		out.ParentID = cmp.Or(e.parent, out.ID) // the product wants an id
	}
	out.Mode = cmp.Or(out.Mode, out.Agent)
	out.Path = cmp.Or(out.Path, &session.Path{Cwd: e.info.Directory, Root: e.info.Directory})
	out.Cost = cmp.Or(out.Cost, new(float64))
	out.Tokens = cmp.Or(out.Tokens, new(session.Usage))
	if text := string(m.Summary); text != "true" && text != "false" {
		out.Summary = nil
	}
	out.Error = failure(m.Error)
}

// modelRef is a model in the form of a message.
func (e *encoder) modelRef(r *session.ModelRef) *session.ModelRef {
	out := *cmp.Or(r, e.model, new(session.ModelRef))
	out.ProviderID = cmp.Or(out.ProviderID, "unknown") // the product wants both
	out.ModelID, out.ID = cmp.Or(out.ModelID, out.ID, "unknown"), ""
	return &out
}

// part encodes one part, and returns what is to be noted on it.
func (e *encoder) part(m *session.Message, at int, id string, created session.Millis) (session.Part, partNote) {
	had := &m.Parts[at]
	p, note := *had, partNote{}
	if old, ok := noteOf(had); ok {
		note.Rest = old.Rest // its elisions and ids are of another time: the ledger and the log say what holds now
	}
	switch p.Type {
	case session.TextPart:
		p.Time = timed(p.Time, created, false)
		note.Summary = m.IsSummary() && !e.theirs[m.ParentID]
	case session.ReasoningPart:
		p.Time = timed(orNew(p.Time), created, false)
	case session.FilePart:
		p.Source = source(p.Source)
	case session.ToolPart:
		e.tool(&p, &note, id, created)
	case session.StepFinishPart, session.StepStartPart, session.CompactionPart:
		p.TailStartID = e.names.of(p.TailStartID)
		if p.TailStartID != "" && !proper(session.MessageID, p.TailStartID) {
			p.TailStartID = ""
		}
	default:
		if !known(&p) {
			original := *had
			// It gets those of the part that holds it.
			original.ID, original.SessionID, original.MessageID = "", "", ""
			note.Part = encode(&original)
			p = session.Part{Type: session.TextPart, Ignored: true, Text: fmt.Sprintf("[%s]", had.Type)}
		}
	}
	p.ID, p.SessionID = id, e.names.session
	for _, c := range e.ledger.Of(had.ID) {
		if marks(c, had) {
			p.State.Time.Compacted = session.Millis(markTime(c))
			if plain(c, had, m.ID) {
				continue
			}
		}
		note.Elisions = append(note.Elisions, stand(c, e.order[c.Key()]))
	}
	return p, note
}

// known reports whether a part of the rarer kinds has what the product requires of it.
func known(p *session.Part) bool {
	switch p.Type {
	case session.SnapshotPart:
		return p.Snapshot != ""
	case session.PatchPart:
		return p.Hash != "" && p.Files != nil
	case session.AgentPart:
		return p.Name != ""
	case session.SubtaskPart:
		return p.Prompt != "" && p.Description != "" && p.Agent != ""
	case session.RetryPart:
		return p.Attempt > 0 && p.Time != nil && p.Time.Created >= 1 && p.Time.Created == whole(p.Time.Created) &&
			failureName(p.Error) == apiError && string(failure(p.Error)) == string(p.Error)
	}
	return false
}

// tool completes the state of a call. The ledger alone decides what is marked.
func (e *encoder) tool(p *session.Part, note *partNote, id string, created session.Millis) {
	state := session.ToolState{Status: session.Pending}
	if p.State != nil {
		state = *p.State
	}
	p.State = &state
	p.Tool = cmp.Or(p.Tool, "unknown")
	if input := bytes.TrimSpace(state.Input); len(input) > 0 && input[0] != '{' {
		state.Input = span.Make("input", input)
		note.Wrapped = true
	}
	if metadata := bytes.TrimSpace(state.Metadata); len(metadata) > 0 && metadata[0] != '{' {
		state.Metadata = span.Make("value", metadata)
	}
	switch state.Status {
	case session.Running:
		state.Time = timed(orNew(state.Time), created, false)
	case session.Completed, session.Failed:
		state.Time = timed(orNew(state.Time), created, true)
	default:
		state.Status = session.Pending
	}
	state.Attachments = slices.Clone(state.Attachments)
	for i := range state.Attachments {
		a := &state.Attachments[i]
		a.Type, a.SessionID, a.MessageID = session.FilePart, e.names.session, e.names.of(a.MessageID)
		if !proper(session.MessageID, a.MessageID) {
			a.MessageID = e.names.last
		}
		if !proper(session.PartID, a.ID) {
			a.ID = e.names.invent(session.PartID, id+"/"+a.ID, created, i)
		}
		a.Source = source(a.Source)
	}
}

// timed is a span that has a start and, where it must, an end, in whole milliseconds, and no mark.
func timed(s *session.Span, created session.Millis, ended bool) *session.Span {
	if s == nil {
		return nil
	}
	out := *s
	out.Compacted = 0
	out.Start = cmp.Or(whole(out.Start), whole(created))
	if out.End = whole(out.End); ended {
		out.End = cmp.Or(out.End, out.Start)
	}
	return &out
}

func orNew(s *session.Span) *session.Span { return cmp.Or(s, new(session.Span)) }

func whole(m session.Millis) session.Millis { return session.Millis(math.Ceil(max(0, float64(m)))) }

// source keeps what says where a file was mentioned when it is of a shape that the product knows.
func source(v jsontext.Value) jsontext.Value {
	if len(span.Get(v, "text")) == 0 {
		return nil
	}
	switch span.String(span.Get(v, "type")) {
	case "file", "symbol", "resource":
		return v
	}
	return nil
}

// forPeople keeps the summary of a user message when it is one, with the list that the product
// requires in it.
func forPeople(v jsontext.Value) jsontext.Value {
	switch object := bytes.TrimSpace(v); {
	case span.Kind(object) != '{':
		return nil
	case len(span.Get(object, "diffs")) == 0:
		return span.Set(object, "", []byte(`[]`), "diffs")
	}
	return v
}

// failures are the errors that the product knows, with what their data must have.
var failures = map[string][]string{
	"ProviderAuthError": {"providerID", "message"}, "UnknownError": {"message"}, "MessageOutputLengthError": nil,
	"MessageAbortedError": {"message"}, "StructuredOutputError": {"message", "retries"},
	"ContextOverflowError": {"message"},
	"ContentFilterError":   {"message"}, apiError: {"message", "isRetryable"},
}

const apiError = "APIError"

// failure is an error in a form that the product knows: another becomes an UnknownError with the
// same message.
func failure(v jsontext.Value) jsontext.Value {
	object := bytes.TrimSpace(v)
	if len(object) == 0 || string(object) == "null" {
		return nil
	}
	message := string(object)
	if data := span.Get(object, "data"); span.Kind(data) == '{' {
		required, known := failures[failureName(v)]
		if known && !slices.ContainsFunc(required, func(name string) bool { return len(span.Get(data, name)) == 0 }) {
			return v
		}
		if text := span.Get(data, "message"); span.Kind(text) == '"' {
			message = span.String(text)
		}
	}
	return failed("UnknownError", message)
}

// failed is an error as the product writes it.
func failed(name, message string) jsontext.Value {
	return span.Make("name", name, "data", span.Make("message", message))
}

func failureName(v jsontext.Value) string { return span.String(span.Get(v, "name")) }

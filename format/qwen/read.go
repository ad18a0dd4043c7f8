package qwen

import (
	"cmp"
	"slices"
	"strings"

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
	said  []*content          // what the model is sent, since the newest compression
	named map[string]*content // by the uuid of its record
	ids   jsonl.IDs
	model *session.ModelRef // of the newest answer
}

// index is what a writer needs to know of a file.
type index struct {
	records  []record
	path     []int          // positions of those of the branch
	contents []*content     // all that the branch says, in its order
	owner    map[string]int // message → position of its record
}

// content is one that the model is sent.
type content struct {
	uuid     string   // of its record
	role     string   // user or model
	says     string   // what it says
	shows    string   // what it says with our elisions
	messages []string // the messages that it became
	parts    []byte   // without our elisions
	slots    []gemini.Slot
	elisions []rule.Elision // which show in it
}

// holds notes what a part is in the log.
func (c *content) holds(at int, slot gemini.Slot) {
	for at >= len(c.slots) {
		c.slots = append(c.slots, gemini.Slot{})
	}
	if at >= 0 {
		c.slots[at] = slot
	}
}

func (c *content) of(message string) {
	if !slices.Contains(c.messages, message) {
		c.messages = append(c.messages, message)
	}
}

// Read reads a session. The log is the branch that the product would resume; messages of branches
// that were left count as aside. A compression of the product's is a marker with a summary, and
// what was before it stays in the log.
func (Format) Read(src []byte) (*format.Document, error) {
	r := &reader{
		Log: transcript.New(Name, src), ids: jsonl.IDs{}, named: map[string]*content{},
		index: &index{owner: map[string]int{}},
	}
	r.lines()
	if !slices.ContainsFunc(r.records, func(one record) bool { return one.owned() }) {
		return nil, r.Syntax("a record with a uuid, a sessionId, and a message with parts")
	}
	active := map[int]bool{}
	r.branch()
	for _, i := range r.path {
		active[i] = true
	}
	r.about()
	for i := range r.records {
		if r.records[i].speaks() {
			r.Counts.Messages++
			if !active[i] {
				r.Counts.Aside++
			}
		}
	}
	var elisions []rule.Elision
	known := map[rule.Elision]bool{}
	for _, i := range r.path {
		r.add(i)
		for _, e := range r.records[i].have {
			if !known[e] {
				known[e], elisions = true, append(elisions, e)
			}
		}
	}
	r.Ledger = rule.NewLedger(elisions...)
	r.spend(active)
	r.End(r.model, "", nil)
	r.Native = r.index
	return r.Document, nil
}

// about reads what the records say about the session as a whole.
func (r *reader) about() {
	info := &r.Session.Info
	for i := range r.records {
		one := &r.records[i]
		info.ID = cmp.Or(one.Session, info.ID)
		info.Directory = cmp.Or(info.Directory, one.Cwd)
		info.Version = cmp.Or(one.Version, info.Version)
		if at := jsonl.Millis(one.Timestamp); at > 0 {
			info.Time.Created = cmp.Or(info.Time.Created, at)
			info.Time.Updated = max(info.Time.Updated, at)
		}
		if one.Subtype == "custom_title" {
			info.Title = cmp.Or(span.String(span.Get(one.Payload.Of(one.raw), "customTitle")), info.Title)
		}
	}
	info.ID = cmp.Or(info.ID, r.Hash("qwen_"))
}

// add adds a record of the branch.
func (r *reader) add(i int) {
	one := &r.records[i]
	if one.Kind == "system" {
		switch one.Subtype {
		case "chat_compression":
			r.compression(i)
		case "slash_command":
			r.command(one)
		}
		return
	}
	if one.silent() != "" || !one.speaks() {
		return
	}
	c := &content{uuid: one.UUID, role: "user", parts: one.Message.Parts.Of(one.raw), elisions: one.have}
	parts := gemini.Parts(c.parts)
	c.says = gemini.Says(parts)
	if c.shows = c.says; one.shown != nil {
		c.shows = gemini.Says(gemini.Parts(span.Get(one.shown, "message", "parts")))
	}
	before := len(r.Session.Messages)
	switch {
	case one.Kind == "assistant":
		c.role = "model"
		r.assistant(one, parts, c)
	case one.marks != nil && one.marks.Message != nil:
		kept := *one.marks.Message
		kept.ID = r.ids.New(kept.ID)
		r.Kept(kept)
		c.slots = gemini.Slots(gemini.Asked(one.marks.Message))
	default:
		r.user(one, parts, c)
	}
	for _, m := range r.Session.Messages[before:] {
		r.owner[m.ID] = i
		c.of(m.ID)
	}
	one.said = c
	if one.Subtype != "realtime_message" {
		r.contents, r.said, r.named[c.uuid] = append(r.contents, c), append(r.said, c), c
	}
}

// assistant adds an answer.
func (r *reader) assistant(one *record, parts []gemini.Part, c *content) {
	r.Model = nil
	if one.Model != "" {
		r.Model = transcript.ModelOf(one.Model)
		r.model = r.Model
	}
	m := r.Message(session.Assistant, r.ids.New(one.UUID), one.Timestamp)
	m.Time.Completed = m.Time.Created
	m.Tokens = one.Usage.canonical()
	if one.Cwd != "" {
		m.Path = &session.Path{Cwd: one.Cwd, Root: one.Cwd}
	}
	for i := range parts {
		var added *session.Part
		switch p := &parts[i]; {
		case p.Call != nil:
			added, _ = r.Call(m, p.Call.ID, p.Call.Name, p.Call.Args)
			if at := m.Time.Created; at != 0 {
				added.State.Time = &session.Span{Start: at}
			}
		default:
			part, ok := p.Part()
			if !ok {
				continue
			}
			part.Ignored = part.Type == session.TextPart && one.Subtype == "realtime_message" // it is not sent
			added = r.Add(m, part)
		}
		c.holds(parts[i].At, gemini.Slot{Part: added.ID})
	}
}

// user adds what the user said, or a program in his name, and gives results to their calls.
func (r *reader) user(one *record, parts []gemini.Part, c *content) {
	var m *session.Message
	var call *session.Part // whose result came last
	asked, written := r.LastAsk, false
	file := false // of a file that the user named
	for i := range parts {
		p := &parts[i]
		if p.Response != nil {
			if found := r.result(one, p.Response); found != nil {
				call = found
				c.of(found.MessageID)
				c.holds(p.At, gemini.Slot{Part: call.ID, Result: true})
				continue
			}
			p.Text = p.Words()
		}
		add := session.Part{Type: session.TextPart, Text: p.Text, Ignored: one.Subtype == "realtime_message"}
		if picture := p.Media(); picture != nil && call != nil {
			transcript.Attach(call, picture.Part())
			c.holds(p.At, gemini.Slot{Part: call.ID, Result: true, Beside: true})
			continue
		} else if picture != nil {
			add = picture.Part()
		} else if p.Text == "" {
			continue
		}
		file = file || strings.TrimSpace(p.Text) == "--- Content from referenced files ---"
		add.Synthetic = file && add.Type == session.TextPart || p.Response != nil || one.program() || inserted(p.Text)
		file = file && strings.TrimSpace(p.Text) != "--- End of content ---"
		if m == nil {
			m = r.Message(session.User, r.ids.New(one.UUID), one.Timestamp)
		}
		c.holds(p.At, gemini.Slot{Part: r.Add(m, add).ID})
		written = written || !add.Synthetic
	}
	if !written {
		r.LastAsk = asked
	}
}

// program reports whether a program wrote a record in the user's name.
func (r *record) program() bool {
	if r.Kind == "tool_result" || r.Provenance != "" && r.Provenance != "real_user" {
		return true
	}
	switch r.Subtype {
	case "", "mid_turn_user_message", "realtime_message":
		return false
	}
	return true
}

// inserted reports whether a text is one that the product, or a hook, adds to what the user says.
func inserted(text string) bool {
	text = strings.TrimSpace(text)
	for _, tag := range []string{"system-reminder", "qwen:user-prompt-submit-context", "task-notification"} {
		if strings.HasPrefix(text, "<"+tag+">") && strings.HasSuffix(text, "</"+tag+">") {
			return true
		}
	}
	return false
}

// result gives a result to its call and returns that, or nil. The first result of a
// call counts.
func (r *reader) result(one *record, reply *gemini.Reply) *session.Part {
	at, known := r.Find(reply.ID)
	if !known {
		return nil
	}
	call := r.Part(at)
	r.Counts.ToolResults++
	if call.State.Final() {
		return call
	}
	call.State.Status = session.Completed
	call.State.Output, _ = gemini.Output(reply.Response)
	if failed := len(span.Get(reply.Response, "error")) > 0; failed || one.Result.Status == "error" ||
		one.Result.Status == "cancelled" {
		call.State.Status, call.State.Error, call.State.Output = session.Failed, call.State.Output, ""
	}
	for i := range reply.Parts {
		if picture := reply.Parts[i].Media(); picture != nil {
			transcript.Attach(call, picture.Part())
		}
	}
	if end := jsonl.Millis(one.Timestamp); end != 0 && call.State.Time != nil {
		call.State.Time.End = end
	}
	return call
}

// command takes back a message that was a command to the product alone: it had an answer of its
// own, and the model was not asked.
func (r *reader) command(one *record) {
	var payload struct {
		Phase   string `json:"phase"`
		Command string `json:"rawCommand"`
		Sent    bool   `json:"sentToModel"`
		Printed []struct {
			Kind string `json:"type"`
		} `json:"outputHistoryItems"`
	}
	n := len(r.Session.Messages)
	if span.Decode(one.Payload.Of(one.raw), &payload) != nil || n == 0 || len(r.said) == 0 || payload.Sent ||
		payload.Phase != "result" || len(payload.Printed) == 0 {
		return
	}
	for _, item := range payload.Printed {
		if item.Kind != "assistant" {
			return
		}
	}
	m, newest := &r.Session.Messages[n-1], len(r.said)-1
	if m.Role == session.User && len(m.Parts) == 1 && m.Parts[0].Text == payload.Command &&
		slices.Contains(r.said[newest].messages, m.ID) {
		m.Parts[0].Ignored = true
		r.said = r.said[:newest]
	}
}

package qwen

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/span"
)

// reader reads one file.
type reader struct {
	*transcript.Log
	records []record
	said    []content // what the model is sent, since the newest compression
	ids     jsonl.IDs
	model   *session.ModelRef // of the newest answer
}

// content is one that the model is sent: what it says, and the message that it became.
type content struct{ says, message string }

// Read reads a session. The log is the branch that the product would resume; messages of branches
// that were left count as aside. A compression of the product's is a marker with a summary, and
// what was before it stays in the log.
func (Format) Read(src []byte) (*format.Document, error) {
	r := &reader{Log: transcript.New(Name, src), ids: jsonl.IDs{}}
	r.lines()
	if !slices.ContainsFunc(r.records, func(one record) bool { return one.owned() }) {
		return nil, r.Syntax("a record with a uuid, a sessionId, and a message with parts")
	}
	active := map[int]bool{}
	path := r.branch()
	for _, i := range path {
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
	for _, i := range path {
		r.add(&r.records[i])
	}
	r.spend(active)
	r.End(r.model, "", nil)
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
func (r *reader) add(one *record) {
	if one.Kind == "system" {
		switch one.Subtype {
		case "chat_compression":
			r.compression(one)
		case "slash_command":
			r.command(one)
		}
		return
	}
	if !one.speaks() {
		return
	}
	raw := one.Message.Parts.Of(one.raw)
	parts := partsOf(raw)
	message := ""
	switch one.Kind {
	case "assistant":
		message = r.assistant(one, parts)
	default:
		message = r.user(one, parts)
	}
	if one.Subtype != "realtime_message" {
		r.said = append(r.said, content{says(parts), message})
	}
}

// assistant adds an answer.
func (r *reader) assistant(one *record, parts []part) string {
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
		switch p := &parts[i]; {
		case p.Call != nil:
			call, _ := r.Call(m, p.Call.ID, p.Call.Name, p.Call.Args)
			if at := m.Time.Created; at != 0 {
				call.State.Time = &session.Span{Start: at}
			}
		case p.Thought && p.Text != "":
			r.Add(m, session.Part{Type: session.ReasoningPart, Text: p.Text})
		case p.Text != "":
			r.Add(m, session.Part{
				Type: session.TextPart, Text: p.Text, Ignored: one.Subtype == "realtime_message", // it is not sent
			})
		case p.media() != nil:
			r.Add(m, p.media().part())
		}
	}
	return m.ID
}

// user adds what the user said, or a program in his name, and gives results to their calls.
func (r *reader) user(one *record, parts []part) (message string) {
	var m *session.Message
	var call *session.Part // whose result came last
	asked, written := r.LastAsk, false
	file := false // of a file that the user named
	for i := range parts {
		p := &parts[i]
		if p.Reply != nil {
			if found := r.result(one, p.Reply); found != nil {
				call, message = found, found.MessageID
				continue
			}
			p.Text = output(p.Reply.Response)
		}
		add := session.Part{Type: session.TextPart, Text: p.Text, Ignored: one.Subtype == "realtime_message"}
		if picture := p.media(); picture != nil && call != nil {
			transcript.Attach(call, picture.part())
			continue
		} else if picture != nil {
			add = picture.part()
		} else if p.Text == "" {
			continue
		}
		file = file || strings.TrimSpace(p.Text) == "--- Content from referenced files ---"
		add.Synthetic = file && add.Type == session.TextPart || p.Reply != nil || one.program() || inserted(p.Text)
		file = file && strings.TrimSpace(p.Text) != "--- End of content ---"
		if m == nil {
			m = r.Message(session.User, r.ids.New(one.UUID), one.Timestamp)
			message = m.ID
		}
		r.Add(m, add)
		written = written || !add.Synthetic
	}
	if !written {
		r.LastAsk = asked
	}
	return message
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

// result gives a result to its call and returns that, nil if there is none. The first result of a
// call counts.
func (r *reader) result(one *record, reply *reply) *session.Part {
	at, known := r.Find(reply.ID)
	if !known {
		return nil
	}
	call := r.Part(at)
	r.Counts.ToolResults++
	if call.State.Final() {
		return call
	}
	call.State.Status, call.State.Output = session.Completed, output(reply.Response)
	if failed := len(span.Get(reply.Response, "error")) > 0; failed || one.Result.Status == "error" ||
		one.Result.Status == "cancelled" {
		call.State.Status, call.State.Error, call.State.Output = session.Failed, call.State.Output, ""
	}
	for i := range reply.Parts {
		if picture := reply.Parts[i].media(); picture != nil {
			transcript.Attach(call, picture.part())
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
		r.said[newest].message == m.ID {
		m.Parts[0].Ignored = true
		r.said = r.said[:newest]
	}
}

// compression adds a compression of the product's: a marker, and as its summary the texts that
// stand for what went before. Contents at the end that the model was sent before are the tail.
func (r *reader) compression(one *record) {
	var payload struct {
		History []jsontext.Value `json:"compressedHistory"`
		Info    struct {
			Reason string `json:"triggerReason"`
		} `json:"info"`
	}
	if span.Decode(one.Payload.Of(one.raw), &payload) != nil || len(payload.History) == 0 {
		return
	}
	var all [][]part
	for _, v := range payload.History {
		all = append(all, partsOf(span.Get(v, "parts")))
	}
	tail, n := "", 0
	for n < len(all) && n < len(r.said) && says(all[len(all)-1-n]) == r.said[len(r.said)-1-n].says {
		n++
		tail = cmp.Or(r.said[len(r.said)-n].message, tail)
	}
	marker := r.Message(session.User, r.ids.New(one.UUID), one.Timestamp)
	id := marker.ID
	r.Add(marker, session.Part{
		Type: session.CompactionPart, Auto: payload.Info.Reason != "manual", TailStartID: tail,
	})
	r.IsTheirs(id)
	r.Model = r.model
	summary := r.Message(session.Assistant, r.ids.New(id+":summary"), one.Timestamp)
	summary.Time.Completed = summary.Time.Created
	summary.Summary, summary.Mode, summary.Agent = jsontext.Value("true"), "compaction", "compaction"
	for _, parts := range all[:len(all)-n] {
		for i := range parts {
			if text := parts[i].text(); text != "" {
				r.Add(summary, session.Part{Type: session.TextPart, Text: text})
			}
		}
	}
	r.said = slices.Clone(r.said[len(r.said)-n:])
	for _, parts := range slices.Backward(all[:len(all)-n]) {
		r.said = slices.Insert(r.said, 0, content{says(parts), summary.ID})
	}
}

package pi

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// message adds what a message entry says. The place is that of the call of a tool result.
func (b *builder) message(at int, e *entry, mark *mark) *place {
	switch m := e.message; m.role {
	case userRole:
		b.user(at, e, m.content, false)
	case customRole, hookRole:
		b.user(at, e, m.content, true)
	case shellRole:
		b.shell(at, e)
	case assistantRole:
		b.assistant(at, e, mark)
	case resultRole:
		return b.result(at, e)
	}
	return nil // the product sends nothing of any other role
}

func (e *entry) created() session.Millis {
	if e.message != nil && e.message.timestamp > 0 {
		return session.Millis(e.message.timestamp)
	}
	return moment(e.timestamp)
}

// user adds a message in the user's name; synthetic when a program wrote it.
func (b *builder) user(at int, e *entry, content []block, synthetic bool) *session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{ID: b.f.messageID(at), Role: session.User, Model: b.model}}
	m.Time.Created = e.created()
	m.Parts = b.blocks(m.ID, content)
	for i := range m.Parts {
		m.Parts[i].Synthetic = synthetic
	}
	return b.add(at, m)
}

// shell adds a command that the user ran. The product tells the model about it in a user message, unless the command was
// started with two exclamation marks; nobody wrote that message, so that it starts no turn here.
func (b *builder) shell(at int, e *entry) {
	m := b.user(at, e, []block{{kind: textBlock, text: shellText(e.message)}}, true)
	m.Parts[0].Ignored = e.message.hidden
}

// shellText is how the product tells the model what the user ran.
func shellText(m *message) string {
	text := "Ran `" + m.command + "`\n"
	if m.output != "" {
		text += "```\n" + m.output + "\n```"
	} else {
		text += "(no output)"
	}
	switch {
	case m.cancelled:
		text += "\n\n(command cancelled)"
	case m.exit != 0:
		text += "\n\nCommand exited with code " + strconv.Itoa(m.exit)
	}
	if m.truncated && m.fullOutput != "" {
		text += "\n\n[Output truncated. Full output: " + m.fullOutput + "]"
	}
	return text
}

// stops are the words for why a model stopped.
var stops = [][2]string{{"stop", "stop"}, {"length", "length"}, {"toolUse", "tool-calls"}}

func (b *builder) assistant(at int, e *entry, mark *mark) {
	native := e.message
	parts := func(id string) []session.Part { return b.blocks(id, native.content) }
	if mark != nil && mark.Of != "" {
		if known, ok := b.byID[mark.Of]; ok {
			m := &b.s.Messages[known]
			first := len(m.Parts)
			m.Parts = append(m.Parts, parts(b.f.messageID(at))...)
			b.remember(known, first)
			b.f.more[known] = append(b.f.more[known], at)
			return
		}
	}
	m := session.Message{MessageInfo: session.MessageInfo{
		ID: b.f.messageID(at), Role: session.Assistant, ParentID: b.lastUser, ProviderID: native.provider, ModelID: native.model,
		Variant: b.level, Path: b.workingPath(), Finish: native.stop,
	}}
	m.Time.Created = e.created()
	m.Time.Completed = max(m.Time.Created, moment(e.timestamp))
	for _, s := range stops {
		if s[0] == native.stop {
			m.Finish = s[1]
		}
	}
	switch native.stop {
	case "error":
		m.Error = failure("UnknownError", native.failure)
	case "aborted":
		m.Error = failure("MessageAbortedError", native.failure)
	}
	if u := &native.usage; u.known {
		m.Tokens, m.Cost = u.tokens(), &u.cost
	}
	m.Parts = parts(m.ID)
	b.setModel(native.provider, native.model)
	b.add(at, m)
	b.remember(len(b.s.Messages)-1, 0)
}

func (u *usage) tokens() *session.Usage {
	return &session.Usage{Total: u.total, Input: u.input, Output: u.output, Cache: session.CacheUsage{Read: u.cacheRead, Write: u.cacheWrite, Write1h: u.hour}}
}

func (b *builder) workingPath() *session.Path {
	if b.path == nil && b.s.Info.Directory != "" {
		b.path = &session.Path{Cwd: b.s.Info.Directory, Root: b.s.Info.Directory}
	}
	return b.path
}

// remember notes the calls of a message, from one part on, for their results.
func (b *builder) remember(message, first int) {
	m := &b.s.Messages[message]
	for i := first; i < len(m.Parts); i++ {
		if p := &m.Parts[i]; p.Type == session.ToolPart {
			p.State.Time = &session.Span{Start: m.Time.Created}
			b.calls[p.CallID] = place{message, i}
		}
	}
}

// blocks makes a part of each block.
func (b *builder) blocks(id string, content []block) []session.Part {
	parts := make([]session.Part, len(content))
	for i := range content {
		block, p := &content[i], &parts[i]
		p.ID, p.SessionID, p.MessageID = id+":"+strconv.Itoa(i), b.s.Info.ID, id
		switch block.kind {
		case textBlock:
			p.Type, p.Text = session.TextPart, block.text
			p.Metadata = signature(block)
		case thinkingBlock:
			p.Type, p.Text = session.ReasoningPart, block.text
			p.Metadata = signature(block)
		case imageBlock:
			p.Type, p.Mime, p.URL = session.FilePart, block.mime, dataURL(block)
		case callBlock:
			p.Type, p.CallID, p.Tool = session.ToolPart, block.id, block.name
			p.ID = b.partID(p)
			p.State = &session.ToolState{Status: session.Running, Input: block.arguments}
			if len(block.arguments) == 0 {
				p.State.Input = jsontext.Value("{}")
			}
			if block.signature != "" {
				p.Metadata = signature(block)
			}
		default: // a kind that this reader does not know
			p.Type, p.Text = session.PartType("pi-"+block.kind), block.text // under a name of its own: ours mean more
		}
	}
	return parts
}

// partID is the id of a call, made unique.
func (b *builder) partID(p *session.Part) string {
	if p.CallID == "" {
		return p.ID
	}
	b.parts[p.CallID]++
	if n := b.parts[p.CallID]; n > 1 {
		return fmt.Sprintf("%s#%d", p.CallID, n)
	}
	return p.CallID
}

func dataURL(b *block) string { return "data:" + b.mime + ";base64," + b.data }

// signature keeps what the provider wants back with a block.
func signature(b *block) jsontext.Value {
	if b.signature == "" && !b.redacted {
		return nil
	}
	text, err := json.Marshal(struct {
		Signature string `json:"signature,omitzero"`
		Redacted  bool   `json:"redacted,omitzero"`
	}{b.signature, b.redacted}, session.ReadOptions())
	if err != nil {
		return nil
	}
	return text
}

func failure(name, text string) jsontext.Value {
	var e struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
		} `json:"data"`
	}
	e.Name, e.Data.Message = name, text
	raw, err := json.Marshal(e, session.ReadOptions())
	if err != nil {
		return nil
	}
	return raw
}

// result joins a tool result with its call. One without a call gets a call of its own, for it is readable.
func (b *builder) result(at int, e *entry) *place {
	native := e.message
	call, ok := b.calls[native.callID]
	if !ok {
		id := b.f.messageID(at)
		parts := b.blocks(id, []block{{kind: callBlock, id: native.callID, name: native.tool}})
		m := session.Message{MessageInfo: session.MessageInfo{
			ID: id, Role: session.Assistant, ParentID: b.lastUser, Path: b.workingPath(), Finish: "tool-calls"}, Parts: parts}
		m.Time.Created = e.created()
		b.add(at, m)
		call = place{len(b.s.Messages) - 1, 0}
		b.remember(call.message, 0)
		call = b.calls[native.callID]
	}
	state := b.s.Messages[call.message].Parts[call.part].State
	if state.Final() {
		return nil // a second result of one call: the first one counts
	}
	b.f.results[call] = at
	text := ""
	for i := range native.content {
		switch block := &native.content[i]; block.kind {
		case textBlock:
			if text != "" {
				text += "\n"
			}
			text += block.text
		case imageBlock:
			id := b.f.messageID(at)
			state.Attachments = append(state.Attachments, session.Part{
				ID: id + ":" + strconv.Itoa(i), SessionID: b.s.Info.ID, MessageID: b.s.Messages[call.message].ID,
				Type: session.FilePart, Mime: block.mime, URL: dataURL(block),
			})
		}
	}
	state.Status, state.Output = session.Completed, text
	if native.isError {
		state.Status, state.Output, state.Error = session.Failed, "", text
	}
	switch {
	case native.details.Kind() == '{':
		state.Metadata = native.details
	case len(native.details) > 0 && native.details.Kind() != 'n':
		state.Metadata = jsontext.Value(`{"details":` + string(native.details) + `}`)
	}
	state.Time.End = e.created()
	return &call
}

// compaction adds a marker and its summary.
func (b *builder) compaction(at int, e *entry, mark *mark) {
	id := b.f.messageID(at)
	marker := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User, Model: b.model}}
	marker.Time.Created = moment(e.timestamp)
	marker.Parts = []session.Part{{
		ID: id + ":0", SessionID: b.s.Info.ID, MessageID: id, Type: session.CompactionPart, TailStartID: b.tailStart(at, e),
	}}
	b.add(at, marker)

	summary := session.Message{MessageInfo: session.MessageInfo{
		ID: id + ":summary", Role: session.Assistant, ParentID: id, Mode: "compaction", Agent: "compaction", Path: b.workingPath(),
		Finish: "stop", Summary: jsontext.Value("true"),
	}}
	if b.model != nil {
		summary.ProviderID, summary.ModelID = b.model.ProviderID, b.model.ModelID
	}
	summary.Time = session.MessageTime{Created: marker.Time.Created, Completed: marker.Time.Created}
	var cuts []int
	if mark != nil {
		cuts = mark.Cuts
	}
	for i, piece := range pieces(e.summary, cuts) {
		summary.Parts = append(summary.Parts, session.Part{
			ID: summary.ID + ":" + strconv.Itoa(i), SessionID: b.s.Info.ID, MessageID: summary.ID, Type: session.TextPart, Text: piece,
		})
	}
	b.add(at, summary)
}

// tailStart is the id of the first message that stays verbatim after a compaction: the one of the first kept entry, or of the
// next entry that gives a message. There is none where that entry is the compaction itself or not on the branch.
func (b *builder) tailStart(at int, e *entry) string {
	kept := -1
	if b.f.linear {
		if e.firstIndex >= 0 {
			kept = b.f.nth(e.firstIndex)
		}
	} else if e.firstKept != "" {
		for _, i := range b.f.path {
			if b.f.entries[i].id == e.firstKept {
				kept = i
				break
			}
		}
	}
	if kept < 0 || kept >= at {
		return ""
	}
	for i := range b.s.Messages {
		m := &b.s.Messages[i]
		if owner := b.f.owner[m.ID]; owner >= kept && owner < at && m.Marker() == nil && !m.IsSummary() {
			return m.ID
		}
	}
	return ""
}

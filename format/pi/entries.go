package pi

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// message adds what a message entry says. The product sends nothing of other roles.
func (b *builder) message(at int, e *entry, mark *entries.Mark) {
	switch m := e.Message; m.Role {
	case userRole:
		b.user(at, e, m.Content, false)
	case customRole, hookRole:
		b.user(at, e, m.Content, true)
	case shellRole:
		b.shell(at, e)
	case assistantRole:
		b.assistant(at, e, mark)
	case resultRole:
		b.result(at, e)
	}
}

func (e *entry) created() session.Millis {
	if e.Message != nil && e.Message.Timestamp > 0 {
		return session.Millis(e.Message.Timestamp)
	}
	return jsonl.Millis(e.Timestamp)
}

// user adds a message in the user's name; synthetic when a program wrote it.
func (b *builder) user(at int, e *entry, blocks content, synthetic bool) *session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{ID: b.f.messageID(at), Role: session.User, Model: b.model}}
	m.Time.Created = e.created()
	m.Parts = b.blocks(m.ID, e, blocks)
	for i := range m.Parts {
		m.Parts[i].Synthetic = synthetic
	}
	return b.add(at, m)
}

// shell adds a command that the user ran. The product tells the model about it in a user message,
// unless the command was started with two exclamation marks; no person wrote that message, so it
// starts no turn here.
func (b *builder) shell(at int, e *entry) {
	m := b.user(at, e, content{{Kind: textBlock, Text: shellText(e.Message)}}, true)
	m.Parts[0].Ignored = e.Message.Hidden
}

// shellText is how the product tells the model what the user ran.
func shellText(m *message) string {
	text := "Ran `" + m.Command + "`\n"
	if m.Output != "" {
		text += "```\n" + m.Output + "\n```"
	} else {
		text += "(no output)"
	}
	switch {
	case m.Cancelled:
		text += "\n\n(command cancelled)"
	case m.Exit != 0:
		text += "\n\nCommand exited with code " + strconv.Itoa(int(m.Exit.orZero()))
	}
	if m.Truncated && m.FullOutput != "" {
		text += "\n\n[Output truncated. Full output: " + m.FullOutput + "]"
	}
	return text
}

func (b *builder) assistant(at int, e *entry, mark *entries.Mark) {
	native := e.Message
	parts := func(id string) []session.Part { return b.blocks(id, e, native.Content) }
	if m := b.f.Continued(mark); m != nil {
		first := len(m.Parts)
		m.Parts = append(m.Parts, parts(b.f.messageID(at))...)
		b.remember(session.Index(b.s.Messages, m.ID), first)
		return
	}
	m := session.Message{MessageInfo: session.MessageInfo{
		ID: b.f.messageID(at), Role: session.Assistant, ParentID: b.lastUser, Path: b.workingPath(),
		ProviderID: native.Provider, ModelID: native.Model, Variant: b.level, Finish: native.Stop,
	}}
	m.Time.Created = e.created()
	m.Time.Completed = max(m.Time.Created, jsonl.Millis(e.Timestamp))
	switch native.Stop {
	case "toolUse":
		m.Finish = "tool-calls"
	case "error":
		m.Error = jsonl.Failed("UnknownError", native.Failure)
	case "aborted":
		m.Error = jsonl.Failed("MessageAbortedError", native.Failure)
	}
	if u := native.Usage; u != nil {
		m.Tokens, m.Cost = u.tokens(), u.cost()
	}
	m.Parts = parts(m.ID)
	b.setModel(native.Provider, native.Model)
	b.add(at, m)
	b.remember(len(b.s.Messages)-1, 0)
}

func (u *usage) tokens() *session.Usage {
	return &session.Usage{
		Total: u.Total.count(), Input: u.Input.count(), Output: u.Output.count(),
		Cache: session.CacheUsage{Read: u.CacheRead.count(), Write: u.CacheWrite.count(), Write1h: u.Hour.count()},
	}
}

func (u *usage) cost() *float64 {
	total := u.Cost.Total.orZero()
	return &total
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
			b.calls[p.CallID] = transcript.Place{Message: message, Part: i}
		}
	}
}

// blocks makes a part of each block of an entry.
func (b *builder) blocks(id string, e *entry, blocks content) []session.Part {
	parts := make([]session.Part, len(blocks))
	for i := range blocks {
		block, p := &blocks[i], &parts[i]
		p.ID, p.MessageID = id+":"+strconv.Itoa(i), id
		switch block.Kind {
		case textBlock, thinkingBlock:
			p.Type, p.Text, p.Metadata = session.TextPart, block.said(), signature(block)
			if block.Kind == thinkingBlock {
				p.Type = session.ReasoningPart
			}
		case imageBlock:
			p.Type, p.Mime, p.URL = session.FilePart, block.Mime, dataURL(block)
		case callBlock:
			p.Type, p.CallID, p.Tool = session.ToolPart, block.ID, block.Name
			if p.CallID != "" {
				p.ID = b.parts.New(p.CallID)
			}
			p.State = &session.ToolState{Status: session.Running, Input: block.Arguments.Of(e.text)}
			if block.Arguments.Empty() {
				p.State.Input = jsontext.Value("{}")
			}
			if block.signature() != "" {
				p.Metadata = signature(block)
			}
		default: // a kind that this reader does not know
			p.Type, p.Text = session.PartType("pi-"+block.Kind), block.said() // under a name of its own: ours mean more
		}
	}
	return parts
}

func dataURL(b *block) string { return "data:" + b.Mime + ";base64," + b.Data }

// signed is the metadata of a part: what the provider wants back with a block.
type signed struct {
	Signature string `json:"signature,omitzero"`
	Redacted  bool   `json:"redacted,omitzero"`
}

func signature(b *block) jsontext.Value {
	if b.signature() == "" && !b.Redacted {
		return nil
	}
	return jsonl.Marshal(signed{b.signature(), b.Redacted})
}

// result joins a tool result with its call. One without a call gets a call of its own, for it is
// readable.
func (b *builder) result(at int, e *entry) {
	native := e.Message
	call, ok := b.calls[native.CallID]
	if !ok {
		id := b.f.messageID(at)
		parts := b.blocks(id, e, content{{Kind: callBlock, ID: native.CallID, Name: native.Tool}})
		m := session.Message{Parts: parts, MessageInfo: session.MessageInfo{
			ID: id, Role: session.Assistant, ParentID: b.lastUser, Path: b.workingPath(), Finish: "tool-calls",
		}}
		m.Time.Created = e.created()
		b.add(at, m)
		call = transcript.Place{Message: len(b.s.Messages) - 1}
		b.remember(call.Message, 0)
		call = b.calls[native.CallID]
	}
	state := b.s.Messages[call.Message].Parts[call.Part].State
	if state.Final() {
		return // a second result of one call: the first one counts
	}
	b.f.Result(call, entries.Spot{Entry: at, Block: -1})
	text := ""
	for i := range native.Content {
		switch block := &native.Content[i]; block.Kind {
		case textBlock:
			if text != "" {
				text += "\n"
			}
			text += block.Text
		case imageBlock:
			id := b.f.messageID(at)
			state.Attachments = append(state.Attachments, session.Part{
				ID: id + ":" + strconv.Itoa(i), SessionID: b.s.Info.ID, MessageID: b.s.Messages[call.Message].ID,
				Type: session.FilePart, Mime: block.Mime, URL: dataURL(block),
			})
		}
	}
	state.Status, state.Output = session.Completed, text
	if native.IsError {
		state.Status, state.Output, state.Error = session.Failed, "", text
	}
	switch details := native.Details.Of(e.text); span.Kind(details) {
	case '{':
		state.Metadata = details
	case 0, 'n':
	default:
		state.Metadata = jsontext.Value(`{"details":` + string(details) + `}`)
	}
	state.Time.End = e.created()
}

// compaction adds a marker and its summary.
func (b *builder) compaction(at int, e *entry, mark *entries.Mark) {
	id := b.f.messageID(at)
	marker := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User, Model: b.model}}
	marker.Time.Created = jsonl.Millis(e.Timestamp)
	marker.Parts = []session.Part{{
		ID: id + ":0", MessageID: id, Type: session.CompactionPart,
	}}
	b.f.Tail(len(b.s.Messages), b.tailStart(at, e))
	b.add(at, marker)
	if mark == nil {
		b.f.IsTheirs(id)
	}

	summary := session.Message{MessageInfo: session.MessageInfo{
		ID: id + ":summary", Role: session.Assistant, ParentID: id, Path: b.workingPath(),
		Mode: "compaction", Agent: "compaction", Finish: "stop", Summary: jsontext.Value("true"),
	}}
	if b.model != nil {
		summary.ProviderID, summary.ModelID = b.model.ProviderID, b.model.ModelID
	}
	summary.Time = session.MessageTime{Created: marker.Time.Created, Completed: marker.Time.Created}
	var cuts []int
	if mark != nil {
		cuts = mark.Cuts
	}
	for i, piece := range pieces(e.Summary, cuts) {
		summary.Parts = append(summary.Parts, session.Part{
			ID: summary.ID + ":" + strconv.Itoa(i), MessageID: summary.ID, Type: session.TextPart, Text: piece,
		})
	}
	b.add(at, summary)
}

// tailStart is the position of the first message that stays verbatim after a compaction: the one of
// the first kept entry, or of the next entry that gives a message. It is that of the compaction if
// that entry is the compaction itself or not on the branch.
func (b *builder) tailStart(at int, e *entry) int {
	kept := -1
	if b.f.linear {
		if e.FirstIndex != nil {
			kept = b.f.nth(e.FirstIndex.count())
		}
	} else if e.FirstKept != "" {
		for _, i := range b.f.path {
			if b.f.lines[i].ID == e.FirstKept {
				kept = i
				break
			}
		}
	}
	for i, from := range b.from {
		m := &b.s.Messages[i]
		if kept >= 0 && from >= kept && from < at && m.Marker() == nil && !m.IsSummary() {
			return i
		}
	}
	return len(b.s.Messages)
}

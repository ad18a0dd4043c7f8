package claudecode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// builder makes canonical messages of entries, in the order in which it is given them.
type builder struct {
	*reader
	messages []session.Message
	calls    map[string][]int // call id → message and part of the newest call that has it
	groups   map[string]int   // API message id → its message, until the user speaks again
	ids      map[string]int   // how often a message id was used
	parts    map[string]int   // how often a part id was used
	user     string           // id of the newest user message
	marker   int              // message of the newest marker; meaningful when marked
	marked   bool
	command  int // message of the newest slash command, plus one
}

// add adds the entry at a place in the branch.
func (b *builder) add(place int) {
	i := b.index.active[place]
	e := &b.index.entries[i]
	switch {
	case e.marks != nil && e.marks.Message != nil && !e.summary && !e.boundary():
		b.kept(i, *e.marks.Message)
	case e.boundary():
		b.boundary(i, b.index.active[place+1:])
	case e.kind == "user" && e.summary:
		b.summary(i)
	case e.kind == "user":
		b.userEntry(i)
	case e.kind == "assistant":
		b.assistant(i)
	case e.kind == "attachment":
		b.attachment(i)
	case e.kind == "system" && e.subtype == "local_command":
		if text := b.scan.string(e.text); text != "" {
			m := b.begin(i, session.User)
			b.part(i, 0, session.Part{Type: session.TextPart, Text: text, Synthetic: true})
			b.end(m)
		}
	}
}

// begin appends a message for an entry and returns its position.
func (b *builder) begin(i int, role session.Role) int {
	e := &b.index.entries[i]
	id := e.uuid
	if id == "" {
		id = fmt.Sprintf("line-%d", e.line)
	}
	m := session.Message{MessageInfo: session.MessageInfo{ID: b.unique(b.ids, id), Role: role, Time: session.MessageTime{Created: e.time}}}
	if role == session.Assistant {
		m.ParentID = b.user
	}
	b.messages = append(b.messages, m)
	b.index.owner[i] = len(b.messages) - 1
	return len(b.messages) - 1
}

// end closes a user message.
func (b *builder) end(m int) {
	b.user = b.messages[m].ID
	clear(b.groups)
}

// unique numbers an id that was used before: "a", "a#2", "a#3".
func (b *builder) unique(used map[string]int, id string) string {
	used[id]++
	for used[id] > 1 {
		next := fmt.Sprintf("%s#%d", id, used[id])
		if used[next] == 0 {
			used[next]++
			return next
		}
		used[id]++
	}
	return id
}

// part appends a part to the newest message and notes where it stands.
func (b *builder) part(i, at int, p session.Part) {
	b.partOf(len(b.messages)-1, i, at, p)
}

func (b *builder) partOf(m, i, at int, p session.Part) {
	id := p.CallID
	if id == "" {
		id = fmt.Sprintf("%s:%d", b.messages[b.index.owner[i]].ID, at)
		if e := &b.index.entries[i]; e.uuid != "" {
			id = fmt.Sprintf("%s:%d", e.uuid, at)
		}
	}
	p.ID, p.MessageID = b.unique(b.parts, id), b.messages[m].ID
	b.messages[m].Parts = append(b.messages[m].Parts, p)
	b.index.places[p.ID] = place{i, at, -1, -1}
}

// kept appends a message that the engine had made and that was written whole.
func (b *builder) kept(i int, m session.Message) {
	b.ids[m.ID]++
	b.messages = append(b.messages, m)
	b.index.owner[i] = len(b.messages) - 1
	_, blocks := spoken(&m)
	for at := range m.Parts {
		b.parts[m.Parts[at].ID]++
		if m.Role == session.User && blocks[at] >= 0 {
			b.index.places[m.Parts[at].ID] = place{i, blocks[at], -1, -1}
		}
	}
	if m.Role == session.User {
		b.end(len(b.messages) - 1)
	}
}

func (b *builder) boundary(i int, behind []int) {
	e := &b.index.entries[i]
	// A boundary of which the summary is lost hides nothing: what came before it is still there to be read.
	if !b.answered(behind) {
		return
	}
	if e.marks != nil && e.marks.Message != nil && e.marks.Message.Marker() != nil {
		b.kept(i, *e.marks.Message)
		// Messages before it may have got other ids when they were written here.
		if m := &b.messages[len(b.messages)-1]; session.Index(b.messages, m.Marker().TailStartID) < 0 {
			m.Parts = slices.Clone(m.Parts)
			m.Marker().TailStartID = b.compaction(e).tail
		}
	} else {
		m := b.begin(i, session.User)
		compact := b.compaction(e)
		b.part(i, 0, session.Part{Type: session.CompactionPart, Auto: compact.auto, TailStartID: compact.tail})
		b.end(m)
	}
	b.marker, b.marked = len(b.messages)-1, true
}

// answered reports whether a summary comes before the next boundary.
func (b *builder) answered(behind []int) bool {
	for _, i := range behind {
		switch e := &b.index.entries[i]; {
		case e.boundary():
			return false
		case e.summary:
			return true
		}
	}
	return false
}

type compaction struct {
	auto bool
	tail string // id of the message at which the preserved part begins
}

func (b *builder) compaction(e *entry) compaction {
	var metadata struct {
		Trigger string `json:"trigger"`
		Segment struct {
			Head string `json:"headUuid"`
		} `json:"preservedSegment"`
		Messages struct {
			UUIDs []string `json:"uuids"`
		} `json:"preservedMessages"`
	}
	if json.Unmarshal(e.compact, &metadata, session.ReadOptions()) != nil {
		return compaction{}
	}
	c := compaction{auto: metadata.Trigger == "auto"}
	for _, uuid := range append(metadata.Messages.UUIDs, metadata.Segment.Head) {
		if i := b.index.tree.find(uuid); i >= 0 && b.index.owner[i] >= 0 {
			c.tail = b.messages[b.index.owner[i]].ID
			break
		}
	}
	return c
}

func (b *builder) summary(i int) {
	e := &b.index.entries[i]
	if !b.marked { // older versions wrote none
		m := b.begin(i, session.User)
		b.messages[m].ID = b.unique(b.ids, e.uuid+":marker")
		b.messages[m].Parts = []session.Part{{ID: b.unique(b.parts, e.uuid+":marker"), MessageID: b.messages[m].ID, Type: session.CompactionPart}}
		b.ids[e.uuid]--
		b.user, b.marker, b.marked = b.messages[m].ID, m, true
	}
	if e.marks != nil && e.marks.Message != nil {
		b.kept(i, *e.marks.Message)
	} else {
		m := b.begin(i, session.Assistant)
		s := &b.messages[m]
		s.Summary, s.Finish, s.Mode, s.Agent = jsontext.Value("true"), "stop", "compaction", "compaction"
		s.ParentID, s.Time.Completed = b.messages[b.marker].ID, e.time
		for at, block := range b.scan.blocks(e.content) {
			if block.kind == "text" {
				b.part(i, at, session.Part{Type: session.TextPart, Text: b.scan.string(block.text)})
			}
		}
	}
	b.marked = false
	clear(b.groups)
}

// Texts with which the product begins what it writes in the user's name.
var programs = []string{
	"<local-command-caveat>", "<local-command-stdout>", "<local-command-stderr>", "<bash-input>", "<bash-stdout>", "<bash-stderr>",
	"<task-notification>", "<system-reminder>", "[Request interrupted by user", "Caveat: The messages below were generated by the user",
}

func byProgram(text string) bool {
	for _, begin := range programs {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}

func (b *builder) userEntry(i int) {
	e := &b.index.entries[i]
	blocks := b.scan.blocks(e.content)
	begun := false
	say := func(at int, p session.Part) {
		if !begun {
			b.begin(i, session.User)
			begun = true
		}
		b.part(i, at, p)
	}
	for at := range blocks {
		switch block := &blocks[at]; block.kind {
		case "tool_result":
			b.result(i, at, block)
		case "text":
			if text := b.scan.string(block.text); text != "" {
				say(at, session.Part{Type: session.TextPart, Text: text, Synthetic: e.meta || byProgram(text)})
			}
		case "image", "document":
			if p, ok := b.scan.file(block); ok {
				p.Synthetic = e.meta
				say(at, p)
			}
		}
	}
	if !begun {
		return
	}
	m := len(b.messages) - 1
	b.localCommand(m)
	b.end(m)
}

// localCommand notes that a slash command ran inside the product alone: what it printed follows it, and it asked the model nothing.
func (b *builder) localCommand(m int) {
	text := b.messages[m].Parts[0].Text
	switch {
	case strings.HasPrefix(text, "<command-name>"), strings.HasPrefix(text, "<command-message>"):
		b.command = m + 1
	case strings.HasPrefix(text, "<local-command-std") && b.command > 0:
		for j := range b.messages[b.command-1].Parts {
			b.messages[b.command-1].Parts[j].Synthetic = true
		}
		b.command = 0
	case !b.messages[m].Parts[0].Synthetic:
		b.command = 0
	}
}

// result joins a tool's result to its call. A result without a call stays in the file alone.
func (b *builder) result(i, at int, block *block) {
	call, known := b.calls[block.call]
	if !known {
		return
	}
	e := &b.index.entries[i]
	p := &b.messages[call[0]].Parts[call[1]]
	if p.State.Final() {
		return
	}
	if b.index.owner[i] < 0 {
		b.index.owner[i] = call[0]
	}
	text, files := b.scan.result(block.content)
	p.State.Status, p.State.Output = session.Completed, text
	if block.failed {
		p.State.Status, p.State.Output, p.State.Error = session.Failed, "", text
	}
	for n := range files {
		files[n].ID, files[n].MessageID = fmt.Sprintf("%s:%d", p.ID, n), p.MessageID
	}
	p.State.Attachments = files
	if e.time != 0 && p.State.Time != nil {
		p.State.Time.End = e.time
	}
	place := b.index.places[p.ID]
	place.result, place.answer = i, at
	b.index.places[p.ID] = place
}

func (b *builder) assistant(i int) {
	e := &b.index.entries[i]
	m, known := b.groups[e.messageID]
	if !known || e.messageID == "" {
		m = b.begin(i, session.Assistant)
		if e.messageID != "" {
			b.groups[e.messageID] = m
		}
	}
	b.index.owner[i] = m
	message := &b.messages[m]
	message.ModelID, message.ProviderID = e.model, "anthropic"
	if e.model == "" || e.model == "<synthetic>" {
		message.ProviderID = ""
	}
	if e.cwd != "" {
		message.Path = &session.Path{Cwd: e.cwd, Root: e.cwd}
	}
	message.Time.Completed = e.time
	if tokens := b.scan.tokens(e.usage); tokens != nil {
		message.Tokens = tokens
	}
	message.Finish = finish(e.stop)
	blocks := b.scan.blocks(e.content)
	for at := range blocks {
		b.block(m, i, at, &blocks[at])
	}
}

func (b *builder) block(m, i, at int, block *block) {
	e := &b.index.entries[i]
	message := &b.messages[m]
	switch block.kind {
	case "text":
		p := session.Part{Type: session.TextPart, Text: b.scan.string(block.text), Ignored: e.apiError}
		if e.apiError {
			message.Error = apiError(p.Text)
		}
		b.partOf(m, i, at, p)
	case "thinking", "redacted_thinking":
		var t thought
		t.Anthropic.Signature, t.Anthropic.RedactedData = b.scan.string(block.signature), b.scan.string(block.data)
		b.partOf(m, i, at, session.Part{Type: session.ReasoningPart, Text: b.scan.string(block.text), Metadata: t.metadata()})
	case "tool_use":
		p := session.Part{
			Type: session.ToolPart, CallID: block.id, Tool: block.name,
			State: &session.ToolState{Status: session.Running, Input: jsontext.Value(block.input[:len(block.input):len(block.input)])},
		}
		if e.time != 0 {
			p.State.Time = &session.Span{Start: e.time}
		}
		b.partOf(m, i, at, p)
		b.calls[block.id] = []int{m, len(b.messages[m].Parts) - 1}
	}
}

func apiError(text string) jsontext.Value {
	value, err := json.Marshal(struct {
		Name string            `json:"name"`
		Data map[string]string `json:"data"`
	}{"APIError", map[string]string{"message": text}}, session.ReadOptions())
	if err != nil {
		return nil
	}
	return value
}

// finish settles what only the whole log tells.
func (b *builder) finish() {
	var answers *session.ModelRef
	for i := len(b.messages) - 1; i >= 0; i-- {
		m := &b.messages[i]
		if m.Role == session.User {
			if m.Model == nil && answers != nil {
				model := *answers
				m.Model = &model
			}
			continue
		}
		if m.ProviderID != "" {
			answers = &session.ModelRef{ProviderID: m.ProviderID, ModelID: m.ModelID}
		}
		// Older versions wrote an entry before the model had stopped, and never corrected it.
		if m.Finish == "" && !m.Failed() && len(m.Parts) > 0 && !m.IsSummary() {
			m.Finish = "stop"
			for j := range m.Parts {
				if p := &m.Parts[j]; p.Type == session.ToolPart {
					m.Finish = "tool-calls"
					if !p.State.Final() {
						m.Finish = ""
						break
					}
				}
			}
		}
	}
}

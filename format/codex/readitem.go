package codex

import (
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// count counts an item in the product's own terms.
func (it *item) count(c *format.Counts) {
	switch {
	case it.Type == "message" && (it.Role == "user" || it.Role == "assistant"):
		c.Messages++
	case it.isCall():
		c.ToolCalls++
	case it.isOutput():
		c.ToolResults++
	}
}

// item reads a response item of the product.
func (r *reader) item(at int32, l *line, it *item, payload []byte) {
	it.count(&r.doc.Counts)
	created := l.created(r.src)
	switch {
	case it.Type == "message" && it.Role != "assistant":
		r.input(at, l, it, created)
	case it.isOutput() && r.answer(at, it, created):
	default:
		r.respond(at, l, it, payload, created)
	}
}

// input reads a message of the user, or one that the product sent in the user's name or as the
// developer.
func (r *reader) input(at int32, l *line, it *item, created session.Millis) {
	r.endStep()
	m := session.Message{MessageInfo: session.MessageInfo{
		ID: r.messageID(it.ID, l), Role: session.User, Time: session.MessageTime{Created: created},
	}}
	if r.model != "" {
		m.Model = &session.ModelRef{ProviderID: r.provider, ModelID: r.model}
	}
	i := r.append(at, m)
	r.content(i, at, it, it.written)
	if r.doc.Session.Messages[i].Written() {
		r.user, r.spoken = m.ID, true
	}
}

// agentText is the text of a message that another agent sent; what it sent encrypted only the
// provider reads.
func agentText(payload []byte) (id, text string, err error) {
	var said struct {
		ID      string `json:"id"`
		Content string `json:"content"`
	}
	err = decode(payload, &said)
	return said.ID, said.Content, err
}

// agent reads what another agent said to this one. It starts no turn, but the model is sent it.
func (r *reader) agent(at int32, l *line, payload []byte) error {
	id, text, err := agentText(payload)
	if err != nil {
		return err
	}
	r.endStep()
	i := r.append(at, session.Message{MessageInfo: session.MessageInfo{
		ID: r.messageID(id, l), Role: session.User, Time: session.MessageTime{Created: l.created(r.src)},
	}})
	r.spoken = true
	where := placeOf(at, nowhere)
	r.addPart(i, session.Part{Type: session.TextPart, Text: text, Synthetic: true}, where)
	return nil
}

// content reads the content of a message into parts.
func (r *reader) content(message int, at int32, it *item, written func(i int, text string) bool) {
	if it.Content.Kind() == '"' { // the first versions
		text := span.String(it.Content)
		p := session.Part{Type: session.TextPart, Text: text, Synthetic: !written(0, text)}
		r.addPart(message, p, placeOf(at, whole))
		return
	}
	for i, c := range contents(it.Content) {
		p := session.Part{Type: session.TextPart, Text: c.Text + c.Refusal}
		switch url := c.url(); {
		case c.odd:
			p = session.Part{Type: unknownPart("content"), Metadata: raw(c.raw)}
		case url != "":
			p = session.Part{Type: session.FilePart, Mime: mime(url), URL: url, Synthetic: !written(i, "")}
		case p.Text != "" || c.Type == "input_text" || c.Type == "output_text" || c.Type == "text":
			p.Synthetic = !written(i, p.Text)
		default:
			p = session.Part{Type: unknownPart(c.Type), Metadata: raw(c.raw)}
		}
		r.addPart(message, p, placeOf(at, int32(i)))
	}
}

// unknownPart is the type of a part of a kind that the log has no word for.
func unknownPart(kind string) session.PartType { return session.PartType("codex-" + kind) }

// respond reads an item that the model wrote.
func (r *reader) respond(at int32, l *line, it *item, payload []byte, created session.Millis) {
	i := r.open(at, l, it, created)
	m := &r.doc.Session.Messages[i]
	m.Time.Completed = created
	r.own(m.ID, at)
	where := placeOf(at, whole)
	switch {
	case it.Type == "message":
		r.content(i, at, it, func(int, string) bool { return true })
		if m = &r.doc.Session.Messages[i]; m.Finish == "" {
			m.Finish = "stop"
		}
	case it.Type == "reasoning":
		thought := session.Part{Type: session.ReasoningPart, Text: it.reasoningText(), Metadata: it.reasoningMetadata()}
		r.addPart(i, thought, where)
	case it.isCall():
		m.Finish = "tool-calls"
		p := session.Part{Type: session.ToolPart, CallID: it.CallID, Tool: it.tool()}
		p.State = &session.ToolState{Status: session.Running, Input: it.input(), Time: &session.Span{Start: created}}
		if it.serverSide() {
			p.CallID = it.ID
			p.State.Status, p.State.Time.End = session.Completed, created
			p.State.Metadata = []byte(`{"providerExecuted":true}`)
			m.Finish = "stop"
		}
		if p.CallID != "" {
			p.ID = r.parts.New(p.CallID)
		}
		added := r.addPart(i, p, where)
		if it.CallID != "" {
			r.calls[it.CallID] = call{message: i, part: len(r.doc.Session.Messages[i].Parts) - 1, id: added.ID}
		}
	default: // kinds of a version to come, and results without a call
		r.addPart(i, session.Part{Type: unknownPart(it.Type), Metadata: raw(payload)}, where)
	}
}

// open returns the assistant message that an item of the model belongs to, and begins it if there
// is none.
func (r *reader) open(at int32, l *line, it *item, created session.Millis) int {
	if r.step >= 0 && !r.answered {
		return r.step
	}
	m := session.Message{MessageInfo: session.MessageInfo{
		ID: r.messageID(it.ID, l), Role: session.Assistant, Time: session.MessageTime{Created: created},
		ParentID: r.user, ProviderID: r.provider, ModelID: r.model,
	}}
	if r.cwd != "" {
		m.Path = &session.Path{Cwd: r.cwd, Root: r.cwd}
	}
	if r.pending != nil {
		m.Tokens, r.pending = r.pending, nil
	}
	r.step, r.answered = r.append(at, m), false
	r.spoken = true
	return r.step
}

// answer joins a result to its call. It returns false if no call waits for it.
func (r *reader) answer(at int32, it *item, created session.Millis) bool {
	c, ok := r.calls[it.CallID]
	if !ok {
		return false
	}
	delete(r.calls, it.CallID)
	m := &r.doc.Session.Messages[c.message]
	p := &m.Parts[c.part]
	text, files, failed := it.result()
	p.State.Status, p.State.Time.End = session.Completed, created
	if failed {
		p.State.Status, p.State.Error = session.Failed, text
	} else {
		p.State.Output = text
	}
	for i := range files {
		files[i].ID = r.parts.New(p.ID + ":" + string(rune('a'+i%26)))
		files[i].MessageID = m.ID
	}
	p.State.Attachments = files
	m.Time.Completed = created
	where := r.index.places[c.id]
	where.output = at
	r.index.places[c.id] = where
	r.own(m.ID, at)
	if c.message == r.step {
		r.answered = true
	}
	return true
}

// adopt takes a message of ours into the log as it was written.
func (r *reader) adopt(at int32, m session.Message) {
	if _, taken := r.ids[m.ID]; taken {
		return // a line that was copied: the first counts
	}
	r.names[m.ID]++
	m.Parts = slices.Clone(m.Parts) // the mark stays as it was written
	for j := range m.Parts {
		p := &m.Parts[j]
		if p.State != nil {
			state := *p.State
			p.State = &state
		}
		r.parts[p.ID]++
		r.index.places[p.ID] = placeOf(at, nowhere)
	}
	r.append(at, m)
	if m.Written() {
		r.user, r.spoken = m.ID, true
	}
}

// fill puts the texts of an item of ours back into the message that it was written for. It returns
// false if they do not fit, as after an edit by hand: then the item is read as the product's.
func (r *reader) fill(at int32, it *item, m *mark) bool {
	id := m.Of
	if m.Message != nil {
		id = m.Message.ID
	}
	i, ok := r.ids[id]
	if !ok || i >= len(r.doc.Session.Messages) || r.doc.Session.Messages[i].ID != id || len(m.Parts) == 0 {
		return false
	}
	message := &r.doc.Session.Messages[i]
	for _, part := range m.Parts {
		if part < 0 || part >= len(message.Parts) {
			return false
		}
	}
	it.count(&r.doc.Counts)
	r.own(id, at)
	found := contents(it.Content)
	for k, part := range m.Parts {
		p := &message.Parts[part]
		where := r.index.places[p.ID]
		where.line, where.element = at, -1
		switch {
		case it.Type == "message" && k < len(found):
			where.element = int32(k)
			switch c := &found[k]; {
			case p.Type == session.FilePart && c.url() != "":
				p.URL = c.url()
			case p.Type == session.TextPart && !c.odd:
				p.Text = c.Text
			}
		case it.Type == "reasoning":
			p.Text = it.reasoningText()
		case p.State == nil:
		case it.isCall():
			p.State.Input = it.input()
			if text := span.String(it.Arguments); text != "" {
				p.State.Input = []byte(text)
			}
		case it.isOutput():
			where.line, where.output = r.index.places[p.ID].line, at
			text, _, _ := it.result()
			if p.State.Status == session.Failed {
				p.State.Error = text
			} else {
				p.State.Output = text
			}
		}
		r.index.places[p.ID] = where
	}
	return true
}

package claudecode

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// composer writes messages that come from elsewhere as entries of this product. Members stand in
// the product's order: in files of more than 5 MiB it looks for some of them without reading the
// JSON.
type composer struct {
	keep    bool // user messages are kept whole beside the product's form
	where   where
	parent  string         // uuid of the entry before
	time    session.Millis // of the entry before
	entries []entry        // what was composed
	owner   []string       // message of each
	places  map[string]place
	names   entries.Names
	calls   map[string]bool // call ids in use
}

// where holds what every entry repeats.
type where struct{ session, cwd, version, branch string }

// begin starts an entry behind the last one.
func (c *composer) begin() *span.Object {
	return new(span.Object).With("parentUuid", jsonl.OrNull(c.parent), "isSidechain", false)
}

// speak starts an entry in the user's name.
func (c *composer) speak(content []byte) *span.Object {
	return c.begin().With("type", "user", "message", span.Make("role", "user", "content", content))
}

// end finishes an entry and appends it.
func (c *composer) end(o *span.Object, id, message string, kept *session.Message) error {
	o.With("userType", "external", "entrypoint", "cli", "cwd", c.where.cwd, "sessionId", c.where.session)
	o.Add("version", c.where.version)
	if c.where.branch != "" {
		o.Add("gitBranch", c.where.branch)
	}
	line, err := o.Bytes(), error(nil)
	if kept != nil {
		line, err = (&marks{Message: kept}).on(line)
	}
	e, failed := parse(line)
	if err = cmp.Or(err, failed); err != nil {
		return fmt.Errorf("write message %s: %w", message, err)
	}
	c.entries, c.owner = append(c.entries, e), append(c.owner, message)
	c.parent = id
	return nil
}

// moment is the time of an entry: its own, and never before that of the entry before.
func (c *composer) moment(t session.Millis) string {
	c.time = max(c.time, t)
	return jsonl.Stamp(c.time)
}

// message composes a message that is neither a marker nor a summary.
func (c *composer) message(m *session.Message) error {
	if m.Role == session.Assistant {
		return c.assistant(m)
	}
	return c.user(m)
}

func (c *composer) user(m *session.Message) error {
	content, blocks := spoken(m)
	if content == nil {
		return nil
	}
	var kept *session.Message
	if c.keep || entries.Noted(m) {
		kept = m
	}
	id := jsonl.UUIDOf(m.ID)
	o := c.speak(content)
	if !m.Written() {
		o.Add("isMeta", true)
	}
	o.With("uuid", id, "timestamp", c.moment(m.Time.Created))
	for i := range m.Parts {
		part, at := m.Parts[i].ID, blocks[i]
		if at < 0 {
			continue
		}
		c.places[part], c.names[part] = place{len(c.entries), at, -1, -1}, entries.Name{Part: part, Message: m.ID}
		if kept == nil {
			c.names[part] = entries.Name{Part: fmt.Sprintf("%s:%d", id, at), Message: id}
		}
	}
	return c.end(o, id, m.ID, kept)
}

// reasons are the product's words for why a model stopped.
var reasons = map[string]string{
	"stop": "end_turn", "tool-calls": "tool_use", "length": "max_tokens", "content-filter": "refusal",
}

// usageOf is what the provider reports for a message.
func usageOf(m *session.Message) []byte {
	var u session.Usage
	if m.Tokens != nil {
		u = *m.Tokens
	}
	o := new(span.Object).With("input_tokens", u.Input, "cache_creation_input_tokens", u.Cache.Write,
		"cache_read_input_tokens", u.Cache.Read, "output_tokens", u.Output+u.Reasoning)
	if hour := u.Cache.Write1h; hour > 0 {
		minutes := u.Cache.Write - hour
		o.Raw("cache_creation", span.Make("ephemeral_5m_input_tokens", minutes, "ephemeral_1h_input_tokens", hour))
	}
	return o.Bytes()
}

// assistant composes an entry for each block of an answer, and then those of the results.
func (c *composer) assistant(m *session.Message) error {
	first := jsonl.UUIDOf(m.ID)
	id := first
	say := func(p *session.Part, call string, block []byte) error {
		id = cmp.Or(id, jsonl.UUIDOf(m.ID+"/"+p.ID))
		body := span.Make("model", cmp.Or(m.ModelID, "unknown"), "id", "msg_"+strings.ReplaceAll(first, "-", ""),
			"type", "message", "role", "assistant", "content", span.Array([][]byte{block}),
			"stop_reason", jsonl.OrNull(cmp.Or(reasons[m.Finish], m.Finish)),
			"stop_sequence", []byte("null"), "usage", usageOf(m))
		o := c.begin().With("message", body, "type", "assistant", "uuid", id, "timestamp", c.moment(m.Time.Created))
		c.places[p.ID] = place{len(c.entries), 0, -1, -1}
		c.names[p.ID] = entries.Name{Part: cmp.Or(call, id+":0"), Message: first}
		err := c.end(o, id, m.ID, nil)
		id = ""
		return err
	}
	type answer struct {
		part     *session.Part
		call, by string // call id, and uuid of the entry that holds the call
	}
	var answers []answer
	for i := range m.Parts {
		p := &m.Parts[i]
		var block []byte
		call := ""
		switch {
		case p.Type == session.TextPart && strings.TrimSpace(p.Text) != "" && !p.Ignored:
			block = textBlock(p.Text)
		case p.Type == session.ReasoningPart:
			block = thinkingBlock(p)
		case p.Type == session.ToolPart && p.State != nil:
			call = c.callID(p)
			block = callBlock(p, call)
		}
		if block == nil {
			continue
		}
		if err := say(p, call, block); err != nil {
			return err
		}
		if call != "" && p.State.Final() {
			answers = append(answers, answer{p, call, c.parent})
		}
	}
	for _, a := range answers {
		if err := c.result(m, a.part, a.call, a.by); err != nil {
			return err
		}
	}
	return nil
}

// callID is the call's id if the provider takes it and it is new, else one made from the part's.
func (c *composer) callID(p *session.Part) string {
	id := p.CallID
	if id == "" || jsonl.Word(id) != id || c.calls[id] {
		id = "toolu_" + strings.ReplaceAll(jsonl.UUIDOf("call "+p.MessageID+" "+p.ID), "-", "")
	}
	c.calls[id] = true
	return id
}

func (c *composer) result(m *session.Message, p *session.Part, call, by string) error {
	content := span.Quote(p.State.Result())
	if len(p.State.Attachments) > 0 {
		var blocks [][]byte
		if text := p.State.Result(); text != "" {
			blocks = append(blocks, textBlock(text))
		}
		for i := range p.State.Attachments {
			blocks = append(blocks, fileBlock(&p.State.Attachments[i]))
		}
		content = span.Array(blocks)
	}
	failed := p.State.Status == session.Failed
	block := span.Make("tool_use_id", call, "type", "tool_result", "content", content, "is_error", failed)
	id := jsonl.UUIDOf(m.ID + "/" + p.ID + "/result")
	ended := m.Time.Created
	if p.State.Time != nil {
		ended = max(ended, p.State.Time.End)
	}
	o := c.speak(span.Array([][]byte{block}))
	o.With("uuid", id, "timestamp", c.moment(ended), "sourceToolAssistantUUID", by)
	place := c.places[p.ID]
	place.result, place.answer = len(c.entries), 0
	c.places[p.ID] = place
	return c.end(o, id, m.ID, nil)
}

// SessionID is the id by which the product knows a session: the session's own if it is a UUID in small
// letters, else one derived from it.
func SessionID(id string) string { return jsonl.UUIDOf(id) }

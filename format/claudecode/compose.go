package claudecode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/format/internal/span"
	"github.com/winnowhq/winnow/session"
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
	calls   map[string]bool // call ids in use
}

// where is what every entry repeats.
type where struct{ session, cwd, version, branch string }

// uuid is the id itself if it is a UUID as the product writes them, else one that is always the
// same for the same id.
func uuid(id string) string {
	if jsonl.IsUUID(id) && id == strings.ToLower(id) {
		return id
	}
	return jsonl.UUID("winnow " + id)
}

// begin starts an entry behind the last one.
func (c *composer) begin() *span.Object {
	o := &span.Object{}
	o.Raw("parentUuid", jsonl.OrNull(c.parent))
	return o
}

// end finishes an entry and appends it.
func (c *composer) end(o *span.Object, id, message string, kept *session.Message) error {
	o.Add("userType", "external")
	o.Add("entrypoint", "cli")
	o.Add("cwd", c.where.cwd)
	o.Add("sessionId", c.where.session)
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
	noted := slices.ContainsFunc(m.Parts, func(p session.Part) bool { _, noted := p.Note(); return noted })
	var kept *session.Message
	if c.keep || noted {
		kept = m
	}
	id := uuid(m.ID)
	o := c.begin()
	o.Add("isSidechain", false)
	o.Add("type", "user")
	body := &span.Object{}
	body.Add("role", "user")
	body.Raw("content", content)
	o.Raw("message", body.Bytes())
	if !m.Written() {
		o.Add("isMeta", true)
	}
	o.Add("uuid", id)
	o.Add("timestamp", c.moment(m.Time.Created))
	for at := range m.Parts {
		if blocks[at] >= 0 {
			c.places[m.Parts[at].ID] = place{len(c.entries), blocks[at], -1, -1}
		}
	}
	return c.end(o, id, m.ID, kept)
}

var reasons = map[string]string{"stop": "end_turn", "tool-calls": "tool_use", "length": "max_tokens", "content-filter": "refusal"}

func (c *composer) assistant(m *session.Message) error {
	first := true
	say := func(p *session.Part, block []byte) error {
		id := uuid(m.ID)
		if !first {
			id = uuid(m.ID + "/" + p.ID)
		}
		first = false
		body := &span.Object{}
		body.Add("model", cmp.Or(m.ModelID, "unknown"))
		body.Add("id", "msg_"+strings.ReplaceAll(uuid(m.ID), "-", ""))
		body.Add("type", "message")
		body.Add("role", "assistant")
		body.Raw("content", span.Array([][]byte{block}))
		body.Add("stop_reason", jsonl.OrNull(cmp.Or(reasons[m.Finish], m.Finish)))
		body.Raw("stop_sequence", []byte("null"))
		tokens := session.Usage{}
		if m.Tokens != nil {
			tokens = *m.Tokens
		}
		usage := &span.Object{}
		usage.Add("input_tokens", tokens.Input)
		usage.Add("cache_creation_input_tokens", tokens.Cache.Write)
		usage.Add("cache_read_input_tokens", tokens.Cache.Read)
		usage.Add("output_tokens", tokens.Output+tokens.Reasoning)
		if hour := tokens.Cache.Write1h; hour > 0 {
			kept := &span.Object{}
			kept.Add("ephemeral_5m_input_tokens", tokens.Cache.Write-hour)
			kept.Add("ephemeral_1h_input_tokens", hour)
			usage.Raw("cache_creation", kept.Bytes())
		}
		body.Raw("usage", usage.Bytes())

		o := c.begin()
		o.Add("isSidechain", false)
		o.Raw("message", body.Bytes())
		o.Add("type", "assistant")
		o.Add("uuid", id)
		o.Add("timestamp", c.moment(m.Time.Created))
		c.places[p.ID] = place{len(c.entries), 0, -1, -1}
		return c.end(o, id, m.ID, nil)
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
		if err := say(p, block); err != nil {
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

// callID is the call's id where the provider takes it and it is new, else one made from the part's.
func (c *composer) callID(p *session.Part) string {
	id := p.CallID
	if id == "" || jsonl.Word(id) != id || c.calls[id] {
		id = "toolu_" + strings.ReplaceAll(uuid("call "+p.MessageID+" "+p.ID), "-", "")
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
	block := &span.Object{}
	block.Add("tool_use_id", call)
	block.Add("type", "tool_result")
	block.Raw("content", content)
	block.Add("is_error", p.State.Status == session.Failed)
	body := &span.Object{}
	body.Add("role", "user")
	body.Raw("content", span.Array([][]byte{block.Bytes()}))

	id := uuid(m.ID + "/" + p.ID + "/result")
	ended := m.Time.Created
	if p.State.Time != nil {
		ended = max(ended, p.State.Time.End)
	}
	o := c.begin()
	o.Add("isSidechain", false)
	o.Add("type", "user")
	o.Raw("message", body.Bytes())
	o.Add("uuid", id)
	o.Add("timestamp", c.moment(ended))
	o.Add("sourceToolAssistantUUID", by)
	place := c.places[p.ID]
	place.result, place.answer = len(c.entries), 0
	c.places[p.ID] = place
	return c.end(o, id, m.ID, nil)
}

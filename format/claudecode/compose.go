package claudecode

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// composer writes messages that come from elsewhere as entries of this product. Members stand in the product's order: in
// files of more than 5 MiB it looks for some of them without reading the JSON.
type composer struct {
	scan    *scanner
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

// object is a JSON object of which the order of members matters.
type object struct{ text []byte }

func (o *object) add(name string, value any) {
	text, err := json.Marshal(value, session.ReadOptions(), json.Deterministic(true))
	if err != nil {
		text = []byte("null") // only a broken foreign value gets here
	}
	o.raw(name, text)
}

func (o *object) raw(name string, value []byte) {
	begin := byte(',')
	if len(o.text) == 0 {
		begin = '{'
	}
	o.text = append(append(o.text, begin), quoted(name)...)
	o.text = append(append(o.text, ':'), value...)
}

func (o *object) close() []byte {
	if len(o.text) == 0 {
		return []byte("{}")
	}
	return append(o.text, '}')
}

// uuid is the id itself where it is a UUID, else one that is always the same for the same id.
func uuid(id string) string {
	if isUUID(id) {
		return id
	}
	sum := sha256.Sum256([]byte("winnow " + id))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8: made up by the writer
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func isUUID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i := range id {
		c := id[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
				return false
			}
		}
	}
	return true
}

// stamp writes a time as the product does.
func stamp(t session.Millis) string {
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// begin starts an entry behind the last one.
func (c *composer) begin() *object {
	o := &object{}
	if c.parent == "" {
		o.raw("parentUuid", []byte("null"))
	} else {
		o.add("parentUuid", c.parent)
	}
	return o
}

// end finishes an entry and appends it.
func (c *composer) end(o *object, id, message string, kept *session.Message) error {
	o.add("userType", "external")
	o.add("entrypoint", "cli")
	o.add("cwd", c.where.cwd)
	o.add("sessionId", c.where.session)
	o.add("version", c.where.version)
	if c.where.branch != "" {
		o.add("gitBranch", c.where.branch)
	}
	if kept != nil {
		text, err := (&marks{Message: kept}).member()
		if err != nil {
			return fmt.Errorf("write message %s: %w", message, err)
		}
		o.text = append(o.text, text...)
	}
	line := o.close()
	e := entry{}
	if err := c.scan.entry(line, &e); err != nil {
		return fmt.Errorf("write message %s: %w", message, err)
	}
	c.entries, c.owner = append(c.entries, e), append(c.owner, message)
	c.parent = id
	return nil
}

// moment is the time of an entry: its own, and never before that of the entry before.
func (c *composer) moment(t session.Millis) string {
	c.time = max(c.time, t)
	return stamp(c.time)
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
	o.add("isSidechain", false)
	o.add("type", "user")
	body := &object{}
	body.add("role", "user")
	body.raw("content", content)
	o.raw("message", body.close())
	if !m.Written() {
		o.add("isMeta", true)
	}
	o.add("uuid", id)
	o.add("timestamp", c.moment(m.Time.Created))
	for at := range m.Parts {
		if blocks[at] >= 0 {
			c.places[m.Parts[at].ID] = place{len(c.entries), blocks[at], -1, -1}
		}
	}
	return c.end(o, id, m.ID, kept)
}

// spoken is the content of a user message, nil when it says nothing, and for each of its parts the block that it became, -1 for none.
func spoken(m *session.Message) (content []byte, blocks []int) {
	blocks = make([]int, len(m.Parts))
	var written [][]byte
	text := false
	for i := range m.Parts {
		p := &m.Parts[i]
		blocks[i] = -1
		var block []byte
		switch {
		case p.Type == session.TextPart && p.Text != "" && !p.Ignored:
			block, text = textBlock(p.Text), true
		case p.Type == session.FilePart:
			block = fileBlock(p)
		}
		if block != nil {
			blocks[i] = len(written)
			written = append(written, block)
		}
	}
	switch {
	case len(written) == 0:
		return nil, blocks
	case len(written) == 1 && text:
		for i := range m.Parts {
			if blocks[i] == 0 {
				return quoted(m.Parts[i].Text), blocks
			}
		}
	}
	return list(written), blocks
}

// list writes a JSON array.
func list(elements [][]byte) []byte {
	text := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, e...)
	}
	return append(text, ']')
}

func textBlock(text string) []byte {
	o := &object{}
	o.add("type", "text")
	o.raw("text", quoted(text))
	return o.close()
}

// fileBlock shows images and PDFs as such, and names every other file.
func fileBlock(p *session.Part) []byte {
	kind := map[bool]string{true: "document", false: "image"}[p.Mime == "application/pdf"]
	header, data, inline := strings.Cut(strings.TrimPrefix(p.URL, "data:"), ",")
	source := &object{}
	switch {
	case p.IsMedia() && strings.HasPrefix(p.URL, "data:") && inline && strings.HasSuffix(header, ";base64"):
		source.add("type", "base64")
		source.add("media_type", p.Mime)
		source.raw("data", quoted(data))
	case p.IsMedia() && strings.HasPrefix(p.URL, "http"):
		source.add("type", "url")
		source.add("url", p.URL)
	default:
		if strings.HasPrefix(p.URL, "data:text/") && inline && !strings.HasSuffix(header, ";base64") {
			if text, err := url.PathUnescape(data); err == nil && text != "" {
				return textBlock(text)
			}
		}
		name := p.Filename
		if name == "" {
			name = p.Mime
		}
		return textBlock("[File: " + name + "]")
	}
	o := &object{}
	o.add("type", kind)
	o.raw("source", source.close())
	return o.close()
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
		body := &object{}
		body.add("model", orDefault(m.ModelID, "unknown"))
		body.add("id", "msg_"+strings.ReplaceAll(uuid(m.ID), "-", ""))
		body.add("type", "message")
		body.add("role", "assistant")
		body.raw("content", list([][]byte{block}))
		body.add("stop_reason", orNull(orDefault(reasons[m.Finish], m.Finish)))
		body.raw("stop_sequence", []byte("null"))
		tokens := session.Usage{}
		if m.Tokens != nil {
			tokens = *m.Tokens
		}
		usage := &object{}
		usage.add("input_tokens", tokens.Input)
		usage.add("cache_creation_input_tokens", tokens.Cache.Write)
		usage.add("cache_read_input_tokens", tokens.Cache.Read)
		usage.add("output_tokens", tokens.Output+tokens.Reasoning)
		body.raw("usage", usage.close())

		o := c.begin()
		o.add("isSidechain", false)
		o.raw("message", body.close())
		o.add("type", "assistant")
		o.add("uuid", id)
		o.add("timestamp", c.moment(m.Time.Created))
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

// thinkingBlock writes reasoning that the provider signed; it refuses any other.
func thinkingBlock(p *session.Part) []byte {
	var t thought
	if json.Unmarshal(p.Metadata, &t, session.ReadOptions()) != nil {
		return nil
	}
	o := &object{}
	switch {
	case t.Anthropic.Signature != "":
		o.add("type", "thinking")
		o.raw("thinking", quoted(p.Text))
		o.add("signature", t.Anthropic.Signature)
	case t.Anthropic.RedactedData != "":
		o.add("type", "redacted_thinking")
		o.add("data", t.Anthropic.RedactedData)
	default:
		return nil
	}
	return o.close()
}

// callID is the call's id where the provider takes it and it is new, else one made from the part's.
func (c *composer) callID(p *session.Part) string {
	id := p.CallID
	if id == "" || word(id) != id || c.calls[id] {
		id = "toolu_" + strings.ReplaceAll(uuid("call "+p.MessageID+" "+p.ID), "-", "")
	}
	c.calls[id] = true
	return id
}

// word replaces what ids and tool names may not have.
func word(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

func callBlock(p *session.Part, call string) []byte {
	o := &object{}
	o.add("type", "tool_use")
	o.add("id", call)
	o.add("name", orDefault(word(p.Tool), "tool"))
	input := []byte(p.State.Input)
	if p.State.Input.Kind() != '{' || !p.State.Input.IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) {
		input = []byte("{}")
	}
	o.raw("input", oneLine(input))
	return o.close()
}

// oneLine takes line breaks between tokens out of a JSON value: an entry is one line.
func oneLine(value []byte) []byte {
	compact := append(jsontext.Value(nil), value...)
	if compact.Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true)) != nil {
		return []byte("{}")
	}
	return compact
}

func (c *composer) result(m *session.Message, p *session.Part, call, by string) error {
	content := quoted(p.State.Result())
	if len(p.State.Attachments) > 0 {
		var blocks [][]byte
		if text := p.State.Result(); text != "" {
			blocks = append(blocks, textBlock(text))
		}
		for i := range p.State.Attachments {
			blocks = append(blocks, fileBlock(&p.State.Attachments[i]))
		}
		content = list(blocks)
	}
	block := &object{}
	block.add("tool_use_id", call)
	block.add("type", "tool_result")
	block.raw("content", content)
	block.add("is_error", p.State.Status == session.Failed)
	body := &object{}
	body.add("role", "user")
	body.raw("content", list([][]byte{block.close()}))

	id := uuid(m.ID + "/" + p.ID + "/result")
	ended := m.Time.Created
	if p.State.Time != nil {
		ended = max(ended, p.State.Time.End)
	}
	o := c.begin()
	o.add("isSidechain", false)
	o.add("type", "user")
	o.raw("message", body.close())
	o.add("uuid", id)
	o.add("timestamp", c.moment(ended))
	o.add("sourceToolAssistantUUID", by)
	place := c.places[p.ID]
	place.result, place.answer = len(c.entries), 0
	c.places[p.ID] = place
	return c.end(o, id, m.ID, nil)
}

func orDefault(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

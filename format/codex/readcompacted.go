package codex

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// compacted is the payload of a compaction.
type compacted struct {
	Message     string           `json:"message"`
	Replacement []jsontext.Value `json:"replacement_history"`
	Record      *struct {
		Usage usage `json:"usage"`
	} `json:"latest_token_usage_record"`
}

// retained is how many bytes of user messages a compaction keeps whose replacement_history is not
// in the file: 20,000 tokens of four bytes, as the product counts.
const retained = 4 * 20000

// compacted reads a compaction of the product: a marker and a summary, and in the summary what the
// product keeps beside it.
func (r *reader) compacted(at int32, l *line, payload []byte) error {
	var c compacted
	if err := decode(payload, &c); err != nil {
		return err
	}
	r.endStep()
	created := l.created(r.src)
	marker := session.Message{MessageInfo: session.MessageInfo{
		ID: r.messageID("", l), Role: session.User, Time: session.MessageTime{Created: created},
	}}
	if r.model != "" {
		marker.Model = &session.ModelRef{ProviderID: r.provider, ModelID: r.model}
	}
	summary := session.Message{MessageInfo: session.MessageInfo{
		ID: marker.ID + "s", Role: session.Assistant, Time: session.MessageTime{Created: created, Completed: created},
		ParentID: marker.ID, ProviderID: r.provider, ModelID: r.model, Mode: "compaction", Agent: "compaction",
		Summary: jsontext.Value("true"), Finish: "stop",
	}}
	if r.cwd != "" {
		summary.Path = &session.Path{Cwd: r.cwd, Root: r.cwd}
	}
	if c.Record != nil {
		tokens := c.Record.Usage.canonical()
		summary.Tokens = &tokens
	} else if r.pending != nil {
		summary.Tokens = r.pending
	}
	r.pending = nil
	parts := []session.Part{{Type: session.TextPart, Text: c.Message}}
	if c.Replacement == nil {
		parts = append(parts, r.lastWords()...)
	}
	tail, items := r.tail(&c)
	for _, v := range c.Replacement[:len(c.Replacement)-items] {
		parts = append(parts, carried(v, c.Message)...)
	}
	where := placeOf(at, nowhere)
	m := r.append(at, marker)
	r.addPart(m, session.Part{Type: session.CompactionPart, Auto: true, TailStartID: tail}, where)
	r.compaction = m
	r.doc.IsTheirs(r.doc.Session.Messages[m].ID)
	r.names[summary.ID]++
	s := r.append(at, summary)
	for _, p := range parts {
		r.addPart(s, p, where)
	}
	return nil
}

// tail finds the message of the log from which a replacement_history keeps everything behind its
// summary, and how many items that is. The product keeps none; a pivot of ours does, and loses our
// mark when the product copies it into a fork.
func (r *reader) tail(c *compacted) (start string, items int) {
	summary := -1
	for i, v := range c.Replacement {
		var it item
		if decode(v, &it) != nil || it.Type != "message" {
			continue
		}
		for _, element := range contents(it.Content) {
			if !element.odd && element.Text == c.Message {
				summary = i
			}
		}
	}
	if summary < 0 || summary+1 >= len(c.Replacement) {
		return "", 0
	}
	var first item
	if decode(c.Replacement[summary+1], &first) != nil {
		return "", 0
	}
	items = len(c.Replacement) - summary - 1
	if first.ID != "" && session.Index(r.doc.Session.Messages, first.ID) >= 0 {
		return first.ID, items
	}
	if first.CallID != "" {
		if m, p := session.FindPart(r.doc.Session.Messages, first.CallID); p != nil {
			return m.ID, items
		}
	}
	return "", 0
}

// carried is what one item of a replacement_history adds to the summary: nothing when it is the
// summary itself. A summary of ours that stood before is carried: the product takes it for a
// message of the user.
func carried(v jsontext.Value, summary string) []session.Part {
	var it item
	if decode(v, &it) != nil {
		return nil
	}
	if it.Type != "message" {
		return []session.Part{{Type: unknownPart(it.Type), Metadata: slices.Clone(v)}}
	}
	var parts []session.Part
	for i, c := range contents(it.Content) {
		switch url := c.url(); {
		case url != "":
			parts = append(parts, session.Part{Type: session.FilePart, Mime: mime(url), URL: url, Synthetic: true})
		case c.Text != "" && c.Text != summary:
			p := carriedText(c.Text)
			p.Synthetic = it.Role != "assistant" && !it.written(i, c.Text)
			parts = append(parts, p)
		}
	}
	return parts
}

func carriedText(text string) session.Part {
	return session.Part{Type: session.TextPart, Text: text, Metadata: session.Note{Carry: true}.Metadata()}
}

// lastWords is what the product keeps of the conversation if the file does not say: the newest
// messages of the user.
func (r *reader) lastWords() []session.Part {
	var parts []session.Part
	left := retained
	for i := len(r.doc.Session.Messages) - 1; i >= 0 && left > 0; i-- {
		m := &r.doc.Session.Messages[i]
		if !m.Written() {
			continue
		}
		text := m.Text()
		if len(text) > left {
			text = strings.ToValidUTF8(text[:left], "")
		}
		left -= len(text)
		parts = append(parts, carriedText(text))
	}
	slices.Reverse(parts)
	return parts
}

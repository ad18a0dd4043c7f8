package qwen

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/gemini"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// composer writes messages as records, each the child of the one before. Members stand in the
// product's order.
type composer struct {
	keep     bool // user messages are kept whole beside the product's form
	where    where
	parent   string         // uuid of the record before
	time     session.Millis // of the record before
	out      []byte
	contents []*content // of the file, and of what was composed
	names    entries.Names
	calls    map[string]bool // ids of calls that are in use
}

// where holds what every record repeats.
type where struct{ session, cwd, version, branch string }

// record begins a record behind the last one.
func (c *composer) record(uuid, kind, provenance string, at session.Millis) *span.Object {
	c.time = max(c.time, at)
	o := new(span.Object).With("uuid", uuid, "parentUuid", jsonl.OrNull(c.parent), "sessionId", c.where.session,
		"timestamp", jsonl.Stamp(c.time), "type", kind, "provenance", provenance, "cwd", c.where.cwd,
		"version", c.where.version)
	if c.where.branch != "" {
		o.Add("gitBranch", c.where.branch)
	}
	c.parent = uuid
	return o
}

// end appends a record with what the product's form cannot hold.
func (c *composer) end(o *span.Object, kept *marks) error {
	line := o.Bytes()
	if kept != nil {
		var err error
		if line, err = kept.on(line); err != nil {
			return err
		}
	}
	c.out = append(append(c.out, line...), '\n')
	return nil
}

// say notes a content that was composed, and writes it down.
func (c *composer) say(o *span.Object, uuid, role, message string, pieces []gemini.Piece) {
	parts := span.Array(gemini.Raws(pieces))
	c.contents = append(c.contents, &content{uuid: uuid, role: role, messages: []string{message}, parts: parts})
	o.With("message", span.Make("role", role, "parts", parts))
}

// message composes a message that is neither a marker nor a summary.
func (c *composer) message(m *session.Message) error {
	if m.Role == session.Assistant {
		return c.assistant(m)
	}
	pieces := gemini.Asked(m)
	if len(pieces) == 0 {
		return nil
	}
	var kept *marks
	uuid := jsonl.UUIDOf(m.ID)
	if c.keep || entries.Noted(m) {
		kept = &marks{Message: m}
	}
	for i := range pieces {
		c.names[pieces[i].Part] = entries.Name{Part: fmt.Sprintf("%s:%d", uuid, i), Message: uuid}
		if kept != nil {
			c.names[pieces[i].Part] = entries.Name{Part: pieces[i].Part, Message: m.ID}
		}
	}
	provenance := "real_user"
	if !m.Written() {
		provenance = "system"
	}
	o := c.record(uuid, "user", provenance, m.Time.Created)
	c.say(o, uuid, "user", m.ID, pieces)
	return c.end(o, kept)
}

// assistant composes an answer, and then the results of its calls, each in a record of its own.
func (c *composer) assistant(m *session.Message) error {
	name, called := gemini.Caller(m, c.calls)
	said, results := gemini.Answered(m, name)
	if len(said) == 0 {
		return nil
	}
	uuid := jsonl.UUIDOf(m.ID)
	for i := range said {
		part := said[i].Part
		c.names[part] = entries.Name{Part: cmp.Or(called[part], fmt.Sprintf("%s:%d", uuid, i)), Message: uuid}
	}
	o := c.record(uuid, "assistant", "assistant_output", m.Time.Created)
	o.Add("model", cmp.Or(m.ModelID, "unknown"))
	c.say(o, uuid, "model", m.ID, said)
	if u := m.Tokens; u != nil {
		o.Raw("usageMetadata", span.Make("promptTokenCount", u.Prompt(), "candidatesTokenCount", u.Output,
			"thoughtsTokenCount", u.Reasoning, "cachedContentTokenCount", u.Cache.Read,
			"totalTokenCount", u.Prompt()+u.Output+u.Reasoning))
	}
	if err := c.end(o, nil); err != nil {
		return err
	}
	for i := range results {
		_, p := session.FindPart([]session.Message{*m}, results[i].Part)
		status, ended := "success", m.Time.Created
		if p.State.Status == session.Failed {
			status = "error"
		}
		if p.State.Time != nil {
			ended = max(ended, p.State.Time.End)
		}
		uuid := jsonl.UUID("winnow " + m.ID + "/" + p.ID + "/result")
		o := c.record(uuid, "tool_result", "tool_result", ended)
		c.say(o, uuid, "user", m.ID, results[i:i+1])
		o.With("toolCallResult", span.Make("callId", called[p.ID], "status", status))
		if err := c.end(o, nil); err != nil {
			return err
		}
	}
	return nil
}

// pivot composes a compression. tail holds the messages that stay.
func (c *composer) pivot(marker, summary *session.Message, tail map[string]bool, tokens int) error {
	kept := &marks{Message: marker, Summary: summary, Tail: []string{}}
	var contents [][]byte
	called := map[string]bool{}
	before, after, role := 0, 0, "user"
	for _, content := range c.contents {
		before += len(content.parts)
		if !slices.ContainsFunc(content.messages, func(id string) bool { return tail[id] }) {
			continue
		}
		if parts := answered(content.parts, called); len(parts) > 0 {
			if len(contents) == 0 {
				role = content.role
			}
			contents = append(contents, span.Make("role", content.role, "parts", span.Array(parts)))
			kept.Tail = append(kept.Tail, content.uuid)
			after += len(content.parts)
		}
	}
	head := [][]byte{span.Make("role", "user", "parts", span.Array([][]byte{gemini.Text(entries.Summary(summary))}))}
	if role == "user" {
		head = append(head, span.Make("role", "model", "parts", span.Array([][]byte{gemini.Text(gemini.Acknowledged)})))
	}
	reason := "manual"
	if marker.Marker().Auto {
		reason = "token_limit"
	}
	const bytesPerToken = 4 // the product takes the count for an estimate
	rest := max(0, tokens-max(0, before-after)/bytesPerToken) + len(head[0])/bytesPerToken
	o := c.record(jsonl.UUIDOf(marker.ID), "system", "system", max(marker.Time.Created, summary.Time.Completed))
	o.With("subtype", "chat_compression", "systemPayload", span.Make(
		"info", span.Make("originalTokenCount", tokens, "newTokenCount", rest, "newTokenCountIsEstimated", true,
			"compressionStatus", 1, "triggerReason", reason),
		"compressedHistory", span.Array(append(head, contents...)), "completedToolCallIds", []byte("[]")))
	return c.end(o, kept)
}

// answered are the parts of a content without results of calls that were not made. called notes the
// calls.
func answered(list []byte, called map[string]bool) (kept [][]byte) {
	for v := range span.Values(list, span.All(list)) {
		raw := v.Of(list)
		for _, p := range gemini.Parts(raw) {
			if p.Call != nil {
				called[p.Call.ID] = true
			}
			if p.Response != nil && !called[p.Response.ID] {
				raw = nil
			}
		}
		if raw != nil {
			kept = append(kept, raw)
		}
	}
	return kept
}

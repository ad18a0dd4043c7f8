package geminicli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/gemini"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// composer writes messages as lines.
type composer struct {
	*index
	keep  bool // user messages are kept whole beside the product's form
	out   []byte
	ended bool // the last line of the file has no line break
	names entries.Names
	calls map[string]bool // ids of calls that are in use
}

// part is the id with which reading the file gives a part.
func (c *composer) part(id string) string {
	if name, composed := c.names[id]; composed {
		return name.Part
	}
	return id
}

// known is a ledger without the elisions of parts that the file does not have.
func (c *composer) known(ledger rule.Ledger) rule.Ledger {
	parts := map[string]bool{}
	for _, own := range c.said {
		for _, piece := range slices.Concat(own.says, own.results) {
			parts[piece.Part] = true
		}
	}
	unknown := func(e rule.Elision) bool { return !parts[e.Part] }
	return rule.NewLedger(slices.DeleteFunc(slices.Clone(ledger.All()), unknown)...)
}

// end appends a line.
func (c *composer) end(line []byte) {
	if c.ended {
		c.out, c.ended = append(slices.Clip(c.out), '\n'), false
	}
	c.out = append(append(slices.Clip(c.out), line...), '\n')
}

// header begins a file.
func (c *composer) header(info *session.Info) {
	c.about.LastUpdated = jsonl.Stamp(info.Time.Updated)
	sum := sha256.Sum256([]byte(info.Directory))
	o := new(span.Object).With("sessionId", jsonl.UUIDOf(info.ID), "projectHash", hex.EncodeToString(sum[:]),
		"startTime", jsonl.Stamp(info.Time.Created), "lastUpdated", c.about.LastUpdated, "kind", "main")
	if info.Title != "" {
		o.Add("summary", info.Title)
	}
	if info.Directory != "" {
		o.Add("directories", []string{info.Directory})
	}
	c.end(o.Bytes())
}

// compose notes what a message says in the file. It is written in its turn.
func (c *composer) compose(m *session.Message) {
	own := &said{answer: answerOf(m.ID)}
	if m.Role == session.User {
		own.says = gemini.Asked(m)
		for i := range own.says {
			slot := &own.says[i].Slot
			if !c.keep && !entries.Noted(m) {
				c.names[slot.Part] = entries.Name{Part: fmt.Sprintf("%s:%d", m.ID, i), Message: m.ID}
			}
			slot.Part = c.part(slot.Part)
		}
	} else {
		name, called := gemini.Caller(m, c.calls)
		own.says, own.results = gemini.Answered(m, name)
		for i := range own.says {
			slot := &own.says[i].Slot
			id, call := called[slot.Part]
			if !call {
				id = fmt.Sprintf("%s:%d", m.ID, i)
			}
			c.names[slot.Part] = entries.Name{Part: id, Message: m.ID}
			slot.Part = id
		}
		for i := range own.results {
			own.results[i].Part = c.part(own.results[i].Part)
		}
	}
	if len(own.says) > 0 {
		c.said[m.ID] = own
	}
}

// answerOf is the id of the message with the results of an answer's calls, as the product makes it.
func answerOf(id string) string { return id + "_response" }

// message writes a message that was composed.
func (c *composer) message(m *session.Message) error {
	own := c.said[m.ID]
	if own == nil {
		return nil
	}
	line := element(m, m.ID, span.Array(gemini.Raws(own.says)))
	if m.Role == session.Assistant {
		o := span.Set(line, "", span.Quote(m.ModelID), "model")
		if u := m.Tokens; u != nil {
			o = span.Set(o, "", span.Make("input", u.Prompt(), "output", u.Output, "cached", u.Cache.Read,
				"thoughts", u.Reasoning, "tool", 0, "total", u.Prompt()+u.Output+u.Reasoning), "tokens")
		}
		c.end(o)
		if len(own.results) > 0 {
			c.end(results(m, own.answer, span.Array(gemini.Raws(own.results))))
		}
		return nil
	}
	if c.keep || entries.Noted(m) {
		var err error
		if line, err = (&marks{Message: m}).on(line); err != nil {
			return err
		}
	}
	c.end(line)
	return nil
}

// element is a message as the product writes it.
func element(m *session.Message, id string, parts []byte) []byte {
	kind := "user"
	if m.Role == session.Assistant {
		kind = "gemini"
	}
	return span.Make("id", id, "timestamp", jsonl.Stamp(m.Time.Created), "type", kind, "content", parts)
}

// results is the message with the results of an answer's calls.
func results(m *session.Message, id string, parts []byte) []byte {
	return span.Make("id", id, "timestamp", jsonl.Stamp(m.Time.Created), "type", "user", "content", parts)
}

// list writes a line that lists what the model is sent: a window of the log under a ledger.
func (c *composer) list(window []session.Message, ledger rule.Ledger, m *marks) error {
	var listed [][]byte
	show := func(pieces []gemini.Piece) []byte {
		shown, _ := gemini.Shown(span.Array(gemini.Raws(pieces)), gemini.Slots(pieces), ledger)
		return shown
	}
	for i := range window {
		one := &window[i]
		own := c.said[one.ID]
		switch {
		case one.Marker() != nil:
		case one.IsSummary() && own != nil:
			listed = append(listed, own.summary(ledger)...)
		case one.IsSummary():
			user := i+1 >= len(window) || window[i+1].Role == session.User
			listed = append(listed, summary(one, user)...)
		case own != nil:
			if len(own.says) > 0 {
				listed = append(listed, element(one, one.ID, show(own.says)))
			}
			if all := own.answers(one); len(all) > 0 {
				id := own.answer
				if id == "" {
					id = answerOf(one.ID)
				}
				listed = append(listed, results(one, id, show(all)))
			}
		}
	}
	m.Elisions = ledger.All()
	updated := c.about.LastUpdated
	if updated == "" && len(window) > 0 {
		updated = jsonl.Stamp(window[len(window)-1].Time.Created)
	}
	line, err := m.on(span.Make("$set", span.Make("messages", span.Array(listed), "lastUpdated", updated)))
	if err == nil {
		c.end(line)
	}
	return err
}

// answers are the results of an answer's calls, also of those whose results the file has as texts.
func (s *said) answers(m *session.Message) []gemini.Piece {
	all := slices.Clone(s.results)
	for i := range m.Parts {
		p := &m.Parts[i]
		has := func(piece gemini.Piece) bool { return piece.Part == p.ID && !piece.Beside }
		if p.Type == session.ToolPart && p.State.Final() && slices.ContainsFunc(s.says, has) &&
			!slices.ContainsFunc(all, has) {
			slot := gemini.Slot{Part: p.ID, Result: true}
			all = append(all, gemini.Piece{Raw: gemini.Result(p, p.CallID), Slot: slot})
		}
	}
	return all
}

// summary lists the messages of a summary that the file has.
func (s *said) summary(ledger rule.Ledger) (listed [][]byte) {
	at := 0
	for i := range s.head {
		h := &s.head[i]
		content := []byte(h.Content)
		if len(s.says) > 0 && span.Kind(content) == '[' {
			slots := []gemini.Slot{}
			for _, p := range gemini.Parts(content) {
				slot := gemini.Slot{}
				if p.Words() != "" && at < len(s.says) {
					slot = s.says[at].Slot
					at++
				}
				slots = append(slots, slot)
			}
			content, _ = gemini.Shown(content, slots, ledger)
		}
		listed = append(listed, span.Make("id", h.ID, "timestamp", h.Timestamp, "type", h.Type, "content", content))
	}
	return listed
}

// summary lists a summary as the product lists its own. What begins with some signs it would leave
// out.
func summary(m *session.Message, user bool) [][]byte {
	text := entries.Summary(m)
	if dropped(text) {
		text = "Summary:\n\n" + text
	}
	ask := session.Message{MessageInfo: session.MessageInfo{Role: session.User, Time: m.Time}}
	listed := [][]byte{element(&ask, jsonl.UUIDOf(m.ID), span.Array([][]byte{gemini.Text(text)}))}
	if user {
		listed = append(listed, element(m, jsonl.UUIDOf(m.ID+"/acknowledged"),
			span.Array([][]byte{gemini.Text(gemini.Acknowledged)})))
	}
	return listed
}

package cline

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// newRecord is a record as it is written, its members in the product's order.
type newRecord struct {
	ID       string         `json:"id"`
	Role     string         `json:"role"`
	Content  jsontext.Value `json:"content"`
	Time     session.Millis `json:"ts"`
	Model    *modelInfo     `json:"modelInfo,omitzero"`
	Metrics  *metrics       `json:"metrics,omitzero"`
	Metadata jsontext.Value `json:"metadata,omitzero"`
}

// recordID is the id of a record of a message that needs several.
func recordID(message string, n int) string {
	if n == 0 {
		return message
	}
	return message + "_" + strconv.Itoa(n)
}

// step is what one request gave: the blocks of its answer, and the results of its calls.
type step struct{ blocks, results [][]byte }

// records writes a message: an answer as a record for every step, each followed by the results of
// its calls, of which the product makes a message each. about is the session, if it is from
// elsewhere and this is its first message.
func records(m *session.Message, about *session.Session) [][]byte {
	steps, at := stepsOf(m)
	var made []newRecord
	for i, s := range steps {
		made = append(made, newRecord{Role: string(m.Role), Content: span.Array(s.blocks), Time: m.Time.Created})
		if m.Role == session.Assistant {
			made[len(made)-1].answers(m, i == len(steps)-1)
			if i > 0 {
				made[len(made)-1].Metadata = noted(entries.Mark{Of: m.ID}, "")
			}
		}
		for _, result := range s.results {
			made = append(made, newRecord{Role: "user", Content: span.Array([][]byte{result}), Time: m.Time.Created})
		}
	}
	note := entries.Mark{Session: about}
	if m.Written() {
		note.Runs = 1
	}
	note.Message, note.From = jsonl.Without(m, nativeParts(made), at)
	kept := len(steps[0].blocks) == 0 && m.Role != session.Assistant || m.IsSummary()
	made[0].Metadata = noted(note, "")
	if kept { // the product has no form for it
		note.Message, note.From = m, nil
		made = made[:1]
		made[0].Content = jsontext.Value("[]")
		made[0].Metadata = span.Set(noted(note, ""), "", []byte("true"), "displayOnly")
	}
	var texts [][]byte
	for i := range made {
		made[i].ID = recordID(m.ID, i)
		texts = append(texts, jsonl.Marshal(made[i]))
	}
	return texts
}

// noted is the metadata of a record that we write, of a kind of the product's or of none.
func noted(m entries.Mark, kind string) jsontext.Value {
	var o span.Object
	if kind != "" {
		o.Add("kind", kind)
	}
	if m.Message != nil && m.Message.Role == session.User {
		o.Add("userRunSpan", m.Runs)
	}
	o.Raw("winnow", jsonl.Marshal(m))
	return o.Bytes()
}

// answers says who answered, and what the step took if it was the last of its message.
func (n *newRecord) answers(m *session.Message, last bool) {
	if m.ModelID != "" {
		n.Model = &modelInfo{ID: m.ModelID, Provider: m.ProviderID}
	}
	if u := m.Tokens; u != nil && last {
		n.Metrics = &metrics{Input: u.Prompt(), Output: u.Output + u.Reasoning,
			CacheRead: u.Cache.Read, CacheWrite: u.Cache.Write}
		if m.Cost != nil {
			n.Metrics.Cost = *m.Cost
		}
	}
}

// stepsOf takes a message apart. at holds the position of each part among those that its records
// give, -1 for one that is in none.
func stepsOf(m *session.Message) (steps []step, at []int) {
	steps = []step{{}}
	given := 0
	for i := range m.Parts {
		p := &m.Parts[i]
		now := &steps[len(steps)-1]
		if p.Type == session.StepStartPart && len(now.blocks) > 0 && m.Role == session.Assistant {
			steps = append(steps, step{})
		}
		at = append(at, -1)
		b := blockOf(p)
		if b == nil {
			continue
		}
		at[i] = given
		given++
		now.blocks = append(now.blocks, b)
		if p.Type == session.ToolPart && p.State.Final() {
			now.results = append(now.results, resultBlock(p))
		}
	}
	return steps, at
}

// blockOf is a part as a block, nil if the model is sent nothing of it.
func blockOf(p *session.Part) []byte {
	switch p.Type {
	case session.TextPart:
		if p.Ignored || p.Text == "" {
			return nil
		}
		return textBlock(p.Text)
	case session.ReasoningPart:
		var about struct {
			Signature string `json:"signature"`
			Anthropic struct {
				Signature string `json:"signature"`
				Redacted  string `json:"redactedData"`
			} `json:"anthropic"`
		}
		_ = json.Unmarshal(p.Metadata, &about, session.ReadOptions()) // there may be none
		if data := about.Anthropic.Redacted; data != "" {
			return span.Make("type", "redacted_thinking", "data", data)
		}
		var o span.Object
		o.With("type", "thinking", "thinking", p.Text)
		if s := about.Signature + about.Anthropic.Signature; s != "" {
			o.Add("signature", s)
		}
		return o.Bytes()
	case session.FilePart:
		return fileBlock(p)
	case session.ToolPart:
		if p.State == nil {
			return nil
		}
		return span.Make("type", "tool_use", "id", p.CallID, "name", p.Tool, "input", jsonl.Input(p.State))
	}
	return nil
}

// fileBlock is the image itself, or a note of what was there.
func fileBlock(p *session.Part) []byte {
	if mime, data, ok := jsonl.Inline(p); ok && strings.HasPrefix(mime, "image/") {
		return span.Make("type", "image", "data", data, "mediaType", mime)
	}
	return textBlock(jsonl.FileNote(p))
}

// resultBlock is the result of a call.
func resultBlock(p *session.Part) []byte {
	content := jsontext.Value(span.Quote(p.State.Result()))
	if len(p.State.Attachments) > 0 {
		blocks := [][]byte{textBlock(p.State.Result())}
		for i := range p.State.Attachments {
			blocks = append(blocks, fileBlock(&p.State.Attachments[i]))
		}
		content = span.Array(blocks)
	}
	var o span.Object
	o.With("type", "tool_result", "tool_use_id", p.CallID, "name", p.Tool, "content", content)
	if p.State.Status == session.Failed {
		o.Add("is_error", true)
	}
	return o.Bytes()
}

// nativeParts are the parts that records give when they are read without their marks.
func nativeParts(made []newRecord) []session.Part {
	var parts []session.Part
	texts := [][]byte{}
	for i := range made {
		one := made[i]
		one.ID = recordID("m", i)
		if i > 0 && one.Role == string(session.Assistant) {
			one.Metadata = noted(entries.Mark{Of: "m"}, "")
		} else {
			one.Metadata = nil
		}
		texts = append(texts, jsonl.Marshal(one))
	}
	doc, err := document(span.Make("sessionId", "s", "messages", span.Array(texts)), nil)
	if err == nil && len(doc.Session.Messages) > 0 {
		parts = doc.Session.Messages[0].Parts
	}
	return parts
}

// summary writes a pivot as the product writes a summary: its own next one goes on from the text
// that is in the metadata.
func summary(marker, answer *session.Message, note entries.Mark) []byte {
	texts, native, at := entries.Texts(answer)
	var blocks [][]byte
	for i, text := range texts {
		if i == 0 {
			text = summaryHead + text
		}
		blocks = append(blocks, textBlock(text))
	}
	note.Fold(marker, answer, native, at)
	about := noted(note, "compaction_summary")
	about = span.Set(about, "", []byte(`"system"`), "displayRole")
	about = span.Set(about, "", span.Quote(strings.Join(texts, "\n\n")), "summary")
	return jsonl.Marshal(newRecord{ID: marker.ID, Role: "user", Content: span.Array(blocks),
		Time: answer.Time.Created, Metadata: about})
}

package cline

import (
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// compaction is what the product keeps beside a session that it compacted: what the model is sent
// in place of the first messages.
type compaction struct {
	Count    int            `json:"source_message_count"` // how many, without those that are only shown
	Last     string         `json:"source_last_message_key"`
	Hash     string         `json:"source_prefix_hash"`
	Messages jsontext.Value `json:"messages"`
}

// Beside names the file beside a session in which the product keeps its compaction, "" if the path
// is not that of a session where the product keeps it.
func (Format) Beside(path string) string {
	if stem, ok := strings.CutSuffix(filepath.Base(path), Ending); ok {
		return filepath.Join(filepath.Dir(path), stem+".compaction.json")
	}
	return ""
}

// ReadWith reads a session and the product's own compaction of it. One that is not of these
// messages, or not any more, counts as little as it does for the product.
func (Format) ReadWith(src, beside []byte) (*format.Document, error) { return document(src, beside) }

// compaction puts the product's own compaction among the records, before the messages that it kept.
func (r *reader) compaction() {
	var c compaction
	if json.Unmarshal(r.beside, &c, session.ReadOptions()) != nil || c.Count <= 0 {
		return
	}
	var sent []int // records that the product may send
	for i := range r.records {
		if m := &r.records[i]; !m.damaged && !m.hidden {
			sent = append(sent, i)
		}
	}
	if c.Count > len(sent) {
		return
	}
	last := &r.records[sent[c.Count-1]]
	if c.Last != "id:"+last.ID || c.Hash != "" && c.Hash != r.hash(sent[:c.Count]) {
		return
	}
	var instead []record
	for at := range span.Values(c.Messages, span.All(c.Messages)) {
		var m record
		if span.Decode(at.Of(c.Messages), &m) == nil {
			instead = append(instead, m)
		}
	}
	tail := 0 // how many of the newest stay as they are
	for tail < len(instead) && tail < c.Count &&
		instead[len(instead)-1-tail].ID == r.records[sent[c.Count-1-tail]].ID {
		tail++
	}
	instead = instead[:len(instead)-tail]
	if len(instead) == 0 {
		return
	}
	var texts [][]byte
	for i := range instead {
		for _, b := range blocksOf(instead[i].Content) {
			if text := said(&b); text != "" {
				texts = append(texts, textBlock(text))
			}
		}
	}
	at := sent[c.Count-1] + 1
	if tail > 0 {
		at = sent[c.Count-tail]
	}
	theirs := pivotOf(last.ID+"-compaction", max(last.Time, instead[0].Time), len(texts))
	theirs.Content, theirs.mark.After = span.Array(texts), last.ID
	r.records = append(r.records[:at:at], append([]record{theirs}, r.records[at:]...)...)
}

// pivotOf is the record of a compaction that the product made, whose summary has this many texts.
func pivotOf(id string, at session.Millis, texts int) record {
	marker := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User,
		Time: session.MessageTime{Created: at}}, Parts: []session.Part{{ID: id + ":0", Type: session.CompactionPart}}}
	summary := session.Message{MessageInfo: session.MessageInfo{ID: id + "-summary", Role: session.Assistant,
		ParentID: id, Finish: "stop", Summary: jsontext.Value("true"), Time: session.MessageTime{Created: at}}}
	m := record{ID: id, Role: "user", Time: at,
		mark: &entries.Mark{Message: &marker, From: []int{0}, Answer: &summary, Theirs: true}}
	for i := range texts {
		p := session.Part{ID: transcript.PartID(summary.ID, i), Type: session.TextPart}
		summary.Parts = append(summary.Parts, p)
		m.mark.AnswerFrom = append(m.mark.AnswerFrom, i)
	}
	return m
}

// said is a block of what the product made of the messages, as text.
func said(b *block) string {
	switch b.Type {
	case "text":
		return b.Text
	case "tool_use":
		return "[" + b.Name + " " + string(b.Input) + "]"
	case "tool_result":
		_, text, _, _ := b.output()
		return text
	}
	return ""
}

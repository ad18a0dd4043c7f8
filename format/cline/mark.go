package cline

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// mark is the member "winnow" of a message's metadata: what the product's own members cannot say.
// The product keeps the metadata of a message and ignores members that it does not know.
type mark struct {
	// Session is set in the first message of a file that was written for a session from elsewhere:
	// the session without its messages.
	Session *session.Session `json:"session,omitzero"`

	// Message is the message that the record was written for, in a pivot its marker. What the
	// record itself says is left out of it: From has, for each part, the position among the parts
	// that the record gives, -1 for one that it does not give.
	Message *session.Message `json:"message,omitzero"`
	From    []int            `json:"from,omitzero"`
	// Of is the id of the message that the record continues: one message may need several.
	Of string `json:"of,omitzero"`
	// Runs is how many prompts of the user's the record stands for while it is not folded.
	Runs int `json:"runs,omitzero"`

	// Answer and AnswerFrom are Message and From of the summary, in a pivot. After is the id of the
	// record behind which the pivot is in the log: in the file it is before its tail. Theirs is set
	// if the product made it.
	Answer     *session.Message `json:"answer,omitzero"`
	AnswerFrom []int            `json:"answerFrom,omitzero"`
	After      string           `json:"after,omitzero"`
	Theirs     bool             `json:"theirs,omitzero"`

	// Folded is set in a record that a summary replaced.
	Folded bool `json:"folded,omitzero"`
	// Detached is set so that the product's own compaction, which was undone, is not true of the
	// messages any more.
	Detached bool `json:"detached,omitzero"`
	// Was is the metadata as the product wrote it, absent if there was none.
	Was jsontext.Value `json:"was,omitzero"`
	// Elisions are the committed elisions of what the record holds, Original is the content that
	// they replaced.
	Elisions []elided       `json:"elisions,omitzero"`
	Original jsontext.Value `json:"original,omitzero"`
}

// elided is an elision with its position in the ledger.
type elided struct {
	rule.Elision `json:"elision"`
	Order        int `json:"order"`
}

// readMark reads a winnow member. It returns nil for one that it does not understand.
func readMark(raw jsontext.Value) *mark {
	if raw.Kind() != '{' {
		return nil
	}
	var m mark
	if json.Unmarshal(raw, &m, session.ReadOptions()) != nil {
		return nil
	}
	return &m
}

// ours reports whether the record was written by us as a whole.
func (m *mark) ours() bool { return m != nil && (m.Message != nil || m.Of != "") }

// original is the content of a record without elisions. The product may have split the record: it
// writes each result as a message of its own, all with the metadata of the one that they came from.
func (m *mark) original(content jsontext.Value) jsontext.Value {
	if m == nil || len(m.Original) == 0 {
		return content
	}
	had, has := elements(m.Original), elements(content)
	if len(had) == len(has) {
		return m.Original
	}
	here, other := map[string]bool{}, false
	for _, b := range has {
		id := resultOf(b)
		here[id], other = true, other || id == ""
	}
	stays := slices.DeleteFunc(slices.Clone(had), func(b []byte) bool {
		id := resultOf(b)
		return id != "" && !here[id] || id == "" && !other
	})
	if len(stays) == len(had) {
		return m.Original
	}
	return span.Array(stays)
}

// elements are the blocks of a content; a text is one block.
func elements(content []byte) (blocks [][]byte) {
	if span.Kind(content) == '"' {
		return [][]byte{textBlock(span.String(content))}
	}
	for at := range span.Values(content, span.All(content)) {
		if v := at.Of(content); v[0] == '{' {
			blocks = append(blocks, v)
		}
	}
	return blocks
}

func textBlock(text string) []byte { return span.Make("type", "text", "text", text) }

// resultOf is the id of the call that a block has the result of, "" if it is no result.
func resultOf(b []byte) string { return span.String(span.Get(b, "tool_use_id")) }

// splitOf reports whether the product gave a record this id when it split the one with that id.
func splitOf(id, whole string) bool {
	rest, ok := strings.CutPrefix(id, whole)
	return ok && (rest == "" || strings.HasPrefix(rest, "_tool_") || strings.HasPrefix(rest, "_part_"))
}

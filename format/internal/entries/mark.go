package entries

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Mark is the member "winnow" of an entry: what the product's own members cannot say. The product
// keeps it and never looks at it.
type Mark struct {
	// Session is set in the first entry of a file that was written for a session from elsewhere:
	// the session without its messages.
	Session *session.Session `json:"session,omitzero"`

	// Message is the message that the entry was written for, in a pivot its marker. What the entry
	// itself says is left out of it: From has, for each part, the position among the parts that the
	// entry and those that continue it give, -1 for one that they do not give.
	Message *session.Message `json:"message,omitzero"`
	From    []int            `json:"from,omitzero"`
	// Of is the id of the message that the entry continues, or of the marker whose tail begins here.
	Of string `json:"of,omitzero"`
	// Runs is how many prompts of the user's the entry stands for while it is not folded.
	Runs int `json:"runs,omitzero"`

	// Answer and AnswerFrom are Message and From of the summary, in a pivot. Cuts are the lengths of
	// its parts, in bytes, if the entry has several in one text, joined by blank lines. After is the
	// id of the entry behind which the pivot is in the log, if in the file it is before its tail.
	// Theirs is set if the product made the compaction.
	Answer     *session.Message `json:"answer,omitzero"`
	AnswerFrom []int            `json:"answerFrom,omitzero"`
	Cuts       []int            `json:"cuts,omitzero"`
	After      string           `json:"after,omitzero"`
	Theirs     bool             `json:"theirs,omitzero"`

	// Folded is set in an entry that a summary replaced.
	Folded bool `json:"folded,omitzero"`
	// Detached is set so that the product's own compaction, which was undone, does not fit its
	// entries any more.
	Detached bool `json:"detached,omitzero"`
	// Was is the member that holds the mark as the product wrote it, absent if there was none.
	Was jsontext.Value `json:"was,omitzero"`

	// Elisions are the committed elisions of what the entry holds, Original is the value that they
	// replaced, as it was read.
	Elisions []Elided       `json:"elisions,omitzero"`
	Original jsontext.Value `json:"original,omitzero"`
}

// Elided is an elision with its position in the ledger.
type Elided struct {
	rule.Elision `json:"elision"`
	// Index is the position of the part in its message, where ids change when the product rewrites
	// a file. For a result, which is alone in its entry, it means nothing. Answer is set if the
	// part is in the summary of a pivot.
	Index  *int `json:"index,omitzero"`
	Answer bool `json:"answer,omitzero"`
	Order  int  `json:"order"`
}

// ReadMark reads the value of a mark. It returns nil for one that it does not understand.
func ReadMark[T any](value jsontext.Value) *T {
	if value.Kind() != '{' {
		return nil
	}
	var m T
	if json.Unmarshal(value, &m, session.ReadOptions()) != nil {
		return nil
	}
	return &m
}

// Pivot reports whether the entry is a compaction that was written here.
func (m *Mark) Pivot() bool { return m != nil && m.Answer != nil }

// Texts are the texts of a summary that the model is sent, the parts that they are when they are
// read alone, and for each part of the summary its position among those, -1 for none.
func Texts(summary *session.Message) (texts []string, native []session.Part, at []int) {
	for i := range summary.Parts {
		p := &summary.Parts[i]
		at = append(at, -1)
		if p.Type == session.TextPart && !p.Ignored && p.Text != "" {
			at[i] = len(texts)
			texts, native = append(texts, p.Text), append(native, session.Part{Type: session.TextPart, Text: p.Text})
		}
	}
	return texts, native, at
}

// Fold notes the marker and the summary of a pivot. native are the parts of the summary that the
// entry gives, at is the position of each part among them, -1 for none.
func (m *Mark) Fold(marker, summary *session.Message, native []session.Part, at []int) {
	is := slices.Repeat([]int{-1}, len(marker.Parts))
	for i := range marker.Parts {
		if marker.Parts[i].Type == session.CompactionPart {
			is[i] = 0
		}
	}
	m.Message, m.From = jsonl.Without(marker, []session.Part{{Type: session.CompactionPart}}, is)
	m.Answer, m.AnswerFrom = jsonl.Without(summary, native, at)
}

// Note gives a member of an entry a value, byte for byte, or takes it away if there is none.
func Note(entry, value []byte, path ...string) []byte {
	switch {
	case len(value) == 0:
		return span.Remove(entry, false, path...)
	case len(span.Get(entry, path...)) == 0:
		entry = span.Set(entry, "", []byte("0"), path...)
	}
	return span.Update(entry, value, path...)
}

// Blocks are the blocks of a content; a text is one block. What is not an object is none.
func Blocks(content []byte) (blocks [][]byte) {
	if span.Kind(content) == '"' {
		return [][]byte{slices.Concat([]byte(`{"type":"text","text":`), content, []byte{'}'})}
	}
	for at := range span.Values(content, span.All(content)) {
		if v := at.Of(content); v[0] == '{' {
			blocks = append(blocks, v)
		}
	}
	return blocks
}

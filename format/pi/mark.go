package pi

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// mark is the member "winnow" of an entry: what the product's own members cannot say. The product
// keeps it and never looks at it.
type mark struct {
	// Session is set in the header of a file that was written for a session from elsewhere: the
	// session without its messages.
	Session *session.Session `json:"session,omitzero"`

	// Message is the message that the entry was written for. What the entry itself says is left out
	// of it.
	Message *session.Message `json:"message,omitzero"`
	// From holds, for each part of Message, the position among the parts that the entry and those
	// that continue it give when they are read alone, -1 for a part that they do not have.
	From []int `json:"from,omitzero"`
	// Of is the id of the message that the entry continues: one message may need several entries.
	Of string `json:"of,omitzero"`

	// Answer and AnswerFrom are Message and From of the summary, in a compaction entry.
	Answer     *session.Message `json:"answer,omitzero"`
	AnswerFrom []int            `json:"answerFrom,omitzero"`
	// Cuts are the lengths of the parts, in bytes, that the summary of a compaction entry is joined
	// of by blank lines; empty if it is one part.
	Cuts []int `json:"cuts,omitzero"`

	// Elisions are the committed elisions of what the entry holds, Original is the value that they
	// replaced: of the member message, content or summary, as it was read.
	Elisions []elided       `json:"elisions,omitzero"`
	Original jsontext.Value `json:"original,omitzero"`
}

// elided is an elision with its place: ids of parts change when the product rewrites an old file.
type elided struct {
	rule.Elision `json:"elision"`
	// Index is the position of the part in its message; for a tool result it means nothing.
	Index int `json:"index"`
	// Answer is set when the part is in the summary of a compaction entry, not in its marker.
	Answer bool `json:"answer,omitzero"`
	// Order is the position in the ledger.
	Order int `json:"order"`
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

func (m *mark) empty() bool {
	return m.Session == nil && m.Message == nil && m.Of == "" && m.Answer == nil &&
		len(m.Elisions) == 0 && len(m.Original) == 0
}

// pieces cuts a summary into the parts that it was joined of; one that was changed since stays
// whole.
func pieces(summary string, cuts []int) []string {
	var found []string
	rest := summary
	for i, n := range cuts {
		if i > 0 {
			var ok bool
			if rest, ok = strings.CutPrefix(rest, "\n\n"); !ok {
				return []string{summary}
			}
		}
		if n < 0 || n > len(rest) {
			return []string{summary}
		}
		found = append(found, rest[:n])
		rest = rest[n:]
	}
	if rest != "" || len(found) == 0 {
		return []string{summary}
	}
	return found
}

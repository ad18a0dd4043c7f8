package codex

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/span"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

// mark is the value of the member "winnow" of a line: what the product has no words for.
type mark struct {
	Version int `json:"v"`

	// Elisions of what the line holds, and the line's payload from before them. Type is the line's
	// type from before, if all of the line was withdrawn.
	Elisions []elided       `json:"elisions,omitzero"`
	Original jsontext.Value `json:"original,omitzero"`
	Type     string         `json:"type,omitzero"`

	// Messages of the log that the line's payload does not give: a marker and its summary on a
	// compacted line, and on lines of our own type what the product has no items for.
	Messages []session.Message `json:"messages,omitzero"`

	// Message is a message of the log that the items of this line and the lines that follow give;
	// the texts that the items hold are left out of it. Of is the message's id on the lines that
	// follow.
	Message *session.Message `json:"message,omitzero"`
	Of      string           `json:"of,omitzero"`
	// Parts says which part of the message each content element of the item is; of a call or a
	// result, the one part.
	Parts []int `json:"parts,omitzero"`

	// Pivot is the marker that a line was written with that does not belong to a message.
	Pivot string `json:"pivot,omitzero"`
	// Info is the session, in rollouts that we began; Session what else was known about it.
	Info    *session.Info  `json:"info,omitzero"`
	Session jsontext.Value `json:"session,omitzero"`
}

// elided is an elision with its place in the order of the ledger.
type elided struct {
	rule.Elision
	At int `json:"at"`
}

func (m *mark) empty() bool {
	return len(m.Elisions) == 0 && len(m.Messages) == 0 && m.Message == nil && m.Info == nil && m.Of+m.Pivot == ""
}

// on returns a line with the mark as its member "winnow". The original payload goes in byte for
// byte, so that undoing an elision gives the line back as the product wrote it.
func (m *mark) on(line []byte) ([]byte, error) {
	flat := *m
	flat.Version, flat.Original = 1, nil
	text, err := json.Marshal(&flat, session.ReadOptions(), jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, err
	}
	if len(m.Original) > 0 {
		text = span.Set(text, "", m.Original, "original")
	}
	return span.Set(line, "", text, oursType), nil
}

// place is where a part is in the file: the lines of a call and its result, or the line and content
// element of the rest.
type place struct {
	line    int32
	output  int32
	element int32
}

// Special elements: the part is the whole item, or no item of its line has it.
const (
	whole   = -1
	nowhere = -2
)

// native is the index that the reader leaves to the writer.
type native struct {
	lines  []line
	marks  map[int32]*mark
	places map[string]place // by part id
	owned  map[string][]int32
	next   int // place in the order of the ledger for what is committed next
	mode   mode
}

// mode is how the file's lines are written.
type mode struct {
	ordinals bool
	last     int64 // the newest ordinal
}

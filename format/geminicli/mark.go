package geminicli

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// marks is the member "winnow" of a line that is ours, which the product does not look at.
type marks struct {
	// Elisions are all that count from the line on, in a line that lists what the model is sent.
	Elisions []rule.Elision `json:"elisions,omitzero"`
	// Message is the message that the line was written for; in a list that begins with a summary
	// its marker, and Summary the summary.
	Message *session.Message `json:"message,omitzero"`
	Summary *session.Message `json:"summary,omitzero"`
}

// readMarks reads the member; one that is not understood is as if it were not there.
func readMarks(value jsontext.Value) *marks {
	m := entries.ReadMark[marks](value)
	if m == nil || m.Message != nil && m.Message.ID == "" ||
		m.Summary != nil && (m.Message == nil || m.Message.Marker() == nil || !m.Summary.IsSummary()) {
		return nil
	}
	return m
}

// on is a line with these marks.
func (m *marks) on(line []byte) ([]byte, error) {
	value, err := json.Marshal(m, session.ReadOptions())
	if err != nil {
		return nil, err
	}
	return span.Set(line, "", value, "winnow"), nil
}

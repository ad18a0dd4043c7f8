package report

import (
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
)

// Instruction is a sentence that was taken for a lasting wish of the user.
type Instruction struct {
	// Number is its place among all that were found, from 1, dismissed ones included: it stays the
	// same while messages are appended.
	Number int    `json:"number"`
	Text   string `json:"text"` // the sentence, verbatim
	// Preference is set for a wish ("I prefer"), not for a rule ("never").
	Preference bool   `json:"preference"`
	Message    string `json:"message"` // ids of where it was said first
	Part       string `json:"part"`
	// Dismissed says that it is not an instruction: it is neither carried over nor given to a
	// summariser as one.
	Dismissed bool `json:"dismissed"`
}

// Instructions lists what was taken for an instruction, oldest first, the dismissed ones included.
func Instructions(s *Session) ([]Instruction, error) {
	return InstructionsOf(s.Log, s.State.Dismissed), nil
}

// InstructionsOf does the same for a log. dismissed holds the keys (recall.Key) of those that were
// dismissed.
func InstructionsOf(log []session.Message, dismissed map[string]bool) []Instruction {
	found := recall.Constraints(log)
	all := make([]Instruction, len(found))
	for i, c := range found {
		all[i] = Instruction{
			Number: i + 1, Text: c.Text, Preference: c.Preference, Message: c.MessageID, Part: c.PartID,
			Dismissed: dismissed[recall.Key(c.Text)],
		}
	}
	return all
}

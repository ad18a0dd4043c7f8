package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Instruction is a sentence that was taken for a lasting wish of the user.
type Instruction struct {
	// The number for "winnow protect --dismiss": its place in the list of all detected
	// instructions, from 1. It does not change when messages are appended.
	Number int    `json:"number"`
	Text   string `json:"text"` // the sentence, verbatim, on one line
	// Whether it is a preference, such as "I prefer tabs", not a rule, such as "never use tabs".
	Preference bool   `json:"preference"`
	Message    string `json:"message"` // id of the message in which it was said first
	Part       string `json:"part"`    // id of the part in which it was said first
	// Whether it was dismissed: it is neither carried over nor passed to a summariser as an
	// instruction.
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

// InstructionNamed finds an instruction by its number, its words, or a piece of them that no other
// has.
func InstructionNamed(all []Instruction, name string) (Instruction, error) {
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 1 && n <= len(all) {
			return all[n-1], nil
		}
		return Instruction{}, fmt.Errorf("there is no instruction %d", n)
	}
	key := recall.Key(name)
	var having []Instruction
	for _, c := range all {
		switch its := recall.Key(c.Text); {
		case its == key && key != "":
			return c, nil
		case key != "" && strings.Contains(" "+its+" ", " "+key+" "):
			having = append(having, c)
		}
	}
	switch len(having) {
	case 1:
		return having[0], nil
	case 0:
		return Instruction{}, fmt.Errorf("there is no instruction %q", name)
	}
	return Instruction{}, fmt.Errorf("%d instructions say %q", len(having), name)
}

// InstructionList says which instructions there are, for an error.
func InstructionList(all []Instruction) string {
	const most = 8
	if len(all) == 0 {
		return "none was found in this session"
	}
	var names []string
	for _, c := range all[:min(len(all), most)] {
		names = append(names, fmt.Sprintf("%d %q", c.Number, rule.Shorten(c.Text, 60)))
	}
	text := "there are: " + strings.Join(names, ", ")
	if n := len(all) - most; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

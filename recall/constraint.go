// Package recall collects from a log what must not be forgotten: the user's instructions, open
// todos, the state of files, unresolved errors, loaded instruction files, and the question that
// waits for an answer. Package call tells it what the tools did. Everything comes from the log, in
// its order; nothing is guessed.
package recall

import (
	"strings"

	"github.com/winnowhq/winnow/session"
)

// Constraint is an instruction: a sentence in which the user said how the work is to be done,
// whatever the task.
type Constraint struct {
	Text string // the sentence, word for word, on one line
	// Preference is set for a wish ("I prefer"), not for a rule ("never").
	Preference        bool
	MessageID, PartID string
}

// tooLong is the size in bytes above which a sentence is a pasted text, not a rule.
const tooLong = 400

// Constraints returns the user's instructions, oldest first, each once. They are recognised by the
// words with which people make rules in English, German, French and Spanish; several other
// languages are covered for the plainest rules.
func Constraints(messages []session.Message) []Constraint {
	var found []Constraint
	seen := map[string]bool{}
	for i := range messages {
		m := &messages[i]
		if !m.Written() {
			continue
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.TextPart || p.Synthetic || p.Ignored || p.Text == "" {
				continue
			}
			for _, s := range Sentences(rejoined(typed(Prose(p.Text)))) {
				rule, preference := Standing(s)
				if !rule && !preference {
					continue
				}
				key := Key(s)
				if seen[key] {
					continue
				}
				seen[key] = true
				found = append(found, Constraint{Text: s, Preference: !rule, MessageID: m.ID, PartID: p.ID})
			}
		}
	}
	return found
}

// Key identifies a sentence: its words in lower case, without punctuation. Two instructions with
// one key are the same.
func Key(sentence string) string { return strings.Join(words(sentence), " ") }

// Without returns the instructions whose Key is not dismissed. Its argument is not changed.
func Without(found []Constraint, dismissed map[string]bool) []Constraint {
	if len(dismissed) == 0 {
		return found
	}
	var stand []Constraint
	for _, c := range found {
		if !dismissed[Key(c.Text)] {
			stand = append(stand, c)
		}
	}
	return stand
}

// Package recall answers: what must not be forgotten? It finds in a log what its continuation
// depends on: standing wishes of the user, open todos, the state of files, errors that nobody has
// resolved, instructions that were loaded, and the question that waits for an answer. Package call
// tells it what the tools did.
//
// Everything is taken from the log alone and in its order; nothing is guessed beyond it.
package recall

import (
	"strings"

	"github.com/winnowhq/winnow/session"
)

// Constraint is a sentence in which the user said how the work is to be done, whatever the task.
type Constraint struct {
	Text string // the sentence, word for word; one that was broken into lines stands on one
	// Preference is set for a wish ("I prefer"), not for a rule ("never").
	Preference        bool
	MessageID, PartID string
}

// tooLong is the size in bytes above which a sentence is a pasted text, not a rule.
const tooLong = 400

// Constraints are the standing wishes that the user stated, oldest first, each once. They are found
// by the words with which rules are made in English, German, French, Spanish and, for the plainest
// of them, in several other languages.
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

// Key is what a sentence is known by: its words in lower case, without punctuation. Two constraints
// with one key are one.
func Key(sentence string) string { return strings.Join(words(sentence), " ") }

// Without leaves out the constraints whose Key is dismissed. What is handed in stays as it is.
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

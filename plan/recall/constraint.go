// Package recall collects from a log what must not be forgotten: the user's instructions, open
// todos, the state of files, unresolved errors, loaded instruction files, and the question that
// waits for an answer. Package call tells it what the tools did. Everything comes from the log, in
// its order; nothing is guessed.
package recall

import (
	"slices"
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
	// Since is a later sentence of the user's that takes it back or replaces it, "" if it holds.
	Since string
}

// tooLong is the size in bytes above which a sentence is a pasted text, not a rule.
const tooLong = 400

// Constraints returns the user's instructions, oldest first, each once. They are recognised by the
// words with which people make rules in English, German, French and Spanish; several other
// languages are covered for the plainest rules. A sentence that takes one back is an instruction
// itself. Instructions that a carry-over hands on from a past that the log does not have come
// first, word for word.
func Constraints(messages []session.Message) []Constraint { return new(Texts).Constraints(messages) }

// Constraints is the function of that name, with what was read before.
func (t *Texts) Constraints(messages []session.Message) []Constraint {
	var heard instructions
	for _, at := range Handed(messages) {
		text, p := handedText(messages, at)
		for _, c := range read(text, messages[at[0]].ID, p.ID).Rules {
			s := userSentence{text: c.Text, message: at[0], part: at[1]}
			if k := heard.add(messages, s, handed); k.Since == "" {
				k.Since = c.Since
			}
		}
	}
	said := t.userSentences(messages)
	for i, s := range said {
		if v := t.judge(s.text); v.rule || v.preference {
			k := heard.add(messages, s, i)
			if k.Preference = !v.rule; !s.quoted {
				k.Since = "" // said again
			}
		}
	}
	heard.revoke(t, messages, said)
	var found []Constraint
	for i := range heard.all {
		found = append(found, heard.all[i].Constraint)
	}
	return found
}

// instructions are those of a conversation, in the order in which they were first given.
type instructions struct{ all []instruction }

type instruction struct {
	Constraint
	key           string
	first, newest int // positions of the sentences that give it
}

// handed is the position of instructions that a carry-over hands on.
const handed = -1

// add adds an instruction, or notes that it was given again at the position i.
func (h *instructions) add(messages []session.Message, s userSentence, i int) *instruction {
	key := Key(s.text)
	for n := range h.all {
		if h.all[n].key == key {
			h.all[n].newest = max(h.all[n].newest, i)
			return &h.all[n]
		}
	}
	m := &messages[s.message]
	n := len(h.all)
	for n > 0 && h.all[n-1].first > i {
		n--
	}
	h.all = slices.Insert(h.all, n, instruction{key: key, first: i, newest: i,
		Constraint: Constraint{Text: s.text, MessageID: m.ID, PartID: m.Parts[s.part].ID}})
	return &h.all[n]
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

package recall

import (
	"strings"
	"unicode"

	"github.com/winnowhq/winnow/session"
)

// Remark is a sentence of the user's that does not look like an instruction. Nobody can guess a
// path, a command, the name of a machine or a figure in it.
type Remark struct {
	Text              string // word for word, on one line
	Task              bool   // it asks for something to be done
	Names             int    // how many of these it has
	Message           int    // the position of its message
	MessageID, PartID string
}

// Remarks returns the remarks of the user, oldest first, each sentence once: "Ann owns api/v2, Ben
// owns web", "staging has port 5433". Questions, pasted text and instructions are left out.
func Remarks(messages []session.Message) []Remark { return new(Texts).remarks(messages) }

func (t *Texts) remarks(messages []session.Message) []Remark {
	var all []Remark
	seen := map[string]bool{}
	for _, s := range t.userSentences(messages) {
		if len(s.text) > tooLong || question(s.text) {
			continue
		}
		if v := t.judge(s.text); v.rule || v.preference || seen[s.text] {
			continue
		}
		seen[s.text] = true
		m := &messages[s.message]
		all = append(all, Remark{Text: s.text, Task: task(s.text), Names: unguessable(s.text),
			Message: s.message, MessageID: m.ID, PartID: m.Parts[s.part].ID})
	}
	return all
}

// userSentence is a sentence that the user wrote.
type userSentence struct {
	text          string
	message, part int  // positions
	quoted        bool // a carry-over quotes it
}

// userSentences are what the user wrote, without what others wrote into it.
func (t *Texts) userSentences(messages []session.Message) []userSentence {
	var all []userSentence
	for i := range messages {
		m := &messages[i]
		if !m.Written() {
			continue
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.TextPart || p.Synthetic || p.Ignored || p.Text == "" || HandedOn(p.Text) {
				continue
			}
			note, _ := p.Note()
			for _, s := range t.sentences(p.Text, true) {
				all = append(all, userSentence{s, i, j, note.Carry})
			}
		}
	}
	return all
}

// unguessable counts the names and figures of a sentence that cannot be guessed.
func unguessable(sentence string) int {
	names := 0
	for i, span := range strings.Split(sentence, "`") {
		if i%2 == 1 {
			names++
			continue
		}
		for _, w := range strings.Fields(span) {
			if w = strings.Trim(w, ".,;:!?()[]\"'*"); hard(w) || len(w) > 1 && isValue(w) {
				names++
			}
		}
	}
	return names
}

// hard reports whether a word is a path or a name that is written in no other way.
func hard(word string) bool {
	if len(word) < 3 || strings.Contains(word, "://") {
		return len(word) > 3
	}
	lower := false
	for i, r := range word {
		switch {
		case r == '_', (r == '/' || r == '.') && i > 0 && i < len(word)-1 && isLetter(word[i-1]) &&
			isLetter(word[i+1]) && !strings.EqualFold(word, "and/or"):
			return true
		case unicode.IsDigit(r) && i > 0:
			return true
		case unicode.IsUpper(r) && lower:
			return true
		}
		lower = unicode.IsLower(r)
	}
	return false
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// task reports whether a sentence asks for something to be done now, and so is done with it.
func task(sentence string) bool {
	for _, w := range strings.Fields(strings.ToLower(sentence)) {
		if w = strings.Trim(w, ".,;:!?()[]\"'*"); !joints[w] {
			return deeds[w] && w != "ask" || w == "next" || w == "can" || w == "could"
		}
	}
	return false
}

package recall

import (
	"slices"
	"strings"
	"unicode"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// revoke finds for each instruction the newest later sentence that takes it back or replaces it,
// and adds that sentence to the instructions: "You may change the migrations again", "From now on
// answer in German".
func (h *instructions) revoke(t *Texts, messages []session.Message, said []userSentence) {
	subjects := map[string]subject{} // by key
	for j, s := range said {
		v := t.judge(s.text)
		if !v.strong && !v.weak {
			continue
		}
		back, key := subjectOf(s.text, clauseOf(s.text)), Key(s.text)
		takes := false
		for i := range h.all {
			r := &h.all[i]
			if r.newest >= j || r.key == key || r.newest == handed && s.quoted {
				continue // a carry-over says itself what was taken back before it
			}
			of, known := subjects[r.key]
			if !known {
				of = subjectOf(r.Text, clauseOf(r.Text))
				subjects[r.key] = of
			}
			if back.takesBack(of, v.strong) {
				r.Since, takes = s.text, true
			}
		}
		if takes {
			h.add(messages, s, j)
		}
	}
}

// revokes reports whether a sentence has words that take something back, or words that permit
// something, and does not add to what was said.
func (c clause) revokes() (strong, weak bool) {
	if c.has("also", "too", "additionally", "auch", "zusätzlich", "aussi", "también", "anche") {
		return false, false
	}
	for i := range c.words {
		strong = strong || c.longest(revoking, i) > 0
		weak = weak || c.longest(permitting, i) > 0
	}
	return strong, weak
}

// subject is what an instruction is about: names that are written in no other way, other names, and
// the rest of its words.
type subject struct{ hard, names, frame []string }

func subjectOf(sentence string, c clause) subject {
	var s subject
	for i, span := range strings.Split(sentence, "`") {
		if i%2 == 1 && span != "" {
			s.hard = append(s.hard, strings.TrimSpace(span))
			continue
		}
		for n, w := range strings.Fields(span) {
			w = strings.Trim(w, ".,;:!?()[]\"'*")
			first := []rune(w + " ")[0]
			switch {
			case hard(w) || len(w) > 1 && isValue(w):
				s.hard = append(s.hard, w)
			case unicode.IsUpper(first) && len(w) > 2 && (i > 0 || n > 0) && strings.ToUpper(w) != w &&
				content(strings.ToLower(w)):
				s.names = append(s.names, strings.ToLower(w))
			}
		}
	}
	for _, w := range c.words {
		if content(w) && !slices.Contains(s.names, w) && len(revoking[w]) == 0 && len(rules[w]) == 0 {
			s.frame = append(s.frame, w)
		}
	}
	return s
}

// takesBack reports whether a sentence that takes something back, or only permits something, is
// about the same as an instruction: it has one of its names or, if it is said with the same words,
// another one.
func (s subject) takesBack(of subject, strong bool) bool {
	if len(of.hard) > 0 {
		return shared(of.hard, s.hard) > 0
	}
	frame := shared(of.frame, s.frame)
	if shared(of.names, s.names) > 0 {
		return strong || frame > 0
	}
	return strong && frame > 0 && frame == len(of.frame) && (frame > 1 || len(of.names) > 0 && len(s.names) > 0)
}

// shared counts the words of one list that the other has.
func shared(of, have []string) (n int) {
	for _, w := range of {
		if slices.Contains(have, w) {
			n++
		}
	}
	return n
}

// Revoked lists the later sentences that took back instructions which a text still gives.
func Revoked(text string, found []Constraint) []string {
	var notes []string
	for i := range found {
		c := &found[i]
		if c.Since == "" || strings.Contains(text, c.Since) {
			continue
		}
		note := "\"" + c.Since + "\""
		if strings.Contains(text, call.Beginning(c.Text, recognised)) && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// recognised is how many bytes of an instruction are enough to know it by in a text that was cut.
const recognised = 60

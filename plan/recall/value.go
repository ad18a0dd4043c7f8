package recall

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// Value is something with an agreed value: a port, a limit, a version, a name, or which of two
// things is used.
type Value struct {
	// Name says what the value is of, in the words of the newest sentence; "" if one thing replaces
	// another without a name for both ("Redis instead of Memcached").
	Name string
	// Now is the newest value; Was holds the older ones, oldest first, without a value that came
	// back.
	Now string
	Was []string
	// Text is the sentence that states it last, and Message the position of its message.
	Text    string
	Message int
	// User is set if the user stated it, now or earlier.
	User bool
	// Times counts the sentences that state it.
	Times int

	words []string // of Name, in lower case and in order of the alphabet
}

// Values returns the values agreed on in a conversation, in the order of first mention. They are
// recognised by how sentences state them: "the port is 8080", "Zeitlimit: 30 s", "8080 au lieu de
// 7070".
func Values(messages []session.Message) []Value { return new(Texts).values(messages) }

func (t *Texts) values(messages []session.Message) []Value {
	v := valued{texts: t}
	for i := range messages {
		m := &messages[i]
		if m.IsSummary() || m.Role == session.User && !m.Written() {
			continue
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.TextPart || p.Synthetic || p.Ignored || p.Text == "" {
				continue
			}
			for _, s := range t.sentences(p.Text, m.Role == session.User) {
				if len(s) > tooLong || strings.HasSuffix(s, "?") {
					continue
				}
				v.hear(s, i, m.Role == session.User)
			}
		}
	}
	return v.all
}

// valued collects values as sentences state them.
type valued struct {
	texts *Texts
	all   []Value
}

func (v *valued) hear(sentence string, message int, user bool) {
	for _, s := range v.texts.stated(sentence) {
		if !user && !s.settles(sentence) {
			continue
		}
		v.take(s, sentence, message, user)
	}
}

// take records a statement: a new value, the same again, or one that replaces another.
func (v *valued) take(s statement, sentence string, message int, user bool) {
	at := v.known(s)
	if at < 0 {
		v.all = append(v.all, Value{Name: s.name, words: s.words})
		at = len(v.all) - 1
	}
	k := &v.all[at]
	if k.Name == "" {
		k.Name, k.words = s.name, s.words
	}
	for _, old := range []string{s.old, k.Now} {
		if old != "" && old != s.now && !slices.Contains(k.Was, old) {
			k.Was = append(k.Was, old)
		}
	}
	k.Was = slices.DeleteFunc(k.Was, func(was string) bool { return was == s.now })
	k.Now, k.Text, k.Message, k.User = s.now, sentence, message, k.User || user
	k.Times++
}

// known returns the position of the value that a statement is about, or -1: the one
// that it replaces, else the newest of the same name, else the only one with more or fewer words.
// The port of staging is not that of production, and "the database port is 5432" says nothing of a
// port that was named without its database.
func (v *valued) known(s statement) int {
	exact, near, others := -1, -1, 0
	for i := len(v.all) - 1; i >= 0; i-- {
		k := &v.all[i]
		about, unnamed := s.about(k.words), len(s.words) == 0 || len(k.words) == 0
		switch {
		case s.old != "" && k.Now == s.old && (about || unnamed):
			return i
		case s.old != "" && k.Now == s.now && unnamed:
			exact = max(exact, i)
		case !about || s.old == "" && !alike(s.now, k.Now):
		case slices.Equal(s.words, k.words):
			exact = max(exact, i)
		case s.old != "" || s.renewed || len(s.words) < len(k.words):
			near = max(near, i)
			others++
		}
	}
	if exact < 0 && (others == 1 || s.old != "") {
		return near
	}
	return exact
}

// alike reports whether two values can belong to one thing: both are figures of one unit, or
// neither is a figure.
func alike(a, b string) bool {
	unit := func(text string) (figure bool, unit string) {
		rest := strings.TrimLeft(text, "$€£v0123456789.,_")
		return rest != text, sized(strings.ToLower(strings.TrimSpace(rest)))
	}
	af, au := unit(a)
	bf, bu := unit(b)
	return af == bf && (!af || au == bu || au == "" || bu == "")
}

// sized returns what a unit measures, so that sizes and times compare across units.
func sized(unit string) string {
	switch {
	case unit == "":
		return ""
	case unit[0] == '-' || unit[0] == '.' || unit[0] == ':':
		return ""
	case strings.HasSuffix(unit, "b") && len(unit) <= 3, strings.HasPrefix(unit, "byte"):
		return "size"
	}
	for _, of := range []string{"ms", "s", "sec", "min", "h", "hour", "day", "week", "month", "year", "sek", "stund",
		"tag", "woche", "heure", "jour", "hora", "día", "mes"} {
		if unit == of || len(of) > 2 && strings.HasPrefix(unit, of) {
			return "time"
		}
	}
	return unit
}

// Superseded lists the values in a text that are no longer the newest: "port: now 8080". A text
// that also gives the newest value needs no note.
func Superseded(text string, values []Value) []string {
	var notes []string
	var said []statement
	parsed := false
	for i := range values {
		k := &values[i]
		for _, was := range k.Was {
			if !hasWord(text, was) || hasWord(text, k.Now) {
				continue
			}
			if len(k.words) == 0 {
				notes = append(notes, k.Now+" instead of "+was)
				continue
			}
			if !parsed {
				for _, s := range Sentences(text) {
					said = append(said, stated(s)...)
				}
				parsed = true
			}
			if gives(said, k, was, text) {
				notes = append(notes, k.Name+": now "+k.Now)
			}
		}
	}
	return slices.Compact(notes)
}

// gives reports whether a text assigns an older value.
func gives(said []statement, k *Value, was, text string) bool {
	elsewhere := false
	for _, s := range said {
		if s.now != was && s.old != was {
			continue
		}
		if len(s.words) == 0 || s.about(k.words) {
			return true
		}
		elsewhere = true
	}
	if elsewhere {
		return false
	}
	lower := strings.ToLower(text)
	for _, w := range k.words {
		if !strings.Contains(lower, w) {
			return false
		}
	}
	return true
}

// about reports whether a statement is about the thing with these words: the same, or one is more
// specific.
func (s statement) about(words []string) bool {
	few, many := s.words, words
	if len(few) > len(many) {
		few, many = many, few
	}
	if len(few) == 0 {
		return false
	}
	for _, w := range few {
		if !slices.Contains(many, w) {
			return false
		}
	}
	return true
}

// hasWord reports whether a text has a value as a word of its own: 8080 does not contain 80, nor
// 1.2.3 the value 1.2.
func hasWord(text, value string) bool {
	for from := 0; value != ""; {
		at := strings.Index(text[from:], value)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(value)
		if !(at > 0 && joins(text[at-1], text, at-2)) && !(end < len(text) && joins(text[end], text, end+1)) {
			return true
		}
		from = at + 1
	}
	return false
}

// joins reports whether a byte next to a value makes it part of something longer; next is the
// position beyond that byte.
func joins(b byte, text string, next int) bool {
	switch {
	case b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || b >= 0x80 && b != 0xC2:
		return b < 0x80
	case b == '.' || b == ',' || b == '-':
		return next >= 0 && next < len(text) && text[next] >= '0' && text[next] <= '9'
	}
	return false
}

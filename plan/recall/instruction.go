package recall

import (
	"slices"
	"strings"
	"unicode"

	"github.com/winnowhq/winnow/plan/call"
)

// Instruction reports whether a sentence states a rule or a preference. Questions, quoted text,
// reports of what always or never happens, and rules for a single task are neither.
func Instruction(sentence string) (rule, preference bool) {
	if len(sentence) > tooLong || len(sentence) < 6 {
		return false, false
	}
	sentence = withoutTag(strings.TrimSpace(sentence))
	asks := question(sentence)
	if !asks && call.ContainsAny(sentence, unspaced...) {
		return true, false
	}
	c := clauseOf(sentence)
	if len(c.words) < 2 || len(c.words) > 70 {
		return false, false
	}
	if asks {
		return c.politely(), false
	}
	for i := 0; i < len(c.words); i++ {
		if n := c.longest(innocent, i); n > 0 {
			i += n - 1
			continue
		}
		if c.longest(wishes, i) > 0 {
			preference = true
		}
		if n := c.longest(rules, i); n > 0 {
			rule = rule || c.meant(i, n)
			i += n - 1
		}
	}
	switch {
	case rule:
	case c.whenever(), c.without(), c.bound(), c.alone(), c.asked(), c.custom(), c.condition(), c.given(), c.nothing(),
		c.demanded(), c.contrasted():
		rule = true
	case len(c.words) <= 10:
		r, p := c.short(sentence)
		rule, preference = r, preference || p
	}
	return rule, preference
}

// clause is a sentence as words in lower case, without quoted text.
type clause struct {
	words []string
	fresh []bool // a comma, a colon, a bracket or the like precedes this word
}

func clauseOf(sentence string) clause {
	var c clause
	fresh := true
	start := -1
	text := []rune(strings.ToLower(unquoted(sentence)))
	add := func(end int) {
		if start < 0 {
			return
		}
		word := strings.ReplaceAll(string(text[start:end]), "’", "'")
		if word = strings.Trim(word, "-_'"); word != "" {
			c.words, c.fresh = append(c.words, word), append(c.fresh, fresh)
			fresh = false
		}
		start = -1
	}
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'' || r == '’' || r == '-' || r == '_' {
			if start < 0 {
				start = i
			}
			if r == '-' && (i+1 == len(text) || text[i+1] == ' ') { // a dash
				add(i)
				fresh = true
			}
			continue
		}
		add(i)
		if r != ' ' && r != '*' {
			fresh = true
		}
	}
	add(len(text))
	// The number of an item means nothing.
	for len(c.words) > 1 && (len(c.words[0]) <= 2 && c.words[0][0] >= '0' && c.words[0][0] <= '9' ||
		len(c.words[0]) == 1 && c.fresh[1] && c.words[0] != "i") {
		c.words, c.fresh = c.words[1:], c.fresh[1:]
	}
	return c
}

var quotationMarks = []struct{ open, close string }{
	{"`", "`"}, {`"`, `"`}, {"“", "”"}, {"„", "“"}, {"«", "»"}, {"「", "」"},
}

// unquoted removes text between backquotes, and between quotation marks if it has more than one
// word. An unpaired mark stays.
func unquoted(sentence string) string {
	for _, marks := range quotationMarks {
		for from := 0; ; {
			at := strings.Index(sentence[from:], marks.open)
			if at < 0 {
				break
			}
			at += from
			inner, rest, ok := strings.Cut(sentence[at+len(marks.open):], marks.close)
			if !ok {
				break
			}
			if marks.open != "`" && !strings.Contains(inner, " ") {
				from = at + len(marks.open) + len(inner) + len(marks.close)
				continue
			}
			sentence = sentence[:at] + " x " + rest
			from = at + 3
		}
	}
	return sentence
}

// withoutTag removes a tag question: "Never push, ok?"
func withoutTag(sentence string) string {
	rest, ok := strings.CutSuffix(sentence, "?")
	if !ok {
		return sentence
	}
	at := strings.LastIndexAny(rest, ",.!")
	if at < 0 {
		return sentence
	}
	switch strings.ToLower(strings.TrimSpace(rest[at+1:])) {
	case "ok", "okay", "please", "alright", "got it", "understood", "clear", "ja", "klar", "verstanden", "d'accord",
		"compris", "vale", "entendido", "va bene", "good":
		return rest[:at] + "."
	}
	return sentence
}

func question(sentence string) bool {
	end := strings.TrimRight(sentence, "!.)\"'”» ")
	return strings.HasSuffix(end, "?") || strings.HasSuffix(end, "？") || strings.HasSuffix(end, "吗") ||
		strings.HasSuffix(end, "ですか")
}

// politely reports whether a question asks for a habit: "Could you please always run the tests?"
func (c clause) politely() bool {
	if !slices.Contains([]string{"can", "could", "would", "please", "will", "kannst", "könntest", "peux", "pourrais",
		"puedes", "podrías"}, c.words[0]) {
		return false
	}
	for i, w := range c.words[:min(9, len(c.words))] {
		switch w {
		case "always", "never", "immer", "niemals", "toujours", "siempre":
			return i > 0
		case "avoid", "refrain":
			return i <= 3
		}
	}
	return c.has("every", "each") && c.has("time", "make", "reply", "answer", "commit", "change")
}

// meant reports whether the n words of a rule at position i are meant as a rule in this sentence.
func (c clause) meant(i, n int) bool {
	before, next := "", ""
	if i > 0 {
		before = c.words[i-1]
	}
	if i+n < len(c.words) {
		next = c.words[i+n]
	}
	begins := i == 0 || c.fresh[i]
	switch w := c.words[i]; w {
	case "never", "always":
		switch {
		case n > 1:
			return true
		case before == "you" && i == 1 && (deeds[next] || commands[next]):
			return true
		case next == "" || reported(next) || states[before] || before == "you" && !c.has("must", "should"):
			return false
		case before == "it" || before == "this" || before == "that" || before == "they":
			return false
		}
		return true
	case "do", "don't", "dont":
		switch {
		case next == "want":
			return before == "i" || before == "we" || before == "you" || begins
		case next == "" || next == "i" || next == "you" || next == "we" || next == "they":
			return false
		case begins || i == 1 && !subjects[before]:
			return true
		case subjects[before]:
			return false
		}
		return joints[before] || deeds[next]
	case "avoid":
		return before != "to" && before != "can" && before != "could" && before != "would" ||
			i > 1 && (c.words[i-2] == "try" || c.words[i-2] == "want")
	case "make", "be", "ensure":
		return i <= 1 && !c.has("also", "too") ||
			c.has("any", "every", "each", "always", "never", "whenever", "all", "when", "if")
	case "should", "shouldn't":
		return !(c.words[n+i-1] == "never" && next == "happen") && !c.opines()
	case "must", "mustn't":
		return !c.opines() && before != "there" && before != "that"
	case "only":
		if n == 1 {
			return false
		}
		if c.words[i+1] == "the" {
			return deeds[before] || begins && len(c.words) <= 4
		}
	case "at", "no":
		if w == "at" && n == 2 && c.words[i+1] == "most" {
			return !states[before] && !c.has("has", "had", "was", "were")
		}
	case "mai":
		return c.has("non") || n > 1
	}
	return true
}

// opines reports whether the sentence states an opinion.
func (c clause) opines() bool {
	for i, w := range c.words[:min(6, len(c.words))] {
		switch w {
		case "think", "guess", "suppose", "assume", "feel", "believe", "suspect", "wonder", "seems", "glaube", "denke",
			"crois", "pense", "creo":
			return i > 0
		}
	}
	return false
}

// longest returns the number of words of the longest phrase that begins at word i.
func (c clause) longest(p phrases, i int) int {
	return p.longest(i, len(c.words), func(k int) string { return c.words[k] })
}

func (c clause) has(any ...string) bool {
	for _, w := range any {
		if slices.Contains(c.words, w) {
			return true
		}
	}
	return false
}

// reported reports whether the word after "never" or "always" tells what happens or happened.
func reported(w string) bool {
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") &&
		!slices.Contains([]string{"tests", "docs", "as", "https", "this", "types", "names"}, w) {
		return true
	}
	return len(w) > 4 && strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "eed") || states[w] ||
		slices.Contains([]string{"got", "went", "came", "did", "saw", "heard", "ran", "worked", "knew", "thought",
			"mind", "gonna"}, w)
}

// whenever reports whether a sentence says what to do each time something is done: "When you edit a
// file, …".
func (c clause) whenever() bool {
	w := c.words
	if len(w) < 5 || w[0] != "when" || !slices.Contains(c.fresh[2:], true) {
		return false
	}
	doing := strings.HasSuffix(w[1], "ing") && len(w[1]) > 4
	if w[1] != "you" && !doing {
		return false
	}
	for i, one := range w {
		switch one {
		case "done", "finished", "finish", "ready", "think", "satisfied", "i", "i'm", "my", "it", "fails", "crashes",
			"crashed", "error", "was", "were", "did", "got", "is", "are", "you're", "can", "get":
			return false
		}
		if i > 1 && c.fresh[i] && !subjects[one] {
			return !slices.Contains([]string{"the", "a", "an", "nothing", "there", "everything", "some", "all"}, one)
		}
	}
	return false
}

// without reports whether a last clause forbids something: "Use the standard library, no new
// modules."
func (c clause) without() bool {
	for i := len(c.words) - 2; i > 0 && i >= len(c.words)-6; i-- {
		if c.words[i] == "no" && (c.fresh[i] || c.words[i-1] == "so" || c.words[i-1] == "but") && !c.fresh[i+1] {
			return !noRule[c.words[i+1]] && !noStatus[c.words[len(c.words)-1]] &&
				!slices.ContainsFunc(c.words[i:], func(w string) bool { return states[w] })
		}
	}
	return false
}

// short recognises rules and preferences that only short sentences express without a rule word.
func (c clause) short(sentence string) (rule, preference bool) {
	next := c.words[1]
	switch c.words[0] {
	case "no":
		// A rule is "No new files."; "No idea.", headings and what forms say are not.
		return !c.fresh[1] && !noRule[next] && !noStatus[c.words[len(c.words)-1]] && !titled(sentence), false
	case "kein", "keine", "keinen":
		return next != "ahnung" && next != "problem" && next != "sorge", false
	case "pas", "aucun", "aucune":
		return (c.words[0] != "pas" || next == "de" || next == "d'autres") && next != "souci" && next != "problème" &&
			next != "idée" && !c.has("souci", "problème"), false
	case "sin", "ningún", "ninguna":
		return next != "problema" && next != "duda" && next != "embargo", false
	case "keep":
		return false, next != "going" && next != "on" && next != "trying" && next != "working" && next != "at" &&
			next != "them"
	case "i":
		return false, (next == "like" || next == "love") && len(c.words) > 3 && !slices.Contains([]string{"the", "this",
			"that", "it", "how", "your", "these", "those", "where", "what"}, c.words[2])
	case "stop":
		return strings.HasSuffix(next, "ing") && next != "doing" && next != "being" && next != "thinking", false
	case "only", "nur":
		return c.words[0] == "nur" || !slices.Contains([]string{"the", "one", "two", "three", "a", "an", "some", "few",
			"problem", "thing", "issue", "this", "that", "then", "because", "i", "then"}, next) &&
			!unicode.IsDigit([]rune(next)[0]), false
	case "and":
		return next == "only", false
	}
	return false, false
}

// titled reports whether a sentence is written like a heading: capitals, and no full stop.
func titled(sentence string) bool {
	fields := strings.Fields(sentence)
	if len(fields) < 3 || strings.ContainsAny(sentence[len(sentence)-1:], ".!") {
		return false
	}
	for _, f := range fields[1:] {
		if first := []rune(f)[0]; !unicode.IsUpper(first) {
			return false
		}
	}
	return strings.ToUpper(sentence) != sentence
}

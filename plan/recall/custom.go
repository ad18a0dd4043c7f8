package recall

import (
	"slices"
	"strings"
	"unicode"
)

// This file recognises rules that are given without a word such as "always" or "never".

// bound reports whether a sentence sets a bound: "Keep every file below 300 lines", "no function
// longer than a screen".
func (c clause) bound() bool {
	for i := 1; i < len(c.words); i++ {
		if c.longest(bounds, i) == 0 || !slices.ContainsFunc(c.words[i:], figured) {
			continue
		}
		switch c.words[0] {
		case "a", "an", "each", "every": // a commit has at most ten files
			return kinds[c.words[1]] || kinds[c.words[1]+"s"]
		case "keep", "no", "stay", "limit", "halte", "halt", "kein", "keine", "garde", "gardez", "mantén", "ningún",
			"ninguna":
			return true
		}
	}
	return false
}

func figured(w string) bool { return unicode.IsDigit([]rune(w)[0]) || numerals[w] }

// alone reports whether a sentence says that something is to be left as it is: "Leave vendor
// alone", "the schema stays as it is".
func (c clause) alone() bool {
	for i, w := range c.words {
		switch w {
		case "leave", "let":
			end := slices.IndexFunc(c.words[i:], func(w string) bool { return w == "alone" || w == "untouched" || w == "be" })
			for k := i + 2; w == "leave" && end < 0 && k < len(c.words); k++ {
				if n := c.longest(untouched, k); n > 0 && k+n == len(c.words) || k+2 == len(c.words) &&
					c.words[k] == "in" && c.words[k+1] == "place" {
					end = k - i
				}
			}
			if end > 1 && end <= 12 && !slices.Contains(c.fresh[i+1:i+end+1], true) {
				return i == 0 || c.fresh[i] || joints[c.words[i-1]]
			}
		case "stays", "stay", "remains", "remain", "bleibt", "bleiben", "reste", "restent", "queda", "quedan":
			if i > 0 && i+1 < len(c.words) && c.longest(untouched, i+1) > 0 {
				return true
			}
		}
	}
	return false
}

// asked reports whether a sentence says that the user is to be asked first: "Ask me before you add
// a dependency".
func (c clause) asked() bool {
	for i := 0; i+2 < len(c.words) && i < 3; i++ {
		switch c.words[i] {
		case "ask", "tell", "check", "warn", "show", "let", "frag", "frage", "sag", "zeig", "demande", "demandez", "pregunta":
			return c.has("me", "us", "mich", "mir", "uns", "moi", "nous") &&
				c.has("before", "first", "bevor", "vorher", "zuerst", "avant", "antes")
		case "pregúntame", "avísame", "consúltame", "muéstrame", "demande-moi", "préviens-moi", "montre-moi", "dis-moi":
			return c.has("avant", "antes", "primero", "d'abord")
		}
	}
	return false
}

// custom reports whether a sentence says how things are done here: "Commit messages are written in
// the imperative", "Use British spelling in comments", "We use tabs here", "Every handler needs a
// test", "Führe vor jedem Commit die Tests aus".
func (c clause) custom() bool {
	w := c.words
	if len(w) < 3 || len(w) > 30 || c.opines() ||
		c.has("failing", "broken", "missing", "wrong", "red", "yesterday", "today") {
		return false
	}
	if c.language() {
		return true
	}
	for i := range w {
		if n := c.longest(occasions, i); n > 0 && (i > 0 || i+n < len(w)) {
			return true
		}
	}
	for len(w) > 3 && joints[w[0]] {
		w = w[1:]
	}
	if all, n := kindOf(w); all && n+1 < len(w) && styled(w[n], w[n+1]) {
		return true
	}
	last := w[len(w)-1]
	switch w[0] {
	case "use", "write", "name", "format", "spell", "indent", "prefix", "sort", "order", "put", "document":
		if last == "everywhere" || last == "throughout" {
			return true
		}
		// in all comments, not in the comments of one file
		for i := 2; i < len(w)-1; i++ {
			if w[i] == "in" || w[i] == "for" || w[i] == "of" {
				if all, n := kindOf(w[i+1:]); all && i+1+n == len(w) {
					return true
				}
			}
		}
	case "we", "here":
		if i := slices.IndexFunc(w[:min(3, len(w))], func(v string) bool { return habits[v] }); i > 0 {
			return c.has("here", "everywhere", "not") || w[0] == "here"
		}
	case "every", "each", "any":
		return slices.ContainsFunc(w[1:min(6, len(w))], func(v string) bool { return demanding[v] })
	case "nothing", "nobody", "no":
		return slices.ContainsFunc(w[1:], func(v string) bool {
			return v == "may" || v == "should" || v == "gets" || v == "goes" || v == "leaves"
		}) && !c.has("wrong", "happened", "happens")
	case "i":
		return len(w) > 3 && wanting[w[1]] &&
			(c.has("all", "every", "each", "no", "any", "always", "never") || c.longest(occasions, 2) > 0)
	case "in", "for":
		return len(w) > 5 && (w[1] == "this" || w[1] == "our") &&
			slices.Contains([]string{"project", "repo", "repository", "codebase", "team", "company", "house"}, w[2]) &&
			!c.has("i", "bug", "why", "there")
	}
	return false
}

// kindOf reports whether words begin with a kind of things that agents make, all of them: "commit
// messages", "tests", but not "the tests". n counts their words.
func kindOf(w []string) (is bool, n int) {
	for n < len(w) && n < 3 && (w[n] == "all" || w[n] == "new" || w[n] == "every" || qualities[w[n]] || kinds[w[n]]) {
		n++
	}
	return n > 0 && kinds[w[n-1]], n
}

// styled reports whether two words behind a kind of things say how they are to be, not how they are
// now.
func styled(verb, next string) bool {
	switch verb {
	case "are", "is":
		return strings.HasSuffix(next, "ed") && len(next) > 4 || strings.HasSuffix(next, "en") || next == "in" ||
			slices.Contains([]string{"kept", "put", "never", "always", "singular", "plural"}, next)
	}
	return verb == "start" || verb == "end" || verb == "use" || verb == "live" || verb == "go" || verb == "belong" ||
		verb == "begin" || verb == "stay" || verb == "follow" || verb == "get"
}

// language reports whether a sentence says in which language to write: "Answer in French".
func (c clause) language() bool {
	for i := 2; i < len(c.words); i++ {
		switch c.words[i-1] {
		case "in", "auf", "en":
			if languages[c.words[i]] && !c.has("was", "were", "is", "are", "came", "got") {
				return slices.ContainsFunc(c.words[:i-1], func(w string) bool { return speaking[w] })
			}
		}
	}
	return false
}

package recall

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// statement is what a sentence says about a value.
type statement struct {
	name     string   // as it is written
	words    []string // of the name, sorted
	now, old string   // old is set where the sentence says what it was
	firm     bool     // stated with a sign or a setting word, not by two adjacent words
	renewed  bool     // the sentence says that something changed
}

// stated finds what a sentence says about values: the name before or after the value, and the older
// value.
func stated(sentence string) []statement {
	words := pieces(sentence)
	var all []statement
	used := map[int]bool{}
	for i := range words {
		if !words[i].value || used[i] {
			continue
		}
		if s, other, ok := replaced(words, i); ok {
			used[i], used[other] = true, true
			all = append(all, s)
		}
	}
	for i := range words {
		if words[i].value && !used[i] && !denied(words, i) {
			if s, ok := named(words, i); ok {
				all = append(all, s)
			}
		}
	}
	all = append(all, swapped(words)...)
	renewed := slices.ContainsFunc(words, func(w word) bool { return renewing[w.lower] })
	for i := range all {
		all[i].renewed = renewed
	}
	return all
}

// replaced returns the statement in which a value replaces another one of the same sentence; other
// is the position of that one.
func replaced(words []word, i int) (s statement, other int, ok bool) {
	next := i + 1
	for next < len(words) && !words[next].value {
		next++
	}
	if next >= len(words) || next-i > 8 {
		return s, 0, false
	}
	between := words[i+1 : next]
	now, old := -1, -1
	switch {
	// 8080 instead of 7070; 8080, not 7070
	case contains(between, replacing) || denied(words, next) && len(between) <= 4:
		now, old = i, next
	case i > 0 && from[words[i-1].lower] && to[words[next-1].lower] && len(between) <= 3, denied(words, i) &&
		len(between) <= 4,
		// from 7070 to 8080; not 7070 but 8080; 7070 → 8080
		len(between) == 1 && between[0].sign && strings.ContainsAny(between[0].text, "→>"):
		now, old = next, i
	case len(between) <= 3 && contains(between, becoming) && changes(words[:i]): // replace 7070 with 8080
		now, old = next, i
	default:
		return s, 0, false
	}
	s = statement{now: words[now].text, old: words[old].text, firm: true}
	if s.now == s.old || unicode.IsDigit(rune(s.now[0])) != unicode.IsDigit(rune(s.old[0])) {
		return s, 0, false
	}
	start := min(i, next)
	if start > 0 && from[words[start-1].lower] || denied(words, start) {
		start--
	}
	s.name, s.words = before(words, start)
	if s.name == "" {
		s.name, s.words = behind(words, max(i, next))
	}
	return s, next, true
}

// named returns a value with its name.
func named(words []word, i int) (s statement, ok bool) {
	s.now = words[i].text
	j := i
	for j > 0 && (links[words[j-1].lower] || words[j-1].sign) && !words[j].fresh {
		j--
		s.firm = s.firm || words[j].sign || setting[words[j].lower]
	}
	bare := strings.TrimLeft(s.now, "v$€£<>=~")
	figure := bare != "" && bare[0] >= '0' && bare[0] <= '9'
	s.name, s.words = before(words, i)
	if s.name == "" {
		if s.name, s.words = behind(words, i); i+1 < len(words) && !asWords[words[i+1].lower] &&
			!strings.Contains(s.now, " ") {
			return s, false // "28 files": a count of them
		}
		s.firm = true
	} else if j == i && (!figure || len(s.now) < 2) {
		return s, false // "Step 3", "file x.go": nothing says that it is a value
	}
	if of := holder(words, i, s.words); of != "" && len(s.words) > 0 {
		s.name += " (" + of + ")"
		s.words = append(s.words, strings.ToLower(of))
		slices.Sort(s.words)
	}
	return s, len(s.words) > 0 && s.now != ""
}

// holder returns for whom or where a value holds: "on staging the port is 8080", "8080 for
// staging", "staging uses port 8080". name is what it is of.
func holder(words []word, i int, name []string) string {
	is := func(j int) bool {
		return j >= 0 && j < len(words) && !words[j].value && !words[j].sign && content(words[j].lower) &&
			!slices.Contains(name, words[j].lower) && !numbered[words[j].lower] && !measured[words[j].lower]
	}
	if j := i + 1; j < len(words) && placing[words[j].lower] && !words[j].fresh {
		for j++; j < len(words) && articles[words[j].lower]; j++ {
		}
		if is(j) {
			return words[j].text
		}
	}
	j := i - 1
	for j >= 0 && !words[j+1].fresh && (slices.Contains(name, words[j].lower) || joining[words[j].lower] ||
		links[words[j].lower] && !placing[words[j].lower]) {
		j--
	}
	switch {
	case j > 0 && using[words[j].lower] && is(j-1):
		return words[j-1].text
	case j > 0 && is(j) && placing[words[j-1].lower],
		j > 1 && is(j) && articles[words[j-1].lower] && placing[words[j-2].lower]:
		return words[j].text
	}
	return ""
}

// before returns the name before a value: up to three words, without the words that link them.
func before(words []word, i int) (name string, parts []string) {
	j := i
	for j > 0 && !words[j].fresh && (links[words[j-1].lower] || words[j-1].sign) {
		j--
	}
	end := j
	for j > 0 && end-j < 4 && !words[j].fresh {
		w := &words[j-1]
		if w.value || w.sign || strings.Contains(w.text, "/") {
			break
		}
		if joining[w.lower] && len(parts) > 0 {
			j--
			continue
		}
		if !content(w.lower) || len(parts) == 3 {
			break
		}
		parts = append(parts, w.lower)
		j--
	}
	for j < end && (joining[words[j].lower] || !content(words[j].lower)) {
		j++
	}
	if len(parts) == 0 || slices.ContainsFunc(parts, func(p string) bool { return numbered[p] }) {
		return "", nil
	}
	var texts []string
	for _, w := range words[j:end] {
		texts = append(texts, w.text)
	}
	slices.Sort(parts)
	return strings.Join(texts, " "), slices.Compact(parts)
}

// behind returns the name after a value: "8080 as the port", "a 45 s timeout".
func behind(words []word, i int) (name string, parts []string) {
	j := i + 1
	as := false
	for j < len(words) && !words[j].fresh &&
		(asWords[words[j].lower] || as && !content(words[j].lower) && !words[j].value) {
		as = true
		j++
	}
	var texts []string
	for j < len(words) && !words[j].fresh && !words[j].value && !words[j].sign && content(words[j].lower) &&
		!links[words[j].lower] && len(parts) < 2 {
		parts, texts = append(parts, words[j].lower), append(texts, words[j].text)
		j++
		if !as {
			break
		}
	}
	if len(parts) == 0 || slices.ContainsFunc(parts, func(p string) bool { return numbered[p] }) {
		return "", nil
	}
	slices.Sort(parts)
	return strings.Join(texts, " "), slices.Compact(parts)
}

// swapped finds names that replace others: "Redis instead of Memcached", "switch from npm to pnpm".
func swapped(words []word) []statement {
	var all []statement
	for i := 1; i < len(words)-1; i++ {
		n := longestAt(words, i, replacing)
		if n > 0 {
			now, old := thing(words, i-1, -1), thing(words, i+n, 1)
			if now != "" && old != "" && now != old {
				all = append(all, statement{now: now, old: old, firm: true})
			}
			continue
		}
		if from[words[i].lower] {
			for k := i + 2; k < len(words)-1 && k < i+5; k++ {
				if old, now := thing(words, i+1, 1), thing(words, k+1, 1); to[words[k].lower] && old != "" &&
					now != "" && old != now && changes(words[:i]) {
					all = append(all, statement{now: now, old: old, firm: true})
					break
				}
			}
		}
	}
	return all
}

// thing returns a capitalised name that is not a value. step is the direction of the search, which
// skips at most one article.
func thing(words []word, i, step int) string {
	for range 2 {
		if i < 0 || i >= len(words) || words[i].value {
			return ""
		}
		first, _ := utf8.DecodeRuneInString(words[i].text)
		if unicode.IsUpper(first) && (i > 0 || step > 0) && content(words[i].lower) && len(words[i].text) > 2 {
			return words[i].text
		}
		if content(words[i].lower) {
			return ""
		}
		i += step
	}
	return ""
}

func changes(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool {
		return slices.ContainsFunc(changing, func(c string) bool { return strings.HasPrefix(w.lower, c) })
	})
}

// settles reports whether an assistant's statement describes something lasting, not a measurement
// or a single observation.
func (s statement) settles(sentence string) bool {
	if s.old != "" {
		return true
	}
	small := len(s.now) == 1 && !strings.Contains(sentence, s.name+"=")
	return s.firm && !small && isValue(s.now) && !strings.ContainsAny(s.name, "'’") &&
		slices.ContainsFunc(s.words, func(w string) bool { return !measured[w] })
}

// denied reports whether a denying word precedes a value.
func denied(words []word, i int) bool {
	for j := i - 1; j >= 0 && j >= i-3; j-- {
		if denying[words[j].lower] {
			return true
		}
		if content(words[j].lower) && !links[words[j].lower] && !numbered[words[j].lower] {
			return false
		}
	}
	return false
}

func contains(words []word, all phrases) bool {
	for i := range words {
		if longestAt(words, i, all) > 0 {
			return true
		}
	}
	return false
}

// longestAt returns the number of words of the longest phrase that begins at word i.
func longestAt(words []word, i int, p phrases) int {
	return p.longest(i, len(words), func(k int) string { return words[k].lower })
}

// content reports whether a word can be part of a name.
func content(w string) bool {
	return utf8.RuneCountInString(w) > 1 && !links[w] && !joining[w] && !empty[w] && !denying[w] && !from[w] && !to[w]
}

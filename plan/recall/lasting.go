package recall

import (
	"slices"
	"strings"
)

// condition reports whether a sentence says what to do whenever something is the case: "If a step
// would delete rows, stop and ask", "Before you drop a table, show me the statement", "Stop when a
// test looks wrong". A condition that is met once, when the task is done, makes no rule.
func (c clause) condition() bool {
	w := c.words
	if len(w) < 5 || c.opines() {
		return false
	}
	if n := c.longest(conditions, 0); n > 0 {
		end := n + 1
		for end < len(w) && !c.fresh[end] {
			end++
		}
		if end == len(w) || end > 20 || slices.ContainsFunc(w[n:end], func(v string) bool { return onlyOnce[v] }) ||
			w[0] == "if" && (w[1] == "you" || w[1] == "u") && !c.doubtful() {
			return false
		}
		return c.imperative(end)
	}
	for i := 1; i < len(w) && c.imperative(0); i++ {
		if c.longest(recurring, i) > 0 {
			return true
		}
	}
	for i := 2; i < len(w)-2 && c.imperative(0); i++ {
		if n := c.longest(conditions, i); n > 0 && w[i] != "once" && w[i] != "while" {
			return w[i] == "unless" || !slices.ContainsFunc(w[i+n:], func(v string) bool { return onlyOnce[v] }) &&
				slices.ContainsFunc(w[i+n:min(i+n+3, len(w))], func(v string) bool {
					return v == "you" || v == "anything" || v == "any" || v == "necessary" || v == "needed" || v == "possible" ||
						v == "asked" || v == "told" || strings.HasSuffix(v, "ing")
				})
		}
	}
	return false
}

// doubtful reports whether a sentence is about the doubts of the one who works.
func (c clause) doubtful() bool {
	return c.has("unsure", "sure", "think", "need", "want", "notice", "see", "find", "add", "change", "touch", "delete",
		"create", "edit", "have") && !c.has("can", "can't", "cannot", "don't", "wouldn't")
}

// imperative reports whether a clause that begins at word i tells somebody to do something.
func (c clause) imperative(i int) bool {
	for i < len(c.words)-1 && c.words[i] != "you" &&
		(joints[c.words[i]] || c.words[i] == "always" || c.words[i] == "first") {
		i++
	}
	return deeds[c.words[i]] || commands[c.words[i]]
}

// given reports whether a sentence says what somebody who gives rules wants: "My manager insists
// that …", "The user prefers …".
func (c clause) given() bool {
	w := c.words
	for i := 0; i+1 < len(w) && i < 4; i++ {
		if !givers[strings.TrimSuffix(w[i], "'s")] || !giving[w[i+1]] {
			continue
		}
		if named := i > 0 && (w[i-1] == "my" || w[i-1] == "our"); w[i] == "user" || w[i] == "customer" || w[i] == "client" {
			return named || w[i+1] == "prefers" || w[i+1] == "insists" || w[i+1] == "hates" || w[i+1] == "likes"
		}
		return len(w) > 4
	}
	return false
}

// nothing reports whether a clause says what nothing and nobody may do: "nothing from it may end up
// in the logs".
func (c clause) nothing() bool {
	for i, w := range c.words[:max(0, len(c.words)-2)] {
		if w != "nothing" && w != "nobody" || i > 0 && !c.fresh[i] && !joints[c.words[i-1]] {
			continue
		}
		for _, v := range c.words[i+1 : min(i+7, len(c.words))] {
			switch v {
			case "happens", "happened", "changed", "works", "is", "was", "has", "wrong":
				return false
			case "may", "should", "must", "can", "goes", "gets", "leaves", "ends", "ships", "lands", "touches":
				return true
			}
		}
	}
	return false
}

// demanded reports whether a sentence says how all of a kind have to be: "Answers should be short",
// "the title has to follow the convention". That they should work, or should have, is no rule.
func (c clause) demanded() bool {
	w := c.words
	if len(w) < 4 || c.opines() || c.imperative(0) || c.has("pass", "passing", "green", "work", "fixed") {
		return false
	}
	for i := 1; i+1 < len(w); i++ {
		switch before := w[i-1]; {
		case (w[i] == "has" || w[i] == "have" || w[i] == "need" || w[i] == "needs" || w[i] == "ought") && w[i+1] == "to",
			w[i] == "should" && i+1 < len(w) && w[i+1] == "be" || w[i] == "should" && w[i+1] == "stay":
			if all, n := kindOf(w[:i]); all && n == i {
				return true
			}
			if w[i] == "has" || w[i] == "have" && i > 1 {
				return !subjects[before] && before != "you" && before != "to" && before != "would" && before != "may" &&
					before != "might" && before != "this" && before != "that" && before != "there" && before != "will"
			}
		}
	}
	return false
}

// contrasted reports whether a sentence says to do something in one way, not in another: "Commit as
// jo, not as root", "Speak up rather than changing the test", "Resolve conflicts in your files
// only".
func (c clause) contrasted() bool {
	w := c.words
	if len(w) < 4 || !c.imperative(0) {
		return false
	}
	for i := 2; i+1 < len(w); i++ {
		other := w[i] == "without" || w[i-1] == "rather" && w[i] == "than" || w[i-1] == "instead" && w[i] == "of"
		if w[i] == "not" && c.fresh[i] || other && strings.HasSuffix(w[i+1], "ing") {
			return true
		}
	}
	return w[len(w)-1] == "only"
}

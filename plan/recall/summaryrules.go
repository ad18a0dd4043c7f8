package recall

import (
	"slices"
	"strings"
)

// SummaryRules returns the constraints that a summary lists, and the instructions in its quotations
// of the user: the goal, and lines that name the user.
func SummaryRules(summary string) (all []Constraint) {
	heading := ""
	for line := range strings.Lines(summary) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			heading = strings.ToLower(line)
			continue
		}
		item, bullet := strings.CutPrefix(line, "- ")
		text, notes := SplitNotes(item)
		since := takenBack(notes)
		switch {
		case strings.Contains(heading, "constraint"):
			loaded := strings.HasPrefix(item, "Skill that was loaded: ") ||
				strings.HasPrefix(item, "Instructions that were read: ")
			if bullet && !loaded && !strings.HasSuffix(item, " left out)") {
				all = append(all, Constraint{Text: unmarkedQuote(text), Since: since})
			}
		case strings.Contains(heading, "goal"), strings.Contains(line, "user"):
			for _, s := range Sentences(strings.TrimPrefix(text, "> ")) {
				if _, said, ok := strings.Cut(s, ": \""); ok {
					s = said
				}
				s = strings.Trim(s, "\"")
				if rule, preference := Instruction(s); rule || preference {
					all = append(all, Constraint{Text: s, Since: since})
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(c Constraint) bool {
		return c.Text == "" || strings.HasSuffix(c.Text, "…") || len(c.Text) > tooLong // cut, or a pasted text
	})
}

// unmarkedQuote removes quotation marks around a text that has no others.
func unmarkedQuote(text string) string {
	if inner := strings.TrimSuffix(strings.TrimPrefix(text, "\""), "\""); !strings.Contains(inner, "\"") {
		return inner
	}
	return text
}

// has reports whether a rule is there.
func (l *Ledger) has(text string) bool {
	return slices.ContainsFunc(l.Rules, func(rule Constraint) bool { return Key(rule.Text) == Key(text) })
}

// knows reports whether a rule says what a text says: nearly all words of one of them are in the
// other, with the same names and figures, and both forbid or neither does. A model writes the same
// rule in other words each time.
func (l *Ledger) knows(text string) bool {
	of := contentOf(text)
	return slices.ContainsFunc(l.Rules, func(rule Constraint) bool {
		if strings.Contains(text, rule.Text) {
			return true
		}
		have := contentOf(rule.Text)
		n := shared(of, have)
		if n == 0 || 4*n < 3*min(len(of), len(have)) || forbids(text) != forbids(rule.Text) {
			return false
		}
		return !slices.ContainsFunc(strings.Fields(text), func(w string) bool {
			w = strings.Trim(w, ".,;:!?()[]\"'*`")
			return (hard(w) || len(w) > 0 && isValue(w)) && !strings.Contains(rule.Text, w)
		})
	})
}

// forbids reports whether a text has a word that denies.
func forbids(text string) bool {
	return slices.ContainsFunc(words(text), func(w string) bool {
		return denying[w] || w == "don't" || w == "dont" || w == "without" || w == "avoid" || w == "stop"
	})
}

func contentOf(text string) []string {
	return slices.DeleteFunc(words(text), func(w string) bool { return !content(w) })
}

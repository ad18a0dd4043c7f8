package offline

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/recall"
)

// standing returns the beginnings of what an earlier summary of this package said, by heading. The
// new summary is made from the log; this only tells which facts were worth a line before, so that
// they are not dropped for what is merely newer.
func standing(previous string) map[string][]string {
	s, ok := parse(previous)
	if !ok {
		return nil
	}
	stood := map[string][]string{}
	for heading, items := range s.sections {
		for _, it := range items {
			stood[heading] = append(stood[heading], beginning(it.text))
			if heading == headProgress && len(it.more) > 0 {
				stood[heading] = append(stood[heading], beginning(strings.TrimLeft(it.more[0], "> ")))
			}
		}
	}
	return stood
}

// beginning identifies an item from one summary to the next: by the path or command that it begins
// with, or by its first words.
func beginning(text string) string {
	if strings.HasPrefix(text, "`") {
		return "`" + first(text)
	}
	text = strings.ToLower(text)
	for _, label := range []string{"the assistant's last statement", "the statement before it", "reported", "then",
		"the user asked"} {
		if rest, ok := strings.CutPrefix(text, label); ok {
			if _, quoted, ok := strings.Cut(rest, ": "); ok {
				text = quoted
			}
		}
	}
	text = strings.TrimRight(strings.TrimSuffix(strings.Trim(text, "\" "), "…"), " ")
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "")
	}
	return text
}

// kept reports whether the last summary had this text below a heading.
func (f *facts) kept(heading, text string) bool {
	if len(f.stood[heading]) == 0 {
		return false
	}
	if strings.HasPrefix(text, "`") {
		return slices.Contains(f.stood[heading], beginning(text))
	}
	known := beginning(text)
	return slices.ContainsFunc(f.stood[heading], func(was string) bool {
		return was != "" && was[0] != '`' && strings.HasPrefix(known, was)
	})
}

// stays is the extra weight of an item that the last summary had: decisions and values are dropped
// last, outcomes of commands first.
var stays = map[string]int{headDecisions: 80, headFacts: 80, headDone: 60, headFiles: 40, headCommands: 25}

// settle adds weight to items that the last summary had, and notes which values in an item no
// longer hold.
func (f *facts) settle(s section) section {
	for i := range s.items {
		it := &s.items[i]
		if more := stays[s.heading]; more > 0 && f.kept(s.heading, it.text) {
			if s.heading == headDone && !strings.HasPrefix(it.text, "`") {
				more /= 2 // what was reported says less than what was done
			}
			it.weight += more
		}
		if s.heading == headFacts && strings.Contains(it.text, " (was ") {
			continue
		}
		text := it.text
		if len(it.more) > 0 {
			text += "\n" + strings.Join(it.more, "\n")
		}
		notes := append(recall.Superseded(text, f.values), recall.Revoked(text, f.rules)...)
		if len(notes) > 0 {
			it.note = since + line(strings.Join(notes, "; "), 400) + "]"
		}
	}
	return s
}

// since begins the note after an item of which something no longer holds.
const since = " [since then: "

// withoutNote removes such a note from a line that is read back.
func withoutNote(text string) string {
	if at := strings.LastIndex(text, since); at > 0 && strings.HasSuffix(text, "]") {
		return text[:at]
	}
	return text
}

// agreed lists the values agreed on, with what they were before.
func (f *facts) agreed() []item {
	var all []item
	for i := range f.values {
		v := &f.values[i]
		if v.Name == "" && len(v.Was) == 0 || v.Message >= len(f.log) && len(v.Was) == 0 {
			continue // what is said in the tail is visible there
		}
		text := line(v.Name, 80) + ": " + line(v.Now, 120)
		if v.Name == "" {
			text = line(v.Now, 80) + " instead of " + line(strings.Join(v.Was, ", "), 120)
		} else if len(v.Was) > 0 {
			text += " (was " + line(strings.Join(v.Was, ", "), 120) + ")"
		}
		it := item{text: text, weight: 36 + min(6, v.Times) + f.recent(min(v.Message, len(f.log)-1), 8)}
		if v.User {
			it.weight += 75 // what the user said goes before what was made of it
		} else {
			it.weight += 30
			it.text += ": " + quote(v.Text, 200)
		}
		if len(v.Was) > 0 {
			it.weight += 20
		}
		all = append(all, it)
	}
	return f.heaviest(headFacts, all, mostValues)
}

// told lists what the user said with names and figures in it that nobody can guess, as far as it is
// not among the values.
func (f *facts) told() []item {
	var all []item
	for _, t := range recall.Telling(f.log) {
		if t.Names == 0 {
			continue
		}
		if slices.ContainsFunc(f.values,
			func(v recall.Value) bool { return v.Text == t.Text && t.Names <= 1+len(v.Was) }) {
			continue
		}
		it := item{text: "The user said: " + quote(t.Text, 300), unless: line(t.Text, 300),
			weight: 110 + f.recent(t.Message, 12)}
		if t.Task {
			it.weight -= 90
		}
		all = append(all, it)
	}
	return f.heaviest(headFacts, all, mostTold)
}

// How many values, and sentences of the user's, are listed that the last summary did not list: a
// screenful.
const mostValues, mostTold = 24, 40

// heaviest keeps the heaviest items, at most the given number, and all that the last summary had,
// in their order.
func (f *facts) heaviest(heading string, items []item, most int) []item {
	if len(items) <= most {
		return items
	}
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return items[b].weight - items[a].weight })
	stay := make([]bool, len(items))
	for rank, i := range order {
		stay[i] = rank < most || f.kept(heading, items[i].text)
	}
	var left []item
	for i := range items {
		if stay[i] {
			left = append(left, items[i])
		}
	}
	return left
}

package offline

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/recall"
)

// beginnings returns those of all items, by heading.
func (s *summary) beginnings() map[string][]string {
	if s == nil {
		return nil
	}
	listed := map[string][]string{}
	for heading, items := range s.sections {
		for _, it := range items {
			listed[heading] = append(listed[heading], beginning(it.text))
			if heading == headProgress && len(it.more) > 0 {
				listed[heading] = append(listed[heading], beginning(strings.TrimLeft(it.more[0], "> ")))
			}
		}
	}
	return listed
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

// wasListed reports whether the last summary had this text below a heading.
func (f *facts) wasListed(heading, text string) bool {
	if len(f.listed[heading]) == 0 {
		return false
	}
	if strings.HasPrefix(text, "`") {
		return slices.Contains(f.listed[heading], beginning(text))
	}
	known := beginning(text)
	return slices.ContainsFunc(f.listed[heading], func(was string) bool {
		return was != "" && was[0] != '`' && strings.HasPrefix(known, was)
	})
}

// listedWeight is the extra weight of an item that the last summary listed: decisions and values
// are dropped last, outcomes of commands first.
var listedWeight = map[string]int{headDecisions: 80, headFacts: 80, headDone: 60, headFiles: 40, headCommands: 25}

// update adds weight to items that the last summary listed, and notes which values in an item no
// longer hold.
func (f *facts) update(s section) section {
	for i := range s.items {
		it := &s.items[i]
		if more := listedWeight[s.heading]; more > 0 && f.wasListed(s.heading, it.text) {
			if s.heading == headDone && !strings.HasPrefix(it.text, "`") {
				more /= 2 // a report says less than a change
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
		notes := append(recall.Superseded(text, f.Values), recall.Revoked(text, f.Rules)...)
		if len(notes) > 0 {
			it.note = recall.Since + line(strings.Join(notes, "; "), 400) + "]"
		}
	}
	return s
}

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
		stay[i] = rank < most || f.wasListed(heading, items[i].text)
	}
	var left []item
	for i := range items {
		if stay[i] {
			left = append(left, items[i])
		}
	}
	return left
}

package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/recall"
)

const (
	taskSize  = 1800 // bytes of the first request; a task with its background fits, a pasted file does not
	laterSize = 420  // bytes of each later request
	oldSize   = 160  // bytes of a request that ten newer ones followed
	laterMost = 30   // how many of them
	// newestMost is how many requests are dropped last: they say what the work is about now.
	newestMost = 4
)

// goal is the task in the user's own words: the first request as far as it fits, then what the user
// said after it.
func (f *facts) goal() section {
	s := section{heading: headGoal, must: true}
	first := true
	for _, it := range f.before.items(headGoal) {
		it.weight = 70
		if first {
			it.weight = 100
		}
		first = false
		s.items = append(s.items, it)
	}
	later := slices.DeleteFunc(slices.Clone(f.requests),
		func(r utterance) bool { return strings.HasPrefix(r.text, "/") && !strings.ContainsAny(r.text, " \n") })
	for first && len(later) > 1 && small(later[0].text) {
		later = later[1:] // a greeting is not the task
	}
	if first && len(later) > 0 {
		label := "The user asked:"
		if f.foreign != "" {
			label = "The task stands in the earlier summary below. Since then the user asked:"
		}
		it := item{text: label, weight: 100, more: block(later[0].text, taskSize)}
		if len(it.more) == 1 {
			it = item{text: label + " " + quote(later[0].text, taskSize), weight: 100}
		}
		s.items = append(s.items, it)
		later = later[1:]
	}
	if left := len(later) - laterMost; left > 0 {
		stand := slices.DeleteFunc(slices.Clone(later[:left]),
			func(r utterance) bool { return !f.wasListed(headGoal, r.text) })
		if left -= len(stand); left > 0 {
			s.add(58, fmt.Sprintf("(%d earlier requests left out)", left))
		}
		later = append(stand, later[len(later)-laterMost:]...)
	}
	for i, r := range later {
		size := laterSize
		if i < 6 { // the first of them shape the task
			size *= 2
		}
		it := item{text: "Then: " + quote(r.text, size), weight: 55 + 35*(i+1)/len(later)}
		if i < len(later)-newestMost { // its important parts are among the instructions and facts
			it.loose, it.weight = true, it.weight-25
		}
		if small(r.text) && r.asked == "" {
			if i < len(later)-1 {
				continue // "go on": only the newest one says where the work stands
			}
			it.weight = 55
		}
		if r.asked != "" && len(r.text) < 120 {
			it.text += ", in answer to " + quote(r.asked, 240)
		}
		s.items = append(s.items, it)
	}
	if f.before == nil {
		return s
	}
	return bounded(s)
}

// bounded limits what many pivots carry forward: the task and the newest requests stay, older ones
// are shortened.
func bounded(s section) section {
	if over := len(s.items) - 1 - laterMost; over > 0 {
		s.items = slices.Delete(s.items, 1, 1+over)
	}
	for i := 1; i < len(s.items)-10; i++ {
		if it := &s.items[i]; len(it.text) > oldSize+40 {
			it.text = clip(it.text, oldSize+40)
		}
	}
	return s
}

// small reports whether a request only tells the assistant to go on.
func small(text string) bool {
	text = strings.ToLower(strings.Trim(text, " .!\n"))
	return slices.Contains(goOn, text)
}

// constraints lists the user's instructions and the instruction files that were loaded.
func (f *facts) constraints() section {
	s := section{heading: headConstraints, must: true}
	seen := map[string]bool{}
	add := func(it item) {
		if key := strings.ToLower(strings.Trim(it.text, "\" ")); !seen[key] {
			seen[key] = true
			s.items = append(s.items, it)
		}
	}
	for _, it := range f.before.items(headConstraints) {
		if f.dismissed[recall.Key(it.text)] {
			continue
		}
		it.weight = 94
		add(it)
	}
	found := recall.Without(f.texts.Constraints(f.log), f.dismissed)
	for i, c := range found {
		// A rule does not fade: the first counts as much as the last.
		it := item{text: quote(c.Text, 400), weight: 90 + 3*(i+1)/len(found)}
		if c.Preference {
			it.weight -= 12
		}
		if lower := strings.ToLower(c.Text); strings.Contains(lower, "never") || strings.Contains(lower, "always") ||
			strings.Contains(lower, "must") {
			it.weight += 6
		}
		add(it)
	}
	for _, k := range f.Skills {
		if k.Name != "" {
			add(item{text: "Skill that was loaded: " + line(k.Name, 80), weight: 60})
		} else {
			add(item{text: "Instructions that were read: " + line(f.short(k.Path), 160), weight: 60})
		}
	}
	return s
}

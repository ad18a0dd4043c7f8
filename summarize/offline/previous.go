package offline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/recall"
)

// earlier is what is known of the summaries before this one.
type earlier struct {
	before *summary // of this package; the log does not have what it was made from
	// foreign is a summary that somebody else wrote, and quoted is how this package quoted one
	// before.
	foreign string
	quoted  []item
	// listed has the beginnings of what the last summary of this package listed, by heading. The new
	// summary is made from the log; this only tells which facts were worth a line before, so that
	// they are not dropped for newer ones.
	listed map[string][]string
}

func earlierOf(r pivot.Request) (e earlier) {
	source := r.Previous
	if r.Past != nil {
		source = r.Past.Lost
	}
	lost, ok := parse(source)
	if e.before = lost; !ok {
		e.foreign = strings.TrimSpace(source)
	}
	if r.Past == nil {
		return e
	}
	last, ok := parse(r.Previous)
	e.listed = last.beginnings()
	switch {
	case e.foreign != "":
	case !ok:
		e.foreign = strings.TrimSpace(r.Previous) // a model wrote it: its conclusions are not in the log
	case e.before == nil:
		e.quoted = last.items(headEarlier)
	}
	return e
}

// summary is an earlier summary of this package, read back.
type summary struct{ sections map[string][]item }

// items returns the bullets below a heading as they were written, without notes of what was left
// out. A nil summary has none.
func (s *summary) items(heading string) []item {
	if s == nil {
		return nil
	}
	return slices.Clone(s.sections[heading])
}

// parse reads back what write wrote, without what others added below its sections; ok is false for
// a text by somebody else.
func parse(text string) (s *summary, ok bool) {
	at := strings.Index(text, origin)
	if at < 0 {
		return nil, false
	}
	s = &summary{sections: map[string][]item{}}
	heading := ""
	for row := range strings.Lines(text[at+len(origin):]) {
		row = strings.TrimRight(row, "\r\n")
		switch {
		case strings.HasPrefix(row, "## "):
			heading = strings.TrimSpace(row[3:])
			if !slices.Contains(headings, heading) {
				heading = ""
			}
		case strings.HasPrefix(row, "#"):
			heading = ""
		case heading == "":
		case strings.HasPrefix(row, "- "):
			bullet, _ := recall.SplitNotes(row[2:])
			if strings.HasSuffix(bullet, " left out)") {
				bullet = ""
			}
			s.sections[heading] = append(s.sections[heading], item{text: bullet})
		case strings.HasPrefix(row, "  "):
			if n := len(s.sections[heading]); n > 0 && s.sections[heading][n-1].text != "" {
				last := &s.sections[heading][n-1]
				last.more = append(last.more, row[2:])
			}
		}
	}
	for heading, items := range s.sections {
		s.sections[heading] = slices.DeleteFunc(items, func(it item) bool { return it.text == "" })
	}
	return s, true
}

var headings = []string{headGoal, headConstraints, headDecisions, headDone, headCommands, headUnresolved, headProgress,
	headNext, headFiles, headFacts, headEarlier}

// parseChange reads back a line about a changed file.
func parseChange(text string) (change, bool) {
	if !strings.HasPrefix(text, "`") {
		return change{}, false
	}
	c := change{path: first(text), weight: 36}
	_, rest, ok := strings.Cut(text, "`: ")
	if !ok {
		return change{}, false
	}
	if name, after, ok := strings.Cut(rest, "`"); ok && name == "moved from " {
		c.moved, rest, _ = strings.Cut(after, "`")
		rest = strings.TrimPrefix(rest, ", ")
	}
	did, what, _ := strings.Cut(rest, ": ")
	if before, counts, ok := strings.Cut(did, " (+"); ok {
		did = before
		added, removed, _ := strings.Cut(strings.TrimSuffix(counts, ")"), " −")
		c.added, _ = strconv.Atoi(added)
		c.removed, _ = strconv.Atoi(removed)
	}
	for _, d := range strings.Split(did, ", ") {
		switch {
		case d == "created":
			c.creates = 1
		case d == "deleted":
			c.gone, c.deletes = true, 1
		case d == "edited once":
			c.edits = 1
		case strings.HasPrefix(d, "edited "):
			c.edits, _ = strconv.Atoi(strings.TrimSuffix(d[len("edited "):], " times"))
		case strings.HasPrefix(d, "perhaps "):
			c.perhaps = d[len("perhaps "):]
		case d == "changed" || d == "":
		default:
			return change{}, false
		}
	}
	if what != "" {
		if at := strings.LastIndex(what, " and "); at > 0 && strings.HasSuffix(what, " more") {
			what = what[:at]
		}
		c.what = []string{what}
	}
	return c, true
}

// mergeChange adds what an earlier summary said about a file.
func mergeChange(changes []change, old change) []change {
	for i := range changes {
		c := &changes[i]
		if c.path != old.path {
			continue
		}
		if c.creates+c.edits+c.deletes == 0 && c.moved == "" {
			c.gone = old.gone // whether anything was done to it since is not known
		}
		if c.creates > 0 && !old.gone {
			c.edits++ // it was there already: this replaced it
		}
		c.creates = max(old.creates, 0)
		c.edits += old.edits
		c.added, c.removed = c.added+old.added, c.removed+old.removed
		if c.moved == "" {
			c.moved = old.moved
		}
		var added []string
		for _, name := range c.what {
			if len(old.what) == 0 || !strings.Contains(old.what[0], name) {
				added = append(added, name)
			}
		}
		c.what = append(slices.Clone(old.what), added...)
		return changes
	}
	return append(changes, old)
}

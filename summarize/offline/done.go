package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/text/quantity"
)

// change is what was done to one file.
type change struct {
	path                    string
	creates, edits, deletes int
	added, removed          int
	moved                   string // its path before
	gone                    bool
	perhaps                 string   // the last change, if it is uncertain: "deleted"
	what                    []string // names, or a short replacement
	quoted                  int      // how many of what are replacements
	weight                  int
}

// done lists what was changed, and what the assistant reported about it.
func (f *facts) done() section {
	s := section{heading: headDone}
	changes := f.changes()
	var reports []item
	for i, it := range f.before.items(headDone) {
		if old, ok := parseChange(it.text); ok {
			changes = mergeChange(changes, old)
		} else if strings.HasPrefix(it.text, "Reported") {
			it.weight = 25 + min(i, 10) + f.focused(it.text)
			reports = append(reports, it)
		}
	}
	for i := range changes {
		c := &changes[i]
		s.add(c.weight+f.focused(c.path), c.String())
	}
	s.items = append(s.items, reports...)
	s.items = append(s.items, f.reports()...)
	s.items = distinct(append(s.items, f.delegated()...))
	return s
}

// changes collects what edits did, file by file, the weightiest first.
func (f *facts) changes() []change {
	at := map[string]int{}
	var changes []change
	for i := range f.Files {
		file := &f.Files[i]
		if !file.Changed() || file.Creates > 0 && file.Gone() && file.Perhaps == "" &&
			!f.wasListed(headDone, code(f.short(file.Path), 200)) {
			continue // made and removed again: nothing is left of it, and nobody was told that there is
		}
		at[file.Path] = len(changes)
		changes = append(changes, change{
			path: f.short(file.Path), creates: min(file.Creates, 1), edits: file.Edits, deletes: file.Deletes,
			added: file.Added, removed: file.Removed,
			gone: file.Gone(), perhaps: recall.Past(file.Perhaps), moved: f.short(file.From), weight: 30 +
				2*min(8, file.Edits+file.Creates) + f.recentCall(file.At, 22),
		})
	}
	for n := range f.Calls {
		c := &f.Calls[n]
		for i := range c.Actions {
			a := &c.Actions[i]
			if !a.Op.Changes() || a.Maybe || c.Outcome.Failed && a.Exact {
				continue
			}
			k, ok := at[a.Path]
			if !ok {
				continue
			}
			for _, name := range touches(a) {
				// Replacements are long: three of them show what kind of change it was.
				if strings.Contains(name, "`") {
					if changes[k].quoted >= 3 {
						continue
					}
					changes[k].quoted++
				}
				if len(changes[k].what) < 24 && !slices.Contains(changes[k].what, name) {
					changes[k].what = append(changes[k].what, name)
				}
			}
		}
	}
	for i := range changes {
		if passing(changes[i].path) {
			changes[i].weight /= 4
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return b.weight - a.weight })
	return changes
}

// touches describes briefly what an action changed: the names that it defines, or a replacement
// short enough to quote.
func touches(a *call.Action) []string {
	if !a.Exact && a.Op == call.Edit {
		if a.New != "" && len(a.New) < 600 && !strings.Contains(a.New, "\n") {
			return []string{code(a.New, 90)}
		}
		return nil
	}
	// Indentation alone is no difference.
	old, fresh := call.Differing(strings.Split(a.Old, "\n"), strings.Split(a.New, "\n"), strings.TrimSpace)
	names := symbols(a.Path, strings.Join(fresh, "\n"), 8)
	for _, name := range symbols(a.Path, strings.Join(old, "\n"), 8) {
		if !slices.Contains(names, name) && len(names) < 8 {
			names = append(names, name)
		}
	}
	if len(names) > 0 || a.Op == call.Create {
		return names
	}
	before, after := firstLine(old), firstLine(fresh)
	switch {
	case before != "" && after != "" && len(before)+len(after) < 120:
		return []string{code(before, 60) + " → " + code(after, 60)}
	case after != "" && before == "":
		return []string{"added " + code(after, 70)}
	case before != "" && after == "":
		return []string{"removed " + code(before, 70)}
	case after != "":
		return []string{"to " + code(after, 70)}
	}
	return nil
}

func firstLine(rows []string) string {
	for _, row := range rows {
		if row = strings.TrimSpace(row); len(row) > 2 {
			return row
		}
	}
	return ""
}

// String is "`path`: created, edited 3 times (+40 −2): name, name".
func (c *change) String() string {
	var did []string
	if c.moved != "" {
		did = append(did, "moved from "+code(c.moved, 160))
	}
	if c.creates > 0 {
		did = append(did, "created")
	}
	if c.edits > 0 {
		did = append(did, "edited "+quantity.Times(c.edits))
	}
	if c.gone {
		did = append(did, "deleted")
	}
	if c.perhaps != "" {
		did = append(did, "perhaps "+c.perhaps)
	}
	if len(did) == 0 {
		did = append(did, "changed")
	}
	text := code(c.path, 200) + ": " + strings.Join(did, ", ")
	if c.added+c.removed > 0 && !c.gone {
		text += fmt.Sprintf(" (+%d −%d)", c.added, c.removed)
	}
	if len(c.what) > 0 && !c.gone {
		// Names say more than quoted lines. A name shown once stays among the first, however many
		// follow.
		slices.SortStableFunc(c.what, func(a, b string) int { return strings.Count(a, "`") - strings.Count(b, "`") })
		names := len(c.what)
		if at := slices.IndexFunc(c.what, func(s string) bool { return strings.Contains(s, "`") }); at >= 0 {
			names = at
		}
		show := append(slices.Clone(c.what[:min(8, names)]), c.what[names:]...)
		what := strings.Join(show, ", ")
		if n := len(c.what) - len(show); n > 0 {
			what += fmt.Sprintf(" and %d more", n)
		}
		text += ": " + what
	}
	return text
}

// reports lists what the assistant said at the ends of its turns, and in between when something was
// finished.
func (f *facts) reports() []item {
	var all []item
	for n, a := range f.answers {
		if n == len(f.answers)-1 && !f.Waiting && !f.spoken {
			continue // the newest statement is under "In progress"
		}
		if a.closing || f.wasListed(headProgress, a.text) {
			if text := gist(a.text, 300); len(text) > 30 {
				all = append(all, item{text: "Reported: " + quote(text, 440), weight: 30 + f.recent(a.message, 26) +
					f.focused(text)})
			}
			continue
		}
		for _, s := range recall.Sentences(a.text) {
			lower := strings.ToLower(s)
			if len(s) > 30 && len(s) < 300 && s[0] != '|' && !strings.HasPrefix(lower, "let me") &&
				call.ContainsAny(lower, reported...) {
				all = append(all, item{text: "Reported: " + quote(s, 300), weight: 14 + f.recent(a.message, 24) +
					f.focused(s)})
				break
			}
		}
	}
	return f.heaviest(headDone, all, 16)
}

// gist returns the beginning of a report: as many sentences as fit, without headings, tables and
// rules.
func gist(text string, size int) string {
	var b strings.Builder
	var titles []string
	for row := range strings.Lines(text) {
		trimmed := strings.TrimSpace(row)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "|") || strings.Contains(trimmed, "──") ||
			strings.Trim(trimmed, "-=*_ ") == "":
			continue
		case strings.HasPrefix(trimmed, "#"):
			titles = append(titles, strings.TrimSpace(strings.TrimLeft(trimmed, "#")))
			continue
		}
		for _, s := range recall.Sentences(row) {
			if b.Len() == 0 && len(s) <= 14 && strings.HasSuffix(s, "!") {
				continue // "Perfect!"
			}
			if b.Len() > 0 && strings.HasSuffix(s, ":") {
				continue // announces a list or a block that is not quoted
			}
			if b.Len() > 0 && b.Len()+len(s) > size {
				return b.String()
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(s)
		}
	}
	if b.Len() < 30 && len(titles) > 0 {
		return titles[0] + " " + b.String()
	}
	return b.String()
}

// delegated lists what sub-agents were asked, and the beginning of what they found.
func (f *facts) delegated() []item {
	var all []item
	for n := range f.Calls {
		c := &f.Calls[n]
		if len(c.Actions) == 0 || c.Actions[0].Op != call.Delegate || !c.Outcome.Known {
			continue
		}
		result := recall.Prose(f.log[c.Message].Parts[c.Part].State.Result())
		text := "Sub-agent " + quote(c.Actions[0].Query, 100)
		if found := recall.Sentences(result); len(found) > 0 && !strings.HasPrefix(result, "Async agent launched") {
			text += " found: " + quote(strings.Join(found[:min(3, len(found))], " "), 320)
		}
		all = append(all, item{text: text, weight: 24 + f.recentCall(n, 20)})
	}
	return all
}

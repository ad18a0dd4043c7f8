package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// Often is in how many sessions of a project, each on another day, an instruction must stand that
// is advised for its AGENTS.md.
const Often = 3

// said is an instruction that a user gave in a session.
type said struct {
	key, text string
	tokens    int
	// cost is that of the request that it took, where it stood alone in a message that was not the
	// session's first: what was already at work had to be told.
	cost float64
}

// saidIn lists the instructions of a log.
func saidIn(log []session.Message, c *carried) (all []said) {
	positions := map[string]int{}
	for i := range log {
		positions[log[i].ID] = i
	}
	for _, found := range recall.Constraints(log) {
		one := said{key: recall.Key(found.Text), text: found.Text, tokens: (len(found.Text) + 2) / 3}
		if at, known := positions[found.MessageID]; known && c.after[at] > 0 && recall.Key(log[at].Text()) == one.key {
			if r := c.next(at); r != nil {
				one.cost = r.again()
			}
		}
		if found.Since == "" && one.key != "" {
			all = append(all, one)
		}
	}
	return all
}

// findInstructions finds instructions that a user gives in session after session, and that stand
// neither in the project's AGENTS.md nor in its CLAUDE.md: the same words, but for case and
// punctuation, in Often sessions of a project on as many days.
//
// Cost: of the requests that were made only because of it: those that answered a message of nothing
// else, at the price of reading their prompt from the cache and a short answer. Gain: that, less
// what carrying the line in every request of the project would have cost. Error: over sessions; and
// tokens are estimated. Where no money is to be saved, it is not a finding: it is returned as
// repeated.
func findInstructions(sessions []Session, written func(project string) string) (found []Finding, repeated []Repeated) {
	type place struct{ project, key string }
	in := map[place][]int{}
	for i := range sessions {
		for _, x := range sessions[i].said {
			at := place{sessions[i].Project, x.key}
			if n := len(in[at]); at.project != "" && (n == 0 || in[at][n-1] != i) {
				in[at] = append(in[at], i)
			}
		}
	}
	for at, where := range in {
		days := map[string]bool{}
		for _, i := range where {
			days[sessions[i].Day] = true
		}
		delete(days, "")
		if len(days) < Often || written != nil && says(written(at.project), at.key) {
			continue
		}
		f, text := findInstruction(sessions, where, at.project, at.key)
		if f.Gain > f.Error {
			found = append(found, f)
			continue
		}
		repeated = append(repeated, Repeated{Text: text, Project: at.project, Sessions: len(where), Days: len(days)})
	}
	slices.SortFunc(found, func(a, b Finding) int { return strings.Compare(a.Line, b.Line) })
	slices.SortFunc(repeated, func(a, b Repeated) int {
		return cmp.Or(cmp.Compare(b.Sessions, a.Sessions), cmp.Compare(a.Text, b.Text),
			cmp.Compare(a.Project, b.Project))
	})
	return found, repeated
}

// says reports whether a text has the words of a key in a row.
func says(text, key string) bool { return strings.Contains(" "+recall.Key(text)+" ", " "+key+" ") }

// findInstruction is what an instruction cost that stands in some sessions of a project.
func findInstruction(sessions []Session, where []int, project, key string) (f Finding, text string) {
	var own []Session
	for i := range sessions {
		if sessions[i].Project == project {
			own = append(own, sessions[i])
		}
	}
	x, asked := sampleOf(own), 0
	for i := range own {
		s := &own[i]
		cost, tokens := 0.0, 0
		for _, one := range s.said {
			if one.key == key {
				text, tokens = one.text, one.tokens
				if cost += one.cost; one.cost > 0 {
					asked++
				}
			}
		}
		if tokens == 0 {
			tokens = len(key) / 3
		}
		x.add(s, cost, cost-float64(tokens)*s.base)
	}
	return Finding{Kind: Instructions, Title: fmt.Sprintf("The same instruction was given in %s",
		quantity.Count(len(where), "session")), Cost: x.cost, Gain: x.gain, Error: x.error(true),
		Evidence: []string{fmt.Sprintf("%s answered nothing else.", quantity.Plural(asked, "request", "requests")),
			x.dearest()},
		Change: "write it down for the project " + project, Line: text, Where: "AGENTS.md"}, text
}

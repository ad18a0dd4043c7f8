package transcript

import (
	"strings"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

const (
	// diffLines is how many lines of a change are shown while it is folded, and openDiff when it is
	// not.
	diffLines = 6
	openDiff  = 200
)

// change is one line of a diff.
type change struct {
	sign byte // '+', '-', ' ', or '@' for what is skipped
	text string
}

// layDiff shows what a call changed.
func (t *Transcript) layDiff(p *session.Part, f facts, open bool) []string {
	if p.State.Status == session.Failed {
		return nil
	}
	all := changes(p, f)
	if !open { // what came and went is enough
		kept := all[:0:0]
		for _, c := range all {
			if c.sign == '+' || c.sign == '-' {
				kept = append(kept, c)
			}
		}
		all = kept
	}
	most := diffLines
	if open {
		most = openDiff
	}
	var lines []string
	for i, c := range all {
		if i == most || i == most-1 && len(all) > most {
			lines = append(lines, draw.Gutter+draw.Gutter+draw.Paint(t.style.Dim,
				"… "+quantity.Count(len(all)-i, "more line")))
			break
		}
		s := t.style.Dim
		switch c.sign {
		case '+':
			s = t.style.Added
		case '-':
			s = t.style.Removed
		}
		lines = append(lines, draw.Gutter+draw.Gutter+t.changeLine(c, s))
	}
	return lines
}

func (t *Transcript) changeLine(c change, s draw.Look) string {
	room := t.width - 2*len(draw.Gutter) - 2
	if c.sign == '@' {
		return draw.Paint(s, "⋯")
	}
	return draw.Paint(s, string(c.sign)+" "+tui.Cut(draw.Clean(c.text), room))
}

// changes are the lines of a change: from the diff that a tool gave, else from its arguments.
func changes(p *session.Part, f facts) []change {
	if f.Diff != "" {
		return unified(f.Diff)
	}
	var all []change
	for _, a := range call.Actions(p, "") {
		if !a.Op.Changes() || !a.Exact || a.Old == "" && a.New == "" {
			continue
		}
		if len(all) > 0 {
			all = append(all, change{sign: '@'})
		}
		all = append(all, between(a.Old, a.New)...)
	}
	return all
}

// unified reads a unified diff, without the lines that name the files.
func unified(text string) []change {
	var all []change
	heading := true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "@@"):
			if !heading && len(all) > 0 {
				all = append(all, change{sign: '@'})
			}
			heading = false
		case heading || line == "" || line[0] == '\\':
		default:
			all = append(all, change{line[0], line[1:]})
		}
	}
	return all
}

// between is a change from one text to another: what they begin and end with alike is left out, the
// rest went and came.
func between(before, after string) []change {
	a, b := call.Differing(call.SplitLines(before), call.SplitLines(after), nil)
	var all []change
	for _, l := range a {
		all = append(all, change{'-', l})
	}
	for _, l := range b {
		all = append(all, change{'+', l})
	}
	return all
}

// counts are the lines that a change of this call added and removed, ok false where it changes
// nothing that is known.
func counts(p *session.Part, f facts) (added, removed int, ok bool) {
	for _, c := range changes(p, f) {
		switch c.sign {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed, added+removed > 0
}

package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
)

// unresolved lists the errors after which nothing of their kind worked, and calls that never ended,
// newest first.
func (f *facts) unresolved() section {
	s := section{heading: headUnresolved, must: true}
	same := map[string]bool{}
	listed := 0
	for i := range slices.Backward(f.Failures) {
		e := &f.Failures[i]
		// One cause shows in several commands; the newest is listed.
		if key := string(e.Kind) + strings.Join(e.Lines[:min(1, len(e.Lines))], ""); len(e.Lines) > 0 {
			if same[key] {
				listed++
				continue
			}
			same[key] = true
		}
		if len(s.items) >= 8 {
			break
		}
		it := item{text: f.failed(e), weight: 85 + min(10, f.recentCall(e.At, 10))}
		rows := e.Lines
		if len(s.items) >= 2 {
			rows = rows[:min(3, len(rows))]
		}
		for _, row := range rows {
			it.more = append(it.more, code(f.shortLine(row), 220))
		}
		s.items = append(s.items, it)
	}
	if n := len(f.Failures) - len(s.items) - listed; n > 0 {
		s.add(50, fmt.Sprintf("(%d older failures left out)", n))
	}
	for _, it := range f.before.items(headUnresolved) {
		if !f.resolved(first(it.text)) {
			it.weight = 75
			s.items = append(s.items, it)
		}
	}
	return s
}

// failed describes which call failed, how, and how often.
func (f *facts) failed(e *recall.Failure) string {
	target := stripFolder(e.Target)
	text := ""
	switch {
	case e.Kind != "":
		text = code(f.shortLine(target), 200) + " failed"
	case e.Path != "":
		text = code(f.short(e.Path), 200) + ": " + line(e.Tool, 40) + " failed"
	case target == "":
		text = line(e.Tool, 40) + " failed"
	default:
		text = code(f.shortLine(target), 200) + ": " + line(e.Tool, 40) + " failed"
	}
	if e.Exit > 0 {
		text += fmt.Sprintf(" with exit status %d", e.Exit)
	}
	if e.Times > 1 {
		text += fmt.Sprintf(" (%d failures since it last worked)", e.Times)
	}
	return text
}

// resolved reports whether this log resolved an earlier failure: the same command or one that
// covers it ran, or the same file was changed.
func (f *facts) resolved(target string) bool {
	earlier := call.Main(call.Invocations(target))
	if weak := earlier == nil || earlier.Kind == call.Look ||
		earlier.Kind == call.Perform; weak && len(f.Calls) > recall.Attempt {
		return true // it was needed for something that has been done in another way since, or given up
	}
	if len(f.Calls) > recall.Overtaken {
		for n := range f.Calls {
			if c := &f.Calls[n]; c.Outcome.Known && !c.Outcome.Failed && c.Main != nil && earlier != nil &&
				(c.Main.Kind == earlier.Kind || c.Main.Kind == call.Test) {
				return true
			}
		}
	}
	for n := range f.Calls {
		c := &f.Calls[n]
		if !c.Outcome.Known {
			continue
		}
		if text := c.Command(); text != "" && earlier != nil {
			for _, v := range c.Ran {
				// A failure counts too: then the newer one is listed.
				if v.Kind != call.Look && v.Covers(earlier) {
					return true
				}
			}
		}
		for i := range c.Actions {
			if a := &c.Actions[i]; !c.Outcome.Failed && a.Path != "" && f.short(a.Path) == target {
				return true
			}
		}
	}
	return false
}

// interrupted lists the calls that had not ended when the log did.
func (f *facts) interrupted() []item {
	if len(f.tail) > 0 {
		return nil // the tail says how it went on
	}
	var all []item
	// the newest message with a call that ended: what is older and open has lost its result, and is
	// not going on
	last := -1
	for n := range f.Calls {
		if f.Calls[n].Outcome.Known || f.Calls[n].Status == session.Completed {
			last = f.Calls[n].Message
		}
	}
	for n := max(0, len(f.Calls)-20); n < len(f.Calls); n++ {
		c := &f.Calls[n]
		if c.Message < last {
			continue
		}
		if c.Status != session.Pending && c.Status != session.Running {
			continue
		}
		text := line(c.Tool, 40)
		if target := c.Target(); target != "" {
			text += " " + code(f.shortLine(target), 160)
		}
		all = append(all, item{text: "Had not ended: " + text, weight: 72})
	}
	return append(all, f.stopped()...)
}

// stopped lists the newest calls that the user refused or interrupted: something else is wanted.
func (f *facts) stopped() []item {
	var all []item
	for n := max(0, len(f.Calls)-8); n < len(f.Calls); n++ {
		if c := &f.Calls[n]; c.Outcome.Refused {
			all = append(all, item{text: "Stopped by the user: " + line(c.Tool, 40) + " " +
				code(f.shortLine(stripFolder(c.Target())), 160), weight: 74})
		}
	}
	return distinct(all)
}

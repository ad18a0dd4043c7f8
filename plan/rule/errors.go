package rule

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// Limits of what the sound form of Errors keeps of one failure: what it takes to know what went
// wrong and where.
const (
	errorLines   = 8
	errorTelling = 4    // of them, those that call.ErrorLines picks
	errorBytes   = 1200 // of all lines kept
	errorMargin  = 50   // tokens that must be saved; half of the failure at least
)

// Errors shortens old errors, of calls that failed and of commands that ended with a failure. What
// stays of one: the lines that tell most, the first and the last place ("path:line"), and the last
// line. What a person said when refusing a call stays whole.
type Errors struct{ Age Age }

// Name is "errors".
func (*Errors) Name() string { return "errors" }

// Find looks at failures.
func (r *Errors) Find(w Window) Found {
	w = w.Read()
	seen := grow(w, r, func() *failures { return &failures{} })
	return w.Propose(r.Name(), r.Age, w.open(seen.found), func(f *Finding) string {
		size := w.Facts.size(f.Item, f.Field)
		whole := f.Item.Part.State.Result() // which saves nothing, and is refused for it
		if size < 2*errorMargin {
			return whole
		}
		text := w.shortened(f.Item, f.Field)
		saves := w.saves(f.Item, Elision{Field: f.Field, Shown: text})
		if saves < errorMargin || saves*2 < size {
			return whole
		}
		return text
	})
}

// failures is what Errors reads off a timeline.
type failures struct{ found []*Finding }

func (f *failures) read(x *Item) {
	if x.Call == nil || x.Call.Outcome.Refused {
		return
	}
	if x.Failed() || x.Call.Command() != "" && x.Call.Outcome.Failed {
		f.found = append(f.found, &Finding{Item: x, Field: ResultField(x.Part), Why: "it is an old error"})
	}
}

// Failed reports whether the part is a call that the product reports as failed.
func (x *Item) Failed() bool { return x.Part.State != nil && x.Part.State.Status == session.Failed }

// ResultField is the field of a call that holds what it gave back.
func ResultField(p *session.Part) Field {
	if p.State.Status == session.Failed {
		return Error
	}
	return Output
}

// shortened is what stays of a failure, and a line that tells so.
func (w Window) shortened(x *Item, field Field) string {
	var room [2048]byte
	text := append(append(append(append(excerpt(room[:0], x.Part.State.Result()), '\n'), w.opening()...),
		w.handleOf(x)...), ": "...)
	text = append(text, x.Part.Tool...)
	if target := x.target(); target != "" {
		text = append(append(text, ' '), target...)
	}
	text = append(text, " failed; above is what tells most of its "...)
	return string(append(x.appendMeasure(text, field), ']'))
}

// excerpt puts the lines of a failure that stay behind a text, in their order.
func excerpt(text []byte, result string) []byte {
	var few [160]string
	all := call.AppendLines(few[:0], result)
	if len(all) == 0 {
		return text
	}
	errors := call.PickErrors(all, errorTelling)
	for at, line := range all {
		all[at] = call.Cut(line, 240)
	}
	last := len(all) - 1
	picked := append(make([]int, 0, errorLines), 0)
	if last > 0 {
		picked = append(picked, last)
	}
	room := errorBytes - len(all[0]) - len(all[last])
	pick := func(at int) {
		if at > 0 && !slices.Contains(picked, at) && len(picked) < errorLines && len(all[at])+1 <= room {
			picked = append(picked, at)
			room -= len(all[at]) + 1
		}
	}
	if call.ContainsAny(strings.ToLower(all[0]), "exit code", "exit status", "exited with") {
		pick(worded(all)) // a number says little
	}
	if at := slices.IndexFunc(all, isPlace); at >= 0 {
		pick(at)
		for at = last; !isPlace(all[at]); at-- {
		}
		pick(at)
	}
	for at, line := range all {
		if slices.Contains(errors, line) {
			errors = slices.DeleteFunc(errors, func(one string) bool { return one == line })
			pick(at)
		}
	}
	slices.Sort(picked)
	for i, at := range picked {
		if i > 0 {
			text = append(text, '\n')
		}
		text = append(text, all[at]...)
	}
	return text
}

// worded is the first line but one that has words, -1 without one.
func worded(lines []string) int {
	for at, line := range lines {
		if at > 0 && len(strings.Fields(line)) > 1 && strings.ToLower(line) != strings.ToUpper(line) {
			return at
		}
	}
	return -1
}

// isPlace reports whether a line names a line of a file, Python's way included: `File "a.py", line
// 3, in f`.
func isPlace(line string) bool {
	if _, ok := call.Place(line); ok {
		return true
	}
	return strings.HasPrefix(line, `File "`) && strings.Contains(line, `", line `)
}

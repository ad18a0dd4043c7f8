package rule

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Limits of what the sound form of Errors keeps of one failure: what it takes to know what went wrong and where.
const (
	errorLines   = 8
	errorTelling = 4    // of them, those that call.Telling picks
	errorBytes   = 1200 // of all lines kept
	errorMargin  = 50   // tokens that must be saved; half of the failure at least
)

// Errors shortens old errors (S002 9).
//
// By the letter the first line of an error stays. The sound form keeps the lines that tell most, the first and the last place ("path:line") and the last
// line too, shortens commands that ended with a failure as well, and leaves alone what a person said when refusing a call.
type Errors struct {
	Letter bool
	Age    Age
}

// Name is "errors".
func (*Errors) Name() string { return "errors" }

func (r *Errors) fresh() *failures { return &failures{letter: r.Letter} }

func (r *Errors) remembers(w Window) []reads { return []reads{recollect(w, r, r.fresh)} }

// Find looks at failures.
func (r *Errors) Find(w Window) Found {
	w = w.Read()
	seen := remember(w, r, r.fresh)
	return w.propose(r.Name(), r.Age, r.Letter, seen.found, func(d *redundant) []Elision {
		s := d.old.Part.State
		e := Elision{Field: Output}
		if s.Status == session.Failed {
			e.Field = Error
		}
		if r.Letter {
			first, _, _ := strings.Cut(s.Error, "\n")
			e.Shown = first + fmt.Sprintf("\n[Error output truncated - %d chars total]", token.UTF16Len(s.Error))
			return []Elision{e}
		}
		if w.Facts.size(d.old, e.Field) < 2*errorMargin {
			e.Shown = s.Result() // which saves nothing, and is refused for it
			return []Elision{e}
		}
		e.Shown = w.shortened(d.old, e.Field)
		if saves := w.saves(d.old, e); saves < errorMargin || saves*2 < w.Facts.size(d.old, e.Field) {
			e.Shown = s.Result()
		}
		return []Elision{e}
	})
}

// failures is what Errors remembers.
type failures struct {
	letter bool
	found  []*redundant
}

func (f *failures) read(x *Item) {
	if x.Call == nil {
		return
	}
	failed := x.Part.State.Status == session.Failed
	if !f.letter {
		failed = (failed || x.Call.Command() != "" && x.Call.Outcome.Failed) && !x.Call.Outcome.Refused
	}
	if failed {
		f.found = append(f.found, &redundant{old: x, why: "it is an old error"})
	}
}

// shortened is what stays of a failure, and a line that tells so.
func (w Window) shortened(x *Item, field Field) string {
	var room [2048]byte
	text := append(append(append(append(kept(room[:0], x.Part.State.Result()), '\n'), opening...), w.handleOf(x)...), ": "...)
	text = append(text, x.Part.Tool...)
	if target := w.target(x); target != "" {
		text = append(append(text, ' '), target...)
	}
	text = append(text, " failed; above is what tells most of its "...)
	return string(append(x.appendMeasure(text, field), ']'))
}

// kept puts the lines of a failure that stay behind a text, in their order.
func kept(text []byte, result string) []byte {
	var few [160]string
	all := call.AppendLines(few[:0], result)
	if len(all) == 0 {
		return text
	}
	told := call.TellingOf(all, errorTelling)
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
		if slices.Contains(told, line) {
			told = slices.DeleteFunc(told, func(one string) bool { return one == line })
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
		if at > 0 && len(strings.Fields(line)) > 1 && strings.ContainsFunc(line, unicode.IsLetter) {
			return at
		}
	}
	return -1
}

// isPlace reports whether a line names a line of a file, Python's way included: `File "a.py", line 3, in f`.
func isPlace(line string) bool {
	if _, ok := call.Place(line); ok {
		return true
	}
	return strings.HasPrefix(line, `File "`) && strings.Contains(line, `", line `)
}

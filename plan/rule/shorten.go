package rule

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/coverage"
	"github.com/winnowhq/winnow/session"
)

// tooLong is the rule that elisions name of what does not fit although nothing but it was kept.
const tooLong = "too-long"

// shortest is how many tokens of an output stay at least when it is shortened: enough to see what
// it is, and by which handle the rest is had.
const shortest = 200

// Shorten shows less of what no request has had yet (session.Unsent), to save this many tokens:
// where it does not fit by itself, its beginning and its end are better than a summary of it. The
// longest outputs are cut first, to one length; what was attached to them goes with what was cut,
// and is named. files leaves out the files of the user's messages, too, whatever must be saved: a
// request with them was refused. What is pinned or guarded stays whole. It may save less than was
// asked for; the caller measures.
func (w Window) Shorten(save int, files bool) []Elision {
	w = w.Read()
	unsent := map[string]bool{}
	for _, m := range w.Messages[session.Unsent(w.Messages):] {
		unsent[m.ID] = true
	}
	var found []Elision
	var outputs []*Item
	items := w.Items()
	for i := len(items) - 1; i >= 0 && unsent[items[i].Message]; i-- {
		x := items[i]
		switch {
		case x.Call != nil:
			if w.free(x, ResultField(x.Part)) {
				outputs = append(outputs, x)
			}
		case files && x.Part.IsMedia() && x.Role == session.User:
			e := w.tooLong(x, Attachments, w.withoutFiles(x, ""))
			if w.free(x, Attachments) && e.Saves > 0 {
				found, save = append(found, e), save-e.Saves
			}
		}
	}
	length := w.commonLength(outputs, save)
	for _, x := range outputs {
		if size := x.Size(); size.Output+size.Files <= length {
			continue
		}
		if e := w.tooLong(x, ResultField(x.Part), w.abridged(x, x.Part.State.Result(), length, false)); e.Saves > 0 {
			found = append(found, e)
		}
	}
	slices.Reverse(found) // in the order of the log
	return found
}

// free reports whether a field may be shortened.
func (w Window) free(x *Item, field Field) bool {
	_, ok := w.may(tooLong, x, field, Age{})
	return ok && !x.LeftOut(field)
}

func (w Window) tooLong(x *Item, field Field, shown string) Elision {
	e := Elision{
		Part: x.Part.ID, Message: x.Message, Field: field, Rule: tooLong, Shown: shown,
		Because: "what was to be sent for the first time did not fit: its beginning and its end are shown",
	}
	if field == Attachments {
		e.Because = "what was to be sent for the first time did not fit"
	}
	e.Saves = w.saves(x, e)
	return e
}

// commonLength is the length in tokens to which outputs must be cut to save so much, no less than
// the shortest; what is shorter stays whole.
func (w Window) commonLength(outputs []*Item, save int) int {
	longest := shortest
	for _, x := range outputs {
		longest = max(longest, x.Size().Output+x.Size().Files)
	}
	if save <= 0 {
		return longest
	}
	low, high := shortest, longest // the longest length that saves enough lies between
	for low < high {
		at, saved := (low+high+1)/2, 0
		for _, x := range outputs {
			saved += max(0, x.Size().Output+x.Size().Files-at)
		}
		if saved >= save {
			low = at
		} else {
			high = at - 1
		}
	}
	return low
}

// abridged is the text of an output in at most this many tokens: its beginning, which lines were
// left out, and its end; with tell also those lines between them that say most.
func (w Window) abridged(x *Item, text string, tokens int, tell bool) string {
	var errors []numbered
	if tell {
		for n, line := range call.NumberedErrors(text, mostErrors) {
			errors = append(errors, numbered{n, line})
		}
	}
	named := ""
	if len(Media(x.Part)) > 0 {
		named = "\n" + w.withoutFiles(x, "")
	}
	size := w.Facts.Count(text)
	bytes := len(text)
	if size > tokens {
		bytes = len(text) / size * tokens
	}
	for {
		half := bytes / 2
		head, tail := beginning(text, half), ending(text, half)
		if len(head)+len(tail) >= len(text) {
			head, tail = text, ""
		}
		shown := head + named
		if left := text[len(head) : len(text)-len(tail)]; left != "" {
			shown = head + "\n" + w.between(x, left, strings.Count(head, "\n")+1, errors) + "\n" + tail + named
		}
		if bytes < 16 || w.Facts.Count(shown) <= tokens {
			return shown
		}
		bytes = bytes * 9 / 10
	}
}

// mostErrors is how many error lines are shown at most from the middle of an output.
const mostErrors = 8

// numbered is a line with its number.
type numbered struct {
	n    int
	line string
}

// between stands for what is left out in the middle of an output, behind line n of it, with those
// of the lines told that are among it. Whole lines have their numbers, as "winnow recall HANDLE
// --lines" takes them.
//
//	[winnow k3f9a2: lines 41-340 left out; of them:]
//	87: error: no such pier
func (w Window) between(x *Item, left string, n int, errors []numbered) string {
	if left[0] != '\n' || left[len(left)-1] != '\n' || len(left) == 1 {
		return w.omitted(x, left)
	}
	shift, last := coverage.Shift(x.Part.State.Result()), n+strings.Count(left, "\n")-1
	var out strings.Builder
	fmt.Fprintf(&out, "%s%s: lines %d-%d left out", w.opening(), w.handleOf(x), n+1+shift, last+shift)
	among := ""
	for _, t := range errors {
		if t.n > n && t.n <= last {
			among += fmt.Sprintf("\n%d: %s", t.n+shift, t.line)
		}
	}
	if among != "" {
		out.WriteString("; of them:")
	}
	return out.String() + "]" + among
}

// beginning is that of a text, at most this many bytes: whole lines, where that is not less than
// half of them.
func beginning(text string, bytes int) string {
	if bytes >= len(text) {
		return text
	}
	text = call.Beginning(text, bytes)
	if at := strings.LastIndexByte(text, '\n'); at >= len(text)/2 {
		return text[:at]
	}
	return text
}

// ending is the same of the end.
func ending(text string, bytes int) string {
	if bytes >= len(text) {
		return text
	}
	at := len(text) - bytes
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 && n < bytes/2 {
		return text[at+n+1:]
	}
	return text[at:]
}

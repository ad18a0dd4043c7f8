package rule

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// FirstSend says what of an output may be left out before it is sent for the first time. That
// rewrites no cache, and no reasoning was made behind it yet, so that it is allowed on models that
// bind their reasoning, too. It is the one kind of elision that comes before the model has seen
// what is left out: only what says nothing new goes.
type FirstSend struct {
	// Noise takes out of what a command printed what only a terminal understands: colours, moves of
	// the cursor, and what was printed over by a carriage return.
	Noise bool `json:"noise"`
	// Repeats leaves out an output that an equal call gave before, byte for byte, and that still
	// stands above in full. Asked once more, it is shown.
	Repeats bool `json:"repeats"`
	// Logs is how many tokens are shown at most of what tests, builds and installations printed:
	// the beginning, the end, and the lines between them that tell what went wrong. 0 shows all of
	// it.
	Logs int `json:"logs"`
	// Long is the same of every output but those that show files and what another agent reported:
	// of these the middle is quoted.
	Long int `json:"long"`
}

// Names of the rules of FirstSend, which are those of its members.
const (
	noise   = "noise"
	repeats = "repeats"
	logs    = "logs"
	long    = "long"
)

// FirstSends are the names of the rules of FirstSend.
func FirstSends() []string { return []string{noise, repeats, logs, long} }

// leastFirst is how many tokens must be saved at least: what is small is not worth a line that says
// so.
const leastFirst = 50

// Partial reports whether an elision still shows what tells: whatever finds later that the whole
// may go takes its place.
func (e Elision) Partial() bool { return e.Rule == noise || e.Rule == logs || e.Rule == long }

// hides is the field of which an elision leaves nothing that could be left out any more.
func (e *Elision) hides() uint8 {
	if e.Partial() {
		return 0
	}
	return bit(e.Field)
}

// FirstSend finds what may be left out of the outputs that no request has had yet, in the order of
// the log. What is pinned or guarded stays whole.
func (w Window) FirstSend(f FirstSend) []Elision {
	if f == (FirstSend{}) {
		return nil
	}
	w = w.Read()
	var found []Elision
	items, newest := w.Items(), w.Messages[session.Unsent(w.Messages):]
	for i := len(items) - 1; i >= 0 && items[i].Step == w.timeline.now.Step; i-- {
		x := items[i]
		if x.Call == nil || !w.unsent(x, Output) || len(Media(x.Part)) > 0 || session.Index(newest, x.Message) < 0 {
			continue // an answer whose calls have not ended tells that what is before it was sent
		}
		if _, free := w.may("", x, ResultField(x.Part), Age{}); !free || slices.ContainsFunc(x.Call.Actions, keeps) {
			continue
		}
		if w.Ledger.Touches(x.Part.ID) {
			continue // it was decided about
		}
		if e := w.firstSend(f, x); e.Saves >= max(leastFirst, w.Guard.least()) {
			found = append(found, e)
		}
	}
	slices.Reverse(found)
	return found
}

// firstSend is what is left out of one output, the zero Elision for nothing.
func (w Window) firstSend(f FirstSend, x *Item) Elision {
	e := Elision{Part: x.Part.ID, Message: x.Message, Field: ResultField(x.Part)}
	if above := w.above(x); f.Repeats && above != nil {
		e.Rule, e.By, e.Because = repeats, above.Part.ID, "an equal call gave the same before, and it is shown above"
		e.Shown = w.placeholder(x, e.Field, "the same as in "+w.handleOf(above)+" above")
		e.Saves = w.saves(x, e)
		return e
	}
	var most int
	if e.Rule, most = f.most(x); most > 0 {
		e.Because = "it is longer than " + quantity.Number(most) +
			" tokens: its beginning, its end and what tells most are shown"
		text := x.Part.State.Result()
		if f.Noise && x.printed() {
			text = Quiet(text)
		}
		e.Shown = w.abridged(x, text, most, true)
		e.Saves = w.saves(x, e)
		return e
	}
	if f.Noise && x.printed() {
		text := x.Part.State.Result()
		if quiet := Quiet(text); len(quiet) < len(text) {
			e.Rule, e.Because = noise, "only a terminal understands it"
			e.Shown = quiet + "\n" + w.opening() + w.handleOf(x) + ": " + quantity.Number(len(text)-len(quiet)) +
				" bytes of terminal codes left out]"
			e.Saves = w.saves(x, e)
		}
	}
	return e
}

// most is how many tokens of an output are shown, and by which rule; 0 for all.
func (f FirstSend) most(x *Item) (rule string, tokens int) {
	size := x.Size().Output
	over := func(limit int) bool { return limit > 0 && size > max(limit, shortest) }
	switch {
	case over(f.Logs) && x.logged():
		return logs, max(f.Logs, shortest)
	case over(f.Long) && !x.showsFiles() && x.op() != call.Delegate:
		return long, max(f.Long, shortest)
	}
	return "", 0
}

// logged reports whether an output is what tests, builds or installations printed, and nothing else
// but what looked for something in that.
func (x *Item) logged() bool {
	if slices.ContainsFunc(x.Call.Actions, func(a call.Action) bool { return a.Op != call.Run }) || x.showsFiles() {
		return false
	}
	found := false
	for _, program := range call.Invocations(x.Call.Command()) {
		switch program.Kind {
		case call.Test, call.Build, call.Install:
			found = true
		case call.Look:
		default:
			return false
		}
	}
	return found
}

// showsFiles reports whether a call read files, or shows lines of them.
func (x *Item) showsFiles() bool {
	return len(x.Call.Shown.Views) > 0 ||
		slices.ContainsFunc(x.Call.Actions, func(a call.Action) bool { return a.Op == call.Read })
}

// printed reports whether an output is what a command printed, and nothing that it read from files:
// what is to be edited is shown as it is.
func (x *Item) printed() bool {
	return x.Call.Command() != "" && !x.showsFiles()
}

// above is the newest older output of an equal call that says the same and is shown in full; nil if
// there is none, or if the call was told so already and asks all the same.
func (w Window) above(x *Item) *Item {
	if !worked(x) || x.keepsList() {
		return nil
	}
	for i := x.At - 1; i >= 0; i-- {
		y := w.timeline.items[i]
		if !worked(y) || y.Call.Retried != x.Call.Retried || y.Part.State.Output != x.Part.State.Output ||
			!sameFiles(y.Part.State, x.Part.State) {
			continue
		}
		if y.gone != 0 || y.Step == x.Step {
			return nil
		}
		return y
	}
	return nil
}

// repeated is for how long an output stands for others that were not sent because of it: the newest
// step in which one of them was made or quoted, by its part's id.
func (w Window) repeated(q *quotes) map[string]int {
	var until map[string]int
	var instead map[string]string // id of the part that stands for it, by the id of the one that was not sent
	for i := range w.Ledger.elisions {
		if e := &w.Ledger.elisions[i]; e.Rule == repeats {
			if instead == nil {
				instead, until = map[string]string{}, map[string]int{}
			}
			instead[e.Part] = e.By
		}
	}
	if instead == nil {
		return nil
	}
	for _, s := range q.slots {
		if by := instead[s.item.Part.ID]; by != "" && s.field != Input {
			until[by] = max(until[by], s.last)
		}
	}
	return until
}

// Quiet is a text without what only a terminal understands: escape sequences go, and of a line that
// was printed over, by a carriage return, its last state stays. Ends of lines stay as they are.
func Quiet(text string) string {
	if !strings.ContainsAny(text, "\x1b\r") {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\r\n")
		end := line[len(bare):]
		if strings.IndexByte(bare, '\x1b') >= 0 {
			bare = withoutEscapes(bare)
		}
		if at := strings.LastIndexByte(bare, '\r'); at >= 0 {
			bare = bare[at+1:]
		}
		out.WriteString(bare)
		out.WriteString(end)
	}
	return out.String()
}

// withoutEscapes is a line without the escape sequences of ECMA-48: ESC [ … final, the strings ESC
// ] … BEL or ESC \, and those of two characters.
func withoutEscapes(line string) string {
	var out strings.Builder
	for {
		at := strings.IndexByte(line, '\x1b')
		if at < 0 {
			out.WriteString(line)
			return out.String()
		}
		out.WriteString(line[:at])
		line = line[at+1:]
		line = line[escape(line):]
	}
}

// escape is how many bytes of a text behind an ESC belong to its sequence.
func escape(text string) int {
	if text == "" {
		return 0
	}
	switch text[0] {
	case '[':
		for i := 1; i < len(text); i++ {
			switch c := text[i]; {
			case c >= 0x40 && c <= 0x7e:
				return i + 1
			case c < 0x20 || c > 0x3f:
				return i // it was cut
			}
		}
		return len(text)
	case ']', 'P', '^', '_':
		for i := 1; i < len(text); i++ {
			if text[i] == '\a' {
				return i + 1
			}
			if text[i] == '\x1b' {
				if i+1 < len(text) && text[i+1] == '\\' {
					return i + 2
				}
				return 1 // no string: the rest is text
			}
		}
		return 1
	case '(', ')', '*', '+', '#', '%', ' ':
		return min(2, len(text))
	}
	if c := text[0]; c >= 0x30 && c <= 0x7e {
		return 1
	}
	return 0
}

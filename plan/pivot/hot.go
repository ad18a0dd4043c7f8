package pivot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// hotShare limits the text kept word for word because the work continues with it to a quarter of
// what is folded, so that a pivot leaves less than there was. Below that the cost of misses
// decides.
const hotShare = 4

// hotPart limits one piece to a third of that: a single long text is quoted no more often than a
// short one.
const hotPart = 3

// What a piece written in the last step before the cut is worth: in how many of a hundred pivots a
// later step would have had to fetch it again, per thousand tokens. Measured on recorded sessions
// of coding agents; the order matters, not the figures. Tool output and the assistant's own text
// are worth a tenth of it: they are long, and read once.
const (
	worthCommand = 60 // a command comes again with its options, in the same words
	worthEdit    = 25 // the next edit replaces the text of the last one
	// again multiplies the worth of a command that ran more than once, and inHand that of a file
	// that the tail works on.
	again, inHand = 3, 2
	// half is the number of steps after which a piece is worth half.
	half = 16
)

// piece is a stretch of the folded log that may be kept word for word.
type piece struct {
	section int
	order   int // of its call in the log
	age     int // steps between it and the cut
	worth   float64
	size    int             // tokens, about
	lines   func() []string // written only when it is kept
}

// Sections of hot text, in the order in which they are written.
const (
	hotCalls = iota
	hotFiles
	hotSections
)

var hotTitles = [hotSections]string{recall.CallsTitle, recall.PutTitle}

// hot returns what later steps will most likely quote from the folded messages, word for word, as
// far as it is worth its tokens: commands with their options, and what edits put into files that
// are still worked on. Text that the settings protect, an elision hides or a pin keeps is left out,
// and so are commands that only looked and did not fail: they are counted below the others. Each
// section is in the order of the log; pieces counts what is kept.
func (c Carrying) hot(pinned Pinned) (sections [hotSections][]string, pieces int) {
	left := c.hotBudget()
	if left <= 0 {
		return sections, 0
	}
	all := c.pieces(pinned)
	slices.SortStableFunc(all, func(a, b piece) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), b.order-a.order)
	})
	most := left / hotPart
	type written struct {
		piece
		lines []string
	}
	var kept []written
	for _, p := range all {
		if p.size > min(left, most)*2 {
			continue
		}
		lines := p.lines()
		n := c.Facts.Count(strings.Join(lines, "\n")) + 1
		if n > min(left, most) {
			continue
		}
		left -= n
		kept = append(kept, written{p, lines})
	}
	slices.SortStableFunc(kept, func(a, b written) int { return a.order - b.order })
	for _, p := range kept {
		sections[p.section] = append(sections[p.section], p.lines...)
	}
	if n := c.looked(); n > 0 && len(sections[hotCalls]) > 0 {
		sections[hotCalls] = append(sections[hotCalls], fmt.Sprintf("- and %d that only looked", n))
	}
	return sections, len(kept)
}

// looked counts the folded calls that only looked at something, and did not fail.
func (c Carrying) looked() (n int) {
	for i := range c.history.Calls {
		if k := &c.history.Calls[i]; trivial(k) && !c.stays(k.MessageID) {
			n++
		}
	}
	return n
}

// trivial reports whether nobody needs to know how a call was made: it changed nothing, and worked.
func trivial(k *call.Call) bool { return !k.Outcome.Failed && !k.Outcome.Refused && k.Looks() }

// hotBudget returns how many tokens hot text may take: a share of everything folded so far, so that
// the view shrinks, and at most a third of MaxKeep. Carrying less of the user's words also lowers
// it. Whether a piece is worth keeping is another question: see least.
func (c Carrying) hotBudget() int {
	folded := 0
	for _, m := range c.folded() {
		for j := range m.Parts {
			folded += c.Facts.Size(&m.Parts[j]).Total()
		}
	}
	return min(folded/hotShare, MaxKeep/3, c.Settings.UserMessages/4)
}

// least is the worth of a piece below which a request for it, now and then, is cheaper than to keep
// it.
func (c Carrying) least() float64 { return 100 * 1_000 / max(DefaultMiss, c.Settings.Miss) }

// pieces returns all pieces worth keeping, the newest first.
func (c Carrying) pieces(pinned Pinned) []piece {
	calls := c.history.Calls
	age := c.ages()
	times := map[string]int{} // how often each call was made
	for n := range calls {
		times[c.made(&calls[n])]++
	}
	var all []piece
	least := c.least()
	add := func(p piece, n int) {
		p.order, p.age = n, age[calls[n].Message]
		p.worth *= half / float64(half+p.age)
		if p.worth >= least {
			all = append(all, p)
		}
	}
	files := map[string]fileState{}
	made := map[string]bool{} // as they are written
	for n := len(calls) - 1; n >= 0; n-- {
		k := &calls[n]
		p := &c.Log[k.Message].Parts[k.Part]
		if len(k.Actions) == 0 || k.Outcome.Refused || !p.State.Final() {
			continue
		}
		key := c.made(k)
		ran := times[key]
		times[key] = 0 // older ones are the same
		free := !c.stays(k.MessageID) && !pinned.parts[p.ID] && !c.protected(p, k)
		if k.Actions[0].Op == call.Run {
			made[p.Tool+" "+string(p.State.Input)] = true
		}
		if k.Actions[0].Op == call.Run && free && ran > 0 && !trivial(k) {
			worth := float64(worthCommand)
			if ran > 1 {
				worth *= again
			}
			add(c.call(p, k, worth), n)
		}
		for i := range k.Actions {
			if a := &k.Actions[i]; a.Exact && a.Path != "" && !k.Outcome.Failed {
				if put, ok := c.put(a, files, free); ok {
					add(put, n)
				}
			}
		}
	}
	return append(all, c.earlier(made, files)...)
}

// earlier returns the pieces that an earlier carry-over hands on. They count as older than
// everything since, by as many steps as halve their worth. Calls that were made again and files
// that were written anew are left out.
func (c Carrying) earlier(made map[string]bool, files map[string]fileState) (all []piece) {
	age := half
	for _, steps := range c.ages() {
		age = max(age, steps+half)
	}
	whole := map[string]bool{}
	for name, f := range files {
		whole[call.Shorten(name, c.Directory)] = f.whole
	}
	total := len(c.before.Calls) + len(c.before.Put)
	for section, entries := range [hotSections][][]string{c.before.Calls, c.before.Put} {
		for i, lines := range entries {
			worth := worthCommand
			title := strings.TrimSuffix(strings.TrimPrefix(lines[0], "- "), " (failed)")
			if section == hotFiles {
				worth = worthEdit
				_, title, _ = strings.Cut(strings.TrimSuffix(title, ":"), " ")
				_, title, _ = strings.Cut(title, " ") // "Put into", "Written as"
			}
			p := piece{section: section, order: i - total, age: age, size: len(strings.Join(lines, "\n")) / 4,
				worth: float64(worth) * half / float64(half+age), lines: func() []string { return lines }}
			if p.worth >= c.least() && !made[title] && !(section == hotFiles && whole[title]) {
				all = append(all, p)
			}
		}
	}
	return all
}

// ages counts the steps between each message and the cut.
func (c Carrying) ages() []int {
	age := make([]int, len(c.Log))
	steps := 0
	for i := len(c.Log) - 1; i >= 0; i-- {
		age[i] = steps
		if m := &c.Log[i]; m.Role == session.Assistant && !m.IsSummary() && !c.stays(m.ID) {
			steps++
		}
	}
	return age
}

// made identifies a call by its tool and arguments, word for word.
func (c Carrying) made(k *call.Call) string {
	p := &c.Log[k.Message].Parts[k.Part]
	return p.Tool + " " + string(p.State.Input)
}

// protected reports whether a call must not be quoted: it names something that the guard protects,
// or an elision hides its arguments.
func (c Carrying) protected(p *session.Part, k *call.Call) bool {
	if c.Ledger.Has(rule.Key{Part: p.ID, Field: rule.Input}) || c.Ledger.Has(rule.Key{Part: p.ID, Field: rule.Whole}) {
		return true
	}
	if c.Guard == nil {
		return false
	}
	for i := range k.Actions {
		a := &k.Actions[i]
		for _, name := range []string{a.Path, a.To, call.Shorten(a.Path, c.Directory)} {
			if name != "" && c.Guard.Path(name) {
				return true
			}
		}
	}
	return slices.ContainsFunc(rule.Paths(p), c.Guard.Path)
}

// call returns a call as it was made.
func (c Carrying) call(p *session.Part, k *call.Call, worth float64) piece {
	failed := ""
	if k.Outcome.Failed {
		failed = " (failed)"
	}
	return piece{section: hotCalls, worth: worth, size: c.Facts.Size(p).Input, lines: func() []string {
		input := string(p.State.Input)
		if compact := p.State.Input.Clone(); strings.Contains(input, "\n") && compact.Compact() == nil {
			input = string(compact) // only the blanks between its members are others
		}
		if !strings.Contains(input, `\n`) && !strings.Contains(input, "\n") {
			return []string{"- " + p.Tool + " " + input + failed}
		}
		lines := []string{"- " + p.Tool + failed + ":"}
		for name, value := range call.Members(p.State.Input) {
			text, ok := call.Unquote(value)
			if !ok {
				text = string(value)
			}
			lines = append(lines, "  - "+name+":")
			for _, l := range quote(text) {
				lines = append(lines, "    "+l)
			}
		}
		return lines
	}}
}

// fileState is what newer calls say about a file, going backwards through the log.
type fileState struct {
	whole  bool // it was rewritten or removed: what was put into it before is gone
	inHand bool // a call that stays verbatim is about it
}

// put returns what an action put into a file, if it may still be there.
func (c Carrying) put(a *call.Action, files map[string]fileState, free bool) (p piece, ok bool) {
	f := files[a.Path]
	f.inHand = f.inHand || !free
	defer func() { files[a.Path] = f }()
	switch {
	case !a.Op.Changes() || a.Maybe: // the older text may still be there
		return piece{}, false
	case a.Op != call.Edit:
		gone := f.whole
		f.whole = true
		if a.Op != call.Create || gone {
			return piece{}, false
		}
	case f.whole:
		return piece{}, false
	}
	if !free || a.New == "" || len(a.New) >= call.Examined/2 {
		return piece{}, false
	}
	worth := float64(worthEdit)
	if f.inHand {
		worth *= inHand
	}
	verb := "Put into "
	if a.Op == call.Create {
		verb = "Written as "
	}
	title, text := verb+call.Shorten(a.Path, c.Directory)+":", a.New
	return piece{section: hotFiles, worth: worth, size: len(text) / 4, lines: func() []string {
		return append(append([]string{title, ""}, quote(text)...), "")
	}}, true
}

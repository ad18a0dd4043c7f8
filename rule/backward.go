package rule

import (
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/session"
)

// Defaults of the backward scan (S000, S001 phase 2).
const (
	DefaultProtect      = 40_000 // tokens of the newest tool output: recent reads are what the next edit is made from
	DefaultMinimum      = 20_000 // tokens: a commit rewrites the prompt from its first change on, small ones do not pay
	DefaultProtectTurns = 2      // the request being worked on, and the one before
)

// DefaultProtectedTools are the tools whose output is never pruned: a skill is an instruction, not a finding.
func DefaultProtectedTools() []string { return []string{"skill"} }

// Backward prunes old tool outputs, newest first: it protects the newest ones and the last turns, and collects what lies
// before, up to the latest summary or the first output that was pruned already (S000).
type Backward struct {
	Protect        int // tokens; see DefaultProtect
	Minimum        int // tokens; see DefaultMinimum
	Turns          int // see DefaultProtectTurns
	ProtectedTools []string

	// Letter follows the specification's program to the letter: every user message counts as a turn, what is pruned is
	// shown as Cleared, and an output goes however small it is. Otherwise only what the user wrote counts as a turn, the walk passes over
	// outputs that are elided already, the placeholder has a handle, and pins, what the window guards and outputs no larger than their
	// placeholder stay.
	Letter bool
}

// Name is "backward".
func (b Backward) Name() string { return "backward" }

// Find walks the window from its newest part to its oldest.
func (b Backward) Find(w Window) Found {
	if b.Letter {
		return b.letter(w)
	}
	var found Found
	w = w.Read()
	line, total := w.line(), 0
	for i := len(line.items) - 1; i >= 0; i-- {
		x := line.items[i]
		if x.Call == nil || !ended(x.Part) || line.now.Turn-x.Turn < b.Turns || slices.Contains(b.ProtectedTools, x.Part.Tool) || w.Ledger.Has(Key{x.Part.ID, Output}) {
			continue
		}
		if total += x.Size().Output; total <= b.Protect {
			continue
		}
		refusal, ok := w.may(b.Name(), x, Output, Age{}, false)
		switch {
		case !ok && refusal.Code != "":
			found.Refusals = append(found.Refusals, refusal)
		case ok:
			if e := b.elision(w, x); e.Saves >= w.Guard.least() {
				found.Elisions = append(found.Elisions, e)
			}
		}
	}
	return b.worth(found, Saves(found.Elisions))
}

// elision of an output, made once.
func (b Backward) elision(w Window, x *Item) Elision {
	if x.size.backward == nil || x.size.backwardFactor != w.Facts.factor {
		e := Elision{Part: x.Part.ID, Message: x.Message, Field: Output, Rule: b.Name(), Shown: w.placeholder(x, Output, ""), Because: b.because()}
		e.Saves = w.saves(x, e)
		x.size.backward, x.size.backwardFactor = &e, w.Facts.factor
		w.Facts.decided++
	}
	return *x.size.backward
}

func (b Backward) because() string {
	return fmt.Sprintf("it lies behind the newest %d tokens of tool output and the last %d turns", b.Protect, b.Turns)
}

// letter walks as the specification's program does (S000).
func (b Backward) letter(w Window) Found {
	var found Found
	turns, total, pruned := 0, 0, 0
walk:
	for i := len(w.Messages) - 1; i >= 0; i-- {
		m := &w.Messages[i]
		if m.Role == session.User {
			turns++
		}
		if turns < b.Turns {
			continue
		}
		if m.IsSummary() {
			break
		}
		for j := len(m.Parts) - 1; j >= 0; j-- {
			p := &m.Parts[j]
			if p.Type != session.ToolPart || p.State == nil || p.State.Status != session.Completed || slices.Contains(b.ProtectedTools, p.Tool) {
				continue
			}
			if w.Ledger.Has(Key{p.ID, Output}) {
				break walk
			}
			size := w.Facts.Size(p)
			if total += size.Output; total <= b.Protect {
				continue
			}
			pruned += size.Output
			found.Elisions = append(found.Elisions, Elision{
				Part: p.ID, Message: m.ID, Field: Output, Rule: b.Name(), Shown: Cleared, Because: b.because(), Saves: size.Output + size.Files - w.Facts.Count(Cleared),
			})
		}
	}
	return b.worth(found, pruned)
}

// worth drops what would be pruned when it is too little.
func (b Backward) worth(found Found, pruned int) Found {
	if len(found.Elisions) > 0 && pruned <= b.Minimum {
		found.Elisions = nil
		found.Refusals = append(found.Refusals, Refusal{
			Code: BelowMinimum, Rule: b.Name(), Tokens: pruned,
			Reason: fmt.Sprintf("%d tokens of old tool output could go; it takes more than %d to be worth a commit", pruned, b.Minimum),
		})
	}
	return found
}

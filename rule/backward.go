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
	// outputs that are elided already, the placeholder is a Handle, and pins, protected paths and outputs no larger than their
	// placeholder stay.
	Letter bool
	// Paths reports whether one of the paths that a call names is protected; nil protects none.
	Paths func(paths []string) bool
}

// Name is "backward".
func (b Backward) Name() string { return "backward" }

// Find walks the window from its newest part to its oldest.
func (b Backward) Find(w Window) Found {
	var found Found
	turns, total, pruned := 0, 0, 0
walk:
	for i := len(w.Messages) - 1; i >= 0; i-- {
		m := &w.Messages[i]
		if m.Role == session.User && (b.Letter || m.Written()) {
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
			if p.Type != session.ToolPart || p.State == nil || p.State.Status != session.Completed {
				continue
			}
			if slices.Contains(b.ProtectedTools, p.Tool) {
				continue
			}
			if w.Ledger.Has(Key{p.ID, Output}) {
				if b.Letter {
					break walk
				}
				continue
			}
			size := w.Facts.Size(p)
			total += size.Output
			if total <= b.Protect {
				continue
			}
			e := Elision{
				Part: p.ID, Message: m.ID, Field: Output, Rule: b.Name(), Shown: Cleared,
				Because: fmt.Sprintf("it lies behind the newest %d tokens of tool output and the last %d turns", b.Protect, b.Turns),
			}
			if !b.Letter {
				if refusal, stays := b.stays(w, m.ID, p); stays {
					found.Refusals = append(found.Refusals, refusal)
					continue
				}
				e.Shown = Handle(p, w.Facts.Target(p), size.Output)
			}
			e.Saves = size.Output + size.Files - w.Facts.Count(e.Shown)
			if !b.Letter && e.Saves <= 0 {
				continue
			}
			pruned += size.Output
			found.Elisions = append(found.Elisions, e)
		}
	}
	if len(found.Elisions) > 0 && pruned <= b.Minimum {
		found.Elisions = nil
		found.Refusals = append(found.Refusals, Refusal{
			Code: BelowMinimum, Rule: b.Name(), Tokens: pruned,
			Reason: fmt.Sprintf("%d tokens of old tool output could go; it takes more than %d to be worth a commit", pruned, b.Minimum),
		})
	}
	return found
}

func (b Backward) stays(w Window, message string, p *session.Part) (Refusal, bool) {
	switch {
	case w.Pinned(p.ID, message):
		return Refusal{Code: Protected, Rule: b.Name(), Part: p.ID, Reason: "pinned"}, true
	case b.Paths != nil && b.Paths(w.Facts.Paths(p)):
		return Refusal{Code: Protected, Rule: b.Name(), Part: p.ID, Reason: "its path is protected"}, true
	}
	return Refusal{}, false
}

// Package edit decides what becomes of parts that somebody names: they are discarded, distilled or
// restored. It also decides which parts that a summary stands for are quoted behind it. It stores
// nothing.
package edit

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// Request names parts by their id, the id of their call, or their handle, and says what is to
// become of them. One of its fields is set.
type Request struct {
	// Discard leaves parts out and shows a placeholder in the place of each (S002 "hash
	// injection"): what a call gave back, and long texts among its arguments. What a rule left out
	// already is done. A summary that Distill put in the place of a part goes.
	Discard []string
	// Words lets Discard leave out text that the user wrote, and text that is no longer than its
	// placeholder: somebody named whole messages or turns, and has seen what goes.
	Words bool
	// Distill shows a summary in the place of the parts that it was made from, in every later view
	// until it is taken back. Of several parts with one summary the largest shows it; the others
	// name that part. A summary that is larger than what it would replace is refused. One for a
	// part that was distilled before replaces the older summary, unless the view would grow. A part
	// that a rule left out must be restored first.
	Distill []Distillation
	// Restore shows parts whole again. With a part that shows the summary of several, the others
	// come back too. What a compaction folded is quoted behind the summary, word for word and with
	// its place in the session; there it stays, also behind later summaries, as long as there is
	// room.
	Restore []string
	// Fields takes single elisions back and leaves others of the same parts: what an older commit
	// did to the arguments of a call stands when a newer one about its output is taken back. What
	// is not elided is no error. There is no receipt of it.
	Fields []rule.Key
	// All does nothing unless all targets can be done, and there is something to do about each: the
	// first for which that is not so is an error. Already for a part that is as it was asked to be;
	// NotFound, NotKept, Undone, TooLarge and others for one that cannot be.
	All bool
}

// Distillation is a summary with the parts that it stands for.
type Distillation struct {
	Targets []string `json:"targets"` // part ids, call ids or handles
	Summary string   `json:"summary"`
}

// Target is what became of one part that was named. OK says that it is now as it was asked to be,
// also when it was so already.
type Target struct {
	Target string `json:"target"`          // the target as it was given
	Handle string `json:"handle,omitzero"` // short name of the part that it names
	Part   string `json:"part,omitzero"`   // id of the part that it names
	OK     bool   `json:"ok"`              // whether it is now as requested
	// Why not, or a remark: "already", "not-found", "protected", "not-final", "recent",
	// "before-pivot", "too-large", "not-kept", "undone", "unprofitable", "covers", "bad-input".
	Code   rule.Code `json:"code,omitzero"`
	Reason string    `json:"reason,omitzero"` // the same as a sentence
	// Tokens by which the view became smaller; negative if something is shown again.
	Saved int `json:"saved"`
}

// Ops name what a request asks for, in receipts and errors.
const (
	Discard = rule.Discard
	Distill = rule.Distill
	Restore = "restore"
)

// Op is what a request asks for, "" when that is nothing, or several things.
func (r Request) Op() string {
	switch {
	case len(r.Distill)+len(r.Restore)+len(r.Fields) == 0 && len(r.Discard) > 0:
		return Discard
	case len(r.Discard)+len(r.Restore)+len(r.Fields) == 0 && len(r.Distill) > 0:
		return Distill
	case len(r.Discard)+len(r.Distill) == 0 && len(r.Restore) > 0 != (len(r.Fields) > 0):
		return Restore
	}
	return ""
}

// Decision is what a request comes to: one commit for all targets that can be done.
type Decision struct {
	Op       string
	Targets  []Target       // in the order in which they were given
	Commit   []rule.Elision // to be committed
	Replaced []rule.Elision // that stand, and will not
	Quote    []string       // parts before the window to be shown again
	Notes    []string
	Failed   *Target // the first target about which nothing can or need be done, nil when there is none
}

// Changes reports whether there is anything to store.
func (d *Decision) Changes() bool { return len(d.Commit)+len(d.Replaced)+len(d.Quote) > 0 }

// Decide decides what becomes of the parts that a request names. Every target has its own result:
// one that cannot be done holds up no other.
func Decide(s *report.Session, r Request) Decision {
	b := newBatch(s)
	b.Op, b.next, b.words = r.Op(), s.State.Ledger, r.Words
	switch {
	case len(r.Fields) > 0:
		for _, el := range s.State.Ledger.All() {
			if slices.Contains(r.Fields, el.Key()) {
				b.Replaced = append(b.Replaced, el)
			}
		}
	case b.Op == Discard:
		b.resolve(r.Discard)
		b.discard()
	case b.Op == Distill:
		for _, d := range r.Distill {
			b.resolve(d.Targets)
		}
		from := 0
		for _, d := range r.Distill {
			b.distill(b.targets[from:from+len(d.Targets)], strings.TrimSpace(d.Summary))
			from += len(d.Targets)
		}
	case b.Op == Restore:
		b.resolve(r.Restore)
		b.restore()
	}
	for _, t := range b.targets {
		b.Targets = append(b.Targets, t.Target)
		if b.Failed == nil && t.Code != "" && !t.twice {
			b.Failed = &t.Target
		}
	}
	if b.Op != Restore && b.Changes() {
		b.ownArguments()
		if s.Model.BoundReasoning {
			b.Commit = append(b.Commit, s.Planner.Unbound(slices.Concat(b.Commit, b.Replaced))...)
		}
	}
	return b.Decision
}

// batch is a decision that is being made.
type batch struct {
	Decision
	s       *report.Session
	window  []session.Message
	at      map[string]int // position in the window of each message
	marks   rule.Window
	words   bool // as Request.Words
	asked   int  // position in the window of the newest message that the user wrote, -1 without one
	targets []*target
	named   map[string]string // by part, the name that was given first
	next    rule.Ledger       // as it will be
	shown   Quotations        // what is quoted already
}

// target is one part that was named.
type target struct {
	Target
	message *session.Message
	part    *session.Part
	settled bool // there is nothing more to decide
	twice   bool // it was named before
}

func newBatch(s *report.Session) *batch {
	b := &batch{s: s, window: s.View.Window(), at: map[string]int{}, asked: -1, named: map[string]string{}}
	for i := range b.window {
		b.at[b.window[i].ID] = i
		if b.window[i].Written() {
			b.asked = i
		}
	}
	b.shown = QuotedIn(b.window)
	b.marks = rule.Window{
		Messages: b.window, Ledger: s.State.Ledger, Pins: s.State.Pins, Facts: s.Facts, Guard: s.Policy.Guard,
		Handles: s.Handles,
	}
	return b
}

// refuse says why an agent may not leave out a part, nil when it may.
func (b *batch) refuse(m *session.Message, p *session.Part) *rule.Refusal {
	no := func(code rule.Code, reason string) *rule.Refusal {
		return &rule.Refusal{Code: code, Part: p.ID, Reason: reason}
	}
	at, in := b.at[m.ID]
	_, quotes := m.Kept()
	switch {
	case !in:
		return no(rule.BeforePivot, "it lies before the last compaction: the summary stands for it")
	case m.IsSummary() || at == 0 && view.Pivot(b.window) != nil:
		return no(rule.Protected, "it belongs to the summary")
	case b.marks.Pinned(p.ID, m.ID):
		return no(rule.Protected, "it is pinned")
	case quotes:
		return no(rule.Protected, "it was restored or pinned; undo that instead")
	case m.Role == session.User && p.Type != session.FilePart && !(b.words && p.Type == session.TextPart):
		return no(rule.Protected, "it is what the user wrote")
	}
	switch p.Type {
	case session.ToolPart:
		if p.State == nil || !p.State.Final() {
			return no(rule.NotFinal, "the call has not ended")
		}
		if why := b.marks.Guard.Stays(p, b.s.Facts.Call(p, b.directory(at))); why != "" {
			return no(rule.Protected, why)
		}
	case session.ReasoningPart:
		if at > b.asked {
			return no(rule.Recent, "reasoning stays until the user has written again")
		}
	case session.FilePart:
		if !p.IsMedia() && !p.Sent() {
			return no(rule.Unprofitable, "it takes no tokens of its own")
		}
	case session.TextPart:
		if p.Ignored {
			return no(rule.Unprofitable, "the model does not see it")
		}
	default:
		return no(rule.BadInput, "it has no content to leave out")
	}
	return nil
}

func (t *target) refuse(code rule.Code, reason string) {
	t.settled, t.OK, t.Code, t.Reason = true, false, code, reason
}

func (t *target) already(reason string) {
	t.settled, t.OK, t.Code, t.Reason = true, true, rule.Already, reason
}

// resolve finds the parts that are named.
func (b *batch) resolve(names []string) {
	for _, name := range names {
		t := &target{Target: Target{Target: name}}
		b.targets = append(b.targets, t)
		t.message, t.part = report.Find(b.s.Log, b.s.Handles, strings.TrimSpace(name))
		if t.part == nil {
			reason := "no part has this handle; the list of handles says which there are"
			if near := b.s.Handles.Near(name); near != "" {
				reason = "no part has this handle; the nearest is " + near
			}
			t.refuse(rule.NotFound, reason)
			continue
		}
		t.Part, t.Handle = t.part.ID, b.s.Handles.Of(t.part)
		if first, twice := b.named[t.Part]; twice {
			t.twice = true
			t.already("the same as " + first)
			continue
		}
		b.named[t.Part] = name
		if b.Op == Restore {
			continue
		}
		if r := b.refuse(t.message, t.part); r != nil {
			t.refuse(r.Code, r.Reason)
		}
	}
}

// directory is the folder in which the calls of a message ran, as the log says it last.
func (b *batch) directory(at int) string {
	for i := at; i >= 0; i-- {
		if p := b.window[i].Path; p != nil && p.Cwd != "" {
			return p.Cwd
		}
	}
	return ""
}

// mainly is the elision of what a part mainly is, in a ledger: not that of its arguments.
func mainly(ledger rule.Ledger, p *session.Part) (rule.Elision, bool) {
	for _, el := range ledger.Of(p.ID) {
		if el.Field != rule.Input {
			return el, true
		}
	}
	return rule.Elision{}, false
}

// shownTokens is the size of a part in the view with a ledger, plainTokens that without its label.
func (b *batch) shownTokens(p *session.Part, ledger rule.Ledger) int {
	return b.s.View.PartTokens(p, ledger, b.s.Facts)
}

func (b *batch) plainTokens(p *session.Part, ledger rule.Ledger) int {
	return view.Part(p, ledger, b.s.Facts).Total()
}

func keysOf(elisions []rule.Elision) []rule.Key {
	keys := make([]rule.Key, len(elisions))
	for i, el := range elisions {
		keys[i] = el.Key()
	}
	return keys
}

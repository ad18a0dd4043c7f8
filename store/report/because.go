package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// Protection is a way in which a part is kept.
type Protection string

const (
	ByPin    Protection = "pin"
	ByTool   Protection = "tool"   // the tool is protected
	ByPath   Protection = "path"   // the file that it is about is
	ByAge    Protection = "age"    // too recent for the rule that found it
	ByTurns  Protection = "turns"  // it belongs to the last turns
	ByNewest Protection = "newest" // it is among the newest tool output
	ByTail   Protection = "tail"   // a compaction kept it word for word
)

// Kept says what protects a part.
type Kept struct {
	// "pin", "tool", "path", "age" (too new for the rule that found it), "turns" (in the last
	// turns), "newest" (the newest tool output) or "tail" (in the tail of a compaction).
	By Protection `json:"by"`
	// The name or pattern that matched, or the id of the marker.
	What   string `json:"what,omitzero"`
	Switch string `json:"switch,omitzero"` // the configuration key that says so
}

// because says in one sentence why a part stands where it does, and how to change that.
func (x *explainer) because(of *Explanation, p *session.Part, at int) {
	of.Kept = x.kept(of, p, at)
	switch {
	case of.Zone == Folded && x.undone(at) != "":
		of.Because, of.Undo = "it came with something that was undone", "winnow redo "+x.s.id()+" "+x.undone(at)
	case of.Quoted != nil:
		of.Because, of.Undo = x.again(of.Quoted), of.Quoted.Undo
	case of.Zone == Folded:
		of.Because, of.Undo = "the summary of "+x.window[0].ID+" stands for everything before it",
			"winnow undo "+x.s.id()+" "+x.window[0].ID
	case of.Zone == Summary:
		of.Because, of.Undo = "it is the summary that the window begins with",
			"winnow undo "+x.s.id()+" "+x.window[0].ID
	case of.Zone == Pruned:
		of.Rule, of.Because, of.Undo = of.Elisions[0].Rule, sentences(of.Elisions, ""),
			"winnow restore "+x.s.id()+" "+nameOf(of)
	case isKept(&x.s.Log[at]):
		of.Because, of.Undo = x.quotes(&x.s.Log[at])
	case of.Zone == Prunable:
		of.Rule, of.Because = of.Candidates[0].Rule, sentences(of.Candidates, " would leave it out: ")
	case of.Pinned && !x.pins.Pinned(of.Part):
		of.Because, of.Undo = "its message is pinned", "winnow protect --remove "+x.s.id()+" "+of.Message
	case of.Pinned:
		of.Because, of.Undo = "it is pinned", "winnow protect --remove "+x.s.id()+" "+of.Part
	case len(of.Refusals) > 0:
		of.Rule, of.Because = of.Refusals[0].Rule, refused(of)
	default:
		of.Because = x.untouched(of, p)
	}
}

// again says where a folded part is shown again, and since when.
func (x *explainer) again(q *Quoted) string {
	did := "restored"
	if q.Pin {
		did = "pinned"
	}
	if q.Time > 0 {
		did += " on " + time.UnixMilli(int64(q.Time)).UTC().Format("2006-01-02 15:04 UTC")
	}
	return fmt.Sprintf("folded behind pivot %s, %s: message %s quotes it; undone with: %s", x.window[0].ID, did,
		q.Message, q.Undo)
}

// quotes says what a quotation is there for, and how it goes.
func (x *explainer) quotes(m *session.Message) (because, undo string) {
	n, _ := m.Kept()
	for _, part := range n.Quotes {
		if q := x.quoted[part]; q != nil {
			undo = q.Undo
		}
	}
	switch parts := x.refs(n.Quotes); {
	case len(parts) == 0:
		return "it is a text that is pinned", "winnow undo " + x.s.id() + " " + n.Kept
	case n.Pin:
		return "it quotes what is pinned and was folded: " + list(parts, 2), undo
	default:
		return "it quotes what was folded and restored: " + list(parts, 2), undo
	}
}

// undone is the marker of the undone compaction that the message at a position came with, "" for
// most.
func (x *explainer) undone(at int) string {
	m := &x.s.Log[at]
	kept, _ := m.Kept()
	for _, marker := range []string{m.ID, m.ParentID, m.Companion(), kept.Kept} {
		if x.s.State.Undone[marker] && (marker != m.ParentID || m.IsSummary()) {
			return marker
		}
	}
	return ""
}

func nameOf(of *Explanation) string {
	if of.Handle != "" {
		return of.Handle
	}
	return of.Part
}

// sentences are the reasons of elisions with what makes the part redundant, each once.
func sentences(reasons []Reason, verb string) string {
	var all []string
	for i := range reasons {
		r := &reasons[i]
		text := r.Because
		if verb != "" {
			text = r.Rule + verb + text
		}
		if len(r.Covering) > 0 {
			text += ": " + list(r.Covering, 2)
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// list names parts, the first few of them.
func list(refs []Ref, most int) string {
	names := make([]string, 0, most+1)
	for i, r := range refs {
		if i == most {
			names = append(names, fmt.Sprintf("and %s more", quantity.Number(len(refs)-most)))
			break
		}
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}

// refused says why the rule that found a part first let it stay.
func refused(of *Explanation) string {
	r := of.Refusals[0]
	reason := r.Reason
	if reason == "" {
		reason = "it stays (" + string(r.Code) + ")"
	}
	if r.Code == rule.Covers {
		if others := slices.Concat(of.StandsFor, of.WouldStandFor); len(others) > 0 {
			reason += ": " + list(others, 2)
		}
	}
	if r.Rule == "" {
		return reason
	}
	return r.Rule + " would leave it out, but " + reason
}

// untouched says why no rule would leave a part out that none refused either.
func (x *explainer) untouched(of *Explanation, p *session.Part) string {
	if of.Kept != nil {
		return x.protection(of)
	}
	switch {
	case p.Type != session.ToolPart && of.Tokens == 0:
		return "there is nothing in it that a model reads"
	case of.Zone == Talk:
		return "it was said, not looked up: no rule leaves it out"
	case p.State == nil || !p.State.Final():
		return "the call has not ended"
	}
	for _, r := range x.general {
		if r.Code == rule.BelowMinimum && p.State.Status == session.Completed {
			return r.Reason
		}
	}
	return "no rule found a reason to leave it out"
}

// protection is what protects a part, as a sentence.
func (x *explainer) protection(of *Explanation) string {
	scan, _ := x.s.Policy.Backward()
	switch k := of.Kept; k.By {
	case ByTool:
		return "the tool " + of.Tool + " is protected (" + k.What + ")"
	case ByPath:
		return "the file that it is about is protected (" + k.What + ")"
	case ByTurns:
		if scan.Turns == 1 {
			return "it belongs to the last turn, which stays whole"
		}
		return fmt.Sprintf("it belongs to the last %d turns, which stay whole", scan.Turns)
	case ByNewest:
		return fmt.Sprintf("it is among the newest %s tokens of tool output, which stay", quantity.Number(scan.Protect))
	case ByTail:
		return "the compaction " + k.What + " kept it word for word"
	}
	return "it is protected"
}

// kept is what protects a part, the strongest first; nil when nothing does, or when it is not shown
// whole.
func (x *explainer) kept(of *Explanation, p *session.Part, at int) *Kept {
	switch {
	case of.Zone == Folded || of.Zone == Summary || of.Zone == Pruned || of.Zone == Prunable:
		return nil
	case of.Pinned:
		return &Kept{By: ByPin}
	}
	if p.Type == session.ToolPart {
		if k := x.guarded(of, p); k != nil {
			return k
		}
	}
	for _, r := range of.Refusals {
		if r.Code == rule.Recent {
			return &Kept{By: ByAge, Switch: policy.AgeKey(r.Rule, x.s.Policy.Name)}
		}
	}
	switch {
	case len(of.Refusals) > 0:
	case of.Zone == ActiveNow:
		return &Kept{By: ByTurns, Switch: "compaction.protectTurns"}
	case x.newest[p.ID]:
		return &Kept{By: ByNewest, Switch: "compaction.protect"}
	case x.marker >= 0 && at < x.marker && of.Tokens > 0:
		return &Kept{By: ByTail, What: x.window[0].ID, Switch: "compaction.keep"}
	}
	return nil
}

// guarded is the protection of a call by its tool or by a path.
func (x *explainer) guarded(of *Explanation, p *session.Part) *Kept {
	guard := x.s.Policy.Guard
	if guard == nil {
		return nil
	}
	for _, glob := range guard.Tools {
		if (&rule.Guard{Tools: []string{glob}}).Tool(p.Tool) {
			return &Kept{ByTool, glob, "compaction.protectedTools"}
		}
	}
	paths := x.s.Facts.Paths(p)
	for _, r := range of.Refusals {
		if path, ok := strings.CutSuffix(r.Reason, " is protected"); ok && r.Code == rule.Protected {
			paths = append(slices.Clip(paths), path)
		}
	}
	for _, path := range paths {
		for _, glob := range guard.Paths {
			if (&rule.Guard{Paths: []string{glob}}).Path(path) {
				return &Kept{ByPath, glob, "compaction.protectedPaths"}
			}
		}
	}
	return nil
}

func isKept(m *session.Message) bool {
	_, kept := m.Kept()
	return kept
}

package stories

import (
	"context"
	"fmt"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Points of the specification that nothing else holds: docs/specification.md names these tests.

// When a turn has ended old outputs go (S001 phase 2), unless pruning is off (S000, the first
// question of its state machine).
func TestEndTurn_prunesNothingWherePruningIsOff(t *testing.T) {
	for _, on := range []bool{true, false} {
		s := withPolicy(policy.Classic)
		s.Compaction.Prune = on
		l := newLab(t, winnow.Config{Models: small(400_000, 4000), Settings: s})
		l.user("Read it all.")
		for _, file := range []string{"a.go", "b.go", "c.go"} {
			l.reads(file, 30_000)
		}
		for range 2 {
			l.user("And now?")
			l.says("It is read.")
		}
		out, err := l.EndTurn(context.Background(), l.id)
		if err != nil {
			t.Fatal(err)
		}
		if (out.Pruned != nil) != on {
			t.Errorf("pruning on %v: %+v", on, out.Pruned)
		}
		if !on && (len(out.Refusals) != 1 || out.Refusals[0].Code != rule.Disabled) {
			t.Errorf("the refusals are %+v", out.Refusals)
		}
	}
}

// Where pruning makes enough room nothing is folded, and where it does not a summary follows (S004,
// tiers).
func TestObserve_prunesFirstAndFoldsWhereThatIsNotEnough(t *testing.T) {
	for _, again := range []bool{true, false} {
		l := newLab(t, winnow.Config{Models: small(16_000, 4000)})
		l.user("Read it.")
		for i := range 30 {
			file := "same.go"
			if !again {
				file = fmt.Sprintf("f%d.go", i)
			}
			l.reads(file, 270)
		}
		out, err := l.Observe(context.Background(), l.id, session.Usage{Input: 8_500, Output: 100})
		if err != nil {
			t.Fatal(err)
		}
		if pruned, folded := out.Pruned != nil, out.Compacted != nil; pruned != again || folded == again {
			t.Errorf("the same file each time %v: pruned %v, folded %v, verdict %+v", again, pruned, folded,
				out.Verdict)
		}
	}
}

// A summary has the members of its schema (S001, phase 3).
func TestCompact_theSummaryHasWhatItsSchemaNames(t *testing.T) {
	scribe := &scripted{answers: []any{pivot.Answer{Text: "just words", Model: "p/scribe",
		Usage: session.Usage{Input: 100, Output: 10}, Cost: 0.25}}}
	l := newLab(t, winnow.Config{Settings: withPolicy(policy.Classic), Summarizer: scribe})
	l.user("Read it.")
	l.append(session.Message{
		MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "p", ModelID: "m", Finish: "stop",
			Path: &session.Path{Cwd: "/home/dev/larder", Root: "/home/dev"}},
		Parts: []session.Part{{Type: session.TextPart, Text: "It is read."}},
	})
	l.work(3)
	r := l.compact(winnow.CompactOptions{})
	log, _, err := l.Session(context.Background(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	at := len(log.Messages) - 1
	marker, s := log.Messages[at-1], log.Messages[at]
	if s.ID != r.Summary || s.ParentID != marker.ID || !(log.Messages[at-2].ID < marker.ID && marker.ID < s.ID) {
		t.Errorf("ids: the last message %s, the marker %s, the summary %s, which answers %s", log.Messages[at-2].ID,
			marker.ID, s.ID, s.ParentID)
	}
	if s.SessionID != l.id || s.Role != session.Assistant || s.Mode != "compaction" || s.Agent != "compaction" ||
		!s.IsSummary() || s.ProviderID != "p" || s.ModelID != "m" || s.Time.Created <= 0 {
		t.Errorf("the summary is %+v", s.MessageInfo)
	}
	if s.Path == nil || s.Path.Cwd != "/home/dev/larder" || s.Path.Root != "/home/dev" {
		t.Errorf("its folders are %+v", s.Path)
	}
	if s.Tokens == nil || s.Tokens.Input != 100 || s.Tokens.Output != 10 || s.Cost == nil || *s.Cost != 0.25 {
		t.Errorf("it took %+v for %v", s.Tokens, s.Cost)
	}
}

package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/token"
)

// A message further back than the rules compare is replaced: they find in the log what they would
// find in it at once.
func TestUpdate_farBackIsSeenByTheRules(t *testing.T) {
	e := open(t, winnow.Config{Counter: token.Chars4{}})
	ctx := t.Context()
	id, err := e.Create(ctx, session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Repeat("A line of what was fetched.\n", 100)
	message := func(i int, output string) session.Message {
		mid := fmt.Sprintf("msg_%04d", i)
		m := session.Message{MessageInfo: session.MessageInfo{ID: mid, SessionID: id, Role: session.Assistant,
			Finish: "tool-calls"}}
		m.Parts = []session.Part{{ID: mid + "p", MessageID: mid, SessionID: id, CallID: "call_" + mid,
			Type: session.ToolPart, Tool: "webfetch", State: &session.ToolState{
				Status: session.Completed, Input: []byte(fmt.Sprintf(`{"url":"https://page%d.example"}`, i/2)),
				Output: output,
			}}}
		return m
	}
	for i := range 3 * rule.Noticed {
		if err := e.Append(ctx, id, message(i, page)); err != nil {
			t.Fatal(err)
		}
	}
	find := func(facts *rule.Facts) []string {
		parts, err := winnow.Look(ctx, e.Engine, id, func(s *report.Session) (parts []string, err error) {
			w := rule.Window{Messages: s.Log, Facts: facts}
			if facts == nil {
				w.Facts = s.Facts
			}
			for _, el := range (&rule.URLs{}).Find(w).Elisions {
				parts = append(parts, el.Part)
			}
			return parts, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return parts
	}
	if before := find(nil); !slices.Contains(before, "msg_0006p") {
		t.Fatalf("found %v, want msg_0006p among them", before)
	}
	if err := e.Update(ctx, id, message(7, "Gone.")); err != nil { // no page any more: the one before stays
		t.Fatal(err)
	}
	if diff := cmp.Diff(find(rule.NewFacts(token.Chars4{})), find(nil)); diff != "" {
		t.Errorf("after an update far back (-a fresh look +the engine's):\n%s", diff)
	}
}

package stories

import (
	"context"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

func TestRestoreFields_leavesOtherFieldsOfThePart(t *testing.T) {
	part := session.Part{ID: "p2", MessageID: "m2", SessionID: "ses_1", Type: session.ToolPart, Tool: "bash",
		CallID: "c1",
		State: &session.ToolState{Status: session.Completed, Input: []byte(`{"command":"make a rather long thing"}`),
			Output: "made"}}
	log := []session.Message{
		{MessageInfo: session.MessageInfo{ID: "m1", SessionID: "ses_1", Role: session.User},
			Parts: []session.Part{{ID: "p1", MessageID: "m1", SessionID: "ses_1", Type: session.TextPart,
				Text: "Make it."}}},
		{MessageInfo: session.MessageInfo{ID: "m2", SessionID: "ses_1", Role: session.Assistant, Finish: "stop"},
			Parts: []session.Part{part}},
	}
	older := rule.Elision{Part: "p2", Message: "m2", Field: rule.Input, Rule: "inputs", Shown: `{"command":"…"}`,
		Saves: 5, Time: 1000}
	newer := rule.Elision{Part: "p2", Message: "m2", Field: rule.Output, Rule: "backward", Shown: "…", Saves: 1,
		Time: 9000}
	e, err := launch(winnow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	if err := e.Import(ctx, session.Session{Info: session.Info{ID: "ses_1"}, Messages: log},
		rule.NewLedger(older, newer), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := e.RestoreFields(ctx, "ses_1", newer.Key()); err != nil || len(got) != 1 || got[0] != newer {
		t.Fatalf("RestoreFields = %+v, %v; want the newer elision alone", got, err)
	}
	_, state, err := e.Session(ctx, "ses_1")
	if err != nil {
		t.Fatal(err)
	}
	if all := state.Ledger.All(); len(all) != 1 || all[0] != older {
		t.Errorf("the ledger has %+v, want the older elision alone", all)
	}
	if _, err := e.RestoreFields(ctx, "ses_1", newer.Key()); winnow.CodeOf(err) != winnow.Already {
		t.Errorf("restored again: %v, want the code %s", err, winnow.Already)
	}
}

package command

import (
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// What the log shows already is not left out of the product's file again; all else is.
func TestUnsent_leavesOutOnlyWhatTheLogHasWhole(t *testing.T) {
	result := func(id, output string) session.Part {
		return session.Part{ID: id, Type: session.ToolPart, Tool: "Bash",
			State: &session.ToolState{Status: session.Completed, Output: output}}
	}
	log := session.Session{Messages: []session.Message{{
		MessageInfo: session.MessageInfo{ID: "m", Role: session.Assistant},
		Parts:       []session.Part{result("first", "short"), result("later", "all of it")},
	}}}
	left := func(part string, field rule.Field) rule.Elision {
		return rule.Elision{Part: part, Message: "m", Field: field, Rule: "test", Shown: "short"}
	}
	ledger := rule.NewLedger(left("first", rule.Output), left("first", rule.Input), left("later", rule.Output),
		left("gone", rule.Output))
	got := unsent(log, ledger)
	for key, want := range map[rule.Key]bool{
		{Part: "first", Field: rule.Output}: false,
		{Part: "first", Field: rule.Input}:  true,
		{Part: "later", Field: rule.Output}: true,
		{Part: "gone", Field: rule.Output}:  true,
	} {
		if got.Has(key) != want {
			t.Errorf("%v: %v, want %v", key, got.Has(key), want)
		}
	}
}

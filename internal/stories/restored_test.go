package stories

import (
	"context"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
)

// What somebody restored stays until somebody asks for a pruning.
func TestRestore_aRestoredPartIsNotElidedByTheNextTurn(t *testing.T) {
	ctx := context.Background()
	settings := settings.Default()
	settings.Schedule, settings.Compaction.Minimum = "eager", 0
	e, err := launch(winnow.Config{Settings: &settings})
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.Create(ctx, session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	l := ruletest.New()
	page := strings.Repeat("High water at noon.\n", 50)
	old := l.Call("webfetch", ruletest.Args{"url": "https://tides.example/"}, page)
	l.Call("webfetch", ruletest.Args{"url": "https://tides.example/"}, page)
	l.Quiet(6)
	if err := e.Append(ctx, id, l.Messages...); err != nil {
		t.Fatal(err)
	}
	elided := func(when string, o winnow.Outcome, err error) bool {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		x, err := e.Explain(ctx, id, old)
		if err != nil {
			t.Fatal(err)
		}
		return len(x.Elisions) > 0
	}
	o, err := e.EndTurn(ctx, id)
	if !elided("at the end of a turn", o, err) {
		t.Fatal("the older fetch was not elided")
	}
	if _, err := e.Restore(ctx, id, old); err != nil {
		t.Fatal(err)
	}
	o, err = e.EndTurn(ctx, id)
	if elided("at the end of the next turn", o, err) {
		t.Error("what was restored was elided again")
	}
	o, err = e.Prune(ctx, id, false)
	if !elided("on demand", o, err) {
		t.Error("a pruning on demand left it")
	}
}

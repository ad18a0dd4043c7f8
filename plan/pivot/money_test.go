package pivot_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
)

func TestNewMoney(t *testing.T) {
	sonnet := model.Default().Lookup("anthropic/claude-sonnet-4-5") // reading 0.30, writing 3.75 dollars
	none, paid := 0.0, 0.03
	near := func(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 1e-9 }
	m := pivot.NewMoney(sonnet, pivot.Change{Before: 100_000, After: 60_000, Rewritten: 20_000}, &paid)
	// (0.069 + 0.03) / 0.012 = 8.25
	if !near(m.Step, 0.012) || !near(m.Rewriting, 0.069) || m.Steps == nil || *m.Steps != 9 {
		t.Errorf("got %+v", m)
	}
	if m = pivot.NewMoney(sonnet, pivot.Change{Before: 210_000, After: 150_000}, &none); !near(m.Step, 0.126-0.045) ||
		*m.Steps != 0 {
		t.Errorf("from the tier of long prompts to the usual one: %+v", m)
	}
	if m = pivot.NewMoney(sonnet, pivot.Change{Before: 10, After: 20}, &none); m.Steps != nil ||
		!strings.Contains(m.Words(words), "never pays") {
		t.Errorf("what grew: %s", m.Words(words))
	}
	if m = pivot.NewMoney(sonnet, pivot.Change{Before: 100_000, After: 60_000}, nil); m.Steps != nil ||
		!strings.Contains(m.Words(words), "the summary unknown") {
		t.Errorf("a summary of which nobody knows the price: %s", m.Words(words))
	}
	uncached := sonnet
	uncached.Cache.Lifetime = 0
	if m = pivot.NewMoney(uncached, pivot.Change{Before: 100_000, After: 60_000, Rewritten: 20_000},
		&none); !near(m.Step, 0.12) || !near(m.Rewriting, 0) {
		t.Errorf("without a cache: %+v", m)
	}
	m = pivot.NewMoney(model.Default().Lookup("loom/l1"),
		pivot.Change{Before: 100_000, After: 60_000, Rewritten: 20_000}, &none)
	if text := m.Words(words); m.Step != nil || m.Rewriting != nil || m.Steps != nil ||
		!strings.Contains(text, "unknown: no price for loom/l1") || strings.Contains(text, "$") {
		t.Errorf("without a price: %s", text)
	}
}

func words(amount float64) string { return fmt.Sprintf("$%.4f", amount) }

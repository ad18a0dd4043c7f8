package bill_test

import (
	"testing"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
)

// grows plays a conversation of which all but 20,000 tokens are left out from its eleventh request
// on; each request adds 4,000 tokens of the provider's, which are 3,000 of ours.
func grows(requests int, client string, seen bill.Habit) (sum bill.Estimate, end bill.Conversation) {
	m := model.Default().Lookup("anthropic/claude-sonnet-4-5")
	var c bill.Conversation
	left := 0
	for i := range requests {
		u := session.Usage{Output: 100}
		prompt := (i + 1) * 4_000
		if i >= 10 {
			left, prompt = (i+1)*3_000-15_000, 20_000
		}
		u.Cache.Read = max(0, min(c.Sent, prompt-4_000))
		u.Cache.Write = prompt - u.Cache.Read
		var w bill.Without
		c, w = c.Next(bill.Sent{Usage: u, New: 3_000, Left: left}, client, seen, m)
		sum = sum.Plus(w.Cost)
	}
	return sum, c
}

func TestNext_isCappedWhereTheClientCompacts(t *testing.T) {
	for _, c := range []struct {
		name, client string
		seen         bill.Habit
		requests     int
		most, least  int // tokens of the last prompt without winnow
		range_       bool
	}{
		{"before anything compacts the range is empty", "tworuns", bill.Habit{}, 20, 82_000, 78_000, false},
		{"nobody knows", "tworuns", bill.Habit{}, 45, 25_000, 10_000, true},
		{"Claude Code is known", "claude-cli", bill.Habit{}, 45, 25_000, 10_000, false},
		{"it was seen", "tworuns", bill.Habit{Under: 99_000, At: 101_000, Keep: 3_000, Summary: 2_000}, 30, 24_000, 16_000, false},
		{"a wide guess is a range", "tworuns", bill.Habit{Under: 80_000, At: 101_000, Keep: 3_000, Summary: 2_000}, 30, 40_000, 16_000, true},
	} {
		sum, end := grows(c.requests, c.client, c.seen)
		if end.Likely > c.most || end.Likely < c.least {
			t.Errorf("%s: the last prompt is %d tokens, of %d", c.name, end.Likely, end.Whole)
		}
		if low, high := sum.Range(); (low < high) != c.range_ || sum.Likely < low || sum.Likely > high || low <= 0 {
			t.Errorf("%s: between %v and %v, %v most likely", c.name, low, high, sum.Likely)
		}
	}
}

// Nothing is compared behind the end of the window, and no prompt is priced at a tier above it.
func TestNext_endsAtTheWindow(t *testing.T) {
	short, _ := grows(50, "tworuns", bill.Habit{})
	long, end := grows(120, "tworuns", bill.Habit{})
	if end.Late >= 0 || end.Likely > 200_000 || end.Whole < 400_000 {
		t.Errorf("%+v", end)
	}
	behind, ended := long.Likely+long.Late, short.Likely+short.Late // there the requests that were sent count
	if ended < 1 || behind-ended > 70*(20_000*3.75e-6+100*15e-6) {
		t.Errorf("$%.2f behind $%.2f", behind, ended)
	}
}

func TestResized_keepsTheShareOfAnHour(t *testing.T) {
	u := session.Usage{Input: 3, Output: 50, Cache: session.CacheUsage{Read: 1_000, Write: 8_000, Write1h: 8_000}}
	got := bill.Resized(u, 3_000, 1_000)
	if got.Cache.Write1h != got.Cache.Write || !bill.Usage(got).Plausible() || got.Prompt() != 3_000 {
		t.Errorf("%+v", got)
	}
}

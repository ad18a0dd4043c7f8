package pivot

import (
	"strings"
	"testing"
)

func TestAsks_tellsTheBudgetInWordsBehindTheInstruction(t *testing.T) {
	for _, c := range []struct {
		budget int
		own    bool
		want   string
	}{
		{8000, false, "WRITE\n\nUse at most about 4000 words."},
		{1299, false, "WRITE\n\nUse at most about 600 words."},
		{64, false, "WRITE\n\nUse at most about 32 words."},
		{8000, true, "WRITE"},
		{0, false, "WRITE"},
	} {
		r := Request{System: "SYSTEM", Instruction: "WRITE", Budget: c.budget, OwnLength: c.own}
		if got := r.Asks(); got != c.want {
			t.Errorf("a budget of %d asks %q, want %q", c.budget, got, c.want)
		}
		if got := r.Aligned(); !strings.HasPrefix(got, "SYSTEM\n\n") || !strings.HasSuffix(got, "\n\n"+c.want) {
			t.Errorf("a budget of %d asks %q behind a conversation, want it to end in %q", c.budget, got, c.want)
		}
	}
}

package fact_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/pivot/fact"
	"github.com/winnowhq/winnow/summarize/offline"
)

// untrue are pieces of recorded or computed summaries that really are nowhere in their sessions.
var untrue = map[string]bool{}

// corpus reads the sessions that are at hand.
func corpus(t testing.TB) []*recorded {
	t.Helper()
	var sessions []*recorded
	for _, path := range outside.Spoken(t) {
		file := outside.Read(t, path)
		doc, err := all.Read(file)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		sessions = append(sessions, record(filepath.Base(path), file, &doc.Session))
	}
	return sessions
}

// Every planted invention is found, and nothing that is true is struck: in summaries that the
// offline summariser and the products' own models wrote of recorded sessions.
func TestCheck_findsInventionsAndStrikesNothingTrue(t *testing.T) {
	sessions := corpus(t)
	var planted, honest []place
	found, struck, claims := 0, 0, 0
	rng := rand.New(rand.NewPCG(3, 14))
	for _, r := range sessions {
		// What a product's model wrote is checked against what came before it.
		before := fact.NewSource()
		before.AddFolder(r.folder)
		for i := range r.log {
			if m := &r.log[i]; m.IsSummary() && len(m.Parts) > 0 {
				claims += trueSummary(t, r.name, m.Parts[0].Text, before)
			}
			before.AddMessage(&r.log[i])
		}
		s := r.source()
		answer, err := new(offline.Summarizer).Summarize(context.Background(),
			pivot.Request{Log: r.log, Directory: r.folder, Budget: 8000})
		if err != nil {
			t.Fatal(err)
		}
		claims += trueSummary(t, r.name, answer.Text, s)

		text, made := r.inventions(rng, answer.Text, 12)
		f, _ := judge(t, r, s, text, made, nil)
		found, planted = found+f, append(planted, made...)

		text, told := r.truths(rng, 30)
		_, n := judge(t, r, s, text, nil, told)
		struck, honest = struck+n, append(honest, told...)
	}
	t.Logf("%d sessions", len(sessions))
	t.Logf("planted %d, found %d: %s", len(planted), found, perKind(planted))
	t.Logf("true %d, struck %d: %s", len(honest), struck, perKind(honest))
	t.Logf("claims in whole summaries %d", claims)
	if len(planted) < 200 || len(honest) < 2000 {
		t.Errorf("%d planted and %d true are too few", len(planted), len(honest))
	}
}

// trueSummary checks a whole summary of which everything is true, and returns how many claims it
// makes.
func trueSummary(t *testing.T, name, text string, s *fact.Source) int {
	t.Helper()
	for _, c := range fact.Check(text, s) {
		if !untrue[c.Text] {
			t.Errorf("%s: the summary's %s %q was struck, in %q", name, c.Kind, c.Text,
				text[max(0, c.Start-40):min(len(text), c.End+30)])
		}
	}
	return len(fact.Claims(text))
}

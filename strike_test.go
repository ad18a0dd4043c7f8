package winnow

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/policy"
)

func TestCompact_strikesWhatAModelMadeUp(t *testing.T) {
	said := "The parser reads file1.go and internal/invented/ghost.go."
	want := []pivot.Struck{{Kind: "path", Text: "internal/invented/ghost.go"}}
	for _, p := range []string{policy.Balanced, policy.Classic} {
		t.Run(p, func(t *testing.T) {
			l := newLab(t, Config{Settings: withPolicy(p), Summarizer: &scripted{limit: 100000, answers: []any{notes(said)}}})
			l.work(4)
			r := l.compact(CompactOptions{})
			if diff := cmp.Diff(want, r.Struck); diff != "" {
				t.Errorf("struck (-want +got):\n%s", diff)
			}
			if !strings.Contains(strings.Join(r.Notes, "\n"), "1 claim of the summary") {
				t.Errorf("the notes are %q", r.Notes)
			}
			marked := strings.Contains(l.text(), "~~internal/invented/ghost.go~~ (unconfirmed)")
			if marked != (p == policy.Balanced) || strings.Contains(l.text(), "~~file1.go~~") {
				t.Errorf("the summary:\n%s", l.text())
			}
		})
	}
	t.Run("not what our own summariser wrote", func(t *testing.T) {
		l := newLab(t, Config{})
		l.work(6)
		if r := l.compact(CompactOptions{}); len(r.Struck) > 0 {
			t.Errorf("struck %v", r.Struck)
		}
	})
}

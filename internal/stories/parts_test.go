package stories

import (
	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/store/report"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParts_sayWhatExplainSays(t *testing.T) {
	e, id := imported(t, winnow.Config{})
	check := func(when string) {
		t.Helper()
		parts, err := e.Parts(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(parts) == 0 {
			t.Fatal("there are no parts")
		}
		for i, p := range parts {
			if i%7 != 0 { // explaining one looks at all: a sample is enough
				continue
			}
			want, err := e.Explain(t.Context(), id, p.Part)
			if err != nil {
				t.Fatal(err)
			}
			want.Text, want.Pieces = "", []report.Piece{}
			if diff := cmp.Diff(want, p.Explanation); diff != "" {
				t.Errorf("%s, part %s (-Explain +Parts):\n%s", when, p.Part, diff)
			}
			if p.Whole.Total() != p.Tokens || p.Zone != report.Folded && p.Rendered.Total() != p.Shown {
				t.Errorf("%s, part %s: sizes %+v, %+v do not add up to %d, %d", when, p.Part, p.Whole, p.Rendered,
					p.Tokens, p.Shown)
			}
		}
	}
	check("as imported")
	if _, err := e.Prune(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	check("pruned")
	if _, err := e.Compact(t.Context(), id, winnow.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	check("folded")
}

package replay

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/session"
)

func TestNeeds_countTheNewestHolderOfEachQuotation(t *testing.T) {
	// The third step says eight words of the first step's output: three quotations. The fourth says ten, of which the third step said eight last: three
	// quotations are of its text, and two of the output.
	output := words("o", 20)
	y, _ := forgotten("gone away", from(output, 5, 8))
	y.Messages[4].Parts = []session.Part{say(from(output, 5, 10))}
	got := slices.Collect(y.trace().Needs())
	want := []Need{
		{Step: 2, Part: "p1.1", Field: rule.Output, Quotations: 3},
		{Step: 3, Part: "p1.1", Field: rule.Output, Quotations: 2},
		{Step: 3, Part: "p3.0", Field: rule.Text, Quotations: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
}

func TestNeeds_tellArgumentsFromOutputs(t *testing.T) {
	y := three()
	y.Messages[1].Parts = []session.Part{call(words("a", 12), words("o", 20))}
	y.Messages[3].Parts = []session.Part{say(from(words("a", 12), 1, 8))}
	got := slices.Collect(y.trace().Needs())
	want := []Need{{Step: 2, Part: "p1.0", Field: rule.Input, Quotations: 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
}

package lab

import (
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

func TestToy_commitInTheMiddle(t *testing.T) {
	// The output of step 1 (o1…o20, 20 tokens) becomes "gone away" (2 tokens) before step 3.
	output := rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Output, Shown: "gone away", Because: "m2"}
	// Its first differing position: base 100, user 10, text 6, arguments 4 = 120.
	// step 3: T = 178-20+2 = 160, C = 120
	// read:   110 + 120                     = 230
	// write:  (110 + 30)·12 + (160-120)·12  = 1680 + 480 = 2160
	at120 := Bill{Read: 230, Write: 2160, Output: 1250}
	// The arguments of step 1 (tool and 3 words: 4 tokens) become {"q":"x"} with the tool: 2
	// tokens. C = 100+10+6 = 116, T = 178-2 = 176.
	arguments := rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Input, Shown: `{"q":"x"}`, Because: "m2"}
	at116 := Bill{Read: 110 + 116, Write: 140*12 + 60*12, Output: 1250}
	// Both: C = 116, T = 176-18 = 158.
	both := Bill{Read: 110 + 116, Write: 140*12 + 42*12, Output: 1250}
	// The user's first words (10) become 1: C = 100, T = 169.
	text := rule.Elision{Message: "m0", Part: "p0.0", Field: rule.Text, Shown: "gone", Because: "m2"}
	at100 := Bill{Read: 110 + 100, Write: 140*12 + 69*12, Output: 1250}
	// The output of step 2 goes before it was ever sent: 30 tokens less 2. C = 140, T = 178-28 =
	// 150: nothing is written twice.
	unsent := rule.Elision{Message: "m2", Part: "p2.1", Field: rule.Output, Shown: "gone away", Because: "m2"}
	late := Bill{Read: 250, Write: 140*12 + 10*12, Output: 1250}
	// With it the output of step 1: C = 120, T = 150-18 = 132.
	with := Bill{Read: 230, Write: 140*12 + 12*12, Output: 1250}
	// The call as a whole becomes {} beside its name (2 tokens) and a result of 1: 4+20 become 3. C
	// = 116, T = 178-21 = 157.
	whole := rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Whole, Shown: "gone", Because: "m2"}
	entire := Bill{Read: 110 + 116, Write: 140*12 + 41*12, Output: 1250}
	for _, c := range []struct {
		name   string
		script []rule.Elision
		want   Bill
	}{
		{"an output", []rule.Elision{output}, at120},
		{"arguments", []rule.Elision{arguments}, at116},
		{"arguments and output", []rule.Elision{output, arguments}, both},
		{"what the user said", []rule.Elision{text}, at100},
		{"what was not sent yet", []rule.Elision{unsent}, late},
		{"what was sent and what was not", []rule.Elision{unsent, output}, with},
		{"a call as a whole", []rule.Elision{whole}, entire},
	} {
		t.Run(c.name, func(t *testing.T) {
			billed(t, three(), Setup{Policy: eliding(c.script...), Window: Unlimited}, Options{}, c.want)
		})
	}
}

func TestToy_commitWhenTheCacheIsCold(t *testing.T) {
	// The cache is cold at step 3, so that nothing is read: T = 178-20+2 = 160 is written.
	e := rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Output, Shown: "gone away", Because: "m2"}
	billed(t, three(1, 2, 10, 400), Setup{Policy: eliding(e), Window: Unlimited}, Options{}, Bill{Read: 110, Write: 140*12 + 160*12, Output: 1250})
}

func TestToy_twoCommitsOneAfterTheOther(t *testing.T) {
	// five is three with two steps more, of 2 tokens each and nothing given back: prompts of 110,
	// 140, 178, 185 and 187 when nothing goes.
	y := three()
	y.step(0, say("d1 d2")).step(0, say("e1 e2"))
	// Before step 3 the output of step 2 goes, which was not sent yet (30 → 2):   T = 150, C = 140.
	// Before step 4 the output of step 1 goes (20 → 2), which stands at 120:      T = 150-18+7 =
	// 139, C = 120. Before step 5 nothing more goes:                                           T =
	// 139+2 = 141, C = 139. read:   110 + 140 + 120 + 139                              = 509 write:
	// 110·12 + 30·12 + 10·12 + 19·12 + 2·12 = 171·12      = 2052 output: (10+8+7+2+2)·50
	// = 1450
	got := billed(t, y, Setup{Policy: eliding(
		rule.Elision{Message: "m2", Part: "p2.1", Field: rule.Output, Shown: "gone away", Because: "m2"},
		rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Output, Shown: "gone away", Because: "m3"},
	), Window: Unlimited}, Options{}, Bill{Read: 509, Write: 2052, Output: 1450})
	if got.Commits != 2 {
		t.Errorf("%d commits, want 2", got.Commits)
	}
	// Of the second commit 150 were in the cache, 120 stay, 18 go: 12 are written again.
	if e := got.Events[1]; e.Kind != Committed || e.Tokens != 18 || e.Rewritten != 12 || e.Step != 3 {
		t.Errorf("the second commit is %+v, want 18 tokens gone and 12 written again before step 3", e)
	}
}

func TestToy_attachmentsStandBehindTheOutput(t *testing.T) {
	// The picture of step 1's call takes 1,500 tokens behind its output of 20, and becomes one
	// word.
	y := three()
	y.Messages[1].Parts[1].State.Attachments = []session.Part{{Type: session.FilePart, Mime: "image/png", URL: "data:image/png;base64,QUJD"}}
	e := rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Attachments, Shown: "picture", Because: "m2"}
	// step 2: T = 1640, C = 110; step 3: T = 178+1 = 179, C = 120+20 = 140
	billed(t, y, Setup{Policy: eliding(e), Window: Unlimited}, Options{}, Bill{Read: 110 + 140, Write: 1640*12 + 39*12, Output: 1250})
}

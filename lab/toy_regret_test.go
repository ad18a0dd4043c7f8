package lab

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// forgotten is three with the third step's words chosen, and a fourth step. Before the third the
// output of the first is left out.
func forgotten(shown, says string) (*toy, Setup) {
	y := three()
	y.Messages[3].Parts = []session.Part{say(says)}
	y.step(0, say("d1 d2"))
	e := rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Output, Shown: shown, Because: "m2"}
	return y, Setup{Policy: eliding(e), Window: Unlimited}
}

func TestToy_regret(t *testing.T) {
	output := words("o", 20)
	// The third step says eight words of what is hidden: three quotations of six.
	//   step 3: T = 160, C = 120, output 8; it needed the output, which a call of 2 brings back:
	//           160·1 + 120·50 + 22·12 = 6424
	//   step 4: those 22 are in the prompt and in the cache: T = 160+22+8 = 190, C = 182, output 2
	// read:   110 + 120 + 182                                    = 412
	// write:  110·12 + 30·12 + 40·12 + 8·12 = 188·12             = 2256
	// output: (10+8+8+2)·50                                      = 1400
	y, s := forgotten("gone away", from(output, 5, 8))
	got := billed(t, y, s, Options{}, Bill{Read: 412, Write: 2256, Output: 1400, Regret: 6424})
	if got.MissedSteps != 1 || got.MissedItems != 1 || got.Rate() != 25 {
		t.Errorf("%d steps missed %d items, %v in a hundred steps; want 1, 1, 25", got.MissedSteps, got.MissedItems, got.Rate())
	}
	// sent 110+140+160+190, and 160+22 for what was fetched; from the cache 110+120+182, and 160;
	// produced 28 and 120
	if want := (Tokens{Sent: 782, Cached: 572, Output: 148, Largest: 190}); got.Tokens != want {
		t.Errorf("tokens %+v, want %+v", got.Tokens, want)
	}

	// Seven words are two quotations, which is not enough. step 4: T = 160+7 = 167, C = 160; read
	// 110+120+160 = 390, write (110+30+40+7)·12 = 187·12 = 2244, output 27·50
	y, s = forgotten("gone away", from(output, 5, 7))
	billed(t, y, s, Options{}, Bill{Read: 390, Write: 2244, Output: 1350})
}

func TestToy_regretInTheArgumentsOfACall(t *testing.T) {
	// The third step calls with eight words of what is hidden: tool and eight words are 9 tokens.
	// It gives back nothing.
	y, s := forgotten("gone away", "")
	y.Messages[3].Parts = []session.Part{looks(from(words("o", 20), 1, 8), "")}
	// step 4: T = 160+22+9 = 191, C = 182; read 412, write (110+30+40+9)·12 = 189·12, output
	// (10+8+9+2)·50
	billed(t, y, s, Options{}, Bill{Read: 412, Write: 2268, Output: 1450, Regret: 6424})
}

func TestToy_whatWasFetchedAgainIsCarried(t *testing.T) {
	output := words("o", 20)
	// The fourth and the fifth step say more of the output: it is there. Then the whole call is
	// left out, and the sixth says what none of them said: it still is.
	y, s := forgotten("gone away", from(output, 5, 8))
	y.Messages[4].Parts = []session.Part{say(from(output, 5, 10))}
	y.step(0, say(from(output, 11, 10)))
	y.step(0, say(from(output, 1, 10)))
	// step 4: T = 190, C = 182; step 5: T = 200, C = 190
	// step 6: the call (4) and its placeholder (2) become a name, {} and "gone" (3):
	//         T = 200+10-3 = 207, C = 100+10+6 = 116
	// read:   110 + 120 + 182 + 190 + 116                         = 718
	// write:  (110 + 30 + 40 + 8 + 10 + 91)·12 = 289·12           = 3468
	// output: (10+8+8+10+10+10)·50                                = 2800
	s.Policy = eliding(
		rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Output, Shown: "gone away", Because: "m2"},
		rule.Elision{Message: "m1", Part: "p1.1", Field: rule.Whole, Shown: "gone", Because: "m5"},
	)
	got := billed(t, y, s, Options{}, Bill{Read: 718, Write: 3468, Output: 2800, Regret: 6424})
	if got.MissedItems != 1 {
		t.Errorf("%d items were missed, want 1", got.MissedItems)
	}
}

// needs counts the regrets of sessions in which two outputs are left out before the third step: o1
// … o20 of the first, p1 … p30 of the second.
func TestToy_whatIsARegret(t *testing.T) {
	o, p := words("o", 20), words("p", 30)
	both := func(first, second string) []rule.Elision {
		return []rule.Elision{
			{Message: "m1", Part: "p1.1", Field: rule.Output, Shown: first, Because: "m2"},
			{Message: "m2", Part: "p2.1", Field: rule.Output, Shown: second, Because: "m2"},
		}
	}
	hidden := both("gone away", "gone too")
	for _, c := range []struct {
		name   string
		says   string
		script []rule.Elision
		change func(y *toy)
		want   []string // parts that were needed
	}{
		{"nothing is quoted", words("n", 20), hidden, nil, nil},
		{"three quotations of one output", from(o, 1, 8), hidden, nil, []string{"p1.1"}},
		{"two quotations", from(o, 1, 7), hidden, nil, nil},
		{"two quotations, said twice", from(o, 1, 7) + " and " + from(o, 1, 7), hidden, nil, nil},
		{"three quotations apart", from(o, 1, 6) + " and " + from(o, 8, 6) + " and " + from(o, 15, 6), hidden, nil, []string{"p1.1"}},
		{"two quotations of one output and one of another", from(o, 1, 7) + " and " + from(p, 1, 6), hidden, nil, nil},
		{"three quotations of each of two", from(o, 1, 8) + " and " + from(p, 1, 8), hidden, nil, []string{"p1.1", "p2.1"}},
		{"three quotations of one and two of another", from(o, 1, 8) + " and " + from(p, 1, 7), hidden, nil, []string{"p1.1"}},
		{"punctuation between the words", strings.ReplaceAll(from(o, 1, 8), " ", `, "`), hidden, nil, []string{"p1.1"}},
		{"other words between them", strings.ReplaceAll(from(o, 1, 8), " ", " or "), hidden, nil, nil},
		{"nothing is hidden", from(o, 1, 20) + from(p, 1, 30), nil, nil, nil},
		{"one of the two is hidden", from(o, 1, 7) + " and " + from(p, 1, 6), hidden[:1], nil, nil},
		{"the user had said it, too", from(o, 1, 8), hidden, func(y *toy) { y.Messages[0].Parts = []session.Part{say(o)} }, nil},
		{"the agent had said it, too", from(o, 1, 8), hidden, func(y *toy) { y.Messages[2].Parts[0] = say(o) }, nil},
		{"the agent had said a quotation of three, too", from(o, 1, 8), hidden, func(y *toy) { y.Messages[2].Parts[0] = say(from(o, 1, 6)) }, nil},
		{"the agent had said one of four, too", from(o, 1, 9), hidden, func(y *toy) { y.Messages[2].Parts[0] = say(from(o, 1, 6)) }, []string{"p1.1"}},
		{"both outputs have it: the newer one is fetched", from(o, 1, 8), hidden, func(y *toy) { y.Messages[2].Parts[1].State.Output = o }, []string{"p2.1"}},
		{"both outputs have it, one is hidden", from(o, 1, 8), hidden[:1], func(y *toy) { y.Messages[2].Parts[1].State.Output = o }, nil},
		{"what stands in its place has it", from(o, 1, 8), both("gone: "+from(o, 1, 8), "gone too"), nil, nil},
		{"what stands in another's place has it", from(o, 1, 8), both("gone away", from(o, 1, 8)), nil, nil},
		{"what stands in its place has two quotations of three", from(o, 1, 8), both(from(o, 1, 7), "gone too"), nil, nil},
		{"what stands in its place has two quotations of five", from(o, 1, 10), both(from(o, 1, 7), "gone too"), nil, []string{"p1.1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := three()
			y.Messages[3].Parts = []session.Part{say(c.says)}
			if c.change != nil {
				c.change(y)
			}
			terms := plain()
			got, err := Run(t.Context(), y.trace(), Setup{Policy: eliding(c.script...), Window: Unlimited}, Options{Terms: &terms, Detail: true})
			if err != nil {
				t.Fatal(err)
			}
			var needed []string
			for _, e := range got.Events {
				if e.Kind == Regretted {
					needed = append(needed, e.Parts...)
				}
			}
			if strings.Join(needed, " ") != strings.Join(c.want, " ") || got.MissedItems != len(c.want) || got.MissedSteps != min(1, len(c.want)) {
				t.Errorf("%d items missed: %v was needed, want %v", got.MissedItems, needed, c.want)
			}
		})
	}
}

func TestToy_regretBehindAPivot(t *testing.T) {
	o := words("o", 20)
	y := three()
	y.Messages[3].Parts = []session.Part{say(from(o, 5, 8))}
	y.step(0, say(from(o, 1, 8)))
	// As TestToy_pivot: step 3 has T = 118, C = 100, output 8. It needs the output of step 1, which
	// a call of 2 brings back: 118 + 120·50 + 22·12 = 6382. With that it is 140+8 = 148, which is
	// more than 145: the past is folded again, the fetched with it.
	// the second summary's request: 48·10 + 12·50 = 1080
	// step 4: T = 118, C = 100, output 8; it needs the output again: 6382
	// read:   110 + 100 + 100                     = 310
	// write:  (110 + 30 + 18 + 18)·12 = 176·12    = 2112
	// output: (10+8+8+8)·50                       = 1700
	billed(t, y, folding(nothing(), 145), Options{Summarizer: writes(words("s", 12))},
		Bill{Read: 310, Write: 2112, Output: 1700, Compact: 1380 + 1080, Regret: 6382 + 6382})

	// The first 12 words of the output are the summary: nothing is needed.
	// step 4: T = 118+8 = 126, C = 118; read 110+100+118 = 328, write (110+30+18+8)·12 = 166·12
	billed(t, y, folding(nothing(), 145), Options{Summarizer: writes(from(o, 1, 12))}, Bill{Read: 328, Write: 1992, Output: 1700, Compact: 1380})
}

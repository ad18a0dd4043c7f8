package page

import (
	"strconv"

	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/text/quantity"
)

// trait is how a policy is drawn wherever it is shown.
type trait struct {
	display.Policy
	At     int
	Tone   string // classes of its line
	Hidden bool   // at first
	Bill   string
}

// tones is how many colours lines have; further policies use them again, dashed.
const tones = 6

// mostShown is how many policies' lines are drawn at first.
const mostShown = 6

// traitsOf gives policies their colours. A sweep has one.
func (d *replayDocument) traitsOf() []trait {
	standings := display.Standings(d.r)
	out := make([]trait, len(standings))
	lines, sweeps := 0, map[int]int{}
	for i, p := range d.named {
		p.Name, p.Key = line(p.Name, 80), line(p.Key, 40)
		n, known := sweeps[p.Sweep]
		if !known {
			n = lines
		}
		if p.Sweep >= 0 {
			sweeps[p.Sweep] = n
		}
		x := trait{Policy: p, At: i, Bill: quantity.Bill(standings[i].Bill.Total(), d.r.Relative)}
		if i == d.Base && p.Sweep < 0 {
			x.Tone = "tb"
		} else {
			x.Tone = "t" + strconv.Itoa(n%tones) + " d" + strconv.Itoa(n/tones%3)
			if !known {
				lines++
			}
		}
		out[i] = x
	}
	shown := 0
	for _, first := range []bool{true, false} { // the baseline and what gains are told of before the others
		for i := range out {
			if preferred := i == d.Base || i == d.subject; preferred == first {
				out[i].Hidden = shown >= mostShown || !preferred && out[i].Sweep >= 0
				if !out[i].Hidden {
					shown++
				}
			}
		}
	}
	return out
}

// bound keeps the page small enough to open quickly: with many sessions and policies a curve has
// fewer points and a list fewer rows.
func (d *replayDocument) bound() {
	curves, events := 0, 0
	for i := range d.r.Sessions {
		for _, o := range d.r.Sessions[i].Outcomes {
			if len(o.Curve) > 0 {
				curves++
			}
			events += len(o.Events)
		}
	}
	d.points = min(200, max(40, 400_000/max(1, curves)))
	d.rows = 200
	if events > 40_000 {
		d.rows = min(d.rows, max(12, 40_000/max(1, curves)))
	}
}

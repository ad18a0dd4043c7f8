package page

import (
	"cmp"
	"strconv"

	"github.com/winnowhq/winnow/plot"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/replay"
)

// trait is how a policy is drawn wherever it is.
type trait struct {
	At     int
	Key    string // A, B … or what it has of its own in a sweep
	Name   string
	Tone   string // classes of its line
	On     bool   // the frontier
	Hidden bool   // at first
	sweep  string
	Bill   string
}

// tones is how many colours lines have; further policies take them again, dashed.
const tones = 6

// mostShown is how many policies' lines are drawn at first.
const mostShown = 6

// traitsOf gives letters and colours. A sweep is one colour, and its members are known by what each has of its own.
func (d *replayDocument) traitsOf() []trait {
	on := replay.Undominated(d.r.Policies)
	times := map[string]int{}
	members := map[string][]int{}
	for i, s := range d.r.Policies {
		times[s.Name]++
		if s.Group != "" {
			members[s.Group] = append(members[s.Group], i)
		}
	}
	out := make([]trait, len(d.r.Policies))
	letters, lines, sweeps, shown := 0, 0, map[string]int{}, 0
	for i, s := range d.r.Policies {
		x := trait{At: i, Name: line(cmp.Or(s.Name, "no name"), 80), On: on[i], sweep: s.Group, Bill: quantity.Bill(s.Bill.Total(), d.r.Relative)}
		if times[s.Name] > 1 {
			x.Name += ", " + windowOf(s.Window)
		}
		n := lines
		if s.Group == "" {
			x.Key = string(plot.Letter(letters))
			letters++
		} else if k, ok := sweeps[s.Group]; ok {
			n = k
		} else {
			sweeps[s.Group] = n
		}
		switch {
		case i == d.Base && s.Group == "":
			x.Tone = "tb"
		default:
			x.Tone = "t" + strconv.Itoa(n%tones) + " d" + strconv.Itoa(n/tones%3)
			if n == lines {
				lines++
			}
		}
		out[i] = x
	}
	for _, all := range members {
		names := make([]string, len(all))
		for k, i := range all {
			names[k] = out[i].Name
		}
		for k, own := range plot.Own(names) {
			out[all[k]].Key = own
		}
	}
	for _, first := range []bool{true, false} { // the baseline and what gains are told of before the others
		for i := range out {
			if preferred := i == d.Base || i == d.subject; preferred == first {
				out[i].Hidden = shown >= mostShown || !preferred && out[i].sweep != ""
				if !out[i].Hidden {
					shown++
				}
			}
		}
	}
	return out
}

// bound keeps the page small enough to open quickly: with many sessions and policies a curve has fewer points and a list fewer rows.
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

func windowOf(tokens int) string {
	switch {
	case tokens == replay.Unlimited:
		return "no limit"
	case tokens <= 0:
		return "the model's window"
	}
	return quantity.Number(tokens) + " tokens"
}

package display

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/text/quantity"
)

// preferred is the policy that a headline tells of where none is recommended.
const preferred = "balanced"

// Compared is one of the two rows of a replay that anybody understands: what the sessions would have
// cost without winnow, and with it.
type Compared struct {
	Name   string  // "without winnow", "winnow"
	How    string  // what was done: "the agent's own compaction", the name of the policy; "" if Name says it
	Bill   string  // of all sessions
	Change string  // from the other row, "" of the first
	Missed string  // "in 0.8 of 100 steps the agent missed something"
	Part   float64 // of the larger bill, for a bar
}

// told is the policy that a headline tells of: the one that is recommended, else balanced, else the
// one closest to a recommendation; nil if none of them was replayed. A recommendation was chosen on
// these very sessions: its figures are those of the same choice on sessions left out of it.
func told(r *lab.Report) (s *lab.Standing, name string) {
	named := func(name string) int {
		return slices.IndexFunc(r.Policies, func(s lab.Standing) bool { return s.Name == name })
	}
	at := named(Advised(r))
	if r.Advice == nil || r.Advice.Policy == "" {
		if usual := named(preferred); usual >= 0 {
			at = usual
		}
	}
	if at < 0 {
		return nil, ""
	}
	name = r.Policies[at].Name
	if a := r.Advice; a != nil && a.HeldOut.Standing.Name != "" && a.HeldOut.Standing.Bill != r.Policies[at].Bill {
		return &a.HeldOut.Standing, "what is chosen on the other " + over(r) + " (on all of them " + name + ")"
	}
	return &r.Policies[at], name
}

// without is what the user would have without winnow: the agent's own compaction, the first that was
// replayed, else the baseline.
func without(r *lab.Report) (s *lab.Standing, name, how string) {
	for i := range r.Policies {
		if name := r.Policies[i].Name; name == lab.Compact || strings.HasPrefix(name, lab.Compact+"@") {
			return &r.Policies[i], "without winnow", "the agent's own compaction"
		}
	}
	if s = &r.Policies[Baseline(r)]; s.Name == r.Baseline {
		return s, r.Against(), ""
	}
	return s, s.Name, ""
}

// Comparison are the two rows, nil if nothing is compared: the policy to tell of was not replayed,
// or it is what the others are compared with.
func Comparison(r *lab.Report) []Compared {
	with, name := told(r)
	if with == nil {
		return nil
	}
	own, other, how := without(r)
	before, after := own.Bill.Total(), with.Bill.Total()
	if own.Name == with.Name || !Drawable(after) || !Drawable(before) || before <= 0 {
		return nil
	}
	row := func(of, how string, s *lab.Standing) Compared {
		total := s.Bill.Total()
		return Compared{Name: of, How: how, Bill: quantity.Bill(total, r.Relative), Part: total / max(before, after),
			Missed: missed(s.MissedStepsPer100)}
	}
	rows := []Compared{row(other, how, own), row("winnow", name, with)}
	rows[1].Change = quantity.Change(int(1e6*before), int(1e6*after))
	return rows
}

// missed says how often the agent needed something that was gone.
func missed(stepsPer100 float64) string {
	switch rate := Rate(stepsPer100); {
	case stepsPer100 == 0:
		return "no step missed anything"
	case rate == Rate(0):
		return "in less than " + Rate(0.1) + " of 100 steps the agent missed something"
	default:
		return "in " + rate + " of 100 steps the agent missed something"
	}
}

// Headline says the two rows in one sentence: "balanced would have cost $22.48 instead of $24.10
// without winnow (−7%); in 0.8 of 100 steps the agent missed something"; "" if there are none.
func Headline(r *lab.Report) string {
	rows := Comparison(r)
	if rows == nil {
		return ""
	}
	unit := ""
	if r.Relative {
		unit = " input tokens"
	}
	other := rows[0].Name
	switch own, _, how := without(r); {
	case how != "":
	case own.Name == lab.Nothing:
		other = "with " + other
	default:
		other = "under " + other
	}
	return rows[1].How + " would have cost " + rows[1].Bill + unit + " instead of " + rows[0].Bill + " " + other +
		" (" + rows[1].Change + "); " + rows[1].Missed
}

// Whole says what the sessions would have cost with everything kept; "" where that was not replayed,
// or is one of the two rows.
func Whole(r *lab.Report) string {
	at := slices.IndexFunc(r.Policies, func(s lab.Standing) bool { return s.Name == lab.Nothing })
	if at < 0 || len(r.Policies) == 0 || !Drawable(r.Policies[at].Bill.Total()) {
		return ""
	}
	if own, _, _ := without(r); own.Name == lab.Nothing {
		return ""
	}
	return "With everything kept: " + quantity.Bill(r.Policies[at].Bill.Total(), r.Relative) + "."
}

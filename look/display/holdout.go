package display

import (
	"cmp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/text/quantity"
)

// Evidence is a table for one claim: that a choice is worth something on sessions that were held out
// of it, that simple policies cost more.
type Evidence struct {
	Title, Under string
	Words        []string // sentences
	Heads        []string // of the rows: two words, then figures
	Rows         [][]string
}

// EvidenceOf lists the choices of a report, and compares them with simple policies.
func EvidenceOf(r *lab.Report) []Evidence {
	var out []Evidence
	for i := range r.Holdout {
		c := &r.Holdout[i]
		one := Evidence{Title: "Held out", Under: "what was chosen on the other sources, judged on each",
			Heads: []string{"held out", "chosen", "steps", "ratio", "missed"}}
		if r.By == lab.BySessions {
			one.Under = "what was chosen on the other sessions, judged on each part"
			one.Words = append(one.Words, "There are fewer than three sources, so sessions are held out: "+
				"they may resemble those that were chosen on.")
		}
		text := "on what was held out it costs " + figure(Ratio(c.Ratio), Within(c.Within, 2)) + " of " + r.Against() +
			", with " + figure(Rate(c.MissedStepsPer100), Within(c.MissedWithin, 1)) + " missed steps in 100"
		if c.ToAlone > 0 {
			text += "; " + figure(Ratio(c.ToAlone), Within(c.AloneWithin, 2)) + " of compaction alone"
		}
		in := &c.InSample
		bearable := Rate(cmp.Or(c.Bearable, r.Bearable))
		within := "the cheapest with at most " + bearable + " missed steps in 100"
		if in.MissedStepsPer100 > cmp.Or(c.Bearable, r.Bearable) {
			within = "none misses at most " + bearable + " steps in 100, so the one that misses least"
		}
		one.Words = append(one.Words, cmp.Or(c.Of, "the policies")+": "+text+".",
			"On all sessions together “"+in.Chosen+"” is chosen: "+within+".")
		for k := range c.Folds {
			f := &c.Folds[k]
			one.Rows = append(one.Rows, []string{f.HeldOut, f.Chosen, quantity.Number(max(0, f.Steps)), Ratio(f.Ratio),
				Rate(f.MissedStepsPer100)})
		}
		out = append(out, one)
	}
	if len(r.Gaps) > 0 {
		out = append(out, againstSimple(r))
	}
	return out
}

// againstSimple compares winnow with the best simple policies at as many missed steps.
func againstSimple(r *lab.Report) Evidence {
	one := Evidence{Title: "Against simple policies", Under: "at as many missed steps",
		Words: []string{"Simple policies keep everything, compact at any size, or clear old outputs; a mixture of two " +
			"costs and misses as much in between."},
		Heads: []string{"winnow", "simple", "missed", "ratio", "of simple", "less", "90 %"}}
	triggers := slices.ContainsFunc(r.Gaps, func(g lab.Gap) bool { return g.Triggered != nil })
	if triggers {
		one.Words = append(one.Words, "The last two columns compare with simple policies that also keep the cache warm "+
			"or compact where it is cold.")
		one.Heads = append(one.Heads, "less", "90 %")
	}
	for i := range r.Gaps {
		g := &r.Gaps[i]
		row := []string{g.Name, g.Against, quantity.Decimal(g.MissedStepsPer100, 2), Ratio(g.Ratio), Ratio(g.Simple),
			less(g.Less), lessWithin(g.Within)}
		switch {
		case g.Triggered != nil:
			row = append(row, less(*g.Triggered), lessWithin(g.TriggeredWithin))
		case triggers:
			row = append(row, "", "")
		}
		one.Rows = append(one.Rows, row)
	}
	return one
}

// less is a share of a bill that is saved, in percent.
func less(share float64) string {
	return strings.Replace(quantity.Decimal(100*share, 1), "-", "−", 1) + " %"
}

func lessWithin(r lab.Range) string {
	if !r.Known() {
		return ""
	}
	return strings.ReplaceAll(quantity.Decimal(100*r.Low, 1)+" to "+quantity.Decimal(100*r.High, 1), "-", "−")
}

// Unheld says that what a sweep shows was chosen on the sessions that it is judged on, or why
// nothing could be held out.
func Unheld(r *lab.Report) []string {
	if r.Unheld != "" {
		return []string{"Nothing was held out: " + r.Unheld + "."}
	}
	var out []string
	for _, name := range r.InSample {
		out = append(out, "“"+name+"” is the best of its sweep, chosen on these very sessions; "+
			"--holdout says what it is worth elsewhere.")
	}
	return out
}

// figure is a figure with its interval.
func figure(text, within string) string {
	if within == "" {
		return text
	}
	return text + " (" + within + ")"
}

// Products say how what was found reaches products that read no configuration of winnow: the
// gateway, or a setting of their own.
func Products(r *lab.Report) []string {
	var names, gateways, settings []string
	for i := range r.Products {
		p := &r.Products[i]
		names, gateways = append(names, lab.ProductName(p.Product)), append(gateways, "`"+p.Gateway+"`")
		if p.Policy != "" {
			text := lab.ProductName(p.Product) + ": " + p.Key + " = " + p.Value + " in " + p.File
			if p.Note != "" {
				text += "; " + p.Note
			}
			settings = append(settings, text)
		}
	}
	if len(names) == 0 || len(settings) == 0 && r.Advice == nil {
		return nil
	}
	one, reads, own := &r.Products[0], "reads", "its"
	if len(names) > 1 {
		reads, own = "read", "their"
	}
	first := strings.Join(names, ", ") + " " + reads + " no winnow.jsonc"
	if r.Advice != nil {
		first += "; the gateway does: " + strings.Join(gateways, ", ")
	}
	if len(settings) == 0 {
		return []string{first + ". No setting of " + own + " own is recommended: " + one.Why + "."}
	}
	return append([]string{first + ". " + Capital(own) + " own compaction can be set to “" + one.Policy + "”: " +
		one.Why + "."}, settings...)
}

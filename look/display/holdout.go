package display

import (
	"cmp"
	"strings"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/text/quantity"
)

// HeldOut is what choosing is worth on sessions that were held out of the choice.
type HeldOut struct {
	Title, Under string
	Words        []string // sentences
	Heads        []string // of the rows: what was held out and what was chosen, then figures
	Rows         [][]string
}

// HeldOuts lists the choices of a report.
func HeldOuts(r *lab.Report) []HeldOut {
	var out []HeldOut
	for i := range r.Holdout {
		c := &r.Holdout[i]
		one := HeldOut{Title: "Held out", Under: "what was chosen on the other sources, judged on each",
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
	return out
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

package lab

import (
	"cmp"
	"fmt"
	"slices"
)

// ProductAdvice says how what was found reaches a product that reads no configuration of winnow.
type ProductAdvice struct {
	Product string `json:"product"` // the product, by the name of its format
	Gateway string `json:"gateway"` // the command that puts winnow between it and its provider
	// The compaction that the product can be set to itself; omitted if none is recommended.
	Policy string `json:"policy,omitzero"`
	File   string `json:"file,omitzero"`  // the file of that setting
	Key    string `json:"key,omitzero"`   // the key of that setting
	Value  string `json:"value,omitzero"` // the value of that setting
	Note   string `json:"note,omitzero"`  // a remark about that setting
	Why    string `json:"why"`            // the worth of that setting, or why nothing is recommended
	// HeldOut is what it is worth on those of the product's sessions that it was not chosen on, nil
	// if none is recommended.
	HeldOut *Choice `json:"-"`
}

// product is how a product compacts by itself.
type product struct {
	format, name, client string
	file, key            string
	// value is the setting with which it compacts at a number of tokens, and what to know of it.
	value func(at int) (value, note string)
}

// Claude Code compacts 13,000 tokens before the end of a window that is 20,000 tokens smaller than
// the one that is set, which counts from 100,000 on.
const (
	claudeRoom   = 33_000
	claudeWindow = 100_000
)

var products = []product{
	{"claude-code", "Claude Code", "claude", "~/.claude/settings.json", "autoCompactWindow",
		func(at int) (string, string) {
			return fmt.Sprint(max(claudeWindow, at+claudeRoom)),
				"it compacts about 33,000 tokens before the end of this window, and takes none below 100,000"
		}},
	{"codex", "Codex", "codex", "~/.codex/config.toml", "model_auto_compact_token_limit",
		func(at int) (string, string) { return fmt.Sprint(at), "it counts up to 90 % of the model's window" }},
	{"opencode", "OpenCode", "opencode", "opencode.json", "compaction.reserved",
		func(at int) (string, string) {
			return fmt.Sprintf("the model's input limit less %d", at),
				"older versions ignore it for a model without an input limit of its own"
		}},
}

// adviseProducts says for each product among the sessions what it can be set to: the compaction
// alone, at a number of tokens, that wins on sessions that it was not chosen on.
func (c *chooser) adviseProducts() {
	r := c.report
	among := c.where(func(i int) bool {
		return c.setups[i].Alone() && c.setups[i].Policy.Budget.Thresholds["*"] > 1
	})
	choice := c.choose("", r.Bearable, among)
	why := c.productObjection(choice)
	for _, p := range products {
		if !slices.ContainsFunc(r.Sessions, func(s Recorded) bool { return s.Product == p.format }) {
			continue
		}
		one := ProductAdvice{Product: p.format, Gateway: "winnow wrap " + p.client, Why: why}
		if why == "" {
			one.Policy, one.File, one.Key, one.HeldOut = choice.InSample.Chosen, p.file, p.key, c.onProduct(choice,
				p.format)
			one.Value, one.Note = p.value(int(c.setups[choice.InSample.Policy].Policy.Budget.Thresholds["*"]))
			one.Why = fmt.Sprintf("what is chosen on the other %s costs %s of %s, with %s in 100", r.By,
				shareWithin(choice.Ratio, choice.Within), r.Against(), regrets(choice.MissedStepsPer100))
		}
		r.Products = append(r.Products, one)
	}
}

// onProduct is what a choice is worth on the sessions of one product.
func (c *chooser) onProduct(choice *Choice, format string) *Choice {
	own := *choice
	over := func(of func(*Recorded, *Outcome) (float64, float64)) (float64, Range) {
		return c.figure(func(i int) (part, whole float64) {
			s := &c.report.Sessions[i]
			if s.Product != format {
				return 0, 0
			}
			return of(s, &s.Outcomes[choice.Folds[c.folds.of[i]].Policy])
		})
	}
	own.Ratio, own.Within = over(func(s *Recorded, o *Outcome) (float64, float64) {
		return o.Bill.Total(), s.Outcomes[c.base].Bill.Total()
	})
	own.MissedStepsPer100, own.MissedWithin = over(func(_ *Recorded, o *Outcome) (float64, float64) {
		return 100 * float64(o.MissedSteps), float64(o.Steps)
	})
	return &own
}

// productObjection says why no compaction alone is recommended to products, "" if one is.
func (c *chooser) productObjection(choice *Choice) string {
	switch {
	case choice == nil:
		return "no compaction alone at a number of tokens is among the policies, such as compact@120k"
	case choice.InSample.MissedStepsPer100 > c.report.Bearable:
		return fmt.Sprintf("no compaction alone that was compared stays within %s missed steps in 100",
			rate(c.report.Bearable))
	case choice.InSample.Policy == c.alone && choice.MissedStepsPer100 <= c.report.Bearable &&
		choice.Ratio <= 1-adviceGain && choice.Within.High < 1:
		return "" // the latest of them wins; a product need not be set to it by now
	}
	return c.objection(choice)
}

// ProductName is what people call the product of a format.
func ProductName(format string) string {
	for _, p := range products {
		if p.format == format {
			return p.name
		}
	}
	return cmp.Or(format, "unknown")
}

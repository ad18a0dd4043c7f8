package simulation

import (
	"context"
	"encoding/csv"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/look/page"
	"github.com/winnowhq/winnow/text/visible"
)

// Document is the JSON document of replay.
type Document struct {
	extent
	// Unit of bills: "USD", or "Mtok", millions of tokens at the input price, if the price of some
	// session's model is unknown or "--prices reference" was chosen.
	Unit     string `json:"unit"`
	Prices   string `json:"prices"`   // which prices were used, as a sentence
	Baseline string `json:"baseline"` // name of the policy that bills are relative to
	// The bill of the sessions as recorded, by the reports in their logs, always in US dollars; the
	// first row of the table.
	RecordedBill recordedBill `json:"recordedBill"`
	// The policies, in the order in which they were named.
	Policies []replayedPolicy `json:"policies"`
	// The bill, under the baseline, for system prompt and declarations of tools, which every
	// request carries.
	Base     lab.BaseCost  `json:"base"`
	Recorded []replayedOne `json:"recorded"` // the sessions
	Skipped  []lab.Skipped `json:"skipped"`  // files that could not be replayed
	// The policy that "gains" and "losses" are about: the recommended one, otherwise the one that
	// came closest.
	Subject string       `json:"subject,omitzero"`
	Gains   []lab.Change `json:"gains"`           // the sessions that it helps most, five at most
	Losses  []lab.Change `json:"losses"`          // the sessions that it hurts most, five at most
	Advice  *lab.Advice  `json:"advice,omitzero"` // the recommendation
	// Winnow against the best simple policies, or mixtures of two, at as many missed steps.
	Gaps []lab.Gap `json:"gaps,omitzero"`
	// The cheapest bill of both at each number of missed steps, where there are gaps.
	Hulls     *lab.Hulls `json:"hulls,omitzero"`
	Unadvised string     `json:"unadvised,omitzero"` // why there is no advice
	// Products of these sessions that read no winnow.jsonc.
	Products []lab.ProductAdvice `json:"products,omitzero"`
	choices
}

// extent is how much was replayed.
type extent struct {
	Sessions int `json:"sessions"` // how many sessions were replayed
	Steps    int `json:"steps"`    // how many steps were replayed
	// How many sources the sessions have: projects, authors, or groups that "--sources" names.
	Sources int `json:"sources"`
	// The units that intervals are over, and that are held out in turn: "sources", or "sessions" if
	// there are fewer than three sources.
	By string `json:"by,omitzero"`
}

// choices are judged on other sessions than they were made on.
type choices struct {
	// With "--holdout", for each sweep, or for all policies but the baseline: the worth of choosing
	// on sessions that it was not chosen on.
	Holdout []heldOut `json:"holdout,omitzero"`
	Unheld  string    `json:"unheld,omitzero"` // why nothing could be held out
	// Without "--holdout", the best value of each sweep, chosen on the very sessions of the table.
	InSample []string `json:"inSample,omitzero"`
}

// relativeBill is a bill relative to the baseline's, with the interval in which it would lie nine
// times in ten.
type relativeBill struct {
	Relative float64 `json:"relative"` // the bill as a multiple of the baseline's
	// Lower end of its 90 % interval, by 1,000 draws of sources with replacement, the same on each
	// run; "relative" itself if there is one session.
	Low  float64 `json:"low"`
	High float64 `json:"high"` // upper end of that interval
}

// missedSteps are the missed steps in 100, with their interval.
type missedSteps struct {
	// Steps, in a hundred, that needed hidden text.
	MissedStepsPer100 float64 `json:"missedStepsPer100"`
	MissedStepsLow    float64 `json:"missedStepsLow"`  // lower end of its 90 % interval
	MissedStepsHigh   float64 `json:"missedStepsHigh"` // upper end of its 90 % interval
}

// estimate is both figures of a policy.
type estimate struct {
	relativeBill
	missedSteps
}

func estimateOf(ratio float64, within lab.Range, missed float64, missedWithin lab.Range) estimate {
	return estimate{relativeBill{ratio, within.Low, within.High},
		missedSteps{missed, missedWithin.Low, missedWithin.High}}
}

// heldOut is a choice judged on sessions that were held out of it.
type heldOut struct {
	Of string `json:"of,omitzero"` // the sweep
	// Its name in tables and pictures, which show it in place of the sweep.
	Name string `json:"name"`
	// How many missed steps in 100 were allowed on the sessions that it was chosen on: "--regrets",
	// or the number behind the sweep, with one choice for each.
	Bearable float64 `json:"bearable"`
	estimate
	Region *region `json:"region,omitzero"` // the same where a miss brings back a region alone
	// The bill as a multiple of that of compaction alone.
	ToAlone     float64 `json:"toAlone,omitzero"`
	ToAloneLow  float64 `json:"toAloneLow,omitzero"`  // lower end of the interval of "toAlone"
	ToAloneHigh float64 `json:"toAloneHigh,omitzero"` // upper end of the interval of "toAlone"
	// The choice that would be made on all sessions, with its figures on these very sessions;
	// nothing is held out of it, so it has no "heldOut".
	InSample lab.Fold `json:"inSample"`
	// One entry for each source that was held out: the choice on the others, with its figures on
	// this one.
	Folds []lab.Fold `json:"folds"`
}

func heldOutOf(choices []lab.Choice) (all []heldOut) {
	for _, c := range choices {
		all = append(all, heldOut{c.Of, c.Standing.Name, c.Bearable,
			estimateOf(c.Ratio, c.Within, c.MissedStepsPer100, c.MissedWithin), regionOf(c.Standing.Region),
			c.ToAlone, c.AloneWithin.Low, c.AloneWithin.High, c.InSample, c.Folds})
	}
	return all
}

// recordedBill is what sessions took by the reports in their logs, always in US dollars.
type recordedBill struct {
	Cost *float64 `json:"cost"` // US dollars for all requests; null if nothing is known
	lab.Paid
	Differs []string `json:"differs"` // why the baseline's bill differs, sentences with figures
}

func recordedOf(p lab.Paid, differs []string) recordedBill {
	b := recordedBill{Paid: p, Differs: differs}
	if all := p.Total(); all.Requests > 0 {
		b.Cost = all.Dollars()
	}
	return b
}

// replayedPolicy is a policy over all sessions.
type replayedPolicy struct {
	Name  string `json:"name"`           // its name
	Group string `json:"group,omitzero"` // the "--sweep" that it belongs to
	// Tokens in place of the model's own window, -1 for no limit.
	Window int      `json:"window,omitzero"`
	Bill   float64  `json:"bill"`   // the bill of all sessions
	Billed lab.Bill `json:"billed"` // the same by purpose
	relativeBill
	spread
	missedSteps
	// Items, in a hundred steps, that these steps needed; those of one file, which one read gives
	// back, are one.
	MissedItemsPer100 float64 `json:"missedItemsPer100"`
	// Edits, in a hundred steps, whose old text stands only in hidden text; they are not billed.
	LostEditsPer100 float64 `json:"lostEditsPer100"`
	// Identifiers and paths in arguments of calls, in a hundred steps, that stand only in hidden
	// text; they are not billed.
	LostInputsPer100 float64 `json:"lostInputsPer100"`
	Lambda           lambda  `json:"lambda"`          // the relative bill if an agent that sees less works longer
	Region           *region `json:"region,omitzero"` // the same policy where a miss brings back a region
	Regrets          int     `json:"regrets"`         // missed items
	// The same as "missedItemsPer100", by an older name.
	RegretsPer100 float64 `json:"regretsPer100"`
	prompts
	Commits     int `json:"commits"`     // how often elisions were committed
	Compactions int `json:"compactions"` // how often the session was compacted
	Over        int `json:"over"`        // steps whose prompt was larger than the window
	rises
}

// prompts are the tokens of all prompts, those of the largest, and the share read from the cache.
type prompts struct {
	Tokens   int     `json:"tokens"`   // tokens of all prompts
	Largest  int     `json:"largest"`  // tokens of the largest prompt
	HitShare float64 `json:"hitShare"` // share of the tokens that the cache served
}

// spread is how the relative bills of sessions differ.
type spread struct {
	Mean float64 `json:"mean"` // the mean of the sessions' own ratios
	P10  float64 `json:"p10"`  // the 10th percentile of the sessions' own ratios
	P50  float64 `json:"p50"`  // the 50th percentile of them
	P90  float64 `json:"p90"`  // the 90th percentile of them
	// The bill as a multiple of the cheapest one with knowledge of the future.
	ToBound float64 `json:"toBound,omitzero"`
}

// rises counts the sessions whose bill rose; Worse2 and WorseBy2 are those by more than 2 %.
type rises struct {
	Worse    int     `json:"worse"`    // sessions whose bill is higher than the baseline's
	Worse2   int     `json:"worse2"`   // sessions whose bill is higher by more than 2 %
	WorseBy2 int     `json:"worseBy2"` // "worse2" by an older name
	Worst    float64 `json:"worst"`    // the largest increase, as a share
}

// lambda is the relative bill if an agent makes so many more steps for each 1,000 tokens removed.
type lambda struct {
	None float64 `json:"0"`    // with no extra step for each 1,000 tokens removed
	Some float64 `json:"0.27"` // with 0.27 extra steps for each 1,000 tokens removed
	Much float64 `json:"1.03"` // with 1.03 extra steps for each 1,000 tokens removed
	// Extra steps that take away all that is saved, negative if nothing is saved; null if nothing
	// is removed.
	BreakEven *float64 `json:"breakEven"`
}

// region is a policy where a miss brings back a region alone.
type region struct {
	estimate
	// Items, in a hundred steps, that these steps needed.
	MissedItemsPer100 float64 `json:"missedItemsPer100"`
}

func regionOf(s *lab.Standing) *region {
	if s == nil {
		return nil
	}
	return &region{estimateOf(s.Ratio, s.Within, s.MissedStepsPer100, s.MissedWithin), s.MissedItemsPer100}
}

// replayedOne is one session.
type replayedOne struct {
	ID      string `json:"id"`               // id of the session
	Name    string `json:"name"`             // its name
	Path    string `json:"path,omitzero"`    // its path
	Source  string `json:"source,omitzero"`  // its source
	Product string `json:"product,omitzero"` // its product
	Model   string `json:"model,omitzero"`   // its model
	Steps   int    `json:"steps"`            // model requests
	Tokens  int    `json:"tokens"`           // tokens of the log
	// Tokens of system prompt and tools, derived from its usage, or assumed.
	Base    int `json:"base"`
	Damaged int `json:"damaged,omitzero"` // pieces of the file that could not be read
	// US dollars as recorded, the same as in "inspect"; null if nothing is known.
	Cost  *float64 `json:"cost"`
	Bound float64  `json:"bound,omitzero"` // the cheapest bill with knowledge of the future
	// One entry for each policy, in the order of "policies".
	Outcomes []lab.Outcome `json:"outcomes"`
}

// DocumentOf makes the document.
func DocumentOf(r lab.Report, detail bool) Document {
	doc := Document{extent: extent{Sessions: len(r.Sessions), Sources: r.Sources, By: r.By}, Unit: "USD",
		Prices: r.Prices, Baseline: r.Baseline, RecordedBill: recordedOf(r.Paid, r.Differs), Base: r.BaseCost(),
		Skipped: r.Skipped, Subject: r.Subject, Gains: r.Gains, Losses: r.Losses, Advice: r.Advice,
		Gaps: r.Gaps, Hulls: r.Hulls, Unadvised: r.Unadvised, Products: r.Products,
		choices: choices{heldOutOf(r.Holdout), r.Unheld, r.InSample}}
	if r.Relative {
		doc.Unit = "Mtok"
	}
	for _, p := range r.Policies {
		e := estimateOf(p.Ratio, p.Within, p.MissedStepsPer100, p.MissedWithin)
		doc.Policies = append(doc.Policies, replayedPolicy{
			Name: p.Name, Group: p.Group, Window: p.Window, Bill: p.Bill.Total(), Billed: p.Bill,
			relativeBill: e.relativeBill, spread: spread{p.Mean, p.P10, p.P50, p.P90, p.Bound},
			missedSteps: e.missedSteps, MissedItemsPer100: p.MissedItemsPer100, LostEditsPer100: p.LostEditsPer100,
			LostInputsPer100: p.LostInputsPer100,
			Lambda:           lambda{p.Ratio, p.Lambda.Some, p.Lambda.Much, p.Lambda.BreakEven}, Region: regionOf(p.Region),
			Regrets: p.Regrets, RegretsPer100: p.MissedItemsPer100,
			prompts: prompts{p.Tokens.Sent, p.Tokens.Largest, p.Hits}, Commits: p.Commits, Compactions: p.Folds, Over: p.Over,
			rises: rises{p.Rose, p.RoseMore, p.RoseMore, p.Worst},
		})
	}
	for _, s := range r.Sessions {
		doc.Steps += s.Steps
		one := replayedOne{s.ID, s.Name, s.Path, s.Source, s.Product, s.Model, s.Steps, s.Tokens, s.Base, s.Damaged,
			recordedOf(s.Paid, nil).Cost, s.Bound, s.Outcomes}
		if !detail {
			one.Outcomes = make([]lab.Outcome, len(s.Outcomes))
			for i, o := range s.Outcomes {
				o.Course = lab.Course{}
				if o.Region != nil {
					region := *o.Region
					region.Course = lab.Course{}
					o.Region = &region
				}
				one.Outcomes[i] = o
			}
		}
		doc.Recorded = append(doc.Recorded, one)
	}
	return doc
}

// Files are where the table of --csv and the page of --html go, "" for nowhere and "-" for standard
// output.
type Files struct {
	Csv, Page string
	Name      string // of what was replayed
}

// Files finds out where they may go, before anything is replayed: a table to a new file, unless
// --force overwrites it.
func (f *Flags) Files(a *cli.App) (to Files, err error) {
	to.Csv, to.Page = f.Csv, f.Page.To
	if f.Page.To != "" && f.Page.To != "-" {
		if to.Page, err = f.Page.Place(a, &source.Session{}, f.Csv, "--csv"); err != nil {
			return to, err
		}
	}
	if f.Csv != "" && f.Csv != "-" {
		to.Csv, err = output.Place{Flag: "--csv", Force: f.Page.Force}.Check(a.Path(f.Csv))
	}
	return to, err
}

// Spare refuses to overwrite what is replayed, even with --force.
func (to Files) Spare(sources []lab.Source) error {
	for flag, path := range map[string]string{"--csv": to.Csv, "--html": to.Page} {
		there, err := os.Stat(path)
		if err != nil || path == "-" {
			continue
		}
		for i := range sources {
			file, _, _ := strings.Cut(sources[i].Path, "#") // a session in a database
			if info, err := os.Stat(file); err == nil && os.SameFile(there, info) {
				return cli.Usage("%s is what is read; name another file with %s", path, flag)
			}
		}
	}
	return nil
}

// WriteReplay writes the table and the page.
func WriteReplay(ctx context.Context, a *cli.App, r lab.Report, reader *Reader, to Files) error {
	if to.Csv != "" {
		if err := writeTable(ctx, a, to.Csv, r); err != nil {
			return err
		}
	}
	if to.Page == "" {
		return nil
	}
	details := page.ReplayDetails{Name: to.Name, Part: reader.describer(ctx, r), KeepSecrets: a.KeepSecrets()}
	_, err := output.WritePage(ctx, a, to.Page, func(w io.Writer) error { return page.Replay(w, r, details) })
	return err
}

// writeTable writes a line for each session and policy.
func writeTable(ctx context.Context, a *cli.App, path string, r lab.Report) error {
	write := func(w io.Writer) error {
		out := csv.NewWriter(w)
		out.Write([]string{"session", "name", "path", "product", "model", "steps", "policy", "window", "bill", "read",
			"write", "output", "compact", "regret", "relative", "regrets", "sent", "cached", "produced", "largest",
			"commits", "compactions", "over", "bound", "source", "missedSteps", "missedItems", "lostEdits",
			"lostInputs",
			"removed", "lambda0.27", "lambda1.03", "region", "regionMissedSteps"})
		number := func(f float64) string { return strconv.FormatFloat(f, 'g', 10, 64) }
		for _, s := range r.Sessions {
			base := 0.0
			for i, o := range s.Outcomes {
				if r.Policies[i].Name == r.Baseline {
					base = o.Bill.Total()
				}
			}
			for i, o := range s.Outcomes {
				relative := ""
				if base > 0 {
					relative = number(o.Bill.Total() / base)
				}
				row := []string{visible.Line(s.ID), visible.Line(s.Name), visible.Line(s.Path), s.Product,
					visible.Line(s.Model), strconv.Itoa(s.Steps), o.Policy, strconv.Itoa(r.Policies[i].Window)}
				b, t := o.Bill, o.Tokens
				for _, f := range []float64{b.Total(), b.Read, b.Write, b.Output, b.Compact, b.Regret} {
					row = append(row, number(f))
				}
				row = append(row, relative)
				for _, n := range []int{o.Regrets, t.Sent, t.Cached, t.Output, t.Largest, o.Commits, o.Folds, o.Over} {
					row = append(row, strconv.Itoa(n))
				}
				row = append(row, number(s.Bound), visible.Line(s.Source))
				for _, n := range []int{o.MissedSteps, o.MissedItems, o.LostEdits, o.LostInputs, o.Removed} {
					row = append(row, strconv.Itoa(n))
				}
				row = append(row, number(o.Lambda(lab.SomeLonger)), number(o.Lambda(lab.MuchLonger)), "", "")
				if o.Region != nil {
					row[len(row)-2], row[len(row)-1] = number(o.Region.Bill.Total()), strconv.Itoa(o.Region.MissedSteps)
				}
				out.Write(row)
			}
		}
		out.Flush()
		return out.Error()
	}
	if path == "-" {
		return write(a.Out)
	}
	return a.Files.Write(ctx, path, write)
}

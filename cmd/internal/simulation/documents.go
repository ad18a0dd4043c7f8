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
	// Unit of bills: "USD", or "Mtok" for millions of tokens at the input price.
	Unit     string `json:"unit"`
	Prices   string `json:"prices"`
	Baseline string `json:"baseline"`
	// RecordedBill is what the sessions took as they were recorded.
	RecordedBill recordedBill     `json:"recordedBill"`
	Policies     []replayedPolicy `json:"policies"`
	Base         lab.BaseCost     `json:"base"` // what system prompt and tools cost under the baseline
	Recorded     []replayedOne    `json:"recorded"`
	Skipped      []lab.Skipped    `json:"skipped"`
	Subject      string           `json:"subject,omitzero"`
	Gains        []lab.Change     `json:"gains"`
	Losses       []lab.Change     `json:"losses"`
	Advice       *lab.Advice      `json:"advice,omitzero"`
	// Unadvised says why there is no advice.
	Gaps      []lab.Gap           `json:"gaps,omitzero"`
	Unadvised string              `json:"unadvised,omitzero"`
	Products  []lab.ProductAdvice `json:"products,omitzero"`
	choices
}

// extent is how much was replayed.
type extent struct {
	Sessions int `json:"sessions"`
	Steps    int `json:"steps"`
	// Sources is how many sources the sessions have; intervals are over By.
	Sources int    `json:"sources"`
	By      string `json:"by,omitzero"`
}

// choices are judged on other sessions than they were made on.
type choices struct {
	Holdout  []heldOut `json:"holdout,omitzero"`
	Unheld   string    `json:"unheld,omitzero"`   // why there are none
	InSample []string  `json:"inSample,omitzero"` // chosen on the very sessions that they are judged on
}

// relativeBill is a bill relative to the baseline's, with the interval in which it would lie nine
// times in ten.
type relativeBill struct {
	Relative float64 `json:"relative"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// missedSteps are the missed steps in 100, with their interval.
type missedSteps struct {
	MissedStepsPer100 float64 `json:"missedStepsPer100"`
	MissedStepsLow    float64 `json:"missedStepsLow"`
	MissedStepsHigh   float64 `json:"missedStepsHigh"`
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
	Of       string  `json:"of,omitzero"`
	Name     string  `json:"name"`
	Bearable float64 `json:"bearable"`
	estimate
	Region      *region    `json:"region,omitzero"`
	ToAlone     float64    `json:"toAlone,omitzero"`
	ToAloneLow  float64    `json:"toAloneLow,omitzero"`
	ToAloneHigh float64    `json:"toAloneHigh,omitzero"`
	InSample    lab.Fold   `json:"inSample"`
	Folds       []lab.Fold `json:"folds"`
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
	Cost *float64 `json:"cost"` // null where nothing is known
	lab.Paid
	// Differs says why the baseline's bill is another one.
	Differs []string `json:"differs"`
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
	Name   string   `json:"name"`
	Group  string   `json:"group,omitzero"`
	Window int      `json:"window,omitzero"`
	Bill   float64  `json:"bill"`
	Billed lab.Bill `json:"billed"`
	relativeBill
	spread
	missedSteps
	MissedItemsPer100 float64 `json:"missedItemsPer100"`
	LostEditsPer100   float64 `json:"lostEditsPer100"`
	LostInputsPer100  float64 `json:"lostInputsPer100"`
	Lambda            lambda  `json:"lambda"`
	Region            *region `json:"region,omitzero"`
	Regrets           int     `json:"regrets"`
	RegretsPer100     float64 `json:"regretsPer100"`
	prompts
	Commits     int `json:"commits"`
	Compactions int `json:"compactions"`
	Over        int `json:"over"`
	rises
}

// prompts are the tokens of all prompts, those of the largest, and the share read from the cache.
type prompts struct {
	Tokens   int     `json:"tokens"`
	Largest  int     `json:"largest"`
	HitShare float64 `json:"hitShare"`
}

// spread is how the relative bills of sessions differ.
type spread struct {
	Mean    float64 `json:"mean"`
	P10     float64 `json:"p10"`
	P50     float64 `json:"p50"`
	P90     float64 `json:"p90"`
	ToBound float64 `json:"toBound,omitzero"`
}

// rises counts the sessions whose bill rose; Worse2 and WorseBy2 are those by more than 2 %.
type rises struct {
	Worse    int     `json:"worse"`
	Worse2   int     `json:"worse2"`
	WorseBy2 int     `json:"worseBy2"`
	Worst    float64 `json:"worst"`
}

// lambda is the relative bill if an agent makes so many more steps for each 1,000 tokens removed.
type lambda struct {
	None      float64  `json:"0"`
	Some      float64  `json:"0.27"`
	Much      float64  `json:"1.03"`
	BreakEven *float64 `json:"breakEven"` // null where nothing is removed
}

// region is a policy where a miss brings back a region alone.
type region struct {
	estimate
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
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Path     string        `json:"path,omitzero"`
	Source   string        `json:"source,omitzero"`
	Product  string        `json:"product,omitzero"`
	Model    string        `json:"model,omitzero"`
	Steps    int           `json:"steps"`
	Tokens   int           `json:"tokens"`
	Base     int           `json:"base"`
	Damaged  int           `json:"damaged,omitzero"`
	Cost     *float64      `json:"cost"` // as recorded, in US dollars; null where nothing is known
	Bound    float64       `json:"bound,omitzero"`
	Outcomes []lab.Outcome `json:"outcomes"`
}

// DocumentOf makes the document.
func DocumentOf(r lab.Report, detail bool) Document {
	doc := Document{extent: extent{Sessions: len(r.Sessions), Sources: r.Sources, By: r.By}, Unit: "USD",
		Prices: r.Prices, Baseline: r.Baseline, RecordedBill: recordedOf(r.Paid, r.Differs), Base: r.BaseCost(),
		Skipped: r.Skipped, Subject: r.Subject, Gains: r.Gains, Losses: r.Losses, Advice: r.Advice,
		Gaps: r.Gaps, Unadvised: r.Unadvised, Products: r.Products,
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

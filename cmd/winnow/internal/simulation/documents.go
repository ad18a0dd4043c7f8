package simulation

import (
	"context"
	"encoding/csv"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/output"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/page"
	"github.com/winnowhq/winnow/visible"
)

// Document is the JSON document of replay.
type Document struct {
	Sessions int `json:"sessions"`
	Steps    int `json:"steps"`
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
	Unadvised string `json:"unadvised,omitzero"`
}

// recordedBill is what sessions took by the reports in their logs, always in US dollars.
type recordedBill struct {
	Cost *float64 `json:"cost"` // null where nothing is known
	lab.Paid
	// Differs says why the baseline's bill is another one.
	Differs []string `json:"differs"`
}

func recordedOf(p lab.Paid, differs []string) recordedBill {
	b := recordedBill{Paid: p, Differs: append([]string{}, differs...)}
	if all := p.Total(); all.Requests > 0 {
		b.Cost = all.Dollars()
	}
	return b
}

// replayedPolicy is a policy over all sessions.
type replayedPolicy struct {
	Name          string   `json:"name"`
	Group         string   `json:"group,omitzero"`
	Window        int      `json:"window,omitzero"`
	Bill          float64  `json:"bill"`
	Billed        lab.Bill `json:"billed"`
	Relative      float64  `json:"relative"`
	Mean          float64  `json:"mean"`
	ToBound       float64  `json:"toBound,omitzero"`
	Regrets       int      `json:"regrets"`
	RegretsPer100 float64  `json:"regretsPer100"`
	Tokens        int      `json:"tokens"`
	Largest       int      `json:"largest"`
	HitShare      float64  `json:"hitShare"`
	Commits       int      `json:"commits"`
	Compactions   int      `json:"compactions"`
	Over          int      `json:"over"`
	Worse         int      `json:"worse"`
	WorseBy2      int      `json:"worseBy2"`
	Worst         float64  `json:"worst"`
}

// replayedOne is one session.
type replayedOne struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Path     string        `json:"path,omitzero"`
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
	doc := Document{Sessions: len(r.Sessions), Unit: "USD", Prices: r.Prices, Baseline: r.Baseline,
		RecordedBill: recordedOf(r.Paid, r.Differs), Policies: []replayedPolicy{}, Recorded: []replayedOne{},
		Skipped: append([]lab.Skipped{}, r.Skipped...), Subject: r.Subject,
		Gains: append([]lab.Change{}, r.Gains...), Losses: append([]lab.Change{}, r.Losses...), Advice: r.Advice,
		Unadvised: r.Unadvised}
	doc.Base = r.BaseCost()
	if r.Relative {
		doc.Unit = "Mtok"
	}
	for _, p := range r.Policies {
		doc.Policies = append(doc.Policies, replayedPolicy{
			Name: p.Name, Group: p.Group, Window: p.Window, Bill: p.Bill.Total(), Billed: p.Bill, Relative: p.Ratio,
			Mean: p.Mean, ToBound: p.Bound, Regrets: p.Regrets, RegretsPer100: p.Rate, Tokens: p.Tokens.Sent,
			Largest: p.Tokens.Largest, HitShare: p.Hits, Commits: p.Commits, Compactions: p.Folds, Over: p.Over,
			Worse: p.Rose, WorseBy2: p.RoseMore, Worst: p.Worst,
		})
	}
	for _, s := range r.Sessions {
		doc.Steps += s.Steps
		one := replayedOne{s.ID, s.Name, s.Path, s.Product, s.Model, s.Steps, s.Tokens, s.Base, s.Damaged,
			recordedOf(s.Paid, nil).Cost, s.Bound, s.Outcomes}
		if !detail {
			one.Outcomes = make([]lab.Outcome, len(s.Outcomes))
			for i, o := range s.Outcomes {
				o.Events, o.Curve, o.Sizes = nil, nil, nil
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
			"commits", "compactions", "over", "bound"})
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
				out.Write(append(row, number(s.Bound)))
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

package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/page"
	"github.com/winnowhq/winnow/visible"
)

// replayed is the JSON document of replay.
type replayed struct {
	Sessions int `json:"sessions"`
	Steps    int `json:"steps"`
	// Unit of bills: "USD", or "Mtok" for millions of tokens at the input price.
	Unit     string `json:"unit"`
	Prices   string `json:"prices"`
	Baseline string `json:"baseline"`
	// RecordedBill is what the sessions took as they were recorded.
	RecordedBill recordedBill     `json:"recordedBill"`
	Policies     []replayedPolicy `json:"policies"`
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

// replayedOf makes the document.
func replayedOf(r lab.Report, detail bool) replayed {
	doc := replayed{Sessions: len(r.Sessions), Unit: "USD", Prices: r.Prices, Baseline: r.Baseline, RecordedBill: recordedOf(r.Paid, r.Differs), Policies: []replayedPolicy{}, Recorded: []replayedOne{},
		Skipped: append([]lab.Skipped{}, r.Skipped...), Subject: r.Subject, Gains: append([]lab.Change{}, r.Gains...), Losses: append([]lab.Change{}, r.Losses...),
		Advice: r.Advice, Unadvised: r.Unadvised}
	if r.Relative {
		doc.Unit = "Mtok"
	}
	for _, p := range r.Policies {
		doc.Policies = append(doc.Policies, replayedPolicy{
			Name: p.Name, Group: p.Group, Window: p.Window, Bill: p.Bill.Total(), Billed: p.Bill, Relative: p.Ratio, Mean: p.Mean, ToBound: p.Bound, Regrets: p.Regrets,
			RegretsPer100: p.Rate, Tokens: p.Tokens.Sent, Largest: p.Tokens.Largest, HitShare: p.Hits, Commits: p.Commits, Compactions: p.Folds, Over: p.Over,
			Worse: p.Rose, WorseBy2: p.RoseMore, Worst: p.Worst,
		})
	}
	for _, s := range r.Sessions {
		doc.Steps += s.Steps
		one := replayedOne{s.ID, s.Name, s.Path, s.Product, s.Model, s.Steps, s.Tokens, s.Base, s.Damaged, recordedOf(s.Paid, nil).Cost, s.Bound, s.Outcomes}
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

// replayFiles are where the table of --csv and the page of --html go, "" for nowhere and "-" for standard output.
type replayFiles struct {
	csv, page string
	name      string // of what was replayed
}

// files finds out where they may go, before anything is replayed: a table to a file that is not there yet, unless --force overwrites it.
func (f *replayFlags) files(a *app) (to replayFiles, err error) {
	to.csv, to.page = f.csv, f.page.to
	if f.page.to != "" && f.page.to != "-" {
		if to.page, err = f.page.place(a, &source{}, f.csv, "--csv"); err != nil {
			return to, err
		}
	}
	if f.csv == "" || f.csv == "-" {
		return to, nil
	}
	to.csv = a.path(f.csv)
	info, err := os.Stat(to.csv)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if folder := filepath.Dir(to.csv); !isFolder(folder) {
			return to, hinted{fmt.Errorf("%s cannot be written: there is no folder %s", to.csv, folder), "make the folder first, or name another file with --csv"}
		}
	case err != nil:
		return to, err
	case info.IsDir():
		return to, usage("%s is a folder; name a file in it", to.csv)
	case info.Mode().IsRegular() && !f.page.force:
		return to, usage("%s is there already; use --force to overwrite it, or name another file with --csv", to.csv)
	}
	return to, nil
}

// spare refuses to write over what is replayed, also with --force.
func (to replayFiles) spare(sources []lab.Source) error {
	for flag, path := range map[string]string{"--csv": to.csv, "--html": to.page} {
		there, err := os.Stat(path)
		if err != nil || path == "-" {
			continue
		}
		for i := range sources {
			file, _, _ := strings.Cut(sources[i].Path, "#") // a session in a database
			if info, err := os.Stat(file); err == nil && os.SameFile(there, info) {
				return usage("%s is what is read; name another file with %s", path, flag)
			}
		}
	}
	return nil
}

// writeReplay writes the table and the page.
func (a *app) writeReplay(ctx context.Context, r lab.Report, reader *replayReader, to replayFiles) error {
	if to.csv != "" {
		if err := a.writeTable(ctx, to.csv, r); err != nil {
			return err
		}
	}
	if to.page == "" {
		return nil
	}
	defer a.progress("writing the page")()
	details := page.ReplayDetails{Name: to.name, Part: reader.describer(ctx, r), KeepSecrets: a.keepSecrets()}
	write := func(w io.Writer) error { return page.Replay(w, r, details) }
	if to.page == "-" {
		return write(a.data())
	}
	return a.files.write(ctx, to.page, write)
}

// writeTable writes a line for each session and policy.
func (a *app) writeTable(ctx context.Context, path string, r lab.Report) error {
	write := func(w io.Writer) error {
		out := csv.NewWriter(w)
		out.Write([]string{"session", "name", "path", "product", "model", "steps", "policy", "window", "bill", "read", "write", "output", "compact", "regret", "relative",
			"regrets", "sent", "cached", "produced", "largest", "commits", "compactions", "over", "bound"})
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
				out.Write([]string{visible.Line(s.ID), visible.Line(s.Name), visible.Line(s.Path), s.Product, visible.Line(s.Model), strconv.Itoa(s.Steps), o.Policy, strconv.Itoa(r.Policies[i].Window), number(o.Bill.Total()),
					number(o.Bill.Read), number(o.Bill.Write), number(o.Bill.Output), number(o.Bill.Compact), number(o.Bill.Regret), relative, strconv.Itoa(o.Regrets),
					strconv.Itoa(o.Tokens.Sent), strconv.Itoa(o.Tokens.Cached), strconv.Itoa(o.Tokens.Output), strconv.Itoa(o.Tokens.Largest), strconv.Itoa(o.Commits),
					strconv.Itoa(o.Folds), strconv.Itoa(o.Over), number(s.Bound)})
			}
		}
		out.Flush()
		return out.Error()
	}
	if path == "-" {
		return write(a.out)
	}
	return a.files.write(ctx, path, write)
}

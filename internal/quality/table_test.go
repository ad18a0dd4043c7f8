package quality

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/text/quantity"
)

var (
	table    = flag.Bool("table", false, "print what five compactions keep: make quality")
	policies = flag.String("policies", "classic,aggressive,balanced,economic", "of the table; economic is balanced with that threshold")
	shares   = flag.String("to", "1/2,1/4,1/8", "how much of what the model saw a compaction may leave")
	many     = flag.Int("made", 3, "how many sessions are made up")
	heldOut  = flag.Bool("held-out", false, "say the facts in words that winnow was not improved with")
	lost     = flag.Bool("lost", false, "list what was lost in the end, as it was said")
)

// The table of docs/summaries.md, with its flags.
func TestTable(t *testing.T) {
	if !*table {
		t.Skip("it takes half a minute: make quality")
	}
	phrasings := Known()
	if *heldOut {
		phrasings = HeldOut()
	}
	var text, went strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "policy\tsummariser\tto\t")
	for _, k := range Kinds() {
		fmt.Fprintf(w, "%s\t", k)
	}
	fmt.Fprintln(w, "outdated\tmixed up\tdrift\tlost inputs\tsize\t")
	for policy := range strings.SplitSeq(*policies, ",") {
		for _, s := range []struct {
			name string
			by   pivot.Summarizer
		}{{"offline", offline.New()}, {"scripted", Scripted{}}} {
			for to := range strings.SplitSeq(*shares, ",") {
				r := tabled(t, policy, s.by, to, phrasings)
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", policy, s.name, to, strings.Join(cells(r), "\t")+"\t")
				for _, l := range r.Lost {
					if *lost && l.Fold == Folds {
						fmt.Fprintf(&went, "%s, %s, %s: session %d, %s, %s: %s\n", policy, s.name, to, l.Session+1, l.Kind, l.Why, l.Text)
					}
				}
			}
		}
	}
	w.Flush()
	t.Logf("%s, %s phrasings, compacted %d times\n%s%s", quantity.Count(*many, "made-up session"), phrasings.Name, Folds,
		&text, &went)
}

func tabled(t *testing.T, policy string, by pivot.Summarizer, to string, phrasings Phrasings) Result {
	t.Helper()
	share, err := strconv.Atoi(strings.TrimPrefix(to, "1/"))
	if err != nil || share < 2 {
		t.Fatalf("-to %q: give fractions from 1/2 on", to)
	}
	set := settings.Default()
	if set.Policy = policy; policy == "economic" {
		set.Policy, set.Compaction.Threshold = "balanced", budget.Thresholds{"**": budget.Economic}
	}
	r, err := Run(t.Context(), Case{Config: winnow.Config{Settings: &set, Summarizer: by}, To: share, Sessions: *many,
		Phrasings: phrasings})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// cells are, of each kind, the share of the facts that the model still sees after the last
// compaction, and then: replaced facts that the summary still tells, facts of one of two that it
// tells of the other, facts that stood after one compaction and not after the next, names and paths
// of later calls that the model no longer sees, and the view after a compaction relative to before.
func cells(r Result) (all []string) {
	last := r.Folds[Folds-1]
	for _, k := range Kinds() {
		all = append(all, quantity.Percent(last.Standing[k], last.Planted[k]))
	}
	var sum Fold
	for _, f := range r.Folds {
		sum.Stood, sum.Drifted = sum.Stood+f.Stood, sum.Drifted+f.Drifted
		sum.Inputs, sum.LostInputs = sum.Inputs+f.Inputs, sum.LostInputs+f.LostInputs
		sum.Before, sum.After = sum.Before+f.Before, sum.After+f.After
	}
	for _, share := range [][2]int{{last.Stale, last.Replaced}, {last.Mixed, last.Apart}, {sum.Drifted, sum.Stood},
		{sum.LostInputs, sum.Inputs}, {sum.After, sum.Before}} {
		all = append(all, quantity.Percent(share[0], share[1]))
	}
	return all
}

package command

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/lab/quality"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/text/quantity"
)

// qualityDocument is the JSON document of quality.
type qualityDocument struct {
	Sessions  int          `json:"sessions"`
	Tokens    int          `json:"tokens"` // of all of them
	Phrasings string       `json:"phrasings"`
	Rows      []qualityRow `json:"rows"`
}

// qualityRow is what one policy with one summariser kept.
type qualityRow struct {
	Policy     string         `json:"policy"`
	Summarizer string         `json:"summarizer"`
	To         string         `json:"to"` // "1/4"
	Cost       float64        `json:"cost,omitzero"`
	Folds      []quality.Fold `json:"folds"`
	Lost       []quality.Lost `json:"lost,omitempty"`

	tokens int
}

// economicPolicy is balanced with the economic threshold, as replay's tables call it.
const economicPolicy = "economic"

type qualityFlags struct {
	summarizers, to []string
	sessions        int
	heldOut, lost   bool
}

func qualityCommand(a *cli.App) *cobra.Command {
	var f qualityFlags
	cmd := &cobra.Command{
		Use:   "quality",
		Short: "Measure what five compactions in a row keep, in made-up sessions",
		Long: `quality makes up sessions in which facts are planted: rules of the user, values, paths, decisions
with their reasons, what replaced such facts later, and what holds for one of two (staging, production)
and not for the other. It compacts each session five times, once after each fifth of it, and looks the
facts up in what the model sees then. No model judges, and none is asked unless you say so.

The sessions are the same each time. They say how policies and summarisers compare, not how good a
summary of your sessions is.

Policies are classic, aggressive, balanced, and economic, which is balanced with the economic threshold.
offline is the summariser that needs no model, scripted a weak one in place of a model, which notes how
each message begins. llm asks --model, which costs money: try --sessions 1 first.`,
		Example: `  winnow quality
  winnow quality --policy balanced --to 1/4 --lost
  winnow quality --policy balanced --to 1/4 --sessions 1 --summarizer llm --model anthropic/claude-haiku-4-5`,
		Args: cli.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error { return runQuality(cmd.Context(), a, f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.summarizers, "summarizer", []string{"offline", "scripted"},
		"who writes the summaries: offline, scripted, llm; with commas between them")
	flags.StringSliceVar(&f.to, "to", []string{"1/2", "1/4", "1/8"},
		"how much of what the model saw a compaction may leave, with commas between the fractions")
	flags.IntVar(&f.sessions, "sessions", 3, "how many sessions are made up")
	flags.BoolVar(&f.heldOut, "held-out", false, "say the facts in words that winnow was not improved with")
	flags.BoolVar(&f.lost, "lost", false, "list what was lost in the end, as it was said")
	cli.Complete(cmd, "summarizer", "offline", "scripted", "llm")
	return cmd
}

func runQuality(ctx context.Context, a *cli.App, f qualityFlags) error {
	if f.sessions < 1 || f.sessions > 1000 {
		return cli.Usage("--sessions %d: give a number from 1 to 1,000", f.sessions)
	}
	policies := []string{"classic", "aggressive", "balanced", economicPolicy}
	if a.Policy != "" {
		policies = []string{a.Policy}
		if a.Policy == economicPolicy {
			a.Policy = "" // the settings know it as a threshold
		}
	}
	doc := qualityDocument{Sessions: f.sessions, Phrasings: phrasingsOf(f).Name}
	say, done := a.Counting()
	defer done()
	for _, policy := range policies {
		for _, summarizer := range f.summarizers {
			for _, to := range f.to {
				say(len(doc.Rows), len(policies)*len(f.summarizers)*len(f.to), "%s, %s, %s", policy, summarizer, to)
				row, err := measureQuality(ctx, a, f, policy, summarizer, to)
				if err != nil {
					return err
				}
				doc.Rows, doc.Tokens = append(doc.Rows, row), row.tokens
			}
		}
	}
	done()
	return a.Tell(doc, func() { showQuality(a, doc, f.lost) })
}

func phrasingsOf(f qualityFlags) quality.Phrasings {
	if f.heldOut {
		return quality.HeldOut()
	}
	return quality.Known()
}

func measureQuality(ctx context.Context, a *cli.App, f qualityFlags, policy, summarizer, to string) (qualityRow,
	error) {
	row := qualityRow{Policy: policy, Summarizer: summarizer, To: to}
	whole, ok := strings.CutPrefix(to, "1/")
	share, err := strconv.Atoi(whole)
	if !ok || err != nil || share < 2 || share > 20 {
		return row, cli.Usage("--to %q: give fractions from 1/2 to 1/20", to)
	}
	settings, err := a.Settings()
	if err != nil {
		return row, err
	}
	settings.Policy = policy
	if policy == economicPolicy {
		settings.Policy, settings.Compaction.Threshold = "balanced", budget.Thresholds{"**": budget.Economic}
	}
	if err := settings.Validate(); err != nil {
		return row, cli.Misuse(err)
	}
	settings.Compaction.Summarizer = "offline"
	if summarizer == "llm" {
		settings.Compaction.Summarizer = "llm"
	}
	c := quality.Case{To: share, Sessions: f.sessions, Phrasings: phrasingsOf(f)}
	if c.Config, err = source.Config(a, nil, settings); err != nil {
		return row, err
	}
	switch summarizer {
	case "offline":
		c.Config.Summarizer = offline.New()
	case "scripted":
		c.Config.Summarizer = quality.Scripted{}
	case "llm":
	default:
		return row, cli.Usage("unknown summariser %q; use offline, scripted, llm", summarizer)
	}
	result, err := quality.Run(ctx, c)
	row.Cost, row.Folds, row.Lost, row.tokens = result.Cost, result.Folds[:], result.Lost, result.Tokens
	return row, err
}

func showQuality(a *cli.App, doc qualityDocument, lost bool) {
	first := doc.Rows[0].Folds
	facts := 0
	for _, n := range first[len(first)-1].Planted {
		facts += n
	}
	a.Printf("%s of about %s tokens, %s that hold in the end, %s phrasings, compacted %d times.\n\n",
		quantity.Count(doc.Sessions, "made-up session"), quantity.Short(doc.Tokens/doc.Sessions),
		quantity.Count(facts, "planted fact"), doc.Phrasings, quality.Folds)
	rows := [][]string{{"policy", "summariser", "to"}}
	for _, k := range quality.Kinds() {
		rows[0] = append(rows[0], string(k))
	}
	rows[0] = append(rows[0], "outdated", "mixed up", "drift", "lost inputs", "size")
	for _, r := range doc.Rows {
		rows = append(rows, qualityCells(r))
	}
	widths := []int{-6, -10, -3}
	for range len(rows[0]) - len(widths) {
		widths = append(widths, 4)
	}
	a.Table(widths, rows)
	a.Printf(`
Of each kind: the share of the facts that the model still sees after the fifth compaction.
outdated: replaced facts that the summary still tells as if they held. mixed up: facts of one of two
that it tells of the other. drift: facts that stood after one compaction and not after the next. lost
inputs: names and paths of later calls that the model has seen and no longer sees. size: the view after
a compaction, relative to the view before.
`)
	if !lost {
		return
	}
	for _, r := range doc.Rows {
		a.Printf("\n%s, %s, %s\n", r.Policy, r.Summarizer, r.To)
		for _, l := range r.Lost {
			if l.Fold == quality.Folds {
				a.Printf("  session %d, %s, %s: %s\n", l.Session+1, l.Kind, l.Why, l.Text)
			}
		}
	}
}

func qualityCells(r qualityRow) []string {
	cells := []string{r.Policy, r.Summarizer, r.To}
	last := r.Folds[len(r.Folds)-1]
	for _, k := range quality.Kinds() {
		cells = append(cells, quantity.Percent(last.Standing[k], last.Planted[k]))
	}
	var all quality.Fold
	for _, f := range r.Folds {
		all.Stood, all.Drifted = all.Stood+f.Stood, all.Drifted+f.Drifted
		all.Inputs, all.LostInputs = all.Inputs+f.Inputs, all.LostInputs+f.LostInputs
		all.Before, all.After = all.Before+f.Before, all.After+f.After
	}
	for _, share := range [][2]int{{last.Stale, last.Replaced}, {last.Mixed, last.Apart}, {all.Drifted, all.Stood},
		{all.LostInputs, all.Inputs}, {all.After, all.Before}} {
		cells = append(cells, quantity.Percent(share[0], share[1]))
	}
	return cells
}

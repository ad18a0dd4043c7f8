package command

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/simulation"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/text/quantity"
)

func replayCommand(a *cli.App) *cobra.Command {
	var f simulation.Flags
	cmd := &cobra.Command{
		Use:   "replay SRC…",
		Short: "Simulate recorded sessions under other policies",
		Long: `replay goes through recorded sessions step by step, without a model, under several
policies, and bills each step as a provider with a prompt cache does. It counts what a policy would
have missed: steps that quote what the policy had left out by then. A missed step is billed as one
more request, with what it needed.

SRC is a session, or a folder or database of them; --everywhere uses what coding agents have kept on
this computer.

Sessions of one source, which is the folder in which they worked, resemble each other. So intervals
are over sources: where a figure would lie, nine times in ten, on other sources. What is best on the
sessions of the table need not be best on others: --holdout chooses a policy, or the value of each
--sweep, on all sources but one and judges it on that one, each in turn. With fewer than three sources
it does the same with parts of the sessions. What is recommended wins in this way, by more than its
interval, and costs no more than compaction alone. Tables and pictures then show what was left out of
each choice, with its interval, in place of the sweep.

--sweep KEY=A,B,C+OTHER=D,E,F sets two settings in step, --sweep KEY=A,B,C@1,2 makes two choices: the
cheapest with at most 1, and with at most 2 missed steps in 100 on the sessions it is chosen on.

Policies are words: careful, balanced, thrifty, classic, aggressive; nothing (keeps everything, without a limit),
compact (folds the past when the window is full), compact@168k, compact@84%, compact@economic (when it
pays); what others publish: mask:10 (all outputs except those of the last 10 steps, at every step),
clear:3@100k (all outputs except the last 3 whenever the prompt has 100,000 tokens), clear:3@100k+5k
(if that saves 5,000), supersede (any operation on a file replaces all earlier ones); config (the
configuration in force) or the path of a winnow.jsonc. After a word, /compact@168k folds at that many
tokens, /compact@economic when it pays, /200k is a window instead of the model's, /nolimit removes it,
/cold@120k compacts from that size on when the provider's cache has forgotten the prompt, and /warm:5
keeps the cache during pauses, as gateway.keepWarm does, with five requests at most in each.

Two rows are printed first: the agent's own compaction, which is what there is without winnow, and
winnow. --stats prints the statistics behind them.

Results are remembered in $XDG_CACHE_HOME/winnow/replay: a replay that was stopped continues, and the
next one replays only what changed.`,
		Example: `  winnow replay ~/.claude/projects
  winnow replay --everywhere --min-steps 30
  winnow replay session.jsonl --policy nothing,balanced,clear:3@100k/compact@168k
  winnow replay ~/.claude/projects --sweep compaction.threshold=40k..200k --prices reference
  winnow replay ~/.claude/projects --sweep compaction.threshold=60k,120k,economic
  winnow replay ~/.claude/projects --sweep compaction.threshold=60k,120k,economic --holdout
  winnow replay ~/.claude/projects --sweep compaction.keep=14k,20k+compaction.threshold=economic@2,4 --holdout
  winnow replay corpus --sources corpus/INDEX.tsv --holdout --policy nothing,compact,balanced
  winnow replay ~/.claude/projects --regrets 1 --apply
  winnow replay ~/.claude/projects --html replay.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !f.Everywhere {
				return cli.Usage("winnow replay takes at least one SRC, or --everywhere; see winnow replay --help")
			}
			return runReplay(cmd.Context(), a, args, f)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.Policies, "policy", nil,
		"policies to compare, with commas between them (default "+strings.Join(lab.Usual(), ",")+")")
	flags.StringArrayVar(&f.Sweeps, "sweep", nil, "compare many values of a setting: KEY=FROM..TO, "+
		"KEY=FROM..TO/POINTS or KEY=A,B,C, where compaction.threshold may also be economic or late; +KEY=… sets "+
		"another in step, @1,2 is how many missed steps in 100 --holdout may choose")
	flags.BoolVar(&f.Holdout, "holdout", false,
		"choose a policy, or the value of each sweep, on all sources but one, and judge it on that one, each in turn")
	flags.StringVar(&f.Sources, "sources", "", "a table that names the source of each file: columns file and source, "+
		"tabs between them (default: the folder in which a session worked)")
	flags.StringVar(&f.Prices, "prices", "", `a model whose prices are billed, "reference" (read 0.1, write 1.25, `+
		`output 5 times input), or "input=3,read=0.3,write=3.75,output=15" (default: each session's model)`)
	flags.StringVar(&f.Cache, "cache", "", "how long the provider keeps a prompt: logged for as long as the "+
		"usage in the log tells, else as is usual for the model, 5m, 1h, or none for no cache (default logged, "+
		"with --prices 5m)")
	flags.StringVar(&f.Window, "window", "model",
		"window of policies that do not name one: model, none, or a number of tokens")
	flags.DurationVar(&f.Idle, "idle", 0, "how long each turn waited for the user, in logs without a clock")
	flags.IntVar(&f.MinSteps, "min-steps", 0, "leave out sessions with fewer steps")
	flags.Float64Var(&f.Regrets, "regrets", lab.DefaultRegrets,
		"how many missed steps in 100 a policy may cause that is recommended, or chosen by --holdout")
	flags.StringVar(&f.Baseline, "baseline", "",
		"the policy that ratios are relative to (default nothing, else the first)")
	flags.StringVar(&f.Csv, "csv", "", `write a line for each session and policy to this file, "-" for standard output`)
	f.Page.Flags(a, cmd, "in the page")
	flags.BoolVarP(&f.Page.Force, "force", "f", false, "overwrite the files that --csv and --html name")
	flags.BoolVar(&f.Stats, "stats", false,
		"print the statistics too: all policies, the frontier, the sessions that would gain and lose most "+
			"(default with --policy, --sweep, --holdout and --baseline)")
	flags.BoolVar(&f.Detail, "detail", false,
		"with --json: each session's commits, compactions and misses, and its bill after every step")
	flags.BoolVar(&f.Apply, "apply", false,
		"write the recommendation into your configuration file, or the one of --config")
	flags.BoolVar(&f.Fresh, "fresh", false, "replay everything anew")
	flags.IntVar(&f.Jobs, "jobs", 0, "replays at a time (default one for each processor)")
	flags.BoolVar(&f.Everywhere, "everywhere", false, "what coding agents have kept on this computer")
	cli.Complete(cmd, "policy", append(lab.Usual(), "compact@168k", "supersede", "config")...)
	cli.Complete(cmd, "cache", "logged", "5m", "1h", "none")
	cli.Complete(cmd, "window", "model", "none", "200k")
	return cmd
}

func runReplay(ctx context.Context, a *cli.App, args []string, f simulation.Flags) error {
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	if err := f.Check(a.JSON); err != nil {
		return err
	}
	setups, err := simulation.Setups(a, settings, f)
	if err != nil {
		return err
	}
	run := lab.Lab{Setups: setups, MinSteps: f.MinSteps, Jobs: f.Jobs, Baseline: f.Baseline, Regrets: f.Regrets,
		Holdout: f.Holdout,
		Options: lab.Options{Idle: f.Idle, Detail: f.Detail || f.Page.To != "", Regions: true,
			Summarizer: offline.New()}}
	if f.Cache == "" {
		f.Cache = simulation.UsualCache(f.Prices)
	}
	if run.Options.Terms, run.Prices, err = simulation.Terms(settings.Catalogue(model.Default()), f.Prices,
		f.Cache); err != nil {
		return err
	}
	run.Options.Hour, run.Options.Uncached = f.Cache == "1h", f.Cache == "none"
	run.Options.Logged = f.Cache == "logged"
	files, err := f.Files(a)
	if err != nil {
		return err
	}
	files.Name = strings.Join(args, ", ")
	reader, err := simulation.NewReader(a, settings)
	if err != nil {
		return err
	}
	sources, err := reader.Sources(ctx, args, f.Everywhere)
	if err != nil {
		return err
	}
	if err := errors.Join(files.Spare(sources), reader.Origins(f.Sources, sources)); err != nil {
		return err
	}
	if run.Memory = simulation.OpenMemory(a, f.Fresh, reader.Version()); run.Memory != nil {
		defer run.Memory.Close()
	}
	say, done := a.Counting()
	run.Progress = func(done, of int) {
		say(done, of, "replaying: %s of %s sessions", quantity.Number(done),
			quantity.Number(of))
	}
	report, err := run.Run(ctx, sources)
	done()
	if err != nil {
		return err
	}
	return tellReplay(ctx, a, report, reader, settings, f, files)
}

// tellReplay prints what a replay showed, and does what it was asked to do with it.
func tellReplay(ctx context.Context, a *cli.App, report lab.Report, reader *simulation.Reader, settings config.Settings,
	f simulation.Flags, files simulation.Files) error {
	problems, doc := reader.Problems(report), simulation.DocumentOf(report, f.Detail)
	if len(report.Sessions) == 0 {
		if len(problems.Failed) > 0 {
			return errors.Join(problems.Failed...)
		}
		if err := a.Tell(doc, func() {}); err != nil {
			return err
		}
		return cli.Hint(cli.Nothing("there is no session to replay in what was named"),
			"a session counts once a model was asked something in it"+f.Fewer())
	}
	reader.Unnamed(report)
	if err := simulation.WriteReplay(ctx, a, report, reader, files); err != nil {
		return err
	}
	if files.Csv != "-" && files.Page != "-" {
		if err := a.Tell(doc, func() {
			showReplay(a, report, settings, f)
			if files.Csv != "" {
				a.Printf("\n%s has a line for each session and policy\n", a.Short(files.Csv))
			}
			output.SayPage(a, files.Page)
		}); err != nil {
			return err
		}
	}
	if f.Apply {
		if err := simulation.ApplyAdvice(a, report, settings); err != nil {
			return err
		}
	}
	if problems.Counted+len(problems.Failed) > 0 {
		return problems
	}
	return nil
}

// showReplay prints the report for people, and what --apply would do unless it is about to be done.
func showReplay(a *cli.App, r lab.Report, settings config.Settings, f simulation.Flags) {
	a.Paint().Replay(r, f.Statistics())
	if r.Advice == nil || f.Apply {
		return
	}
	if changes, err := simulation.Advised(r, settings); err == nil && len(changes) > 0 {
		a.Printf("\n--apply writes what is recommended into your configuration file.\n")
	} else if err == nil {
		a.Printf("\nThe configuration already has what is recommended.\n")
	}
}

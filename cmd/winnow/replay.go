package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/replay"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

// replayFlags are those of replay.
type replayFlags struct {
	policies   []string
	sweeps     []string
	prices     string
	cache      string
	window     string
	idle       time.Duration
	minSteps   int
	regrets    float64
	baseline   string
	csv        string
	page       pageOutput
	detail     bool
	apply      bool
	fresh      bool
	jobs       int
	everywhere bool
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay SRC…",
		Short: "What recorded sessions would have cost under other policies, and what would have been lost",
		Long: `replay goes through recorded sessions step by step, without a model, under several policies, and bills each step as a provider with a prompt cache
does. What a policy lost is counted as regrets: steps that quote what the policy had hidden by then. A regret is billed as one more request.

SRC is a session, or a folder or database of them; --everywhere takes what coding agents have kept on this computer.

Policies are words: classic, aggressive, balanced; nothing (keeps all, without a limit), compact (folds the past when the window is full), compact@168k,
compact@84%, compact@economic (when it pays); what others publish: mask:10 (all outputs but those of the last 10 steps, at every step), clear:3@100k (all
outputs but the last 3 whenever the prompt has 100,000 tokens), clear:3@100k+5k (if 5,000 go with it), supersede (any operation on a file replaces all
earlier ones); config (the configuration in force) or the path of a winnow.jsonc. After a word, /compact@168k folds at so many tokens, /compact@economic
when it pays, /200k is a window in place of the model's, and /nolimit takes it away.

Results are remembered in $XDG_CACHE_HOME/winnow/replay: a replay that was stopped goes on, and the next one replays what changed.`,
		Example: `  winnow replay ~/.claude/projects
  winnow replay --everywhere --min-steps 30
  winnow replay session.jsonl --policy nothing,balanced,clear:3@100k/compact@168k
  winnow replay ~/.claude/projects --sweep compaction.threshold=40k..200k --prices reference
  winnow replay ~/.claude/projects --sweep compaction.threshold=60k,120k,economic
  winnow replay ~/.claude/projects --regrets 1 --apply
  winnow replay ~/.claude/projects --html replay.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !f.everywhere {
				return usage("winnow replay takes at least one SRC, or --everywhere; see winnow replay --help")
			}
			return a.runReplay(cmd.Context(), args, f)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.policies, "policy", nil, "policies to compare, with commas between them (default "+strings.Join(replay.Usual(), ",")+")")
	flags.StringArrayVar(&f.sweeps, "sweep", nil, "compare many values of a setting: KEY=FROM..TO, KEY=FROM..TO/POINTS or KEY=A,B,C, where compaction.threshold also takes economic")
	flags.StringVar(&f.prices, "prices", "", `a model whose prices are billed, "reference" (read 0.1, write 1.25, output 5 times input), or "input=3,read=0.3,write=3.75,output=15" (default: each session's model)`)
	flags.StringVar(&f.cache, "cache", "5m", "how long the provider keeps a prompt: 5m, 1h, or none for no cache")
	flags.StringVar(&f.window, "window", "model", "window of policies that do not name one: model, none, or a number of tokens")
	flags.DurationVar(&f.idle, "idle", 0, "how long each turn waited for the user, in logs without a clock")
	flags.IntVar(&f.minSteps, "min-steps", 0, "leave out sessions with fewer steps")
	flags.Float64Var(&f.regrets, "regrets", replay.DefaultRegrets, "how many regrets in 100 steps a recommended policy may cause")
	flags.StringVar(&f.baseline, "baseline", "", "the policy that ratios are relative to (default nothing, else the first)")
	flags.StringVar(&f.csv, "csv", "", `write a line for each session and policy to this file, "-" for standard output`)
	f.page.flags(a, cmd, "in the page")
	flags.BoolVarP(&f.page.force, "force", "f", false, "overwrite the files that --csv and --html name")
	flags.BoolVar(&f.detail, "detail", false, "with --json: each session's commits, compactions and regrets, and its bill after every step")
	flags.BoolVar(&f.apply, "apply", false, "write the recommendation into your configuration file, or the one of --config")
	flags.BoolVar(&f.fresh, "fresh", false, "replay everything anew")
	flags.IntVar(&f.jobs, "jobs", 0, "replays at a time (default one for each processor)")
	flags.BoolVar(&f.everywhere, "everywhere", false, "what coding agents have kept on this computer")
	complete(cmd, "policy", append(replay.Usual(), "compact@168k", "supersede", "config")...)
	complete(cmd, "cache", "5m", "1h", "none")
	complete(cmd, "window", "model", "none", "200k")
	return cmd
}

// check refuses flags that cannot be meant.
func (f *replayFlags) check(json bool) error {
	switch {
	case !(f.regrets > 0) || math.IsInf(f.regrets, 0):
		return usage("--regrets %v: give a number above 0", f.regrets)
	case f.minSteps < 0:
		return usage("--min-steps %d: give 0 or more", f.minSteps)
	case f.jobs < 0:
		return usage("--jobs %d: give 1 or more, or 0 for one for each processor", f.jobs)
	case f.idle < 0:
		return usage("--idle %v: give a time such as 10m", f.idle)
	case f.csv == "-" && f.page.to == "-":
		return usage("--csv - and --html - both want standard output; name a file for one of them")
	case f.detail && !json:
		return usage("--detail goes with --json")
	case f.csv == "-" && json:
		return usage("--json and --csv - both want standard output; name a file for the table")
	}
	return f.page.check(json)
}

func (a *app) runReplay(ctx context.Context, args []string, f replayFlags) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	if err := f.check(a.json); err != nil {
		return err
	}
	setups, err := a.setups(settings, f)
	if err != nil {
		return err
	}
	lab := replay.Lab{Setups: setups, MinSteps: f.minSteps, Jobs: f.jobs, Baseline: f.baseline, Regrets: f.regrets,
		Options: replay.Options{Idle: f.idle, Detail: f.detail || f.page.to != "", Summarizer: offline.New()}}
	if lab.Options.Terms, lab.Prices, err = a.terms(f.prices, f.cache); err != nil {
		return err
	}
	lab.Options.Hour, lab.Options.Uncached = f.cache == "1h", f.cache == "none"
	files, err := f.files(a)
	if err != nil {
		return err
	}
	files.name = strings.Join(args, ", ")
	reader, err := a.replayReader(settings)
	if err != nil {
		return err
	}
	sources, err := reader.sources(ctx, args, f.everywhere)
	if err != nil {
		return err
	}
	if err := files.spare(sources); err != nil {
		return err
	}
	if lab.Memory = a.replayMemory(f.fresh, reader.version()); lab.Memory != nil {
		defer lab.Memory.Close()
	}
	say, done := a.counting()
	lab.Progress = func(done, of int) { say("replaying: %s of %s sessions", token.Grouped(done), token.Grouped(of)) }
	report, err := lab.Run(ctx, sources)
	done()
	if err != nil {
		return err
	}
	return a.tellReplay(ctx, report, reader, settings, f, files)
}

// tellReplay prints what a replay showed, and does what it was asked to do with it.
func (a *app) tellReplay(ctx context.Context, report replay.Report, reader *replayReader, settings config.Settings, f replayFlags, files replayFiles) error {
	problems := reader.problems(report)
	if len(report.Sessions) == 0 {
		if a.json && len(problems.failed) == 0 {
			if err := a.print(replayedOf(report, f.detail)); err != nil {
				return err
			}
		}
		if len(problems.failed) > 0 {
			return errors.Join(problems.failed...)
		}
		return hinted{nothing{"there is no session to replay in what was named"}, "a session counts once a model was asked something in it" + f.fewer()}
	}
	if err := a.writeReplay(ctx, report, reader, files); err != nil {
		return err
	}
	switch {
	case a.json:
		if err := a.print(replayedOf(report, f.detail)); err != nil {
			return err
		}
	case files.csv != "-" && files.page != "-":
		a.showReplay(report, settings, f.apply)
		if files.csv != "" {
			a.printf("\n%s has a line for each session and policy\n", a.short(files.csv))
		}
		a.sayPage(files.page)
	}
	if f.apply {
		if err := a.applyAdvice(report, settings); err != nil {
			return err
		}
	}
	if problems.counted+len(problems.failed) > 0 {
		return problems
	}
	return nil
}

func (f *replayFlags) fewer() string {
	if f.minSteps > 1 {
		return fmt.Sprintf(", and here with --min-steps %d", f.minSteps)
	}
	return ""
}

// replayMemory remembers results, nil where there is no place for them.
func (a *app) replayMemory(fresh bool, version string) *replay.Memory {
	dir := a.env.xdg("XDG_CACHE_HOME", ".cache")
	if dir == "" {
		return nil
	}
	path := filepath.Join(dir, "winnow", "replay", "results.jsonl")
	if fresh {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	return replay.OpenMemory(path, version)
}

// showReplay prints the report for people, and what --apply would do unless it is about to be done.
func (a *app) showReplay(r replay.Report, settings config.Settings, applied bool) {
	a.paint().Replay(r)
	if r.Advice == nil || applied {
		return
	}
	if changes, err := advised(r, settings); err == nil && len(changes) > 0 {
		a.printf("\n--apply writes what is recommended into your configuration file.\n")
	} else if err == nil {
		a.printf("\nWhat is recommended is what the configuration says already.\n")
	}
}

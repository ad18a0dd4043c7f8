// Need asks what predicts that a text of a session will be needed again, and whether knowing it pays.
//
//	go run ./replay/need FOLDER         # what was learned, and how well it predicts on sources it was not learned from
//	go run ./replay/need -judge FOLDER  # and what it saves there, against simple rules
//
// Each output and each arguments of a call (those that the rule idle may leave out) is followed over the later steps of its session: what it is, how long it
// has been idle, and whether the step needed it, as regrets are counted. The rate of needs is fitted by Poisson regression, and each source is
// judged by weights that were learned from the others alone. Folders hold sessions; an INDEX.tsv in one says whose each is, else each folder
// is a source. The same sessions give the same figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	replays := flag.Bool("judge", false, "replay the sessions as well")
	steps := flag.Int("min-steps", 30, "sessions of fewer steps are learned from and not replayed")
	only := flag.String("only", "", "replay those alone whose name matches this regular expression")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: go run ./replay/need [-judge] [-min-steps 30] FOLDER…")
		os.Exit(2)
	}
	names, err := regexp.Compile(*only)
	if err == nil {
		err = run(context.Background(), flag.Args(), *steps, *replays, names)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "need:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folders []string, steps int, replays bool, only *regexp.Regexp) error {
	sessions, err := read(folders)
	if err != nil {
		return err
	}
	bySource := map[string][]recorded{}
	for _, s := range sessions {
		bySource[s.source] = append(bySource[s.source], s)
	}
	sources := slices.Sorted(maps.Keys(bySource))
	if len(sources) < 2 {
		return errors.New("sessions of two sources are needed: one to learn from, one to judge on")
	}
	fmt.Printf("%-30s %8s %8s %8s %8s %8s\n", "source", "sessions", "steps", "texts", "looks", "needs")
	for _, source := range sources {
		n, texts := 0, 0
		for _, s := range bySource[source] {
			n, texts = n+s.trace.Steps(), texts+len(s.texts.all)
		}
		looks, needs := count(examples(bySource[source], few))
		fmt.Printf("%-30s %8d %8d %8d %8.0f %8.0f\n", source, len(bySource[source]), n, texts, looks, needs)
	}

	all, err := fit(examples(sessions, len(features)))
	if err != nil {
		return err
	}
	fmt.Printf("\nOf all sessions, log rate of needs a step:\n%s", ratings(all).source())

	fmt.Printf("\n%-30s %9s %9s %9s %9s   %7s %7s %7s\n", "left out", "constant", "simple", "few", "all", "simple", "few", "all")
	models := map[string]map[string]ratings{"few": {}, "all": {}}
	for _, source := range sources {
		var others []recorded
		for _, other := range sources {
			if other != source {
				others = append(others, bySource[other]...)
			}
		}
		for name, use := range map[string]int{"few": few, "all": len(features)} {
			if models[name][source], err = fit(examples(others, use)); err != nil {
				return fmt.Errorf("without %s: %w", source, err)
			}
		}
		held := examples(bySource[source], len(features))
		if _, needs := count(held); needs == 0 {
			fmt.Printf("%-30s nothing was needed again\n", source)
			continue
		}
		looks, needs := count(examples(others, few))
		simple := simpleRates(examples(others, few))
		fewer, more := models["few"][source], models["all"][source]
		by := func(r ratings) func(e example) float64 {
			return func(e example) float64 { return exp(dot(e.x[:len(r)], r)) }
		}
		fmt.Printf("%-30s %9.5f %9.5f %9.5f %9.5f   %7.3f %7.3f %7.3f\n", source,
			surprise(held, func(example) float64 { return needs / looks }), surprise(held, simple), surprise(held, by(fewer)), surprise(held, by(more)),
			ranking(held, simpleScore), ranking(held, by(fewer)), ranking(held, by(more)))
	}
	if !replays {
		return nil
	}
	long := slices.DeleteFunc(slices.Clone(sessions), func(s recorded) bool { return s.trace.Steps() < steps })
	return frontier(ctx, long, models, all, only)
}

func examples(sessions []recorded, use int) []example {
	var all []example
	for _, s := range sessions {
		all = append(all, s.texts.examples(use)...)
	}
	return all
}

func count(examples []example) (looks, needs float64) {
	for _, e := range examples {
		looks, needs = looks+e.n, needs+e.y
	}
	return looks, needs
}

// frontier prints what each candidate costs.
func frontier(ctx context.Context, sessions []recorded, models map[string]map[string]ratings, whole ratings, only *regexp.Regexp) error {
	var sources []string
	for _, s := range sessions {
		if !slices.Contains(sources, s.source) {
			sources = append(sources, s.source)
		}
	}
	slices.Sort(sources)
	heldOut := func(name string) func(string) ratings {
		return func(source string) ratings { return models[name][source] }
	}
	families := []struct {
		name string
		of   []candidate
	}{
		{"As it is", []candidate{same("the rule in use", nil), same("the same, here", usual)}},
		{"Simple rules: outputs/inputs", grid()},
		{"By kind, size and idle steps, learned from other sources", learned(heldOut("few"))},
		{"By all features, learned from other sources", learned(heldOut("all"))},
		{"By all features, learned from all sources, its own too", learned(func(string) ratings { return whole })},
		{"Cheap ideas, each in place of the rule in use, 10/20", ideas()},
	}
	judged := make([][]standing, len(families))
	for i, f := range families {
		if f.of = slices.DeleteFunc(f.of, func(c candidate) bool { return !only.MatchString(c.name) }); len(f.of) == 0 {
			continue
		}
		fmt.Printf("\n%-80s %7s %8s %8s %8s", f.name, "bill", "regrets", "unsent%", "needs")
		for _, source := range sources {
			fmt.Printf(" %20.20s", source)
		}
		fmt.Println()
		var err error
		if judged[i], err = judge(ctx, sessions, f.of); err != nil {
			return err
		}
		for _, s := range judged[i] {
			t := s.total("")
			fmt.Printf("%-80s %7.4f %8.2f %8.1f %8.2f", s.name, t.ratio(), t.rate(), 100*t.unsent/max(1, t.carried), 100*float64(t.needs*len(gains))/float64(t.steps))
			for _, source := range sources {
				fmt.Printf("        %6.4f %5.2f", s.by[source].ratio(), s.by[source].rate())
			}
			fmt.Println()
		}
	}
	if only.String() != "" {
		return nil
	}
	fmt.Printf("\nChosen on the other sources as the cheapest with at most so many regrets, and kept on the one left out:\n")
	for _, most := range []float64{1, 1.5, 2, 3} {
		for i := 1; i <= 3; i++ {
			t, names := picked(judged[i], sources, most)
			fmt.Printf("%4.1f  %-58s %7.4f %8.2f   %s\n", most, families[i].name, t.ratio(), t.rate(), strings.Join(names, "; "))
		}
	}
	return nil
}

// Package simulation prepares a replay and writes what it found: the policies and sweeps to
// compare, the sessions to replay, the documents, and the advice.
package simulation

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/lab"
)

// Flags are those of replay.
type Flags struct {
	Policies   []string
	Sweeps     []string
	Sources    string
	Holdout    bool
	Prices     string
	Cache      string
	Window     string
	Idle       time.Duration
	MinSteps   int
	Regrets    float64
	Baseline   string
	Csv        string
	Page       output.Page
	Detail     bool
	Stats      bool
	Apply      bool
	Fresh      bool
	Jobs       int
	Everywhere bool
}

// Check refuses flags that cannot be meant.
func (f *Flags) Check(json bool) error {
	switch {
	case !(f.Regrets > 0) || math.IsInf(f.Regrets, 0):
		return cli.Usage("--regrets %v: give a number above 0", f.Regrets)
	case f.MinSteps < 0:
		return cli.Usage("--min-steps %d: give 0 or more", f.MinSteps)
	case f.Jobs < 0:
		return cli.Usage("--jobs %d: give 1 or more, or 0 for one for each processor", f.Jobs)
	case f.Idle < 0:
		return cli.Usage("--idle %v: give a time such as 10m", f.Idle)
	case f.Csv == "-" && f.Page.To == "-":
		return cli.Usage("--csv - and --html - both want standard output; name a file for one of them")
	case f.Detail && !json:
		return cli.Usage("--detail goes with --json")
	case f.Csv == "-" && json:
		return cli.Usage("--json and --csv - both want standard output; name a file for the table")
	}
	return f.Page.Check(json)
}

// Statistics reports whether the statistics are wanted: they are where policies are chosen.
func (f *Flags) Statistics() bool {
	return f.Stats || f.Holdout || len(f.Policies)+len(f.Sweeps) > 0 || f.Baseline != ""
}

// Fewer is what the flags add to the hint that there is no session.
func (f *Flags) Fewer() string {
	if f.MinSteps > 1 {
		return fmt.Sprintf(", and here with --min-steps %d", f.MinSteps)
	}
	return ""
}

// OpenMemory remembers results, nil if there is no place for them.
func OpenMemory(a *cli.App, fresh bool, version string) *lab.Memory {
	path := a.Env.Cache("replay", "results.jsonl")
	if path == "" {
		return nil
	}
	if fresh {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	return lab.OpenMemory(path, version)
}

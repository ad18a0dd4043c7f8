// Package discover finds the sessions on this computer. It knows the folders in which coding agents
// keep their sessions, finds what is in them by name and date and the head of each file, and reads
// them whole only when it is asked to measure them.
package discover

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/winnowhq/winnow/format/geminicli"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/store/report"
)

// Env is where to look.
type Env struct {
	// Home is the user's home folder. If it is "", only what variables name is found.
	Home string
	// Getenv gives the variables by which products are told to keep their sessions elsewhere. Nil:
	// there are none.
	Getenv func(string) string
}

func (e Env) get(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// Found is one session.
type Found struct {
	// "claude-code", "codex", "opencode", "kilo" (whose sessions are in OpenCode's format), "pi",
	// "gemini-cli", "qwen-code", "copilot", "cline" or "openhands".
	Product string `json:"product"`
	// Its name on the command line: the path of a file or a folder; for a session in a store of
	// OpenCode the path, "#", and the id.
	Source string `json:"source"`
	ID     string `json:"id,omitzero"` // id of the session, as in the file
	// Id of the session that a sub-agent works for, or from which this one was forked.
	Parent  string    `json:"parent,omitzero"`
	Project string    `json:"project,omitzero"` // the folder in which the agent works
	Title   string    `json:"title,omitzero"`   // title of the session, as in the file
	Bytes   int64     `json:"bytes"`            // size of the file; in a database, of its rows
	Updated time.Time `json:"-"`

	Measurement

	path, session string // where it is read from; session is set in a store of many
	folder        bool   // a conversation of OpenHands
	root          string // the folder of the product in which it was found
}

// Measurement is what only the whole of a session tells.
type Measurement struct {
	// Whether messages, tokens and cost are known; false with "--quick" for sessions that were
	// never measured, and for sessions that could not be read.
	Measured bool `json:"measured"`
	Messages int  `json:"messages"` // messages, as "counts.messages" of "inspect"
	// Tokens that models read and wrote in all steps according to the log, including cache and
	// reasoning.
	Tokens int `json:"tokens"`
	// Whether the log reports no usage: "tokens" is an estimate of the log itself.
	TokensEstimated bool `json:"tokensEstimated,omitzero"`
	// US dollars, as in "inspect" of the same session; null if nothing is known about any of its
	// requests, or it was not measured.
	Cost *float64 `json:"cost"`
	// Whether the cost is computed by list prices.
	CostEstimated bool `json:"costEstimated,omitzero"`
	// Requests that "cost" does not include: of models without a price, or without a report.
	Uncosted int `json:"uncosted,omitzero"`
	// The share of "cost" for sub-agents in the same file. If they have files of their own, the
	// sums do not include it.
	Agents  float64           `json:"agents,omitzero"`
	Damaged int               `json:"damaged,omitzero"` // how many pieces could not be read
	Spent   []report.Spending `json:"spent,omitempty"`  // the cost by hour and model
}

// Problem is a place that could not be read. What is in other places is found all the same.
type Problem struct {
	Path string
	Err  error
}

func (p Problem) Error() string {
	text := p.Err.Error()
	if strings.HasPrefix(text, p.Path+":") || strings.Contains(text, " "+p.Path+":") {
		return text
	}
	return p.Path + ": " + text
}

func (p Problem) Unwrap() error { return p.Err }

// Search finds sessions.
type Search struct {
	Env Env
	// Product limits the search to one product. "" is all.
	Product string
	// Folder limits the search to sessions whose agent works in this folder. "" is all. A file
	// whose beginning does not name the folder is not parsed.
	Folder string
	// Beneath lets sessions count that work below Folder, too; Above those that work in one of these
	// folders.
	Beneath bool
	Above   []string
	// NamesOnly leaves out the sizes of sessions in databases, for which each row has to be looked
	// at.
	NamesOnly bool
	// Models gives prices, for logs that report usage but no cost. Nil is model.Default.
	Models *model.Catalogue
	// Cache remembers what was measured of a file, by its path, size and date. Nil remembers
	// nothing.
	Cache *Cache
	// Parallel is how many files are read at a time. 0 is one for each processor.
	Parallel int
	// Progress is told after each file how many are done, by one goroutine at a time. It may be
	// nil.
	Progress func(done, of int)
}

// Products are the words for the products that are looked for.
func Products() []string {
	return []string{"claude-code", "codex", "opencode", "kilo", "pi", "gemini-cli", "qwen-code", "copilot", "cline",
		"openhands"}
}

// Find lists the sessions of every product, last updated first. It reads the first 64 KiB of a
// file, and no message of a database. The error is the context's; what could not be read is among
// the problems.
func (s *Search) Find(ctx context.Context) ([]Found, []Problem, error) {
	var found []Found
	var problems []Problem
	var stores []fs.FileInfo
	at := s.located()
	for _, p := range Places(s.Env) {
		if s.Product != "" && s.Product != p.Product {
			continue
		}
		files, unlisted := p.list()
		problems = append(problems, unlisted...)
		if p.store {
			// OPENCODE_DB may name a store that is found in its folder as well.
			files = slices.DeleteFunc(files, func(path string) bool {
				info, err := os.Stat(path)
				if err != nil {
					return false
				}
				same := func(other fs.FileInfo) bool { return os.SameFile(info, other) }
				known := slices.ContainsFunc(stores, same)
				stores = append(stores, info)
				return known
			})
			sessions, bad := s.listStores(ctx, p, files)
			found, problems = append(found, sessions...), append(problems, bad...)
			continue
		}
		if p.Product == geminicli.Name {
			p.gemini = newGeminiFolders(p.Path)
		}
		heads := make([]*Found, len(files))
		bad := make([]error, len(files))
		s.each(ctx, len(files), nil, func(i int) { heads[i], bad[i] = s.head(p, files[i], at) })
		for i := range files {
			switch {
			case bad[i] != nil:
				problems = append(problems, Problem{files[i], bad[i]})
			case heads[i] != nil:
				found = append(found, *heads[i])
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
	found = slices.DeleteFunc(once(found), func(f Found) bool { return !at.is(f.Project) })
	slices.SortStableFunc(found, func(a, b Found) int {
		return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.Source, b.Source))
	})
	resumedFirst(found)
	return found, problems, ctx.Err()
}

// Measure reads sessions whole and fills in messages, tokens and cost. A session that cannot be
// read stays unmeasured, and is among the problems.
func (s *Search) Measure(ctx context.Context, found []Found) ([]Problem, error) {
	models := s.Models
	if models == nil {
		models = model.Default()
	}
	s.Cache.priced(models.Fingerprint())
	var problems []Problem
	var open []int
	for i := range found {
		if f := &found[i]; f.Measured || s.Cache.recall(f) {
			f.Measured = true
		} else {
			open = append(open, i)
		}
	}
	bad := make([]error, len(open))
	s.each(ctx, len(open), s.Progress, func(i int) { bad[i] = measure(ctx, &found[open[i]], models) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, at := range open {
		if bad[i] != nil {
			problems = append(problems, Problem{found[at].Source, bad[i]})
			continue
		}
		s.Cache.remember(&found[at])
	}
	return problems, nil
}

// each calls do for 0 to n-1, some at a time, until all are done or the context ends.
func (s *Search) each(ctx context.Context, n int, progress func(done, of int), do func(int)) {
	parallel := s.Parallel
	if parallel <= 0 {
		parallel = runtime.GOMAXPROCS(0)
	}
	free := make(chan struct{}, parallel)
	var wait sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i := range n {
		free <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			do(i)
			mu.Lock()
			defer mu.Unlock()
			if done++; progress != nil {
				progress(done, n)
			}
			<-free
		})
	}
	wait.Wait()
}

// guard turns a panic into an error: one file of thousands must not hide the others.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("reading it failed: %v", r)
	}
}

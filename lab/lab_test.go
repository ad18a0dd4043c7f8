package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/lavish"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/summarize/offline"
)

func TestMain(m *testing.M) { lavish.Run(m) }

func named(t testing.TB, words ...string) (setups []Setup) {
	t.Helper()
	for _, word := range words {
		s, err := Named(word, policy.Defaults(), nil)
		if err != nil {
			t.Fatal(err)
		}
		setups = append(setups, s)
	}
	return setups
}

// shelf is a lab over some tours of different lengths, and how often each was loaded.
type shelf struct {
	lab     Lab
	sources []Source
	loads   atomic.Int64
}

func newShelf(t testing.TB, sessions int, words ...string) *shelf {
	t.Helper()
	terms := Reference()
	s := &shelf{lab: Lab{Setups: named(t, words...), Options: Options{Terms: &terms, Summarizer: offline.New()}, Jobs: 3}}
	for i := range sessions {
		path := fmt.Sprintf("s%d", i)
		s.sources = append(s.sources, Source{Path: path, Key: path, Size: 1000, Load: func(context.Context) (*Trace, error) {
			s.loads.Add(1)
			return tour(t, 60-7*i), nil
		}})
	}
	return s
}

func (s *shelf) run(t testing.TB) Report {
	t.Helper()
	r, err := s.lab.Run(t.Context(), s.sources)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLab_theReportDoesNotDependOnWhoIsDoneFirst(t *testing.T) {
	words := []string{"nothing", "compact@30k", "mask:10", "balanced", "clear:3@30k"}
	alone, together := newShelf(t, 6, words...), newShelf(t, 6, words...)
	alone.lab.Jobs, together.lab.Jobs = 1, 8
	first := alone.run(t)
	if diff := cmp.Diff(first, together.run(t)); diff != "" {
		t.Errorf("one at a time and eight (-one +eight):\n%s", diff)
	}
	for i, s := range first.Sessions {
		if s.Path != fmt.Sprintf("s%d", i) || len(s.Outcomes) != len(words) {
			t.Errorf("session %d is %s with %d outcomes", i, s.Path, len(s.Outcomes))
		}
		for j, o := range s.Outcomes {
			if o.Policy != words[j] {
				t.Errorf("outcome %d of %s is of %s, want %s", j, s.Path, o.Policy, words[j])
			}
		}
	}
}

// breaker is a rule that panics.
type breaker struct{}

func (breaker) Name() string                { return "breaker" }
func (breaker) Find(rule.Window) rule.Found { panic("the mast broke") }

func TestLab_aSessionThatFailsIsSkippedAndSaysWhy(t *testing.T) {
	s := newShelf(t, 4, "nothing", "balanced")
	s.sources[1].Load = func(context.Context) (*Trace, error) { return nil, errors.New("it is all fog") }
	s.sources[2].Load = func(context.Context) (*Trace, error) { panic("the anchor slipped") }
	s.sources[3].Load = func(context.Context) (*Trace, error) { return nil, ErrNoSession }
	r := s.run(t)
	if len(r.Sessions) != 1 || len(r.Skipped) != 2 {
		t.Fatalf("%d sessions, %d skipped, want 1 and 2", len(r.Sessions), len(r.Skipped))
	}
	for i, want := range []string{"it is all fog", "the anchor slipped"} {
		if got := r.Skipped[i]; got.Path != fmt.Sprintf("s%d", i+1) || !strings.Contains(got.Why, want) {
			t.Errorf("skipped %q because %q, want something with %q", got.Path, got.Why, want)
		}
	}

	broken := newShelf(t, 2, "nothing", "balanced")
	broken.lab.Setups[1].Policy.Rules = []rule.Rule{breaker{}}
	broken.lab.Setups[1].Policy.Schedule = schedule.Eager{}
	r = broken.run(t)
	if len(r.Sessions) != 0 || len(r.Skipped) != 2 || !strings.Contains(r.Skipped[0].Why, "under balanced") || !strings.Contains(r.Skipped[0].Why, "the mast broke") {
		t.Errorf("a policy that panics: %+v", r.Skipped)
	}
	if r.Unadvised == "" || r.Advice != nil {
		t.Error("nothing was replayed, and something is recommended")
	}
}

// wordless is a summariser that fails.
type wordless struct{}

func (wordless) Name() string { return "wordless" }
func (wordless) Limit() int   { return 0 }

func (wordless) Summarize(context.Context, pivot.Request) (pivot.Answer, error) {
	return pivot.Answer{}, errors.New("it has no words")
}

func TestLab_aSummariserThatFailsIsTold(t *testing.T) {
	s := newShelf(t, 1, "compact@30k")
	s.lab.Options.Summarizer = wordless{}
	if r := s.run(t); len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0].Why, "it has no words") {
		t.Errorf("skipped: %+v", r.Skipped)
	}
}

func TestLab_shortSessionsAreLeftOut(t *testing.T) {
	s := newShelf(t, 6, "nothing") // of 60, 53, 46, 39, 32 and 25 steps
	s.lab.MinSteps = 39
	if r := s.run(t); len(r.Sessions) != 4 || len(r.Skipped) != 0 {
		t.Errorf("%d sessions of 39 steps or more, want 4; skipped %v", len(r.Sessions), r.Skipped)
	}
}

func TestLab_remembers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow", "results.jsonl")
	words := []string{"nothing", "balanced"}
	run := func(version string, words ...string) (Report, int64) {
		s := newShelf(t, 4, words...)
		s.lab.Memory = OpenMemory(path, version)
		r := s.run(t)
		if err := s.lab.Memory.Close(); err != nil {
			t.Error(err)
		}
		return r, s.loads.Load()
	}
	first, loads := run("v1", words...)
	if loads != 4 {
		t.Errorf("the first time %d sessions were loaded, want 4", loads)
	}
	again, loads := run("v1", words...)
	if loads != 0 {
		t.Errorf("the second time %d sessions were loaded, want none", loads)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("what is remembered is another report (-first +second):\n%s", diff)
	}
	if more, loads := run("v1", "nothing", "balanced", "mask:10"); loads != 4 || len(more.Sessions[0].Outcomes) != 3 {
		t.Errorf("with one more policy %d sessions were loaded", loads)
	}
	if _, loads := run("v1", "mask:10", "nothing"); loads != 0 {
		t.Errorf("in another order %d sessions were loaded, want none", loads)
	}
	if _, loads := run("v2", words...); loads != 4 {
		t.Errorf("another version of the program took over results: %d loads", loads)
	}
}

func TestLab_whatIsRememberedHangsOnWhatItWasMadeWith(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	loads := func(change func(*shelf)) int64 {
		s := newShelf(t, 1, "balanced")
		change(s)
		s.lab.Memory = OpenMemory(path, "v1")
		defer s.lab.Memory.Close()
		s.run(t)
		return s.loads.Load()
	}
	changes := map[string]func(*shelf){
		"nothing else":       func(*shelf) {},
		"the session":        func(s *shelf) { s.sources[0].Key = "s0, one line longer" },
		"a threshold":        func(s *shelf) { s.lab.Setups = named(t, "balanced/compact@50k") },
		"the window":         func(s *shelf) { s.lab.Setups[0].Window = 100_000 },
		"the prices":         func(s *shelf) { s.lab.Options.Terms.Price.CacheRead = 0.2 },
		"no cache":           func(s *shelf) { s.lab.Options.Uncached = true },
		"the detail":         func(s *shelf) { s.lab.Options.Detail = true },
		"a rule's own value": func(s *shelf) { s.lab.Setups[0].Policy.Rules = []rule.Rule{rule.Backward{Protect: 7}} },
		"what is guarded":    func(s *shelf) { s.lab.Setups[0].Policy.Guard = &rule.Guard{Tools: []string{"read"}} },
	}
	for _, name := range []string{"nothing else", "the session", "a threshold", "the window", "the prices", "no cache", "the detail", "a rule's own value", "what is guarded"} {
		if got := loads(changes[name]); got != 1 {
			t.Errorf("with another one of %s it was loaded %d times, want once", name, got)
		}
		if got := loads(changes[name]); got != 0 {
			t.Errorf("with %s as before it was loaded again", name)
		}
	}
}

func TestLab_aReplayThatWasStoppedGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	s := newShelf(t, 6, "nothing", "balanced")
	s.lab.Jobs = 1
	s.lab.Memory = OpenMemory(path, "v1")
	ctx, cancel := context.WithCancel(t.Context())
	s.lab.Progress = func(done, of int) {
		if of != 6 {
			t.Errorf("of %d sessions, want 6", of)
		}
		if done == 3 {
			cancel()
		}
	}
	if _, err := s.lab.Run(ctx, s.sources); !errors.Is(err, context.Canceled) {
		t.Fatalf("it ended with %v", err)
	}
	s.lab.Memory.Close()
	next := newShelf(t, 6, "nothing", "balanced")
	next.lab.Memory = OpenMemory(path, "v1")
	defer next.lab.Memory.Close()
	if r := next.run(t); len(r.Sessions) != 6 || next.loads.Load() != 3 {
		t.Errorf("%d sessions, of which %d were loaded; want 6 and 3", len(r.Sessions), next.loads.Load())
	}
}

func TestMemory_damagedLinesAreNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	run := func() int64 {
		s := newShelf(t, 4, "nothing", "balanced")
		s.lab.Memory = OpenMemory(path, "v1")
		defer s.lab.Memory.Close()
		s.run(t)
		return s.loads.Load()
	}
	run()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"cut in its last line": func(b []byte) []byte { return b[:len(b)-40] },
		"with foreign lines": func(b []byte) []byte {
			return append([]byte("{}\n\nfog\n{\"key\":\"x\",\"version\":\n\x00\xff\n"), b...)
		},
		"with values of no kind": func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"bill":{`), []byte(`"bill":[`)) },
		"empty":                  func(b []byte) []byte { return nil },
	} {
		if err := os.WriteFile(path, damage(bytes.Clone(whole)), 0o600); err != nil {
			t.Fatal(err)
		}
		run()
		if loads := run(); loads != 0 {
			t.Errorf("a file %s was not put right: %d loads the next time", name, loads)
		}
	}
}

func TestMemory_aPlaceThatCannotBeWrittenIsDoneWithout(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newShelf(t, 2, "nothing")
	s.lab.Memory = OpenMemory(filepath.Join(file, "results.jsonl"), "v1")
	if r := s.run(t); len(r.Sessions) != 2 {
		t.Errorf("%d sessions, want 2", len(r.Sessions))
	}
	if s.lab.Memory.Close() == nil {
		t.Error("nobody says that nothing was remembered")
	}
}

func TestMemory_whatAnotherVersionLeftIsDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	old := OpenMemory(path, "v1")
	for i := range 3000 {
		old.put(fmt.Sprintf("k%d", i), strings.Repeat("fog ", 200))
	}
	old.Close()
	next := OpenMemory(path, "v2")
	next.recall(map[string]bool{"k1": true})
	next.put("k1", "light")
	next.Close()
	if info, err := os.Stat(path); err != nil || info.Size() > 200 {
		t.Errorf("the file has %d bytes: %v", info.Size(), err)
	}
	next = OpenMemory(path, "v2")
	next.recall(map[string]bool{"k1": true})
	var value string
	if !next.get("k1", &value) || value != "light" {
		t.Errorf("k1 is %q", value)
	}
}

func TestLab_holdsNoMoreThanItMay(t *testing.T) {
	s := newShelf(t, 8, "nothing")
	s.lab.Jobs, s.lab.Bytes = 4, 2500 // two of 1,000
	var mu sync.Mutex
	held, most := 0, 0
	for i := range s.sources {
		load := s.sources[i].Load
		s.sources[i].Load = func(ctx context.Context) (*Trace, error) {
			mu.Lock()
			held++
			most = max(most, held)
			mu.Unlock()
			return load(ctx)
		}
	}
	s.lab.Progress = func(done, of int) {
		mu.Lock()
		held--
		mu.Unlock()
	}
	s.sources[5].Size = 1 << 40 // more than there is: alone
	s.run(t)
	if most > 2 {
		t.Errorf("%d sessions were held at a time, want 2", most)
	}
}

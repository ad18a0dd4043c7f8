package forecast

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/lavish"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

func TestMain(m *testing.M) { lavish.Run(m) }

// setting is a policy, a window, and what the provider asks for.
type setting struct {
	name             string
	policy, schedule string
	window           int
	terms            lab.Terms
	triggers         []string // what commits and folds must come of, for the test to show something
}

// Terms of providers: a cache that is dear to write to, one that is free to write to, none.
var (
	dear = lab.Reference()
	free = lab.Terms{Price: model.Price{Input: 1.25, CacheRead: 0.125, CacheWrite: 1.25, Output: 10}, Lifetime: 10 * time.Minute}
	none = lab.Terms{Price: model.Price{Input: 1, CacheRead: 1, CacheWrite: 1, Output: 4}}
)

var forecasts = []setting{
	{"balanced, economic", "balanced", "economic", 160_000, dear, []string{"cold", "threshold", "fold: pays"}},
	{"balanced, economic, a window that nothing fills", "balanced", "economic", 1_000_000, dear, []string{"pays", "cold"}},
	{"balanced, economic, free writes", "balanced", "economic", 160_000, free, []string{"pays", "cold"}},
	{"balanced, economic, no cache", "balanced", "economic", 90_000, none, []string{"pays", "fold: threshold"}},
	{"balanced, economic, a small window", "balanced", "economic", 100_000, dear, []string{"cold", "fold: threshold"}},
	{"balanced, economic, an economic threshold", "balanced", "economic", 1_000_000, dear, []string{"pays", "cold", "fold: pays"}},
	{"balanced, eager", "balanced", "eager", 100_000, dear, []string{"turn", "cold", "fold: threshold"}},
	{"aggressive, economic", "aggressive", "economic", 160_000, dear, []string{"pays", "fold: threshold"}},
	{"aggressive", "aggressive", "", 100_000, dear, []string{"step", "fold: threshold"}},
	{"classic", "classic", "", 160_000, dear, []string{"turn", "fold: threshold"}},
}

// steps is how long a session must be for all of the triggers to come: folds pay in long ones alone.
// In longer ones second folds pay a little sooner in this engine: see TestEngine_doesWhatTheLabForecast.
func (s setting) steps() int {
	if slices.Contains(s.triggers, "fold: pays") {
		return 180
	}
	return 85
}

// compare plays a session through the lab and the engine.
func (s setting) compare(t *testing.T, log session.Session, again int) (triggers map[string]int) {
	t.Helper()
	settings := settings.Default()
	settings.Policy, settings.Schedule, settings.Counter = s.policy, s.schedule, "linear"
	if strings.HasSuffix(s.name, "threshold") {
		settings.Compaction.Threshold = budget.Thresholds{"*": budget.Economic}
	}
	settings.Compaction.Protect, settings.Compaction.Minimum = 8_000, 4_000
	// These sessions are short: what is left out of long ones goes here, too.
	settings.Strategies.BalancedPruning.IdleSteps, settings.Strategies.BalancedPruning.IdleInputSteps = 40, 80
	m := model.Model{
		Provider: "test", ID: "model", Limits: model.Limits{Context: s.window, Output: min(32_000, s.window/4)}, Price: s.terms.Price,
		Cache: model.Cache{Lifetime: s.terms.Lifetime},
	}
	trace := lab.NewTrace(log, m, token.Linear{})
	want, steps := foretold(t, trace, lab.Setup{Name: s.name, Policy: settings.NewPolicy(), Window: s.window}, s.terms)
	got := lived(t, trace, settings, m, steps, again)
	if diff := cmp.Diff(want.Deeds, got.Deeds); diff != "" {
		t.Fatalf("%s: what was done before which request (-forecast +engine):\n%s", s.name, diff)
	}
	if diff := cmp.Diff(want.Sizes, got.Sizes); diff != "" {
		t.Fatalf("%s: tokens of the requests (-forecast +engine):\n%s", s.name, diff)
	}
	if want.Cached >= 0 && got.Cached != want.Cached {
		t.Fatalf("%s: the provider's cache served %d tokens, the forecast has %d", s.name, got.Cached, want.Cached)
	}
	return got.triggers
}

// What the lab forecasts for a session is what an engine does with it as it happens: the same parts
// are left out before the same requests, folds come where they were foretold, and each request is
// as large. So it is where another engine takes over in the middle.
func TestEngine_doesWhatTheLabForecast(t *testing.T) {
	for _, s := range forecasts {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			deeds := map[string]int{}
			for seed := range uint64(6) {
				log := written(rand.New(rand.NewPCG(seed, 5)), s.steps())
				for trigger, n := range s.compare(t, log, []int{0, 7, 1}[seed%3]) {
					deeds[trigger] += n
				}
			}
			t.Logf("commits and folds: %v", deeds)
			for _, trigger := range s.triggers {
				if deeds[trigger] == 0 {
					t.Errorf("there was never a commit or fold with the trigger %q: this shows nothing of it", trigger)
				}
			}
		})
	}
}

// Recorded sessions take turns in the first two settings; with -longest 0 each is played in both.
func TestEngine_doesWhatTheLabForecastOnRecordedSessions(t *testing.T) {
	root, n := outside.Path(t, "corpus"), 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(d.Name(), ".json") && !strings.Contains(d.Name(), ".traj") {
			return err
		}
		settings := forecasts[n%2 : n%2+1]
		if n++; *longest == 0 {
			settings = forecasts[:2]
		}
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			doc, err := all.Read(outside.Read(t, name))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range settings {
				t.Logf("%s: %v", s.name, s.compare(t, doc.Session, 50))
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// written is a session of a number of steps: an agent reads, edits and tests files, and waits for its
// user for a minute, sometimes for ten, or for two hours.
func written(r *rand.Rand, steps int) session.Session {
	l, disk := ruletest.New(), ruletest.Disk{}
	words := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "w%x ", r.Uint32())
		}
		return b.String()
	}
	lines := func(n int) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = words(4 + r.IntN(6))
		}
		return all
	}
	const files = 6
	for i := range files {
		disk.Change(fmt.Sprintf("f%d.go", i), lines(30+r.IntN(250)))
	}
	for range steps {
		name := fmt.Sprintf("f%d.go", r.IntN(files))
		path := ruletest.Path(name)
		switch n := r.IntN(20); {
		case n < 8:
			from, limit := 0, 0
			if r.IntN(3) == 0 {
				from, limit = 1+r.IntN(40), 20+r.IntN(60)
			}
			l.Use(disk.Read("claude", name, path, from, limit), false)
			if r.IntN(4) == 0 {
				l.Use(disk.Read("claude", fmt.Sprintf("f%d.go", r.IntN(files)), path, 0, 0), true)
			}
		case n < 11:
			content := disk.Lines(name)
			l.Use(disk.Edit("claude", name, path, content[r.IntN(len(content))], lines(1+r.IntN(5))), false)
		case n < 12:
			l.Use(disk.Write("claude", name, path, lines(30+r.IntN(250))), false)
		case n < 14:
			l.Use(ruletest.Use{Tool: "Bash", Args: ruletest.Args{"command": "go test ./..."}, Output: strings.Join(lines(5+r.IntN(60)), "\n"), Exit: r.IntN(2)}, false)
		case n < 15:
			l.Fail("Bash", ruletest.Args{"command": "make " + words(1)}, strings.Join(lines(40), "\n"))
		case n < 16:
			l.Use(ruletest.Use{Tool: "Bash", Args: ruletest.Args{"command": "git status"}, Output: strings.Join(lines(10), "\n")}, false)
		default:
			said(l.Step(), words(40))
			l.User(words(10 + r.IntN(200)))
		}
	}
	said(l.Step(), words(60))
	now := session.Millis(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	for i := range l.Messages {
		m := &l.Messages[i]
		now += session.Millis(1000 * (2 + r.IntN(20)))
		if m.Role == session.User && i > 0 {
			now += session.Millis([]int{20, 60, 60, 60, 60, 60, 60, 120, 600, 7200}[r.IntN(10)] * 1000)
		}
		m.Time.Created = now
		if m.Role == session.Assistant {
			now += session.Millis(1000 * (1 + r.IntN(60)))
			m.Time.Completed = now
		}
	}
	return session.Session{Info: session.Info{ID: "ses_written", Directory: ruletest.Folder}, Messages: l.Messages}
}

// said ends a step with a text.
func said(l *ruletest.Log, text string) {
	m := &l.Messages[len(l.Messages)-1]
	m.Finish = "stop"
	m.Parts = append(m.Parts, session.Part{ID: fmt.Sprintf("said_%s", m.ID), MessageID: m.ID, Type: session.TextPart, Text: text})
}

package lab

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

func TestNamed_readsEveryForm(t *testing.T) {
	type facts struct {
		Window    int
		Threshold float64
		Rules     int
		Fold      bool
		Settings  string // as fmt prints it, "" for what the engine cannot do
	}
	for spec, want := range map[string]facts{
		"nothing":                   {Window: Unlimited},
		"nothing/200k":              {Window: 200_000},
		"compact":                   {Fold: true, Settings: `map[compaction.prune:false policy:"balanced"]`},
		"compact@168k":              {Window: 1_000_000, Threshold: 168_000, Fold: true},
		"compact@168000/200k":       {Window: 200_000, Threshold: 168_000, Fold: true},
		"compact@900k":              {Window: 1_800_000, Threshold: 900_000, Fold: true},
		"compact@84%":               {Threshold: 0.84, Fold: true},
		"compact@economic":          {Threshold: float64(budget.Economic), Fold: true},
		"balanced":                  {Rules: 12, Fold: true, Settings: `map[policy:"balanced"]`},
		"aggressive":                {Rules: 10, Fold: true, Settings: `map[policy:"aggressive"]`},
		"classic/nolimit":           {Rules: 1, Window: Unlimited, Fold: true, Settings: `map[policy:"classic"]`},
		"balanced/compact@60k":      {Rules: 12, Threshold: 60_000, Fold: true, Settings: `map[compaction.threshold:{"*":60000} policy:"balanced"]`},
		"balanced/compact@economic": {Rules: 12, Threshold: float64(budget.Economic), Fold: true, Settings: `map[compaction.threshold:{"*":"economic"} policy:"balanced"]`},
		"mask:10":                   {Rules: 1, Fold: true},
		"mask:10/200k":              {Rules: 1, Window: 200_000, Fold: true},
		"clear":                     {Rules: 1, Fold: true},
		"clear:3@100k/nolimit":      {Rules: 1, Window: Unlimited, Fold: true},
		"clear:3/compact@168k":      {Rules: 1, Window: 1_000_000, Threshold: 168_000, Fold: true},
		"clear:0@1.5m+5k/2m":        {Rules: 1, Window: 2_000_000, Fold: true},
		"mask:10/compact@economic":  {Rules: 1, Threshold: float64(budget.Economic), Fold: true},
		"supersede":                 {Rules: 1, Fold: true},
		"balanced/warm:5/200k":      {Rules: 12, Window: 200_000, Fold: true},
		" supersede/compact@90% ":   {Rules: 1, Threshold: 0.9, Fold: true},
	} {
		s, err := Named(spec, policy.Defaults(), nil)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		got := facts{s.Window, float64(s.Policy.Budget.Thresholds["*"]), len(s.Policy.Rules), s.Policy.Budget.Auto, ""}
		if s.Settings != nil {
			got.Settings = fmt.Sprint(s.Settings)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
		if s.Name != strings.TrimSpace(spec) {
			t.Errorf("%q is called %q", spec, s.Name)
		}
	}
}

func TestNamed_saysWhatIsWrongWithAWord(t *testing.T) {
	for word, want := range map[string]string{
		"":                  "it is empty",
		"balance":           `unknown policy "balance"`,
		"mask":              `"" is not a number of steps`,
		"mask:0":            `"0" is not a number of steps`,
		"clear:x@100k":      `"x" is not a number of outputs`,
		"clear:-1":          `"-1" is not a number of outputs`,
		"clear:3@soon":      `"soon" is not a number of tokens`,
		"clear:3@0":         `"0" is not a number of tokens`,
		"clear:3@100k+lots": `"lots" is not a number of tokens`,
		"compact@":          `"" is not a number of tokens`,
		"compact@0%":        `"0" is not a share`,
		"compact@120%":      `"120" is not a share`,
		"balanced/big":      `"big" is neither a window`,
		"balanced/12":       `"12" is neither a window`,
		"balanced/warm:0":   `"warm:0" is not a number of requests`,
		"nothing/":          `"" is neither a window`,
		"config":            "no configuration",
	} {
		_, err := Named(word, policy.Defaults(), nil)
		var wrong *WordError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Problem, want) && word != "compact@0%" && word != "compact@120%" {
			t.Errorf("%q: %v, want something with %q", word, err, want)
			continue
		}
		if !strings.Contains(err.Error(), "clear:KEEP@TRIGGER") || !strings.Contains(err.Error(), fmt.Sprintf("%q", word)) {
			t.Errorf("%q: the error does not name it, or not what is accepted: %v", word, err)
		}
	}
}

func TestNamed_readsPoliciesOfFiles(t *testing.T) {
	asked := []string{}
	file := func(path string) (Setup, error) {
		asked = append(asked, path)
		if path == "broken.jsonc" {
			return Setup{}, errors.New("line 3")
		}
		p, _ := policy.New(policy.Classic, policy.Defaults())
		return Setup{Policy: p, Settings: map[string]string{"policy": `"classic"`}}, nil
	}
	for _, word := range []string{"config", "./a/winnow.jsonc", "/etc/w.json/200k", "config/nolimit"} {
		s, err := Named(word, policy.Defaults(), file)
		if err != nil || s.Policy.Name != policy.Classic || s.Name != word {
			t.Errorf("%s: %v, %q", word, err, s.Name)
		}
	}
	if diff := cmp.Diff([]string{"", "./a/winnow.jsonc", "/etc/w.json", ""}, asked); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if _, err := Named("broken.jsonc", policy.Defaults(), file); err == nil || !strings.Contains(err.Error(), "broken.jsonc") || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("a broken file: %v", err)
	}
}

func TestUsual_allAreKnown(t *testing.T) {
	seen := map[string]bool{}
	for _, word := range Usual() {
		s, err := Named(word, policy.Defaults(), nil)
		if err != nil {
			t.Error(err)
		}
		if f := s.fingerprint(); seen[f] {
			t.Errorf("%s does what another one does", word)
		} else {
			seen[f] = true
		}
	}
}

// calls is a log of steps with one call each, whose outputs have so many lines.
func calls(lines ...int) *ruletest.Log {
	l := ruletest.New()
	for i, n := range lines {
		l.Call("bash", ruletest.Args{"command": fmt.Sprintf("make %d", i)}, strings.Repeat(fmt.Sprintf("The lamp of pier %d is lit.\n", i), n))
	}
	return l
}

func elided(f rule.Found) (commands []string) {
	for _, e := range f.Elisions {
		commands = append(commands, e.Part)
	}
	return commands
}

func TestMasked_leavesTheNewestSteps(t *testing.T) {
	l := calls(20, 20, 1, 20, 20)
	l.Beside("bash", ruletest.Args{"command": "ls"}, strings.Repeat("a pebble\n", 30))
	l.Fail("bash", ruletest.Args{"command": "rm"}, strings.Repeat("a failure\n", 30))
	found := masked{2}.Find(l.Window())
	var ids []string
	for i := range l.Messages {
		for _, p := range l.Messages[i].Parts {
			if p.Type == session.ToolPart {
				ids = append(ids, p.ID)
			}
		}
	}
	// The newest two steps are the failure, and the two calls beside each other. The third output
	// is as small as what would stand in its place, or nearly.
	want := []string{ids[0], ids[1], ids[2], ids[3]}
	if diff := cmp.Diff(want, elided(found)); diff != "" {
		t.Errorf("masked (-want +got):\n%s", diff)
	}
	w := l.Window()
	w.Ledger = w.Ledger.With(found.Elisions...)
	if again := (masked{2}).Find(w); len(again.Elisions) > 0 {
		t.Errorf("found again: %v", again.Elisions)
	}
	all := masked{1}.Find(l.Quiet(3).Window())
	if last := all.Elisions[len(all.Elisions)-1]; last.Field != rule.Error {
		t.Errorf("of a failed call the %s goes, want its error", last.Field)
	}
}

func TestCleared_leavesTheNewestOutputs(t *testing.T) {
	l := calls(20, 20, 20, 20)
	if got := elided(cleared{3}.Find(l.Window())); len(got) != 1 {
		t.Errorf("%v go, want the oldest of four", got)
	}
	if got := elided(cleared{0}.Find(l.Window())); len(got) != 4 {
		t.Errorf("%v go, want all four", got)
	}
	if got := elided(cleared{9}.Find(l.Window())); len(got) != 0 {
		t.Errorf("%v go, want none", got)
	}
}

func TestTrigger_waitsForSizeAndForEnough(t *testing.T) {
	at := func(base, size int) schedule.Moment {
		return schedule.Moment{Account: schedule.Account{Base: base, Size: size}}
	}
	found := []rule.Elision{{Saves: 400}, {Saves: 500}}
	when := trigger{At: 10_000, Least: 900}
	if when.Ready(at(2000, 7999)) || !when.Ready(at(2000, 8000)) {
		t.Error("it is ready at 10,000 tokens of prompt, system prompt and tools included")
	}
	if len(when.Choose(found, at(2000, 8000))) != 2 || len(trigger{10_000, 901}.Choose(found, at(2000, 8000))) != 0 {
		t.Error("it takes all where the least goes, and nothing where less does")
	}
	if got := when.Choose(found, schedule.Moment{Asked: true, Cold: true, Pressure: true}); got != nil {
		t.Error("it acts before its trigger")
	}
}

// tour is a trace of a session that reads and writes enough for every policy to act.
func tour(t testing.TB, steps int) *Trace {
	t.Helper()
	l := ruletest.New()
	for i := range steps {
		if i%7 == 6 {
			l.User(fmt.Sprintf("Now look at pier %d.", i))
		}
		text := strings.Repeat(fmt.Sprintf("The lamp of pier %d is lit at dusk and dark at dawn.\n", i%5), 120)
		l.Call("read", ruletest.Args{"filePath": fmt.Sprintf("/repo/pier%d.txt", i%5)}, text)
	}
	s := session.Session{Info: session.Info{ID: fmt.Sprintf("tour%d", steps)}, Messages: l.Messages}
	return NewTrace(s, model.Model{ID: "m", Limits: model.Limits{Context: 60_000, Output: 8000}}, token.Linear{})
}

func TestRun_othersActThroughThePlanner(t *testing.T) {
	trace := tour(t, 60)
	terms := Reference()
	run := func(word string) Outcome {
		s, err := Named(word, policy.Defaults(), nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Run(t.Context(), trace, s, Options{Terms: &terms, Summarizer: offline.New(), Detail: true})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := run("nothing"); o.Commits+o.Folds+o.Regrets+o.Over > 0 || o.Tokens.Largest < 60_000 {
		t.Errorf("nothing did something, or the session is too small: %+v", o)
	}
	if o := run("mask:10/nolimit"); o.Commits < 40 || o.Folds > 0 {
		t.Errorf("mask:10 committed %d times in 60 steps and folded %d times", o.Commits, o.Folds)
	}
	if o := run("clear:3@30k/nolimit"); o.Commits < 5 || o.Commits > 20 || o.Tokens.Largest > 33_000 || o.Folds > 0 {
		t.Errorf("clear:3@30k: %d commits, %d folds, largest prompt %d", o.Commits, o.Folds, o.Tokens.Largest)
	}
	if o := run("clear:3@30k+200k/nolimit"); o.Commits > 0 {
		t.Errorf("with a least that is never reached it committed %d times", o.Commits)
	}
	if o := run("compact@30k"); o.Folds < 2 || o.Commits > o.Folds || o.Tokens.Largest > 33_000 {
		t.Errorf("compact@30k: %d folds, %d commits, largest prompt %d", o.Folds, o.Commits, o.Tokens.Largest)
	}
	if o := run("compact"); o.Folds < 1 || o.Over > 0 {
		t.Errorf("compact in the model's window: %d folds, %d steps over it", o.Folds, o.Over)
	}
	if o := run("supersede/nolimit"); o.Commits < 40 || o.Elided == 0 {
		t.Errorf("supersede: %d commits, %d tokens", o.Commits, o.Elided)
	}
}

package command

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// answered is an export of OpenCode's: one question, and an answer for which the provider reported
// this usage.
func answered(model string, input, output, read, write int) []byte {
	return fmt.Appendf(nil, `{"info": {"id": "ses_1", "title": "Fix it", "directory": "/w", "time": {"created": 1, "updated": 2}},
"messages": [
  {"info": {"id": "msg_1", "role": "user", "sessionID": "ses_1", "time": {"created": 1}},
   "parts": [{"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": "text", "text": "Fix the parser."}]},
  {"info": {"id": "msg_2", "role": "assistant", "sessionID": "ses_1", "parentID": "msg_1", "providerID": "anthropic", "modelID": %q,
    "mode": "build", "path": {"cwd": "/w", "root": "/w"}, "cost": 0, "time": {"created": 1, "completed": 2},
    "tokens": {"input": %d, "output": %d, "reasoning": 0, "cache": {"read": %d, "write": %d}}},
   "parts": [{"id": "prt_2", "messageID": "msg_2", "sessionID": "ses_1", "type": "text", "text": "It is fixed."}]}]}
`, model, input, output, read, write)
}

// S001 phase 1: input + cache.read + output > usable. Cache writes are not in it, and meeting the
// budget is no overflow.
func TestInspect_theVerdictIsThePolicysOwn(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	for _, tt := range []struct {
		policy                     string
		input, output, read, write int
		total                      float64
		overflow                   bool
		said                       string
	}{
		{"classic", 100_000, 10_000, 26_000, 90_000, 136_000, false, `▪ reported +136,000  input \+ cache reads \+ output, as classic counts`},
		{"classic", 100_000, 10_000, 58_000, 0, 168_000, false, `^94% full · \$0`},
		{"classic", 100_000, 10_000, 58_001, 0, 168_001, true, `^94% full · over the limit, according to the provider`},
		{"aggressive", 100_000, 10_000, 60_900, 0, 170_900, true, "full · over the limit, according to the provider"},
		{"balanced", 100_000, 10_000, 26_000, 40_000, 176_000, true, `reported +176,000  including cache writes and later messages`},
		{"balanced", 100_000, 10_000, 26_000, 0, 136_000, false, `^85% full · \$0`},
		{"balanced", 100_000, 22_000, 26_000, 0, 148_000, true, "over the limit, according to the provider"},
	} {
		name := fmt.Sprintf("%s of %v", tt.policy, tt.total)
		file := d.put("verdict.json", answered("claude-sonnet-4-5", tt.input, tt.output, tt.read, tt.write))
		window := d.run("inspect", file, "--policy", tt.policy, "--json").document(t)["window"].(map[string]any)
		verdict, _ := window["verdict"].(map[string]any)
		if verdict["total"] != tt.total || verdict["overflow"] != tt.overflow || window["overflow"] != tt.overflow ||
			verdict["step"] != "msg_2" {
			t.Errorf("%s: overflow %v, %v; want total %v, overflow %t", name, window["overflow"], verdict, tt.total, tt.overflow)
		}
		o := d.run("inspect", file, "--policy", tt.policy)
		o.wants(t, cli.ExitDone)
		if said, _ := regexp.MatchString(tt.said, o.stdout); !said {
			t.Errorf("%s: it does not say %s:\n%s", name, tt.said, o.stdout)
		}
	}
}

// says reports whether a text of a command matches.
func says(t *testing.T, what, text, pattern string) {
	t.Helper()
	if ok, err := regexp.MatchString(pattern, text); !ok || err != nil {
		t.Errorf("%s does not say %s (%v):\n%s", what, pattern, err, text)
	}
}

// What is set of a model holds wherever the model is looked up.
func TestModels_whatTheUserSetsHoldsEverywhere(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	file := d.put("own.json", answered("nope-1.5", 30_000, 1000, 0, 0))
	name := "anthropic/nope-1.5"

	unset := d.run("inspect", file)
	says(t, "inspect of an unknown model", unset.stdout, `128,000 tokens and an output of 16,384 are assumed`)
	says(t, "inspect of an unknown model", strings.Join(strings.Fields(unset.stdout), " "),
		`set them in winnow.jsonc: "models": \{"anthropic/nope-1.5": \{"context":128000,"output":16384\}\}`)
	once := d.run("compact", file, "--dry-run")
	if n := strings.Count(once.stderr, `"models": {"anthropic/nope-1.5"`); n != 1 {
		t.Errorf("compact says %d times how to set the limits, want once: %s", n, once.stderr)
	}
	says(t, "models", d.run("models", name).stdout, `are assumed; set them in winnow.jsonc: "models"`)

	for key, value := range map[string]string{"context": "40000", "output": "4000", "price": `{"input": 2, "output": 10}`,
		"cache.seconds": "300"} {
		d.run("config", "set", "models."+name+"."+key, value).wants(t, cli.ExitDone)
	}
	window := d.run("inspect", file, "--policy", "classic", "--json").document(t)["window"].(map[string]any)
	if window["context"] != 40_000.0 || window["usable"] != 36_000.0 || window["reason"] != nil {
		t.Errorf("the window is %v, want a context of 40,000 and 36,000 usable", window)
	}
	models := d.run("models", name)
	says(t, "models", models.stdout, `anthropic/nope-1.5 +40,000 +4,000 +\$2.00 +– +– +\$10.00 +5m\n  set by you: `)
	if strings.Contains(models.stdout, "assumed") {
		t.Errorf("everything is set, and something is assumed: %s", models.stdout)
	}
	if doc := d.run("inspect", file, "--json").document(t); doc["cost"] != 0.07 {
		t.Errorf("it cost %v, want 30,000 x $2 + 1,000 x $10 a million = 0.07", doc["cost"])
	}
	d.run("import", file).wants(t, cli.ExitDone)
	says(t, "list", d.run("list").stdout, `\$0\.07`)
	if o := d.run("compact", file, "--dry-run"); strings.Contains(o.stderr, "models") {
		t.Errorf("compact says how to set what is set: %s", o.stderr)
	}

	// S001 phase 1: a context of 0 is unlimited.
	d.run("config", "set", "models."+name+".context", "0").wants(t, cli.ExitDone)
	for _, policy := range []string{"classic", "balanced"} {
		o := d.run("inspect", file, "--policy", policy)
		says(t, "inspect", o.stdout, "is set to be unlimited")
		window := d.run("inspect", file, "--policy", policy, "--json").document(t)["window"].(map[string]any)
		verdict := window["verdict"].(map[string]any)
		if window["usable"] != 0.0 || window["overflow"] != false || verdict["code"] != "unlimited" {
			t.Errorf("%s: the window is %v", policy, window)
		}
	}
	says(t, "models", d.run("models", name).stdout, `anthropic/nope-1.5 +unlimited`)
}

func TestRun_withAutoOffSaysOnceThatTheWindowFillsUpAndOverflows(t *testing.T) {
	using := func(input int) llmtest.Reply {
		r := calling("read", `{"filePath":"a.txt"}`)
		r.Usage = &session.Usage{Input: input, Output: 10}
		return r
	}
	desk := func() *desk {
		d, _ := agentDesk(t, llmtest.Sequence(using(1000), using(7000), using(7100), using(9700), using(9800),
			llmtest.Reply{Text: "Done.", Usage: &session.Usage{Input: 9900, Output: 10}}))
		d.put("a.txt", []byte("hello\n"))
		d.env = append(d.env, `WINNOW_MODELS={"house/any": {"context": 10000, "output": 1000}}`,
			"WINNOW_COMPACTION_AUTO=false", "WINNOW_COMPACTION_RESERVED=1000")
		return d
	}
	o := desk().run("run", "read a.txt")
	o.wants(t, cli.ExitDone, "! the window fills up: 7,0", "! the window overflows: 9,7", "automatic compaction is off")
	for _, what := range []string{"fills up", "overflows", "compact"} {
		if n := strings.Count(o.stderr, "! the window "+what); n > 1 {
			t.Errorf("it says %d times %q: %s", n, what, o.stderr)
		}
	}
	if strings.Contains(o.stderr, "~ compacted") {
		t.Errorf("it was folded: %s", o.stderr)
	}
	seen := map[any]int{}
	for _, line := range desk().run("run", "read a.txt", "--json").lines(t) {
		seen[line["type"]]++
	}
	if seen["budget.warning"] != 2 || seen["budget.overflow"] != 3 || seen["session.compacted"] > 0 {
		t.Errorf("the events are %v, want 2 warnings and 3 overflows", seen)
	}
}

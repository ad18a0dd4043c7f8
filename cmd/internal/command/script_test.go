package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/team"
)

// TestMain lets the test binary be the command itself, so that scripts run what a user runs: main,
// with its signals and exit codes. Under the race detector a process waits for a second before it
// ends, for races that come late; the hundreds of processes here do not.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "anchor" { // a command has started it as itself: see startWatch
		os.Args[0] = "winnow"
		Program{}.Start()
	}
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	testscript.Main(m, map[string]func(){"winnow": func() { Program{}.Start() },
		"winnowd": func() { Program{Shared: team.Parts()}.Start() }, "weigh": weigh, "asks": asksProvider})
}

// The scripts use small settings, so that small sessions have something to prune.
var smallSettings = []string{"WINNOW_COMPACTION_PROTECT=200", "WINNOW_COMPACTION_MINIMUM=100",
	"WINNOW_STRATEGIES_BALANCED_PRUNING_IDLE_STEPS=10", "WINNOW_STRATEGIES_BALANCED_PRUNING_IDLE_INPUT_STEPS=30"}

func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	if testing.Short() { // for the race detector: the other commands do one thing after the other
		scripts = []string{filepath.Join("testdata", "script", "import.txtar")}
	}
	testscript.Run(t, script(scripts))
}

// script says how scripts are run, with variables of their own.
func script(files []string, variables ...string) testscript.Params {
	return testscript.Params{
		Files: files,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(append(env.Vars, smallSettings...), variables...)
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			sessions := filepath.Join("testdata", "sessions")
			list, err := os.ReadDir(sessions)
			if err != nil {
				return err
			}
			for _, f := range list {
				data, err := os.ReadFile(filepath.Join(sessions, f.Name()))
				if err != nil {
					return err
				}
				if err := errors.Join(os.WriteFile(filepath.Join(env.WorkDir, f.Name()), data, 0o644), lieIdle(filepath.Join(env.WorkDir, f.Name()))); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"age": ageFile, "exits": exits, "has": has, "is": is, "make": makeFile, "scan": putScan,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	}
}

// lieIdle makes a file one that was not written to in the last minute, as that of an agent which
// has ended.
func lieIdle(path string) error {
	then := time.Now().Add(-time.Minute)
	return os.Chtimes(path, then, then)
}

// putScan writes a session of ruletest.Scans as an export of OpenCode: scan NAME FILE
func putScan(ts *testscript.TestScript, neg bool, args []string) {
	for _, s := range ruletest.Scans() {
		if s.Name == args[0] {
			text, err := json.Marshal(s.Session)
			ts.Check(err)
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o644))
			return
		}
	}
	ts.Fatalf("there is no session %s", args[0])
}

// ageFile is lieIdle for scripts: age x.jsonl
func ageFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: age FILE")
	}
	ts.Check(lieIdle(ts.MkAbs(args[0])))
}

// exits runs winnow and wants an exit code: exits 5 prune x.jsonl. Or winnowd: exits 5 winnowd list
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARGUMENT…")
	}
	// testscript tells success from failure only; main is run in this process for the code, with
	// the files and variables of the script.
	stdout, stderr := new(strings.Builder), new(strings.Builder)
	var environ []string
	for _, name := range append([]string{"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "OPENCODE_DISABLE_PRUNE"}, variables()...) {
		if value := ts.Getenv(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	env := cli.System()
	env.Stdin, env.Stdout, env.Stderr, env.Dir, env.Environ, env.Getenv = strings.NewReader(""), stdout, stderr, ts.MkAbs("."), environ, ts.Getenv
	env.StdoutTerminal, env.StderrTerminal = false, false
	called, program := args[1:], Program{}
	if called[0] == "winnowd" {
		called, program.Shared = called[1:], team.Parts()
	}
	defer forgetCompletions(called)()
	code := program.Main(context.Background(), called, env)
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(stdout.String()), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("err"), []byte(stderr.String()), 0o644))
	ts.Logf("[stdout]\n%s[stderr]\n%s", stdout, stderr)
	if got := jsonInt(code); got != args[0] {
		ts.Fatalf("winnow %s: exit code %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

func jsonInt(n int) string {
	text, _ := json.Marshal(n)
	return string(text)
}

// document finds a value in a JSON file by a JSON pointer.
func document(ts *testscript.TestScript, file, pointer string) (jsontext.Value, bool) {
	var value any
	if err := json.Unmarshal([]byte(ts.ReadFile(file)), &value); err != nil {
		ts.Fatalf("%s holds no JSON document: %v", file, err)
	}
	for name := range jsontext.Pointer(pointer).Tokens() {
		switch v := value.(type) {
		case map[string]any:
			inner, ok := v[name]
			if !ok {
				return nil, false
			}
			value = inner
		case []any:
			var at int
			if json.Unmarshal([]byte(name), &at) != nil || at >= len(v) {
				return nil, false
			}
			value = v[at]
		default:
			return nil, false
		}
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	ts.Check(err)
	return text, true
}

// has wants members in the JSON document of a file: has stdout /tokens/total /candidates/0/part
func has(ts *testscript.TestScript, neg bool, args []string) {
	for _, pointer := range args[1:] {
		if _, ok := document(ts, args[0], pointer); ok == neg {
			ts.Fatalf("%s in %s: found %v", pointer, args[0], ok)
		}
	}
}

// is wants a value in a JSON document: is stdout /format '"pi"'
func is(ts *testscript.TestScript, neg bool, args []string) {
	got, ok := document(ts, args[0], args[1])
	if !ok || (string(got) == args[2]) == neg {
		ts.Fatalf("%s in %s is %s, want %s (not: %v)", args[1], args[0], got, args[2], neg)
	}
}

// makeFile writes a file from Go-quoted pieces, for bytes that no script can hold: make FILE
// "a\x00b" [TIMES]
func makeFile(ts *testscript.TestScript, neg bool, args []string) {
	var b strings.Builder
	for _, piece := range args[1:] {
		times := 1
		if text, count, ok := strings.Cut(piece, "§"); ok {
			ts.Check(json.Unmarshal([]byte(count), &times))
			piece = text
		}
		r := strings.NewReplacer(`\0`, "\x00", `\n`, "\n", `\xff`, "\xff")
		b.WriteString(strings.Repeat(r.Replace(piece), times))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o644))
}

// variables are the names that a script may set for exits.
func variables() []string {
	names := []string{"NO_COLOR", "TERM"}
	for _, key := range config.Keys() {
		names = append(names, config.Variable(key))
	}
	return append(names, "WINNOW_POLCY")
}

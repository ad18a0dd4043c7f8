package policy_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/token"
)

var update = flag.Bool("update", false, "write what the program shows into docs/strategies.md")

// strategy is a rule with its switch and with a log in which it finds something.
type strategy struct {
	name  string
	sound bool // the aggressive policy has no such rule
	on    func(*policy.Strategies)
	log   func(*ruletest.Log)
}

var strategies = []strategy{
	{"files", false, func(s *policy.Strategies) { s.Files = true }, func(l *ruletest.Log) {
		l.Call("read", ruletest.Args{"filePath": "src/tide.go", "offset": 0, "limit": 20}, numbered(1, 20, 40))
		l.Call("edit", ruletest.Args{"filePath": "src/tide.go", "oldString": "line 33", "newString": "line 33, repaired"}, "Edit applied successfully.")
		l.Call("read", ruletest.Args{"filePath": "./src/tide.go"}, numbered(1, 40, 40))
	}},
	{"inputs", false, func(s *policy.Strategies) { s.Inputs = true }, func(l *ruletest.Log) {
		l.Call("write", ruletest.Args{"filePath": "src/tide.go", "content": lines(1, 30)}, "Wrote file successfully.")
		l.Call("read", ruletest.Args{"filePath": "src/tide.go"}, numbered(1, 30, 30))
	}},
	{"urls", false, func(s *policy.Strategies) { s.URLs = true }, func(l *ruletest.Log) {
		l.Call("webfetch", ruletest.Args{"url": "https://tides.example/tables/#today", "format": "text"}, lines(1, 12))
		l.Call("webfetch", ruletest.Args{"url": "https://tides.example/tables", "format": "text"}, lines(1, 13))
		l.Call("webfetch", ruletest.Args{"url": "https://tides.example/tables", "format": "text"}, lines(1, 14))
	}},
	{"queries", false, func(s *policy.Strategies) { s.Queries = true }, func(l *ruletest.Log) {
		l.Call("bash", ruletest.Args{"command": "ls src"}, lines(1, 9))
		l.Call("bash", ruletest.Args{"command": "ls docs"}, lines(1, 5))
		l.Call("bash", ruletest.Args{"command": "ls  src"}, lines(1, 10))
	}},
	{"snapshots", false, func(s *policy.Strategies) { s.Snapshots = true }, func(l *ruletest.Log) {
		l.Call("browser_snapshot", ruletest.Args{}, lines(1, 25))
		l.Call("browser_snapshot", ruletest.Args{}, lines(1, 26))
	}},
	{"retries", false, func(s *policy.Strategies) { s.Retries = true }, func(l *ruletest.Log) {
		l.Fail("bash", ruletest.Args{"command": "make tides", "description": "Build it"}, "make: *** No rule to make target 'tides'.  Stop.\n"+lines(1, 6))
		l.Fail("bash", ruletest.Args{"command": "make tides", "description": "Build it again"}, "make: *** [Makefile:3: tides] Error 1\n"+lines(1, 6))
		l.Call("bash", ruletest.Args{"command": "make tides", "description": "Build it again"}, "built")
	}},
	{"attachments", false, func(s *policy.Strategies) { s.Attachments = true }, func(l *ruletest.Log) {
		l.User("It should look like this.")
		l.Attach("sketch.png", "image/png", "data:image/png;base64,"+strings.Repeat("QUJD", 3000))
		l.Turns(3)
	}},
	{"code", false, func(s *policy.Strategies) { s.Code = true }, func(l *ruletest.Log) {
		l.User("This is what I have:\n\n```go\n" + lines(1, 15) + "```\n\nPlease make it faster.")
		l.Turns(6)
	}},
	{"errors", false, func(s *policy.Strategies) { s.Errors = true }, func(l *ruletest.Log) {
		l.Fail("bash", ruletest.Args{"command": "go test ./..."}, "panic: the tide is out\n"+lines(1, 20)+"src/tide.go:33 +0x1d\nexit status 2")
		l.Turns(4)
	}},
	{"duplicates", true, func(s *policy.Strategies) { s.Duplicates = true }, func(l *ruletest.Log) {
		l.Call("grep", ruletest.Args{"pattern": "tide", "path": "src"}, lines(1, 14))
		l.Call("grep", ruletest.Args{"path": "src", "pattern": "tide"}, lines(1, 14))
	}},
	{"todos", true, func(s *policy.Strategies) { s.Todos = true }, func(l *ruletest.Log) {
		l.Call("todowrite", ruletest.Args{"todos": todos("in_progress")}, lines(1, 6))
		l.Call("todowrite", ruletest.Args{"todos": todos("completed")}, lines(1, 6))
	}},
	idle,
}

// idle is a strategy of its own: it is the only one that takes what nothing newer shows again.
var idle = strategy{"idle", true, func(s *policy.Strategies) { s.Idle = true }, func(l *ruletest.Log) {
	l.Call("read", ruletest.Args{"filePath": "src/moon.go"}, numbered(1, 30, 30)) // which the edit quotes
	l.Call("bash", ruletest.Args{"command": "make charts"}, lines(41, 70))
	l.Call("write", ruletest.Args{"filePath": "docs/charts.md", "content": lines(81, 110)}, "Wrote file successfully.")
	l.Quiet(policy.DefaultIdleInputs - policy.DefaultQuietSteps - 1)
	l.Call("edit", ruletest.Args{"filePath": "src/moon.go", "oldString": "line 7, about high water and low water", "newString": "line 7, repaired"}, "Edit applied successfully.")
}}

func lines(from, to int) string {
	var out strings.Builder
	for n := from; n <= to; n++ {
		fmt.Fprintf(&out, "line %d, about high water and low water\n", n)
	}
	return out.String()
}

func numbered(from, to, of int) string {
	var out strings.Builder
	for n, line := range strings.Split(strings.TrimSuffix(lines(from, to), "\n"), "\n") {
		fmt.Fprintf(&out, "%05d| %s\n", from+n, line)
	}
	if to < of {
		return fmt.Sprintf("<file>\n%s\n(File has more lines. Use 'offset' parameter to read beyond line %d)\n</file>", &out, to)
	}
	return fmt.Sprintf("<file>\n%s\n(End of file - total %d lines)\n</file>", &out, of)
}

func todos(status string) []any {
	var list []any
	for n := range 4 {
		list = append(list, ruletest.Args{"id": fmt.Sprint(n), "content": fmt.Sprintf("measure the tide at pier %d", n), "status": status, "priority": "high"})
	}
	return list
}

// alone is the policy with one strategy.
func (s strategy) alone(name string) policy.Policy {
	only := policy.DefaultStrategies(name)
	ages := only
	ages.Ten, ages.Duplicates, ages.Todos, ages.Idle = policy.Ten{}, false, false, false
	if s.on != nil {
		s.on(&ages)
	}
	o := policy.Defaults()
	o.Strategies = &ages
	o.Protect = 1 << 40 // the backward scan finds nothing
	p, _ := policy.New(name, o)
	return p
}

func find(p policy.Policy, log []session.Message) rule.Found {
	return p.Find(policy.State{Log: log, Window: log, Facts: rule.NewFacts(token.Chars4{})})
}

// found is what the strategy finds alone; what S002 has where another one is off is not its own.
func (s strategy) found(policy string, log []session.Message) []rule.Elision {
	return slices.DeleteFunc(find(s.alone(policy), log).Elisions, func(e rule.Elision) bool {
		return e.Rule != s.name && s.name != "all"
	})
}

// Each switch alone makes its rule fire, and no other.
func TestStrategies_eachSwitchAloneFiresItsRule(t *testing.T) {
	whole := ruletest.New()
	for _, s := range strategies {
		s.log(whole)
	}
	whole.Turns(6).Quiet(policy.DefaultQuietSteps + 1)
	for _, name := range []string{policy.Aggressive, policy.Balanced} {
		for _, s := range strategies {
			fired := map[string]bool{}
			for _, e := range find(s.alone(name), whole.Messages).Elisions {
				fired[e.Rule] = true
			}
			got := slices.Sorted(maps.Keys(fired))
			want := []string{s.name}
			if s.sound && name == policy.Aggressive {
				want = nil
			}
			if name == policy.Aggressive && s.name != "files" {
				want = append(want, "writes") // what S002 has where files is off
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s with %s alone: %v fired, want %v", name, s.name, got, want)
			}
		}
		for _, e := range find(strategy{}.alone(name), whole.Messages).Elisions {
			if name != policy.Aggressive || e.Rule != "writes" {
				t.Errorf("%s with all switched off finds %+v", name, e)
			}
		}
	}
}

// What docs/strategies.md shows is what the program shows.
func TestStrategies_theDocumentShowsWhatTheProgramShows(t *testing.T) {
	blocks := map[string]string{}
	for _, s := range strategies {
		l := ruletest.New()
		s.log(l)
		l.Quiet(policy.DefaultQuietSteps + 1)
		of := map[string][]rule.Elision{policy.Balanced: s.found(policy.Balanced, l.Messages)}
		if !s.sound {
			of[policy.Aggressive] = s.found(policy.Aggressive, l.Messages)
		}
		blocks[s.name] = example(l.Messages, of)
	}
	l := ruletest.New()
	l.Call("read", ruletest.Args{"filePath": "src/tide.go"}, numberedText(program(14, 24)))
	l.Quiet(policy.DefaultIdleOutputs + 1)
	blocks["outline"] = example(l.Messages, map[string][]rule.Elision{policy.Balanced: idle.found(policy.Balanced, l.Messages)})
	l = ruletest.New()
	l.Call("bash", ruletest.Args{"command": "go test ./..."}, lines(1, 150)+
		"--- FAIL: TestTide (0.01s)\n    tide_test.go:33: got low water, want high water\n"+lines(153, 300)+"FAIL\n")
	w := l.Window()
	blocks["logs"] = whole(w.FirstSend(rule.FirstSend{Logs: 1000}))
	document(t, blocks)
}

// program is a file of so many functions of so many lines.
func program(functions, length int) (text string) {
	for n := range functions {
		text += fmt.Sprintf("func tideAtPier%d() Tide {\n%s}\n", n+1, strings.Repeat("\tread(pier) // high water and low water\n", length-2))
	}
	return text
}

// numberedText is a text as a tool prints it that reads a file.
func numberedText(text string) string {
	var out strings.Builder
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(&out, "%6d\t%s\n", n+1, line)
	}
	return out.String()
}

// whole is what stands in place of the first of some texts, a long stretch of it left out, and what
// that saves.
func whole(elisions []rule.Elision) string {
	all := strings.Split(strings.TrimSuffix(elisions[0].Shown, "\n"), "\n")
	at := slices.IndexFunc(all, func(line string) bool { return strings.HasPrefix(line, "[winnow ") })
	all = slices.Concat(all[:2], []string{"  …"}, all[at-1:at+4], []string{"  …"}, all[len(all)-2:])
	return "    " + strings.Join(all, "\n    ") + fmt.Sprintf("\nsaves %s tokens\n", quantity.Number(rule.Saves(elisions)))
}

// example prints the parts that the decisions of a policy change: each part as it was, and what stands
// in its place under each policy.
func example(log []session.Message, of map[string][]rule.Elision) string {
	var out strings.Builder
	for i := range log {
		for j := range log[i].Parts {
			p := &log[i].Parts[j]
			was, first := linesOf(p), true
			for _, name := range []string{policy.Balanced, policy.Aggressive} {
				ledger := rule.NewLedger(of[name]...)
				if !ledger.Touches(p.ID) {
					continue
				}
				shown := *p
				for _, e := range ledger.Of(p.ID) {
					shown, _ = view.Apply(shown, e)
				}
				if first {
					fmt.Fprintf(&out, "%s\n", strings.Join(shortened(was), "\n"))
					first = false
				}
				fmt.Fprintf(&out, "%s:\n    %s\n", name, strings.Join(changed(p, was, linesOf(&shown)), "\n    "))
			}
		}
	}
	var saves []string
	for _, name := range []string{policy.Balanced, policy.Aggressive} {
		if n := rule.Saves(of[name]); n > 0 {
			saves = append(saves, fmt.Sprintf("%s saves %s tokens", name, quantity.Number(n)))
		}
	}
	return out.String() + strings.Join(saves, ", ") + "\n"
}

// linesOf are the lines of a part.
func linesOf(p *session.Part) (all []string) {
	switch {
	case p.State != nil:
		all = append(all, cut(p.Tool+" "+string(p.State.Input), 120))
		for line := range strings.Lines(strings.TrimRight(p.State.Result(), "\n")) {
			all = append(all, "→ "+strings.TrimRight(line, "\n"))
		}
		return all
	case p.Type == session.FilePart:
		return []string{cut(p.Filename+" "+p.URL, 60)}
	default:
		return strings.Split(p.Text, "\n")
	}
}

// changed are the lines of a call that were not there before; those of any other part are all of it.
func changed(p *session.Part, was, is []string) []string {
	if p.State == nil {
		return is
	}
	return slices.DeleteFunc(slices.Clone(is), func(line string) bool { return slices.Contains(was, line) })
}

// shortened are the first of many lines.
func shortened(all []string) []string {
	n := len(all)
	if n <= 3 {
		return all
	}
	return append(slices.Clone(all[:2]), fmt.Sprintf("  … %d more lines", n-2))
}

func cut(text string, size int) string {
	if len(text) > size {
		return text[:size] + fmt.Sprintf("… (%s bytes)", quantity.Number(len(text)))
	}
	return text
}

// document compares the blocks of docs/strategies.md, each behind a line <!-- shown: NAME -->, with these, or with -update writes them.
func document(t *testing.T, blocks map[string]string) {
	t.Helper()
	path := filepath.Join(outside.Root(t), "docs", "strategies.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		head := "<!-- shown: " + name + " -->\n````\n"
		at := strings.Index(text, head)
		if at < 0 {
			t.Errorf("docs/strategies.md has no block %q", name)
			continue
		}
		at += len(head)
		end := at + strings.Index(text[at:], "````\n")
		switch {
		case *update:
			text = text[:at] + blocks[name] + text[end:]
		case text[at:end] != blocks[name]:
			t.Errorf("docs/strategies.md, %s: got\n%s\nwant\n%s\n(go test ./plan/policy -run Strategies -update)", name, text[at:end], blocks[name])
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// What each rule saves on recorded sessions, alone and together: the table of docs/strategies.md.
func TestStrategies_onTheCorpus(t *testing.T) {
	root := outside.Path(t, "corpus")
	files, err := filepath.Glob(filepath.Join(root, "*", "*.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions in %s: %v", root, err)
	}
	type sum struct{ parts, sessions, saves int }
	sums := map[string]*sum{}
	total, sessions := 0, 0
	for _, file := range files {
		if strings.Contains(file, "damaged") {
			continue
		}
		doc, err := all.Read(outside.Read(t, file))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		sessions++
		log := doc.Session.Messages
		total += rule.NewFacts(token.Chars4{}).Total(log)
		for _, name := range []string{policy.Aggressive, policy.Balanced} {
			together := policy.DefaultStrategies(name)
			for _, s := range append(slices.Clone(strategies), strategy{name: "all", on: func(on *policy.Strategies) { *on = together }}) {
				found := s.found(name, log)
				of := sums[name+" "+s.name]
				if of == nil {
					of = &sum{}
					sums[name+" "+s.name] = of
				}
				of.parts += len(found)
				of.saves += rule.Saves(found)
				if len(found) > 0 {
					of.sessions++
				}
			}
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d sessions, %s tokens\n\n%-12s %28s   %28s\n", sessions, quantity.Number(total), "", "balanced", "aggressive")
	fmt.Fprintf(&out, "%-12s %9s %6s %11s   %9s %6s %11s\n", "rule alone", "tokens", "parts", "in sessions", "tokens", "parts", "in sessions")
	for _, s := range append(slices.Clone(strategies), strategy{name: "all"}) {
		row := []any{s.name}
		for _, name := range []string{policy.Balanced, policy.Aggressive} {
			of := sums[name+" "+s.name]
			row = append(row, quantity.Number(of.saves), of.parts, of.sessions)
		}
		fmt.Fprintf(&out, "%-12s %9s %6d %11d   %9s %6d %11d\n", row...)
	}
	t.Log("\n" + out.String())
	document(t, map[string]string{"on the corpus": out.String()})
}

package policy_test

import (
	"flag"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// recorded runs a check on every recorded session that is there.
func recorded(t *testing.T, check func(t *testing.T, doc *format.Document)) {
	root := outside.Path(t)
	for _, name := range outside.Sessions(t) {
		short, err := filepath.Rel(root, name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(short, func(t *testing.T) {
			t.Parallel()
			doc, err := all.Read(outside.Read(t, name))
			if err != nil {
				t.Fatal(err)
			}
			check(t, doc)
		})
	}
}

// looks is how often in a session everything is checked. With one of the counters, which is another
// one from session to session, the rules are run after every message in between too. The other
// counters have their turn with -counters, and in TestRules_whateverASessionHolds.
const looks = 6

var everyCounter = flag.Bool("counters", false, "recorded sessions are checked with each counter, not with one of them")

func TestRules_onRecordedSessions(t *testing.T) {
	recorded(t, func(t *testing.T, doc *format.Document) {
		log := doc.Session.Messages
		was := make([]string, len(log))
		for i := range log {
			was[i] = textOf(log[i])
		}
		for _, name := range []string{policy.Balanced, policy.Aggressive} {
			for n, counter := range slices.Sorted(maps.Keys(counters)) {
				usual := n == len(log)%len(counters)
				if !usual && !*everyCounter {
					continue
				}
				h := newHouse(everything(name, policy.DefaultQuietSteps), counters[counter])
				h.ledger, h.was = doc.Ledger, was
				for i, m := range log {
					h.log = append(h.log, m)
					if i%(len(log)/looks+1) != 0 && i < len(log)-1 {
						if usual {
							h.find()
						}
						continue
					}
					if err := h.prune(); err != nil {
						t.Fatalf("%s, %s, message %d: %s", name, counter, i, rule.Shorten(err.Error(), 4000))
					}
					if err := h.partial(i/3, i/2+1); err != nil {
						t.Fatalf("%s, %s, message %d: %v", name, counter, i, err)
					}
				}
				if err := h.untouched(); err != nil {
					t.Fatalf("%s, %s: %v", name, counter, err)
				}
			}
		}
	})
}

func TestPresets_differ(t *testing.T) {
	doc, err := all.Read(outside.Read(t, outside.Path(t, "corpus", "pi", "cc1fbd63-session.jsonl.gz")))
	if err != nil {
		t.Fatal(err)
	}
	sets := map[string]string{}
	for _, name := range []string{policy.Classic, policy.Aggressive, policy.Balanced} {
		p, _ := policy.New(name, policy.Defaults())
		var keys []string
		for _, e := range find(p, doc.Session.Messages).Elisions {
			keys = append(keys, fmt.Sprint(e.Key(), e.Shown))
		}
		slices.Sort(keys)
		set := strings.Join(keys, "\n")
		for other, theirs := range sets {
			if theirs == set {
				t.Errorf("%s and %s elide the same %d parts in the same way", name, other, len(keys))
			}
		}
		sets[name] = set
		t.Logf("%s elides %d", name, len(keys))
	}
}

// Whatever a rule of balanced left out because newer parts cover it is found in them line by line, or they show the whole file. With idle switched off that
// holds for good: what covers it is shown, or went because something newer covers it. With idle on it may have gone since, as what lies idle, and says then by
// which tool, target and handle it is found.
func TestCoverage_lineByLineOnRecordedSessions(t *testing.T) {
	recorded(t, func(t *testing.T, doc *format.Document) {
		for _, idle := range []bool{false, true} {
			o := policy.Defaults()
			o.Protect = 1 << 40 // what goes for its age is no matter of coverage
			s := policy.DefaultStrategies(policy.Balanced)
			s.Idle, o.Strategies = idle, &s
			p, _ := policy.New(policy.Balanced, o)
			h := newHouse(p, token.Chars4{})
			h.ledger = doc.Ledger
			checked, lying := map[string]int{}, 0
			for _, m := range doc.Session.Messages {
				h.log = append(h.log, m)
				found := h.find()
				h.ledger = h.ledger.With(found...)
				for _, e := range found {
					if e.By == "" || !slices.Contains([]string{"files", "inputs", "duplicates"}, e.Rule) {
						continue
					}
					how, err := h.shownAgain(e)
					if err != nil {
						t.Errorf("%s of %s by %s because of %s: %v", e.Field, e.Part, e.Rule, e.By, err)
					}
					checked[e.Rule+" "+how]++
				}
			}
			for _, e := range h.ledger.All()[doc.Ledger.Len():] {
				n, err := h.stillFound(e)
				if err != nil {
					t.Errorf("at the end, %s of %s by %s because of %s: %v", e.Field, e.Part, e.Rule, e.By, err)
				}
				lying += n
			}
			if lying > 0 && !idle {
				t.Errorf("idle is off, and what covers %d parts went because it is idle", lying)
			}
			delete(checked, "")
			t.Logf("idle %v: %d messages, checked %v; what covered %d parts lies idle", idle, len(h.log), checked, lying)
		}
	})
}

// stillFound follows what an elision went for to parts that are shown, or that lie idle and lead on. It says how many lie idle.
func (h *house) stillFound(e rule.Elision) (idle int, err error) {
	seen := map[string]bool{}
	for open := e.Covers(); len(open) > 0; open = open[1:] {
		if seen[open[0]] {
			continue
		}
		seen[open[0]] = true
		for _, f := range h.ledger.Of(open[0]) {
			switch {
			case f.Rule == (*rule.Idle)(nil).Name():
				if err := h.leadsOn(f); err != nil {
					return idle, err
				}
				idle++
			case f.By == "":
				return idle, fmt.Errorf("%s went because %s, and nothing covers it", f.Part, f.Because)
			}
			open = append(open, f.Covers()...)
		}
	}
	return idle, nil
}

// shownAgain finds what was elided in the parts that are said to cover it, and says how: "equal", "whole", "lines".
func (h *house) shownAgain(e rule.Elision) (how string, err error) {
	_, old := session.FindPart(h.log, e.Part)
	var by []*session.Part
	for _, id := range e.Covers() {
		_, p := session.FindPart(h.log, id)
		if p == nil || h.ledger.Touches(id) {
			return "", fmt.Errorf("%s is not shown itself", id)
		}
		by = append(by, p)
	}
	if e.Field == rule.Output && slices.ContainsFunc(by, func(p *session.Part) bool { return p.State.Result() == old.State.Result() }) {
		return "equal", nil
	}
	was := printing(old, e.Field)
	if strings.HasPrefix(e.Because, "it failed") {
		return "failed", nil // an attempt that came to nothing: nothing of the file was in it
	}
	for _, p := range by {
		if v := printing(p, rule.Output); v.whole && v.file == was.file {
			return "whole", nil
		}
		if v := printing(p, rule.Input); v.whole && v.file == was.file {
			return "whole", nil
		}
	}
	if was.lines == nil && e.Field == rule.Input && together(by, was) {
		return "whole", nil
	}
	if was.lines == nil {
		return "", fmt.Errorf("of %s %s nothing is understood, and none of what covers it is a whole file", old.Tool, old.State.Input)
	}
	var again []printed
	for _, p := range by {
		if v := printing(p, rule.Output); v.file == was.file {
			again = append(again, v)
		}
	}
	for n, text := range was.lines {
		if !slices.ContainsFunc(again, func(v printed) bool { shown, ok := v.lines[n]; return ok && shown == text }) {
			return "", fmt.Errorf("line %d %q of %s is in none of them (%s %s, and so on)", n, text, was.file, by[0].Tool, by[0].State.Input)
		}
	}
	return "lines", nil
}

// together reports whether parts show a whole file, piece by piece: as many lines as were put into it, or up to a piece that ended before it had to.
func together(parts []*session.Part, was printed) bool {
	lines, ended := map[int]bool{}, false
	last := 0
	for _, p := range parts {
		v := printing(p, rule.Output)
		if v.file != was.file {
			continue
		}
		for n := range v.lines {
			lines[n] = true
			last = max(last, n)
		}
		var a struct {
			Limit int `json:"limit"`
		}
		if _, newest := v.lines[last]; newest && json.Unmarshal(p.State.Input, &a) == nil && (a.Limit == 0 || len(v.lines) < a.Limit) {
			ended = true
		}
	}
	delete(lines, 0) // a product that is told to begin there numbers the first line so
	return (ended || was.put > 0 && last >= was.put) && last > 0 && len(lines) == last
}

// printed is what a field of a call shows of a file, read in the plainest way.
type printed struct {
	file  string         // its name, without folders
	lines map[int]string // by number
	whole bool
	put   int // how many lines a call put into it, 0 when it does not say
}

var (
	catRange      = regexp.MustCompile(`(?:^|&& *)sed -n ['"]?(\d+),(\d+|\$)p['"]? ([^ |;&]+)\s*$`)
	catWhole      = regexp.MustCompile(`(?:^|&& *)cat( -n)? ([^ |;&<>]+)\s*$`)
	catHead       = regexp.MustCompile(`(?:^|&& *)head (?:-n )?-?(\d+) ([^ |;&]+)\s*$`)
	catTail       = regexp.MustCompile(`(?:^|&& *)tail -n \+(\d+) ([^ |;&]+)\s*$`)
	numberedRange = regexp.MustCompile(`^nl -ba ([^ |;&]+) \| sed -n '(\d+,\d+)p'\s*$`)
	// Codex writes what it knows of a command above its output, and a patch names its files.
	codexHead = regexp.MustCompile(`^(?s:Command: .*?\n)?Chunk ID: (?:.*\n)+?Output:\n`)
	patched   = regexp.MustCompile(`(?m)^\*\*\* (Add|Update) File: (.+)$`)
	leftOut   = regexp.MustCompile(`(?m)^(\[\d+ more lines in|\[Showing lines|\(File has more lines|\.\.\. ?[\[(]|Total output lines: |.*…\d+ tokens truncated…).*$`)
)

func printing(p *session.Part, field rule.Field) (v printed) {
	var a map[string]any
	if json.Unmarshal(p.State.Input, &a) != nil {
		return v
	}
	text := func(keys ...string) string {
		for _, key := range keys {
			if s, ok := a[key].(string); ok {
				return s
			}
		}
		return ""
	}
	number := func(key string, without int) int {
		if n, ok := a[key].(float64); ok {
			return int(n)
		}
		return without
	}
	name, output := text("file_path", "filePath", "path"), p.State.Output
	v.file = path.Base(strings.ReplaceAll(name, `\`, "/"))
	tool := strings.ToLower(p.Tool)
	output = strings.TrimPrefix(output, codexHead.FindString(output))
	if m := patched.FindStringSubmatch(text("patchText", "patch", "input", "command", "cmd")); m != nil {
		v.file, v.whole = path.Base(strings.ReplaceAll(m[2], `\`, "/")), m[1] == "Add"
		if field == rule.Output {
			v.whole = false
		}
		return v
	}
	if field == rule.Input {
		v.whole = strings.Contains(tool, "write") || tool == "create"
		if content := strings.TrimSuffix(text("content"), "\n"); content != "" {
			v.put = strings.Count(content, "\n") + 1
		}
		return v
	}
	from, bare := 1, true
	command := strings.TrimSuffix(text("command", "cmd"), " 2>/dev/null")
	if m := numberedRange.FindStringSubmatch(command); m != nil {
		command = "sed -n '" + m[2] + "p' " + m[1]
	}
	switch {
	case catRange.MatchString(command):
		m := catRange.FindStringSubmatch(command)
		from, _ = strconv.Atoi(m[1])
		v.file = path.Base(m[3])
		n, _ := strconv.Atoi(m[2])
		v.whole = m[1] == "1" && (m[2] == "$" || strings.Count(output, "\n") < n)
	case catWhole.MatchString(command):
		v.file, v.whole = path.Base(catWhole.FindStringSubmatch(command)[2]), true
	case catHead.MatchString(command):
		m := catHead.FindStringSubmatch(command)
		n, _ := strconv.Atoi(m[1])
		v.file, v.whole = path.Base(m[2]), strings.Count(output, "\n") < n-1
	case catTail.MatchString(command):
		m := catTail.FindStringSubmatch(command)
		from, _ = strconv.Atoi(m[1])
		v.file = path.Base(m[2])
	case command != "":
		if strings.Contains(command, "cat ") { // something before it, such as a change of folder with blanks in it
			words := strings.Fields(command)
			v.file, v.whole = path.Base(words[len(words)-1]), true
		}
	case strings.Contains(tool, "read") || strings.Contains(tool, "view") || strings.Contains(tool, "open") || strings.Contains(tool, "str_replace"):
		from = max(1, number("offset", 1))
		v.whole = from == 1 && a["view_range"] == nil && (a["limit"] == nil || strings.Count(output, "\n") < number("limit", 0)-1)
	}
	v.whole = v.whole && !leftOut.MatchString(output)
	if at := leftOut.FindStringIndex(output); at != nil {
		output = strings.TrimRight(output[:strings.LastIndexByte(output[:at[0]], '\n')+1], "\n")
	}
	v.lines = map[int]string{}
	for i, line := range strings.Split(strings.TrimSuffix(output, "\n"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if m := withNumber.FindStringSubmatch(line); m != nil && (i == 0 || !bare) {
			bare = false
			n, _ := strconv.Atoi(m[1])
			v.lines[n] = m[3]
		} else if bare {
			v.lines[from+i] = line
		}
	}
	if len(v.lines) == 0 {
		v.lines = nil
	}
	return v
}

// Each switch alone fires its rule alone on random sessions too, and all off leaves every session as it is, but for what S002 has where files is off.
func TestStrategies_aloneOnRandomSessions(t *testing.T) {
	fired := map[string]int{}
	for seed := range 60 {
		var log []session.Message
		for _, e := range ruletest.Sessions(60).Example(seed) {
			log = e.On(log)
		}
		for _, name := range []string{policy.Aggressive, policy.Balanced} {
			for _, s := range append(slices.Clone(strategies), strategy{name: "none"}) {
				for _, e := range find(s.alone(name), view.Window(log, nil)).Elisions {
					fired[name+" "+e.Rule]++
					instead := name == policy.Aggressive && s.name != "files" && e.Rule == "writes" // what S002 has where files is off
					if e.Rule != s.name && !instead {
						t.Fatalf("session %d: %s with %s alone: %s elides %s of %s", seed, name, s.name, e.Rule, e.Field, e.Part)
					}
				}
			}
		}
	}
	t.Logf("elisions: %v", fired)
}

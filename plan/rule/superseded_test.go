package rule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
)

// supersedes are the rules by which something newer, or age, makes a call redundant, in one form.
func supersedes(letter bool, quiet int) []rule.Rule {
	age := rule.Age{Steps: quiet}
	return []rule.Rule{
		formOf(letter, &rule.URLs{Age: age}),
		formOf(letter, &rule.Queries{Age: age}),
		formOf(letter, &rule.Snapshots{Age: age, Keep: 1}),
		formOf(letter, &rule.Retries{Age: age}),
		formOf(letter, &rule.Errors{Age: rule.Age{Turns: 2, Steps: 9}}),
	}
}

// anyLog draws a log of calls that ask, fetch, fail, are tried again, and run while other messages
// come.
func anyLog(t *rapid.T) *ruletest.Log {
	type args = ruletest.Args
	l := ruletest.New()
	path := rapid.SampledFrom([]string{"a.go", "/repo/a.go", "b.go"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat("A line about pebbles, a.go:3: error: no.\n", rapid.SampledFrom([]int{0, 1, 7, 20, 30}).Draw(t, "lines"))
	})
	for range rapid.SampledFrom([]int{0, 4, 20, 60, 100}).Draw(t, "steps") {
		var tool string
		var input args
		switch rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 5, 6, 7, 8}).Draw(t, "kind") {
		case 0:
			l.User("Go on.")
			continue
		case 1:
			tool, input = "webfetch", args{"url": rapid.SampledFrom([]string{"https://a.example/", "https://A.example#x", "https://b.example"}).Draw(t, "url")}
		case 2:
			tool, input = "websearch", args{"query": rapid.SampledFrom([]string{"pebbles", "Pebbles ", "sand"}).Draw(t, "query")}
		case 3, 4:
			commands := []string{"ls", "ls src", "git status", "git log -p", "git branch -D x", "npm test", "make", "cd src", "cd /repo && make", "pwd"}
			tool, input = "bash", args{"command": rapid.SampledFrom(commands).Draw(t, "command"), "description": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "words")}
		case 5:
			tool, input = rapid.SampledFrom([]string{"snapshot", "browser_take_screenshot"}).Draw(t, "shot"), args{"tab": rapid.IntRange(0, 1).Draw(t, "tab")}
		case 6:
			tool, input = "edit", args{"filePath": path.Draw(t, "path"), "oldString": rapid.SampledFrom([]string{"x", "y"}).Draw(t, "old"), "newString": "z"}
		case 7:
			tool, input = "apply_patch", args{"patchText": "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** Update File: b.go\n@@\n-x\n+y\n*** End Patch"}
		case 8:
			tool, input = "list", args{"path": path.Draw(t, "path")}
		}
		if rapid.IntRange(0, 9).Draw(t, "move") == 0 {
			l.Cwd = rapid.SampledFrom([]string{"/repo", "/repo/sub"}).Draw(t, "cwd")
		}
		var part string
		switch rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).Draw(t, "end") {
		case 0, 1:
			l.Fail(tool, input, "Error: "+text.Draw(t, "failure"))
			continue
		case 2:
			l.Fail(tool, input, "The user doesn't want to proceed with this tool use. "+text.Draw(t, "refusal"))
			continue
		case 3:
			l.Running(tool, input)
			continue
		case 4:
			if newest := l.Messages[len(l.Messages)-1]; newest.Role != session.Assistant {
				l.Step()
			}
			part = l.Beside(tool, input, text.Draw(t, "output"))
		default:
			part = l.Call(tool, input, text.Draw(t, "output"))
		}
		s := l.Part(part).State
		if tool == "bash" {
			s.Metadata = jsontext.Value(fmt.Sprintf(`{"exit":%d}`, rapid.IntRange(0, 1).Draw(t, "exit")))
		}
		for range rapid.IntRange(0, 1).Draw(t, "images") {
			s.Attachments = append(s.Attachments, session.Part{Type: session.FilePart, Mime: "image/png"})
		}
	}
	return l
}

func TestSuperseded_whatReplacesAPartIsNewerWorkedAndStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLog(t)
		w := l.Window()
		at, worked := map[string]int{}, map[string]bool{}
		for i := range l.Messages {
			for j := range l.Messages[i].Parts {
				p := &l.Messages[i].Parts[j]
				at[p.ID] = i*1000 + j
				worked[p.ID] = p.State != nil && p.State.Status == session.Completed && w.Facts.Call(p, "").Worked()
			}
		}
		var found rule.Found
		for _, r := range supersedes(false, rapid.IntRange(0, 3).Draw(t, "quiet")) {
			each := r.Find(w)
			found.Elisions = append(found.Elisions, each.Elisions...)
			for _, e := range each.Elisions {
				if e.Saves <= 0 || !rule.ContainsPlaceholder(e.Shown) {
					t.Errorf("%s proposes what saves nothing or names no handle: %+v", r.Name(), e)
				}
			}
		}
		gone := map[string]bool{}
		settled := rule.Resolve([]rule.Found{found}, rule.Ledger{}, func(string) bool { return false }).Elisions
		for _, e := range settled {
			gone[e.Part] = true
		}
		for _, e := range settled {
			if (e.By == "") != (e.Rule == "errors") {
				t.Errorf("%s is elided by %q because of %q", e.Part, e.Rule, e.By)
			}
			for _, part := range e.Covers() {
				if at[part] <= at[e.Part] || !worked[part] || gone[part] {
					t.Errorf("%s goes because of %s: newer %v, worked %v, gone itself %v", e.Part, part, at[part] > at[e.Part], worked[part], gone[part])
				}
			}
		}
	})
}

func TestSuperseded_findingAgainFindsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLog(t)
		w := l.Window()
		for _, r := range slices.Concat(supersedes(false, 1), supersedes(true, 0)) {
			first := r.Find(w)
			if diff := cmp.Diff(first, r.Find(w)); diff != "" {
				t.Errorf("%s found otherwise the second time (-first +second):\n%s", r.Name(), diff)
			}
		}
	})
}

func TestSuperseded_aLogThatGrowsIsFoundAsAWholeOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLog(t)
		grown := l.Window()
		rules := slices.Concat(supersedes(false, 1), supersedes(true, 0))
		for n := range l.Messages {
			grown.Messages = l.Messages[:n+1]
			whole := l.Window()
			whole.Messages = slices.Clone(grown.Messages)
			compare := n == len(l.Messages)-1 || rapid.IntRange(0, 9).Draw(t, "look") == 0
			for _, r := range rules {
				got := r.Find(grown)
				if !compare {
					continue
				}
				if diff := cmp.Diff(r.Find(whole), got); diff != "" {
					t.Fatalf("%s over %d messages that came one by one (-whole +grown):\n%s", r.Name(), n+1, diff)
				}
			}
		}
	})
}

func TestSuperseded_ofOldPartsNothingIsDecidedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLog(t)
		w := l.Window()
		rules := supersedes(false, 1) // the letter remembers nothing
		for _, r := range rules {
			r.Find(w)
		}
		before := w.Facts.Decided()
		for _, r := range rules {
			r.Find(w)
		}
		if n := w.Facts.Decided() - before; n > 0 {
			t.Errorf("%d decisions were made again with nothing new", n)
		}
	})
}

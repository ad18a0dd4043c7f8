package rule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// at once are the sound rules as they are when nothing holds them back but what a request has had.
func atOnce() []rule.Rule {
	return []rule.Rule{
		&rule.Idle{Outputs: 1, Inputs: 1, Least: 1}, &rule.Files{}, &rule.Duplicates{}, &rule.Todos{}, &rule.URLs{}, &rule.Queries{}, &rule.Snapshots{Keep: 1},
		&rule.Retries{}, &rule.Inputs{}, &rule.Errors{}, &rule.CodeBlocks{}, &rule.AttachedFiles{}, rule.Backward{},
	}
}

func many(word string, n int) string { return strings.Repeat(word+"\n", n) }

// However eager a rule is, it leaves alone what no request has had: what the calls of the newest step gave, and what the user said to it. Of what is the same byte
// for byte one may go.
func TestRules_takeNothingThatWasNeverSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := ruletest.New()
		l.User("Look.")
		for i := range rapid.IntRange(1, 14).Draw(t, "calls") {
			name := fmt.Sprintf("f%d", rapid.IntRange(0, 2).Draw(t, "file"))
			output := many(fmt.Sprintf("line %d of %s", i, name), rapid.IntRange(1, 60).Draw(t, "lines"))
			use := func(tool string, args ruletest.Args) {
				l.Use(ruletest.Use{Tool: tool, Args: args, Output: output}, rapid.Bool().Draw(t, "beside"))
			}
			switch rapid.IntRange(0, 7).Draw(t, "kind") {
			case 0:
				use("Read", ruletest.Args{"file_path": ruletest.Path(name)})
			case 1:
				use("Bash", ruletest.Args{"command": "git status"})
			case 2:
				use("WebFetch", ruletest.Args{"url": "https://example.org/" + name, "prompt": "lamps"})
			case 3:
				use("browser_snapshot", ruletest.Args{})
			case 4:
				l.Fail("Bash", ruletest.Args{"command": "make " + name}, output)
			case 5:
				use("Bash", ruletest.Args{"command": "make " + name})
			case 6:
				use("TodoWrite", ruletest.Args{"todos": []map[string]any{{"content": name, "status": "pending"}}})
			default:
				l.User("See:\n```go\n" + output + "```\n")
			}
		}
		w := l.Window()
		unsent := map[string]*session.Message{}
		for i := session.Unsent(w.Messages); i < len(w.Messages); i++ {
			unsent[w.Messages[i].ID] = &w.Messages[i]
		}
		found := rule.Decide(w, atOnce())
		for _, e := range found.Elisions {
			if m := unsent[e.Message]; m != nil && e.Field != rule.Input && e.Rule != "duplicates" {
				t.Fatalf("%s takes the %s of %s, which no request has had", e.Rule, e.Field, e.Part)
			}
		}
	})
}

func TestShorten_cutsTheLongestToOneLength(t *testing.T) {
	for name, c := range map[string]struct {
		sizes []int // in lines, of one step
		save  int   // tokens
		whole []bool
	}{
		"nothing is too long":          {[]int{100, 100}, 0, []bool{true, true}},
		"one":                          {[]int{1000, 10}, 4000, []bool{false, true}},
		"what is long, to one length":  {[]int{1000, 900, 100}, 6000, []bool{false, false, true}},
		"the shortest stays readable":  {[]int{1000, 900, 10}, 1_000_000, []bool{false, false, true}},
		"one is enough where it is so": {[]int{300, 1000, 300}, 3000, []bool{true, false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			l := ruletest.New()
			l.User("Look.")
			l.Call("read", ruletest.Args{"filePath": "old.go"}, many("it was sent long ago", 2000))
			var parts []string
			for i, n := range c.sizes {
				use := ruletest.Use{Tool: "read", Args: ruletest.Args{"filePath": fmt.Sprintf("f%d.go", i)}, Output: "first of it\n" + many("a lamp on the pier", n) + "last of it\n"}
				parts = append(parts, l.Use(use, i > 0))
			}
			w := l.Window()
			cut := map[string]rule.Elision{}
			found := w.Shorten(c.save, false)
			for _, e := range found {
				cut[e.Part] = e
			}
			var lengths []int
			for i, part := range parts {
				e, shortened := cut[part]
				if shortened == c.whole[i] {
					t.Errorf("output %d is shortened: %v", i, shortened)
				}
				if !shortened {
					continue
				}
				if e.Field != rule.Output || !strings.HasPrefix(e.Shown, "first of it\n") || !strings.HasSuffix(e.Shown, "last of it\n") || !rule.ContainsPlaceholder(e.Shown) {
					t.Errorf("output %d is the %s %.80q … %.80q", i, e.Field, e.Shown, e.Shown[max(0, len(e.Shown)-80):])
				}
				lengths = append(lengths, w.Facts.Count(e.Shown))
			}
			if len(lengths) > 1 && slices.Max(lengths)-slices.Min(lengths) > slices.Max(lengths)/4 {
				t.Errorf("they have %v tokens, want about as many each", lengths)
			}
			before, after := view.Tokens(w.Messages, rule.Ledger{}, w.Facts), view.Tokens(w.Messages, rule.NewLedger(found...), w.Facts)
			if before-after != rule.Saves(found) {
				t.Errorf("it claims to save %d tokens, and saves %d", rule.Saves(found), before-after)
			}
			if c.save < 100_000 && before-after < c.save {
				t.Errorf("it saves %d tokens of %d", before-after, c.save)
			}
			if len(found) != len(cut) || len(cut) > len(parts) {
				t.Errorf("%d elisions of %d parts", len(found), len(cut))
			}
		})
	}
}

func TestShorten_leavesOutThePicturesOfARefusedMessage(t *testing.T) {
	l := ruletest.New()
	l.User("Look.")
	l.Quiet(1)
	l.User("And at this.")
	picture := l.Attach("pier.png", "image/png", "data:image/png;base64,"+strings.Repeat("A", 4000))
	if found := l.Window().Shorten(0, false); len(found) != 0 {
		t.Errorf("nothing was to be saved, and %d elisions were found", len(found))
	}
	found := l.Window().Shorten(0, true)
	if len(found) != 1 || found[0].Part != picture || found[0].Field != rule.Attachments || !strings.Contains(found[0].Shown, "pier.png") {
		t.Errorf("found %+v", found)
	}
}

func TestShorten_leavesWhatIsPinnedAndSkills(t *testing.T) {
	l := ruletest.New()
	l.User("Look.")
	pinned := l.Call("read", ruletest.Args{"filePath": "a.go"}, many("a lamp on the pier", 900))
	l.Beside("skill", ruletest.Args{"name": "lamps"}, many("light it at dusk", 900))
	w := l.Window()
	w.Pins, w.Guard = []rule.Pin{{ID: "pin", Part: pinned}}, &rule.Guard{Tools: rule.DefaultProtectedTools()}
	if found := w.Shorten(10_000, true); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
}

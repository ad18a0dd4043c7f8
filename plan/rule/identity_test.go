package rule_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
)

func TestIdentity_whatCallsAreEqual(t *testing.T) {
	for _, c := range []struct {
		what         string
		first, again [2]string // tool, arguments
		equal        bool
	}{
		{"the order of keys", [2]string{"query", `{"a":1,"b":{"c":2,"d":3}}`}, [2]string{"query", `{"b":{"d":3,"c":2},"a":1}`}, true},
		{"blanks", [2]string{"query", `{"a": 1 , "b":[1, 2]}`}, [2]string{"query", `{"a":1,"b":[1,2]}`}, true},
		{"how a number is written", [2]string{"query", `{"a":10}`}, [2]string{"query", `{"a":1e1}`}, true},
		{"null and absent", [2]string{"query", `{"a":1,"b":null}`}, [2]string{"query", `{"a":1}`}, true},
		{"the order of an array", [2]string{"query", `{"a":[1,2]}`}, [2]string{"query", `{"a":[2,1]}`}, false},
		{"a difference in depth", [2]string{"query", `{"a":{"b":{"c":1}}}`}, [2]string{"query", `{"a":{"b":{"c":2}}}`}, false},
		{"grep and glob", [2]string{"grep", `{"pattern":"x"}`}, [2]string{"glob", `{"pattern":"x"}`}, false},
		{"two tools without arguments", [2]string{"mcp__a__list", `{}`}, [2]string{"mcp__b__list", `{}`}, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			l := ruletest.New()
			first := l.Call(c.first[0], jsontext.Value(c.first[1]), page)
			again := l.Call(c.again[0], jsontext.Value(c.again[1]), page)
			// Arguments are as the model wrote them.
			l.Part(first).State.Input, l.Part(again).State.Input = jsontext.Value(c.first[1]), jsontext.Value(c.again[1])
			if e, goes := l.Found(t, &rule.Duplicates{})[first]; goes != c.equal || goes && e.By != again {
				t.Errorf("%s %s after %s %s: it goes is %v, want %v", c.first[0], c.first[1], c.again[0], c.again[1], goes, c.equal)
			}
		})
	}
}

func TestIdentity_whatFilesAreOne(t *testing.T) {
	disk := &ruletest.Disk{}
	disk.Change("a", longLines)
	for spelled, one := range map[string]bool{"a": true, "./a": true, "/repo/a": true, "/repo/b/../a": true, "/other/a": false, "b/a": false} {
		l := ruletest.New()
		first := l.Use(disk.Read("opencode", "a", "a", 1, 0), false)
		l.Use(disk.Read("opencode", "a", spelled, 1, 0), false)
		if _, goes := l.Found(t, &rule.Files{})[first]; goes != one {
			t.Errorf("a, then %s: it goes is %v, want %v", spelled, goes, one)
		}
	}
	l := ruletest.New()
	first := l.Use(disk.Read("opencode", "a", "a", 1, 0), false)
	l.Cwd = "/elsewhere"
	l.Use(disk.Read("opencode", "a", "a", 1, 0), false)
	if _, goes := l.Found(t, &rule.Files{})[first]; goes {
		t.Error("a in one folder, then a in another: it goes")
	}
}

var longLines = []string{"the first line of a file that is long enough", "the second line of a file that is long enough", "the third line of a file that is long enough"}

// guarded is a window with the default protection.
func guarded(l *ruletest.Log, g *rule.Guard) rule.Window {
	w := l.Window()
	w.Guard = g
	return w
}

func TestGuard_protectedFilesStay(t *testing.T) {
	g := &rule.Guard{Paths: []string{"**/.env*", "**/AGENTS.md", "**/CLAUDE.md"}}
	disk := &ruletest.Disk{}
	for name, stays := range map[string]bool{".env": true, ".env.local": true, "AGENTS.md": true, "CLAUDE.md": true, "main.go": false} {
		disk.Change(name, longLines)
		for _, reader := range ruletest.Readers {
			for _, spelling := range []string{name, "./" + name, "/repo/" + name} {
				l := ruletest.New()
				first := l.Use(disk.Read(reader, name, spelling, 1, 0), false)
				l.Use(disk.Read(reader, name, spelling, 1, 0), false)
				l.Use(disk.Write("opencode", name, spelling, longLines), false)
				l.Use(disk.Read("opencode", name, spelling, 1, 0), false)
				went := false
				for _, r := range []rule.Rule{&rule.Files{}, &rule.Duplicates{}, &rule.Inputs{}, &rule.Queries{}, formOf(true, &rule.Files{}), formOf(true, &rule.Inputs{}),
					&rule.Idle{Outputs: 1, Inputs: 1}} {
					for _, e := range r.Find(guarded(l, g)).Elisions {
						if went = went || e.Part == first; stays {
							t.Errorf("%s by %s: %T elides the %s of %s", spelling, reader, r, e.Field, l.Part(e.Part).Tool)
						}
					}
				}
				if !stays && !went {
					t.Errorf("%s by %s: nothing protects it, and it stays", spelling, reader)
				}
			}
		}
	}
}

func TestGuard_aRelativePatternMatchesInAnyFolder(t *testing.T) {
	for glob, paths := range map[string]map[string]bool{
		"docs/**":        {"docs/a.md": true, "./docs/b/c.md": true, "/home/ann/shop/docs/a.md": true, "old/docs/a.md": true, "/repo/mydocs/a.md": false},
		"./docs/*.md":    {"docs/a.md": true, "/repo/docs/a.md": true, "docs/b/c.md": false},
		"rules.md":       {"rules.md": true, "/repo/rules.md": true, "/repo/rules.md/x": false},
		"/repo/docs/**":  {"/repo/docs/a.md": true, "docs/a.md": false, "/other/repo/docs/a.md": false},
		`pages/\[id].ts`: {"/repo/pages/[id].ts": true, "/repo/pages/i.ts": false},
	} {
		for path, want := range paths {
			if got := (&rule.Guard{Paths: []string{glob}}).Path(path); got != want {
				t.Errorf("%s protects %s: %v, want %v", glob, path, got, want)
			}
		}
	}
}

func TestGuard_toolsByGlob(t *testing.T) {
	for glob, stays := range map[string]bool{"mcp_*": true, "mcp__files__read": true, "read": false, "mcp__other__*": false} {
		l := ruletest.New()
		first := l.Call("mcp__files__read", ruletest.Args{"id": "x"}, page)
		l.Call("mcp__files__read", ruletest.Args{"id": "x"}, page)
		went := false
		for _, e := range (&rule.Duplicates{}).Find(guarded(l, &rule.Guard{Tools: []string{glob}})).Elisions {
			went = went || e.Part == first
		}
		if went == stays {
			t.Errorf("protected tools %q: it goes is %v, want %v", glob, went, !stays)
		}
	}
}

// A session that grows by a message at a time is looked at once: what was counted and decided in all is what a first look at the whole takes.
func TestFacts_nothingOldIsLookedAtAgain(t *testing.T) {
	var log []session.Message
	for seed := range 12 {
		for _, e := range ruletest.Sessions(40).Example(seed) {
			e.Message.ID = string(rune('a'+seed)) + e.Message.ID
			for j := range e.Message.Parts {
				e.Message.Parts[j].ID = string(rune('a'+seed)) + e.Message.Parts[j].ID
			}
			if !e.Updates && !e.Message.IsSummary() && e.Message.Marker() == nil {
				log = append(log, e.Message)
			}
		}
	}
	rules := []rule.Rule{&rule.Files{}, &rule.Duplicates{}, &rule.Todos{}, &rule.URLs{}, &rule.Queries{}, &rule.Snapshots{Keep: 1}, &rule.Retries{}, &rule.Inputs{}, &rule.Errors{}, &rule.AttachedFiles{},
		&rule.Idle{Outputs: 10, Inputs: 20, Least: 50}}
	look := func(facts *rule.Facts, n int) {
		for _, r := range rules {
			r.Find(rule.Window{Messages: log[:n], Facts: facts, Guard: &rule.Guard{}})
		}
	}
	whole := ruletest.New().Window().Facts
	look(whole, len(log))
	grown := ruletest.New().Window().Facts
	for n := 1; n <= len(log); n++ {
		look(grown, n)
	}
	if grown.Counted() != whole.Counted() {
		t.Errorf("message by message %d looks at parts, at once %d", grown.Counted(), whole.Counted())
	}
	// A decision may be changed by what comes later: a newer part takes the place of the one that covered an older one.
	if grown.Decided() > whole.Decided()*11/10 {
		t.Errorf("message by message %d decisions, at once %d", grown.Decided(), whole.Decided())
	}
	t.Logf("%d messages: %d looks, %d decisions; message by message %d", len(log), whole.Counted(), whole.Decided(), grown.Decided())
}

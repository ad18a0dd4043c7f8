package all_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
)

func tideLines(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "line %d, about high water and low water\n", i+1)
	}
	return out.String()
}

// everyRule is a session in which each rule of the policies finds something, and some find two
// things of one part.
func everyRule() session.Session {
	l := ruletest.New()
	l.User("It should look like this. This is what I have:\n\n```go\n" + tideLines(15) + "```\n\nPlease make it faster.")
	l.Attach("sketch.png", "image/png", "data:image/png;base64,"+strings.Repeat("QUJD", 3000))
	l.Fail("bash", ruletest.Args{"command": "go vet ./..."}, "panic: the tide is out\n"+tideLines(20)+"src/tide.go:33 +0x1d\nexit status 2")
	list := func(status string) ruletest.Args {
		var todos []any
		for n := range 4 {
			todos = append(todos, ruletest.Args{"id": fmt.Sprint(n), "content": fmt.Sprintf("measure the tide at pier %d", n), "status": status, "priority": "high"})
		}
		return ruletest.Args{"todos": todos}
	}
	l.Call("todowrite", list("pending"), tideLines(6)) // arguments and output go
	for n := range 3 {
		l.Call("read", ruletest.Args{"filePath": "src/tide.go"}, numberedLines(40+n))
	}
	l.Call("write", ruletest.Args{"filePath": "src/moon.go", "content": tideLines(30)}, "Wrote file successfully.")
	l.Call("read", ruletest.Args{"filePath": "src/moon.go"}, numberedLines(30))
	for n := range 2 {
		l.Call("webfetch", ruletest.Args{"url": "https://tides.example/tables", "format": "text"}, tideLines(12+n))
		l.Call("bash", ruletest.Args{"command": "ls src"}, tideLines(9+n))
		l.Call("browser_snapshot", ruletest.Args{}, tideLines(25+n))
		l.Call("grep", ruletest.Args{"pattern": "tide", "path": "src"}, tideLines(14))
	}
	l.Fail("bash", ruletest.Args{"command": "make tides"}, "make: *** No rule to make target 'tides'.  Stop.\n"+tideLines(6))
	l.Call("bash", ruletest.Args{"command": "make tides"}, "built")
	l.Call("todowrite", list("completed"), tideLines(7))
	l.Call("bash", ruletest.Args{"command": "date"}, tideLines(40)) // for the backward scan
	l.Turns(8)
	for i := range l.Messages {
		m := &l.Messages[i]
		m.SessionID, m.Time.Created = "ses_everyrule", session.Millis(1_780_000_000_000+1000*i)
		if m.Role == session.Assistant {
			m.ProviderID, m.ModelID = "anthropic", "claude-sonnet-4-5"
		}
		for j := range m.Parts {
			m.Parts[j].SessionID, m.Parts[j].MessageID = m.SessionID, m.ID
		}
	}
	return session.Session{Info: session.Info{ID: "ses_everyrule", Directory: "/repo", Title: "Tides"}, Messages: l.Messages}
}

func numberedLines(n int) string {
	var out strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(tideLines(n), "\n"), "\n") {
		fmt.Fprintf(&out, "%05d| %s\n", i+1, line)
	}
	return fmt.Sprintf("<file>\n%s\n(End of file - total %d lines)\n</file>", &out, n)
}

// pruned gives the ledger of a session once every rule of a policy had its way.
func pruned(t *testing.T, s session.Session, name string, idle bool) rule.Ledger {
	t.Helper()
	settings := settings.Default()
	settings.Strategies.BalancedPruning.IdleSteps, settings.Strategies.BalancedPruning.IdleInputSteps = 10, 30
	settings.Policy, settings.Counter = name, "chars4"
	settings.Compaction.Protect, settings.Compaction.Minimum, settings.Compaction.ProtectTurns = 10, 0, 0
	settings.Strategies.BalancedPruning.Code, settings.Strategies.BalancedPruning.Idle = true, idle
	if name == policy.Aggressive {
		settings.Compaction.Minimum = 1_000_000 // there the backward scan comes first, and would leave nothing to the others
	}
	e, err := winnow.Open(winnow.Config{Settings: &settings})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	if err := e.Import(ctx, s, rule.Ledger{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Prune(ctx, s.Info.ID, false); err != nil {
		t.Fatal(err)
	}
	_, state, err := e.Session(ctx, s.Info.ID)
	if err != nil {
		t.Fatal(err)
	}
	return state.Ledger
}

// named are elisions with names in the place of ids, which a format may give anew: what the part
// is, and whether its message is in the log.
func named(log []session.Message, ledger rule.Ledger) []rule.Elision {
	name := func(id string) string {
		_, p := session.FindPart(log, id)
		switch {
		case p == nil:
			return "nothing is called " + id
		case p.CallID != "":
			return p.CallID
		}
		return fmt.Sprintf("%s %s %.20q", p.Type, p.Mime, p.Text) // claude-code has no names of images
	}
	var out []rule.Elision
	for _, e := range ledger.All() {
		m, _ := session.FindPart(log, e.Part)
		if m != nil && m.ID == e.Message {
			e.Message = "its own"
		}
		e.Part = name(e.Part)
		by := e.Covers()
		for i := range by {
			by[i] = name(by[i])
		}
		e.By = strings.Join(by, " ")
		out = append(out, e)
	}
	return out
}

func TestWrite_keepsEveryElisionInEachFormat(t *testing.T) {
	s := everyRule()
	for _, c := range []struct {
		name string
		idle bool // which comes first, and would leave little to the others
	}{{policy.Balanced, false}, {policy.Balanced, true}, {policy.Aggressive, false}} {
		name := c.name
		ledger := pruned(t, s, name, c.idle)
		fired, fields := map[string]bool{}, map[rule.Field]bool{}
		for _, e := range ledger.All() {
			fired[e.Rule], fields[e.Field] = true, true
		}
		rules := []string{"attachments", "code", "errors", "files", "inputs", "queries", "retries", "snapshots", "urls"}
		if name == policy.Balanced {
			rules = append(rules, "backward", "duplicates", "todos")
		}
		if c.idle {
			rules = []string{"idle", "attachments", "code", "errors"}
		}
		for _, r := range rules {
			if !fired[r] {
				t.Errorf("%s: no elision by %s in the session: the test says nothing of it", name, r)
			}
		}
		for _, f := range []rule.Field{rule.Output, rule.Error, rule.Input, rule.Attachments, rule.Text} {
			if !fields[f] {
				t.Errorf("%s: no elision of the field %s in the session: the test says nothing of it", name, f)
			}
		}
		want := named(s.Messages, ledger)
		for _, to := range all.Writable() {
			t.Run(name+" as "+to, func(t *testing.T) {
				f, err := all.Named(to)
				if err != nil {
					t.Fatal(err)
				}
				write := func(from *format.Document, c format.Change) *format.Document {
					t.Helper()
					var out bytes.Buffer
					if err := f.Write(&out, from, c); err != nil {
						t.Fatal(err)
					}
					doc, err := f.Read(out.Bytes())
					if err != nil {
						t.Fatal(err)
					}
					return doc
				}
				doc := write(nil, format.Change{Session: s, Ledger: ledger})
				if diff := cmp.Diff(want, named(doc.Session.Messages, doc.Ledger), byKey); diff != "" {
					t.Errorf("elisions (-written +read):\n%s", diff)
				}
				whole := write(doc, format.Change{Session: doc.Session})
				never := write(nil, format.Change{Session: s})
				if !bytes.Equal(whole.Source, never.Source) {
					t.Errorf("all undone the file is not as one that was never pruned:\n%s", cmp.Diff(string(never.Source), string(whole.Source)))
				}
				again := write(doc, format.Change{Session: doc.Session, Ledger: doc.Ledger})
				if !bytes.Equal(again.Source, doc.Source) {
					t.Error("written again the file is another one")
				}
			})
		}
	}
}

// byKey compares elisions in any order: those of one commit have one time, and a file need not keep
// their order.
var byKey = cmp.Transformer("sorted", func(in []rule.Elision) sorted {
	return slices.SortedFunc(slices.Values(in), func(a, b rule.Elision) int {
		return strings.Compare(a.Part+" "+string(a.Field), b.Part+" "+string(b.Field))
	})
})

type sorted []rule.Elision

package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
)

// todos is a list of n items.
func todos(n int) []ruletest.Args {
	list := []ruletest.Args{}
	for i := range n {
		list = append(list, ruletest.Args{"content": fmt.Sprintf("Step %d: look at the next file", i+1), "status": "pending", "priority": "high"})
	}
	return list
}

func listed(n int) string {
	text, _ := json.Marshal(todos(n), json.Deterministic(true))
	return string(text)
}

// elided are the elisions of a rule by part and field.
func elided(l *ruletest.Log, r rule.Rule) map[rule.Key]rule.Elision {
	found := map[rule.Key]rule.Elision{}
	for _, e := range r.Find(l.Window()).Elisions {
		found[e.Key()] = e
	}
	return found
}

func TestTodos_anOlderListGoesInArgumentsAndResult(t *testing.T) {
	l := ruletest.New()
	old := l.Call("todowrite", ruletest.Args{"todos": todos(7), "note": "first"}, listed(7))
	again := l.Call("todowrite", ruletest.Args{"todos": todos(6)}, listed(6))
	got := elided(l, &rule.Todos{})
	output, input := got[rule.Key{Part: old, Field: rule.Output}], got[rule.Key{Part: old, Field: rule.Input}]
	if len(got) != 2 || output.By != again || input.By != again {
		t.Fatalf("got %+v, want input and output of %s because of %s", got, old, again)
	}
	if !strings.HasSuffix(output.Shown, "left out; a newer list is below]") || !rule.ContainsPlaceholder(output.Shown) {
		t.Errorf("the output becomes %q", output.Shown)
	}
	var args struct {
		Todos []string `json:"todos"`
		Note  string   `json:"note"`
	}
	if err := json.Unmarshal([]byte(input.Shown), &args, json.RejectUnknownMembers(true)); err != nil || len(args.Todos) != 1 || args.Note != "first" {
		t.Fatalf("the arguments become %s (%v)", input.Shown, err)
	}
	if !strings.HasSuffix(args.Todos[0], ": 7 todos left out; a newer list is below]") || !rule.ContainsPlaceholder(args.Todos[0]) {
		t.Errorf("in the list's place stands %q", args.Todos[0])
	}
}

func TestTodos_inEachVocabulary(t *testing.T) {
	steps := []ruletest.Args{{"step": "Read the parser from one end to the other", "status": "completed"}, {"step": "Write the tests that are missing", "status": "pending"}}
	for _, c := range []struct {
		tool string
		args ruletest.Args
		want string // of the arguments, with … for the marker
	}{
		{"TodoWrite", ruletest.Args{"todos": todos(4)}, `{"todos":["…"]}`},
		{"update_plan", ruletest.Args{"explanation": "Next.", "plan": append(steps, steps...)}, `{"explanation":"Next.","plan":["…"]}`},
		{"manage_todo_list", ruletest.Args{"operation": "write", "todoList": todos(4)}, `{"operation":"write","todoList":["…"]}`},
		{"update_todo_list", ruletest.Args{"todos": strings.Repeat("[ ] look at the next file\n", 6)}, `{"todos":"…"}`},
	} {
		t.Run(c.tool, func(t *testing.T) {
			l := ruletest.New()
			old := l.Call(c.tool, c.args, "Done.")
			l.Call(c.tool, c.args, "Done.")
			got := elided(l, &rule.Todos{})
			shown := got[rule.Key{Part: old, Field: rule.Input}].Shown
			if at, end := strings.Index(shown, "[winnow "), strings.Index(shown, "is below]"); at >= 0 && end > at {
				shown = shown[:at] + "…" + shown[end+len("is below]"):]
			}
			if shown != c.want || len(got) != 1 {
				t.Errorf("the arguments become %s, want %s; in all %d elisions", shown, c.want, len(got))
			}
		})
	}
}

func TestTodos_whatReplacesNothing(t *testing.T) {
	merge := ruletest.Args{"todos": todos(5), "merge": true}
	for _, c := range []struct {
		name  string
		again func(l *ruletest.Log)
	}{
		{"nothing newer", func(l *ruletest.Log) {}},
		{"an empty list", func(l *ruletest.Log) { l.Call("todowrite", ruletest.Args{"todos": todos(0)}, "[]") }},
		{"one that failed", func(l *ruletest.Log) { l.Fail("todowrite", ruletest.Args{"todos": todos(5)}, "no") }},
		{"one that said that it failed", func(l *ruletest.Log) { l.Call("todowrite", ruletest.Args{"todos": todos(5)}, "Error: no") }},
		{"one that runs", func(l *ruletest.Log) { l.Running("todowrite", ruletest.Args{"todos": todos(5)}) }},
		{"a change of some items", func(l *ruletest.Log) { l.Call("todo_write", merge, "ok") }},
		{"an item", func(l *ruletest.Log) { l.Call("TaskCreate", ruletest.Args{"subject": "x"}, "ok") }},
		{"a list that was read", func(l *ruletest.Log) { l.Call("todoread", ruletest.Args{}, listed(7)) }},
		{"one of the same step", func(l *ruletest.Log) { l.Beside("todowrite", ruletest.Args{"todos": todos(5)}, listed(5)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			l.Call("todowrite", ruletest.Args{"todos": todos(7)}, listed(7))
			c.again(l)
			if got := elided(l, &rule.Todos{}); len(got) != 0 {
				t.Errorf("got %+v, want nothing", got)
			}
		})
	}
}

func TestTodos_keptItemByItemNeverGo(t *testing.T) {
	l := ruletest.New()
	for i := range 5 {
		l.Call("TaskCreate", ruletest.Args{"subject": page}, page)
		l.Call("TaskUpdate", ruletest.Args{"taskId": fmt.Sprint(i + 1), "status": "completed"}, page)
		l.Call("todo_write", ruletest.Args{"todos": todos(7), "merge": true}, page)
	}
	l.Call("todowrite", ruletest.Args{"todos": todos(5)}, "ok")
	if got := elided(l, &rule.Todos{}); len(got) != 0 {
		t.Errorf("got %+v, want nothing", got)
	}
}

func TestTodos_aListThatWasReadReplacesOnesThatWereRead(t *testing.T) {
	l := ruletest.New()
	first := l.Call("todoread", ruletest.Args{}, listed(7))
	short := l.Call("todoread", ruletest.Args{}, "nothing yet")
	last := l.Call("todoread", ruletest.Args{}, listed(8))
	got := elided(l, &rule.Todos{})
	if got[rule.Key{Part: first, Field: rule.Output}].By != last {
		t.Errorf("got %+v, want %s because of %s, and not of %s", got, first, last, short)
	}
}

func TestTodos_afterManyOneIsLeft(t *testing.T) {
	l := ruletest.New()
	var all []string
	for i := range 6 {
		all = append(all, l.Call("todowrite", ruletest.Args{"todos": todos(7 - i)}, listed(7-i)))
	}
	found := rule.Resolve([]rule.Found{(&rule.Todos{}).Find(l.Window())}, rule.Ledger{}, func(string) bool { return false })
	gone := map[string]string{}
	for _, e := range found.Elisions {
		if e.Field == rule.Output {
			gone[e.Part] = e.By
		}
	}
	last := all[len(all)-1]
	if len(gone) != len(all)-1 || gone[last] != "" {
		t.Errorf("%v go of %v", gone, all)
	}
	for part, by := range gone {
		if by != last {
			t.Errorf("%s goes because of %s, want %s", part, by, last)
		}
	}
}

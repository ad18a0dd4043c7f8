package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// A log in words: u1 a user message, a1 an answer, c1 a marker, c1<u2 one with a tail from u2, s1 its summary, s1! one with
// an error, s1? one without a finish, k1 a message that the engine appended with c1.
func logOf(words string) []session.Message {
	var log []session.Message
	for _, word := range strings.Fields(words) {
		name, tail, _ := strings.Cut(word, "<")
		id := strings.TrimRight(name, "!?")
		m := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant, Finish: "stop"}}
		text := session.Part{ID: id + ":0", Type: session.TextPart, Text: "text of " + id}
		switch id[0] {
		case 'u':
			m.Role, m.Finish = session.User, ""
		case 'k':
			m.Role, m.Finish, text.Synthetic = session.User, "", true
			text.Metadata = session.Note{Pivot: "c" + id[1:]}.Metadata()
		case 'c':
			m.Role, m.Finish = session.User, ""
			text = session.Part{ID: id + ":0", Type: session.CompactionPart, TailStartID: tail}
		case 's':
			m.Summary, m.ParentID = []byte("true"), "c"+id[1:]
			if strings.HasSuffix(name, "!") {
				m.Error = []byte(`{"name":"APIError"}`)
			}
			if strings.HasSuffix(name, "?") {
				m.Finish = ""
			}
		}
		m.Parts = []session.Part{text}
		log = append(log, m)
	}
	return log
}

func ids(messages []session.Message) string {
	var names []string
	for i := range messages {
		names = append(names, messages[i].ID)
	}
	return strings.Join(names, " ")
}

func TestWindow_order(t *testing.T) {
	for name, c := range map[string]struct{ log, undone, want string }{
		"no compaction": {"u1 a1 u2 a2", "", "u1 a1 u2 a2"},
		"empty":         {"", "", ""},
		"the summary stands for what came before": {"u1 a1 c1 s1 u2 a2", "", "c1 s1 u2 a2"},
		"a marker without summary":                {"u1 a1 c1", "", "u1 a1 c1"},
		"a summary with an error hides nothing":   {"u1 a1 c1 s1! u2", "", "u1 a1 c1 s1 u2"},
		"a summary without finish hides nothing":  {"u1 a1 c1 s1? u2", "", "u1 a1 c1 s1 u2"},
		"a summary of another marker":             {"u1 a1 c1 s2 u2", "", "u1 a1 c1 s2 u2"},
		"a tail follows the summary":              {"u1 a1 u2 a2 c1<u2 s1 u3 a3", "", "c1 s1 u2 a2 u3 a3"},
		"a tail inside a turn":                    {"u1 a1 a2 a3 c1<a3 s1 u3 a4", "", "c1 s1 a3 u3 a4"},
		"a tail that is not there":                {"u1 a1 c1<gone s1 u2", "", "c1 s1 u2"},
		"the latest of two pivots":                {"u1 a1 c1 s1 u2 a2 u3 a3 c2<u3 s2 u4 a4", "", "c2 s2 u3 a3 u4 a4"},
		"a tail across an earlier pivot":          {"u1 a1 u2 u3 c1<u3 s1 u4 c2<u3 s2 u5", "", "c2 s2 u3 u4 u5"},
		"an earlier pivot that failed in a tail":  {"u1 u3 c1 s1! u4 c2<u3 s2 u5", "", "c2 s2 u3 c1 s1 u4 u5"},
		"work behind a marker that waited":        {"u1 a1 c1 u2 s1 a2", "", "c1 s1 u2 a2"},
		"an undone pivot":                         {"u1 a1 c1 s1 u2 a2", "c1", "u1 a1 u2 a2"},
		"an undone pivot with its companion":      {"u1 a1 c1 s1 k1 a2", "c1", "u1 a1 a2"},
		"the second pivot undone":                 {"u1 c1 s1 u2 c2 s2 k2", "c2", "c1 s1 u2"},
		"the first pivot undone":                  {"u1 c1 s1 u2 c2 s2 u3", "c1", "c2 s2 u3"},
		"both undone":                             {"u1 c1 s1 u2 c2 s2 u3", "c1 c2", "u1 u2 u3"},
	} {
		t.Run(name, func(t *testing.T) {
			undone := map[string]bool{}
			for _, id := range strings.Fields(c.undone) {
				undone[id] = true
			}
			log := logOf(c.log)
			if got := ids(view.Window(log, undone)); got != c.want {
				t.Errorf("window of %q is %q, want %q", c.log, got, c.want)
			}
			if got := ids(log); got != strings.NewReplacer("<u3", "", "<u2", "", "<a3", "", "<gone", "", "!", "", "?", "").Replace(c.log) {
				t.Errorf("the log was changed to %q", got)
			}
		})
	}
}

func TestPending_isTheMarkerThatNobodyAnswered(t *testing.T) {
	for log, want := range map[string]int{
		"u1 a1": -1, "u1 a1 c1": 2, "u1 a1 c1 s1": -1, "u1 a1 c1 s1!": 2, "u1 a1 c1 s1?": 2, "u1 a1 c1 u2": 2, "u1 a1 c1 u2 a2": -1,
	} {
		if got := view.Pending(logOf(log), nil); got != want {
			t.Errorf("pending of %q is %d, want %d", log, got, want)
		}
	}
}

func TestRender_leavesOutWhatDoesNotCount(t *testing.T) {
	for log, want := range map[string]string{
		"c1 s1 u2": "c1 s1 u2", "u1 c1": "u1", "u1 c1 s1! u2": "u1 u2", "u1 c1 s1?": "u1",
	} {
		if got := ids(view.Render(logOf(log), rule.Ledger{})); got != want {
			t.Errorf("rendering of %q is %q, want %q", log, got, want)
		}
	}
}

func call(id, output string) session.Part {
	return session.Part{ID: id, CallID: "call-" + id, Type: session.ToolPart, Tool: "read", State: &session.ToolState{
		Status: session.Completed, Input: []byte(`{"filePath":"a.go"}`), Output: output,
		Attachments: []session.Part{{Type: session.FilePart, Mime: "image/png", URL: "data:,"}},
	}}
}

func TestRender_showsLessOfAPart(t *testing.T) {
	text := session.Part{ID: "p", Type: session.TextPart, Text: "long text"}
	file := session.Part{ID: "p", Type: session.FilePart, Mime: "image/png", Filename: "a.png"}
	for name, c := range map[string]struct {
		part session.Part
		e    rule.Elision
		want string
	}{
		"output, and its attachments": {call("p", "out"), rule.Elision{Field: rule.Output, Shown: "[gone]"}, `read {"filePath":"a.go"} [gone] 0`},
		"input":                       {call("p", "out"), rule.Elision{Field: rule.Input, Shown: `{"filePath":"b"}`}, `read {"filePath":"b"} out 1`},
		"input with plain text":       {call("p", "out"), rule.Elision{Field: rule.Input, Shown: `cut`}, `read {"elided":"cut"} out 1`},
		"attachments":                 {call("p", "out"), rule.Elision{Field: rule.Attachments, Shown: "[1 file]"}, "read {\"filePath\":\"a.go\"} out\n[1 file] 0"},
		"a call cannot vanish":        {call("p", "out"), rule.Elision{Field: rule.Whole, Shown: "[gone]"}, `read {} [gone] 0`},
		"text":                        {text, rule.Elision{Field: rule.Text, Shown: "short"}, "text short"},
		"a whole text":                {text, rule.Elision{Field: rule.Whole}, ""},
		"a file becomes text":         {file, rule.Elision{Field: rule.Attachments, Shown: "[File: a.png, 12KB]"}, "text [File: a.png, 12KB]"},
	} {
		t.Run(name, func(t *testing.T) {
			c.e.Part = "p"
			log := []session.Message{{MessageInfo: session.MessageInfo{ID: "m", Role: session.Assistant}, Parts: []session.Part{c.part}}}
			before, _ := json.Marshal(log)
			rendered := view.Render(log, rule.NewLedger(c.e))
			got := ""
			if len(rendered) > 0 {
				p := rendered[0].Parts[0]
				got = string(p.Type) + " " + p.Text
				if p.State != nil {
					got = fmt.Sprintf("%s %s %s %d", p.Tool, p.State.Input, p.State.Output, len(p.State.Attachments))
				}
			}
			if got != c.want {
				t.Errorf("rendered as %q, want %q", got, c.want)
			}
			if after, _ := json.Marshal(log); string(after) != string(before) {
				t.Errorf("the log was changed to %s", after)
			}
		})
	}
}

func TestCheck_refusesWhatAProviderWould(t *testing.T) {
	m := func(role session.Role, parts ...session.Part) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: "m", Role: role}, Parts: parts}
	}
	other := call("q", "")
	other.CallID = "call-p"
	nameless := call("r", "")
	nameless.CallID = ""
	for name, c := range map[string]struct {
		view []session.Message
		bad  bool
	}{
		"calls with their results":       {[]session.Message{m(session.Assistant, call("p", "x"), call("q", "y"))}, false},
		"two calls with one id":          {[]session.Message{m(session.Assistant, call("p", "x"), other)}, false}, // wire tells them apart
		"a call of the user's":           {[]session.Message{m(session.User, call("p", "x"))}, true},
		"a call without an id":           {[]session.Message{m(session.Assistant, nameless)}, true},
		"a role that nobody knows":       {[]session.Message{m("system")}, true},
		"message ids that occur twice":   {[]session.Message{m(session.User), m(session.Assistant)}, false},
		"a summary that is not finished": {logOf("u1 s1?"), true},
	} {
		if err := view.Check(c.view); (err != nil) != c.bad {
			t.Errorf("%s: Check gives %v", name, err)
		}
	}
}

// random draws a log with every kind of message that matters to a view, and a ledger over it.
func random(t *rapid.T) ([]session.Message, rule.Ledger) {
	var log []session.Message
	var ledger rule.Ledger
	n := rapid.IntRange(0, 30).Draw(t, "messages")
	for i := range n {
		id := fmt.Sprintf("m%02d", i)
		m := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User}}
		part := session.Part{ID: id + ":0", Type: session.TextPart, Text: rapid.StringN(0, 40, -1).Draw(t, "text")}
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			part = session.Part{ID: part.ID, Type: session.CompactionPart}
			if len(log) > 0 && rapid.Bool().Draw(t, "tail") {
				part.TailStartID = log[rapid.IntRange(0, len(log)-1).Draw(t, "start")].ID
			}
		case 1, 2:
			m.Role, m.Summary = session.Assistant, []byte("true")
			m.Finish = rapid.SampledFrom([]string{"", "stop"}).Draw(t, "finish")
			for j := len(log) - 1; j >= 0; j-- {
				if log[j].Marker() != nil {
					m.ParentID = log[j].ID
					break
				}
			}
		case 3, 4, 5, 6:
			m.Role, m.Finish = session.Assistant, "tool-calls"
			part = call(rapid.SampledFrom([]string{id, id, id, "same"}).Draw(t, "call")+":0", rapid.StringN(0, 400, -1).Draw(t, "output"))
			if rapid.Bool().Draw(t, "elided") {
				field := rapid.SampledFrom([]rule.Field{rule.Output, rule.Input, rule.Attachments, rule.Whole}).Draw(t, "field")
				ledger = ledger.With(rule.Elision{Part: part.ID, Field: field, Shown: rapid.StringN(0, 20, -1).Draw(t, "shown")})
			}
		}
		m.Parts = []session.Part{part}
		log = append(log, m)
	}
	return log, ledger
}

func TestView_oneMoreMessageLeavesWhatWasThereUnlessItCompletesAPivot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log, ledger := random(t)
		for n := 1; n < len(log); n++ {
			if log[n].Completes() {
				continue // a pivot begins a new view
			}
			before, after := rendering(log[:n], ledger), rendering(log[:n+1], ledger)
			if len(after) < len(before) {
				t.Fatalf("message %d took %d messages away", n, len(before)-len(after))
			}
			if diff := cmp.Diff(before, after[:len(before)]); diff != "" {
				t.Fatalf("message %d (%s) changed what was there:\n%s", n, ids(log[n:n+1]), diff)
			}
		}
	})
}

// rendering is a view as texts that can be compared to the byte.
func rendering(log []session.Message, ledger rule.Ledger) []string {
	return texts(view.Render(view.Window(log, nil), ledger))
}

func texts(messages []session.Message) []string {
	all := []string{}
	for _, m := range messages {
		text, err := json.Marshal(m, session.ReadOptions(), json.Deterministic(true))
		if err != nil {
			panic(err)
		}
		all = append(all, string(text))
	}
	return all
}

func TestTokens_areThoseOfTheRendering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log, ledger := random(t)
		window := view.Window(log, nil)
		facts := rule.NewFacts(token.Chars4{})
		claimed := view.Tokens(window, ledger, facts)
		measured := 0
		for _, m := range view.Render(window, ledger) {
			fresh := rule.NewFacts(token.Chars4{})
			measured += fresh.Total([]session.Message{m})
		}
		if claimed != measured {
			t.Fatalf("claimed %d tokens, measured %d", claimed, measured)
		}
		if again := view.Tokens(window, ledger, facts); again != claimed {
			t.Fatalf("asked again it is %d tokens, first %d", again, claimed)
		}
	})
}

func TestView_isTheSameEachTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log, ledger := random(t)
		if diff := cmp.Diff(rendering(log, ledger), rendering(log, ledger)); diff != "" {
			t.Fatalf("two views of one state differ:\n%s", diff)
		}
	})
}

func TestRender_leavesOutCallsWithoutState(t *testing.T) {
	broken := session.Part{ID: "q", CallID: "q", Type: session.ToolPart, Tool: "read"}
	log := []session.Message{
		{MessageInfo: session.MessageInfo{ID: "a", Role: session.Assistant}, Parts: []session.Part{call("p", "x"), broken}},
		{MessageInfo: session.MessageInfo{ID: "b", Role: session.Assistant}, Parts: []session.Part{broken}},
	}
	rendered := view.Render(log, rule.Ledger{})
	if ids(rendered) != "a" || len(rendered[0].Parts) != 1 || view.Check(rendered) != nil || len(log[0].Parts) != 2 {
		t.Errorf("rendered %q with %d parts; %v", ids(rendered), len(rendered[0].Parts), view.Check(rendered))
	}
	facts := rule.NewFacts(token.Chars4{})
	if got, want := view.Tokens(log, rule.Ledger{}, facts), facts.Total(rendered); got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
}

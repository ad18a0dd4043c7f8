package transport

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/look/retrieve"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

func TestEachTool_findsAShellAndTheToolRecallInEveryProtocol(t *testing.T) {
	found := func(tools string) (names []string) {
		eachTool(wire.ValueOf([]byte(tools)), "", func(name string, _ wire.Value) bool {
			names = append(names, name)
			return false
		})
		return names
	}
	for tools, want := range map[string]string{
		``:   "",
		`[]`: "",
		`[{"name":"Read"},{"name":"Bash","input_schema":{"name":"no"}}]`:                                "Read Bash",
		`[{"type":"function","function":{"name":"bash"}}]`:                                              "bash",
		`[{"type":"local_shell"},{"type":"custom","name":"apply_patch"}]`:                               "local_shell apply_patch",
		`[{"type":"namespace","name":"mcp__winnow","tools":[{"type":"function","name":"recall"}]}]`:     "mcp__winnow__recall",
		`[{"functionDeclarations":[{"name":"run_shell_command"},{"name":"glob"}]},{"googleSearch":{}}]`: "run_shell_command glob",
	} {
		var names []string
		for _, name := range found(tools) {
			if name != "" {
				names = append(names, name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q", tools, got, want)
		}
	}
}

// Where the store is on another computer, a shell does not reach it, and the gateway's own tool does.
func TestTransport_getsBack(t *testing.T) {
	shell, tool := `[{"name":"Bash","input_schema":{}}]`, `[{"name":"Read"},{"name":"mcp__winnow__recall","input_schema":{}}]`
	for _, test := range []struct {
		Options
		tools string
		want  bool
	}{
		{Options{}, shell, false}, {Options{}, tool, false},
		{Options{Recall: true}, shell, true}, {Options{Recall: true}, tool, true},
		{Options{RecallTool: true}, shell, false}, {Options{RecallTool: true}, tool, true},
		{Options{RecallTool: true}, `[{"name":"mcp__other__recall"}]`, false},
	} {
		if got := New(nil, test.Options).getsBack([]byte(test.tools)); got != test.want {
			t.Errorf("%t, %t, %s: %t", test.Recall, test.RecallTool, test.tools, got)
		}
	}
}

var placeholder = regexp.MustCompile(`\[winnow (recall )?[a-z2-7]{6,}: [^\]"]*\]`)

// What placeholders say does not change once it was sent, also when the way back comes later: in the
// first half of the session winnow may not name it, then the client has no shell, then it has one.
func TestTransport_placeholdersNameTheWayBack(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			b := &tap{base: http.DefaultTransport}
			s := play(t, p, 120, Options{Base: b})
			steps := s.steps()
			var before []string
			for i, at := range steps {
				switch i {
				case len(steps) / 4:
					s.options.Recall = true
					s.restart()
				case len(steps) / 2:
					before = placeholder.FindAllString(string(b.sent[len(b.sent)-1]), -1)
					s.shell = true
				}
				if status, answer := s.send(s.request(at)); status != 200 {
					t.Fatalf("%d %s", status, answer)
				}
				s.now = s.now.Add(20 * time.Second)
				if before == nil && bytes.Contains(b.sent[len(b.sent)-1], []byte("[winnow recall ")) {
					t.Fatalf("step %d: a placeholder names a way that the client does not have", i)
				}
			}
			last := string(b.sent[len(b.sent)-1])
			for _, shown := range before {
				if !strings.Contains(last, shown) {
					t.Errorf("%s is not sent any more", shown)
				}
			}
			after := placeholder.FindAllString(last, -1)
			named := strings.Count(strings.Join(after, ""), "[winnow recall ")
			if len(before) == 0 || named == 0 || named+len(before) > len(after) {
				t.Errorf("%d placeholders before there was a shell; then %d, of which %d name it", len(before), len(after),
					named)
			}
			if log, _ := s.only(); !log.Info.Recall {
				t.Error("the session does not say so")
			}
		})
	}
}

// What another process notes as missed, between any two requests, changes nothing that was sent; less
// is left out from then on.
func TestTransport_whatIsMissedMakesItCareful(t *testing.T) {
	sequential(t)
	left := map[bool]int{}
	for _, missed := range []bool{false, true} {
		b := &tap{base: http.DefaultTransport}
		s := play(t, llmtest.Anthropic, 120, Options{Base: b, Recall: true})
		s.shell = true
		var before []string
		for _, at := range s.steps() {
			if status, answer := s.send(s.request(at)); status != 200 {
				t.Fatalf("%d %s", status, answer)
			}
			s.now = s.now.Add(20 * time.Second)
			sent := string(b.sent[len(b.sent)-1])
			for _, shown := range before {
				if !strings.Contains(sent, shown) {
					t.Errorf("%s is not sent any more", shown)
				}
			}
			had := before
			if before = placeholder.FindAllString(sent, -1); !missed || len(before) == len(had) {
				continue
			}
			other, err := winnow.Open(winnow.Config{Store: s.store, Now: s.clock})
			if err != nil {
				t.Fatal(err)
			}
			for _, shown := range before[:min(5, len(before))] {
				f, err := retrieve.Find(t.Context(), other, shown)
				if err != nil || !f.Hidden || f.Everything() == "" {
					t.Fatalf("%s: %+v, %v", shown, f, err)
				}
				if err := retrieve.Missed(t.Context(), other, f, f.Everything()); err != nil {
					t.Fatal(err)
				}
			}
			other.Close()
		}
		left[missed] = len(before)
	}
	if left[true] == 0 || left[true] >= left[false] {
		t.Errorf("%d placeholders where the oldest are missed again and again, %d where none was", left[true], left[false])
	}
}

// What the agent got back by recall lies idle like any other output, and is left out again; its
// placeholder says what was asked for.
func TestTransport_whatCameBackIsLeftOutAgain(t *testing.T) {
	sequential(t)
	b := &tap{base: http.DefaultTransport}
	s := play(t, llmtest.Anthropic, 30, Options{Base: b, Recall: true})
	s.shell = true
	s.run()
	say := func(role session.Role, parts ...session.Part) session.Message {
		m := session.Message{Parts: parts}
		m.Role = role
		return m
	}
	calls := func(id, input, output string) session.Message {
		return say(session.Assistant, session.Part{Type: session.ToolPart, Tool: "bash", CallID: id,
			State: &session.ToolState{Status: session.Completed, Input: []byte(input), Output: output}})
	}
	text := strings.Repeat("the pulley of the crane squeaks\n", 200)
	s.log = append(s.log, say(session.User, session.Part{Type: session.TextPart, Text: "go on"}),
		calls("toolu_back", `{"command":"winnow recall k3f7a2 --lines 40-239"}`, text))
	from := len(s.log)
	for i := range 14 {
		s.log = append(s.log, calls(fmt.Sprintf("toolu_after_%d", i), fmt.Sprintf(`{"command":"make pier-%d"}`, i), "built\n"))
	}
	was := 0
	for _, at := range s.steps() {
		if at < from-1 {
			continue
		}
		if at == len(s.log)-1 {
			s.now = s.now.Add(2 * time.Hour) // the cache is cold
		}
		if status, answer := s.send(s.request(at)); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		s.now = s.now.Add(20 * time.Second)
		if bytes.Contains(b.sent[len(b.sent)-1], []byte("the pulley of the crane squeaks")) {
			was++
		}
	}
	last := string(b.sent[len(b.sent)-1])
	if was < 9 || strings.Contains(last, "squeaks") {
		t.Errorf("it was sent with %d requests, and is with the last: %v", was, strings.Contains(last, "squeaks"))
	}
	if !strings.Contains(last, ": bash winnow recall k3f7a2 --lines 40-239, 200 lines left out]") {
		t.Errorf("what stands in its place does not say what it was: %s", placeholder.FindAllString(last, -1))
	}
}

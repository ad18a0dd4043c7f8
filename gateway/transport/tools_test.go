package transport

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/span"
)

// declared are tools in the place of the one of the stage: "read", which every conversation calls,
// and three more.
var declared = map[llmtest.Protocol]string{
	llmtest.Anthropic: `[{"name":"mcp__a__x","input_schema":{"type":"object"}}, {"name":"read","input_schema":{"type":"object"}},` +
		"\n" + `{"name":"mcp__a__y","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}]`,
	llmtest.Chat: `[{"type":"function","function":{"name":"mcp__a__x","parameters":{"type":"object"}}},{"type":"function","function":{"name":"read","parameters":{"type":"object"}}},` +
		`{"type":"function","function":{"name":"mcp__a__y"}},{"type":"function","function":{"name":"web_search"}}]`,
	llmtest.Responses: `[{"type":"function","name":"mcp__a__x","parameters":{"type":"object"}},{"type":"function","name":"read","parameters":{"type":"object"}},` +
		`{"type":"custom","name":"mcp__a__y"},{"type":"function","name":"web_search"}]`,
	llmtest.Gemini: `[{"functionDeclarations":[{"name":"mcp__a__x"}]},{"functionDeclarations":[{"name":"read"},{"name":"mcp__a__y"},{"name":"web_search"}]}]`,
}

// declaring is the request of the stage with more tools, and with something else instead.
func (s *stage) declaring(at int, replace ...string) *http.Request {
	s.t.Helper()
	r := s.request(at)
	text, _ := io.ReadAll(r.Body)
	if s.protocol == llmtest.Gemini {
		text = bytes.Replace(text, []byte(`"tools":`+string(tools[s.protocol])), []byte(`"tools":`+declared[s.protocol]), 1)
	} else {
		text = bytes.Replace(text, tools[s.protocol], []byte(declared[s.protocol]), 1)
	}
	for i := 0; i+1 < len(replace); i += 2 {
		text = bytes.ReplaceAll(text, []byte(replace[i]), []byte(replace[i+1]))
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return r
}

// names are the tools that the newest request had when it arrived.
func (s *stage) names() []string {
	s.t.Helper()
	records := s.server.Records()
	return records[len(records)-1].ToolNames()
}

// Tools that are on the list are left out from the first request on, and stay so whatever the list
// says later and whoever is restarted; those that the history calls, and those of conversations that
// began before, stay.
func TestTransport_dropsTools(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			s := play(t, p, 30, Options{Drop: []string{"mcp__a__*"}})
			for i, at := range s.steps() {
				switch i {
				case 10:
					s.options.Drop = nil
					s.restart()
				case 20:
					s.options.Drop = []string{"web_search"}
					s.restart()
				}
				if status, answer := s.send(s.declaring(at)); status != 200 {
					t.Fatalf("step %d: %d %s", i, status, answer)
				}
				if got := s.names(); !slices.Equal(got, []string{"read", "web_search"}) {
					t.Fatalf("step %d has the tools %v", i, got)
				}
			}
			if problems := s.server.Problems(); len(problems) > 0 {
				t.Errorf("the provider would refuse: %s", strings.Join(problems, "; "))
			}
			if all := s.transport.Totals(); all.LeftOut == 0 {
				t.Errorf("the totals are %+v", all)
			}

			called := play(t, p, 20, Options{Drop: []string{"read"}})
			called.send(called.declaring(called.steps()[0]))
			before := called.names()
			called.send(called.declaring(called.steps()[10], `"name":"Bash"`, `"name":"read"`))
			if got := called.names(); len(before) != 3 || len(got) != 4 {
				t.Errorf("a tool that is to go and was called all the same: the tools were %v, and are %v", before, got)
			}

			late := play(t, p, 20, Options{})
			for i, at := range late.steps()[:8] {
				if i == 4 {
					late.options.Drop = []string{"mcp__a__*"}
					late.restart()
				}
				late.send(late.declaring(at))
				if got := late.names(); len(got) != 4 {
					t.Errorf("a conversation that began before has the tools %v at step %d", got, i)
				}
			}
			elsewhere := play(t, p, 20, Options{Drop: []string{"mcp__a__*"}})
			elsewhere.send(elsewhere.declaring(elsewhere.steps()[5]))
			if got := elsewhere.names(); len(got) != 4 {
				t.Errorf("a conversation that began elsewhere has the tools %v", got)
			}
		})
	}
}

// A list that leaves nothing, or what the request insists on, leaves tools alone; nothing else of the
// body changes.
func TestTransport_dropsToolsButNotAllOfThem(t *testing.T) {
	b := &tap{base: http.DefaultTransport}
	for _, c := range []struct {
		drop    []string
		replace []string
		want    string // the list of tools as it is sent; "" is as it came
	}{
		{drop: []string{"*"}},
		{drop: []string{"unknown", "mcp__b__*"}},
		{drop: []string{"mcp__a__x"}, replace: []string{`{"name":"mcp__a__x"`, `{"name" : "mcp\u005f_a__x"`},
			want: `[{"name":"read","input_schema":{"type":"object"}},` + "\n" + `{"name":"mcp__a__y","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}]`},
		{drop: []string{"web_search", "mcp__a__?"}, want: `[{"name":"read","input_schema":{"type":"object"}}]`},
		{drop: []string{"web_search"}, replace: []string{`"max_tokens"`, `"tool_choice":{"type":"tool","name":"web_search"},"max_tokens"`}},
	} {
		s := play(t, llmtest.Anthropic, 10, Options{Base: b, Drop: c.drop})
		r := s.declaring(s.steps()[0], c.replace...)
		came, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(came))
		s.send(r)
		got := b.sent[len(b.sent)-1]
		want := came
		if c.want != "" {
			want = span.Replace(came, span.Find(came, span.All(came), "tools"), []byte(c.want))
		}
		if string(got) != string(want) {
			t.Errorf("%v: sent\n%s\nwant\n%s", c.drop, got, want)
		}
	}
}

// The size that a client is told is that without the tools that are left out.
func TestTransport_countsWithoutDroppedTools(t *testing.T) {
	b := &tap{base: http.DefaultTransport}
	s := play(t, llmtest.Anthropic, 10, Options{Base: b, Drop: []string{"mcp__a__*"}})
	s.send(s.declaring(s.steps()[0]))
	r := s.declaring(s.steps()[0])
	r.URL.Path += "/count_tokens"
	s.send(r)
	if counted, sent := string(b.sent[1]), string(b.sent[0]); counted != sent || strings.Contains(counted, "mcp__a__x") {
		t.Errorf("counted is %s, sent was %s", counted, sent)
	}
}

func TestDrops(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "{}": nil, `{"gateway":1}`: nil, `{"gateway":{"drop":"x"}}`: nil, `{"gateway":{"drop":["a","b*"]}}`: {"a", "b*"},
	} {
		if got := drops(session.Info{Unknown: []byte(text)}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// What a session's info knows of its tools is what the requests declared, without what is dropped or
// loaded later, and what was called; after a restart and in a conversation that began elsewhere too.
func TestTransport_notesTools(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			s := play(t, p, 40, Options{Drop: []string{"mcp__a__y"}})
			called := map[string]bool{}
			for i, at := range s.steps() {
				if i%9 == 8 {
					s.restart()
				}
				s.send(s.declaring(at))
				for _, part := range s.log[at].Parts {
					if part.Tool != "" {
						called[part.Tool] = true
					}
				}
			}
			_, state := s.only()
			got := report.DeclaredIn(state.Info)
			if names := slices.Sorted(maps.Keys(got.Tools)); !slices.Equal(names, []string{"mcp__a__x", "read", "web_search"}) ||
				got.Tools["mcp__a__x"] < 5 || got.Tools["mcp__a__x"] > 40 {
				t.Errorf("declared are %v", got.Tools)
			}
			if names := slices.Sorted(slices.Values(got.Called)); !slices.Equal(names, slices.Sorted(maps.Keys(called))) {
				t.Errorf("called were %v, want %v", names, called)
			}
			steps := s.steps()
			elsewhere := play(t, p, 40, Options{})
			elsewhere.send(elsewhere.declaring(steps[len(steps)-1]))
			_, state = elsewhere.only()
			if got := report.DeclaredIn(state.Info); len(got.Tools) != 4 || len(got.Called) != len(called) {
				t.Errorf("of a conversation that began elsewhere it knows %+v", got)
			}
		})
	}
}

// A tool that the provider loads when it is searched for takes nothing before. Nothing is written
// down twice.
func TestTransport_notesToolsOnce(t *testing.T) {
	s := play(t, llmtest.Anthropic, 20, Options{})
	steps := s.steps()
	for _, at := range steps[:6] {
		s.send(s.declaring(at, `{"name":"mcp__a__x"`, `{"name":"mcp__a__x","defer_loading":true`))
	}
	_, state := s.only()
	if got := report.DeclaredIn(state.Info); got.Tools["mcp__a__x"] != 0 || len(got.Tools) != 3 {
		t.Errorf("declared are %v", got.Tools)
	}
	for _, l := range s.transport.lineages {
		if l.conversations[0].tools.changed {
			t.Error("something was not written down")
		}
	}
	before := state.Revision
	s.send(s.declaring(steps[6], `{"name":"mcp__a__x"`, `{"name":"mcp__a__x","defer_loading":true`))
	_, state = s.only()
	plain := play(t, llmtest.Anthropic, 20, Options{})
	for _, at := range steps[:6] {
		plain.send(plain.request(at))
	}
	_, was := plain.only()
	plain.send(plain.request(steps[6]))
	_, is := plain.only()
	if got, want := state.Revision-before, is.Revision-was.Revision; got != want {
		t.Errorf("a request that declares nothing new wrote %d times, want %d", got, want)
	}
}

// Namespaces of tools are looked into: what is dropped of one goes by the tool's whole name, and an
// empty one goes with it.
func TestUndeclared_looksIntoNamespaces(t *testing.T) {
	const text = `[{"type":"function","name":"shell"},{"type":"namespace","name":"mcp__a__","description":"d","tools":[` +
		`{"type":"function","name":"x"},{"type":"function","name":"y"}]},{"type":"namespace","name":"b","tools":[{"name":"x"}]}]`
	for pattern, want := range map[string]string{
		"mcp__a__x": strings.Replace(text, `{"type":"function","name":"x"},`, "", 1),
		"mcp__a__*": `[{"type":"function","name":"shell"},{"type":"namespace","name":"b","tools":[{"name":"x"}]}]`,
		"b__x":      strings.Replace(text, `,{"type":"namespace","name":"b","tools":[{"name":"x"}]}`, "", 1),
		"x":         text,
		"mcp__a__":  text,
	} {
		goes := func(name string) bool { ok, _ := path.Match(pattern, name); return ok }
		cuts, kept := undeclared([]byte(text), span.All([]byte(text)), "", goes)
		if got := string(span.Splice([]byte(text), cuts...)); got != want || kept == 0 {
			t.Errorf("%s: %d stay of\n%s\nwant\n%s", pattern, kept, got, want)
		}
	}
}

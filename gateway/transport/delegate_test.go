package transport

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/wire"
)

// headed is a base that keeps requests with their heads, and may change answers.
type headed struct {
	base   http.RoundTripper
	heads  []http.Header
	bodies [][]byte
	change func(answer []byte) []byte
}

func (h *headed) RoundTrip(r *http.Request) (*http.Response, error) {
	text := must(io.ReadAll(r.Body))
	h.heads, h.bodies = append(h.heads, r.Header.Clone()), append(h.bodies, text)
	r.Body = io.NopCloser(bytes.NewReader(text))
	answer, err := h.base.RoundTrip(r)
	if err == nil && h.change != nil {
		changed := h.change(must(io.ReadAll(answer.Body)))
		answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
	}
	return answer, err
}

// delegated sets the stage for a conversation with a model that binds its reasoning, at a provider
// that clears old results itself.
func delegated(t *testing.T, base http.RoundTripper) (*stage, *headed) {
	h := &headed{base: base}
	s := play(t, llmtest.Anthropic, 2, Options{Base: h, Delegate: ClearToolUses, Log: slog.New(slog.DiscardHandler)})
	s.log, s.model = chore(1, 40), "claude-opus-5-5"
	s.options.anthropic = strings.TrimPrefix(s.server.URL, "http://")
	s.restart()
	return s, h
}

const added = `"context_management":{"edits":[{"type":"clear_tool_uses_20250919",` +
	`"trigger":{"type":"input_tokens","value":100000},"keep":{"type":"tool_uses","value":20},` +
	`"clear_at_least":{"type":"input_tokens","value":20000}}]},`

// What is delegated is added to each request of a conversation, the same each time, also after a
// restart; nothing else of it changes, and the header that it needs is appended to the client's.
func TestDelegate_addsOneMemberAndOneBeta(t *testing.T) {
	sequential(t)
	s, h := delegated(t, http.DefaultTransport)
	h2 := &headed{base: http.DefaultTransport} // the same conversation without it
	plain := play(t, llmtest.Anthropic, 2, Options{Base: h2})
	plain.log, plain.model = chore(1, 40), s.model
	for i, at := range s.steps() {
		if i%7 == 6 {
			s.restart()
		}
		for _, one := range []*stage{s, plain} {
			r := one.request(at)
			r.Header["Anthropic-Beta"] = []string{"oauth-2025-04-20", "effort-2025-11-24, interleaved-thinking-2025-05-14"}
			if status, answer := one.send(r); status != 200 {
				t.Fatalf("step %d: %d %s", i, status, answer)
			}
			one.now = one.now.Add(20 * time.Second)
		}
		sent, without := h.bodies[i], h2.bodies[i]
		if want := append([]byte("{"+added), without[1:]...); !bytes.Equal(sent, want) {
			t.Fatalf("step %d: sent is\n%.300s\nwant\n%.300s", i, sent, want)
		}
		betas := h.heads[i]["Anthropic-Beta"]
		if len(betas) != 2 || betas[0] != "oauth-2025-04-20" ||
			betas[1] != "effort-2025-11-24, interleaved-thinking-2025-05-14,context-management-2025-06-27" {
			t.Fatalf("step %d: betas %q", i, betas)
		}
	}
	if problems := s.server.Problems(); len(problems) > 0 {
		t.Errorf("the provider would refuse: %s", strings.Join(problems, "; "))
	}
	if s.transport.Totals().LeftOut == 0 {
		t.Error("what says nothing new was sent")
	}
	r := s.request(s.steps()[len(s.steps())-1])
	r.URL.Path += "/count_tokens"
	must(s.transport.RoundTrip(r)).Body.Close()
	if last := len(h.bodies) - 1; !bytes.HasPrefix(h.bodies[last], []byte("{"+added)) ||
		h.heads[last].Get("Anthropic-Beta") != "context-management-2025-06-27" {
		t.Errorf("counted is %.200s", h.bodies[last])
	}
}

func TestDelegate_leavesOthersAlone(t *testing.T) {
	for name, change := range map[string]func(s *stage, r *http.Request){
		"the client has its own": func(s *stage, r *http.Request) {
			text := must(io.ReadAll(r.Body))
			text = bytes.Replace(text, []byte("{"), []byte(`{"context_management":{"edits":[]},`), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		},
		"the client has it, spelled otherwise": func(s *stage, r *http.Request) {
			text := must(io.ReadAll(r.Body))
			text = bytes.Replace(text, []byte("{"), []byte(`{"context\u005fmanagement":{"edits":[]},`), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		},
		"the client asks for a compaction": func(s *stage, r *http.Request) {
			text := must(io.ReadAll(r.Body))
			text = bytes.Replace(text, []byte("{"), []byte(`{"compaction":{"type":"summarize"},`), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		},
		"another host":  func(s *stage, r *http.Request) { s.options.anthropic = ""; s.restart() },
		"not asked for": func(s *stage, r *http.Request) { s.options.Delegate = ""; s.restart() },
		"only observed": func(s *stage, r *http.Request) { s.options.Mode = Observe; s.restart() },
		"reasoning that is not bound": func(s *stage, r *http.Request) {
			text := must(io.ReadAll(r.Body))
			text = bytes.Replace(text, []byte(s.model), []byte("claude-sonnet-4-5"), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		},
	} {
		s, h := delegated(t, http.DefaultTransport)
		r := s.request(s.steps()[0])
		r.Header.Set("Anthropic-Beta", "effort-2025-11-24")
		change(s, r)
		original := must(io.ReadAll(r.Body))
		r.Body = io.NopCloser(bytes.NewReader(original))
		s.send(r)
		if sent := h.bodies[0]; !bytes.Equal(sent, original) || h.heads[0].Get("Anthropic-Beta") != "effort-2025-11-24" {
			t.Errorf("%s: sent is %.120s", name, sent)
		}
	}
}

// A refusal that names what was delegated is answered by the same request without it, and that is
// the last of it for the conversation. What was left out before stays left out.
func TestDelegate_aRefusalTakesBackWhatWasDelegatedAlone(t *testing.T) {
	sequential(t)
	refusing := &refuser{base: http.DefaultTransport, refuses: func(body []byte) bool {
		return bytes.Contains(body, []byte(contextManagement))
	}}
	for name, c := range map[string]struct{ said string }{
		"the member": {"context_management: Extra inputs are not permitted"},
		"the beta":   {"Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header."},
	} {
		s, h := delegated(t, saying{refusing, c.said})
		refusing.on, refusing.refused = false, 0
		steps := s.steps()
		for i, at := range steps {
			if refusing.on = i >= 20; i == 30 {
				s.restart()
			}
			if status, answer := s.send(s.request(at)); status != 200 {
				t.Fatalf("%s, step %d: %d %s", name, i, status, answer)
			}
			s.now = s.now.Add(20 * time.Second)
		}
		if refusing.refused != 1 || len(h.bodies) != len(steps)+1 {
			t.Errorf("%s: %d requests were refused of %d", name, refusing.refused, len(h.bodies))
		}
		if !bytes.Equal(h.bodies[21], bytes.Replace(h.bodies[20], []byte(added), nil, 1)) {
			t.Errorf("%s: it was asked again with something else", name)
		}
		_, state := s.only()
		if state.Ledger.Len() == 0 || s.transport.Totals().LeftOut == 0 {
			t.Errorf("%s: what was left out is shown again", name)
		}
		if d := delegationOf(state.Info); !d.known || d.edits != nil {
			t.Errorf("%s: the store says %+v", name, d)
		}
	}
}

// saying is a refuser that says why.
type saying struct {
	*refuser
	why string
}

func (s saying) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := s.refuser.RoundTrip(r)
	if err == nil && answer.StatusCode == 400 {
		answer.Body = io.NopCloser(strings.NewReader(`{"type":"error","error":{"message":"` + s.why + `"}}`))
	}
	return answer, err
}

// What the provider says that it cleared is counted apart, and is in the store.
func TestDelegate_whatTheProviderClearsIsCountedApart(t *testing.T) {
	s, h := delegated(t, http.DefaultTransport)
	h.change = func(answer []byte) []byte {
		return bytes.Replace(answer, []byte(`"type":"message_delta"`), []byte(`"type":"message_delta","context_management":`+
			`{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":8,"cleared_input_tokens":50000}]}`), 1)
	}
	steps := s.steps()
	for _, at := range steps[:10] {
		s.send(s.request(at))
	}
	totals := s.transport.Totals()
	if totals.Cleared != 50_000 || totals.LeftOut >= 50_000 {
		t.Errorf("%+v", totals)
	}
	s.restart()
	_, state := s.only()
	if d := delegationOf(state.Info); d.uses != 8 || d.tokens != 50_000 || d.edits == nil {
		t.Errorf("the store says %+v", d)
	}
	h.change = nil
	if s.send(s.request(steps[10])); !bytes.HasPrefix(h.bodies[10], []byte("{"+added)) {
		t.Errorf("sent is %.200s", h.bodies[10])
	}
}

func TestClearing(t *testing.T) {
	for _, c := range []struct {
		model string
		least int // 100,000·(w − r) / ((w − r) + 100·r), in thousands
	}{
		{"anthropic/claude-opus-5-5", 20_000}, // 1.25, 0.05
		{"anthropic/claude-sonnet-4-5", 11_000},
	} {
		if got := clearAtLeast(model.Default().Lookup(c.model)); got != c.least {
			t.Errorf("%s: at least %d tokens, want %d", c.model, got, c.least)
		}
	}
	tools := []byte(`[{"name":"Read"},{"name":"skill"},{"type":"memory_20250818","name":"memory"}]`)
	text := clearing(model.Model{Unknown: true}, tools)
	if !bytes.Contains(text, []byte(`"exclude_tools":["skill","memory"]`)) {
		t.Errorf("%s excludes other tools", text)
	}
	if !text.IsValid() {
		t.Errorf("no JSON: %s", text)
	}
}

// An answer that is not streamed says it, too.
func TestUnderstood_whatWasCleared(t *testing.T) {
	answer := `{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn",` +
		`"usage":{"input_tokens":9,"output_tokens":3},"context_management":{"applied_edits":[` +
		`{"type":"clear_tool_uses_20250919","cleared_tool_uses":8,"cleared_input_tokens":50000}]}}`
	got := understood(providerProtocols[wire.Anthropic], http.Header{"Content-Type": {"application/json"}}, []byte(answer))
	if want := (wire.Cleared{ToolUses: 8, Tokens: 50_000}); got.Cleared != want || got.Usage.Output != 3 {
		t.Errorf("cleared is %+v, want %+v", got.Cleared, want)
	}
}

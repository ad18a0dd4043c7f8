package llmtest

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// Any bytes for a body, under any protocol: they are understood or refused, and never stop the
// server.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","max_tokens":9,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral",` +
			`"ttl":"1h"}}],"tools":[{"name":"ls","input_schema":{"type":"object"}}],` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},` +
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]}`,
		`{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1",` +
			`"type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1",` +
			`"content":"b"}]}`,
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"function_call",` +
			`"call_id":"1","name":"ls","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"b"}],` +
			`"store":false}`,
		`{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"ls",` +
			`"args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"b"}}}]}]}`,
		`{"messages":[[]],"tools":{"a":1},"input":{},"contents":[{}]}`, `[`, `"`, ``, "\xff",
	} {
		f.Add([]byte(seed))
	}
	s, err := New(Script{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range Protocols() {
			r, err := http.NewRequest(http.MethodPost, "http://upstream/", nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"Authorization", "Anthropic-Version", "Anthropic-Beta", "X-Goog-Api-Key"} {
				r.Header.Set(name, "Bearer x")
			}
			r.Header.Set("Content-Type", "application/json")
			q, rt := Request{Protocol: p, Body: body, ctx: context.Background()}, route{protocol: p, model: "m"}
			s.understand(&q, rt)
			if _, bad := s.check(q, r, rt); bad {
				continue
			}
			if q.Prompt <= 0 && len(q.Messages) > 0 {
				for _, part := range q.Messages[0].Parts {
					if part.Text != "" {
						t.Errorf("%s: nothing was counted in %q", p, body)
					}
				}
			}
			first := s.cache.look(p, q.Model, q.prompt, time.Unix(0, 0))
			s.cache.learn(first)
			again := s.cache.look(p, q.Model, q.prompt, time.Unix(1, 0))
			if first.usage.Prompt() != q.Prompt || again.usage.Prompt() != q.Prompt ||
				again.usage.Cache.Read < first.usage.Cache.Read {
				t.Errorf("%s: a prompt of %d tokens is billed as %+v, then %+v", p, q.Prompt, first.usage, again.usage)
			}
			s.answerOf(q)
		}
	})
}

// answerOf writes an answer in both forms.
func (s *Server) answerOf(q Request) {
	reply, a := s.decide(q)
	for _, stream := range []bool{true, false} {
		q.Stream = stream
		for _, write := range []func(Request, Reply, account) written{writeAnthropic, writeChat, writeResponses,
			writeGemini} {
			w := write(q, reply, a)
			encode(w.whole)
		}
	}
}

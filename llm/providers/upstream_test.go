package providers

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// scripted runs a test against an upstream for every dialect. At the end no request may have been
// one that a provider would refuse.
func scripted(t *testing.T, script func() llmtest.Script, test func(t *testing.T, d dialect, s *llmtest.Server,
	c llm.Client)) {
	t.Helper()
	for _, d := range dialects {
		t.Run(string(d.protocol), func(t *testing.T) {
			t.Parallel()
			s := llmtest.Start(t, script())
			carrier := &http.Transport{}
			t.Cleanup(carrier.CloseIdleConnections)
			c := client(t, d, carrier, func(p *Provider) { p.BaseURL, p.Idle = s.BaseURL(d.protocol), 1 })
			test(t, d, s, c)
			if problems := s.Problems(); len(problems) > 0 {
				t.Errorf("no provider would have taken: %s", problems)
			}
		})
	}
}

func TestUpstream_everyFaultHasItsKind(t *testing.T) {
	scripted(t, func() llmtest.Script {
		return llmtest.Script{Answer: llmtest.Text("## Goal\nThis is a summary of some length.")}
	},
		func(t *testing.T, d dialect, s *llmtest.Server, c llm.Client) {
			for _, f := range llmtest.Faults() {
				s.Inject(f)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				before := len(s.Records())
				a, err := c.Ask(ctx, question())
				cancel()
				want := f.Kinds()
				switch {
				case len(want) == 0 && err != nil:
					t.Errorf("%s: %v", f, err)
				case len(want) > 0 && (err == nil || !slices.Contains(want, llm.KindOf(err))):
					t.Errorf("%s: %v with %+v, want %s", f, err, a, want)
				case len(want) > 0:
					e := failure(t, err, llm.KindOf(err))
					t.Logf("%-20s %v, wait %s", f, e, e.RetryAfter)
				}
				if after := len(s.Records()); after-before != 1 {
					t.Errorf("%s: %d requests", f, after-before)
				}
			}
		})
}

func TestUpstream_waitsWhatItIsAskedTo(t *testing.T) {
	scripted(t, func() llmtest.Script { return llmtest.Script{} }, func(t *testing.T, d dialect, s *llmtest.Server,
		c llm.Client) {
		for _, f := range []llmtest.Fault{llmtest.RateSeconds, llmtest.RateMillis, llmtest.RateDate, llmtest.RateInfo} {
			s.Inject(f)
			_, err := c.Ask(t.Context(), question())
			if e := failure(t, err, llm.RateLimited); e.RetryAfter <= 0 || e.RetryAfter > 2*time.Second {
				t.Errorf("%s: wait %s, want a second", f, e.RetryAfter)
			}
		}
		s.Inject(llmtest.Status529, llmtest.CutMidEvent)
		a, err := llm.Retry(c, llm.RetryOptions{First: time.Millisecond}).Ask(t.Context(), question())
		if err != nil || a.Text() != "ok" || len(a.Attempts) != 3 {
			t.Errorf("%q, %v, %d attempts", a.Text(), err, len(a.Attempts))
		}
	})
}

// A conversation goes on over several steps, with thoughts and calls, and its last request is
// extended: the upstream reads what it has from its cache, and finds its own signatures unchanged.
func TestUpstream_aConversationIsReadFromTheCache(t *testing.T) {
	long := strings.Repeat("This is one of many lines of a tool's output, about nothing.\n", 200)
	replies := []llmtest.Reply{
		{Reasoning: "Let me look.", Text: "I read.", Calls: []llmtest.Call{{Name: "read", Arguments: `{"path":"a.go"}`},
			{Name: "read", Arguments: `{"path":"b.go"}`}}},
		{Reasoning: "And now?", Calls: []llmtest.Call{{Name: "read", Arguments: `{"path":"c.go"}`}}},
		{Reasoning: "That is it.", Text: "Done."},
		{Text: "## Summary"},
	}
	scripted(t, func() llmtest.Script { return llmtest.Script{Answer: llmtest.Sequence(replies...)} },
		func(t *testing.T, d dialect, s *llmtest.Server, c llm.Client) {
			r := question()
			r.Cache, r.MaxOutput = true, 4000
			r.System = strings.Repeat("You help. ", 300)
			r.Tools = []byte(toolsOf[d.protocol])
			var last llm.Answer
			for step := range replies {
				a, err := c.Ask(t.Context(), r)
				if err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				records := s.Records()
				// What was thought is not told apart by everybody, but nobody leaves it out.
				reported, got := records[len(records)-1].Usage, a.Usage
				if reported.Input != got.Input || reported.Cache.Read != got.Cache.Read ||
					reported.Cache.Write != got.Cache.Write ||
					reported.Output+reported.Reasoning != got.Output+got.Reasoning {
					t.Errorf("step %d: usage %+v, reported was %+v", step, got, reported)
				}
				if a.Cost != upstream.Cost(r.Model, a.Usage) || a.Cost <= 0 {
					t.Errorf("step %d: cost %v", step, a.Cost)
				}
				last = a
				m := session.Message{Parts: slices.Clone(a.Parts)}
				m.Role, m.ProviderID, m.ModelID = session.Assistant, r.Model.Provider, r.Model.ID
				for i := range m.Parts {
					m.Parts[i].ID = fmt.Sprintf("p%d_%d", step, i)
					if state := m.Parts[i].State; state != nil {
						m.Parts[i].State = &session.ToolState{Status: session.Completed, Input: state.Input, Output: long}
					}
				}
				r.Messages = append(r.Messages, m)
				if a.Finish != llm.Calls {
					r.Messages = append(r.Messages, said(session.User, "Summarise."))
				}
			}
			share := float64(last.Usage.Cache.Read) / float64(last.Usage.Prompt())
			t.Logf("the last request read %.1f %% of %d tokens from the cache", 100*share, last.Usage.Prompt())
			if share < 0.9 {
				t.Errorf("the last request read %.1f %% of its prompt from the cache: %+v", 100*share, last.Usage)
			}
		})
}

var toolsOf = map[wire.Protocol]string{
	wire.Anthropic: `[{"name":"read","description":"Reads.","input_schema":{"type":"object",` +
		`"properties":{"path":{"type":"string"}}}}]`,
	wire.Chat: `[{"type":"function","function":{"name":"read","description":"Reads.","parameters":{"type":"object",` +
		`"properties":{"path":{"type":"string"}}}}}]`,
	wire.Responses: `[{"type":"function","name":"read","description":"Reads.","parameters":{"type":"object",` +
		`"properties":{"path":{"type":"string"}}}}]`,
	wire.Gemini: `[{"functionDeclarations":[{"name":"read","description":"Reads.","parameters":{"type":"OBJECT",` +
		`"properties":{"path":{"type":"STRING"}}}}]}]`,
}

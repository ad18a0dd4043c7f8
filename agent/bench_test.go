//go:build unix

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/wire"
)

// endless answers at once, with a call each time until it has made all of them.
type endless struct{ asked, calls int }

func (e *endless) Ask(_ context.Context, r llm.Request) (llm.Answer, error) {
	e.asked++
	a := llm.Answer{Finish: llm.Calls, Usage: session.Usage{Input: 1000 + 20*len(r.Messages), Output: 20}}
	if e.asked > e.calls {
		a.Parts = []session.Part{{Type: session.TextPart, Text: "Done."}}
		return a, nil
	}
	a.Parts = []session.Part{{Type: session.ToolPart, Tool: "look", CallID: fmt.Sprint("call_", e.asked),
		State: &session.ToolState{
			Status: session.Pending, Input: []byte(fmt.Sprintf(`{"path":"f%d"}`, e.asked)),
		}}}
	return a, nil
}

// tenThousand are the parts of a long session: 5,000 steps with a text and a call, 2.9 MB of
// output, and a word of the user's before every fiftieth.
func tenThousand() []session.Message {
	var log []session.Message
	for i := range 5_000 {
		if i%50 == 0 {
			log = append(log, session.Message{MessageInfo: session.MessageInfo{Role: session.User},
				Parts: []session.Part{{Type: session.TextPart, Text: fmt.Sprint("Look at ", i)}}})
		}
		name, input := "read", fmt.Sprintf(`{"filePath":"/repo/f%d.go"}`, i%700)
		if i%3 == 0 {
			name, input = "bash", fmt.Sprintf(`{"command":"go test ./p%d"}`, i%90)
		}
		log = append(log, session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant,
			Finish: "tool-calls"}, Parts: []session.Part{
			{Type: session.TextPart, Text: fmt.Sprint("I look at ", i)},
			{Type: session.ToolPart, Tool: name, CallID: fmt.Sprint("call_", i),
				State: &session.ToolState{Status: session.Completed, Input: []byte(input),
					Output: lines(fmt.Sprint("f", i), 15)}},
		}})
	}
	return log
}

// What the loop and the engine add to one step of a session of 10,000 parts: append, plan, commit,
// view, and where a provider is named, its JSON.
func BenchmarkStep(b *testing.B) {
	wide := model.Model{Provider: "acme", ID: "wide", Limits: model.Limits{Context: 10_000_000, Output: 4_000}}
	log := tenThousand()
	for _, c := range []struct {
		policy, store string
		protocol      wire.Protocol
	}{
		{"balanced", "memory", ""}, {"balanced", "sqlite", ""}, {"aggressive", "sqlite", ""}, {"classic", "sqlite", ""},
		{"balanced", "sqlite", "anthropic"}, {"balanced", "sqlite", "openai-chat"},
		{"balanced", "sqlite", "openai-responses"}, {"balanced", "sqlite", "gemini"},
	} {
		b.Run(strings.TrimSuffix(c.policy+"/"+c.store+"/"+string(c.protocol), "/"), func(b *testing.B) {
			var kept store.Store = memory.New()
			if c.store == "sqlite" {
				s, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "sessions.db")})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				kept = s
			}
			settings := settings.Default()
			settings.Policy = c.policy
			engine, err := winnow.Open(winnow.Config{Store: kept, Models: &model.Catalogue{Models: []model.Model{wide}},
				Model: wide.String(), Settings: &settings})
			if err != nil {
				b.Fatal(err)
			}
			defer engine.Close()
			id, err := engine.Create(b.Context(), session.Info{})
			if err != nil {
				b.Fatal(err)
			}
			if err := engine.Append(b.Context(), id, slices.Clone(log)...); err != nil {
				b.Fatal(err)
			}
			var client llm.Client = &endless{calls: b.N + 1}
			if c.protocol != "" {
				set, err := providers.New(func(string) string { return "key" },
					map[string]providers.Provider{"acme": {Protocol: c.protocol, BaseURL: "http://acme.test/v1",
						KeyEnv: "KEY"}})
				if err != nil {
					b.Fatal(err)
				}
				set.Transport = &canned{}
				if client, err = set.Client("acme"); err != nil {
					b.Fatal(err)
				}
			}
			look := tool{"look", pathSchema, func(context.Context, agent.Call) (agent.Result,
				error) {
				return agent.Result{Output: "a lamp"}, nil
			}}
			config := agent.Config{Engine: engine, Client: client, Model: wide, Protocol: c.protocol,
				Tools: []agent.Tool{look}, MaxSteps: 1}
			first, err := agent.New(config)
			if err != nil {
				b.Fatal(err)
			}
			// The first step looks at the whole log, and writes all of it down.
			if _, err := first.Run(b.Context(), id, "Look."); !errors.Is(err, agent.ErrSteps) {
				b.Fatal(err)
			}
			if _, err := engine.Prune(b.Context(), id, false); err != nil {
				b.Fatal(err)
			}
			config.MaxSteps = b.N + 1
			loop, err := agent.New(config)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			began := processed()
			b.ResetTimer()
			_, err = loop.Run(b.Context(), id, "Look at all.")
			b.StopTimer()
			if err != nil && !errors.Is(err, agent.ErrSteps) {
				b.Fatal(err)
			}
			b.ReportMetric(float64((processed()-began).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// processed is how much processor time this process took.
func processed() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/soon"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/store/report"
)

// Whatever goes wrong with the request for a summary, a file and a session in the store are folded,
// by the model or offline, with all that was paid; or they are as they were, at once, where
// somebody stops it. The protocols take turns.
func TestCompact_everyFaultOfAProvider(t *testing.T) {
	sequential(t)
	for i, fault := range llmtest.Faults() {
		for j, what := range []string{"a file", "a session in the store"} {
			protocol := llmtest.Protocols()[(i+j)%len(llmtest.Protocols())]
			t.Run(fmt.Sprintf("%s, %s, %s", fault, what, protocol), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var told atomic.Pointer[soon.Watch]
				upstream := llmtest.Start(t, llmtest.Script{Drip: time.Microsecond, Answer: func(r llmtest.Request) llmtest.Reply {
					reply := llmtest.Reply{Text: "## Goal\n\nFix the lamp.", RetryAfter: time.Millisecond}
					if r.Number > 1 {
						return reply
					}
					if reply.Fault = fault; fault.Hangs() {
						time.AfterFunc(20*time.Millisecond, func() {
							now := soon.Start()
							told.Store(&now)
							cancel()
						})
					}
					return reply
				}})
				d := newDesk(t)
				d.client = func(m model.Model) (llm.Client, error) {
					set, err := providers.New(func(string) string { return "key" }, map[string]providers.Provider{
						m.Provider: {Protocol: protocol, BaseURL: upstream.BaseURL(protocol), KeyEnv: "KEY"},
					})
					if err != nil {
						return nil, err
					}
					client, err := set.Client(m.Provider)
					return llm.Retry(client, llm.RetryOptions{Attempts: 2, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}), err
				}
				source := d.put("long.jsonl", bigSession(60))
				kept := func() string {
					data, err := os.ReadFile(filepath.Join(d.dir, "long.jsonl"))
					if err != nil {
						t.Fatal(err)
					}
					return string(data)
				}
				if j == 1 {
					d.run("import", source).wants(t, cli.ExitDone)
					var list struct {
						Sessions []struct {
							ID string `json:"id"`
						} `json:"sessions"`
					}
					if err := json.Unmarshal([]byte(d.run("list", "--json").stdout), &list); err != nil || len(list.Sessions) != 1 {
						t.Fatalf("the list: %+v, %v", list, err)
					}
					source = list.Sessions[0].ID
					kept = func() string {
						o := d.run("export", source)
						o.wants(t, cli.ExitDone)
						return o.stdout
					}
				}
				before, names := kept(), d.names()
				o := d.runWith(ctx, strings.NewReader(""), new(bytes.Buffer), "compact", source, "--json", "--summarizer", "llm", "--model", "house/llama")
				var took time.Duration
				if at := told.Load(); at != nil {
					took = at.Took()
				}
				asked, err := upstream.Settled(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if problems := upstream.Problems(); problems != nil {
					t.Errorf("the provider would refuse %q", problems)
				}
				if fault.Hangs() {
					o.wants(t, cli.ExitInterrupted)
					if took > 250*time.Millisecond {
						t.Errorf("it ended %v after it was told to", took)
					}
					if kept() != before || len(d.names()) != len(names) {
						t.Errorf("it left something behind: %q", d.names())
					}
					return
				}
				doc := folded(t, o)
				want := "house/llama"
				if kinds := fault.Kinds(); len(kinds) > 0 && fault != llmtest.BadRequest && (kinds[0] == llm.Auth || kinds[0] == llm.Rejected) {
					want = "offline"
				}
				if r := doc.Receipt; r.Summarizer != want || len(r.Usage) != len(asked) || !strings.Contains(doc.Summary, "#") {
					t.Errorf("written by %s, want %s; %d calls of %d\n%s", r.Summarizer, want, len(r.Usage), len(asked), doc.Summary)
				}
				if j == 0 && kept() != before {
					t.Error("the file itself was changed")
				}
				if j == 1 {
					var report struct {
						Summaries report.SummaryCalls `json:"summaries"`
					}
					if err := json.Unmarshal([]byte(d.run("inspect", source, "--json").stdout), &report); err != nil || report.Summaries.Calls != len(asked) {
						t.Errorf("recorded are %+v of %d calls, %v", report.Summaries, len(asked), err)
					}
				}
			})
		}
	}
}

package agent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/store/edit"
)

// withheld keeps the body of a request and answers nothing.
type withheld struct{ body []byte }

func (w *withheld) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	w.body, _ = io.ReadAll(r.Body)
	return nil, errors.New("withheld")
}

// anew asks a client, and then one that remembers no conversation, to see what it would have sent.
type anew struct {
	llm.Client
	t     *testing.T
	sent  func() []byte // the newest request
	would func(r llm.Request) []byte
	then  func(r llm.Request)
	asked int
}

func (a *anew) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	answer, err := a.Client.Ask(ctx, r)
	a.asked++
	got := a.sent()
	if r.Conversation == "" {
		a.t.Errorf("request %d is of no conversation", a.asked)
	}
	without := r
	without.Conversation = ""
	if want := a.would(without); !bytes.Equal(got, want) {
		a.t.Errorf("request %d: sent\n%s\nanother client would have sent\n%s", a.asked, got, want)
	}
	a.then(r)
	return answer, err
}

// What a client remembers of a conversation shows in no byte of what it sends, whatever is elided
// and folded meanwhile.
func TestRun_whatIsSentIsWhatANewClientWouldSend(t *testing.T) {
	for _, protocol := range llmtest.Protocols() {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			j, a := &job{n: 24, size: 200}, &anew{t: t}
			small := reader
			small.Limits.Context = 40_000
			b := setUp(t, protocol, llmtest.Script{Window: small.Limits.Context, Answer: j.answer},
				func(c *agent.Config) {
					a.Client, c.Client, c.Model = c.Client, a, small
				}, j.tools()...)
			var discarded []string
			a.then = func(r llm.Request) {
				if a.asked%7 == 0 && len(discarded) > 0 {
					if _, err := b.engine.Edit(t.Context(), r.Conversation, edit.Request{Restore: []string{discarded[0]}}); err != nil {
						t.Error(err)
					}
					discarded = discarded[1:]
				}
				for _, m := range r.Messages[a.asked%3:] {
					for _, p := range m.Parts {
						if a.asked%2 == 0 && p.Tool == "read" && !slices.Contains(discarded, p.ID) {
							discarded = append(discarded, p.ID)
							if _, err := b.engine.Edit(t.Context(), r.Conversation, edit.Request{Discard: []string{p.ID}}); err != nil {
								t.Error(err)
							}
							return
						}
					}
				}
			}
			a.sent = func() []byte {
				records := b.upstream.Records()
				return records[len(records)-1].Body
			}
			a.would = func(r llm.Request) []byte {
				kept := &withheld{}
				set, err := providers.New(func(string) string { return "key" }, map[string]providers.Provider{
					reader.Provider: {Protocol: protocol, BaseURL: b.upstream.BaseURL(protocol),
						KeyEnv: "KEY"},
				})
				if err != nil {
					t.Fatal(err)
				}
				set.Transport = kept
				client, err := set.Client(reader.Provider)
				if err != nil {
					t.Fatal(err)
				}
				client.Ask(t.Context(), r)
				return kept.body
			}
			events := b.engine.Subscribe(1 << 14)
			if _, err := b.Run(t.Context(), "", "Write the files. "+constraint); err != nil {
				t.Fatal(err)
			}
			b.engine.Close()
			j.done(t)
			folded, pruned := 0, 0
			for e := range events.C {
				switch e.Type {
				case winnow.Compacted:
					folded++
				case winnow.ElisionCommitted:
					pruned++
				}
			}
			t.Logf("%d requests, %d compactions, %d prunings", a.asked, folded, pruned)
			if folded == 0 || pruned == 0 || a.asked < 20 {
				t.Errorf("%d requests, %d compactions, %d prunings: the test does not show what it is to show", a.asked,
					folded, pruned)
			}
		})
	}
}

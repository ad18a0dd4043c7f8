package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// tools are one tool as each provider wants it.
var tools = map[llmtest.Protocol]string{
	llmtest.Anthropic: `[{"name":"read","description":"reads a file","input_schema":{"type":"object",` +
		`"properties":{"filePath":{"type":"string"}}}}]`,
	llmtest.Chat: `[{"type":"function","function":{"name":"read","description":"reads a file",` +
		`"parameters":{"type":"object","properties":{"filePath":{"type":"string"}}}}}]`,
	llmtest.Responses: `[{"type":"function","name":"read","description":"reads a file","strict":false,` +
		`"parameters":{"type":"object","properties":{"filePath":{"type":"string"}}}}]`,
	llmtest.Gemini: `[{"functionDeclarations":[{"name":"read","description":"reads a file",` +
		`"parameters":{"type":"object","properties":{"filePath":{"type":"string"}}}}]}]`,
}

// A conversation is held with an upstream that keeps what it is sent in its cache, as providers do;
// the request for the summary is read from there.
func TestCompact_theRequestIsReadFromTheProvidersCache(t *testing.T) {
	for i, protocol := range llmtest.Protocols() {
		if i > 0 && testing.Short() {
			break
		}
		t.Run(string(protocol), func(t *testing.T) {
			turn := 0
			upstream := llmtest.Start(t, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
				if r.Contains("Do not call tools, although they are offered") {
					return llmtest.Reply{Text: "## Goal\n\nTo make the parser quicker."}
				}
				turn++
				if turn%2 == 1 {
					return llmtest.Reply{
						Calls: []llmtest.Call{
							{Name: "read", Arguments: fmt.Sprintf(`{"filePath":"parser%d.go"}`, turn)}}}
				}
				return llmtest.Reply{Text: fmt.Sprintf("I have changed it, %d.", turn)}
			}})
			m := reader
			set, err := providers.New(func(string) string { return "key" }, map[string]providers.Provider{
				m.Provider: {Protocol: protocol, BaseURL: upstream.BaseURL(protocol),
					KeyEnv: "KEY"},
			})
			if err != nil {
				t.Fatal(err)
			}
			client, err := set.Client(m.Provider)
			if err != nil {
				t.Fatal(err)
			}
			prefix := winnow.Prefix{System: strings.Repeat("You are the agent of this test. ", 50),
				Tools: jsontext.Value(tools[protocol])}
			a := newAgent(t, m, client, func(c *winnow.Config) {
				c.Prefix = func(context.Context, string) (winnow.Prefix, error) { return prefix, nil }
			})
			ask := func(round, i, step int) {
				t.Helper()
				v, err := a.View(t.Context(), a.id)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := client.Ask(t.Context(), llm.Request{Model: m, System: prefix.System, Tools: prefix.Tools,
					Messages: v.Messages, Cache: true})
				if err != nil {
					t.Fatal(err)
				}
				for j := range answer.Parts {
					if state := answer.Parts[j].State; state != nil {
						state.Status, state.Output = session.Completed,
							strings.Repeat(fmt.Sprintf("line %d of the parser\n", i), 150)
						answer.Parts[j].CallID = fmt.Sprintf("call_%d_%d_%d_%d", round, i, step, j)
					}
				}
				a.append(session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant,
					ProviderID: m.Provider, ModelID: m.ID, Finish: string(answer.Finish)}, Parts: answer.Parts})
			}
			elided := 0
			for round, steps := range []int{2, 2, 30} { // the last round is one long turn, that is cut in its middle
				turns := 24 / steps
				for i := range max(turns, 1) {
					a.append(session.Message{MessageInfo: session.MessageInfo{Role: session.User},
						Parts: []session.Part{
							{Type: session.TextPart, Text: fmt.Sprintf("Request %d: the parser.", i)}}})
					for step := range steps {
						ask(round, i, step)
					}
				}
				receipt := a.fold()
				elided += len(receipt.Committed)
				records, err := upstream.Settled(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				last := records[len(records)-1]
				share := float64(last.Usage.Cache.Read) / float64(last.Usage.Prompt())
				t.Logf("summary %d: %d of %d tokens were read from the cache, %.1f %%; %d parts were elided with it",
					round+1, last.Usage.Cache.Read, last.Usage.Prompt(), 100*share, len(receipt.Committed))
				if share < 0.9 {
					t.Errorf("summary %d: %.1f %% of the prompt were read from the cache; notes %q", round+1, 100*share,
						receipt.Notes)
				}
				if !last.Contains("Do not call tools, although they are offered") || receipt.Kind != pivot.Compaction ||
					receipt.Summarizer != m.String() ||
					len(receipt.Usage) != 1 || receipt.Usage[0].Cache.Read != last.Usage.Cache.Read {
					t.Errorf("the receipt is %+v", receipt)
				}
			}
			if elided == 0 {
				t.Error("nothing was elided with a summary: the test does not show what it is to show")
			}
			for _, p := range upstream.Problems() {
				t.Error("the provider would refuse:", p)
			}
		})
	}
}

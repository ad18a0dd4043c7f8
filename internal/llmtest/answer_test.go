package llmtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/session"
)

func TestServer_answersInEveryProtocol(t *testing.T) {
	reply := llmtest.Reply{
		Reasoning: "The folder comes first, then the file — äöü 🙂.",
		Text:      "I look at both of them, one after the other, and tell you “what” I see.",
		Calls: []llmtest.Call{{Name: "ls", Arguments: `{"path":"a b"}`},
			{Name: "read", Arguments: `{"path":"a b/c","limit":10}`}},
	}
	stops := map[llmtest.Protocol]string{llmtest.Anthropic: "tool_use", llmtest.Chat: "tool_calls",
		llmtest.Responses: "completed", llmtest.Gemini: "STOP"}
	for _, p := range llmtest.Protocols() {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, streamed %t", p, stream), func(t *testing.T) {
				s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(reply)})
				a := say("What is here?")
				a.stream, a.tools, a.system = stream, []string{"ls", "read"}, "You look around."
				h := hear(t, s, p, a)
				if h.status != 200 || !h.ended || h.text != reply.Text || h.reasoning != reply.Reasoning ||
					h.stop != stops[p] {
					t.Errorf("status %d, ended %t, text %q, reasoning %q, stop %q\n%s", h.status, h.ended, h.text,
						h.reasoning, h.stop, h.body)
				}
				if want := []string{`ls {"path":"a b"}`, `read {"path":"a b/c","limit":10}`}; !cmp.Equal(h.calls,
					want) {
					t.Errorf("calls %q, want %q", h.calls, want)
				}
				if p != llmtest.Chat && h.signature == "" {
					t.Error("the reasoning has nothing that would go back")
				}
				r := settled(t, s)[0]
				if r.Problem != "" || r.Aborted || r.Status != 200 || r.Model != "model-a" ||
					r.System != "You look around." || r.Last() != "What is here?" ||
					r.Stream != stream || !cmp.Equal(r.ToolNames(), a.tools) || r.MaxTokens != 1000 {
					t.Errorf("recorded %+v", r)
				}
				if h.prompt != r.Prompt || h.prompt == 0 || h.output != r.Usage.Output+r.Usage.Reasoning ||
					h.output == 0 || r.Usage.Reasoning == 0 {
					t.Errorf("reported %d and %d tokens, recorded %d and %+v", h.prompt, h.output, r.Prompt, r.Usage)
				}
			})
		}
	}
}

func TestServer_streamsInPieces(t *testing.T) {
	text := strings.Repeat("word ünd ", 40)
	for _, p := range llmtest.Protocols() {
		s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Text: text, Pieces: 25})})
		h := hear(t, s, p, say("go on"))
		if h.text != text {
			t.Errorf("%s: the pieces are %q", p, h.text)
		}
		if r := settled(t, s)[0]; r.Events < 25 || r.Events > 40 {
			t.Errorf("%s: %d events for 25 pieces", p, r.Events)
		}
	}
}

func TestServer_saysWhyItStops(t *testing.T) {
	for p, want := range map[llmtest.Protocol]map[llm.Finish]string{
		llmtest.Anthropic: {llm.Stop: "end_turn", llm.Length: "max_tokens", llm.Refused: "refusal"},
		llmtest.Chat:      {llm.Stop: "stop", llm.Length: "length", llm.Refused: "content_filter"},
		llmtest.Responses: {llm.Stop: "completed", llm.Length: "incomplete", llm.Refused: "incomplete"},
		llmtest.Gemini:    {llm.Stop: "STOP", llm.Length: "MAX_TOKENS", llm.Refused: "SAFETY"},
	} {
		for finish, stop := range want {
			s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Text: "so far",
				Finish: finish})})
			if h := hear(t, s, p, say("go on")); h.stop != stop || !h.ended {
				t.Errorf("%s, %s: stop %q, want %q\n%s", p, finish, h.stop, stop, h.body)
			}
		}
	}
}

func TestServer_cutsAtTheRequestsOwnLimit(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Text(strings.Repeat("one more sentence of many. ", 200))})
		a := say("tell me all")
		a.limit = 50
		h := hear(t, s, p, a)
		if h.output > 50 || h.output < 30 || !strings.HasPrefix(h.text, "one more") {
			t.Errorf("%s: %d tokens, want about 50: %q", p, h.output, h.text)
		}
		if r := settled(t, s)[0]; r.Reply.Finish != llm.Length {
			t.Errorf("%s: finish %s", p, r.Reply.Finish)
		}
	}
}

func TestServer_reportsTheUsageThatTheScriptSays(t *testing.T) {
	u := session.Usage{Input: 100, Output: 20, Reasoning: 5, Cache: session.CacheUsage{Read: 180_000, Write: 3000}}
	for _, p := range llmtest.Protocols() {
		for _, stream := range []bool{true, false} {
			s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Reasoning: "Well.", Text: "ok",
				Usage: &u})})
			a := say("go on")
			a.stream = stream
			write := u.Cache.Write
			if p == llmtest.Gemini { // where writing costs nothing and is not told
				write = 0
			}
			if h := hear(t, s, p, a); h.prompt != 183_100 || h.read != 180_000 || h.write != write || h.output != 25 ||
				h.reasoned != 5 {
				t.Errorf("%s, streamed %t: %d tokens, %d read, %d written, %d of output, %d of them reasoning", p,
					stream, h.prompt, h.read, h.write, h.output, h.reasoned)
			}
		}
	}
}

// Gemini reports with each chunk what was taken up to there, so that a stream that is cut was told
// of what it had.
func TestServer_geminisUsageGrows(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{
		Reasoning: strings.Repeat("I think. ", 20), Text: strings.Repeat("I say. ", 20),
		Calls: []llmtest.Call{{Name: "ls"}},
	})})
	var seen []int
	for _, event := range hear(t, s, llmtest.Gemini, say("go on")).events {
		var chunk message
		if err := json.Unmarshal(event, &chunk, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, chunk.UsageMetadata.CandidatesTokenCount+chunk.UsageMetadata.ThoughtsTokenCount)
	}
	u := settled(t, s)[0].Usage
	if want := u.Output + u.Reasoning; !slices.IsSorted(seen) || seen[0] > want/4 || seen[len(seen)/2] >= want ||
		seen[len(seen)-1] != want {
		t.Errorf("reported %v, in the end %d", seen, want)
	}
}

// Responses says twice in a stream that it fails: as an event that is an error, and with the state
// of the response.
func TestServer_responsesFailsTwice(t *testing.T) {
	for fault, code := range map[llmtest.Fault]string{
		llmtest.TooLong: "context_length_exceeded", llmtest.OverflowInStream: "context_length_exceeded",
		llmtest.ErrorInStream: "server_is_overloaded",
	} {
		s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Text("## Goal\n\nA text that has several pieces.").Fails(fault)})
		h := hear(t, s, llmtest.Responses, say("go on"))
		var kinds []string
		for i, event := range h.events {
			var e struct {
				Type     string `json:"type"`
				Sequence int    `json:"sequence_number"`
				Error    struct{ Code string }
				Response struct{ Error struct{ Code string } }
			}
			if err := json.Unmarshal(event, &e, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			if e.Sequence != i {
				t.Errorf("%s: event %d has the number %d", fault, i, e.Sequence)
			}
			if e.Error.Code+e.Response.Error.Code == code {
				kinds = append(kinds, e.Type)
			}
		}
		if want := []string{"error", "response.failed"}; h.status != 200 || !cmp.Equal(kinds, want) {
			t.Errorf("%s: HTTP %d, told by %q, want %q", fault, h.status, kinds, want)
		}
	}
}

func TestServer_brokenArgumentsGoOutWhereTheyCan(t *testing.T) {
	reply := llmtest.Reply{Text: "look", Calls: []llmtest.Call{{Name: "ls", Arguments: `{"path":`},
		{Name: "rm", Arguments: `[1]`}}}
	for _, p := range llmtest.Protocols() {
		for _, stream := range []bool{true, false} {
			s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(reply)})
			a := say("go on")
			a.stream = stream
			want := []string{`ls {"path":`, `rm [1]`}
			if p == llmtest.Gemini || p == llmtest.Anthropic && !stream {
				want = []string{"ls {}", "rm {}"}
			}
			if h := hear(t, s, p, a); !cmp.Equal(h.calls, want) {
				t.Errorf("%s, streamed %t: calls %q, want %q", p, stream, h.calls, want)
			}
		}
	}
}

package model

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// client answers what it is told and remembers what it was asked.
type client struct {
	answer llm.Answer
	err    error
	asked  []llm.Request
}

func (c *client) Ask(_ context.Context, r llm.Request) (llm.Answer, error) {
	c.asked = append(c.asked, r)
	if r.Delta != nil {
		r.Delta(c.answer.Text())
	}
	return c.answer, c.err
}

var large = model.Model{Provider: "p", ID: "m", Limits: model.Limits{Context: 200_000, Output: 64_000}}

func text(t session.PartType, words string) session.Part { return session.Part{Type: t, Text: words} }

// lines are messages as "role: text | text".
func lines(messages []session.Message) []string {
	var all []string
	for i := range messages {
		var texts []string
		for _, p := range messages[i].Parts {
			texts = append(texts, p.Text)
		}
		all = append(all, string(messages[i].Role)+": "+strings.Join(texts, " | "))
	}
	return all
}

func TestSummarize_plainSendsThePreviousSummaryOnceAndTheInstructionLast(t *testing.T) {
	c := &client{}
	r := pivot.Request{System: "SYSTEM", Instruction: "WRITE", Previous: "NOTES", Messages: []session.Message{
		{MessageInfo: session.MessageInfo{Role: session.User}, Parts: []session.Part{text(session.TextPart, "fix it")}},
		{MessageInfo: session.MessageInfo{Role: session.Assistant},
			Parts: []session.Part{text(session.TextPart, "fixed")}},
	}}
	if _, err := New(c, large, Options{}).Summarize(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got := c.asked[0]
	want := []string{"user: What did we do so far?", "assistant: NOTES", "user: fix it", "assistant: fixed",
		"user: What did we do so far? | WRITE"}
	if diff := cmp.Diff(want, lines(got.Messages)); diff != "" {
		t.Errorf("the messages (-want +got):\n%s", diff)
	}
	if got.System != "SYSTEM" || len(got.Tools) > 0 || got.Cache || got.MaxOutput != DefaultReserve ||
		len(r.Messages) != 2 {
		t.Errorf("asked %+v", got)
	}
}

func TestSummarize_alignedExtendsTheConversationByOneMessage(t *testing.T) {
	c := &client{}
	sent := []session.Message{{MessageInfo: session.MessageInfo{Role: session.User},
		Parts: []session.Part{text(session.TextPart, "fix it")}}}
	r := pivot.Request{System: "SYSTEM", Instruction: "WRITE", Previous: "NOTES", Messages: sent,
		Prefix: &pivot.Prefix{System: "THEIRS", Tools: []byte(`[{"name":"read"}]`), Messages: sent}}
	if _, err := New(c, large, Options{}).Summarize(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got := c.asked[0]
	if got.System != "THEIRS" || string(got.Tools) != `[{"name":"read"}]` || !got.Cache || len(got.Messages) != 2 ||
		got.Messages[0].Text() != "fix it" {
		t.Errorf("asked %+v", got)
	}
	last := lines(got.Messages)[1]
	for _, want := range []string{"user: SYSTEM", "Do not call tools", "do not continue the task", "WRITE"} {
		if !strings.Contains(last, want) {
			t.Errorf("the last message is %q, want %q in it", last, want)
		}
	}
	if strings.Contains(strings.Join(lines(got.Messages), "\n"), "NOTES") {
		t.Error("the previous summary is sent beside the prefix, which has it")
	}
}

func TestSummarize_saysWhatCameBackAndWhatItCost(t *testing.T) {
	failed := &llm.Error{Kind: llm.RateLimited, Provider: "p", Model: "m", Status: 429}
	for name, c := range map[string]struct {
		answer llm.Answer
		want   pivot.Answer
	}{
		"text": {
			llm.Answer{Parts: []session.Part{text(session.ReasoningPart, "hm"), text(session.TextPart, "\n## a\nb\n")},
				Finish: llm.Stop, Usage: session.Usage{Input: 5, Output: 2}, Cost: 0.5},
			pivot.Answer{Text: "## a\nb", Finish: "stop", Usage: session.Usage{Input: 5, Output: 2}, Cost: 0.5,
				Calls: []pivot.Call{{Usage: session.Usage{Input: 5, Output: 2}, Cost: 0.5}}},
		},
		"reasoning alone": {
			llm.Answer{Parts: []session.Part{text(session.ReasoningPart, "hm")}, Finish: llm.Length},
			pivot.Answer{Finish: "length", ReasoningOnly: true, Calls: []pivot.Call{{}}},
		},
		"a call": {
			llm.Answer{Parts: []session.Part{{Type: session.ToolPart, Tool: "read"}}, Finish: llm.Calls},
			pivot.Answer{Finish: "tool-calls", CalledTools: true, Calls: []pivot.Call{{}}},
		},
		"the filter": {
			llm.Answer{Finish: llm.Refused},
			pivot.Answer{Finish: "refused", Refused: true, Calls: []pivot.Call{{}}},
		},
		"several attempts": {
			llm.Answer{Parts: []session.Part{text(session.TextPart, "## a")}, Finish: llm.Stop,
				Usage: session.Usage{Input: 7}, Cost: 0.7, Attempts: []llm.Attempt{
					{Usage: session.Usage{Input: 3}, Cost: 0.3, Err: failed},
					{Usage: session.Usage{Input: 7}, Cost: 0.75}}},
			pivot.Answer{Text: "## a", Finish: "stop", Usage: session.Usage{Input: 10}, Cost: 1.05, Calls: []pivot.Call{
				{Usage: session.Usage{Input: 3}, Cost: 0.3, Failed: "p/m: rate-limited (HTTP 429)"},
				{Usage: session.Usage{Input: 7}, Cost: 0.75}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var heard strings.Builder
			got, err := New(&client{answer: c.answer}, large, Options{}).Summarize(t.Context(),
				pivot.Request{Delta: func(s string) { heard.WriteString(s) }})
			c.want.Model = "p/m"
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("error %v, answer (-want +got):\n%s", err, diff)
			}
			if heard.String() != c.answer.Text() {
				t.Errorf("heard %q", heard.String())
			}
		})
	}
}

func TestSummarize_besideAnErrorStandsWhatWasPaid(t *testing.T) {
	for kind, want := range map[llm.Kind]error{llm.Overflow: pivot.ErrTooLong, llm.Rejected: pivot.ErrForm,
		llm.Auth: nil, llm.Cut: nil} {
		failed := &llm.Error{Kind: kind, Provider: "p", Model: "m"}
		got, err := New(&client{answer: llm.Answer{Usage: session.Usage{Input: 9}, Cost: 0.25}, err: failed}, large,
			Options{}).Summarize(t.Context(), pivot.Request{})
		if !errors.Is(err, failed) || errors.Is(err, pivot.ErrTooLong) != (want == pivot.ErrTooLong) ||
			errors.Is(err, pivot.ErrForm) != (want == pivot.ErrForm) {
			t.Errorf("%s: the error is %v", kind, err)
		}
		if len(got.Calls) != 1 || got.Calls[0].Failed == "" || got.Cost != 0.25 || got.Usage.Input != 9 {
			t.Errorf("%s: the answer is %+v", kind, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &client{}
	if got, err := New(c, large, Options{}).Summarize(ctx, pivot.Request{}); !errors.Is(err, context.Canceled) ||
		len(c.asked)+len(got.Calls) > 0 {
		t.Errorf("after its context ended: asked %d times, %+v, %v", len(c.asked), got, err)
	}
}

func TestLimit_keepsRoomForTheAnswer(t *testing.T) {
	for _, c := range []struct {
		context, input, output, reserve int
		want                            int
	}{
		{200_000, 0, 64_000, 0, 184_000},
		{200_000, 0, 8_000, 0, 192_000},
		{32_000, 0, 0, 0, 24_000},
		{400_000, 272_000, 128_000, 0, 272_000},
		{100_000, 300_000, 32_000, 0, 84_000},
		{0, 50_000, 0, 0, 50_000},
		{0, 0, 0, 0, 0},
		{100_000, 0, 50_000, 30_000, 75_000},
		{1, 0, 0, 0, 1},
	} {
		m := model.Model{Provider: "p", ID: "m",
			Limits: model.Limits{Context: c.context, Input: c.input, Output: c.output}}
		if s := New(&client{}, m, Options{Reserve: c.reserve}); s.Limit() != c.want || s.Name() != "p/m" {
			t.Errorf("%+v: limit %d, name %s", c, s.Limit(), s.Name())
		}
	}
}

// picky is a client of a model that takes no temperature.
type picky struct {
	client
	refuses bool
}

func (c *picky) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	if c.refuses && r.Temperature != nil {
		c.asked = append(c.asked, r)
		return llm.Answer{}, &llm.Error{Kind: llm.Rejected, Provider: "p", Model: "m", Status: 400,
			Message: "Unsupported parameter: 'Temperature' is not supported with this model."}
	}
	return c.client.Ask(ctx, r)
}

// A temperature is sent with every request, in either form. A model that refuses it is asked again
// without, once, and every call is counted.
func TestSummarize_temperature(t *testing.T) {
	warm := 0.3
	r := pivot.Request{System: "SYSTEM", Instruction: "WRITE"}
	aligned := r
	aligned.Prefix = &pivot.Prefix{System: "THEIRS"}
	for name, test := range map[string]struct {
		temperature *float64
		refuses     bool
		want        []bool // of each request, of two summaries: it has one
	}{
		"none is asked for":    {nil, false, []bool{false, false}},
		"it is taken":          {&warm, false, []bool{true, true}},
		"the model takes none": {&warm, true, []bool{true, false, false}},
	} {
		c := &picky{client: client{answer: llm.Answer{Parts: []session.Part{text(session.TextPart, "notes")},
			Finish: llm.Stop}}, refuses: test.refuses}
		s := New(c, large, Options{Temperature: test.temperature})
		first, err := s.Summarize(t.Context(), r)
		if err != nil || first.Text != "notes" {
			t.Fatalf("%s: %+v, %v", name, first, err)
		}
		if _, err := s.Summarize(t.Context(), aligned); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []bool
		for _, asked := range c.asked {
			got = append(got, asked.Temperature != nil)
			if asked.Temperature != nil && *asked.Temperature != warm {
				t.Errorf("%s: temperature %v, want %v", name, *asked.Temperature, warm)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: the requests with a temperature (-want +got):\n%s", name, diff)
		}
		if calls := len(test.want) - 1; len(first.Calls) != calls ||
			(first.Calls[0].Failed != "") != test.refuses {
			t.Errorf("%s: the first summary counts the calls %+v, want %d", name, first.Calls, calls)
		}
	}
}

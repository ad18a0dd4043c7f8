package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/plan/budget"
)

const summary = "## Goal\n\nMake the server log its requests.\n\n## Done\n\nThe handler is wrapped; the tests are " +
	"green.\n"

// Every fault, in every protocol, streamed and not: the client sees what the fault is named for,
// and nothing hangs or leaks.
func TestFaults_everyOneInEveryProtocol(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		for _, stream := range []bool{true, false} {
			s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Text(summary), Drip: time.Microsecond})
			for _, f := range llmtest.Faults() {
				t.Run(fmt.Sprintf("%s, streamed %t, %s", p, stream, f), func(t *testing.T) {
					s.Forget()
					s.Inject(f)
					a := say("Sum it up.")
					a.stream = stream
					request := a.request(t, p, s.URL)
					if f.Hangs() {
						ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
						defer cancel()
						request = request.WithContext(ctx)
					}
					h, err := listen(request, p, stream)
					records := settled(t, s)
					if len(records) != 1 || records[0].Problem != "" || records[0].Reply.Fault != f {
						t.Fatalf("recorded %+v", records)
					}
					// A client that cannot read on leaves, or is at the end already.
					if records[0].Aborted != f.Hangs() && f != llmtest.BadJSON {
						t.Errorf("aborted by the client: %t", records[0].Aborted)
					}
					if complete := err == nil && h.status == 200 && h.ended &&
						h.code == ""; complete != (f.Kinds() == nil) {
						t.Errorf("complete %t, kinds %v, status %d, %v\n%s", complete, f.Kinds(), h.status, err, h.body)
					}
					expect(t, p, f, a, h, err)
				})
			}
			if h := hear(t, s, p, say("Sum it up.")); h.text != summary {
				t.Errorf("%s: after all faults it says %q", p, h.text)
			}
		}
	}
}

// expect checks what is particular to a fault.
func expect(t *testing.T, p llmtest.Protocol, f llmtest.Fault, a ask, h heard, err error) {
	t.Helper()
	if h.status >= 400 && f != llmtest.Gateway {
		rejection := budget.Rejection{Status: h.status, Code: h.code, Body: h.body}
		if kind := llm.Classify(rejection); f != llmtest.BadKey && f != llmtest.NoCredit &&
			!slices.Contains(f.Kinds(), kind) {
			t.Errorf("HTTP %d, code %s is classified %s, want %s\n%s", h.status, h.code, kind, f.Kinds(), h.body)
		}
	}
	switch f {
	case llmtest.Reset:
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v, want a reset", err)
		}
	case llmtest.HangBeforeHeaders, llmtest.HangMidStream:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		if (h.status == 200) != (f == llmtest.HangMidStream) {
			t.Errorf("status %d", h.status)
		}
	case llmtest.CutMidEvent:
		if err == nil {
			t.Error("the cut was not seen")
		}
	case llmtest.Empty:
		if h.text+h.reasoning != "" || h.calls != nil {
			t.Errorf("it says %q, %q, %q", h.text, h.reasoning, h.calls)
		}
	case llmtest.Blank:
		if h.text == "" || strings.TrimSpace(h.text) != "" {
			t.Errorf("it says %q", h.text)
		}
	case llmtest.ReasoningOnly:
		if h.reasoning == "" || h.text != "" {
			t.Errorf("it thinks %q and says %q", h.reasoning, h.text)
		}
	case llmtest.MarkupCall:
		if !strings.Contains(h.text, "<tool_call>") || h.calls != nil {
			t.Errorf("it says %q and calls %q", h.text, h.calls)
		}
	case llmtest.RealCall:
		if h.text != "" || len(h.calls) != 1 {
			t.Errorf("it says %q and calls %q", h.text, h.calls)
		}
	case llmtest.LengthCut:
		if !strings.HasPrefix(summary, h.text) || len(h.text) < 20 || len(h.text) == len(summary) {
			t.Errorf("it says %q", h.text)
		}
		if want := map[llmtest.Protocol]string{"anthropic": "max_tokens", "openai-chat": "length",
			"openai-responses": "incomplete", "gemini": "MAX_TOKENS"}[p]; h.stop != want {
			t.Errorf("stop %q, want %q", h.stop, want)
		}
	case llmtest.Larger:
		if h.output <= h.prompt {
			t.Errorf("%d tokens for a prompt of %d", h.output, h.prompt)
		}
	case llmtest.NoHeadings:
		if strings.Contains(h.text, "#") || !strings.Contains(h.text, "log its requests") {
			t.Errorf("it says %q", h.text)
		}
	case llmtest.NoUsage:
		if h.text != summary || h.prompt+h.output != 0 {
			t.Errorf("it says %q and reports %d, %d", h.text, h.prompt, h.output)
		}
	case llmtest.SlowDrip:
		if h.text != summary {
			t.Errorf("it says %q", h.text)
		}
	case llmtest.BadKey:
		if want := map[llmtest.Protocol]int{llmtest.Gemini: 400}[p]; h.status != max(want, 400) && h.status != 401 {
			t.Errorf("status %d", h.status)
		}
	}
	if a.stream && (f == llmtest.ErrorInStream || f == llmtest.OverflowInStream) {
		if h.status != 200 || h.code == "" || h.ended {
			t.Errorf("status %d, code %q, ended %t\n%s", h.status, h.code, h.ended, h.body)
		}
		if kind := llm.Classify(budget.Rejection{Code: h.code, Body: lastEvent(h)}); !slices.Contains(f.Kinds(), kind) {
			t.Logf("classified by code %q and body alone: %s, want %s", h.code, kind, f.Kinds())
		}
	}
}

func lastEvent(h heard) string {
	if len(h.events) == 0 {
		return ""
	}
	return string(h.events[len(h.events)-1])
}

func TestFaults_rateLimitsSayHowLongToWait(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		for _, f := range []llmtest.Fault{llmtest.RateLimit, llmtest.RateSeconds, llmtest.RateMillis, llmtest.RateDate,
			llmtest.RateInfo} {
			s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(llmtest.Reply{Fault: f,
				RetryAfter: 1500 * time.Millisecond})})
			h := hear(t, s, p, say("go on"))
			after, millis := h.header.Get("Retry-After"), h.header.Get("Retry-After-Ms")
			date, dateErr := http.ParseTime(after)
			ok := map[llmtest.Fault]bool{
				llmtest.RateLimit: after+millis == "", llmtest.RateSeconds: after == "2",
				llmtest.RateMillis: millis == "1500" && after == "",
				llmtest.RateDate: dateErr == nil && time.Until(date) > 500*time.Millisecond &&
					time.Until(date) < 3*time.Second,
				llmtest.RateInfo: after == "2" || p == llmtest.Gemini &&
					strings.Contains(h.body, `"retryDelay":"1.5s"`),
			}[f]
			if h.status != 429 || !ok {
				t.Errorf("%s, %s: status %d, retry-after %q, retry-after-ms %q\n%s", p, f, h.status, after, millis,
					h.body)
			}
		}
	}
}

func TestAnswer_faultsByQueueNumberAndPredicate(t *testing.T) {
	ok := llmtest.Text("ok")
	for name, c := range map[string]struct {
		answer llmtest.Answer
		want   []int
	}{
		"a queue":  {ok.Fails(llmtest.Failed, llmtest.RateLimit), []int{500, 429, 200, 200}},
		"a number": {ok.FailsAt(3, llmtest.Unauthorized), []int{200, 200, 401, 200}},
		"a predicate": {ok.FailsWhen(func(r llmtest.Request) bool { return strings.Contains(r.Last(), "2") },
			llmtest.Forbidden), []int{200, 403, 200, 200}},
		"then": {ok.FailsWhen(func(llmtest.Request) bool { return true }, llmtest.Failed).Then(2, ok),
			[]int{500, 500, 200, 200}},
		"a sequence": {llmtest.Sequence(llmtest.Reply{Fault: llmtest.TooLarge}, llmtest.Reply{}),
			[]int{413, 200, 200, 200}},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.Start(t, llmtest.Script{Answer: c.answer})
			for i, want := range c.want {
				if h := hear(t, s, llmtest.Gemini, say("request "+strconv.Itoa(i+1))); h.status != want {
					t.Errorf("request %d: %d, want %d", i+1, h.status, want)
				}
			}
		})
	}
}

func TestWindow_tooLongIsSaidInEachProvidersWords(t *testing.T) {
	for p, c := range map[llmtest.Protocol]struct {
		words   string
		answers bool // the limit of the answer counts
	}{
		llmtest.Anthropic: {"tokens > 3000 maximum", true}, llmtest.Chat: {"maximum context length is 3000 tokens",
			true},
		llmtest.Responses: {"exceeds the context window", false},
		llmtest.Gemini:    {"exceeds the maximum number of tokens allowed (3000)", false},
	} {
		for _, stream := range []bool{true, false} {
			s := llmtest.Start(t, llmtest.Script{Window: 3000})
			a := conversation(5)
			a.stream = stream
			h := hear(t, s, p, a)
			if status := map[bool]int{true: 200, false: 400}[p == llmtest.Responses && stream]; h.status != status ||
				!strings.Contains(h.body, c.words) || h.ended {
				t.Errorf("%s, streamed %t: status %d, ended %t\n%s", p, stream, h.status, h.ended, h.body)
			}
			if !budget.Rejected(budget.Rejection{Status: h.status, Code: h.code, Body: lastEvent(h)}) {
				t.Errorf("%s, streamed %t: not recognised as overflow: %s", p, stream, h.body)
			}
			if r := settled(t, s)[0]; !r.TooLong || r.Problem != "" || r.Usage.Prompt() != 0 {
				t.Errorf("%s: recorded too long %t, problem %q, usage %+v", p, r.TooLong, r.Problem, r.Usage)
			}
			nearly := conversation(1)
			nearly.limit = 2900
			h = hear(t, s, p, nearly)
			if (h.status == 400) != c.answers {
				t.Errorf("%s: a small prompt with a large limit: status %d\n%s", p, h.status, h.body)
			}
			if c.answers && !budget.Rejected(budget.Rejection{Status: h.status, Code: h.code, Body: h.body}) {
				t.Errorf("%s: not recognised as overflow: %s", p, h.body)
			}
		}
	}
}

package siege

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// refusal is what a provider says in the place of an answer, to the byte.
type refusal struct {
	status int
	header http.Header
	body   string
	again  bool // what was left out of a request may be the reason, so that it goes out as it came
}

func message(status int, kind, words string) refusal {
	return refusal{status: status, again: status == 400 || status == 422,
		body: `{ "type":"error","error":{"type":"` + kind + `","message":"` + words + `"},"request_id":"req_011"}` + "\n"}
}

func (r refusal) with(name, value string) refusal {
	r.header = r.header.Clone()
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header[name] = append(r.header[name], value)
	return r
}

// refusals are the sentences that clients look for in what a provider says, and what comes with
// them.
var refusals = map[llmtest.Protocol]map[string]refusal{
	llmtest.Anthropic: {
		"too long":           message(400, "invalid_request_error", "prompt is too long: 214035 tokens > 200000 maximum"),
		"no room to answer":  message(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again"),
		"a false signature":  message(400, "invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block"),
		"bound elsewhere":    message(400, "invalid_request_error", "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."),
		"a thought missing":  message(400, "invalid_request_error", "The thinking block that preceded this one (messages.3.content.0) is missing"),
		"thoughts changed":   message(400, "invalid_request_error", "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."),
		"no thought first":   message(400, "invalid_request_error", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."),
		"a call unanswered":  message(400, "invalid_request_error", "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01."),
		"five marks":         message(400, "invalid_request_error", "A maximum of 4 blocks with cache_control may be provided. Found 5."),
		"extra inputs":       message(400, "invalid_request_error", "context_management: Extra inputs are not permitted"),
		"misplaced block":    message(400, "invalid_request_error", "compaction_block_misplaced: the block must be first"),
		"no credit":          message(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
		"not understood":     message(422, "invalid_request_error", "Unprocessable"),
		"no key":             message(401, "authentication_error", "invalid x-api-key"),
		"too large":          message(413, "request_too_large", "Request exceeds the maximum size"),
		"limited":            message(429, "rate_limit_error", "Error").with("X-Should-Retry", "true"),
		"limited for a time": message(429, "rate_limit_error", "This request would exceed your account's rate limit.").with("Retry-After", "17").with("Anthropic-Ratelimit-Unified-Reset", "1764028800").with("Anthropic-Ratelimit-Unified-Status", "rejected"),
		"overloaded":         message(529, "overloaded_error", "Overloaded").with("X-Should-Retry", "false"),
		"compaction is out":  message(529, "compaction_unavailable", "Compaction is not available now"),
	},
	llmtest.Chat: {
		"too long":             message(400, "invalid_request_error", "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."),
		"too long, by code":    {400, nil, `{"error":{"message":"","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, true},
		"a result is missing":  message(400, "invalid_request_error", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."),
		"reasoning is missing": message(400, "invalid_request_error", "Missing reasoning_content field in the assistant message"),
		"no quota":             message(429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
		"limited in millis":    message(429, "requests", "Rate limit reached").with("Retry-After-Ms", "340").with("X-Ratelimit-Reset-Tokens", "6m0s"),
		"a page of a proxy":    {502, http.Header{"Content-Type": {"text/html"}}, "<html><h1>502 Bad Gateway</h1></html>", false},
		"an empty one":         {503, nil, "", false},
	},
	llmtest.Responses: {
		"too long":               message(400, "invalid_request_error", "Your input exceeds the context window of this model. Please adjust your input and try again."),
		"no output of a call":    message(400, "invalid_request_error", "No tool output found for function call call_01."),
		"an item on its own":     message(400, "invalid_request_error", "Item 'rs_01' of type 'reasoning' was provided without its required following item."),
		"encrypted by another":   message(400, "invalid_request_error", "The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed."),
		"too large":              message(413, "invalid_request_error", "Request entity too large"),
		"limited":                message(429, "tokens", "Rate limit reached for gpt-4.1 in organization org on tokens per min (TPM)").with("Retry-After", "Mon, 23 Nov 2026 07:28:00 GMT").with("Openai-Organization", "org"),
		"a state to be repeated": message(500, "server_error", "The server had an error").with("X-Codex-Turn-State", "c3RhdGU="),
	},
	llmtest.Gemini: {
		"too long":      {400, nil, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, true},
		"calls unequal": {400, nil, `{"error":{"code":400,"message":"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.","status":"INVALID_ARGUMENT"}}`, true},
		"no signature":  {400, nil, `{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT"}}`, true},
		"overloaded":    {503, nil, `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`, false},
		"limited":       {429, nil, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"21s"}]}}`, false},
	},
}

// gatekeeper stands before a provider and refuses what it is told to.
type gatekeeper struct {
	*httptest.Server
	mu    sync.Mutex
	says  *refusal
	times int // how often it still refuses
	heard [][]byte
}

func keepGate(t *testing.T, provider string) *gatekeeper {
	k := &gatekeeper{}
	to := httputil.NewSingleHostReverseProxy(must(url.Parse(provider)))
	to.FlushInterval = -1
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := must(io.ReadAll(r.Body))
		k.mu.Lock()
		k.heard = append(k.heard, body)
		refuses := k.times > 0
		k.times--
		says := k.says
		k.mu.Unlock()
		if refuses {
			w.Header()["Content-Type"] = []string{"application/json"}
			for name, values := range says.header {
				w.Header()[name] = values
			}
			w.WriteHeader(says.status)
			io.WriteString(w, says.body)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		to.ServeHTTP(w, r)
	}))
	t.Cleanup(k.Close)
	return k
}

// refuse sets what is said the next times, and returns what was asked since.
func (k *gatekeeper) refuse(r refusal, times int) (asked [][]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.says, k.times = &r, times
	asked, k.heard = k.heard, nil
	return asked
}

// TestGateway_everySentence lets a provider refuse pruned requests in its own words: those that may
// be about what was left out go out once more as they came, and what is said then is heard to the
// byte; all others are heard at once.
func TestGateway_everySentence(t *testing.T) {
	for i, protocol := range llmtest.Protocols() {
		if i > 0 && testing.Short() {
			break
		}
		t.Run(string(protocol), func(t *testing.T) {
			v := visit(t, protocol, true, 7, 60)
			up := provide(t, v)
			k := keepGate(t, up.URL)
			g := &gate{}
			g.open(t, k.URL)
			steps := v.steps()
			ask := func(at int) heard {
				g.pass(20 * time.Second)
				return v.hear(v.request(t.Context(), g.url, at))
			}
			for _, at := range steps[:40] {
				if h := ask(at); h.status != 200 {
					t.Fatalf("step %d: %d %s", at, h.status, h.body)
				}
			}
			for name, r := range refusals[protocol] {
				at := steps[40]
				want := 1
				if r.again {
					want = 2
				}
				k.refuse(r, want)
				h := ask(at)
				asked := k.refuse(r, 0)
				if bytes.Equal(asked[0], v.body(at)) {
					t.Fatalf("%s: the request was not pruned: the test does not show what it is to show", name)
				}
				if len(asked) != want || r.again && !bytes.Equal(asked[1], v.body(at)) {
					t.Errorf("%s: %d requests were sent, want %d, the last one as it came", name, len(asked), want)
				}
				if h.status != r.status || string(h.body) != r.body {
					t.Errorf("%s: heard %d %q, want %d %q", name, h.status, h.body, r.status, r.body)
				}
				for header, values := range r.header {
					if !slices.Equal(h.header[header], values) {
						t.Errorf("%s: header %s is %q, want %q", name, header, h.header[header], values)
					}
				}
			}
			// The provider takes the original alone: it is sent from then on.
			k.refuse(message(400, "invalid_request_error", "no"), 1)
			for i, at := range steps[40:45] {
				if h := ask(at); h.status != 200 {
					t.Fatalf("step %d: %d %s", at, h.status, h.body)
				}
				asked := k.refuse(refusal{}, 0)
				if want := map[bool]int{true: 2, false: 1}[i == 0]; len(asked) != want || !bytes.Equal(asked[want-1], v.body(at)) {
					t.Errorf("%d requests later: %d were sent, want %d, the last one as it came", i, len(asked), want)
				}
			}
		})
	}
}

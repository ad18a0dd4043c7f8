package budget

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// examples has a message for each of overflowPatterns and vaguePatterns, in their order.
var examples = []string{
	"Prompt is too long: 213462 tokens > 200000 maximum",
	"request_too_large: the body is bigger than 32 MB",
	"Input is too long for requested model.",
	"Your input exceeds the context window of this model.",
	"The prompt of 140000 tokens exceeds the model's maximum context length of 131,072 tokens",
	"The input token count (1198213) exceeds the maximum number of tokens allowed (1048576).",
	"tokens in request more than max tokens allowed",
	"This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
	"Please reduce the length of the messages or completion.",
	"This endpoint's maximum context length is 131,072 tokens. You asked for 140,001.",
	"The prompt exceeds the maximum allowed input length of 98304 tokens",
	"The input (20431 tokens) is longer than the model's context length (16384 tokens).",
	"the request exceeds the available context size, try increasing it",
	"The number of tokens to keep is greater than the context length",
	"invalid params, context window exceeds limit (2013)",
	"Your request exceeded model token limit: 262144 (requested: 270000)",
	"context length exceeded",
	"413 Request Entity Too Large",
	"the model's context length is only 32768 tokens",
	"input length and max_tokens together exceeds the allowed context length",
	"prompt too long; exceeded max context length by 4 tokens",
	"Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
	"prompt has 18000 tokens, but the configured context size is 16384 tokens",
	"finish: model_context_window_exceeded",
	"exceed_context_size_error",
	"input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000, decrease input length or `max_tokens` and try again",
	"Context size has been exceeded.",
	"Requested tokens (2285) exceed context window of 2048",
	"Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough.",
	"Reached context length of 4096 tokens with model (arch: some) that does not currently support mid-generation context overflow.",
	"The decoder prompt (length 21535) is longer than the maximum model length of 16384.",
	"The prompt of 9000 tokens exceeds the max_model_len 8192",
	"Input prompt (9000 tokens) is too long and exceeds limit of 8192",
	"Input length (9000 tokens) exceeds the maximum allowed length (8000 tokens).",
	"`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 512 `max_new_tokens`",
	"`inputs` must have less than 1024 tokens. Given: 2000",
	"the input token count is 32825 but the model only supports up to 32768",
	"Request payload size exceeds the limit: 20971520 bytes.",
	"Prompt exceeds max length",
	"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]",
	"Input length 130000 exceeds the maximum length 128000",
	"400 status code (no body)",
	"prompt token count of 140123 exceeds the limit of 128000",
	"Too many tokens in the request",
	"token limit exceeded",
}

func TestRejected_everyPatternHasItsMessage(t *testing.T) {
	patterns := slices.Concat(overflowPatterns, vaguePatterns)
	if len(examples) != len(patterns) {
		t.Fatalf("%d examples for %d patterns", len(examples), len(patterns))
	}
	for i, pattern := range patterns {
		t.Run(fmt.Sprint(i+1, " ", pattern), func(t *testing.T) {
			if !regexp.MustCompile("(?is)" + pattern).MatchString(examples[i]) {
				t.Errorf("does not match %q", examples[i])
			}
			for _, message := range []string{examples[i], strings.ToUpper(examples[i]), "  " + examples[i] + "\n"} {
				if !Rejected(Rejection{Status: 400, Message: message}) {
					t.Errorf("message %q is not seen as overflow", message)
				}
			}
			if !Rejected(Rejection{Status: 400, Body: fmt.Sprintf(`{"error":{"message":%q}}`, examples[i])}) {
				t.Errorf("the same inside a body is not seen")
			}
		})
	}
}

func TestRejected(t *testing.T) {
	tests := []struct {
		name string
		r    Rejection
		want bool
	}{
		{"status 413", Rejection{Status: 413}, true},
		{"the code", Rejection{Status: 400, Code: "context_length_exceeded"}, true},
		{"a nested code", Rejection{Body: `{"error":{"code":"context_length_exceeded","message":"no"}}`}, true},
		{"a code in a stream's event", Rejection{Body: `{"type":"error","response":{"error":{"code":"context_length_exceeded"}}}`}, true},
		{"llama.cpp's type", Rejection{Status: 400, Body: `{"error":{"code":400,"type":"exceed_context_size_error","n_ctx":4096}}`}, true},
		{"a code in damaged JSON", Rejection{Body: `{"error":{"code":"context_length_exceeded","message":"cut o`}, true},
		{"an event as it came over the wire", Rejection{Body: "event: error\ndata: {\"code\":\"context_length_exceeded\"}\n"}, true},
		{"a body that is not JSON", Rejection{Status: 400, Body: "prompt is too long"}, true},
		{"413 without body", Rejection{Message: "413 (no body)"}, true},
		{"nothing", Rejection{}, false},
		{"another error", Rejection{Status: 400, Message: "messages.3: tool_use without tool_result"}, false},
		{"429 without body", Rejection{Status: 429, Message: "429 status code (no body)"}, false},
		{"a rate limit that speaks of tokens", Rejection{Status: 429, Message: "Rate limit reached: too many tokens, try again in 3s"}, false},
		{"throttling", Rejection{Status: 400, Message: "Throttling error: Too many tokens, please wait"}, false},
		{"Bedrock's throttling", Rejection{Status: 400, Message: "ThrottlingException: Too many tokens"}, false},
		{"an unavailable service", Rejection{Status: 503, Message: "Service unavailable: token limit exceeded upstream"}, false},
		{"too many requests", Rejection{Status: 429, Body: `{"error":{"message":"Too many requests. Token limit exceeded for this minute"}}`}, false},
		{"tokens per minute", Rejection{Status: 429, Message: "Token limit exceeded: 30000 tokens per min"}, false},
		{"a day's tokens of an account", Rejection{Status: 429, Message: "Daily token limit exceeded"}, false},
		{"a key's tokens", Rejection{Status: 403, Body: `{"error":{"message":"Token limit exceeded for this key"}}`}, false},
		{"a limit of connections", Rejection{Status: 429, Message: "Number of concurrent connections exceeds the limit of 5"}, false},
		{"tokens of a minute, written with a stroke", Rejection{Status: 400, Message: "Your account exceeds the limit of 500,000 tokens/min"}, false},
		{"credit for fewer tokens", Rejection{Status: 402, Message: "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 1000."}, false},
		{"words without doubt, whatever the status", Rejection{Status: 429, Message: "prompt is too long: 210000 tokens > 200000 maximum"}, true},
		{"more at once than a minute may have", Rejection{Status: 429, Code: "rate_limit_exceeded", Message: "Request too large for gpt-x in organization org-x on tokens per min (TPM): " +
			"Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully."}, true},
		{"more than is left of a minute", Rejection{Status: 429, Code: "rate_limit_exceeded", Message: "Rate limit reached for gpt-x in organization org-x on tokens per min (TPM): " +
			"Limit 30000, Used 25000, Requested 10000. Please try again in 10s."}, false},
		{"a server that runs full", Rejection{Status: 500, Body: `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`}, true},
		{"too many messages", Rejection{Status: 400, Code: "array_above_max_length", Message: "Invalid 'messages': array too long."}, true},
		{"an answer that may not be so long", Rejection{Status: 400, Message: "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"}, false},
		{"one picture that is too large", Rejection{Status: 400, Message: "messages.5.content.0.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"}, false},
		{"the words as a name, not a value", Rejection{Body: `{"context_length_exceeded":false}`}, false},
		{"the code as the value of something else", Rejection{Body: `{"see":"context_length_exceeded"}`}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Rejected(tt.r); got != tt.want {
				t.Errorf("Rejected(%+v) = %t, want %t", tt.r, got, tt.want)
			}
		})
	}
}

// FuzzRejected holds that it makes no difference how words reach it: as a message, as a body that is no JSON, as the message in a body, wherever that is; that a status
// about the account only ever takes away; that who speaks of a rate speaks of nothing else, unless nothing but a shorter prompt helps; and that 413 says all.
func FuzzRejected(f *testing.F) {
	for _, seed := range append(slices.Clone(examples), `{"error":{"code":"context_length_exceeded"}}`, `[{"message":"prompt is too long"`, "\xff{", "plain", "Request too large for x: tokens must be reduced",
		`{"a":[{"type":"exceed_context_size_error"}]}`, `{"code":"x","message":"too many tokens","message":"rate limit"}`) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !Rejected(Rejection{Status: 413, Body: text}) {
			t.Errorf("413 with body %q is not seen", text)
		}
		said := Rejected(Rejection{Status: 400, Message: text})
		if Rejected(Rejection{Status: 429, Message: text}) && !said {
			t.Errorf("%q is about a prompt beside 429 alone", text)
		}
		if read := Rejected(Rejection{Status: 400, Body: text}); read != said && !strings.HasPrefix(strings.TrimSpace(text), "{") && !strings.HasPrefix(strings.TrimSpace(text), "[") {
			t.Errorf("%q: as a message %v, as a body %v", text, said, read)
		}
		if len(text) > maxText/8 { // of a longer one not all is looked at
			return
		}
		if rated := "rate limit: " + text; Rejected(Rejection{Message: rated}) && !strings.Contains(strings.ToLower(text), "request too large for") {
			t.Errorf("%q is about a prompt", rated)
		}
		quoted, err := jsontext.AppendQuote(nil, text)
		if err != nil { // not UTF-8
			return
		}
		for _, body := range []string{`{"message":%s}`, `{"error":{"message":%s,"type":"x"}}`, `[{"error":{"details":[{"detail":%s}]}},7]`, `{"error":%s`} {
			if body = fmt.Sprintf(body, quoted); Rejected(Rejection{Body: body}) != said {
				t.Errorf("%q: as a message %v, in %s not so", text, said, body)
			}
		}
		if value := jsontext.Value(text); value.IsValid() && value.Kind() == '{' {
			if Rejected(Rejection{Body: text}) != Rejected(Rejection{Body: `{"error":[` + text + `]}`}) {
				t.Errorf("%s says another thing where it is deeper", text)
			}
		}
	})
}

package llmtest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/winnowhq/winnow/token"
)

// refusal is how a provider words the fault that is a refusal.
func (s *Server) refusal(q Request, r Reply) failure {
	p := q.Protocol
	status := map[Fault]int{
		Unauthorized: 401, BadKey: 401, NoCredit: 429, Forbidden: 403, Gone: 404, TooLarge: 413, BadRequest: 400,
		RateLimit: 429, RateSeconds: 429,
		RateMillis: 429, RateDate: 429, RateInfo: 429, Failed: 500, Unavailable: 503, Overloaded: 503, Status529: 529,
		ErrorInStream: 503,
	}[r.Fault]
	f := failure{status: status, kind: kindOf(p, status), header: http.Header{}}
	switch r.Fault {
	case TooLong, OverflowInStream:
		window := s.script.Window
		if window == 0 || window > q.Prompt {
			window = q.Prompt * 4 / 5
		}
		return tooLong(q, window)
	case Unauthorized, BadKey:
		f.code = "invalid_api_key"
		f.message = map[Protocol]string{
			Anthropic: "invalid x-api-key", Gemini: "Request had invalid authentication credentials. Expected OAuth " +
				"2 access token, login cookie or other valid authentication credential.",
			Chat: "Incorrect API key provided: test*****key.", Responses: "Incorrect API key provided: test*****key.",
		}[p]
		if r.Fault == BadKey && p == Gemini {
			f.status, f.kind, f.message = 400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."
			f.details = []any{object{
				"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID",
				"domain":   "googleapis.com",
				"metadata": object{"service": "generativelanguage.googleapis.com"},
			}}
		}
	case NoCredit:
		switch p {
		case Anthropic:
			f.status, f.kind = 400, "invalid_request_error"
			f.message = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to " +
				"upgrade or purchase credits."
		case Gemini:
			f.status, f.kind, f.message = 403, "PERMISSION_DENIED",
				"This API method requires billing to be enabled. Please enable billing on the project and retry."
		default:
			f.kind, f.code, f.message = "insufficient_quota", "insufficient_quota",
				"You exceeded your current quota, please check your plan and billing details."
		}
	case Forbidden:
		f.message = map[Protocol]string{
			Anthropic: "Your API key does not have permission to use the specified resource",
			Gemini:    "The caller does not have permission",
			Chat:      "You have insufficient permissions for this operation.",
			Responses: "You have insufficient permissions for this operation.",
		}[p]
	case Gone:
		f.code, f.message = "model_not_found", map[Protocol]string{
			Anthropic: "model: " + q.Model, Gemini: "models/" + q.Model +
				" is not found for API version v1beta, or is not supported for generateContent.",
			Chat:      "The model `" + q.Model + "` does not exist or you do not have access to it.",
			Responses: "The requested model '" + q.Model + "' does not exist.",
		}[p]
	case TooLarge:
		f.message = map[Protocol]string{
			Anthropic: "Request exceeds the maximum size",
			Gemini:    "Request payload size exceeds the limit: 20971520 bytes.",
			Chat:      "Request entity too large", Responses: "Request entity too large",
		}[p]
	case BadRequest:
		f.message = "This request cannot be processed."
	case RateLimit, RateSeconds, RateMillis, RateDate, RateInfo:
		s.rate(&f, q, r)
	case Failed:
		f.message = map[Protocol]string{
			Anthropic: "Internal server error",
			Gemini: "An internal error has occurred. Please retry or report in " +
				"https://developers.generativeai.google/guide/troubleshooting",
			Chat:      "The server had an error while processing your request. Sorry about that!",
			Responses: "The server had an error processing your request. Sorry about that!",
		}[p]
	default: // at capacity
		f.message = map[Protocol]string{
			Anthropic: "Overloaded", Gemini: "The model is overloaded. Please try again later.",
			Chat:      "The server is currently overloaded with other requests. Sorry about that!",
			Responses: "Our servers are currently overloaded. Please try again later.",
		}[p]
		if p == Chat || p == Responses {
			f.code = "server_is_overloaded"
		}
		if p == Anthropic && r.Fault != Unavailable {
			f.status, f.kind = 529, "overloaded_error"
		}
	}
	return f
}

// rate is a refusal that asks for a wait.
func (s *Server) rate(f *failure, q Request, r Reply) {
	wait := r.RetryAfter
	if wait <= 0 {
		wait = time.Second
	}
	f.code = "rate_limit_exceeded"
	f.message = map[Protocol]string{
		Anthropic: "This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
		Gemini: "You exceeded your current quota, please check your plan and billing details. Quota exceeded for " +
			"metric: generate_content_requests",
		Chat: "Rate limit reached for " + q.Model + " on tokens per min (TPM): Limit 30000, Requested " +
			strconv.Itoa(q.Prompt) + ".",
		Responses: "Rate limit reached for " + q.Model + " on tokens per min (TPM): Limit 30000, Requested " +
			strconv.Itoa(q.Prompt) + ".",
	}[q.Protocol]
	seconds := int((wait + time.Second - 1) / time.Second)
	switch {
	case r.Fault == RateInfo && q.Protocol == Gemini:
		f.details = []any{object{"@type": "type.googleapis.com/google.rpc.RetryInfo",
			"retryDelay": strconv.FormatFloat(wait.Seconds(), 'f', -1, 64) + "s"}}
	case r.Fault == RateSeconds, r.Fault == RateInfo:
		f.header.Set("Retry-After", strconv.Itoa(seconds))
	case r.Fault == RateMillis:
		f.header.Set("Retry-After-Ms", strconv.FormatInt(wait.Milliseconds(), 10))
	case r.Fault == RateDate: // a date has whole seconds: this one is never too early
		f.header.Set("Retry-After", time.Now().Add(wait+time.Second-1).UTC().Format(http.TimeFormat))
	}
}

// tooLong is how a provider says that a prompt is too long for a window. It is 400 everywhere; a
// streamed Responses request has it in the stream.
func tooLong(q Request, window int) failure {
	f := failure{status: 400, kind: kindOf(q.Protocol, 400), code: "context_length_exceeded", header: http.Header{}}
	switch q.Protocol {
	case Anthropic:
		f.message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", q.Prompt, window)
		if q.Prompt <= window {
			f.message = fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease "+
				"input length or `max_tokens` and try again",
				q.Prompt, q.MaxTokens, window)
		}
	case Chat:
		f.param = "messages"
		f.message = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted "+
			"in %d tokens. Please reduce the length of the messages.",
			window, q.Prompt)
		if q.Prompt <= window {
			f.message = fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d "+
				"tokens (%d in the messages, %d in the completion). "+
				"Please reduce the length of the messages or completion.", window, q.Prompt+q.MaxTokens, q.Prompt,
				q.MaxTokens)
		}
	case Responses:
		f.param, f.message = "input", "Your input exceeds the context window of this model. Please adjust your input "+
			"and try again."
	case Gemini:
		f.message = fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).",
			q.Prompt, window)
	}
	return f
}

// fits reports whether a request fits into the window. Anthropic and Chat count the answer's limit
// with it.
func fits(q Request, window int) bool {
	switch {
	case window <= 0:
		return true
	case q.Protocol == Anthropic || q.Protocol == Chat:
		return q.Prompt+q.MaxTokens <= window
	}
	return q.Prompt <= window
}

// spoil makes an answer a bad one, as its fault wants.
func (r Reply) spoil(q Request, count token.Counter) Reply {
	tool := "bash"
	if names := q.ToolNames(); len(names) > 0 {
		tool = names[0]
	}
	switch r.Fault {
	case Empty:
		r.Text, r.Reasoning, r.Calls = "", "", nil
	case Blank:
		r.Text, r.Reasoning, r.Calls = " \n\n \t\n", "", nil
	case ReasoningOnly:
		if r.Reasoning == "" {
			r.Reasoning = "Let me think about what this needs. " + r.Text
		}
		r.Text, r.Calls = "", nil
	case MarkupCall:
		r.Text = "I will look at it first.\n\n<tool_call>\n{\"name\": \"" + tool +
			"\", \"arguments\": {\"command\": \"ls -la\"}}\n</tool_call>"
		r.Calls = nil
	case RealCall:
		r.Text, r.Calls = "", []Call{{Name: tool, Arguments: `{"command":"ls -la"}`}}
	case LengthCut:
		r.Text, r.Finish, r.Calls = shorter(r.Text+" ", 1, 2), "length", nil
	case Refused:
		r.Text, r.Calls, r.Finish = "", nil, "refused"
	case Larger:
		if r.Text == "" {
			r.Text = "Something was said that takes a while to say again."
		}
		// One copy more than fills the prompt; the request's own limit still cuts it.
		r.Text = strings.TrimRight(strings.Repeat(r.Text+"\n\n", q.Prompt/max(1, count.Count(r.Text))+2), "\n")
	case NoHeadings:
		var lines []string
		for line := range strings.Lines(r.Text) {
			if t := strings.TrimSpace(line); !strings.HasPrefix(t, "#") &&
				!(strings.HasPrefix(t, "**") && strings.HasSuffix(t, "**")) {
				lines = append(lines, line)
			}
		}
		if r.Text = strings.Join(lines, ""); strings.TrimSpace(r.Text) == "" {
			r.Text = "We did some work together and it went well."
		}
	}
	return r
}

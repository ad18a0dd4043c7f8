package upstream

import (
	"cmp"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// reportOf is the object of a report in JSON: Google puts errors of streams into a list. Text that
// is not JSON has no members.
func reportOf(text []byte) wire.Value {
	if !jsontext.Value(text).IsValid(session.ReadOptions()) {
		return wire.Value{}
	}
	root := wire.ValueOf(text)
	for first := range root.Values() {
		return first
	}
	return root
}

// reportsError reports whether JSON is the report of an error rather than a piece of an answer.
func reportsError(text []byte) bool {
	root := reportOf(text)
	var failure wire.Value
	var kind, object string
	root.Read("error", &failure, "type", &kind, "object", &object)
	if c := failure.Kind(); c == '{' || c == '"' {
		return len(failure.Bytes()) > len(`""`) // an empty one says nothing
	}
	return kind == "error" || object == "error"
}

// report is what a provider says about an error.
type report struct {
	code    string // its code, else its type, else its status
	number  int    // a code that is a number, as of HTTP
	message string
	wait    time.Duration
}

// parse reads a report in any of the forms that providers use: {"error":{…}}, {"error":"…"},
// [{"error":{…}}], {"message":…}, {"detail":…}.
func parse(text []byte) report {
	root := reportOf(text)
	failure := root.Get("error")
	words := failure.String()
	if failure.Kind() != '{' {
		failure = root
	}
	var kind, status, message, msg string
	var code, detail, details, metadata wire.Value
	failure.Read("code", &code, "type", &kind, "status", &status, "message", &message, "msg", &msg,
		"detail", &detail, "details", &details, "metadata", &metadata)
	r := report{code: code.String(), number: code.Int(), message: cmp.Or(message, msg, words, detail.String())}
	for at := range detail.Values() { // servers made with FastAPI list what is wrong with the body
		r.message = cmp.Or(r.message, at.Get("msg").String())
	}
	if raw := metadata.Get("raw").String(); raw != "" { // OpenRouter: what the provider behind it said
		r.message += ": " + raw
	}
	r.google(details)
	if n, err := strconv.Atoi(r.code); err == nil && r.number == 0 {
		r.number, r.code = n, ""
	}
	if kind == "error" {
		kind = ""
	}
	r.code = cmp.Or(r.code, kind, status)
	return r
}

// google reads Google's details: how long to wait, and the reason behind a general status.
func (r *report) google(details wire.Value) {
	for at := range details.Values() {
		kind := at.Get("@type").String()
		switch kind[strings.LastIndexByte(kind, '.')+1:] {
		case "RetryInfo":
			if d, err := time.ParseDuration(at.Get("retryDelay").String()); err == nil && d > 0 {
				r.wait = d
			}
		case "ErrorInfo":
			r.code = cmp.Or(r.code, at.Get("reason").String())
		}
	}
}

// refusal makes the error of a response with an error's status, or of a report inside a stream,
// which has status 0.
func (c *call) refusal(status int, header http.Header, text []byte) *llm.Error {
	r := parse(text)
	judged := budget.Rejection{Status: status, Code: r.code, Message: r.message, Body: string(text)}
	if status == 0 {
		judged.Status = r.number
	}
	e := &llm.Error{Kind: llm.Classify(judged), Status: c.status, Code: c.clean(r.code), Message: c.clean(r.message)}
	if status == 0 && r.code == "" && r.number == 0 && e.Kind == llm.Rejected {
		e.Kind = llm.Server // it took the request, and does not say that there is anything wrong with that
	}
	if e.Code == "" && r.number != 0 {
		e.Code = strconv.Itoa(r.number)
	}
	if e.Message == "" {
		e.Message = c.clean(words(status, text))
	}
	e.RetryAfter = max(wait(header, time.Now()), r.wait)
	if e.RetryAfter == 0 && e.Kind == llm.RateLimited {
		e.RetryAfter = tryAgain(r.message)
	}
	e.RetryAfter = min(e.RetryAfter, longestWait)
	return e
}

// words are what a refusal says that is not JSON.
func words(status int, text []byte) string {
	said := strings.TrimSpace(string(text))
	switch {
	case strings.HasPrefix(said, "<"):
		return page(text)
	case said == "" || strings.HasPrefix(said, "{"):
		return http.StatusText(status)
	}
	return said
}

var title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// page is what a page of HTML is about.
func page(text []byte) string {
	if found := title.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return string(text[:min(len(text), 100)])
}

// wait is how long the headers of a refusal ask to wait, 0 when they do not say.
//
// The headers that tell when a limit is reset count only together with one that says that nothing
// of it remains: every response has them, and most are about limits that were not reached.
func wait(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	if value := header.Get("Retry-After"); value != "" {
		if s, err := strconv.ParseFloat(value, 64); err == nil {
			return seconds(s)
		}
		if at, err := http.ParseTime(value); err == nil {
			if sent, err := http.ParseTime(header.Get("Date")); err == nil {
				now = sent // their clock, not ours
			}
			return max(at.Sub(now), 0)
		}
	}
	var longest time.Duration
	for name := range header {
		lower := strings.ToLower(name)
		if !strings.Contains(lower, "ratelimit-") || !strings.Contains(lower, "remaining") || header.Get(name) != "0" {
			continue
		}
		longest = max(longest, until(header.Get(strings.Replace(lower, "remaining", "reset", 1)), now))
	}
	return longest
}

// until reads when a limit is reset: "1m30.5s", seconds, or a time.
func until(value string, now time.Time) time.Duration {
	if d, err := time.ParseDuration(value); err == nil {
		return max(d, 0)
	}
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return max(at.Sub(now), 0)
	}
	if s, err := strconv.ParseFloat(value, 64); err == nil && s < 1e6 { // more is a time since 1970, in an unknown unit
		return seconds(s)
	}
	return 0
}

// longestWait is the longest that a refusal can ask for: sums with what it says must stay numbers.
const longestWait = 365 * 24 * time.Hour

func seconds(s float64) time.Duration {
	if !(s > 0) {
		return 0
	}
	return time.Duration(min(s, longestWait.Seconds()) * float64(time.Second))
}

var (
	again  = regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:[0-9.]+ ?[a-z]+ ?)+)`)
	amount = regexp.MustCompile(`(?i)([0-9.]+) ?([a-z]+)`)
	units  = map[string]float64{
		"ms": 0.001, "milliseconds": 0.001, "s": 1, "sec": 1, "second": 1, "seconds": 1,
		"m": 60, "min": 60, "minute": 60, "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600,
	}
)

// tryAgain reads how long to wait from the words of a report that has no headers (OpenAI, in a
// stream: "Please try again in 6m1.2s"; Azure: "Please retry after 20 seconds").
func tryAgain(message string) time.Duration {
	found := again.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	total := 0.0
	for _, part := range amount.FindAllStringSubmatch(found[1], -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		unit, known := units[strings.ToLower(part[2])]
		if err != nil || !known {
			break
		}
		total += n * unit
	}
	return seconds(total)
}

package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/winnowhq/winnow/plan/budget"
)

// Kind says what went wrong, as far as it decides what to do.
type Kind string

const (
	Overflow    Kind = "overflow"     // the request is too long for the model: never tried again as it is
	Auth        Kind = "auth"         // key missing, wrong, or without permission or credit
	RateLimited Kind = "rate-limited" // too many requests or tokens for now
	Overloaded  Kind = "overloaded"   // the provider has no capacity for now
	Server      Kind = "server"       // the provider failed
	Network     Kind = "network"      // no connection, or none that lasted
	Cut         Kind = "cut"          // the answer ended before its end
	Stalled     Kind = "stalled"      // nothing came for too long
	Endless     Kind = "endless"      // something came for too long, or too much of it: trying again would take as much
	Garbage     Kind = "garbage"      // the answer could not be understood
	Rejected    Kind = "rejected"     // the request was refused for another reason: trying again cannot help
	Cancelled   Kind = "cancelled"    // the caller's context ended
)

// Words say for people what went wrong: "rate limited".
func (k Kind) Words() string { return cmp.Or(words[k], string(k)) }

var words = map[Kind]string{
	Overflow:    "the request is too long",
	Auth:        "the key is not accepted",
	RateLimited: "rate limited",
	Overloaded:  "the provider is overloaded",
	Server:      "the provider failed",
	Network:     "no connection",
	Cut:         "the answer broke off",
	Stalled:     "the provider fell silent",
	Endless:     "the answer did not end",
	Garbage:     "the answer made no sense",
	Rejected:    "the request was refused",
	Cancelled:   "interrupted",
}

// Error is a request that failed.
type Error struct {
	Kind     Kind
	Provider string
	Model    string
	Status   int    // of HTTP; 0 if there was no response
	Code     string // the provider's own code or type
	Message  string // the provider's own words, shortened
	// RetryAfter is how long the provider asks to wait; 0 if it did not say.
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string {
	text := e.Provider + "/" + e.Model + ": " + string(e.Kind)
	if e.Status >= 300 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	switch {
	case e.Message != "":
		text += ": " + e.Message
	case e.Err != nil:
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case RateLimited, Overloaded, Server, Network, Cut, Stalled, Garbage:
		return true
	}
	return false
}

// KindOf is the kind of an error. Errors that are not an *Error count as failures of the network,
// unless a context ended.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Cancelled
	}
	return Network
}

// Classify tells the kind of a refusal by what the provider answered.
func Classify(r budget.Rejection) Kind {
	switch {
	case budget.Rejected(r):
		return Overflow
	case r.Status == 401, r.Status == 402, r.Status == 403, unpaid[r.Code],
		// Anthropic, as a request that is not valid
		strings.Contains(strings.ToLower(r.Message), "credit balance is too low"):
		return Auth
	case r.Status == 429:
		return RateLimited
	case r.Status == 503, r.Status == 529, r.Code == "overloaded_error":
		return Overloaded
	case r.Status >= 500:
		return Server
	case r.Status == 408:
		return Network
	}
	if kind, ok := codes[r.Code]; ok {
		return kind
	}
	return Rejected
}

// unpaid are codes that come with a status of something else: 429 for a quota that no waiting
// brings back, 400 for a wrong key.
var unpaid = map[string]bool{"insufficient_quota": true, "billing_error": true, "API_KEY_INVALID": true}

// codes are the codes that providers send without a status, in the middle of a stream, or with a
// general one.
var codes = map[string]Kind{
	"api_error":            Server, // Anthropic
	"timeout_error":        Server,
	"rate_limit_error":     RateLimited,
	"authentication_error": Auth,
	"permission_error":     Auth,
	"server_error":         Server, // OpenAI
	"server_is_overloaded": Overloaded,
	"slow_down":            Overloaded,
	"rate_limit_exceeded":  RateLimited,
	"invalid_api_key":      Auth,
	"RESOURCE_EXHAUSTED":   RateLimited, // Google
	"UNAVAILABLE":          Overloaded,
	"INTERNAL":             Server,
	"DEADLINE_EXCEEDED":    Server,
	"UNAUTHENTICATED":      Auth,
	"PERMISSION_DENIED":    Auth,
}

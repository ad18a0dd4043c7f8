package llm

import (
	"context"
	"errors"
	"testing"

	"github.com/winnowhq/winnow/plan/budget"
)

func TestClassify_tellsWhatMayBeTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		rejection budget.Rejection
		kind      Kind
		temporary bool
	}{
		"wrong key": {budget.Rejection{Status: 401}, Auth, false},
		"no credit": {budget.Rejection{Status: 402}, Auth, false},
		"too many requests": {budget.Rejection{Status: 429, Message: "too many tokens per minute"}, RateLimited,
			true},
		"too large":            {budget.Rejection{Status: 413}, Overflow, false},
		"too long by its code": {budget.Rejection{Status: 400, Code: "context_length_exceeded"}, Overflow, false},
		"too long by its words": {budget.Rejection{Status: 400,
			Message: "prompt is too long: 250000 tokens > 200000 maximum"}, Overflow, false},
		"failed":                  {budget.Rejection{Status: 500}, Server, true},
		"at capacity":             {budget.Rejection{Status: 529}, Overloaded, true},
		"at capacity in a stream": {budget.Rejection{Code: "overloaded_error"}, Overloaded, true},
		"no quota":                {budget.Rejection{Status: 429, Code: "insufficient_quota"}, Auth, false},
		"no credit as 400": {budget.Rejection{Status: 400, Code: "invalid_request_error",
			Message: "Your credit balance is too low to access the API."}, Auth, false},
		"a wrong key as 400": {budget.Rejection{Status: 400, Code: "API_KEY_INVALID"}, Auth, false},
		"a rate in a stream": {budget.Rejection{Code: "RESOURCE_EXHAUSTED"}, RateLimited, true},
		"failed in a stream": {budget.Rejection{Code: "server_error"}, Server, true},
		"not understood":     {budget.Rejection{Status: 400, Message: "unknown field"}, Rejected, false},
	} {
		t.Run(name, func(t *testing.T) {
			kind := Classify(c.rejection)
			if kind != c.kind {
				t.Errorf("kind %s, want %s", kind, c.kind)
			}
			if e := (&Error{Kind: kind}); e.Temporary() != c.temporary {
				t.Errorf("temporary %v, want %v", e.Temporary(), c.temporary)
			}
		})
	}
}

func TestKindOf_aContextThatEndedIsNoFailureOfTheNetwork(t *testing.T) {
	if k := KindOf(context.Canceled); k != Cancelled {
		t.Errorf("%s", k)
	}
	if k := KindOf(errors.New("connection reset")); k != Network {
		t.Errorf("%s", k)
	}
}

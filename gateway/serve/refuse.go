package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/wire"
)

// refusal is an error as a provider would report it. Clients show its message.
type refusal struct {
	Type  string `json:"type,omitzero"` // of the Messages API
	Error struct {
		Code    any    `json:"code,omitempty"` // of Gemini, a number
		Type    string `json:"type,omitzero"`
		Message string `json:"message"`
		Status  string `json:"status,omitzero"` // of Gemini
	} `json:"error"`
}

// Refuse answers a request for a route of our own with an error.
func Refuse(w http.ResponseWriter, status int, kind, message string) {
	refuse(w, nil, Administered, status, kind, message)
}

// mostRead is how much of a body is read before its request is refused.
const mostRead = 32 << 20

// refuse answers a request with an error in the shape of the API that it asks, which its path
// tells. Unless r is nil, its body is read first: a balancer that gets an answer while it still
// sends the request may close the client's connection before the answer is read.
func refuse(w http.ResponseWriter, r *http.Request, path string, status int, kind, message string) {
	if r != nil && r.Body != nil {
		_, _ = io.CopyN(io.Discard, r.Body, mostRead) // it may have been read
	}
	answer(w, path, status, kind, message)
}

func answer(w http.ResponseWriter, path string, status int, kind, message string) {
	var r refusal
	r.Error.Message = message
	if path = wire.Route(path); strings.HasPrefix(path, Administered) {
		path = "" // a tenant may be called messages
	}
	switch {
	case strings.Contains(path, "/models/") && strings.Contains(path, ":"):
		r.Error.Code, r.Error.Status = status, "UNAVAILABLE"
		switch {
		case status == http.StatusUnauthorized:
			r.Error.Status = "UNAUTHENTICATED"
		case status == http.StatusForbidden:
			r.Error.Status = "PERMISSION_DENIED"
		case status == http.StatusTooManyRequests:
			r.Error.Status = "RESOURCE_EXHAUSTED"
		case status == http.StatusPaymentRequired: // as Gemini says it where a bill is to be paid
			r.Error.Status = "FAILED_PRECONDITION"
		case status < 500:
			r.Error.Status = "INVALID_ARGUMENT"
		}
	case strings.Contains(path, "/messages"):
		r.Type, r.Error.Type = "error", kind
	default:
		r.Error.Type, r.Error.Code = kind, "winnow"
		switch status {
		case http.StatusTooManyRequests:
			r.Error.Code = "rate_limit_exceeded"
		case http.StatusPaymentRequired:
			r.Error.Type, r.Error.Code = "insufficient_quota", "insufficient_quota"
		}
	}
	body, err := json.Marshal(r, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		body = []byte(`{"error":{"message":"winnow"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusUpgradeRequired {
		w.Header().Set("Upgrade", "HTTP/1.1")
		w.Header().Set("Connection", "Upgrade")
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // who asked may have left
}

// logRefused says in the log what was refused to whom; of nobody in particular c is nil.
func logRefused(log *slog.Logger, c *Client, why *tenant.Refusal) {
	if c == nil {
		c = &Client{}
	}
	log.Warn("refused: "+why.Message, "tenant", c.Tenant, "who", c.Who, "person", c.Person, "limit", why.Kind)
}

// turnAway tells a client that a limit or a budget is reached, so that it waits, or gives up.
func turnAway(w http.ResponseWriter, r *http.Request, rest, name string, why *tenant.Refusal) {
	whose := "the tenant " + name
	if why.Person != "" {
		whose = why.Person + " within the tenant " + name
	}
	if why.Kind == "budget" {
		w.Header().Set(BudgetHeader, why.Verdict.Header())
		w.Header().Set("X-Should-Retry", "false") // the SDKs of Anthropic and OpenAI heed it
		refuse(w, r, rest, http.StatusPaymentRequired, "billing_error",
			"winnow: "+whose+" has reached its budget: "+why.Message)
		return
	}
	if why.Kind == "unmetered" {
		w.Header().Set("X-Should-Retry", "false")
		refuse(w, r, rest, http.StatusForbidden, "permission_error",
			"winnow: the tenant "+name+" has a budget, and this request cannot be counted in it: "+why.Message)
		return
	}
	if why.Kind == "route" || why.Kind == "model" {
		w.Header().Set("X-Should-Retry", "false")
		refuse(w, r, rest, http.StatusForbidden, "permission_error",
			"winnow: the tenant "+name+" may not ask for this: "+why.Message)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(max(why.After, time.Second).Seconds()))))
	refuse(w, r, rest, http.StatusTooManyRequests, "rate_limit_error",
		"winnow: "+whose+" asks too much at a time: "+why.Message)
}

// lacksKey refuses a request that is to be sent with a key of the server that has no value. Why a key
// cannot be read is for the log alone: it may name a file.
func (h *handler) lacksKey(w http.ResponseWriter, r *http.Request, g *Client, upstream, rest string, key Key) {
	about := []any{"tenant", g.Tenant, "upstream", upstream, "key", key.Name}
	wanted := fmt.Sprintf("winnow is to send the key %q to %s for the tenant %s, and ", key.Name, upstream, g.Tenant)
	if key.Unread != nil {
		h.Log.Error("the held key of a tenant cannot be read", append(about, "why", key.Unread)...)
		wanted += "cannot read it: ask its operator to look at gateway.keys." + key.Name +
			"; the log of serve says why it cannot be read"
	} else {
		h.Log.Error("gateway.keys does not have the key of a tenant", about...)
		wanted += "its configuration has no such key: ask its operator to add gateway.keys." + key.Name
	}
	refuse(w, r, rest, http.StatusServiceUnavailable, "api_error", wanted)
}

// Cause says in words of our own why there was no answer: the text of an error may hold what was
// sent.
func Cause(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	var unknown *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		return "its name is not found"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refuses connections"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "the network does not reach it"
	case errors.As(err, &unknown):
		return "its certificate is not trusted"
	case errors.As(err, &record):
		return "it does not speak TLS"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return "it took too long"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return "the connection broke"
	case errors.As(err, &op):
		return "the connection failed"
	}
	return "the connection ended before the answer, or what came is not HTTP"
}

// Package transport carries the requests of an agent to its provider.
package transport

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
)

// Mode says what is done to requests.
type Mode string

const (
	Off     Mode = "off"
	Observe Mode = "observe"
	Safe    Mode = "safe"
	Full    Mode = "full"
)

// Options say how.
type Options struct {
	Base   http.RoundTripper
	Mode   Mode
	Models *model.Catalogue
	Log    *slog.Logger
	Now    func() time.Time
}

// Totals are what came of it.
type Totals struct {
	Requests, Edited, Resent int
	Billed, Otherwise        float64
	Unpriced                 int
	LeftOut                  int
	Sessions                 []string
}

// Transport is an http.RoundTripper.
type Transport struct {
	base   http.RoundTripper
	mu     sync.Mutex
	totals Totals
}

// New returns a transport.
func New(engine *winnow.Engine, o Options) *Transport { return &Transport{base: o.Base} }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	t.totals.Requests++
	t.mu.Unlock()
	return t.base.RoundTrip(r)
}

// Totals are what came of it so far.
func (t *Transport) Totals() Totals {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.totals
}

package transport

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/wire"
)

// Quote is what a request may cost, before it is sent: see [Options.Reserve].
type Quote struct {
	Method, Path string
	Model        string // provider/id; "" if it names none
	// Most is what it may cost at most, in US dollars: its prompt by an estimate and as if all of it
	// were written to the cache, and the longest answer that it allows.
	Most float64
	// Unmetered says in words for people why nobody can tell what it will cost; "" if that is known.
	Unmetered string
}

// Charge is what a request cost, in US dollars.
type Charge struct {
	Dollars float64
	// Estimated reports that the provider did not report all of it: the answer broke off, or its
	// client left, or there was no report.
	Estimated bool
}

// meter is one request on its way that a budget has to pay for. A nil meter is that of a request
// for which nobody keeps a budget.
type meter struct {
	t        *Transport
	protocol protocol
	model    model.Model
	tier     string // the service that it asks for
	session  string // the conversation that it goes on with, "" if there is none
	text     []byte // the body that was sent, without its encoding
	cold     bool   // the provider's cache has nothing of it
	choices  int    // answers that it asks for at once
	most     float64
	settle   func(Charge)
	sent     atomic.Bool // the provider has the request
	paid     atomic.Bool
	handed   bool // an answer is on its way, at whose end the request is paid for
	asks     bool // the stream is to end with a report, which the client did not ask for
	asked    bool // it does
	long     bool // only the end of the answer is at hand
}

// took is what a request took, and whether some of it is an estimate.
type took struct {
	session.Usage
	Charge
}

// metersNot says why a request cannot be metered, "" if it can, or costs nothing.
func metersNot(r *http.Request, what wire.Purpose) string {
	switch {
	case upgrades(r):
		return "winnow sees nothing of a WebSocket"
	case what != wire.Other:
		return ""
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodDelete:
		return ""
	}
	return "winnow cannot tell what it costs"
}

// upgrades reports whether a request wants to go on as something that is not HTTP.
func upgrades(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// unmetered refuses a request that cannot be metered, where somebody keeps a budget.
func (t *Transport) unmetered(r *http.Request, why string) error {
	if t.options.Reserve == nil || why == "" {
		return nil
	}
	if _, err := t.options.Reserve(r.Context(), Quote{Method: r.Method, Path: r.URL.Path, Unmetered: why}); err != nil {
		return err
	}
	return errors.New("a request that cannot be metered")
}

// meter reserves what a request may cost. An error is that of Options.Reserve.
func (t *Transport) meter(in incoming) (*meter, error) {
	if t.options.Reserve == nil {
		return nil, nil
	}
	m := &meter{t: t, protocol: in.protocol, text: in.original}
	q := m.quote(in.Request)
	m.most = q.Most
	settle, err := t.options.Reserve(in.Context(), q)
	if err != nil {
		return nil, err
	}
	m.settle = settle
	return m, nil
}

// quote reads what a request asks for.
func (m *meter) quote(r *http.Request) Quote {
	text, _ := wire.Complete(m.text)
	var name, tier, speed, place string
	var most, completion, output, choices int
	var generation, before, conversation, stream wire.Value
	wire.ValueOf(text).Read("model", &name, "service_tier", &tier, "speed", &speed, "inference_geo", &place,
		"max_tokens", &most, "max_completion_tokens", &completion, "max_output_tokens", &output, "n", &choices,
		"generationConfig", &generation, "previous_response_id", &before, "conversation", &conversation,
		"stream", &stream)
	if m.protocol.kind == wire.Gemini { // the address counts, whatever the body says
		name = addressed(r.URL.Path)
	}
	q := Quote{Method: r.Method, Path: r.URL.Path}
	if name == "" {
		q.Unmetered = "it names no model"
		return q
	}
	m.model = m.t.models.Lookup(m.protocol.provider + "/" + name)
	m.tier = wire.Service(speed, tier, place)
	m.asks = m.protocol.kind == wire.Chat && stream.Kind() == 't'
	q.Model = m.model.String()

	longest := cmp.Or(most, completion, output, generation.Get("maxOutputTokens").Int(), m.model.Limits.Output,
		model.AssumedOutput)
	if limit := m.model.Limits.Output; limit > 0 {
		longest = min(longest, limit)
	}
	m.choices = max(1, choices, generation.Get("candidateCount").Int())
	longest *= m.choices
	window := cmp.Or(m.model.Limits.Input, m.model.Limits.Context)
	prompt := len(m.text) / fewestBytes
	if remembered := before.Kind() == '"' || conversation.Kind() != 0 && conversation.Kind() != 'n'; remembered {
		prompt = max(prompt, window, model.AssumedContext) // the provider has the history
	}
	if window > 0 {
		prompt = min(prompt, window)
	}
	for _, u := range []model.Usage{{Input: prompt, Output: longest}, {CacheWrite: prompt, Output: longest},
		{CacheWrite1h: prompt, Output: longest}} {
		if u.CacheWrite1h > 0 && !strings.Contains(string(text), `"1h"`) {
			continue
		}
		dollars, ok := m.model.Cost(u)
		if !ok {
			q.Unmetered = "the price of " + q.Model + " is not known; the gateway's operator can add " +
				"it to models in the configuration"
			return q
		}
		q.Most = max(q.Most, dollars)
	}
	factor, _ := m.model.Service(m.tier)
	q.Most *= max(1, factor) // the answer may come from the usual service
	return q
}

// fewestBytes is how many bytes of a request a token has at least, but for what is rare: English
// and code have about four, Chinese about three.
const fewestBytes = 3

// watch has the meter know when the provider has the request.
func (m *meter) watch(r *http.Request) *http.Request {
	if m == nil {
		return r
	}
	trace := &httptrace.ClientTrace{WroteRequest: func(w httptrace.WroteRequestInfo) {
		if w.Err == nil {
			m.sent.Store(true)
		}
	}}
	return r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
}

// of says which conversation the request goes on with.
func (m *meter) of(x *exchange) {
	if m != nil {
		m.session, m.text, m.cold = x.conversation.id, x.body, x.cold || x.pruned != nil && !x.first()
	}
}

// refused: the provider did not answer, so that nothing is to be paid.
func (m *meter) refused(ctx context.Context, err error) {
	if m != nil && (err == nil || ctx.Err() == nil) {
		m.pay(Charge{})
	}
}

// abandon pays for a request that nobody has paid for when it is over: its client has left before
// an answer began, or something of ours failed. The provider has read the prompt all the same.
func (m *meter) abandon() {
	if m == nil || m.paid.Load() {
		return
	}
	if m.sent.Load() {
		m.t.guarded("estimate a request", func() { m.pay(m.measured(wire.Answer{}).Charge) })
	}
	m.pay(Charge{})
}

// leave is abandon, unless an answer is on its way.
func (m *meter) leave() {
	if m != nil && !m.handed {
		m.abandon()
	}
}

// pay pays for the request, once.
func (m *meter) pay(c Charge) {
	if !m.paid.Swap(true) {
		m.settle(c)
	}
}

// hands leaves it to the end of an answer to pay for the request.
func (m *meter) hands() {
	if m != nil {
		m.handed = true
	}
}

// answered measures an answer that has ended, and pays for it: before it is recorded, which may
// take its time. Of one that is too long only the end is known.
func (m *meter) answered(a *wire.Answer, long bool) took {
	if long {
		a.Parts = nil
	}
	if m == nil {
		return took{Usage: a.Usage}
	}
	m.long = long
	out := m.measured(*a)
	m.pay(out.Charge)
	return out
}

// measured is what a request took: by the provider's report, and by an estimate where there is
// none.
func (m *meter) measured(a wire.Answer) took {
	u, whole := a.Usage, reported(a.Usage) && a.Ended
	if a.Failure != nil && !reported(u) && len(a.Parts) == 0 {
		return took{Usage: u}
	}
	answer := wordsOf(a)
	sizes, name := &m.t.sizes, m.model.String()
	switch {
	case whole && m.long:
	case m.long:
		return took{u, Charge{m.most, true}}
	case whole:
		sizes.learn(m, u, answer)
	default:
		if u.Prompt() == 0 {
			u = sizes.prompt(m)
		}
		// What was reported by then is of the beginning of the answer, or of all of it.
		if said := m.choices * sizes.answer(name, answer); u.Output+u.Reasoning < said*4/5 {
			u.Output = said - u.Reasoning
		}
		u.Tier = cmp.Or(u.Tier, m.tier)
	}
	return m.priced(u, !whole)
}

// priced is what a usage cost. Of a service whose price is not known the highest that is counts.
func (m *meter) priced(u session.Usage, estimated bool) took {
	cost, ok := m.model.Cost(bill.Usage(u))
	if !ok {
		factor, _ := m.model.Service(u.Tier)
		usual := bill.Usage(u)
		usual.Tier, usual.Searches = "", 0
		if cost, ok = m.model.Cost(usual); !ok {
			return took{u, Charge{m.most, true}} // the report cannot be
		}
		cost, estimated = cost*factor, true
	}
	return took{u, Charge{cost, estimated}}
}

// on notes on what is known of a request that its amounts are estimates.
func (k took) on(known *store.Live) {
	if known.Estimated = k.Estimated; !known.Unpriced || !k.Estimated {
		return
	}
	known.Billed, known.Otherwise = bill.Dollars(k.Dollars), bill.Estimate{Likely: k.Dollars} // the price is one, too
	known.Unpriced = false
}

package transport

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// A provider's cache forgets a conversation that asks nothing for a while. With Options.KeepWarm
// its newest request is sent again shortly before, for one token of an answer: reading the prompt
// once costs less than writing it again, if the client comes back. Only Anthropic says for how long
// it keeps what, and that reading renews it.

// warmth is a conversation whose cache is kept warm.
type warmth struct {
	lineage      *lineage
	conversation *conversation
	model        model.Model
	request      *http.Request // with the client's key, which is in memory alone
	size         int           // bytes of its body
	keepAlive    schedule.CacheKeepAlive
	stop         func() bool // the timer
}

const (
	// mostKept is how many bytes of requests wait to be sent again at most.
	mostKept = 64 << 20
	// warmPatience is how long such a request may take.
	warmPatience = 2 * time.Minute
)

// keepWarm sees to it that the cache of a request that was answered is kept, if that may be and can
// pay. No lock is held.
func (t *Transport) keepWarm(x *exchange, r *http.Request, a wire.Answer) {
	if t.options.KeepWarm <= 0 || t.options.Mode == Observe || x.protocol.kind != wire.Anthropic ||
		r.URL.Host != t.options.anthropic || !a.Ended || !ownKey(r.Header) {
		return
	}
	root := wire.ValueOf(x.body)
	if root.Get("max_tokens").Kind() != '0' || root.Get("thinking", "type").String() == "enabled" {
		return // a budget for thinking must be smaller than max_tokens, and another one loses the cache
	}
	once := *x
	once.body, once.edited = span.Update(x.body, []byte("1"), "max_tokens"), true
	k := &warmth{lineage: x.lineage, conversation: x.conversation, model: x.model, request: once.outgoing(r),
		size: len(once.body)}
	x.lineage.mu.Lock()
	defer x.lineage.mu.Unlock()
	if k.request.GetBody == nil || x.conversation.pruned != nil || !x.inRound {
		return // what was decided since makes the next request another one
	}
	k.keepAlive = schedule.CacheKeepAlive{Lifetime: x.lifetime()}
	k.keepAlive.Read, k.keepAlive.Write = cachePrices(x.model, a.Usage, k.keepAlive.Lifetime)
	if a.Usage.Cache.Read+a.Usage.Cache.Write > 0 {
		t.waits(k, x.began)
	}
}

// ownKey reports whether a client shows a key that is paid for by use. Anything else may belong to
// a subscription, which is not for winnow to ask with.
func ownKey(h http.Header) bool { return h.Get("X-Api-Key") != "" && h.Get("Authorization") == "" }

// cachePrices are what reading a prompt from the cache costs, and writing it there.
func cachePrices(m model.Model, u session.Usage, lifetime time.Duration) (read, write float64) {
	p := m.Price.For(u.Prompt())
	if lifetime >= time.Hour {
		return p.CacheRead, p.CacheWrite1h
	}
	return p.CacheRead, p.CacheWrite
}

// waits waits until the cache that was used at a time must be kept, if that pays. The lineage's lock
// is held.
func (t *Transport) waits(k *warmth, used time.Time) {
	wait := k.keepAlive.After() - t.options.Now().Sub(used)
	t.mu.Lock()
	defer t.mu.Unlock()
	bytes := k.size
	for _, other := range t.warm {
		bytes += other.size
	}
	if t.closed || wait <= 0 || k.keepAlive.Repeats >= t.options.KeepWarm || !k.keepAlive.Pays() || bytes > mostKept {
		return
	}
	t.warm[k.conversation.id] = k
	k.stop = t.options.After(wait, func() { t.current.Load().renew(k) })
}

// cool keeps the cache of a lineage's conversations no longer: its client is back.
func (t *Transport) cool(f *lineage) {
	for _, l := range f.conversations {
		t.coolOne(l.id)
	}
}

// coolOne keeps the cache of a conversation no longer.
func (t *Transport) coolOne(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.warm[id]; k != nil {
		k.stop()
		delete(t.warm, id)
	}
}

// Close keeps no cache warm any more, waits for what is under way, writes down what waits for a
// client's next request, and forgets the requests before.
func (t *Transport) Close() {
	t.mu.Lock()
	t.closed = true
	for id, k := range t.warm {
		k.stop()
		delete(t.warm, id)
	}
	t.mu.Unlock()
	t.Wait()
	if t.engine != nil {
		t.guarded("record requests beside conversations", t.writeBeside)
	}
	t.recent.clear()
}

// renew sends a request again, unless its client is back, and waits for the next time.
func (t *Transport) renew(k *warmth) {
	t.mu.Lock()
	due := t.warm[k.conversation.id] == k && !t.closed
	if due {
		delete(t.warm, k.conversation.id)
		t.recording.add()
	}
	t.mu.Unlock()
	if !due {
		return
	}
	defer t.recording.done()
	t.guarded("keep a cache warm", func() {
		if t.options.Mode == Observe || k.keepAlive.Repeats >= t.options.KeepWarm {
			return // the configuration has changed
		}
		began := t.options.Now()
		u, ok := t.again(k)
		if !ok {
			return
		}
		k.lineage.mu.Lock()
		defer k.lineage.mu.Unlock()
		back := k.conversation.last.After(began)
		k.keepAlive.Repeats++
		t.renewed(k, began, u)
		if u.Cache.Read > 0 && !back {
			t.waits(k, began)
		}
	})
}

// again sends the request, and reads what it took.
func (t *Transport) again(k *warmth) (u session.Usage, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), warmPatience)
	defer cancel()
	r := k.request.Clone(ctx)
	r.Body, _ = k.request.GetBody()
	sent, err := io.ReadAll(r.Body)
	var m *meter
	if err == nil {
		m, err = t.meter(incoming{Request: r, protocol: providerProtocols[wire.Anthropic], original: sent})
	}
	if err != nil {
		t.options.Log.Warn("could not keep a cache warm", "session", k.conversation.id, "error", err)
		return u, false
	}
	defer m.abandon()
	r.Body, _ = k.request.GetBody()
	answer, err := t.options.Base.RoundTrip(m.watch(r))
	if err != nil {
		t.options.Log.Warn("could not keep a cache warm", "session", k.conversation.id, "error", err)
		return u, false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if answer.StatusCode != http.StatusOK {
		m.refused(ctx, nil)
	}
	if err != nil || answer.StatusCode != http.StatusOK {
		t.options.Log.Warn("could not keep a cache warm", "session", k.conversation.id, "status", answer.StatusCode,
			"error", err)
		return u, false
	}
	a := understood(providerProtocols[wire.Anthropic], answer.Header, text)
	return m.answered(&a, false).Usage, true
}

// renewed writes down what keeping a cache took. The lineage's lock is held.
func (t *Transport) renewed(k *warmth, began time.Time, u session.Usage) {
	k.conversation.last = began
	k.conversation.warmed++
	cost, priced := k.model.Cost(bill.Usage(u))
	known := &store.Live{Warm: true, Person: k.request.Header.Get(personHeader), Billed: bill.Dollars(cost),
		Unpriced: !priced || !reported(u),
		Rules:    map[string]store.Share{store.KeepWarm: {Net: -cost}}}
	spent := store.Spend{Time: session.Millis(began.UnixMilli()), Kind: string(bill.Left), Model: k.model.String(),
		Usage: u, Cost: cost, Live: known}
	ctx, stop := t.expected(k.conversation)
	defer stop()
	err := t.engine.Amend(ctx, k.conversation.id, winnow.Amendment{Spent: []store.Spend{spent}})
	if err != nil {
		t.failed(k.lineage, "record what keeping a cache took", err)
	}
	k.conversation.noted(ctx)
	var from Origin
	if k.conversation.from != nil {
		from = *k.conversation.from
	}
	t.notice(Notice{From: from, Session: k.conversation.id, Model: spent.Model, Spent: &spent})
	t.count(func(all *Totals) { all.add(known, spent.Model, u) })
	t.options.Log.Info("kept", "session", k.conversation.id, "requests", k.keepAlive.Repeats, "tokens", u.Prompt(),
		"read", u.Cache.Read)
}

// lifetime is for how long the provider keeps what the conversation's requests ask it to.
func (x *exchange) lifetime() time.Duration {
	return max(x.model.CacheLifetime(), x.conversation.keeps)
}

// bridge notes that a request finds the cache warm because it was kept.
func (x *exchange) bridge() {
	l := x.conversation
	x.bridged = l.warmed > 0 && x.began.Sub(l.asked) > x.lifetime()
	l.warmed, l.asked = 0, x.began
}

// unkept is what a request would have taken, had the cache not been kept: all of it written anew.
func unkept(u session.Usage) session.Usage {
	if u.Cache.Write1h > 0 {
		u.Cache.Write1h += u.Cache.Read
	}
	u.Cache.Write, u.Cache.Read = u.Cache.Write+u.Cache.Read, 0
	return u
}

// Package transport prunes what a program sends to its provider while it works. A Transport is an
// [http.RoundTripper]: it recognises the conversation that a request goes on with, keeps it as a
// session of an engine, and leaves out of the request what the engine has decided to leave out.
//
//	t := transport.New(engine, transport.Options{})
//	client := anthropic.NewClient(option.WithHTTPClient(&http.Client{Transport: t}))
//
// A request of which nothing is left out leaves as it came, byte for byte, unless a budget has a
// report asked for (Options.Reserve). A decision is in the store before it is sent, so that the
// same conversation has the same bytes tomorrow. Answers are relayed as they arrive; a copy is
// read. After an error of the transport's own a request leaves with what was decided before, and
// where nothing is known of its conversation, as it came.
package transport

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/cache"
)

// Transport is an http.RoundTripper. It is safe for concurrent use.
type Transport struct {
	engine  *winnow.Engine
	options Options // with the defaults in place
	models  *model.Memo

	*atHand
}

// atHand is what a transport has at hand of the conversations that go through it.
type atHand struct {
	recent  recent
	overdue atomic.Int64 // steps that nobody waits for any more
	numbers atomic.Int64 // requests that were decided about
	outage  outage
	sizes   estimator
	silent  sync.Map // hosts whose streams cannot be asked for a report

	recording  pending    // answers
	accounting sync.Mutex // held while requests beside conversations are written down

	mu        sync.Mutex
	lineages  map[string]*lineage
	totals    Totals
	newest    map[string]newest        // the newest request of each session
	aside     map[string][]store.Spend // by client: what waits for its next request; see accounts
	habits    habits
	warm      map[string]*warmth         // by session
	unproven  map[string]*unproven       // by session
	unwritten map[*conversation]*lineage // that may have messages that wait: see writeSoon
	strangers []string                   // that rewrite requests: see Strangers
	closed    bool

	current atomic.Pointer[Transport] // the newest one
}

// New makes a transport that keeps its conversations in an engine. An engine that folds by itself
// (compaction.auto) needs the hooks of [Hooks].
func New(engine *winnow.Engine, o Options) *Transport {
	pool := o.Cache
	if pool == nil {
		pool = cache.NewPool(DefaultMemory)
	}
	return made(engine, o, &atHand{recent: recent{cache: pool}, lineages: map[string]*lineage{},
		newest: map[string]newest{}, aside: map[string][]store.Spend{}, warm: map[string]*warmth{},
		unproven: map[string]*unproven{}, unwritten: map[*conversation]*lineage{}})
}

// Changed makes a transport with another engine on the same store, or other options, that goes on
// with the conversations and the totals of this one. Requests that are under way end as they began.
func (t *Transport) Changed(engine *winnow.Engine, o Options) *Transport {
	return made(engine, o, t.atHand)
}

func made(engine *winnow.Engine, o Options, c *atHand) *Transport {
	t := &Transport{engine: engine, models: cmp.Or(o.Models, model.Default()).Memo(), atHand: c}
	o.Mode, o.Patience = cmp.Or(o.Mode, Full), cmp.Or(o.Patience, DefaultPatience)
	o.anthropic = cmp.Or(o.anthropic, anthropicHost)
	if o.Prepare == nil {
		o.Prepare = t.prepared
	}
	if o.Base == nil {
		base := upstream.Connections()
		base.DisableCompression = true
		o.Base = base
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = func(wait time.Duration, call func()) func() bool { return time.AfterFunc(wait, call).Stop }
	}
	t.options = o
	c.current.Store(t)
	return t
}

// stage tells that a step of a request begins, and returns what is called when it has ended.
func (t *Transport) stage(ctx context.Context, name string) (ended func()) {
	if t.options.Stage == nil {
		return func() {}
	}
	return t.options.Stage(ctx, name)
}

// guarded runs a step of ours. If it panics, that is logged, and the request goes on without it.
func (t *Transport) guarded(what string, step func()) {
	defer func() {
		if p := recover(); p != nil {
			t.options.Log.Error("could not "+what, "panic", fmt.Sprint(p))
		}
	}()
	step()
}

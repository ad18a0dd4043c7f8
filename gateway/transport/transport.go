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
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/llm/upstream"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/wire"
)

// Mode is what a transport may do.
type Mode string

const (
	// Off relays, and records nothing.
	Off Mode = "off"
	// Observe relays and decides: sessions say what would be left out.
	Observe Mode = "observe"
	// Safe leaves something out only before a request, and by an engine with the schedule cold only
	// when the provider's cache has forgotten the conversation.
	Safe Mode = "safe"
	// Full leaves out what the engine decides to, and folds when it does, by the engine's settings.
	Full Mode = "full"
)

// Header is the header with which a client asks for another mode for one request. It is not sent
// on.
const Header = "X-Winnow"

// Options say how a transport works. The zero value works.
type Options struct {
	// Base sends the requests. Default: [upstream.Connections] with compression left to the client.
	Base http.RoundTripper
	Mode Mode // default: Full
	// Delegate is ClearToolUses to let the provider clear old results of tools where winnow may
	// not; "" for nothing.
	Delegate string
	// Models is the catalogue that says which models bind their reasoning. Default: the embedded
	// one.
	Models *model.Catalogue
	// Memory is how many bytes of requests are kept, so that the next ones need not be read as a
	// whole; what is understood of them takes about twice as much again. Default: DefaultMemory.
	Memory int
	// Recall: agents have the command winnow, or its server of the Model Context Protocol, so that
	// placeholders may name it: see recalls. Default: placeholders name the call.
	Recall bool
	// RecallTool: the same for that server alone, as the agents' shells do not reach the store.
	RecallTool bool
	// Drop are names of tools, or patterns with *, whose declarations are left out of a
	// conversation from its first request on, if it begins under this option. A tool that the
	// conversation calls, or that a request insists on, stays.
	Drop []string
	// KeepWarm is how many requests at most keep the provider's cache of a conversation while its
	// client is silent; 0, the default, sends none. One repeats the newest request for one token of
	// an answer, shortly before the cache forgets it, where that pays ([schedule.Lull]): only to
	// Anthropic's API, with a key and not with what may be a subscription, and never in Observe.
	// The key stays in memory until the client is back, or Close.
	KeepWarm int
	// Later lets an answer end for its client before it is recorded. The next request of its
	// conversation waits for that, and so do Wait and Totals; anyone who looks into the store at
	// once may find the answer missing. If the process is killed in between, the client brings the
	// answer with its next request, and only what it took is not written down.
	Later bool
	// Patience is how long a request waits for a store that does not answer; then it leaves with
	// what was decided before about its conversation, and so do the next ones at once, until the
	// store answers again. Default: DefaultPatience.
	Patience time.Duration
	// Log is told what was decided about each request, and what fails, without content. Default:
	// nothing is logged.
	Log *slog.Logger
	// Watch is told of each request when it was decided about, was answered, or failed. It is
	// called while the request waits, by several goroutines at a time, and returns at once.
	// Default: nobody is told.
	Watch func(Notice)
	// Reserve makes the transport meter its requests, for a budget: it is asked before each one that
	// the provider bills, and what it returns is called once when the answer has ended, with what the
	// request cost. An error is RoundTrip's, and nothing is sent. Streams of Chat Completions are
	// asked for a report of what they took, which is taken out of the answer again where the client
	// did not ask for it; what is not reported is estimated. Default: nobody keeps a budget.
	Reserve func(ctx context.Context, q Quote) (settle func(Charge), err error)
	// Stage is called when a step of a request begins, and what it returns when the step has ended,
	// sometimes twice: identify (read it and find its conversation), adopt (join the log), decide
	// (ask the engine), splice (leave out). Default: nobody is told.
	Stage func(ctx context.Context, name string) (ended func())
	// Prepare has the summary of a fold that is near written beside the client's work, by calling
	// Engine.Prepare here or elsewhere; the pivot is winnow.Outcome.Pivot. It returns at once.
	// Default: a goroutine, which ends with the process.
	Prepare func(ctx context.Context, session, pivot string)
	Now     func() time.Time // default: time.Now

	anthropic string // the host at which server-side edits are had; tests have another one
	// after calls a function after a while, until stop; tests have another clock
	after func(wait time.Duration, call func()) (stop func() bool)
}

// DefaultMemory is the default of Options.Memory: 64 MiB.
const DefaultMemory = 64 << 20

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
	outage  outage
	sizes   estimator
	silent  sync.Map // hosts whose streams cannot be asked for a report

	recording pending // answers

	mu        sync.Mutex
	families  map[string]*family
	totals    Totals
	newest    map[string]newest        // the newest request of each session
	aside     map[string][]store.Spend // by client: what is written down with its next request
	habits    habits
	warm      map[string]*warmth   // by session
	unproven  map[string]*unproven // by session
	strangers []string             // that rewrite requests: see Strangers
	closed    bool

	current atomic.Pointer[Transport] // the newest one
}

// New makes a transport that keeps its conversations in an engine. An engine that folds by itself
// (compaction.auto) needs the hooks of [Hooks].
func New(engine *winnow.Engine, o Options) *Transport {
	return made(engine, o, &atHand{families: map[string]*family{}, newest: map[string]newest{},
		aside: map[string][]store.Spend{}, warm: map[string]*warmth{}, unproven: map[string]*unproven{}})
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
	if o.after == nil {
		o.after = func(wait time.Duration, call func()) func() bool { return time.AfterFunc(wait, call).Stop }
	}
	t.options = o
	c.recent.bound(cmp.Or(o.Memory, DefaultMemory))
	c.current.Store(t)
	return t
}

// maxBody is how many bytes of a request are read to be understood; a longer one passes as it is.
const maxBody = 64 << 20

// exchange is one request that belongs to a conversation, and what became of it.
type exchange struct {
	protocol protocol
	family   *family
	line     *line
	model    model.Model
	began    time.Time
	body     []byte // that is sent
	edited   bool
	left     left           // what the session leaves out of it
	cold     bool           // the provider's cache had forgotten the conversation
	pruned   *pivot.Receipt // of what is left out from this request on, nil without any
	unsent   int            // tokens left out of it that no request had
	held     bool           // nothing that was sent may be left out
	inRound  bool           // its answer calls tools
	repeated bool           // it was asked before, and that request may be under way
	sent     int            // messages of the client's
	next     string         // id of the message that answers it
	client   string
	agent    string                    // name of the program
	habit    map[string]jsontext.Value // what its answer shows of the client, to be written down
	added    int                       // size of what is new in the request, estimated
	from     Origin                    // for those who watch, as the next two
	title    string                    // of the session
	decided  []*pivot.Receipt          // that nobody was told of yet
	resent   bool
	replayed bool // it was not decided about: nothing of it joins the log
	summary  bool // it is the client's own compaction, which does not join either
	standing standing
	bridged  bool // the cache would have forgotten the conversation and was kept
	// delegated is the context_management that is added to what is sent, nil without
	delegated jsontext.Value
}

// RoundTrip sends a request and returns its answer. The request is not changed, as of
// [http.RoundTripper].
//
// A request that was edited and is refused with 400 or 422 is sent once more as it came. If that is
// accepted, nothing is left out of the conversation from then on; if not, the first refusal is
// returned.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	p, what := route(r)
	off := t.options.Mode == Off
	if asked := r.Header.Get(Header); asked != "" {
		r = r.Clone(r.Context())
		r.Header.Del(Header)
		off = off || Mode(asked) == Off
	}
	if off && what == generate {
		what = billed
	}
	if what == other || off && what == count || what == billed && t.options.Reserve == nil || r.Body == nil {
		if err := t.unmetered(r, metersNot(r, what)); err != nil {
			return nil, err
		}
		return t.options.Base.RoundTrip(r)
	}
	read := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0)+bytes.MinRead, maxBody)))
	_, err := read.ReadFrom(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the request's body: %w", err), r.Body.Close())
	}
	if read.Len() > maxBody {
		r = r.Clone(r.Context())
		r.Body = rest{io.MultiReader(read, r.Body), r.Body}
		if err := t.unmetered(r, "it is larger than winnow reads"); err != nil {
			return nil, errors.Join(err, r.Body.Close())
		}
		return t.options.Base.RoundTrip(r)
	}
	r.Body.Close()
	r = again(r, read.Bytes())
	original, err := unpacked(encoding(r.Header), read.Bytes(), maxBody)
	if err != nil {
		if err := t.unmetered(r, "winnow cannot unpack it"); err != nil {
			return nil, err
		}
		return t.options.Base.RoundTrip(with(r, nil, false))
	}
	if what == count {
		return t.options.Base.RoundTrip(t.counting(r, p, original))
	}
	m, err := t.meter(r, p, original)
	if err != nil {
		return nil, err
	}
	defer m.leave()
	var x *exchange
	if what == generate {
		x = t.begin(r, p, original)
	}
	if x == nil {
		return t.beside(r, p, original, m)
	}
	if x.replayed {
		t.coolOne(x.line.id) // its client is back
	}
	m.of(x)
	answer, err := t.send(x.request(r), m, x.body)
	if err == nil && (x.edited || x.delegated != nil) && refused(answer.StatusCode) {
		answer, err = t.resend(r, x, answer, original, m)
	}
	t.tell(x)
	if err != nil || answer.StatusCode != http.StatusOK {
		m.refused(r.Context(), err)
		t.unanswered(x, answer, err)
		switch {
		case x.replayed:
		case err == nil || r.Context().Err() == nil:
			t.withdraw(x)
		default: // the provider may have taken it, and its client left
			t.accepted(x)
		}
		t.release(x.family)
		return answer, err
	}
	if x.replayed {
		t.hear(p, answer, m, func(a wire.Answer, took took) {
			defer t.release(x.family)
			x.family.lastReplayed(x.line.id, t.options.Now())
			if x.summary {
				t.summarized(x, a, took)
			}
			t.countedBeside(r, x.client, x.model, took, x.left.tokens() > 0)
		})
		return answer, nil
	}
	m.hands()
	t.accepted(x)
	t.lookAt(r.Header, answer.Header)
	listen(answer, func(head http.Header, copied []byte, long bool) {
		t.afterwards(x.family, func() {
			defer t.release(x.family)
			defer m.abandon()
			t.guarded("read an answer", func() {
				a := understood(p, head, copied)
				t.heard(x, a, m.answered(&a, long))
				t.keepWarm(x, r, a)
			})
		})
	})
	m.silence(answer)
	return answer, nil
}

// beside sends a request that belongs to no conversation, as it came, and counts what it costs.
func (t *Transport) beside(r *http.Request, p protocol, original []byte, m *meter) (*http.Response, error) {
	answer, err := t.send(with(r, original, false), m, original)
	if err != nil || answer.StatusCode != http.StatusOK {
		m.refused(r.Context(), err)
		return answer, err
	}
	t.hear(p, answer, m, func(_ wire.Answer, took took) {
		text, _ := wire.Complete(original)
		name := cmp.Or(wire.ValueOf(text).Get("model").String(), addressed(r.URL.Path))
		t.countedBeside(r, client(r, p.kind), t.models.Lookup(p.provider+"/"+name), took, false)
	})
	return answer, nil
}

// hear tells what an answer took that joins no log.
func (t *Transport) hear(p protocol, answer *http.Response, m *meter, heard func(wire.Answer, took)) {
	m.hands()
	listen(answer, func(head http.Header, copied []byte, long bool) {
		defer m.abandon()
		t.guarded("read an answer", func() {
			a := understood(p, head, copied)
			heard(a, m.answered(&a, long))
		})
	})
	m.silence(answer)
}

// rest is what is left of a body that was begun to be read.
type rest struct {
	io.Reader
	io.Closer
}

// stage tells that a step of a request begins, and returns what is called when it has ended.
func (t *Transport) stage(ctx context.Context, name string) (ended func()) {
	if t.options.Stage == nil {
		return func() {}
	}
	return t.options.Stage(ctx, name)
}

// idle is how long the provider has not been at work on a conversation, 0 if that is not known.
func (x *exchange) idle() time.Duration {
	if x.line.last.IsZero() {
		return 0
	}
	return x.began.Sub(x.line.last)
}

// reduced is a request for the size of a conversation, with what the conversation leaves out left
// out of it: the client is told the size of what would be sent. Nothing is recorded. nil: something
// of ours failed.
func (t *Transport) reduced(ctx context.Context, r *http.Request, p protocol, original []byte) (counted *http.Request) {
	ctx = new(store.Reading).Within(ctx)
	t.guarded("understand a request for a size", func() {
		read, err := t.read(r, p, original)
		if err != nil || t.options.Mode == Observe {
			counted = with(r, original, false)
			return
		}
		doc, chain := read.doc, read.chain
		f := t.sized(ctx, r, p, doc, chain)
		defer t.release(f)
		f.recording.wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		if err := f.load(ctx, t.engine); err != nil {
			return
		}
		if l, _, goesOn := f.find(chain, doc.Session.Messages); l != nil && goesOn {
			if _, err := t.upToDate(ctx, f, l, chain, doc.Session.Messages); err != nil {
				return
			}
		}
		l, n, goesOn := f.find(chain, doc.Session.Messages)
		if l == nil || !goesOn || l.frozen != "" {
			counted = with(r, original, false)
			return
		}
		if err := t.refill(ctx, l.id, doc.Session.Messages[:n]); err != nil {
			return
		}
		st, err := t.standing(ctx, l.id, len(chain))
		if err != nil {
			return
		}
		edited, _, err := edited(l, doc, st)
		if err != nil {
			return
		}
		x := &exchange{protocol: p, line: l, body: edited, edited: !bytes.Equal(edited, original)}
		if l.delegation.known { // nothing is decided for it
			t.delegate(ctx, r, x, doc.Native.(*body.Native).Decoded)
		}
		counted = x.request(r)
		t.recent.put(read)
	})
	return counted
}

// maxFamilies is how many families are at hand at most, but for those in use; others are read from
// the store again.
const maxFamilies = 1024

// family is the family of an identity, in use until it is released.
func (t *Transport) family(id string) *family {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.families[id]
	if f == nil {
		for other, idle := range t.families {
			if len(t.families) < maxFamilies {
				break
			}
			if idle.uses == 0 {
				delete(t.families, other)
			}
		}
		f = &family{id: id}
		t.families[id] = f
	}
	f.uses++
	return f
}

func (t *Transport) release(f *family) {
	t.mu.Lock()
	f.uses--
	t.mu.Unlock()
}

// failed forgets what is at hand of a family, so that it is read from the store again.
func (t *Transport) failed(f *family, what string, err error) {
	f.loaded, f.lines = false, nil
	t.options.Log.Error("could not "+what, "family", f.id, "error", err)
	t.notice(Notice{Session: f.id, Failure: "could not " + what + ": what was decided before counts"})
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

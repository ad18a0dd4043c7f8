package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/summarize/offline"
)

// gateway is a transport in a scene, on a store that is kept.
type gateway struct {
	*Transport
	t       testing.TB
	store   store.Store
	foldsAt int // tokens; 0: where it pays
	cold    int // tokens above which a cold cache has the past folded, 0: none
	options Options
	place   tworuns.Place
}

// between opens the gateway in a scene.
func (g *gateway) between(p tworuns.Place) http.RoundTripper {
	g.place = p
	g.open()
	return g
}

// RoundTrip implements http.RoundTripper: of the transport that is open now.
func (g *gateway) RoundTrip(r *http.Request) (*http.Response, error) { return g.Transport.RoundTrip(r) }

// open opens the gateway, anew if it was open: nothing is at hand any more.
func (g *gateway) open() {
	g.t.Helper()
	if g.store == nil {
		g.store = memory.New()
	}
	set := settings.Default()
	if g.foldsAt > 0 {
		set.Compaction.Threshold = budget.Thresholds{"*": budget.Threshold(g.foldsAt)}
	}
	set.Compaction.ColdFold = g.cold
	engine, err := winnow.Open(winnow.Config{Settings: &set, Store: g.store, Now: g.place.Now,
		Summarizer: offline.New()})
	if err != nil {
		g.t.Fatal(err)
	}
	o := g.options
	o.Now, o.After, o.anthropic = g.place.Now, g.place.After, strings.TrimPrefix(g.place.URL, "http://")
	g.Transport = New(engine, o)
}

// folds counts how often the sessions of the store were folded.
func (g *gateway) folds() (n int) {
	g.t.Helper()
	for _, l := range must(g.store.List(context.Background())) {
		for _, r := range must(g.store.State(context.Background(), l.Info.ID)).Receipts {
			if r.Kind == pivot.Compaction {
				n++
			}
		}
	}
	return n
}

func (g *gateway) sessions() int { return len(must(g.store.List(context.Background()))) }

// A conversation goes on when the client's credential is refreshed in its middle, as after an OAuth
// refresh: what was folded stays folded, and a provider that binds thinking takes it. So it is with
// the client's word for its session and without one.
func TestIdentity_aRefreshedCredentialGoesOn(t *testing.T) {
	sequential(t)
	for _, word := range []string{"s1", ""} {
		t.Run("session "+word, func(t *testing.T) {
			s := tworuns.Scene{Model: "claude-opus-5-5", Steps: 90, Session: word, Thinks: true, Binds: true,
				Credential: func(n int) string { return fmt.Sprint("key-", n/60) }}
			g := &gateway{t: t, foldsAt: 25_000}
			run := s.Play(t, g.between)
			if run.Ended >= 0 || len(run.Refused) > 0 {
				t.Errorf("ended at step %d, refused: %.300q", run.Ended, run.Refused)
			}
			if g.sessions() != 1 || g.folds() == 0 {
				t.Errorf("%d sessions, %d folds", g.sessions(), g.folds())
			}
			if got := g.Totals().Resent; got > 0 {
				t.Errorf("%d requests were sent again", got)
			}
		})
	}
}

// What keeps clients of one listener apart is who they are.
func TestIdentity_clientsOfAListenerAreApart(t *testing.T) {
	s := tworuns.Scene{Steps: 10, Repeat: 2}
	g := &gateway{t: t}
	asked := 0
	s.Play(t, func(p tworuns.Place) http.RoundTripper {
		g.between(p)
		return tripper(func(r *http.Request) (*http.Response, error) {
			r.Header.Set(clientHeader, fmt.Sprint("client ", asked/10))
			asked++
			return g.RoundTrip(r)
		})
	})
	for _, l := range must(g.store.List(t.Context())) {
		if l.Info.ParentID != "" || l.Messages == 0 {
			t.Errorf("%+v", l)
		}
	}
	if g.sessions() != 2 {
		t.Errorf("%d sessions", g.sessions())
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// age gives the only session of the store the id that an older gateway would have given it, and opens
// the gateway anew.
func (g *gateway) age(r *http.Request) {
	g.t.Helper()
	text := must(io.ReadAll(r.Body))
	r.Body = io.NopCloser(bytes.NewReader(text))
	p, _ := route(r)
	read := must(g.read(incoming{Request: r, protocol: p, original: text}))
	old := oldIdentity(r, p.kind, read.doc.Native.(*body.Native).Decoded, read.chain[0])
	id := must(g.store.List(context.Background()))[0].Info.ID
	renamed := store.Change{Create: &session.Info{ID: id}, Aside: old}
	if _, err := g.store.Apply(context.Background(), id, renamed); err != nil {
		g.t.Fatal(err)
	}
	if err := g.store.Delete(context.Background(), id); err != nil {
		g.t.Fatal(err)
	}
	g.Wait()
	g.open()
}

// A store whose conversations were identified with the credential is carried over: the conversation
// goes on where it was, with what was decided.
func TestIdentity_anOldStoreIsCarriedOver(t *testing.T) {
	sequential(t)
	s := tworuns.Scene{Model: "claude-opus-5-5", Steps: 90, Session: "s1", Thinks: true, Binds: true}
	g := &gateway{t: t, foldsAt: 25_000}
	step := 0
	s.Before = func(n int) { step = n }
	renamed := false
	run := s.Play(t, func(p tworuns.Place) http.RoundTripper {
		g.between(p)
		return tripper(func(r *http.Request) (*http.Response, error) {
			if step == 60 && !renamed {
				renamed = true
				g.age(r)
			}
			return g.RoundTrip(r)
		})
	})
	if run.Ended >= 0 || len(run.Refused) > 0 || g.Totals().Resent > 0 {
		t.Errorf("ended at step %d, refused: %.300q", run.Ended, run.Refused)
	}
	if g.sessions() != 2 || g.folds() < 2 {
		t.Errorf("%d sessions, %d folds; want the old one and the one that goes on, with its folds", g.sessions(), g.folds())
	}
}

// counted counts what a store is asked to do.
type counted struct {
	store.Store
	messages, states, revisions, appended int
}

func (c *counted) Messages(ctx context.Context, id string) iter.Seq2[session.Message, error] {
	return func(yield func(session.Message, error) bool) {
		for m, err := range c.Store.Messages(ctx, id) {
			c.messages++
			if !yield(m, err) {
				return
			}
		}
	}
}

func (c *counted) State(ctx context.Context, id string) (store.State, error) {
	c.states++
	return c.Store.State(ctx, id)
}

func (c *counted) Revision(ctx context.Context, id string) (int64, error) {
	c.revisions++
	return c.Store.Revision(ctx, id)
}

func (c *counted) Apply(ctx context.Context, id string, change store.Change) (int64, error) {
	c.appended += len(change.Append)
	return c.Store.Apply(ctx, id, change)
}

func (c *counted) Family(ctx context.Context, id string) ([]session.Info, error) {
	return store.Family(ctx, c.Store, id)
}

// A conversation that is repeated follows its own fork: each time makes one session at most, and the
// requests of the last time ask no more of the store than those of the third.
func TestIdentity_aRepeatedConversationFollowsItsFork(t *testing.T) {
	sequential(t)
	for _, word := range []string{"s1", ""} {
		t.Run("session "+word, func(t *testing.T) {
			const times, steps = 12, 40
			c := &counted{Store: memory.New()}
			g := &gateway{t: t, store: c}
			var rounds []counted
			s := tworuns.Scene{Steps: steps, Repeat: times, Session: word, Before: func(step int) {
				if step == 0 {
					rounds = append(rounds, *c)
				}
			}}
			run := s.Play(t, g.between)
			rounds = append(rounds, *c)
			if run.Ended >= 0 || len(run.Answers) != times*steps {
				t.Fatalf("ended at %d: %.300q", run.Ended, run.Refused)
			}
			if got := g.sessions(); got > times {
				t.Errorf("%d sessions for %d conversations", got, times)
			}
			asked := func(round int) counted {
				a, b := rounds[round], rounds[round+1]
				return counted{nil, b.messages - a.messages, b.states - a.states, b.revisions - a.revisions,
					b.appended - a.appended}
			}
			// The first time is new, the second leaves a conversation that is at hand; from the third on
			// the one that is left is read again, once.
			first, third, last := asked(0), asked(2), asked(times-1)
			t.Logf("first %+v, third %+v, last %+v", first, third, last)
			if last.messages > third.messages || last.states > third.states || last.revisions > third.revisions+mostChecked ||
				last.messages > first.appended+1 || last.appended != first.appended {
				t.Errorf("the last time %+v, the third %+v, the first %+v", last, third, first)
			}
		})
	}
}

// A client that goes back to an earlier turn leaves the conversation once, and goes on with that.
func TestIdentity_aRewindLeavesOnce(t *testing.T) {
	sequential(t)
	c := &counted{Store: memory.New()}
	g := &gateway{t: t, store: c}
	run := tworuns.Scene{Steps: 120, Rewind: map[int]int{3: 1, 6: 4}}.Play(t, g.between)
	if run.Ended >= 0 {
		t.Fatalf("ended at %d: %.300q", run.Ended, run.Refused)
	}
	if got := g.sessions(); got != 3 {
		t.Errorf("%d sessions, want the conversation and two that left it", got)
	}
}

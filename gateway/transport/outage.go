package transport

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow/store"
)

// outage is what is known of a store that did not answer in time.
type outage struct {
	mu            sync.Mutex
	reads, writes bool // do not answer
	told          bool
	refused       atomic.Bool   // a change, since the store was last known to take any: it was said
	probe         chan struct{} // is closed when a probe has ended; nil while there is none
	asking        atomic.Int64  // uses of the store by probes that have not ended

	answeredReads, answeredWrites int64 // by the store, when the last probe ended or the next began
}

// away reports whether reading the store would only be waited for, and whether writing it would:
// its server is lost, or it did not answer in time and has not answered since. Requests do without
// it then: see replay.
func (t *Transport) away() (reads, writes bool) {
	lost := store.Lost(t.engine.Store())
	o := &t.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	reads, writes = o.reads || lost != nil, o.writes || lost != nil
	if is := reads || writes; is != o.told {
		o.told = is
		if is {
			t.options.Log.Error("the store is lost: until it is back, requests leave with what was decided before",
				"error", cmp.Or(lost, noAnswer(o.reads, t.options.Patience/2)))
		} else {
			t.options.Log.Info("the store is back: requests are decided about again")
		}
	}
	return reads, writes
}

// noAnswer says that the store did not answer a probe in time: a read, or else a write.
func noAnswer(read bool, patience time.Duration) error {
	what := "change"
	if read {
		what = "read"
	}
	return fmt.Errorf("no answer to a %s within %s", what, patience)
}

// Lost reports whether requests do without the store, because it did not answer in time.
func (t *Transport) Lost() bool {
	if t.engine == nil {
		return false
	}
	reads, writes := t.away()
	return reads || writes
}

// noSession is the id of a session that no store has.
const noSession = "live_nobody"

// answers asks the store whether it can be read and written, and reports whether it says so in
// time. If it does not, it is asked again until it does.
func (t *Transport) answers() bool {
	o := &t.outage
	o.mu.Lock()
	if o.probe == nil {
		o.probe = make(chan struct{})
		go t.ask(o.probe)
	}
	probe := o.probe
	o.mu.Unlock()
	<-probe
	return !t.Lost()
}

// ask is answers, once at a time.
func (t *Transport) ask(ended chan struct{}) {
	ctx, stop := context.WithTimeout(context.Background(), t.options.Patience/2)
	defer stop()
	reads, writes := true, true
	kept := t.engine.Store()
	o := &t.outage
	if o.asking.Load() == 0 { // else it has not even come back from the last time
		o.answeredReads, o.answeredWrites = store.Answered(kept)
		read := t.asked("read", func(ctx context.Context) { _, _ = kept.Revision(ctx, noSession) })
		written := t.asked("write", func(ctx context.Context) { _, _ = kept.Apply(ctx, noSession, store.Change{}) })
		reads, writes = !comes(ctx, read), !comes(ctx, written)
	}
	// A server with much to do may have answered others.
	nowReads, nowWrites := store.Answered(kept)
	reads, writes = reads && nowReads == o.answeredReads, writes && nowWrites == o.answeredWrites
	o.answeredReads, o.answeredWrites = nowReads, nowWrites
	o.mu.Lock()
	o.reads, o.writes, o.probe = reads, writes, nil
	o.mu.Unlock()
	close(ended)
	t.mu.Lock()
	defer t.mu.Unlock()
	if (reads || writes) && !t.closed {
		time.AfterFunc(t.options.Patience/4, func() {
			next := t.current.Load()
			if next.engine == nil { // in the mode Off
				next = t
			}
			next.answers()
		})
	}
}

// asked uses the store, unless another transport on the same server is using it under that name. The
// channel is closed when the use has ended, with an error or without. A caller that stops waiting
// does not cancel the use: cancelling closes its connection, and a pooler then closes its own to the
// server. After an outage a pooler has few of these, so impatient callers would close each new one.
func (t *Transport) asked(name string, use func(context.Context)) <-chan struct{} {
	t.outage.asking.Add(1)
	ended := store.Once(t.engine.Store(), name, func(ctx context.Context) {
		ctx, stop := context.WithTimeout(ctx, 3*t.options.Patience)
		defer stop()
		t.guarded("ask the store", func() { use(ctx) })
	})
	done := make(chan struct{})
	go func() {
		<-ended
		t.outage.asking.Add(-1) // before done is closed, after which it is asked again
		close(done)
	}()
	return done
}

// comes reports whether something is done before a context ends.
func comes(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

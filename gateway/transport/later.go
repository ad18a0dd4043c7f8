package transport

import (
	"maps"
	"sync"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/session"
)

// pending counts what is still to be done. Unlike a sync.WaitGroup it may be waited for while more
// comes in. The zero value has nothing to do.
type pending struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // is closed when there is nothing more; nil while there is nothing
}

func (p *pending) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n++; p.n == 1 {
		p.none = make(chan struct{})
	}
}

func (p *pending) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n--; p.n == 0 {
		close(p.none)
		p.none = nil
	}
}

// some reports whether there is something to do.
func (p *pending) some() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n > 0
}

// wait waits until there was nothing to do for a moment.
func (p *pending) wait() {
	p.mu.Lock()
	none := p.none
	p.mu.Unlock()
	if none != nil {
		<-none
	}
}

// afterwards does what is to be done when an answer has ended: before its client hears of the end,
// which waits a while for it, or beside the client. The lineage's next request waits for it then;
// without a lineage the client does.
func (t *Transport) afterwards(f *lineage, do func()) {
	if !t.options.Later || f == nil {
		within(ending, nil, func() bool { do(); return true }, nil)
		return
	}
	t.recording.add()
	f.recording.add()
	go func() {
		deepen()
		defer t.recording.done()
		defer f.recording.done()
		do()
	}()
}

// soon is how long the messages and the usage of a request wait at most, to be written with those of
// other requests.
const soon = 50 * time.Millisecond

// inARow is how many requests in a row must reach this process before what a conversation adds may
// wait. Between two replicas that are chosen at random, 3 % of requests then reach the other one after
// this one let something wait. A request that comes before it is written brings the messages itself,
// without the usage and the times of the answer.
const inARow = 4

// behind reports whether what a request adds to a conversation may wait: see Options.Behind.
func (t *Transport) behind(l *conversation) bool {
	return t.options.Behind && (!t.options.Shared || l.own >= inARow)
}

// writeSoon writes a conversation's waiting messages and usage before long. The lock is held.
func (t *Transport) writeSoon(f *lineage, l *conversation) {
	if l.revision >= 0 {
		return
	}
	t.mu.Lock()
	known := t.unwritten[l] != nil
	t.unwritten[l] = f
	t.mu.Unlock()
	if !known {
		t.options.After(soon, func() {
			deepen()
			t.writeNow(f, l)
		})
	}
}

// writeNow writes a conversation's waiting messages and usage, whatever its client does.
func (t *Transport) writeNow(f *lineage, l *conversation) {
	t.guarded("write a request", func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		t.mu.Lock()
		delete(t.unwritten, l)
		t.mu.Unlock()
		t.write(f, l)
	})
}

// write writes a conversation's waiting messages and usage. If that fails, the conversation is read
// again, and its client sends the messages again. The lock is held.
func (t *Transport) write(f *lineage, l *conversation) {
	if l.revision >= 0 {
		return
	}
	ctx, stop := t.expected(l)
	defer stop()
	still := func([]session.Message) bool { return !l.outrun(ctx) }
	err := winnow.Extend(ctx, t.engine, l.id, still, nil)
	if isOutrun(err) {
		f.loaded, l.revision, l.shared, l.own = false, 0, true, 0
		// Usage, and messages that the other process has not added, are still written. If nothing is
		// left, the new revision alone tells that process that a request is under way here, so that it
		// decides nothing meanwhile.
		err = winnow.Extend(ctx, t.engine, l.id, func([]session.Message) bool { return true }, nil)
	}
	switch {
	case err == nil && l.revision < 0:
		l.noted(ctx)
	case err != nil && !isOutrun(err):
		l.revision = 0
		t.failed(f, "write a request", err)
	}
}

// Wait waits until the answers that have ended are recorded: see Options.Later.
func (t *Transport) Wait() {
	t.recording.wait()
	t.mu.Lock()
	unwritten := maps.Clone(t.unwritten)
	t.mu.Unlock()
	for l, f := range unwritten {
		t.writeNow(f, l)
	}
}

// Busy reports whether an answer that has ended is still to be recorded, or a cache is just being
// kept warm.
func (t *Transport) Busy() bool { return t.recording.some() }

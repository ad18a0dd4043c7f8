package transport

import "sync"

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

// afterwards does what is to be done when an answer has ended: at once, or beside the client, which
// does not wait for it then. The lineage's next request does; without a lineage it is done at once.
func (t *Transport) afterwards(f *lineage, do func()) {
	if !t.options.Later || f == nil {
		do()
		return
	}
	t.recording.add()
	f.recording.add()
	go func() {
		defer t.recording.done()
		defer f.recording.done()
		do()
	}()
}

// Wait waits until the answers that have ended are recorded: see Options.Later.
func (t *Transport) Wait() { t.recording.wait() }

// Busy reports whether an answer that has ended is still to be recorded, or a cache is just being
// kept warm.
func (t *Transport) Busy() bool { return t.recording.some() }

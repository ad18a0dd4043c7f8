// Package cache bounds how many bytes several caches keep in memory together: the sessions of
// engines, the requests of transports, the texts that no store keeps.
package cache

import (
	"container/list"
	"sync"
)

// Pool is the memory that caches share. It is safe for concurrent use.
type Pool struct {
	mu    sync.Mutex
	most  int
	bytes int
	order list.List // of *Entry, the most recently used first
}

// NewPool makes a pool of at most so many bytes.
func NewPool(most int) *Pool { return &Pool{most: most} }

// Entry is one thing that a cache keeps, and can release.
type Entry struct {
	pool    *Pool
	release func()
	// The pool's lock guards these.
	bytes int
	at    *list.Element // nil once it was released or dropped
}

// Add adds an entry that takes nothing yet, as the most recently used one. release makes its cache
// forget it; it is called by whichever cache needs the room, without a lock of the pool, so a cache
// must hold none that release takes when it calls Grow.
func (p *Pool) Add(release func()) *Entry {
	e := &Entry{pool: p, release: release}
	p.mu.Lock()
	defer p.mu.Unlock()
	e.at = p.order.PushFront(e)
	return e
}

// Bytes is how much all entries take.
func (p *Pool) Bytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// Bound says how many bytes there are from now on.
func (p *Pool) Bound(most int) {
	p.mu.Lock()
	p.most = most
	p.mu.Unlock()
	p.makeRoom()
}

// Grow notes that an entry is used, and takes more bytes, or less. Of the others those used least
// recently go until there is room. An entry that is gone stays gone.
func (e *Entry) Grow(by int) {
	p := e.pool
	p.mu.Lock()
	if e.at != nil {
		e.bytes += by
		p.bytes += by
		p.order.MoveToFront(e.at)
	}
	p.mu.Unlock()
	p.makeRoom()
}

// Drop takes an entry out that its cache has forgotten by itself.
func (e *Entry) Drop() {
	e.pool.mu.Lock()
	defer e.pool.mu.Unlock()
	e.pool.remove(e)
}

// remove takes an entry out. The lock is held.
func (p *Pool) remove(e *Entry) {
	if e.at != nil {
		p.order.Remove(e.at)
		p.bytes -= e.bytes
		e.at = nil
	}
}

// makeRoom releases what was used least recently until there is room. The newest stays, however
// much it takes: somebody is using it.
func (p *Pool) makeRoom() {
	for {
		p.mu.Lock()
		oldest := p.order.Back()
		if p.bytes <= p.most || oldest == nil || oldest == p.order.Front() {
			p.mu.Unlock()
			return
		}
		e := oldest.Value.(*Entry)
		p.remove(e)
		p.mu.Unlock()
		e.release()
	}
}

package transport

import (
	"slices"
	"sync"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/text/span"
)

// recent keeps what was read of the newest requests, so that the next one of a conversation is read
// from where it goes on.
type recent struct {
	cache *cache.Pool

	mu   sync.Mutex
	read []*reading // the newest last
}

// reading is a request as it was read, with the digests of its messages, and its signs.
type reading struct {
	client string
	agent  string // name with which the program introduces itself
	doc    *format.Document
	chain  []digest
	signs
	begins int // bytes with which the body begins for which it was taken
	memory *cache.Entry
}

// bytesOfBody is how many bytes of memory a byte of a body takes, with what is understood of it.
const bytesOfBody = 3

// common is how many bytes two bodies begin with in common.
func (n *reading) common() int {
	if n == nil {
		return 0
	}
	return n.begins
}

// mostCompared is how many conversations of one client a request is compared with.
const mostCompared = 32

// take gives the request of a client that begins most like a body, and forgets it: who takes it may
// use it up. nil without any.
func (r *recent) take(client string, body []byte) *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	best, longest, compared := -1, 0, 0
	for i := len(r.read) - 1; i >= 0 && compared < mostCompared; i-- {
		if r.read[i].client != client {
			continue
		}
		compared++
		if n := span.Common(r.read[i].doc.Source, body); n > longest {
			best, longest = i, n
		}
	}
	if best < 0 {
		return nil
	}
	taken := r.read[best]
	taken.begins = longest
	r.read = slices.Delete(r.read, best, best+1)
	taken.memory.Drop()
	return taken
}

// put keeps a request, for as long as there is room.
func (r *recent) put(n *reading) {
	r.mu.Lock()
	memory := r.cache.Add(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.read = slices.DeleteFunc(r.read, func(other *reading) bool { return other == n })
	})
	n.memory, r.read = memory, append(r.read, n)
	r.mu.Unlock()
	memory.Grow(bytesOfBody * len(n.doc.Source))
}

// clear forgets all requests.
func (r *recent) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.read {
		n.memory.Drop()
	}
	r.read = nil
}

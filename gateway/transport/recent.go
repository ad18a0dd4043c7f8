package transport

import (
	"slices"
	"sync"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
)

// recent keeps what was read of the newest requests, so that the next one of a conversation is read
// from where it goes on.
type recent struct {
	mu    sync.Mutex
	most  int // bytes of bodies
	bytes int
	read  []*reading // the newest last
}

// reading is a request as it was read, with the digests of its messages, and its signs.
type reading struct {
	client string
	agent  string // name with which the program introduces itself
	doc    *format.Document
	chain  []digest
	signs
	begins int // bytes with which the body begins for which it was taken
}

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
	r.bytes -= len(taken.doc.Source)
	return taken
}

// put keeps a request, and forgets the oldest where there is no room.
func (r *recent) put(n *reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = append(r.read, n)
	r.bytes += len(n.doc.Source)
	r.makeRoom()
}

// bound says how many bytes may be kept from now on.
func (r *recent) bound(most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most = most
	r.makeRoom()
}

func (r *recent) makeRoom() {
	gone := 0
	for r.bytes > r.most && gone < len(r.read) {
		r.bytes -= len(r.read[gone].doc.Source)
		gone++
	}
	r.read = slices.Delete(r.read, 0, gone)
}

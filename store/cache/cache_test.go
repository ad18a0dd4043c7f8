package cache

import (
	"slices"
	"sync"
	"testing"
)

// Whose entry it is does not matter: the one used least recently goes first, and the one in use
// stays.
func TestPool_releasesTheLeastRecentlyUsedFirst(t *testing.T) {
	p := NewPool(10)
	var gone []string
	entries := map[string]*Entry{}
	for _, name := range []string{"a1", "b1", "a2", "b2"} { // of two caches
		entries[name] = p.Add(func() { gone = append(gone, name) })
		entries[name].Grow(2)
	}
	entries["a1"].Grow(0) // used again
	entries["b2"].Grow(5)
	if want := []string{"b1", "a2"}; !slices.Equal(gone, want) || p.Bytes() != 9 {
		t.Errorf("gone are %v, want %v; %d bytes are kept", gone, want, p.Bytes())
	}
	entries["a2"].Grow(100) // whoever still uses one that is gone pays nothing for it
	entries["a1"].Drop()
	entries["a1"].Drop()
	if p.Bytes() != 7 {
		t.Errorf("%d bytes are kept, want 7", p.Bytes())
	}
	entries["b2"].Grow(20)
	if len(gone) != 2 || p.Bytes() != 27 {
		t.Errorf("gone are %v, though one is left and in use; %d bytes", gone, p.Bytes())
	}
	p.Add(func() {}).Grow(1)
	if p.Bytes() != 1 {
		t.Errorf("with another one in use %d bytes are kept, want 1", p.Bytes())
	}
}

// What is counted is what is kept, whoever does what at the same time.
func TestPool_countsWhatIsKept(t *testing.T) {
	p := NewPool(1000)
	var all sync.WaitGroup
	var mu sync.Mutex
	kept := map[*Entry]bool{}
	for range 8 {
		all.Go(func() {
			for i := range 500 {
				var e *Entry
				mu.Lock()
				e = p.Add(func() {
					mu.Lock()
					defer mu.Unlock()
					delete(kept, e)
				})
				kept[e] = true
				mu.Unlock()
				e.Grow(i % 50)
				if i%3 == 0 {
					mu.Lock()
					delete(kept, e)
					mu.Unlock()
					e.Drop()
				}
			}
		})
	}
	all.Wait()
	p.Bound(300)
	sum := 0
	for e := range kept {
		sum += e.bytes
	}
	if sum != p.Bytes() || sum > 300 || sum == 0 {
		t.Errorf("%d bytes are counted, the entries have %d", p.Bytes(), sum)
	}
	p.Bound(0)
	if n := p.order.Len(); n != 1 {
		t.Errorf("%d entries are left of a pool without room, want the newest alone", n)
	}
}

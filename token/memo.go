package token

import (
	"hash/maphash"
	"sync"
)

// DefaultMemoSize is how many counts a [Memo] keeps when it is not told otherwise: 65,536, which
// holds every part of a very long session in under ten megabytes.
const DefaultMemoSize = 1 << 16

// A Memo keeps the counts of another counter by content, so that a text that was counted once is
// not looked at again. Its memory is bounded: it holds at most the size given to [NewMemo], and
// forgets what has not been asked for longest, half of it at a time. It is safe for concurrent use.
//
// A text is known by its length and a 64-bit hash with a random seed of the process.
type Memo struct {
	base Counter
	half int
	seed maphash.Seed

	mu         sync.Mutex
	young, old map[memoKey]int
}

type memoKey struct {
	hash   uint64
	length int
}

// NewMemo wraps base in a memo of size counts; 0 or less means [DefaultMemoSize].
func NewMemo(base Counter, size int) *Memo {
	if size <= 0 {
		size = DefaultMemoSize
	}
	return &Memo{base: base, half: max(1, size/2), seed: maphash.MakeSeed(), young: map[memoKey]int{}}
}

// Name returns the name of the counter underneath: a memo changes no count.
func (m *Memo) Name() string { return m.base.Name() }

// Count returns what the counter underneath says, from memory when the text was counted before.
func (m *Memo) Count(text string) int {
	if text == "" {
		return m.base.Count(text)
	}
	key := memoKey{maphash.String(m.seed, text), len(text)}
	if n, known := m.recall(key); known {
		return n
	}
	n := m.base.Count(text) // outside the lock: two goroutines may count the same text, and agree
	m.mu.Lock()
	m.keep(key, n)
	m.mu.Unlock()
	return n
}

func (m *Memo) recall(key memoKey) (int, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, known := m.young[key]; known {
		return n, true
	}
	n, known := m.old[key]
	if known {
		delete(m.old, key)
		m.keep(key, n) // asked for again: it is young once more
	}
	return n, known
}

// keep needs the lock.
func (m *Memo) keep(key memoKey, n int) {
	if len(m.young) >= m.half {
		m.old, m.young = m.young, make(map[memoKey]int, m.half)
	}
	m.young[key] = n
}

package llmtest

import (
	"crypto/sha256"
	"maps"
	"sync"
	"time"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

const (
	// lookback is how many places before a mark Anthropic looks for an entry, the mark's own
	// included.
	lookback = 20
	// step is what OpenAI's cached prefixes grow by, in tokens.
	step = 128
	// pieceSize is how finely automatic caches cut a prompt here, in bytes of text.
	pieceSize = 256
)

type key [32]byte

// entry is a prefix that the cache holds.
type entry struct {
	lifetime time.Duration
	expires  time.Time
}

// prefixes is a provider's prompt cache.
type prefixes struct {
	minimum  int           // tokens; 0: the model's own
	lifetime time.Duration // of what is kept without being asked; 0: the provider's own
	longest  bool          // as of Script.LongestPrefix

	mu      sync.Mutex
	entries map[key]entry
}

// account is what a prompt costs, and what the cache learns when it is answered.
type account struct {
	usage session.Usage // Input and Cache; Output is the answer's
	hour  int           // of Cache.Write, the tokens that stay for an hour
	// touched are the entries to write or to keep for longer, with their lifetimes.
	touched map[key]time.Duration
	asked   time.Time
}

// look finds what a prompt would read and write at a time. Nothing is written.
func (c *prefixes) look(p Protocol, name string, q prompt, now time.Time) account {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := account{touched: map[key]time.Duration{}, asked: now}
	salt := key(sha256.Sum256([]byte(string(p) + "\n" + name + "\n" + q.route)))
	minimum := c.minimum
	if minimum == 0 {
		minimum = minimumOf(p, name)
	}
	if p == Anthropic {
		c.marked(&a, q, salt, minimum)
	} else {
		c.automatic(&a, p, q, salt, minimum)
	}
	return a
}

// vendors are whose models a protocol has, as the catalogue calls them.
var vendors = map[Protocol]string{Anthropic: "anthropic", Chat: "openai", Responses: "openai", Gemini: "google"}

var catalogue = sync.OnceValue(model.Default)

// minimumOf is the smallest prefix that is cached for a model, in tokens.
func minimumOf(p Protocol, name string) int {
	if m := catalogue().Lookup(vendors[p] + "/" + name); m.Cache.MinPrefix > 0 {
		return m.Cache.MinPrefix
	}
	return 1024
}

// learn keeps what an answered prompt was found to write.
func (c *prefixes) learn(a account) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[key]entry{}
	}
	maps.DeleteFunc(c.entries, func(_ key, e entry) bool { return !e.expires.After(a.asked) })
	for k, lifetime := range a.touched {
		c.entries[k] = entry{lifetime, a.asked.Add(lifetime)}
	}
}

func (c *prefixes) alive(k key, now time.Time) (entry, bool) {
	e, found := c.entries[k]
	return e, found && e.expires.After(now)
}

func (k key) with(next []byte) key { return sha256.Sum256(append(k[:], next...)) }

// marked is Anthropic's way: entries are written at marks alone, and looked for from marks
// backwards.
func (c *prefixes) marked(a *account, q prompt, salt key, minimum int) {
	chain, sums := make([]key, len(q.blocks)), make([]int, len(q.blocks))
	at, sum, entered := salt, 0, false
	for i, b := range q.blocks {
		if b.level == conversation && !entered {
			entered = true
			at = at.with([]byte(q.manner + pictured(q.blocks)))
		}
		at, sum = at.with(b.sum[:]), sum+b.tokens
		chain[i], sums[i] = at, sum
	}
	hit, last := -1, -1
	for i, b := range q.blocks {
		if b.mark == "" || sums[i] < minimum {
			continue
		}
		last = i
		if j := c.before(q.blocks, chain, i, a.asked); j > hit {
			hit = j
		}
	}
	a.usage.Input = q.tokens
	if last < 0 {
		return
	}
	// What is read stays, all of its own beginnings too.
	for i := 0; i <= hit; i++ {
		if e, alive := c.alive(chain[i], a.asked); alive {
			a.touched[chain[i]] = e.lifetime
		}
	}
	from := 0
	if hit >= 0 {
		from = sums[hit]
		a.usage.Cache.Read = from
	}
	for i := max(hit, 0); i <= last; i++ {
		b := q.blocks[i]
		if b.mark == "" || sums[i] < minimum || i == hit {
			continue
		}
		a.usage.Cache.Write += sums[i] - from
		a.touched[chain[i]] = 5 * time.Minute
		if b.mark == "1h" {
			a.hour += sums[i] - from
			a.touched[chain[i]] = time.Hour
		}
		if c.longest {
			for j := range i {
				if _, known := a.touched[chain[j]]; !known && sums[j] >= minimum {
					a.touched[chain[j]] = a.touched[chain[i]]
				}
			}
		}
		from = sums[i]
	}
	a.usage.Input = q.tokens - from
}

// before finds the entry nearest before a mark, -1 without one. Calls in a row are one place,
// results in a row too.
func (c *prefixes) before(blocks []block, chain []key, mark int, now time.Time) int {
	places := 0
	for i := mark; i >= 0; i-- {
		run := i < mark && blocks[i].kind == blocks[i+1].kind && (blocks[i].kind == "tool_use" ||
			blocks[i].kind == "tool_result")
		if !run {
			places++
		}
		if places > lookback && !c.longest {
			break
		}
		if _, alive := c.alive(chain[i], now); alive {
			return i
		}
	}
	return -1
}

// pictured says whether there are images: the first one, and the last one to go, change how a
// conversation is read.
func pictured(blocks []block) string {
	for _, b := range blocks {
		if b.media {
			return "pictured"
		}
	}
	return ""
}

// automatic is the way of OpenAI and Gemini: every prefix is kept, and the longest one that is
// known is read.
func (c *prefixes) automatic(a *account, p Protocol, q prompt, salt key, minimum int) {
	lifetime := 10 * time.Minute // OpenAI: 5 to 10 minutes without use
	if p == Gemini {
		lifetime = 5 * time.Minute
	}
	if c.lifetime > 0 {
		lifetime = c.lifetime
	}
	at, sum, read, known := salt, 0, 0, true
	for _, b := range q.blocks {
		for cut := range cuts(b) {
			at = at.with(cut.sum[:])
			reached := sum + cut.tokens
			if reached < minimum {
				continue
			}
			if _, alive := c.alive(at, a.asked); known && alive {
				read = reached
			} else {
				known = false
			}
			a.touched[at] = lifetime
		}
		sum += b.tokens
	}
	read = min(read, q.tokens-1) // something is always left to read
	if p != Gemini {
		read -= read % step
	}
	if read < minimum {
		read = 0
	}
	a.usage.Cache.Read = read
	a.usage.Input = q.tokens - read
}

type cut struct {
	sum    key
	tokens int // of the block, up to here
}

// cuts cuts a block into pieces of its text; the last one is the whole block.
func cuts(b block) func(yield func(cut) bool) {
	return func(yield func(cut) bool) {
		for from := 0; from+pieceSize < len(b.text); from += pieceSize {
			to := from + pieceSize
			if !yield(cut{sha256.Sum256([]byte(b.text[from:to])), b.tokens * to / len(b.text)}) {
				return
			}
		}
		yield(cut{b.sum, b.tokens})
	}
}

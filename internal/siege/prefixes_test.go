package siege

import (
	"crypto/sha256"
	"testing"
)

// hashes are the messages of a request.
type hashes = [][sha256.Size]byte

// prefixes holds each request of a conversation against what was sent before it: a message that was
// sent is sent again, unless something was decided in between, or the database was away and the
// gateway could not know what others had decided.
type prefixes struct {
	anew    bool                                  // the history is another one since the newest request
	known   []string                              // decisions there were at the newest request
	before  hashes                                // messages of the newest request
	aside   hashes                                // of one after it that lacks what before has, or has what it lacks
	least   int                                   // results left out of the one of before and aside that has more of them out
	doubted bool                                  // the newest request may lack what was decided while it was under way
	showed  map[string]map[[sha256.Size]byte]bool // messages that each process sent
}

// verdict is what a request is beside those before it.
type verdict int

const (
	goesOn   verdict = iota
	lacks            // it goes without what others had decided, and may
	diverges         // a message is another one, and nothing was decided
)

// follow holds a request of a process against those before it: made are the decisions there are, out
// is how many results are left out of it, and fault is whether the database was away lately. It returns the first message that is another one,
// -1 without any.
func (p *prefixes) follow(now hashes, process string, made []string, out int, fault bool) (at int, v verdict) {
	same := len(made) == len(p.known)
	at = -1
	if !p.anew {
		at = differ(p.before, now)
	}
	beside := at >= 0 && p.aside != nil && differ(p.aside, now) < 0 // it goes on with the one aside
	if beside {
		at = -1
	}
	showed := p.showed[process]
	knew := at >= 0 && showed[p.before[at]] // it has sent that message as it was before
	if showed == nil {
		showed = map[[sha256.Size]byte]bool{}
		p.showed[process] = showed
	}
	for _, message := range now {
		showed[message] = true
	}
	unsure := at >= 0 && p.doubted && (fault || p.aside == nil)
	if same && (unsure || (at >= 0 || beside) && fault && !knew) {
		p.aside, p.least = now, max(p.least, out)
		return at, lacks // the next one goes on with this one, or with the one before
	}
	if same && (at >= 0 || p.aside != nil && !fault && out < p.least) {
		v = diverges
	}
	// A request that left while the database was away may lack what was decided since the one before
	// it: by a request that never arrived, or whose commit was made and nobody heard of it. So may the
	// next ones that go on with it, while the store cannot be read in time.
	p.doubted = fault && (p.anew || at < 0 && (!same || p.doubted))
	p.known, p.before, p.aside, p.anew, p.least = made, now, nil, p.anew && fault, out
	return at, v
}

// differ is the first message that is another one in what goes on, -1 without any.
func differ(before, now hashes) int {
	for i := range min(len(before), len(now)) {
		if before[i] != now[i] {
			return i
		}
	}
	return -1
}

// TestPrefixes holds the judge to conversations that were seen or must be caught: a small letter is a
// message, a large one what stands in its place once that was decided.
func TestPrefixes(t *testing.T) {
	type request struct {
		process, messages string
		decisions         int
		fault             bool
		want              verdict
	}
	for name, requests := range map[string][]request{
		"goes on":  {{"1", "ab", 0, false, goesOn}, {"2", "abc", 0, false, goesOn}},
		"decided":  {{"1", "ab", 0, false, goesOn}, {"1", "Abc", 1, false, goesOn}, {"2", "Abcd", 1, false, goesOn}},
		"diverges": {{"1", "Ab", 1, false, goesOn}, {"2", "abc", 1, false, diverges}},
		"late":     {{"1", "ab", 1, false, goesOn}, {"2", "Abc", 1, false, diverges}},
		"without while the database is away, then with": {
			{"1", "Ab", 1, false, goesOn}, {"2", "abc", 1, true, lacks}, {"1", "Abcd", 1, true, goesOn}},
		"without by the one that sent it": {
			{"1", "Ab", 1, false, goesOn}, {"1", "abc", 1, true, diverges}},
		"without, although the database is back": {
			{"1", "Ab", 1, false, goesOn}, {"2", "abc", 1, true, lacks}, {"2", "abcd", 1, true, lacks},
			{"2", "abcde", 1, false, diverges}},
		// Decided while a request was under way that had it already, then without by another, then with.
		"under way": {
			{"2", "Ab", 1, true, goesOn}, {"2", "Abc", 2, true, goesOn}, {"1", "abcd", 2, true, lacks},
			{"1", "Abcde", 2, true, goesOn}, {"1", "Abcdef", 2, false, goesOn}, {"1", "abcdefg", 2, false, diverges}},
		// The one under way was the one without, and those after it have what was decided.
		"under way without": {
			{"1", "ab", 0, true, goesOn}, {"2", "abc", 1, true, goesOn}, {"1", "Abcd", 1, true, lacks},
			{"2", "Abcde", 1, true, lacks}, {"2", "Abcdef", 1, false, goesOn}, {"1", "abcdefg", 1, false, diverges}},
		// The request that decided was killed; the next one left without, by a process that had sent as much.
		"decided by one that never arrived": {
			{"2", "ab", 0, true, goesOn}, {"1", "abc", 1, true, goesOn}, {"2", "Abcd", 1, true, lacks},
			{"1", "Abcde", 1, true, lacks}, {"1", "abcdef", 1, false, diverges}},
		"a doubt counts once": {
			{"1", "ab", 0, true, goesOn}, {"2", "abc", 1, true, goesOn}, {"1", "Abcd", 1, false, lacks},
			{"2", "aBcde", 1, false, diverges}},
	} {
		t.Run(name, func(t *testing.T) {
			p := prefixes{showed: map[string]map[[sha256.Size]byte]bool{}}
			for i, r := range requests {
				var now hashes
				out := 0
				for _, m := range r.messages {
					if m < 'a' {
						out++
					}
					now = append(now, sha256.Sum256([]byte(string(m))))
				}
				if at, got := p.follow(now, r.process, make([]string, r.decisions), out, r.fault); got != r.want {
					t.Errorf("request %d: %s is %d (from %d), want %d", i, r.messages, got, at, r.want)
				}
			}
		})
	}
}

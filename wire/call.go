package wire

import (
	"hash/fnv"
	"maps"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// callIDs hands out call ids that are unique in one body.
type callIDs struct {
	used  map[string]bool
	given []named // in their order
}

// named is a call and the id that it got.
type named struct {
	part *session.Part
	id   string
}

// newCallIDs returns ids that never hand out one that is in use.
func newCallIDs(used map[string]bool) callIDs {
	ids := callIDs{used: map[string]bool{}}
	maps.Copy(ids.used, used)
	return ids
}

// next returns the call id of a part. An id with characters that some provider refuses, one that is
// too long, empty or repeated is replaced by one that depends on the part and on what came before
// it alone.
func (ids *callIDs) next(p *session.Part) string {
	id := SafeName(p.CallID, 64)
	if p.CallID == "" {
		if id = "call_" + SafeName(p.ID, 59); p.ID == "" {
			id = "call_" + strconv.Itoa(len(ids.used)+1)
		}
	}
	for n, base := 2, id; ids.used[id]; n++ {
		suffix := "_" + strconv.Itoa(n)
		id = base[:min(len(base), 64-len(suffix))] + suffix
	}
	ids.used[id] = true
	ids.given = append(ids.given, named{p, id})
	return id
}

// again gives calls the ids that they had. If one of them
// would get another id, it does nothing and reports false.
func (ids *callIDs) again(calls []named) bool {
	before := len(ids.given)
	for _, c := range calls {
		if ids.next(c.part) != c.id {
			ids.cut(before)
			return false
		}
	}
	return true
}

// cut takes back all ids from the n-th on.
func (ids *callIDs) cut(n int) {
	for _, c := range ids.given[n:] {
		delete(ids.used, c.id)
	}
	ids.given = ids.given[:n]
}

// SafeName makes a name of letters, digits, '_' and '-', of at most that many bytes: every provider
// accepts such names of calls and tools. Two long names that differ anywhere stay different. An
// empty name becomes "unknown".
func SafeName(name string, longest int) string {
	if name == "" {
		return "unknown"
	}
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if len(safe) <= longest {
		return safe
	}
	hash := fnv.New32a()
	hash.Write([]byte(name))
	suffix := "_" + strconv.FormatUint(uint64(hash.Sum32()), 36)
	return safe[:longest-len(suffix)] + suffix
}

package rule

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// HandleLength is how many characters a handle has: 30 bits, so that a collision among 10,000 parts
// is seen once in twenty sessions, and then one of the two is longer.
const HandleLength = 6

// HandleMinimum is how big a piece of a part must be, in tokens, to be worth a handle that is shown
// or listed: what takes its place has about 25 tokens, and a line with a handle about 8, so that
// less is a tax on every step for little to win.
const HandleMinimum = 200

var handleAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Handles gives the parts of a log short names that an agent can write: six letters and digits,
// made from the call's id, so that they are the same after a restart, in a fork, and in every
// request. No two parts have one handle: of two whose names would be equal the one that is named
// later gets a longer one, so a log is named from its beginning, always. A handle stays with its
// part for good, also when the part is gone. The zero value is empty and ready. It is not safe for
// concurrent use.
type Handles struct {
	// Recall: who reads the session can run "winnow recall HANDLE", or call the tool recall of
	// winnow with a handle. Placeholders then begin with these words.
	Recall bool

	byPart map[string]string
	byName map[string]string // handle → id of the part
	read   int
	last   string // id of the message read last
}

// Name gives a handle to each part of a log that can be named: tool calls, files, texts. What has
// one keeps it, also when the log is only a part of the one before.
func (h *Handles) Name(log []session.Message) {
	from := 0
	if h.read > 0 && h.read <= len(log) && log[h.read-1].ID == h.last {
		from = h.read - 1 // the newest message may have got more parts since
	}
	var fresh []*session.Part
	for i := from; i < len(log); i++ {
		for j := range log[i].Parts {
			if p := &log[i].Parts[j]; nameable(p) && h.byPart[p.ID] == "" {
				fresh = append(fresh, p)
			}
		}
	}
	if h.byPart == nil {
		h.byPart, h.byName = make(map[string]string, len(fresh)), make(map[string]string, len(fresh))
	}
	firsts := make([]byte, len(fresh)*HandleLength)
	spread(len(fresh), func(at int) {
		first := firstHandle(fresh[at])
		copy(firsts[at*HandleLength:], first[:])
	})
	names := string(firsts)
	for at, p := range fresh {
		if h.byPart[p.ID] == "" { // another one has its id
			h.give(p, names[at*HandleLength:(at+1)*HandleLength])
		}
	}
	if len(log) > 0 {
		h.read, h.last = len(log), log[len(log)-1].ID
	}
}

// nameable reports whether a part has content of its own, and an id by which something can be said
// about it in a ledger.
func nameable(p *session.Part) bool {
	switch p.Type {
	case session.ToolPart, session.FilePart, session.TextPart, session.ReasoningPart:
		return p.ID != ""
	}
	return false
}

func seedOf(p *session.Part) string {
	if p.CallID != "" {
		return p.CallID
	}
	return p.ID
}

// longHandle is what a handle is the beginning of.
func longHandle(seed string) (long [52]byte) {
	var room [128]byte
	sum := sha256.Sum256(append(room[:0], seed...))
	handleAlphabet.Encode(long[:], sum[:])
	return long
}

// Of is the handle of a part, "" for parts that have no content of their own. A part that has none
// yet gets one.
func (h *Handles) Of(p *session.Part) string {
	if !nameable(p) {
		return ""
	}
	if name, ok := h.byPart[p.ID]; ok {
		return name
	}
	first := firstHandle(p)
	return h.give(p, string(first[:]))
}

// firstHandle is the handle of a part that no other part has taken: the beginning of its long one.
func firstHandle(p *session.Part) (first [HandleLength]byte) {
	var room [128]byte
	sum := sha256.Sum256(append(room[:0], seedOf(p)...))
	var eight [8]byte
	handleAlphabet.Encode(eight[:], sum[:5])
	copy(first[:], eight[:])
	return first
}

// give gives a part that has no handle this one, or a longer one where another part has it.
func (h *Handles) give(p *session.Part, first string) string {
	if h.byPart == nil {
		h.byPart, h.byName = map[string]string{}, map[string]string{}
	}
	if other, taken := h.byName[first]; !taken || other == p.ID {
		h.byPart[p.ID], h.byName[first] = first, p.ID
		return first
	}
	seed := seedOf(p)
	long := longHandle(seed)
	for n := HandleLength + 1; ; n++ {
		if n > len(long) { // two parts with one call id: the log is damaged, the part's own id tells them apart
			long, n = longHandle(seed+"\x00"+p.ID), HandleLength
		}
		name := string(long[:n])
		if other, taken := h.byName[name]; !taken || other == p.ID {
			h.byPart[p.ID], h.byName[name] = name, p.ID
			return name
		}
		if n == len(long) && seed == p.ID {
			return ""
		}
	}
}

// Part is the id of the part that a handle names, "" if there is no such part. Case and blanks
// around it do not matter, nor brackets and quotes that a model puts around it, nor the rest of the
// line that showed it: "[handle k3f9a2]" and "[winnow k3f9a2: read a.go, 3 lines left out]" will
// do.
func (h *Handles) Part(handle string) string {
	return h.byName[bare(handle)]
}

// Near is the handle that is the fewest characters away from one that names nothing, "" when all
// differ in more than two.
func (h *Handles) Near(handle string) string {
	handle = bare(handle)
	best, least := "", 3
	for name := range h.byName {
		if d := apart(handle, name, least+1); d < least || d == least && best != "" && name < best {
			best, least = name, d
		}
	}
	return best
}

// bare is a handle without what stands around it.
func bare(handle string) string {
	const around = " \t\r\n[]()<>\"'`#.,:"
	handle = strings.ToLower(strings.Trim(handle, around))
	for _, word := range []string{"winnow ", "recall ", "handle "} {
		handle = strings.TrimPrefix(handle, word)
	}
	handle, _, _ = strings.Cut(handle, ":")
	return strings.Trim(handle, around)
}

// apart counts the characters that must be changed, added or taken away to make one text of the
// other, as far as most.
func apart(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], most)
}

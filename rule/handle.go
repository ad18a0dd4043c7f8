package rule

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// HandleLength is how many characters a handle has: 30 bits, so that a collision among 10,000 parts is seen once in twenty sessions, and then one of
// the two is longer.
const HandleLength = 6

var handleAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Handles gives the parts of a log short names that an agent can write: six letters and digits, made from the call's id, so that they are
// the same after a restart, in a fork, and in every request. No two parts have one handle. The zero value is empty and ready. It is
// not safe for concurrent use.
type Handles struct {
	byPart map[string]string
	byName map[string]string // handle → id of the part
	read   int
	last   string // id of the message read last
}

// Name gives a handle to each part of a log that can be named: tool calls, files, texts. What has one keeps it, also when the log is only a part of
// the one before.
func (h *Handles) Name(log []session.Message) {
	from := 0
	if h.read > 0 && h.read <= len(log) && log[h.read-1].ID == h.last {
		from = h.read - 1 // the newest message may have got more parts since
	}
	for i := from; i < len(log); i++ {
		for j := range log[i].Parts {
			h.Of(&log[i].Parts[j])
		}
	}
	if len(log) > 0 {
		h.read, h.last = len(log), log[len(log)-1].ID
	}
}

// Of is the handle of a part, "" for parts that have no content of their own. A part that has none yet gets one.
func (h *Handles) Of(p *session.Part) string {
	switch p.Type {
	case session.ToolPart, session.FilePart, session.TextPart, session.ReasoningPart:
	default:
		return ""
	}
	if name, ok := h.byPart[p.ID]; ok {
		return name
	}
	seed := p.ID
	if p.CallID != "" {
		seed = p.CallID
	}
	sum := sha256.Sum256([]byte(seed))
	long := handleAlphabet.EncodeToString(sum[:])
	for n := HandleLength; ; n++ {
		if n > len(long) { // two parts with one call id: the log is damaged, the part's own id tells them apart
			sum = sha256.Sum256([]byte(seed + "\x00" + p.ID))
			long, n = handleAlphabet.EncodeToString(sum[:]), HandleLength
		}
		name := long[:n]
		if other, taken := h.byName[name]; !taken || other == p.ID {
			if h.byPart == nil {
				h.byPart, h.byName = map[string]string{}, map[string]string{}
			}
			h.byPart[p.ID], h.byName[name] = name, p.ID
			return name
		}
		if n == len(long) && seed == p.ID {
			return ""
		}
	}
}

// Part is the id of the part that a handle names, "" when there is none. Case and blanks around it do not matter, nor brackets and quotes that a
// model puts around it.
func (h *Handles) Part(handle string) string {
	return h.byName[strings.ToLower(strings.Trim(handle, " \t\r\n[]()<>\"'`#.,:"))]
}

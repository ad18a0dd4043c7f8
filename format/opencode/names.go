package opencode

import (
	"cmp"
	"math"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// names gives messages and parts ids and times that the product accepts. It orders messages by
// (time created, id) and the parts of a message by id, whatever their order in the file; ids begin
// with msg, prt and ses.
type names struct {
	given   map[string]string // ids of the log → ids of the file
	taken   map[string]bool   // ids of the file
	clock   session.Millis    // time of the latest message so far
	begun   session.Millis    // of the session: messages without a time are taken to be as old
	last    string            // its id
	session string            // the id of the session in the file
}

func newNames(id string) *names {
	return &names{given: map[string]string{}, taken: map[string]bool{}, session: id}
}

// of is the id in the file for an id of the log.
func (n *names) of(id string) string { return cmp.Or(n.given[id], id) }

// seen takes note of a message that is in the file already.
func (n *names) seen(m *session.Message) {
	n.taken[n.of(m.ID)] = true
	for i := range m.Parts {
		n.taken[n.of(m.Parts[i].ID)] = true
	}
	if id := n.of(m.ID); m.Time.Created > n.clock || m.Time.Created == n.clock && id > n.last {
		n.clock, n.last = m.Time.Created, id
	}
}

// message names a message and sets its time so that it comes after all others.
func (n *names) message(m *session.Message) (id string, created session.Millis) {
	created = max(cmp.Or(m.Time.Created, n.begun), n.clock, 1)
	if m.Role != session.User {
		created = session.Millis(math.Ceil(float64(created)))
	}
	id = n.messageID(m.ID, created)
	if created == n.clock && id <= n.last {
		created = session.Millis(math.Floor(float64(n.clock)) + 1)
		id = n.messageID(m.ID, created)
	}
	n.taken[id] = true
	n.given[m.ID] = id
	n.clock, n.last = created, id
	return id, created
}

// messageID keeps an id that the product takes, and makes another of one that it does not.
func (n *names) messageID(id string, created session.Millis) string {
	if proper(session.MessageID, id) && !n.taken[id] {
		return id
	}
	return n.invent(session.MessageID, id, created, 0)
}

// parts names the parts of a message: as they are called when the product would keep them in this
// order, else all anew.
func (n *names) parts(m *session.Message, created session.Millis) []string {
	ids := make([]string, len(m.Parts))
	fine, last := true, ""
	for i := range m.Parts {
		id := m.Parts[i].ID
		fine = fine && proper(session.PartID, id) && !n.taken[id] && id > last
		ids[i], last = id, id
	}
	for i, id := range ids {
		if !fine {
			ids[i] = n.invent(session.PartID, m.ID+"/"+id, created, i)
		}
		n.taken[ids[i]] = true
		n.given[id] = ids[i]
	}
	return ids
}

// invent makes an id from the id that it replaces.
func (n *names) invent(prefix, of string, created session.Millis, position int) string {
	for again := 0; ; again++ {
		text := prefix + " " + of + strings.Repeat("'", again)
		id := session.FormatID(prefix, uint64(created)*4096+uint64(position), fingerprint(text))
		if !n.taken[id] {
			return id
		}
	}
}

// proper reports whether an id is one of the product's kind.
func proper(prefix, id string) bool {
	return len(id) > len(prefix)+1 && strings.HasPrefix(id, prefix) && id[len(prefix)] == '_'
}

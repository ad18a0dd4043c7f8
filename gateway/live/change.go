package live

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/text/secret"
)

// Change is one change of a hub, for the hubs of other processes of the same gateway: [Hub.Take].
// That of a hub that withholds content has no content.
type Change struct {
	Notice  *transport.Notice `json:"notice,omitzero"` // its receipt has its cost alone: Entries have the rest
	Entries []Entry           `json:"entries,omitempty"`
	Deed    *done             `json:"deed,omitzero"`
}

// done is an action of a page: on a session, or on one of its decisions.
type done struct {
	Session string `json:"session"`
	Receipt string `json:"receipt,omitzero"` // or the id of a pin
	Undone  bool   `json:"undone,omitzero"`
}

// Encode writes a change as JSON of at most so many bytes: parts are left out where there is no
// room, nil if that is not enough.
func (c Change) Encode(most int) []byte {
	if text := c.encoded(); len(text) <= most {
		return text
	}
	c.Entries = slices.Clone(c.Entries)
	for i := range c.Entries {
		e := &c.Entries[i]
		e.Parts, e.More = nil, e.More+len(e.Parts)
	}
	if text := c.encoded(); len(text) <= most {
		return text
	}
	return nil
}

func (c Change) encoded() []byte {
	text, err := json.Marshal(c, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil
	}
	return text
}

// Decode reads a change, and ignores members that a newer version may have added.
func Decode(text []byte) (c Change, err error) {
	err = json.Unmarshal(text, &c)
	return c, err
}

// Share has every change told to the hubs of other processes. It is called before the hub is used.
func (h *Hub) Share(tell func(Change)) { h.tell = tell }

// change makes a change, and tells of it.
func (h *Hub) change(c Change) {
	h.Take(c)
	if h.tell != nil {
		h.tell(c)
	}
}

// Watch is told of a request: see transport.Options. It takes a microsecond or two, and waits for
// nobody who reads.
func (h *Hub) Watch(n transport.Notice) {
	if h.withheld {
		n.Title, n.From.Project = "", ""
	}
	n.Title, _ = secret.Mask(n.Title)
	entries := h.entriesOf(n)
	if n.Receipt != nil {
		n.Receipt = &pivot.Receipt{Cost: n.Receipt.Cost}
	}
	h.change(Change{Notice: &n, Entries: entries})
}

// Take takes a change of another process.
func (h *Hub) Take(c Change) {
	entries := slices.Clone(c.Entries)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	if c.Notice != nil {
		h.notice(*c.Notice, entries)
	}
	if d := c.Deed; d != nil {
		h.did(*d, entries)
	}
	h.wake()
}

// notice counts a request. The lock is held.
func (h *Hub) notice(n transport.Notice, entries []Entry) {
	key := group{client: nameOf(n.From.Client), project: n.From.Project, tenant: n.From.Tenant}
	if n.Session != "" {
		key = h.update(n, key).key
	}
	h.sum(key, n)
	for i := range entries {
		h.add(&entries[i], key)
	}
}

// did shows a session again, with new lines of the feed; those about the decision say whether it
// stands. The lock is held.
func (h *Hub) did(d done, entries []Entry) {
	if old := h.rows[d.Session]; old != nil {
		row := *old
		row.Seq = h.seq
		h.rows[d.Session] = &row
		for i := range entries {
			entries[i].Client = row.Client
			h.add(&entries[i], row.key)
		}
	}
	h.mark(d.Session, d.Receipt, d.Undone)
}

// touch says that a session is to be looked at again, with what became of a decision: entry is a
// new line of the feed or nil, and those about the receipt say whether it stands.
func (h *Hub) touch(id string, entry *Entry, receipt string, undone bool) {
	c := Change{Deed: &done{id, receipt, undone}}
	if entry != nil {
		c.Entries = []Entry{*entry}
	}
	h.change(c)
}

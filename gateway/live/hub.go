// Package live shows what goes through a gateway while it goes: sessions, what each request costs
// beside what it would have cost, and every decision with buttons that take it back.
//
// A [Hub] is told of requests by a transport and keeps sums of them, bounded however long it runs.
// A page shows a hub in a browser: it is served by [New], and follows by server-sent events.
// Nothing is queued for a browser: it has a number, and gets what has changed since.
// So a browser that is slow gets less and newer, and makes no request wait.
package live

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

const (
	// MostSessions is how many sessions a hub shows: the newest ones. Sums have the others, too.
	MostSessions = 1000
	// mostEntries is how many decisions a hub remembers.
	mostEntries = 500
	// mostGroups is how many sums by client, project and tenant there are; what is more than that
	// is summed up together.
	mostGroups = 500
	// mostParts is how many parts a decision lists, and mostReason how long a reason is, in
	// characters.
	mostParts  = 12
	mostReason = 300
)

// Row is a session as it is now. It does not change: there is a new one instead.
type Row struct {
	Seq     int64          `json:"seq"`
	ID      string         `json:"id"`
	Client  string         `json:"client,omitzero"`
	Project string         `json:"project,omitzero"`
	Title   string         `json:"title,omitzero"`
	Model   string         `json:"model,omitzero"`
	First   session.Millis `json:"first"`
	Last    session.Millis `json:"last"`

	// Of the newest request: messages, tokens as they were sent, left out of them, and that the
	// model takes.
	Messages int `json:"messages"`
	Prompt   int `json:"prompt"`
	LeftOut  int `json:"leftOut"`
	Window   int `json:"window,omitzero"`

	Decisions int `json:"decisions"`
	Failures  int `json:"failures"`
	report.Gain

	tenant string
	key    group
}

// Group are sums over sessions, those that a hub no longer shows included.
type Group struct {
	Seq      int64  `json:"seq"`
	Client   string `json:"client,omitzero"`
	Project  string `json:"project,omitzero"`
	Sessions int    `json:"sessions"`
	Failures int    `json:"failures"`
	report.Gain

	tenant string
}

type group struct{ client, project, tenant string }

// Entry is one line of the feed: a decision, something that the agent asked for again, or a
// failure.
type Entry struct {
	Seq    int64          `json:"seq"`
	Number int64          `json:"number"` // names it; newer ones have higher numbers
	Time   session.Millis `json:"time"`
	// Session is the one that it is about, "" for none.
	Session string `json:"session,omitzero"`
	Client  string `json:"client,omitzero"`
	Project string `json:"project,omitzero"`
	// Kind is "pruning", "compaction", "restore", "pin", "recall" or "failure".
	Kind     string `json:"kind"`
	Trigger  string `json:"trigger,omitzero"`
	Reason   string `json:"reason,omitzero"`
	Observed bool   `json:"observed,omitzero"` // nothing was left out; it would be

	Tokens int `json:"tokens"` // that it saves; of a recall, that it took
	// Dollars: Step is what each later request saves, Once what it costs at once; nil if unknown.
	Step *float64 `json:"step,omitzero"`
	Once *float64 `json:"once,omitzero"`

	Receipt string `json:"receipt,omitzero"` // that undo takes, "" for what cannot be undone
	Pin     string `json:"pin,omitzero"`     // that unpin takes
	Undone  bool   `json:"undone,omitzero"`

	Rules []RuleSum `json:"rules,omitempty"`
	Parts []Part    `json:"parts,omitempty"`
	More  int       `json:"more,omitzero"` // parts that are not listed

	tenant string
}

// RuleSum is what one rule left out.
type RuleSum struct {
	Rule   string `json:"rule"`
	Parts  int    `json:"parts"`
	Tokens int    `json:"tokens"`
}

// Part is a part that was left out, and why.
type Part struct {
	Part    string `json:"part"` // id
	Rule    string `json:"rule"`
	Because string `json:"because,omitzero"`
	Tokens  int    `json:"tokens"`
}

// Hub keeps what pages show: of its own process, and of others of the same gateway ([Hub.Share]).
// It is safe for concurrent use.
type Hub struct {
	withheld bool
	epoch    string
	tell     func(Change) // nil if there is no other process

	mu      sync.Mutex
	seq     int64
	number  int64
	rows    map[string]*Row
	groups  map[group]*Group
	feed    []*Entry      // oldest first
	changed chan struct{} // closed with the next change; nil while nobody waits
	ended   chan struct{} // closed when pages are to come again
	streams int
	closed  bool
}

// NewHub makes an empty hub. withheld leaves out what was said, and what tells of it: titles,
// folders and reasons. Its sequence numbers count for pages of this hub alone, which the time
// tells.
func NewHub(withheld bool, now time.Time) *Hub {
	return &Hub{withheld: withheld, epoch: strconv.FormatInt(now.UnixNano(), 36), rows: map[string]*Row{},
		groups: map[group]*Group{}, ended: make(chan struct{})}
}

// nameOf is the name of a client without its version.
func nameOf(client string) string {
	name, _, _ := strings.Cut(client, "/")
	return name
}

// update puts what a notice says of its session into a new row.
func (h *Hub) update(n transport.Notice, key group) *Row {
	now := session.Millis(n.Time.UnixMilli())
	row := Row{ID: n.Session, First: now, key: key, tenant: key.tenant, Client: n.From.Client, Project: n.From.Project}
	old := h.rows[n.Session]
	if old != nil {
		row = *old
	} else {
		h.makeRoom()
	}
	if old != nil && old.Client == "" && n.From != (transport.Origin{}) { // an error came first
		h.groupOf(old.key).Sessions--
		h.groupOf(key).Sessions++
		row.key, row.tenant, row.Client, row.Project = key, key.tenant, n.From.Client, n.From.Project
	}
	row.Seq, row.Last = h.seq, now
	if n.Title != "" && (old == nil || old.Title == "") {
		row.Title = n.Title
	}
	if n.Model != "" {
		row.Model = n.Model
	}
	if s := n.Spent; s != nil {
		row.Add(s)
		if !s.Live.Warm {
			row.Messages, row.LeftOut, row.Window, row.Prompt = n.Messages, n.LeftOut, n.Window, s.Usage.Prompt()
		}
	}
	if n.Receipt != nil {
		row.Decisions++
		pay(&row.Gain, n.Receipt)
	}
	if n.Failure != "" {
		row.Failures++
	}
	row.Show()
	h.rows[n.Session] = &row
	if old == nil {
		h.groupOf(row.key).Sessions++
	}
	return &row
}

// pay adds what a summary cost.
func pay(g *report.Gain, receipt *pivot.Receipt) {
	g.Summaries += receipt.Cost
	g.Net -= receipt.Cost
}

// makeRoom forgets the session that nobody has gone on with for longest, if there is no room for
// another one. Its sums stay.
func (h *Hub) makeRoom() {
	if len(h.rows) < MostSessions {
		return
	}
	var oldest *Row
	for _, row := range h.rows {
		if oldest == nil || row.Last < oldest.Last {
			oldest = row
		}
	}
	delete(h.rows, oldest.ID)
}

// groupOf is a new version of a group.
func (h *Hub) groupOf(key group) *Group {
	if h.groups[key] == nil && len(h.groups) >= mostGroups {
		key = group{client: "others", tenant: key.tenant}
	}
	g := Group{Client: key.client, Project: key.project, tenant: key.tenant}
	if old := h.groups[key]; old != nil {
		g = *old
	}
	g.Seq = h.seq
	h.groups[key] = &g
	return &g
}

func (h *Hub) sum(key group, n transport.Notice) {
	g := h.groupOf(key)
	if n.Spent != nil {
		g.Add(n.Spent)
	}
	if n.Receipt != nil {
		pay(&g.Gain, n.Receipt)
	}
	g.Show()
	if n.Failure != "" {
		g.Failures++
	}
}

// add puts an entry into the feed, and forgets the oldest where there is no room.
func (h *Hub) add(e *Entry, key group) {
	h.number++
	e.Seq, e.Number, e.Project, e.tenant = h.seq, h.number, key.project, key.tenant
	if len(h.feed) >= mostEntries {
		h.feed = append(h.feed[:0:0], h.feed[len(h.feed)-mostEntries*3/4:]...)
	}
	h.feed = append(h.feed, e)
}

func (h *Hub) wake() {
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// mark says of the entries about a receipt or a pin whether it stands. The lock is held.
func (h *Hub) mark(id, receipt string, undone bool) (changed bool) {
	for i, e := range h.feed {
		if receipt != "" && e.Session == id && (e.Receipt == receipt || e.Pin == receipt) && e.Undone != undone {
			marked := *e
			marked.Seq, marked.Undone = h.seq, undone
			h.feed[i], changed = &marked, true
		}
	}
	return changed
}

// learn marks what was undone elsewhere, as the session's state has it.
func (h *Hub) learn(id string, decisions []Decision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	changed := false
	for i := range decisions {
		changed = h.mark(id, decisions[i].Receipt, decisions[i].Undone) || changed
	}
	if changed {
		h.wake()
	} else {
		h.seq--
	}
}

// row is a session, nil if it is not shown to this tenant.
func (h *Hub) row(id, tenant string) *Row {
	h.mu.Lock()
	defer h.mu.Unlock()
	if row := h.rows[id]; row != nil && row.tenant == tenant {
		return row
	}
	return nil
}

// Changes are what happened after a number, oldest first.
type Changes struct {
	Seq      int64    `json:"seq"`
	Reset    bool     `json:"reset,omitzero"` // what was known before does not count
	Mode     string   `json:"mode"`
	Groups   []*Group `json:"groups,omitempty"`
	Sessions []*Row   `json:"sessions,omitempty"`
	Feed     []*Entry `json:"feed,omitempty"`
}

// since are the changes for a tenant after a number, 0 for all, and a channel that is closed with
// the next one.
func (h *Hub) since(seq int64, tenant string) (c Changes, next <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c = Changes{Seq: h.seq, Reset: seq == 0 || seq > h.seq}
	if c.Reset {
		seq = 0
	}
	for _, g := range h.groups {
		if g.Seq > seq && g.tenant == tenant {
			c.Groups = append(c.Groups, g)
		}
	}
	for _, row := range h.rows {
		if row.Seq > seq && row.tenant == tenant {
			c.Sessions = append(c.Sessions, row)
		}
	}
	for _, e := range h.feed {
		if e.Seq > seq && e.tenant == tenant {
			c.Feed = append(c.Feed, e)
		}
	}
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return c, h.changed
}

// End ends the streams of all pages, which come again by themselves: to what answers then.
func (h *Hub) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.ended)
	h.ended = make(chan struct{})
}

// Close ends the streams of all pages for good.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.End()
}

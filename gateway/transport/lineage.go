package transport

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/wire"
)

// family are the conversations of one identity: the one that began it, and those that left it at
// some point, because the client rewound or edited its history. Each is a session of the store.
type family struct {
	id     string // of the session that began it
	before string // its id in stores from before credentials were left out of it
	uses   int    // by requests under way; guarded by the transport
	// beginning is what the conversations of all sessions have in common that begin alike: see the
	// function. Guarded by the transport.
	beginning string

	recording pending   // answers
	decided   decisions // what was decided, for when the store is away

	mu     sync.Mutex // held while a request joins the log and is decided about, not while it is sent
	loaded bool
	lines  []*line
}

// line is one conversation: what the client has sent of it, and the answers that it was sent.
type line struct {
	id string // of its session; it never changes
	course
}

// course is how far a conversation has come. Only who holds the lock of its family looks at it.
type course struct {
	chain []digest // of the client's messages in the log
	// open is the newest message where that is an answer as it was streamed, nil otherwise. The
	// client sends it back its own way, and that counts.
	open *session.Message
	// frozen says why nothing is left out of it any more, "" while there is no reason. The
	// session's info keeps it.
	frozen string
	// revision is that of its session when it was last read or written here: at another one another
	// process has gone on with it.
	revision int64
	// shared: another process had gone on with it when it was last looked at.
	shared bool

	recall bool           // its placeholders name the way back
	pruned *pivot.Receipt // what was decided after the newest answer
	asking *exchange      // the newest request: its answer may be still to come
	last   time.Time      // when the provider was last at work on it, by our own clock; zero if unknown
	asked  time.Time      // when it was so for the client
	warmed int            // requests that have kept the cache since
	drop   []string       // tools whose declarations are left out of it, since it began
	keeps  time.Duration  // the longest that a request of it has asked for its cache to be kept
	// accepted is what had been decided when the provider's rules were last held against it
	accepted decided
	summed   summed
	again    []store.Again // what the agent got back of what was left out
	estimate

	delegation delegation
	tools      toolbox

	from  Origin // for those who watch, once known
	known bool
}

// load reads the conversations of the family that the store has, unless they are at hand.
func (f *family) load(ctx context.Context, e *winnow.Engine) error {
	if f.loaded {
		return nil
	}
	return f.reload(ctx, e)
}

// reload reads the conversations of the family that the store has. What is at hand alone of one
// that was known stays.
func (f *family) reload(ctx context.Context, e *winnow.Engine) error {
	// All processes on the store see them in one order: of two that a request agrees with alike,
	// all go on with the same one.
	infos, err := store.Family(ctx, e.Store(), f.id)
	if err != nil {
		return err
	}
	var lines []*line
	for _, info := range infos {
		l := f.line(info.ID)
		if l != nil {
			revision, err := store.ReadingOf(ctx).Revision(ctx, e.Store(), l.id)
			if err != nil {
				return err
			}
			if revision == l.revision {
				store.ReadingOf(ctx).Again(l.id)
			} else {
				l = nil
			}
		}
		if l == nil {
			if l, err = f.reread(ctx, e, info.ID); err != nil {
				return err
			}
		}
		lines = append(lines, l)
	}
	f.lines, f.loaded = lines, true
	return nil
}

// complete reads the conversations of the family that another process has begun. Those at hand stay as
// they are: what is written about one tells whether it is as the store has it.
func (f *family) complete(ctx context.Context, e *winnow.Engine) error {
	infos, err := store.Family(ctx, e.Store(), f.id)
	if err != nil {
		return err
	}
	var lines []*line
	for _, info := range infos {
		l := f.line(info.ID)
		if l == nil {
			if l, err = f.reread(ctx, e, info.ID); err != nil {
				return err
			}
		}
		lines = append(lines, l)
	}
	f.lines = lines
	return nil
}

// carryOver lets a conversation go on that the store has from before credentials were left out of
// identities: it leaves the old one where the request does, with all that was decided. It does
// nothing for a family that the store has. The family's lock is held.
func (t *Transport) carryOver(ctx context.Context, f *family, chain []digest, messages []session.Message) error {
	if len(f.lines) > 0 || f.before == "" || f.before == f.id {
		return nil
	}
	old := &family{id: f.before}
	f.before = ""
	if err := old.load(ctx, t.engine); err != nil {
		return err
	}
	l, n, goesOn := old.find(chain, messages)
	if l == nil {
		return nil
	}
	if goesOn {
		n = len(l.chain) // with the answer as it was streamed
	}
	until, err := t.messageAt(ctx, l, n)
	if err != nil {
		return err
	}
	if err := winnow.ForkAs(ctx, t.engine, l.id, until, f.id); err != nil {
		return err
	}
	return f.reload(ctx, t.engine)
}

// messageAt is the id of the message of a conversation at a place, "" behind its end.
func (t *Transport) messageAt(ctx context.Context, l *line, n int) (id string, err error) {
	s, _, err := t.engine.Session(ctx, l.id)
	if err != nil {
		return "", err
	}
	if said := clients(s.Messages); n < len(said) {
		id = said[n].ID
	}
	return id, nil
}

// reread reads one conversation that the store has. What is at hand alone of one that was known
// stays.
func (f *family) reread(ctx context.Context, e *winnow.Engine, id string) (*line, error) {
	store.ReadingOf(ctx).Again(id)
	s, state, err := e.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return f.renewed(&line{id, courseOf(s, state)}), nil
}

// courseOf is how far the conversation of a session has come.
func courseOf(s session.Session, state store.State) course {
	said := clients(s.Messages)
	c := course{chain: chained(said), again: cameBackTo(state), recall: s.Info.Recall, drop: drops(s.Info),
		frozen: wire.ValueOf(s.Info.Unknown).Get(frozenMember).String(), delegation: delegationOf(s.Info),
		last: lastOf(s.Messages, state.Spent), estimate: estimateOf(state, said), tools: toolboxOf(s.Info),
		revision: state.Revision}
	if last := len(said) - 1; last >= 0 && asStreamed(&said[last]) {
		c.open = &said[last]
	}
	return c
}

// line is the conversation of a session, nil without one.
func (f *family) line(id string) *line {
	for _, l := range f.lines {
		if l.id == id {
			return l
		}
	}
	return nil
}

// renewed is a conversation as it was read, in the place of the one that was at hand, if any: those
// who are at work on that one go on with it.
func (f *family) renewed(read *line) *line {
	l := f.line(read.id)
	if l == nil {
		return read
	}
	was := l.course
	l.course = read.course // the id is read without the lock
	l.shared = read.revision != was.revision
	l.pruned, l.asking, l.asked, l.warmed, l.keeps = was.pruned, was.asking, was.asked, was.warmed, was.keeps
	l.summed, l.from, l.known = was.summed, was.from, was.known
	l.estimate.before, l.estimate.sent = was.estimate.before, was.estimate.sent
	l.estimate.compacted, l.estimate.cost = was.estimate.compacted, was.estimate.cost
	if was.last.After(l.last) {
		l.last = was.last
	}
	if was.tools.changed {
		l.tools = was.tools
	}
	return l
}

// mostChecked is how many conversations that a request may go on with are compared with the store.
const mostChecked = 4

// refresh reads the conversations of a family again if another process has gone on with the one
// that a request goes on with, or may have one that it goes on with. What the request writes about the
// one tells, for it is written only about the conversation as it is at hand: nobody is asked before.
// The family's lock is held.
func (t *Transport) refresh(ctx context.Context, f *family, chain []digest, messages []session.Message) error {
	if !f.loaded {
		return f.load(ctx, t.engine)
	}
	found, _, goesOn := f.find(chain, messages)
	if found == nil {
		return f.reload(ctx, t.engine)
	}
	if !goesOn { // another process may have begun one that it goes on with
		if err := f.complete(ctx, t.engine); err != nil {
			return err
		}
	}
	// Another one may have gone on further with those that the request goes on with. A conversation
	// that says something else than the request before its end never agrees with it further, nor
	// does one that leaves it. The newest ones count: of a conversation that is repeated all the
	// others ended at the same place.
	checked := 0
	for _, l := range slices.Backward(f.lines) {
		if n := l.agrees(chain); !l.goesOn(n, messages) {
			continue
		}
		if checked++; checked > mostChecked && l != found {
			continue
		}
		if seen, _ := store.ReadingOf(ctx).Alone(l.id); seen != 0 {
			continue // it was read for this request
		}
		store.ReadingOf(ctx).Expect(l.id, l.revision)
		if l == found && !l.shared {
			continue
		}
		if whole, err := t.upToDate(ctx, f, l, chain, messages); err != nil || whole {
			return err
		}
	}
	return nil
}

// upToDate reads a conversation again if another process has gone on with it, and notes whether it
// has. If the request does not go on with it then, it may with one that left it, and all of the
// family is read. The family's lock is held.
func (t *Transport) upToDate(ctx context.Context, f *family, l *line, chain []digest, messages []session.Message) (
	whole bool, err error,
) {
	revision, err := store.ReadingOf(ctx).Revision(ctx, t.engine.Store(), l.id)
	if err != nil {
		return false, err
	}
	if revision == l.revision {
		l.shared = false
		return false, nil
	}
	if _, err := f.reread(ctx, t.engine, l.id); err != nil {
		return false, err
	}
	if l.goesOn(l.agrees(chain), messages) {
		return false, nil
	}
	return true, f.reload(ctx, t.engine)
}

// expected is a context for what is done about a conversation as it is at hand, for as long as the
// store answers. Who does it calls stop at its end. The family's lock is held.
func (t *Transport) expected(l *line) (ctx context.Context, stop func()) {
	reading := new(store.Reading)
	reading.Expect(l.id, l.revision)
	ctx, _, stop = t.bounded(context.Background())
	return reading.Within(ctx), stop
}

// outrun reports whether another process has written to a conversation since a request, whose
// context this is, began to use it: what is at hand of it is not as the store has it.
func (l *line) outrun(ctx context.Context) bool {
	_, alone := store.ReadingOf(ctx).Alone(l.id)
	return !alone
}

// noted says that a conversation is at hand as a request, whose context this is, left it in the
// store. If another process wrote to it meanwhile it is not, and the next request reads it again.
// The family's lock is held.
func (l *line) noted(ctx context.Context) {
	switch revision, alone := store.ReadingOf(ctx).Alone(l.id); {
	case !alone:
		l.shared = true
	case revision != 0:
		l.revision = revision
	}
}

// lastOf is the time of the newest message of a log, or of what kept the cache since, zero without
// any.
func lastOf(log []session.Message, spent []store.Spend) (last time.Time) {
	newest := session.Millis(0)
	for i := range log {
		newest = max(newest, log[i].Time.Created, log[i].Time.Completed)
	}
	for i := range spent {
		if known := spent[i].Live; known != nil && known.Warm {
			newest = max(newest, spent[i].Time)
		}
	}
	if newest > 0 {
		last = time.UnixMilli(int64(newest))
	}
	return last
}

// clients are the messages of a log that the client has: not markers, summaries and what else the
// engine wrote.
func clients(log []session.Message) []session.Message {
	var said []session.Message
	for i := range log {
		if isClients(&log[i]) {
			said = append(said, log[i])
		}
	}
	return said
}

// isClients reports whether the client has a message.
func isClients(m *session.Message) bool { return strings.Trim(m.ID, "0123456789") == "m" }

// asStreamed reports whether a message is an answer that the client has not sent back: none of its
// calls has ended.
func asStreamed(m *session.Message) bool {
	return m.Role == session.Assistant && !slices.ContainsFunc(m.Parts, func(p session.Part) bool {
		return p.State != nil && p.State.Final()
	})
}

// repeats reports whether a message is this answer, as a client sends it back: the same calls, and
// without calls the same text.
func repeats(m, answer *session.Message) bool {
	said := func(m *session.Message) (text string) {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == session.ToolPart {
				text += p.Tool + "\x00"
			}
		}
		return cmp.Or(text, strings.TrimSpace(m.Text()))
	}
	return m.Role == session.Assistant && said(m) == said(answer)
}

// agrees is in how many messages a conversation and a request agree. A digest stands for all that
// is before it, too.
func (l *line) agrees(chain []digest) (n int) {
	return sort.Search(min(len(chain), len(l.chain)), func(i int) bool { return chain[i] != l.chain[i] })
}

// goesOn reports whether a request that agrees with a conversation in n messages goes on with it.
func (l *line) goesOn(n int, messages []session.Message) bool {
	answered := l.open != nil && n == len(l.chain)-1
	return n == len(l.chain) || answered && (n == len(messages) || messages[n].Role == session.Assistant)
}

// find is the conversation that a request belongs to, in how many messages they agree, and whether
// the request goes on with it. First of all that is one which ends where the request begins to be
// new, and of several the one that the provider was last at work on: a client that repeats a
// conversation follows its own fork, not the longer original. Else it is the one with which the
// request agrees longest, and of several one that it goes on with. Before either it is one whose
// answer the request repeats; an answer that the client has in another form, or only the beginning
// of, is that answer all the same. nil without any.
func (f *family) find(chain []digest, messages []session.Message) (best *line, agree int, goesOn bool) {
	answered := len(messages) // behind the newest answer that the client has
	for answered > 0 && messages[answered-1].Role != session.Assistant {
		answered--
	}
	var most fit
	for _, l := range f.lines {
		now := fit{agree: l.agrees(chain), last: l.last}
		now.goesOn = l.goesOn(now.agree, messages)
		streamed, end := l.open != nil && now.agree == len(l.chain)-1, now.agree
		if streamed && end < len(messages) {
			end++
		}
		now.repeated = now.goesOn && (!streamed || now.agree == len(chain) || repeats(&messages[now.agree], l.open))
		now.next = now.goesOn && end >= answered
		if best == nil || now.compare(most) > 0 {
			best, most = l, now
		}
	}
	return best, most.agree, most.goesOn
}

// fit is how well a request fits to a conversation.
type fit struct {
	agree    int       // messages
	goesOn   bool      // nothing of the conversation comes behind them
	repeated bool      // the request has its answer
	next     bool      // the conversation ends where the request begins to be new
	last     time.Time // when the provider was last at work on it
}

// compare is positive for one that fits better.
func (a fit) compare(b fit) int {
	yes := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	if a.next && b.next {
		return cmp.Or(yes(a.repeated)-yes(b.repeated), a.last.Compare(b.last), a.agree-b.agree)
	}
	return cmp.Or(yes(a.next)-yes(b.next), a.agree-b.agree, yes(a.goesOn)-yes(b.goesOn), yes(a.repeated)-yes(b.repeated))
}

// adopt lets a request join the log: as it goes on with a conversation, or as a new one. repeated: it
// adds nothing, as it was asked before, and no answer to that is known. The family's lock is held.
func (t *Transport) adopt(ctx context.Context, f *family, doc *format.Document, chain []digest) (
	l *line, repeated bool, err error,
) {
	messages := doc.Session.Messages
	l, n, goesOn := f.find(chain, messages)
	switch {
	case l == nil:
		info := doc.Session.Info
		info.ID, info.Recall = f.id, t.recalls(doc)
		t.chooseTools(&info, messages)
		if _, err = t.engine.Create(ctx, info); err != nil {
			return nil, false, err
		}
		l = &line{f.id, course{recall: info.Recall, drop: drops(info)}}
		f.lines = append(f.lines, l)
	case !goesOn:
		if l, err = t.fork(ctx, f, l, n, chain); err != nil {
			return nil, false, err
		}
		f.lines = append(f.lines, l)
	}
	if err := t.refill(ctx, l.id, messages[:n]); err != nil {
		return nil, false, err
	}
	var confirmed []session.Message
	said := n // how many messages the log has
	if l.open != nil && n == len(l.chain)-1 && n < len(messages) {
		confirmed = append(confirmed, known(messages[n], l.open))
		said++
	}
	if said < len(messages) || confirmed != nil {
		added := slices.Clone(messages[said:])
		for i := range added {
			if m := &added[i]; m.Role == session.User {
				m.Model = doc.Session.Info.Model
			}
		}
		still := func(log []session.Message) bool {
			return !l.outrun(ctx) && (confirmed == nil || isOpen(log, confirmed[0].ID))
		}
		if err := winnow.Extend(ctx, t.engine, l.id, still, confirmed, added...); err != nil {
			return nil, false, err
		}
		l.tools.calls(added...)
		l.open, l.chain = nil, append(l.chain[:n], chain[n:]...)
	} else if goesOn {
		// A request that is asked again adds nothing. What another process decides while it is under
		// way would be left out of the next one, whose reasoning is bound to what this one had.
		still := func([]session.Message) bool { return !l.outrun(ctx) }
		if err := winnow.Extend(ctx, t.engine, l.id, still, nil); err != nil {
			return nil, false, err
		}
		repeated = l.open == nil // else that one was answered
	}
	return l, repeated, nil
}

// isOpen reports whether the newest message of the client's in a log is this one, and an answer
// that the client has not sent back.
func isOpen(log []session.Message, id string) bool {
	for i := range slices.Backward(log) {
		if isClients(&log[i]) {
			return log[i].ID == id && asStreamed(&log[i])
		}
	}
	return false
}

// forked is the id of the conversation that leaves another one of a family behind its first n
// messages. Processes on one store that are asked the same at one moment find the same one: only
// one of them begins it, and the others go on with it. The client may leave twice at one place with
// the same words, for another conversation each time.
func forked(f *family, l *line, n int, chain []digest) string {
	var said digest
	if n < len(chain) {
		said = chain[n]
	}
	for times := len(f.lines); ; times++ {
		id := "live_" + hex.EncodeToString(
			hashed(f.id, l.id, strconv.Itoa(n), strconv.Itoa(times), string(said[:]))[:10])
		if f.line(id) == nil {
			return id
		}
	}
}

// fork begins a conversation that agrees with another one in its first n messages.
func (t *Transport) fork(ctx context.Context, f *family, l *line, n int, chain []digest) (*line, error) {
	before, err := t.messageAt(ctx, l, n)
	if err != nil {
		return nil, err
	}
	id := forked(f, l, n, chain)
	if err := winnow.ForkAs(ctx, t.engine, l.id, before, id); err != nil {
		return nil, err
	}
	s, state, err := t.engine.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return &line{id, course{chain: slices.Clone(l.chain[:n]), frozen: l.frozen, last: l.last, keeps: l.keeps,
		estimate: estimateOf(state, clients(s.Messages)), again: slices.Clone(l.again), recall: l.recall, drop: l.drop,
		delegation: l.delegation,
		tools:      l.tools.clone()}}, nil
}

// known is a message as the client sends it, with what is known of it beside what it says.
func known(m session.Message, was *session.Message) session.Message {
	m.Time, m.Tokens, m.Cost, m.Finish = was.Time, was.Tokens, was.Cost, was.Finish
	m.ModelID, m.ProviderID = was.ModelID, was.ProviderID
	if m.Role == session.User {
		m.Model = was.Model
	}
	return m
}

package transport

import (
	"context"
	"slices"
	"time"

	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/wire"
)

// conversation is one: what the client has sent of it, and the answers that it was sent.
type conversation struct {
	id string // of its session; it never changes
	conversationState
}

// conversationState is how far a conversation has come. Only who holds the lock of its lineage looks at it.
type conversationState struct {
	chain []digest // of the client's messages in the log
	// open is the newest message where that is an answer as it was streamed, nil otherwise. The
	// client sends it back its own way, and that counts.
	open *session.Message
	// frozen says why nothing is left out of it any more, "" while there is no reason. The
	// session's info keeps it.
	frozen string
	// revision is that of its session when it was last read or written here: at another one another
	// process has gone on with it. A negative one stands for messages that wait: see write.
	revision int64
	// shared: another process had gone on with it when it was last looked at.
	shared bool
	// own is how many requests in a row came here since then, or since it was read.
	own int

	recall bool           // its placeholders name the way back
	pruned *pivot.Receipt // what was decided after the newest answer
	asking int64          // the number of the newest request: its answer may be still to come
	drop   []string       // tools whose declarations are left out of it, since it began
	cacheUse
	// accepted is what had been decided when the provider's rules were last held against it
	accepted decisionCount
	summed   summed
	calls    askedBefore
	again    []store.Again // parts that were left out and that the agent got back
	estimate

	delegation delegation
	tools      toolbox

	from *Origin // for those who watch, once known
}

// cacheUse is how a conversation has used the provider's cache.
type cacheUse struct {
	last   time.Time     // when the provider was last at work on it, by our own clock; zero if unknown
	asked  time.Time     // when it was so for the client
	warmed int           // requests that have kept the cache since
	keeps  time.Duration // the longest that a request of it has asked for its cache to be kept
}

// stateOf is how far the conversation of a session has come.
func stateOf(s session.Session, state store.State) conversationState {
	said := clients(s.Messages)
	c := conversationState{chain: chained(said), again: cameBackTo(state), recall: s.Info.Recall, drop: drops(s.Info),
		frozen: wire.ValueOf(s.Info.Unknown).Get(frozenMember).String(), delegation: delegationOf(s.Info),
		cacheUse: cacheUseOf(s.Messages, state.Spent), estimate: estimateOf(state, said),
		tools:    toolboxOf(s.Info),
		revision: state.Revision}
	if last := len(said) - 1; last >= 0 && asStreamed(&said[last]) {
		c.open = &said[last]
	}
	return c
}

// expected is a context for what is done about a conversation as it is at hand, for as long as the
// store answers. Who does it calls stop at its end. The lineage's lock is held.
func (t *Transport) expected(l *conversation) (ctx context.Context, stop func()) {
	reading := new(store.Reading)
	reading.Expect(l.id, l.revision)
	ctx, _, stop = t.bounded(context.Background())
	return reading.Within(ctx), stop
}

// outrun reports whether another process has written to a conversation since a request, whose
// context this is, began to use it: what is at hand of it is not as the store has it.
func (l *conversation) outrun(ctx context.Context) bool {
	_, alone := store.ReadingOf(ctx).Alone(l.id)
	return !alone
}

// noted says that a conversation is at hand as a request, whose context this is, left it in the
// store. If another process wrote to it meanwhile it is not, and the next request reads it again.
// The lineage's lock is held.
func (l *conversation) noted(ctx context.Context) {
	switch revision, alone := store.ReadingOf(ctx).Alone(l.id); {
	case !alone:
		l.shared, l.own = true, 0
	case revision != 0:
		l.revision = revision
	}
}

// cacheUseOf is how a log's conversation has used the cache: its newest message, and what kept the
// cache since, are when. Times are zero without any.
func cacheUseOf(log []session.Message, spent []store.Spend) (use cacheUse) {
	asked := session.Millis(0)
	for i := range log {
		asked = max(asked, log[i].Time.Created, log[i].Time.Completed)
	}
	newest := asked
	for i := range spent {
		if known := spent[i].Live; known != nil && known.Warm && spent[i].Time > asked {
			newest = max(newest, spent[i].Time)
			use.warmed++
		}
	}
	if asked > 0 {
		use.asked = time.UnixMilli(int64(asked))
	}
	if newest > 0 {
		use.last = time.UnixMilli(int64(newest))
	}
	return use
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
func isClients(m *session.Message) bool { return body.IsRead(m) }

// asStreamed reports whether a message is an answer that the client has not sent back: none of its
// calls has ended.
func asStreamed(m *session.Message) bool {
	return m.Role == session.Assistant && !slices.ContainsFunc(m.Parts, func(p session.Part) bool {
		return p.State != nil && p.State.Final()
	})
}

// messageAt is the id of the message of a conversation at a place, "" behind its end.
func (t *Transport) messageAt(ctx context.Context, l *conversation, n int) (id string, err error) {
	s, _, err := t.engine.Session(ctx, l.id)
	if err != nil {
		return "", err
	}
	if said := clients(s.Messages); n < len(said) {
		id = said[n].ID
	}
	return id, nil
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

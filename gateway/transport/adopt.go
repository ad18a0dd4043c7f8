package transport

import (
	"context"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// goOn lets a request join the log: as it goes on with a conversation, or as a new one. repeated: it
// adds nothing, as it was asked before, and no answer to that is known. The lineage's lock is held.
func (t *Transport) goOn(ctx context.Context, f *lineage, doc *format.Document, chain []digest) (
	l *conversation, repeated bool, err error,
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
		l = &conversation{f.id, conversationState{recall: info.Recall, drop: drops(info)}}
		f.conversations = append(f.conversations, l)
	case !goesOn:
		if l, err = t.fork(ctx, f, l, n, chain); err != nil {
			return nil, false, err
		}
		f.conversations = append(f.conversations, l)
	}
	store.ReadingOf(ctx).Behind = t.behind(l)
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

// forked is the id of the conversation that leaves another one of a lineage behind its first n
// messages. Processes on one store that are asked the same at one moment find the same one: only
// one of them begins it, and the others go on with it. The client may leave twice at one place with
// the same words, for another conversation each time.
func forked(f *lineage, l *conversation, n int, chain []digest) string {
	var said digest
	if n < len(chain) {
		said = chain[n]
	}
	for times := len(f.conversations); ; times++ {
		id := "live_" + hex.EncodeToString(
			hashed(f.id, l.id, strconv.Itoa(n), strconv.Itoa(times), string(said[:]))[:10])
		if f.conversation(id) == nil {
			return id
		}
	}
}

// fork begins a conversation that agrees with another one in its first n messages.
func (t *Transport) fork(ctx context.Context, f *lineage, l *conversation, n int, chain []digest) (
	*conversation, error) {
	before, err := t.messageAt(ctx, l, n)
	if err != nil {
		return nil, err
	}
	id := forked(f, l, n, chain)
	if _, err := t.engine.Fork(ctx, l.id, before, id); err != nil {
		return nil, err
	}
	s, state, err := t.engine.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return &conversation{id, conversationState{chain: slices.Clone(l.chain[:n]), frozen: l.frozen,
		cacheUse: cacheUse{last: l.last, keeps: l.keeps},
		estimate: estimateOf(state, clients(s.Messages)), again: slices.Clone(l.again), recall: l.recall, drop: l.drop,
		delegation: l.delegation,
		tools:      l.tools.clone()}}, nil
}

package transport

import (
	"cmp"
	"sort"
	"strings"
	"time"

	"github.com/winnowhq/winnow/session"
)

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
func (l *conversation) agrees(chain []digest) (n int) {
	return sort.Search(min(len(chain), len(l.chain)), func(i int) bool { return chain[i] != l.chain[i] })
}

// goesOn reports whether a request that agrees with a conversation in n messages goes on with it.
func (l *conversation) goesOn(n int, messages []session.Message) bool {
	answered := l.open != nil && n == len(l.chain)-1
	return n == len(l.chain) || answered && (n == len(messages) || messages[n].Role == session.Assistant)
}

// continues reports whether a request plainly goes on with a conversation whose last request was
// answered.
func (l *conversation) continues(read *reading) bool {
	back := len(read.chain) >= len(l.chain) // the client has the answer
	return l.open != nil && back && l.goesOn(l.agrees(read.chain), read.doc.Session.Messages)
}

// find is the conversation that a request belongs to, in how many messages they agree, and whether
// the request goes on with it. First of all that is one which ends where the request begins to be
// new, and of several the one that the provider was last at work on: a client that repeats a
// conversation follows its own fork, not the longer original. Else it is the one with which the
// request agrees longest, and of several one that it goes on with. Before either it is one whose
// answer the request repeats; an answer that the client has in another form, or only the beginning
// of, is that answer all the same. A request that left through a conversation while the store was
// away counts as part of its log: else the next one could follow another process's conversation,
// with other decisions. nil without any.
func (f *lineage) find(chain []digest, messages []session.Message) (best *conversation, agree int, goesOn bool) {
	answered := len(messages) // behind the newest answer that the client has
	for answered > 0 && messages[answered-1].Role != session.Assistant {
		answered--
	}
	var most fit
	through := f.decided.replays()
	for _, l := range f.conversations {
		now := fit{agree: l.agrees(chain), last: l.last}
		now.goesOn = l.goesOn(now.agree, messages)
		streamed, end := l.open != nil && now.agree == len(l.chain)-1, now.agree
		if streamed && end < len(messages) {
			end++
		}
		now.repeated = now.goesOn && (!streamed || now.agree == len(chain) || repeats(&messages[now.agree], l.open))
		now.next = now.goesOn && end >= answered
		if k := through[l.id]; k != nil && k.replayed.precedes(chain) && k.replayed.sent+1 >= answered {
			now.next, now.replayed, now.repeated = true, true, k.replayed.answers(messages)
		}
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
	replayed bool      // it is next by a request that left while the store was away
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
		return cmp.Or(yes(a.repeated)-yes(b.repeated), yes(a.replayed)-yes(b.replayed),
			a.last.Compare(b.last), a.agree-b.agree)
	}
	return cmp.Or(yes(a.next)-yes(b.next), a.agree-b.agree, yes(a.goesOn)-yes(b.goesOn), yes(a.repeated)-yes(b.repeated))
}

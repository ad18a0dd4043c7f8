package transport

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
)

// left is what a session leaves out of a request, and what of it the agent got back.
type left struct {
	rules   map[string]int // tokens by rule; store.Compaction stands for what is folded
	carried []store.Again  // what earlier requests gave back, and this one carries again
	again   []store.Again  // what this one gives back
	only    bool           // the newest answer asked for nothing else
	scale   float64        // of the newest decision: see pivot.Receipt; 0 is 1
}

// tokens is how many are left out.
func (w *left) tokens() (sum int) {
	for _, n := range w.rules {
		sum += n
	}
	return sum
}

// unscaled is a number of tokens as the counter alone estimates it.
func (w *left) unscaled(tokens int) int { return int(float64(tokens) / cmp.Or(w.scale, 1)) }

func (w *left) add(rule string, tokens int) {
	if w.rules == nil {
		w.rules = map[string]int{}
	}
	w.rules[rule] += tokens
}

// leftOut is what the session leaves out of a request's messages: what is pruned, and what each
// fold took off the view as it was then. What was pruned with a fold counts with it. pivot is what
// stands for the messages that are folded.
func leftOut(l *conversation, doc *format.Document, state store.State, pivot []session.Message) (w left) {
	messages, first := doc.Session.Messages, 0
	if pivot != nil {
		first = max(0, session.Index(messages, pivot[0].Marker().TailStartID))
	}
	now := countDecisions(state)
	if now != l.summed.decisionCount || l.summed.messages > len(messages) || len(l.again) > 0 {
		l.summed = summed{decisionCount: now}
	}
	if n := len(state.Receipts); n > 0 {
		w.scale = state.Receipts[n-1].Scale
	}
	w.sum(l, messages, first, state)
	w.again, w.only = cameBack(l, messages, first, state.Ledger)
	return w
}

// summed is what was left out of the first messages of a conversation when so much was decided.
type summed struct {
	decisionCount
	messages int
	rules    map[string]int
}

// sum adds up what is left out of messages, and which of them give back what is left out; those
// before first are folded. Of messages that were summed up before, as much is left out as then.
func (w *left) sum(l *conversation, messages []session.Message, first int, state store.State) {
	counted := map[rule.Key]bool{}
	for i := range state.Receipts {
		r := &state.Receipts[i]
		if r.Marker == "" || state.Undone[r.Marker] {
			continue
		}
		if l.summed.messages == 0 {
			w.add(store.Compaction, r.Saved)
		}
		for _, e := range r.Committed {
			counted[e.Key()] = true
		}
	}
	for rule, tokens := range l.summed.rules {
		w.add(rule, tokens)
	}
	for i := l.summed.messages; i < len(messages); i++ {
		for j := range messages[i].Parts {
			own := messages[i].Parts[j].ID
			for _, e := range state.Ledger.Of(own) {
				if !counted[e.Key()] {
					w.add(e.Rule, e.Saves)
				}
			}
			for _, a := range l.again {
				if a.Part == own && i >= first && len(state.Ledger.Of(own)) == 0 {
					w.carried = append(w.carried, a)
				}
			}
		}
	}
	l.summed.messages, l.summed.rules = len(messages), maps.Clone(w.rules)
}

// cameBack are the outputs that the newest answer got and that give back what is left out, and
// whether it asked for nothing else. Messages before first are folded.
func cameBack(l *conversation, messages []session.Message, first int, ledger rule.Ledger) (
	back []store.Again, only bool) {
	at := session.LastStep(messages)
	if at < 0 {
		return nil, false
	}
	missing := missing{l, messages, first, ledger}
	only = true
	for j := range messages[at].Parts {
		p := &messages[at].Parts[j]
		if p.Type != session.ToolPart {
			continue
		}
		name, asked, found := missing.of(p, at)
		known := slices.ContainsFunc(l.again, func(a store.Again) bool { return a.Part == p.ID })
		if !found || known {
			only = false
			continue
		}
		back = append(back, store.Again{Part: p.ID, Rule: name, Tokens: token.Linear{}.Count(p.State.Result()),
			Asked: asked})
	}
	return back, only && len(back) > 0
}

// cameBackTo are the outputs that gave back what was left out, as the store has them.
func cameBackTo(state store.State) (back []store.Again) {
	for i := range state.Spent {
		if known := state.Spent[i].Live; known != nil {
			back = append(back, known.Again...)
		}
	}
	return back
}

// missing knows what is left out of a conversation.
type missing struct {
	conversation *conversation
	messages     []session.Message
	first        int
	ledger       rule.Ledger
}

// of reports whether a call got back what was left out when it was made: by asking winnow for it,
// or by repeating a call whose output was left out, and getting that very output. name is the rule
// that had left it out, as far as that is known.
func (m missing) of(p *session.Part, at int) (name string, asked, found bool) {
	if p.State == nil || !p.State.Final() {
		return "", false, false
	}
	if handle, ok := recalls(p); ok {
		var handles rule.Handles
		handles.Name(m.messages)
		part := handles.Part(handle)
		for i := range m.messages[:at] {
			for j := range m.messages[i].Parts {
				if m.messages[i].Parts[j].ID == part && part != "" {
					return m.by(i, part), true, true
				}
			}
		}
		return "", true, true
	}
	for _, i := range m.conversation.calls.same(p, m.messages[:at]) {
		for j := range m.messages[i].Parts {
			q := &m.messages[i].Parts[j]
			if q.Tool != p.Tool || q.State == nil || string(q.State.Input) != string(p.State.Input) ||
				q.State.Result() != p.State.Result() {
				continue
			}
			if name := m.by(i, q.ID); name != "" {
				return name, false, true
			}
		}
	}
	return "", false, false
}

// askedBefore indexes the calls of a conversation by tool and input. Each message is read once.
type askedBefore struct {
	seed     maphash.Seed
	read     int              // messages
	messages map[uint64][]int // positions of messages by the hash of a call, oldest first
}

// same returns the positions of messages that may have a call with the tool and input of this one.
func (a *askedBefore) same(p *session.Part, messages []session.Message) []int {
	if a.messages == nil || a.read > len(messages) {
		*a = askedBefore{seed: maphash.MakeSeed(), messages: map[uint64][]int{}}
	}
	for ; a.read < len(messages); a.read++ {
		for j := range messages[a.read].Parts {
			q := &messages[a.read].Parts[j]
			if q.Type != session.ToolPart || q.State == nil {
				continue
			}
			h := a.hash(q)
			if known := a.messages[h]; len(known) == 0 || known[len(known)-1] != a.read {
				a.messages[h] = append(known, a.read)
			}
		}
	}
	return a.messages[a.hash(p)]
}

func (a *askedBefore) hash(p *session.Part) uint64 {
	return maphash.String(a.seed, p.Tool) ^ maphash.Bytes(a.seed, p.State.Input)
}

// by is the rule that had left an output out when the newest answer was given, "" if it was shown
// somewhere.
func (m missing) by(at int, part string) string {
	if at < m.first {
		return store.Compaction
	}
	for _, e := range m.ledger.Of(part) {
		late := !m.conversation.last.IsZero() && e.Time > session.Millis(m.conversation.last.UnixMilli())
		if (e.Field == rule.Output || e.Field == rule.Error) && e.By == "" && !late {
			return e.Rule
		}
	}
	return ""
}

// recalls reports whether a call asks winnow for what was left out, and by which handle: the
// command, or the tool of its MCP server.
func recalls(p *session.Part) (handle string, ok bool) {
	if call.Name(p.Tool) == "recall" || p.Tool == "winnow_recall" || p.Tool == "winnow-recall" {
		return call.Parse(p.State.Input).Text("handle", "id", "part"), true
	}
	if !bytes.Contains(p.State.Input, []byte("winnow recall ")) { // most calls need not be understood
		return "", false
	}
	for _, r := range call.Of(p, "").Ran {
		if r.Name == "winnow" && len(r.Targets) > 0 && r.Targets[0] == "recall" {
			return slices.Concat(r.Targets, []string{""})[1], true
		}
	}
	return "", false
}

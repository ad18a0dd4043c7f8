package transport

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
)

// estimate is what is known of a conversation as it would have been without winnow.
type estimate struct {
	without bill.Conversation
	counted int // messages of the client's whose size is in it
	// before is the same before the newest request, which was sent, and cost is what that would
	// have been.
	before bill.Conversation
	sent   bill.Sent
	cost   bill.Estimate
	// compacted is the conversation that this one goes on with, as its client compacted it, until
	// the first answer.
	compacted *estimate
}

// estimateOf is what a session keeps of it: of a fork, as it was where that left.
func estimateOf(state store.State, said []session.Message) (e estimate) {
	for _, s := range slices.Backward(state.Spent) {
		if s.Live != nil && s.Live.Without != nil {
			e.without = *s.Live.Without
			break
		}
	}
	if e.counted = len(said); e.counted > 0 && said[e.counted-1].Role == session.Assistant {
		e.counted--
	}
	return e
}

// added is the size of the messages that are new in a request, estimated.
func (e *estimate) added(messages []session.Message) (tokens int) {
	count := token.Linear{}.Count
	for i := min(e.counted, len(messages)); i < len(messages); i++ {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			tokens += count(p.Text)
			if p.State != nil {
				tokens += count(string(p.State.Input)) + count(p.State.Result())
			}
		}
	}
	e.counted = len(messages)
	return tokens
}

// without is what a request would have been without winnow. The lineage's lock is held.
func (t *Transport) without(x *exchange, sent bill.Sent) bill.Without {
	e, before := &x.conversation.estimate, x.conversation.without
	habit := x.agent + " " + x.model.String()
	if !reported(sent.Usage) {
		return bill.Without{Usage: sent.Usage, Unpriced: true}
	}
	seen := t.seen(habit)
	was := e.compacted
	e.compacted, e.before, e.sent = nil, before, sent
	if was == nil {
		var w bill.Without
		e.without, w = before.Next(sent, x.agent, seen, x.model)
		e.cost = w.Cost
		return w
	}
	next, w, now := was.before.Compacted(was.sent, sent, x.agent, seen, x.model)
	e.without, e.before = next, bill.Conversation{}
	t.saw(x, habit, now)
	e.cost = w.Cost
	w.Cost = w.Cost.Minus(was.cost)
	return w
}

// summarized notes what the client's own compaction took. It joins no conversation, and is counted
// beside them for what it cost.
func (t *Transport) summarized(x *exchange, a wire.Answer, took took) {
	e := &x.conversation.estimate // of a copy
	cost, priced := x.model.Cost(bill.Usage(took.Usage))
	if !reported(took.Usage) || !priced {
		return
	}
	e.before = e.without
	e.sent = bill.Sent{Usage: took.Usage, New: x.added, Left: x.left.tokens(), Cold: x.cold, Bridged: x.bridged}
	e.cost = bill.Estimate{Likely: cost}
	t.ends(x, a.Parts)
}

// agent is the name with which a program introduces itself.
func agent(r *http.Request) string {
	name, _, _ := strings.Cut(r.UserAgent(), " ")
	name, _, _ = strings.Cut(name, "/")
	return name[:min(len(name), 100)]
}

// habits are what was seen of clients that compact by themselves.
type habits struct {
	known  map[string]bill.Habit  // by the client's name and the model
	ending map[string][]lastWords // by client: conversations that may have ended with a summary
}

// lastWords is a conversation whose newest answer is a text.
type lastWords struct {
	session string
	text    string // the end of the answer
	estimate
}

const (
	// shortest is how many bytes a summary has at least.
	shortest = 400
	// recognised is by how many bytes of its end a summary is known again.
	recognised = 160
	// mostEndings is how many conversations of a client are looked through for it.
	mostEndings = 8
)

// ends notes that the newest answer of a conversation may be a summary with which its client goes on
// in another one.
func (t *Transport) ends(x *exchange, parts []session.Part) {
	said := session.Message{Parts: parts}
	text := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(said.Text()), "</summary>"))
	if len(text) < shortest || calls(parts) {
		return
	}
	one := lastWords{x.conversation.id, strings.Clone(text[len(text)-recognised:]), x.conversation.estimate}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := &t.habits
	if h.ending == nil || len(h.ending) > maxLineages {
		h.ending = map[string][]lastWords{}
	}
	list := slices.DeleteFunc(h.ending[x.client], func(e lastWords) bool { return e.session == x.conversation.id })
	h.ending[x.client] = append(list[max(0, len(list)+1-mostEndings):], one)
}

// follows notes which conversation a new one goes on with, if its client compacted that: the new one
// has the newest answer of the other one among its first messages. The lineage's lock is held.
func (t *Transport) follows(l *conversation, read *reading) {
	if !l.asked.IsZero() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.habits.ending[read.client]
	for i, e := range list {
		has := func(m session.Message) bool { return m.Role == session.User && strings.Contains(m.Text(), e.text) }
		if e.session != l.id && slices.ContainsFunc(read.doc.Session.Messages, has) {
			l.estimate = estimate{compacted: &e.estimate}
			t.habits.ending[read.client] = slices.Delete(list, i, i+1)
			return
		}
	}
}

// habitMember is the member of a session's info that says how its client had compacted the one
// before.
const habitMember = "winnowClientCompacts"

// ReadHabits reads from the store what was seen of clients that compact by themselves. No request
// does: it reads the list of all sessions.
func (t *Transport) ReadHabits(ctx context.Context) error {
	list, err := t.engine.Store().List(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range list {
		kept := wire.ValueOf(l.Info.Unknown).Get(habitMember)
		var seen bill.Habit
		if json.Unmarshal(kept.Get("seen").Bytes(), &seen) == nil {
			t.habits.add(kept.Get("client").String(), seen)
		}
	}
	return nil
}

func (h *habits) add(name string, seen bill.Habit) {
	if h.known == nil {
		h.known = map[string]bill.Habit{}
	}
	h.known[name] = h.known[name].With(seen)
}

// seen is what was seen of a client with a model.
func (t *Transport) seen(name string) bill.Habit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.habits.known[name]
}

// saw notes what was seen of a client with a model.
func (t *Transport) saw(x *exchange, name string, seen bill.Habit) {
	if seen.At == 0 {
		return
	}
	t.mu.Lock()
	t.habits.add(name, seen)
	t.mu.Unlock()
	x.habit = map[string]jsontext.Value{habitMember: span.Make("client", name, "seen", seen)}
}

// noteHabit writes down what an answer showed of its client.
func (t *Transport) noteHabit(ctx context.Context, x *exchange) error {
	if x.habit == nil {
		return nil
	}
	return t.engine.Amend(ctx, x.conversation.id, winnow.Amendment{Own: x.habit})
}

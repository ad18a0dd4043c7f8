package transport

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/protocols"
)

// maxAnswer is how many bytes of an answer are kept to be understood. A longer one is relayed all
// the same, and does not join the log.
const maxAnswer = 32 << 20

// relay is the body of an answer on its way to the client. It keeps a copy, which is read when the
// answer has ended, or when the client has left: of a long one its end, where the reports are.
type relay struct {
	io.ReadCloser
	copied   bytes.Buffer
	tooLong  bool
	finished func(answer []byte, tooLong bool)
	once     sync.Once
}

// listen lets a function have a copy of an answer, with its head, when it has ended. tooLong says
// that the copy begins somewhere in it.
func listen(answer *http.Response, heard func(head http.Header, copied []byte, tooLong bool)) {
	head := answer.Header.Clone()
	answer.Body = &relay{ReadCloser: answer.Body, finished: func(copied []byte, tooLong bool) {
		heard(head, copied, tooLong)
	}}
}

func (r *relay) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if over := r.copied.Len() + n - maxAnswer; over > 0 {
		r.tooLong = true
		r.copied.Next(max(over, maxAnswer/2))
	}
	r.copied.Write(p[:n])
	if err != nil {
		r.finish()
	}
	return n, err
}

func (r *relay) Close() error {
	err := r.ReadCloser.Close()
	r.finish()
	return err
}

func (r *relay) finish() {
	r.once.Do(func() { r.finished(r.copied.Bytes(), r.tooLong) })
}

// understood is an answer as its provider's protocol says it.
func understood(p protocol, head http.Header, answer []byte) wire.Answer {
	answer, _ = unpacked(encoding(head), answer, maxAnswer) // what came before an error counts
	s := protocols.Of(p.kind).Stream(nil)
	if strings.HasPrefix(head.Get("Content-Type"), "text/event-stream") {
		events := wire.NewEventReader(bytes.NewReader(answer))
		for {
			e, err := events.Next()
			if err != nil || s.Take(e.Data) {
				return s.Answer()
			}
		}
	}
	text, cut := wire.Complete(answer)
	for _, e := range p.events(text) {
		s.Take(e)
	}
	a := s.Answer()
	if len(cut) > 0 { // the last number may be cut, too
		a.Ended, a.Usage = false, session.Usage{}
	}
	return a
}

// heard records the answer to a request: what was said joins the log, until the client sends it
// back its own way, and what it took is reported to the engine. The client may have left, and its
// context with it.
func (t *Transport) heard(x *exchange, a wire.Answer, took took) {
	x.lineage.mu.Lock()
	defer x.lineage.mu.Unlock()
	l := x.conversation
	ctx, stop := t.expected(l)
	defer stop()
	defer func() {
		x.conversation.noted(ctx)
		x.lineage.seen(x.conversation)
		t.writeSoon(x.lineage, x.conversation)
	}()
	now := t.options.Now()
	l.last, l.asked = now, now
	known := t.live(x, took.Usage)
	took.on(known)
	defer t.counted(x, known, took.Usage)
	u := took.Usage
	if t.options.Mode == Observe {
		u = t.asIfEdited(x, u)
	}
	// While another request is under way nothing is decided: that one keeps what it was built from, and
	// a decision counts from the first request that carries it.
	alone := l.asking == x.number && !x.repeated
	x.inRound = calls(a.Parts)
	spent := append(t.takeBeside(x.client), store.Spend{Time: session.Millis(x.began.UnixMilli()), Kind: "step",
		Model: x.model.String(), Usage: u, Live: known})
	// The answer waits for the report, and is written with it.
	reading := store.ReadingOf(ctx)
	reading.Behind = t.options.Later
	record := func() error {
		if err := t.said(ctx, x, a, u, now); err != nil {
			return err
		}
		n := len(x.conversation.chain)
		reading.Behind = reading.Behind && t.behind(x.conversation)
		return t.report(ctx, x, u, spent, reported(a.Usage) && n > x.sent, alone && n == x.sent+1)
	}
	err := record()
	for tries := 1; tries < mostTries && isOutrun(err); tries++ {
		alone, reading.Behind = false, false
		if err = x.lineage.reload(ctx, t.engine, true); err != nil {
			break
		}
		x.conversation = cmp.Or(x.lineage.conversation(l.id), l)
		if !x.joined() {
			err = t.report(ctx, x, u, spent, false, false)
			continue // its messages waited, and are gone: the client sends them again, with the answer
		}
		err = record()
	}
	if err != nil {
		t.failed(x.lineage, "record an answer", err)
		return
	}
	reading.Behind = false
	l = x.conversation
	t.ends(x, a.Parts)
	if err := t.noteHabit(ctx, x); err != nil {
		t.failed(x.lineage, "note how the client compacts", err)
	}
	t.cleared(ctx, x, a.Cleared)
	l.tools.calls(session.Message{Parts: a.Parts})
	if err := t.noteTools(ctx, l); err != nil {
		t.failed(x.lineage, "note the tools", err)
	}
}

// said lets an answer join the log, unless the client has gone on without it, or with another one.
func (t *Transport) said(ctx context.Context, x *exchange, a wire.Answer, u session.Usage, now time.Time) error {
	l := x.conversation
	if n := x.sent; len(a.Parts) == 0 || len(l.chain) != n && (l.open == nil || len(l.chain) != n+1) {
		return nil
	}
	m := answerMessage(x, a)
	m.Time.Created, m.Time.Completed = session.Millis(x.began.UnixMilli()), session.Millis(now.UnixMilli())
	if reported(a.Usage) {
		x.priced(&m, u) // so that it need not be written again for that
	}
	if l.open != nil {
		if err := t.reopen(ctx, l, m); err != nil {
			return err
		}
	} else {
		if err := t.engine.Append(ctx, l.id, m); err != nil {
			return err
		}
		l.chain = append(l.chain, digest{})
	}
	l.open = &m
	return nil
}

// joined reports whether the log has all that the client sent.
func (x *exchange) joined() bool {
	chain := x.conversation.chain
	return len(chain) >= x.sent && chain[x.sent-1] == x.newest
}

// reopen writes an answer in the place of the newest one, as long as the client has not sent that
// back.
func (t *Transport) reopen(ctx context.Context, l *conversation, m session.Message) error {
	still := func(log []session.Message) bool { return isOpen(log, m.ID) }
	return winnow.Extend(ctx, t.engine, l.id, still, []session.Message{m})
}

// report tells the engine what an answer took. The engine may prune or fold the conversation at
// that moment; where it must not, as the conversation has gone on already, or the transport does not
// know what another process wrote, the usage is only written down. whole is false for an answer that
// is not in the log, or came without a report; alone, where another request may be under way.
func (t *Transport) report(ctx context.Context, x *exchange, u session.Usage, spent []store.Spend, whole, alone bool,
) error {
	binds := x.model.BoundReasoning && x.inRound
	if whole && alone && !x.held && !binds && !x.conversation.outrun(ctx) && t.options.Mode != Safe {
		return t.ended(ctx, x, u, spent)
	}
	own := &spent[len(spent)-1]
	own.Cost, _ = x.model.Cost(bill.Usage(u))
	if whole {
		own.Message = x.next
		if x.took(u) {
			if err := t.reopen(ctx, x.conversation, *x.conversation.open); err != nil && !isOutrun(err) {
				return err
			}
		}
	}
	return t.engine.Amend(ctx, x.conversation.id, winnow.Amendment{Spent: spent})
}

// took notes in an answer as it was streamed what it took; it reports whether it could.
func (x *exchange) took(u session.Usage) bool {
	m := x.conversation.open
	if m == nil || m.ID != x.next || reflect.DeepEqual(m.Tokens, &u) {
		return false
	}
	x.priced(m, u)
	return true
}

// priced notes in an answer what it took.
func (x *exchange) priced(m *session.Message, u session.Usage) {
	m.Tokens = &u
	if cost, priced := x.model.Cost(bill.Usage(u)); priced {
		m.Cost = &cost
	}
}

// answerMessage is the message of an answer, with the ids that the client's next request gives it.
func answerMessage(x *exchange, a wire.Answer) session.Message {
	m := session.Message{Parts: a.Parts}
	m.ID, m.Role, m.Finish = x.next, session.Assistant, string(a.Finish)
	m.ModelID, m.ProviderID = x.model.ID, x.protocol.provider
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.ID = fmt.Sprintf("%s:%d", m.ID, i); p.Type == session.ToolPart {
			p.ID = p.CallID
		}
	}
	return m
}

package transport

import (
	"bytes"
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/wire"
)

// Notice is one thing that happened to a request, for those who watch: see Options.Watch. It was
// answered (Spent), something was decided about its conversation (Receipt), or it failed (Failure).
type Notice struct {
	Time time.Time
	From Origin
	// Session is the id of its conversation, "" for a request beside them.
	Session string
	Title   string // of the session
	Model   string // provider/id

	// Spent is what an answered request took, and what is known of that; nil otherwise.
	Spent *store.Spend
	// Messages are those that the client sent, LeftOut the tokens that were left out of them, and
	// Window those that the model takes, 0 if that is unknown.
	Messages, LeftOut, Window int

	Observed bool // nothing is changed, to see what could be saved

	// Receipt is what was decided: a pruning or a compaction. It is not to be changed.
	Receipt *pivot.Receipt

	// Failure says in words of ours, without content, what did not work; "" if everything did.
	// Status is the provider's, if it refused.
	Failure string
	Status  int
}

// Origin tells whose conversation it is.
type Origin struct {
	Client  string // name and version with which the program introduces itself
	Tenant  string // the name of its token, "" without
	Project string // the working folder that the program tells its model, "" if it tells none
}

// originOf is the origin of a request. d is nil for one that nobody read.
func originOf(r *http.Request, d *wire.Decoded) Origin {
	name, _, _ := strings.Cut(r.UserAgent(), " ")
	o := Origin{Client: name[:min(len(name), 100)], Tenant: r.Header.Get(clientHeader)}
	if d != nil {
		o.Project = folder(d.Text)
	}
	return o
}

// mostPreamble is how many bytes of a request may stand before the working folder: agents tell it
// in their system prompt, or in the first message.
const mostPreamble = 256 << 10

// folder is the working folder that an agent tells its model in a request, "" if it tells none.
func folder(text []byte) string {
	text = text[:min(len(text), mostPreamble)]
	for _, word := range []string{"orking directory: ", "in the directory: ", "<cwd>"} {
		_, found, ok := bytes.Cut(text, []byte(word))
		if !ok {
			continue
		}
		found = bytes.TrimPrefix(found, []byte(`\n`))
		end := bytes.IndexAny(found, "\"\\<\n")
		if end > 0 && end < 400 && (found[0] == '/' || found[0] == '~') {
			return string(bytes.TrimRight(found[:end], " "))
		}
	}
	return ""
}

// notice tells those who watch; they must not make anybody wait.
func (t *Transport) notice(n Notice) {
	if t.options.Watch != nil {
		n.Time, n.Observed = t.options.Now(), t.options.Mode == Observe
		t.guarded("tell of a request", func() { t.options.Watch(n) })
	}
}

// about is a notice about a request.
func (x *exchange) about() Notice {
	return Notice{From: x.from, Session: x.conversation.id, Title: x.title, Model: x.model.String(), Messages: x.sent,
		LeftOut: x.left.tokens(), Window: cmp.Or(x.model.Limits.Input, x.model.Limits.Context)}
}

// noticed is what those who watch are told of a request: the origin of its conversation is looked
// up once.
func (t *Transport) noticed(r *http.Request, x *exchange, read *reading) {
	if t.options.Watch == nil {
		return
	}
	l := x.conversation
	if l.from == nil {
		from := originOf(r, read.doc.Native.(*body.Native).Decoded)
		l.from = &from
	}
	x.from, x.title = *l.from, read.doc.Session.Info.Title
	for _, receipt := range x.untold {
		n := x.about()
		n.Receipt = receipt
		t.notice(n)
	}
	x.untold = nil
}

// watchDecided keeps what was decided until it can be told whose it is, or tells it.
func (t *Transport) watchDecided(x *exchange, out winnow.Outcome) {
	if t.options.Watch == nil {
		return
	}
	for _, receipt := range []*pivot.Receipt{out.Pruned, out.Compacted} {
		switch {
		case receipt == nil:
		case x.conversation.from != nil:
			n := x.about()
			n.From, n.Receipt = *x.conversation.from, receipt
			t.notice(n)
		default:
			x.untold = append(x.untold, receipt)
		}
	}
}

// unanswered tells that a request got no answer, or another one than was wanted.
func (t *Transport) unanswered(x *exchange, answer *http.Response, err error) {
	n := x.about()
	switch {
	case err != nil:
		n.Failure = "no answer came"
	default:
		n.Failure, n.Status = "the provider refused the request", answer.StatusCode
	}
	t.notice(n)
}

// answered tells what a request took.
func (t *Transport) answered(x *exchange, known *store.Live, u session.Usage) {
	n := x.about()
	n.Spent = &store.Spend{Time: session.Millis(x.began.UnixMilli()), Kind: "step", Model: n.Model, Usage: u,
		Live: known}
	t.notice(n)
}

package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// maxBody is how many bytes of a request are read to be understood; a longer one passes as it is.
const maxBody = 64 << 20

// RoundTrip sends a request and returns its answer. The request is not changed, as of
// [http.RoundTripper].
//
// A request that was edited and is refused with 400 or 422 is sent once more as it came. If that is
// accepted, nothing is left out of the conversation from then on; if not, the first refusal is
// returned.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	in, err := t.receive(r)
	if err == nil {
		err = t.permitted(in)
	}
	switch {
	case err != nil:
		in.abandon()
		return nil, err
	case in.passes:
		return t.pass(in)
	case in.purpose == wire.Count:
		return t.options.Base.RoundTrip(t.counting(in))
	}
	m, err := t.meter(in)
	if err != nil {
		return nil, err
	}
	defer m.leave()
	x := t.begin(in) // identify, adopt, decide, splice
	if x == nil {
		answer, err := t.beside(in, m)
		in.fares(answer, err)
		return answer, err
	}
	answer, err := t.deliver(in, x, m)
	in.fares(answer, err)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.unaccepted(in, x, answer, err, m)
		return answer, err
	}
	t.record(in, x, answer, m)
	return answer, nil
}

// incoming is a request as it came. Its body can be had again, but for one that passes.
type incoming struct {
	*http.Request
	protocol protocol
	purpose  wire.Purpose
	original []byte // its body as plain text
	passes   bool   // it is sent as it came, and nobody reads its answer
	uncosted string // why nobody can tell what one that passes costs, "" if that is known
	// fared tells a step that the request did not wait for whether the request was accepted.
	fared chan bool
}

// fares tells whether a request was accepted, or may have been: its client did not wait for that.
func (in incoming) fares(answer *http.Response, err error) {
	if err != nil {
		in.fared <- in.Context().Err() != nil
		return
	}
	in.fared <- answer.StatusCode == http.StatusOK
}

// receive reads a request as far as it is for us.
func (t *Transport) receive(r *http.Request) (in incoming, err error) {
	in.Request, in.fared = r, make(chan bool, 1)
	in.protocol, in.purpose = route(r)
	off := t.options.Mode == Off
	if asked := r.Header.Get(Header); asked != "" {
		in.Request = r.Clone(r.Context())
		in.Header.Del(Header)
		off = off || Mode(asked) == Off
	}
	if off && in.purpose == wire.Generate {
		in.purpose = wire.Billed
	}
	in.passes = off && in.purpose == wire.Count || in.purpose == wire.Billed && t.options.Reserve == nil
	unread := in.purpose == wire.Other || in.purpose == wire.Free || r.Body == nil
	if unread || in.passes && t.options.Permit == nil && t.options.Refer == nil {
		in.passes, in.uncosted = true, metersNot(r, in.purpose)
		return in, nil
	}
	read := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0)+bytes.MinRead, maxBody)))
	if _, err := read.ReadFrom(io.LimitReader(r.Body, maxBody+1)); err != nil {
		return in, errors.Join(fmt.Errorf("read the request's body: %w", err), r.Body.Close())
	}
	if read.Len() > maxBody {
		in.Request = in.Clone(r.Context())
		in.Body = rest{io.MultiReader(read, r.Body), r.Body}
		in.passes, in.uncosted = true, "it is larger than winnow reads"
		return in, nil
	}
	r.Body.Close()
	in.Request = again(in.Request, read.Bytes())
	in.original, err = unpacked(encoding(in.Header), read.Bytes(), maxBody)
	if err != nil {
		in.Request = with(in.Request, nil, false)
		in.passes, in.uncosted = true, "winnow cannot unpack it"
	}
	return in, nil
}

// pass sends a request as it came, unless a budget would have to know what it costs.
func (t *Transport) pass(in incoming) (*http.Response, error) {
	if err := t.unmetered(in.Request, in.uncosted); err != nil {
		in.abandon()
		return nil, err
	}
	return t.options.Base.RoundTrip(in.Request)
}

// abandon closes a body that was begun to be read. The server closes an unread one itself, behind
// the answer.
func (in incoming) abandon() {
	if begun, ok := in.Body.(rest); ok {
		begun.Close()
	}
}

// rest is what is left of a body that was begun to be read.
type rest struct {
	io.Reader
	io.Closer
}

// exchange is one request that belongs to a conversation, and what became of it: a value for each
// step that it has come through.
type exchange struct {
	request                    // identify
	conversation *conversation // adopt
	decision                   // decide
	cut                        // splice
	replayed     bool          // it was not decided about: nothing of it joins the log
	number       int64         // among the requests that were decided about, from 1
	outcome                    // record
}

// deliver sends what is left of a request, and once more all of it if that is refused.
func (t *Transport) deliver(in incoming, x *exchange, m *meter) (*http.Response, error) {
	if x.replayed {
		t.coolOne(x.conversation.id) // its client is back
	}
	m.of(x)
	answer, err := t.send(x.outgoing(in.Request), m, x.body)
	if err == nil && (x.edited || x.delegated != nil) && refused(answer.StatusCode) {
		answer, err = t.resend(in, x, answer, m)
	}
	t.tell(x)
	return answer, err
}

// unaccepted notes that a request got no answer, or a refusal.
func (t *Transport) unaccepted(in incoming, x *exchange, answer *http.Response, err error, m *meter) {
	defer t.release(x.lineage)
	m.refused(in.Context(), err)
	t.unanswered(x, answer, err)
	switch {
	case x.replayed:
	case err == nil || in.Context().Err() == nil:
		t.withdraw(x)
	default: // the provider may have taken it, and its client left
		t.accepted(x)
	}
}

// record has an answer recorded when it has ended.
func (t *Transport) record(in incoming, x *exchange, answer *http.Response, m *meter) {
	t.accepted(x)
	if x.replayed {
		x.lastReplayed(t.options.Now(), nil)
		t.hear(in.protocol, answer, m, nil, func(a wire.Answer, took took) {
			defer t.release(x.lineage)
			x.lastReplayed(t.options.Now(), &session.Message{Parts: a.Parts})
			if x.summary {
				t.summarized(x, a, took)
			}
			t.countedBeside(in.Request, x.client, x.model, took, x.left.tokens() > 0)
		})
		return
	}
	t.lookAt(in.Header, answer.Header)
	t.hear(in.protocol, answer, m, x.lineage, func(a wire.Answer, took took) {
		t.heard(x, a, took)
		t.keepWarm(x, in.Request, a)
	})
}

// hear measures an answer when it has ended, and tells what it says and took. The next request of
// the lineage waits for that, which is released then; without a lineage the client waits.
func (t *Transport) hear(p protocol, answer *http.Response, m *meter, f *lineage, heard func(wire.Answer, took)) {
	m.hands()
	listen(answer, func(head http.Header, copied []byte, long bool) {
		t.afterwards(f, func() {
			if f != nil {
				defer t.release(f)
			}
			defer m.abandon()
			t.guarded("read an answer", func() {
				a := understood(p, head, copied)
				heard(a, m.answered(&a, long))
			})
		})
	})
	m.silence(answer)
}

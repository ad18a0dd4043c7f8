package siege

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// unheard are the headers of an answer that each listener writes for itself.
var unheard = []string{"Date", "Connection", "Transfer-Encoding"}

// TestGateway_everyFault lets a provider fail in every way that there is, at requests as they came
// and at pruned ones: the client hears to the byte what the provider said, as without the gateway,
// and nothing is sent twice but a pruned request that was refused.
func TestGateway_everyFault(t *testing.T) {
	for i, protocol := range llmtest.Protocols() {
		if i > 0 && testing.Short() {
			break
		}
		for j, stream := range []bool{true, false} {
			for _, mode := range []transport.Mode{transport.Observe, transport.Full} {
				if mode == transport.Observe && !*long {
					continue
				}
				t.Run(fmt.Sprintf("%s, streamed %t, %s", protocol, stream, mode), func(t *testing.T) {
					faults := llmtest.Faults()
					if !*long { // a third of them each, so that each is met by some
						faults = slices.DeleteFunc(faults, func(f llmtest.Fault) bool { return slices.Index(llmtest.Faults(), f)%3 != (2*i+j)%3 })
					}
					everyFault(t, protocol, stream, mode, faults)
				})
			}
		}
	}
}

func everyFault(t *testing.T, protocol llmtest.Protocol, stream bool, mode transport.Mode, faults []llmtest.Fault) {
	v := visit(t, protocol, stream, 7, 32+len(faults))
	alone := provide(t, v)
	behind := provide(t, v)
	g := &gate{mode: mode}
	g.open(t, behind.URL)
	steps, pruned, refused := v.steps(), 0, 0
	both := func(at int, f llmtest.Fault) {
		t.Helper()
		alone.fault.Store(f)
		behind.fault.Store(f)
		want, got, sent := met(t, v, alone, g, behind, at, f)
		original := v.body(at)
		edited := !bytes.Equal(sent[0], original)
		if mode == transport.Observe && edited {
			t.Fatalf("%s: step %d is another one", f, at)
		}
		tries := 1
		if edited {
			pruned++
			if len(sent) == 2 && bytes.Equal(sent[1], original) && (want.status == 400 || want.status == 422) {
				tries = 2
				refused++
			}
		}
		if len(sent) != tries {
			t.Errorf("%s: step %d was sent %d times, want %d", f, at, len(sent), tries)
		}
		same(t, f, want, got)
	}
	for i, at := range steps {
		g.pass(20 * time.Second)
		if n := i - (len(steps) - len(faults) - 1); n >= 0 && n < len(faults) {
			both(at, faults[n])
		}
		both(at, "")
	}
	if mode == transport.Full && (pruned < len(faults) || refused == 0 && *long) {
		t.Errorf("%d requests were pruned, %d of these refused: the test does not show what it is to show", pruned, refused)
	}
	if problems := behind.Problems(); len(problems) > 0 {
		t.Errorf("the provider finds fault: %s", problems)
	}
	t.Logf("%d requests, %d of them pruned, %d of these refused and sent as they came", len(steps)+len(faults), pruned, refused)
}

// met is a request that meets a fault: what is heard of it without the gateway, and with it, and
// what was sent from there.
func met(t *testing.T, v *visitor, alone *provider, g *gate, behind *provider, at int, f llmtest.Fault) (
	want, got heard, sent [][]byte,
) {
	t.Helper()
	ask := func(base string, p *provider) heard {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if !f.Hangs() {
			return v.hear(v.request(ctx, base, at))
		}
		h := v.leave(ctx, cancel, base, at, p, f)
		records, err := p.Settled(t.Context())
		if last := records[len(records)-1]; err != nil || !last.Aborted {
			t.Errorf("%s: the provider did not hear that the client has left: %v", f, err)
		}
		return h
	}
	g.tap.forget()
	want, got = ask(alone.URL, alone), ask(g.url, behind)
	sent, last := g.tap.seen()
	if len(sent) == 0 {
		t.Fatalf("%s: step %d was not sent", f, at)
	}
	switch {
	case last.status == 0: // the gateway says that there was no answer
	case f.Hangs():
		if !bytes.HasPrefix(last.body, got.body) {
			t.Errorf("%s: heard %q, said was %q", f, got.body, last.body)
		}
	case !bytes.Equal(last.body, got.body) || last.status != got.status || (last.err == nil) != (got.err == nil):
		t.Errorf("%s: heard %d %q, %v; said was %d %q, %v", f, got.status, got.body, got.err, last.status, last.body, last.err)
	}
	for name, values := range last.header {
		if !slices.Contains(unheard, name) && !slices.Equal(values, got.header[name]) {
			t.Errorf("%s: header %s is %q, was %q", f, name, got.header[name], values)
		}
	}
	for name := range got.header {
		if last.status != 0 && last.header[name] == nil && !slices.Contains(unheard, name) {
			t.Errorf("%s: header %s is heard, and was not said", f, name)
		}
	}
	return want, got, sent
}

// leave sends a request that the provider never answers to its end, and leaves once it can be known
// that it hangs.
func (v *visitor) leave(
	ctx context.Context, cancel func(), base string, at int, p *provider, f llmtest.Fault,
) (h heard) {
	p.asked = make(chan llmtest.Request, 8)
	defer func() { p.asked = nil }()
	r := v.request(ctx, base, at)
	if f == llmtest.HangBeforeHeaders {
		go func() {
			<-p.asked
			cancel()
		}()
		return v.hear(r)
	}
	answer, err := v.http.Do(r)
	if err != nil {
		return heard{err: err}
	}
	defer answer.Body.Close()
	h.status, h.header = answer.StatusCode, answer.Header
	first := make([]byte, 4096)
	n, err := answer.Body.Read(first)
	h.body, h.err = first[:n], err
	cancel()
	return h
}

// same checks that what is heard behind the gateway is what is heard without it, but for the ids
// and sizes in it; if there was no answer at all, the gateway says so.
func same(t *testing.T, f llmtest.Fault, want, got heard) {
	t.Helper()
	if want.status == 0 && !errors.Is(want.err, context.Canceled) {
		if got.status != http.StatusBadGateway || !bytes.Contains(got.body, []byte("winnow got no answer from up")) {
			t.Errorf("%s: heard %d %q, %v, where without the gateway %v is", f, got.status, got.body, got.err, want.err)
		}
		return
	}
	if want.status != got.status || (want.err == nil) != (got.err == nil) {
		t.Errorf("%s: heard %d, %v; without the gateway %d, %v", f, got.status, got.err, want.status, want.err)
	}
	for name, values := range want.header {
		own := name == "Date" || name == "Content-Length" || name == "Request-Id" || name == "X-Request-Id" ||
			f == llmtest.RateDate && name == "Retry-After" // a second may have passed
		if !own && !slices.Equal(values, got.header[name]) {
			t.Errorf("%s: header %s is %q, without the gateway %q", f, name, got.header[name], values)
		}
	}
}

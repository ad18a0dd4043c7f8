package transport

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// packing stands between a client and a provider that know no Content-Encoding: it packs what one
// sends and unpacks it for the other.
type packing struct {
	t    testing.TB
	name string
	sent [][]byte // requests as they left
	// answer changes the packed bytes of an answer, nil for no change
	answer func(packed []byte) []byte
	refuse func(packed []byte) bool // nil for never
	base   http.RoundTripper
}

func (p *packing) request(r *http.Request) *http.Request {
	plain, err := io.ReadAll(r.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	packed, err := repacked(p.name, plain)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Encoding", p.name)
	r.Body, r.GetBody, r.ContentLength = io.NopCloser(bytes.NewReader(packed)), nil, int64(len(packed))
	return r
}

func (p *packing) RoundTrip(r *http.Request) (*http.Response, error) {
	packed, err := io.ReadAll(r.Body)
	if err != nil || r.ContentLength != int64(len(packed)) {
		p.t.Errorf("a body of %d bytes with the length %d: %v", len(packed), r.ContentLength, err)
	}
	p.sent = append(p.sent, packed)
	if p.refuse != nil && p.refuse(packed) {
		return &http.Response{StatusCode: 400, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	plain, err := unpacked(p.name, packed, maxBody)
	if err != nil {
		p.t.Errorf("what was sent is not %s: %v", p.name, err)
	}
	r.Header.Del("Content-Encoding")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(plain)), int64(len(plain))
	answer, err := p.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	text, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if text, err = repacked(p.name, text); err != nil {
		p.t.Fatal(err)
	}
	if p.answer != nil {
		text = p.answer(text)
	}
	answer.Header.Set("Content-Encoding", p.name)
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return answer, nil
}

// A client that packs its requests, and gets packed answers, is served as one that does not: what is
// left out is the same, and so is the bill. A request of which nothing is left out leaves as it came.
func TestTransport_packedBodies(t *testing.T) {
	sequential(t)
	const steps = 40
	type outcome struct {
		Sent   []string // unpacked
		Totals Totals
	}
	run := func(t *testing.T, name string) (o outcome) {
		p := &packing{t: t, name: name, base: http.DefaultTransport}
		s := play(t, llmtest.Anthropic, steps, Options{Base: p})
		whole := 0
		for _, at := range s.steps() {
			r := p.request(s.request(at))
			came, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(came))
			if status, answer := s.send(r); status != 200 {
				t.Fatalf("step %d: %d %s", at, status, answer)
			}
			if bytes.Equal(came, p.sent[len(p.sent)-1]) {
				whole++
			}
		}
		for _, packed := range p.sent {
			plain, _ := unpacked(name, packed, maxBody)
			o.Sent = append(o.Sent, string(plain))
		}
		if o.Totals = s.transport.Totals(); o.Totals.Edited == 0 || whole != len(s.steps())-o.Totals.Edited {
			t.Errorf("%d requests left as they came, and %+v", whole, o.Totals)
		}
		if problems := s.server.Problems(); len(problems) > 0 {
			t.Errorf("the provider would refuse: %s", strings.Join(problems, "; "))
		}
		o.Totals.Sessions = nil
		return o
	}
	want := run(t, "")
	for name := range codings {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, run(t, name)); diff != "" {
				t.Errorf("(-plain +packed):\n%s", diff)
			}
		})
	}
}

// A packed request that is refused with an edit is sent again as it came, to the byte.
func TestTransport_packedRequestsThatAreRefused(t *testing.T) {
	sequential(t)
	var came []byte
	p := &packing{t: t, name: "zstd", base: http.DefaultTransport}
	p.refuse = func(packed []byte) bool { return !bytes.Equal(packed, came) }
	s := play(t, llmtest.Anthropic, 40, Options{Base: p})
	s.quiet = true
	s.restart()
	for _, at := range s.steps() {
		r := p.request(s.request(at))
		came, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(came))
		if status, answer := s.send(r); status != 200 {
			t.Fatalf("step %d: %d %s", at, status, answer)
		}
	}
	if all := s.transport.Totals(); all.Resent != 1 || all.Edited != 0 {
		t.Errorf("the totals are %+v", all)
	}
}

// bomb is a small body that would be larger than it may be.
func bomb(t *testing.T, name string, most int) []byte {
	t.Helper()
	packed, err := repacked(name, bytes.Repeat([]byte(`{"messages":[]  `), most/16+1))
	if err != nil || len(packed) > most/50 {
		t.Fatalf("the bomb has %d bytes, %v", len(packed), err)
	}
	return packed
}

// What cannot be unpacked passes as it came, either way, and nothing is kept of it.
func TestTransport_packedBodiesThatAreBroken(t *testing.T) {
	sequential(t)
	for name := range codings {
		t.Run(name, func(t *testing.T) {
			p := &packing{t: t, name: name, base: http.DefaultTransport}
			b := &tap{base: http.DefaultTransport}
			s := play(t, llmtest.Anthropic, 10, Options{Base: b})
			at := s.steps()[2]
			packed, _ := io.ReadAll(p.request(s.request(at)).Body)
			for what, body := range map[string][]byte{
				"truncated": packed[:len(packed)/2], "empty": {}, "a bomb": bomb(t, name, maxBody),
				"corrupt": append(bytes.Clone(packed[:100]), bytes.Repeat([]byte{0xa5}, 100)...), "plain": []byte(`{"a":1}`),
			} {
				r := s.request(at)
				r.Header.Set("Content-Encoding", name)
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				s.send(r)
				if !bytes.Equal(b.sent[len(b.sent)-1], body) {
					t.Errorf("%s: it left with other bytes", what)
				}
			}
			if list, err := s.store.List(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("the store has %v, %v", list, err)
			}
		})
	}
}

// An answer that is broken, or too large when it is unpacked, reaches the client as it came, and the
// conversation goes on.
func TestTransport_packedAnswersThatAreBroken(t *testing.T) {
	sequential(t)
	for name := range codings {
		t.Run(name, func(t *testing.T) {
			p := &packing{t: t, name: name, base: http.DefaultTransport}
			s := play(t, llmtest.Anthropic, 10, Options{Base: p, Later: true}) // what is read of a bomb is waited for
			large := bomb(t, name, maxAnswer)
			for i, change := range []func(packed []byte) []byte{
				func(packed []byte) []byte { return packed[:len(packed)-9] },
				func([]byte) []byte { return large },
				func([]byte) []byte { return []byte("no " + name) },
				func(packed []byte) []byte { return append(packed[:len(packed)/2], "corrupt"...) },
				nil,
			} {
				var came []byte
				p.answer = func(packed []byte) []byte {
					if change != nil {
						packed = change(packed)
					}
					came = bytes.Clone(packed)
					return packed
				}
				if status, answer := s.send(p.request(s.request(s.steps()[i]))); status != 200 || answer != string(came) {
					t.Errorf("answer %d: %d, %d bytes of %d", i, status, len(answer), len(came))
				}
			}
			if all := s.transport.Totals(); all.Requests != 5 || all.Billed == 0 {
				t.Errorf("the totals are %+v", all)
			}
			if log, _ := s.only(); len(log.Messages) == 0 {
				t.Error("the conversation is not kept")
			}
		})
	}
}

func TestUnpacked(t *testing.T) {
	var raw bytes.Buffer
	w, _ := flate.NewWriter(&raw, 1)
	io.WriteString(w, "some text")
	w.Close()
	if plain, err := unpacked("deflate", raw.Bytes(), 100); err != nil || string(plain) != "some text" {
		t.Errorf("deflate without a head is %q, %v", plain, err)
	}
	if _, err := unpacked("compress", nil, 100); err == nil {
		t.Error("an unknown coding is none")
	}
	noise := make([]byte, 1000)
	rand.Read(noise)
	for name := range codings {
		packed, _ := repacked(name, noise)
		if plain, err := unpacked(name, packed, len(noise)); err != nil || !bytes.Equal(plain, noise) {
			t.Errorf("%s: %d bytes, %v", name, len(plain), err)
		}
		if plain, err := unpacked(name, packed, len(noise)-1); err == nil || plain != nil {
			t.Errorf("%s: more than it may have is %d bytes, %v", name, len(plain), err)
		}
	}
	for head, want := range map[string]string{"": "", "Identity": "", "X-GZip": "gzip", " br ": "br", "gzip, br": "gzip, br"} {
		if got := encoding(http.Header{"Content-Encoding": {head}}); got != want {
			t.Errorf("%q is %q, want %q", head, got, want)
		}
	}
}

// FuzzUnpacked: whatever comes as packed, no more than is allowed comes of it, and nothing panics.
func FuzzUnpacked(f *testing.F) {
	for name := range codings {
		packed, _ := repacked(name, bytes.Repeat([]byte("text "), 100))
		f.Add(name, packed)
		f.Add(name, packed[:len(packed)/2])
	}
	f.Fuzz(func(t *testing.T, name string, packed []byte) {
		if plain, _ := unpacked(name, packed, 1000); name != "" && len(plain) > 1000 {
			t.Errorf("%d bytes", len(plain))
		}
	})
}

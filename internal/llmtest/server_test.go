package llmtest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/winnowhq/winnow/internal/llmtest"
)

func TestServer_seesWhenTheClientLeaves(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		for name, reply := range map[string]llmtest.Reply{
			"before headers": {Text: summary, Fault: llmtest.HangBeforeHeaders},
			"in mid-stream":  {Text: summary, Fault: llmtest.HangMidStream},
			"between pieces": {Text: strings.Repeat(summary, 40), Delay: 20 * time.Millisecond},
			"while held":     {Text: summary, Hold: make(chan struct{})},
		} {
			t.Run(string(p)+" "+name, func(t *testing.T) {
				s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Sequence(reply)})
				ctx, cancel := context.WithCancel(t.Context())
				began := time.Now()
				time.AfterFunc(50*time.Millisecond, cancel)
				if _, err := listen(say("go on").request(t, p, s.URL).WithContext(ctx), p, true); !errors.Is(err,
					context.Canceled) {
					t.Fatalf("got %v", err)
				}
				r := settled(t, s)[0]
				if !r.Aborted || r.Left.Before(began.Add(50*time.Millisecond)) || r.Left.Before(r.Began) ||
					r.Left.After(r.Ended) {
					t.Errorf("aborted %t, began %v, left %v, ended %v", r.Aborted, r.Began, r.Left, r.Ended)
				}
			})
		}
	}
}

func TestServer_closeEndsWhatHangs(t *testing.T) {
	before := runtime.NumGoroutine()
	s, err := llmtest.New(llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		switch r.Number % 3 {
		case 0:
			return llmtest.Reply{Fault: llmtest.HangBeforeHeaders}
		case 1:
			return llmtest.Reply{Text: summary, Fault: llmtest.HangMidStream}
		}
		return llmtest.Reply{Hold: make(chan struct{})}
	}})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	var asking sync.WaitGroup
	for i := range 9 {
		r := say("go on").request(t, llmtest.Protocols()[i%4], s.URL)
		asking.Go(func() {
			if response, err := transport.RoundTrip(r); err == nil {
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		})
	}
	for len(s.Records()) < 9 {
		time.Sleep(time.Millisecond)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	asking.Wait()
	transport.CloseIdleConnections()
	for _, r := range s.Records() {
		if r.Ended.IsZero() || r.Aborted {
			t.Errorf("request %d: ended %v, aborted by the client %t", r.Number, r.Ended, r.Aborted)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	for range 200 { // connections leave a moment after their handlers
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

func TestServer_refusesConnectionsWhileDown(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{})
	hear(t, s, llmtest.Chat, say("hello"))
	http.DefaultClient.CloseIdleConnections() // else the next request may find out on the old one
	s.Down()
	s.Down()
	if _, err := send(t, s, llmtest.Chat, say("hello")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want a refused connection", err)
	}
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	if h := hear(t, s, llmtest.Chat, say("hello")); h.text != "ok" {
		t.Errorf("it says %q", h.text)
	}
	s.Down()
}

func TestServer_manyAtOnce(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Text(summary).FailsWhen(func(r llmtest.Request) bool { return r.Number%5 == 0 }, llmtest.Failed)})
	var all sync.WaitGroup
	for i := range 48 {
		p := llmtest.Protocols()[i%4]
		r := say("go on", long(i%3, 1200), "and on").request(t, p, s.URL)
		all.Go(func() {
			if h, err := listen(r, p, true); err != nil || h.status == 200 && h.text != summary {
				t.Errorf("%s: %v, %q", p, err, h.text)
			}
			s.Records()
		})
	}
	all.Wait()
	failed := 0
	records := settled(t, s)
	for i, r := range records {
		if r.Number != i+1 || r.Aborted {
			t.Errorf("record %d has number %d, aborted %t", i, r.Number, r.Aborted)
		}
		if r.Status == 500 {
			failed++
		}
	}
	if len(records) != 48 || failed != 9 {
		t.Errorf("%d records, %d failed", len(records), failed)
	}
}

func TestServer_takesCompressedBodiesAndOtherPrefixes(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{})
	for _, encoding := range []string{"gzip", "zstd", "br"} {
		r := say("hello, compressed").request(t, llmtest.Responses, s.URL+"/some/prefix")
		plain, _ := io.ReadAll(r.Body)
		var packed bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&packed)
		if encoding == "zstd" {
			w, _ = zstd.NewWriter(&packed)
		}
		w.Write(plain)
		w.Close()
		r.Header.Set("Content-Encoding", encoding)
		r.Body, r.ContentLength = io.NopCloser(&packed), int64(packed.Len())
		h, err := listen(r, llmtest.Responses, true)
		if err != nil || (h.status == 200) != (encoding != "br") {
			t.Errorf("%s: status %d, %v", encoding, h.status, err)
		}
	}
	if r := s.Records(); !r[0].Contains("hello, compressed") || r[0].Contains("hello, plain") ||
		r[1].Last() != "hello, compressed" {
		t.Errorf("recorded %q", r[0].Body)
	}
}

func TestServer_countsTokens(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{})
	a := say("how much is this, and this, and this?")
	a.stream = false
	for p, path := range map[llmtest.Protocol]string{llmtest.Anthropic: "/v1/messages/count_tokens",
		llmtest.Responses: "/v1/responses/input_tokens", llmtest.Gemini: "/v1beta/models/model-a:countTokens"} {
		prompt := hear(t, s, p, a).prompt
		r := a.request(t, p, s.URL)
		r.URL.Path = path
		h, err := listen(r, p, false)
		counted := max(value(h.body, "input_tokens"), value(h.body, "totalTokens"))
		if err != nil || h.status != 200 || counted != prompt || prompt == 0 {
			t.Errorf("%s: counted %d of %d: %d %s %v", p, counted, prompt, h.status, h.body, err)
		}
	}
}

// value is the number that a member has in a small JSON text; 0 without.
func value(text, name string) int {
	_, rest, _ := strings.Cut(text, `"`+name+`":`)
	n := 0
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func TestServer_otherPathsAreRecorded(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{})
	for _, path := range []string{"/", "/v1/models", "/v1beta/models/:generateContent", "/v1beta/models/x:embedContent",
		"/%zz"} {
		if response, err := http.Get(s.URL + path); err == nil {
			response.Body.Close()
			if response.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %d", path, response.StatusCode)
			}
		}
	}
	if n := len(s.Others()); n != 4 || len(s.Records()) != 0 {
		t.Errorf("%d others, %d records", n, len(s.Records()))
	}
}

package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// tap is a base that keeps what passes it, and may fail in the place of the provider.
type tap struct {
	base http.RoundTripper
	sent [][]byte
	fail func() bool
}

func (b *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	b.sent = append(b.sent, body)
	if b.fail != nil && b.fail() {
		return nil, errors.New("the machine went away")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return b.base.RoundTrip(r)
}

// What was decided is sent again after a crash between the decision and the request.
func TestTransport_aDecisionIsDurableBeforeItIsSent(t *testing.T) {
	sequential(t)
	t.Run("pruned", func(t *testing.T) { aDecisionIsDurable(t, 0) })
	t.Run("folded", func(t *testing.T) { aDecisionIsDurable(t, 14_000) })
}

func aDecisionIsDurable(t *testing.T, window int) {
	random := rand.New(rand.NewPCG(3, 4))
	b := &tap{base: http.DefaultTransport}
	s := play(t, llmtest.Anthropic, 80, Options{Base: b})
	s.window = window
	s.restart()
	killed := 0
	for i, at := range s.steps() {
		if i%3 == 0 { // the answer to a request that is asked again decides nothing
			s.send(s.request(at))
			s.now = s.now.Add(20 * time.Second)
			continue
		}
		b.fail = func() bool { return random.IntN(3) == 0 }
		if _, err := s.transport.RoundTrip(s.request(at)); err == nil {
			// the answer is lost, too
		}
		first := b.sent[len(b.sent)-1]
		s.restart()
		b.fail = nil
		if status, answer := s.send(s.request(at)); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		if again := b.sent[len(b.sent)-1]; !bytes.Equal(first, again) {
			t.Fatalf("step %d: after a restart other bytes were sent", at)
		}
		killed++
		s.now = s.now.Add(20 * time.Second)
	}
	if _, state := s.only(); len(state.Receipts) == 0 || killed == 0 || (s.folds() > 0) != (window > 0) {
		t.Errorf("%d decisions, %d folds", len(state.Receipts), s.folds())
	}
}

// A request that the provider refuses with an edit is sent once more as it came, and from then on
// the conversation is sent whole. One that it refuses either way is the client's to hear of.
func TestTransport_aRefusalIsAnsweredWithTheOriginal(t *testing.T) {
	sequential(t)
	for n := range 4 {
		both := n%2 == 1
		b := &tap{base: http.DefaultTransport}
		s := play(t, llmtest.Anthropic, 60, Options{Base: b, Log: slog.New(slog.DiscardHandler)})
		s.window = n / 2 * 14_000
		var original []byte
		refusing := &refuser{base: b, refuses: func(body []byte) bool { return both || !bytes.Equal(body, original) }}
		s.options.Base = refusing
		s.restart()
		resent, told := 0, 0
		for _, at := range s.steps() {
			r := s.request(at)
			original = must(io.ReadAll(must(r.GetBody())))
			refusing.on = at > len(s.log)/2
			if at%5 == 0 { // that it was refused is not forgotten
				told += s.transport.Totals().Resent
				s.restart()
			}
			before := len(b.sent) + refusing.refused
			status, _ := s.send(r)
			tries := len(b.sent) + refusing.refused - before
			switch {
			case tries > 2:
				t.Fatalf("step %d: sent %d times", at, tries)
			case tries == 2:
				resent++
			}
			if want := 200; !both && status != want || both && refusing.on && status != 400 {
				t.Fatalf("step %d: the client hears %d", at, status)
			}
			s.now = s.now.Add(20 * time.Second)
		}
		if !both && resent != 1 {
			t.Errorf("%d requests were sent again; the first refusal should have been the last", resent)
		}
		if both && resent == 0 {
			t.Error("no request was edited")
		}
		if told += s.transport.Totals().Resent; told != resent {
			t.Errorf("totals say %d, sent again were %d", told, resent)
		}
	}
}

type refuser struct {
	base    http.RoundTripper
	on      bool
	refuses func(body []byte) bool
	refused int
}

func (b *refuser) RoundTrip(r *http.Request) (*http.Response, error) {
	body := must(io.ReadAll(r.Body))
	if b.on && b.refuses(body) {
		b.refused++
		return &http.Response{
			StatusCode: 400, Status: "400 Bad Request", Header: http.Header{}, Request: r,
			Body: io.NopCloser(strings.NewReader(`{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`)),
		}, nil
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return b.base.RoundTrip(r)
}

// broken is a store that fails when it is told to.
type broken struct {
	store.Store
	fails bool
}

var errBroken = errors.New("the disk is full")

func (b *broken) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	if b.fails {
		return 0, errBroken
	}
	return b.Store.Apply(ctx, id, c)
}

func (b *broken) Create(ctx context.Context, info session.Info) error {
	if b.fails {
		return errBroken
	}
	return b.Store.Create(ctx, info)
}

// If the store fails the client's requests pass as they came, and when it works again the
// conversation goes on in it.
func TestTransport_aFailingStoreHoldsUpNobody(t *testing.T) {
	b := &tap{base: http.DefaultTransport}
	s := play(t, llmtest.Anthropic, 40, Options{Base: b})
	failing := &broken{Store: s.store}
	s.store = failing
	s.quiet = true
	s.restart()
	for i, at := range s.steps() {
		failing.fails = i >= 5 && i < 12 || i >= 20 && i < 25
		r := s.request(at)
		original := must(io.ReadAll(must(r.GetBody())))
		if status, _ := s.send(r); status != 200 {
			t.Fatalf("step %d: %d", i, status)
		}
		if sent := b.sent[len(b.sent)-1]; failing.fails && len(sent) > len(original) {
			t.Errorf("step %d: %d bytes were sent, %d came", i, len(sent), len(original))
		}
		s.now = s.now.Add(20 * time.Second)
	}
	if log, _ := s.only(); len(clients(log.Messages)) < len(s.steps())-1 {
		t.Errorf("the log has %d messages", len(log.Messages))
	}
	if problems := s.server.Problems(); len(problems) > 0 {
		t.Errorf("the provider would refuse: %s", strings.Join(problems, "; "))
	}
}

// The client hears each event when the provider says it.
func TestTransport_aStreamIsRelayedAsItArrives(t *testing.T) {
	goOn := make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{"event: message_start\ndata: {\"type\":\"message_start\"}\n\n", ": a comment \xc3", "\xa4\n\nevent: error\ndata: {}\n\n"} {
			io.WriteString(w, event)
			w.(http.Flusher).Flush()
			<-goOn
		}
	}))
	defer server.Close()
	s := play(t, llmtest.Anthropic, 10, Options{})
	r := s.request(s.steps()[0])
	r.URL.Host = strings.TrimPrefix(server.URL, "http://")
	answer := must(s.transport.RoundTrip(r))
	var heard []byte
	piece := make([]byte, 4096)
	for range 3 {
		n, err := answer.Body.Read(piece) // blocks for ever if the transport held it back
		if err != nil {
			t.Fatal(err)
		}
		heard = append(heard, piece[:n]...)
		goOn <- true
	}
	if rest := must(io.ReadAll(answer.Body)); len(rest) > 0 {
		t.Errorf("after the end: %q", rest)
	}
	if want := ": a comment \xc3\xa4\n\nevent: error\ndata: {}\n\n"; !strings.HasSuffix(string(heard), want) {
		t.Errorf("heard %q", heard)
	}
	answer.Body.Close()
}

// The size of a conversation is told of what would be sent of it.
func TestTransport_countsWhatWouldBeSent(t *testing.T) {
	sequential(t)
	b := &tap{base: http.DefaultTransport}
	s := play(t, llmtest.Anthropic, 60, Options{Base: b})
	steps := s.steps()
	for _, at := range steps {
		s.send(s.request(at))
		s.now = s.now.Add(20 * time.Second)
	}
	sent := b.sent[len(b.sent)-1]
	log, state := s.only()
	r := s.request(steps[len(steps)-1])
	original := must(io.ReadAll(must(r.GetBody())))
	r.URL.Path += "/count_tokens"
	answer := must(s.transport.RoundTrip(r))
	answer.Body.Close()
	counted := b.sent[len(b.sent)-1]
	if len(counted) >= len(original) || !bytes.Equal(counted, sent) {
		t.Errorf("counted are %d bytes; sent were %d of %d", len(counted), len(sent), len(original))
	}
	if after, now := s.only(); len(after.Messages) != len(log.Messages) || now.Revision != state.Revision {
		t.Error("a question for the size changed the session")
	}
}

// Anthropic's API takes no metadata with a question for the size, which may be all that names the
// session of a conversation.
func TestTransport_countsWhatTheMetadataAloneName(t *testing.T) {
	sequential(t)
	b := &tap{base: http.DefaultTransport}
	s := play(t, llmtest.Anthropic, 60, Options{Base: b})
	naming := func(at int, name string) *http.Request {
		r := s.request(at)
		text := must(io.ReadAll(r.Body))
		if name != "" {
			text = bytes.Replace(text, []byte("{"), fmt.Appendf(nil, `{"metadata":{"user_id":"user_a_session_%s"},`, name), 1)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		return r
	}
	steps := s.steps()
	for _, at := range steps {
		s.send(naming(at, "s1"))
		s.now = s.now.Add(20 * time.Second)
	}
	sent := b.sent[len(b.sent)-1]
	s.send(naming(steps[3], "s2")) // another session that begins alike
	for name, reduced := range map[string]bool{"": true, "s1": true, "s3": false} {
		r := naming(steps[len(steps)-1], name)
		r.URL.Path += "/count_tokens"
		must(s.transport.RoundTrip(r)).Body.Close()
		if got := len(b.sent[len(b.sent)-1]); (got < len(sent)+100) != reduced {
			t.Errorf("session %q: counted are %d bytes, sent were %d", name, got, len(sent))
		}
	}
}

// No credential is written anywhere.
func TestTransport_noCredentialIsKept(t *testing.T) {
	s := play(t, llmtest.Anthropic, 20, Options{})
	path := filepath.Join(t.TempDir(), "s.db")
	s.store = must[store.Store](sqlite.Open(t.Context(), sqlite.Config{Path: path}))
	s.restart()
	for _, at := range s.steps() {
		s.send(s.request(at))
	}
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	files := must(filepath.Glob(path + "*"))
	for _, name := range files {
		if bytes.Contains(must(os.ReadFile(name)), []byte("canary-key")) {
			t.Errorf("%s holds the credential", name)
		}
	}
	if !slices.Contains(files, path) {
		t.Error("there is no store")
	}
}

// What a client does that is off for a request passes, and so does what is no conversation.
func TestTransport_whatIsNotOursPasses(t *testing.T) {
	provider := &recorder{}
	s := play(t, llmtest.Anthropic, 10, Options{Base: provider})
	for name, change := range map[string]func(*http.Request){
		"off for this request": func(r *http.Request) { r.Header.Set(Header, "off") },
		"another address":      func(r *http.Request) { r.URL.Path = "/v1/files" },
		"another method":       func(r *http.Request) { r.Method = "PUT" },
		"compressed":           func(r *http.Request) { r.Header.Set("Content-Encoding", "zstd") },
		"not JSON":             func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{{{")) },
		"cut off": func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(`{"messages":[{"role":"user","content":"a`))
		},
		"no messages": func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"messages":[]}`)) },
	} {
		r := s.request(s.steps()[3])
		change(r)
		original := must(io.ReadAll(r.Body))
		r.Body = io.NopCloser(bytes.NewReader(original))
		answer, err := s.transport.RoundTrip(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		answer.Body.Close()
		if !bytes.Equal(provider.body, original) {
			t.Errorf("%s: sent %q", name, provider.body)
		}
		if provider.header.Get(Header) != "" {
			t.Errorf("%s: our header was sent on", name)
		}
	}
	if list := must(s.store.List(context.Background())); len(list) != 0 {
		t.Errorf("%d sessions", len(list))
	}
}

// Where nothing is left out of a request, a refusal is the client's, and nothing is sent twice.
func TestTransport_aRefusalOfTheOriginalIsPassedOn(t *testing.T) {
	sequential(t)
	s := play(t, llmtest.Anthropic, 60, Options{Mode: Observe})
	refusing := &refuser{base: http.DefaultTransport, refuses: func([]byte) bool { return true }}
	s.options.Base = refusing
	s.restart()
	for i, at := range s.steps() {
		refusing.on = i%10 == 9
		before := refusing.refused
		status, _ := s.send(s.request(at))
		if refusing.on && (status != 400 || refusing.refused != before+1) {
			t.Fatalf("step %d: the client hears %d after %d requests", i, status, refusing.refused-before)
		}
		if refusing.on {
			s.send(s.request(at))
		}
		s.now = s.now.Add(20 * time.Second)
	}
	if totals := s.transport.Totals(); totals.LeftOut == 0 || totals.Resent != 0 {
		t.Errorf("%+v", totals)
	}
}

// A client that takes an answer back and asks again is sent on as before: with what was decided by
// then, and nothing more.
func TestTransport_anAnswerThatIsAskedForAgain(t *testing.T) {
	b := &tap{base: http.DefaultTransport}
	s := play(t, llmtest.Anthropic, 60, Options{Base: b})
	steps, decided, tried := s.steps(), 0, 0
	for i, at := range steps[:len(steps)-1] {
		if i == 20 {
			s.now = s.now.Add(2 * time.Hour) // then something is decided with this request
		}
		s.send(s.request(at))
		if s.decided > decided && i >= 20 {
			first := b.sent[len(b.sent)-1]
			s.send(s.request(steps[i+1]))
			s.send(s.request(at))
			if again := b.sent[len(b.sent)-1]; !bytes.Equal(first, again) {
				t.Fatalf("step %d: %d bytes were sent, and %d when it was asked for again", i, len(first), len(again))
			}
			tried++
			break
		}
		decided = s.decided
		s.now = s.now.Add(20 * time.Second)
	}
	if tried == 0 {
		t.Error("nothing was decided")
	}
}

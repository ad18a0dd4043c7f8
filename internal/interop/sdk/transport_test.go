package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"google.golang.org/genai"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/settings"
)

// wiretap keeps the bodies that pass it.
type wiretap struct {
	base   http.RoundTripper
	bodies [][]byte
}

func (w *wiretap) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.bodies = append(w.bodies, body)
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return w.base.RoundTrip(r)
}

func (w *wiretap) last() []byte { return w.bodies[len(w.bodies)-1] }

// stage is a program and a provider, with the transport between them or without it.
type stage struct {
	program
	provider *llmtest.Server
	pruning  *transport.Transport // nil without
	had      *wiretap             // what the program sent
	sent     *wiretap             // what the provider got
}

func set(t *testing.T, p llmtest.Protocol, pruned bool) *stage {
	t.Helper()
	s := &stage{provider: llmtest.Start(t, llmtest.Script{Answer: chore}), sent: &wiretap{base: http.DefaultTransport}}
	s.had = &wiretap{base: s.sent}
	if pruned {
		set := settings.Default()
		set.Compaction.Auto = false
		engine, err := winnow.Open(winnow.Config{Settings: &set})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { engine.Close() })
		budget := func(context.Context, transport.Quote) (func(transport.Charge), error) { // so that reports are asked for
			return func(transport.Charge) {}, nil
		}
		s.pruning = transport.New(engine, transport.Options{Base: s.sent, Reserve: budget})
		s.had.base = s.pruning
	}
	s.program = programs[p](t, s.provider.BaseURL(p), &http.Client{Transport: s.had})
	return s
}

// play lets the chore go on for some steps and says what the library heard.
func (s *stage) play(t *testing.T, n int, stream func(step int) bool) (heard []string) {
	t.Helper()
	for i := range n {
		said, goesOn, err := s.ask(t, stream(i))
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		heard = append(heard, said...)
		if !goesOn {
			break
		}
	}
	return heard
}

func always(int) bool        { return true }
func never(int) bool         { return false }
func everySecond(n int) bool { return n%2 == 0 }

// The library hears with the transport what it hears without, event by event, while the provider is
// sent less and refuses nothing.
func TestTransport_theLibraryHearsTheSame(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		for name, stream := range map[string]func(int) bool{"streamed": always, "whole": never, "both": everySecond} {
			t.Run(string(p)+", "+name, func(t *testing.T) {
				plain, pruned := set(t, p, false), set(t, p, true)
				want, got := plain.play(t, steps+1, stream), pruned.play(t, steps+1, stream)
				if diff := cmp.Diff(want, got); diff != "" || len(want) < steps {
					t.Errorf("(-without +with the transport):\n%s", diff)
				}
				if !slices.EqualFunc(plain.had.bodies, pruned.had.bodies, bytes.Equal) {
					t.Error("the library itself sends something else")
				}
				before, after := len(pruned.had.last()), len(pruned.sent.last())
				t.Logf("the newest request has %d bytes, %d were sent", before, after)
				if after > before*3/4 {
					t.Errorf("the newest request has %d bytes, and %d were sent", before, after)
				}
				if problems := pruned.provider.Problems(); problems != nil {
					t.Error(problems)
				}
			})
		}
	}
}

// Cache marks are where the program put them, each byte for byte, and no more than four.
func TestTransport_cacheMarksStay(t *testing.T) {
	s := set(t, llmtest.Anthropic, true)
	s.play(t, steps+1, everySecond)
	pruned := 0
	for i, had := range s.had.bodies {
		sent := s.sent.bodies[i]
		if len(sent) < len(had) {
			pruned++
		}
		want, got := marked(had), marked(sent)
		if diff := cmp.Diff(want, got); diff != "" || len(got) > 4 || i > 0 && len(got) != 4 {
			t.Fatalf("request %d (-had +sent):\n%s", i, diff)
		}
	}
	if pruned == 0 {
		t.Error("nothing was pruned")
	}
}

// marked are the marks of a body, each with the result that it is on, if it is on one. What that
// says may be left out.
func marked(body []byte) (marks []string) {
	const mark, id = `"cache_control":{"type":"ephemeral"}`, `"tool_use_id":"`
	for _, piece := range strings.Split(string(body), mark)[1:] {
		if strings.HasPrefix(piece, `,"content":`) {
			_, piece, _ = strings.Cut(piece, id)
			piece, _, _ = strings.Cut(piece, `"`)
			piece = id + piece
		} else {
			piece, _, _ = strings.Cut(piece, "}")
		}
		marks = append(marks, mark+piece)
	}
	if n := strings.Count(string(body), "cache_control"); n != len(marks) {
		marks = append(marks, "a mark of another form")
	}
	return marks
}

// The size that the library is told is that of what would be sent.
func TestTransport_countsWhatWouldBeSent(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		if p == llmtest.Chat {
			continue // has no such request
		}
		t.Run(string(p), func(t *testing.T) {
			plain, pruned := set(t, p, false), set(t, p, true)
			plain.play(t, steps, never)
			pruned.play(t, steps, never)
			whole, left := plain.count(t), pruned.count(t)
			t.Logf("%d tokens without, %d with the transport", whole, left)
			if left == 0 || left > whole*3/4 {
				t.Errorf("%d tokens without, %d with the transport", whole, left)
			}
		})
	}
}

// status is the status of a library's own error.
func status(err error) int {
	var a *anthropic.Error
	var o *openai.Error
	var g genai.APIError
	switch {
	case errors.As(err, &a):
		return a.StatusCode
	case errors.As(err, &o):
		return o.StatusCode
	case errors.As(err, &g):
		return g.Code
	}
	return 0
}

// A refusal is the library's to answer: it makes the same error of it with the transport as
// without, tries as often again, and each try has the same bytes. A request that is wrong, and was
// pruned, is sent once more as it came.
func TestTransport_errorsAreTheLibrarys(t *testing.T) {
	const pruningBegan = 30
	for _, p := range llmtest.Protocols() {
		for _, fault := range []llmtest.Fault{
			llmtest.RateMillis, llmtest.RateSeconds, llmtest.Status529, llmtest.Unauthorized, llmtest.BadRequest,
		} {
			t.Run(string(p)+", "+string(fault), func(t *testing.T) {
				t.Parallel() // the libraries wait between their tries
				if testing.Short() && fault == llmtest.RateSeconds {
					t.Skip("takes seconds")
				}
				var tries [2]int
				var statuses [2]int
				for i, pruned := range []bool{false, true} {
					s := set(t, p, pruned)
					s.play(t, pruningBegan, never)
					s.provider.Inject(fault, fault)
					before := len(s.sent.bodies)
					_, _, err := s.ask(t, false)
					sent := s.sent.bodies[before:]
					tries[i], statuses[i] = len(sent), status(err)
					if !pruned {
						continue
					}
					if len(sent[0]) >= len(s.had.last()) {
						t.Fatal("the request was not pruned")
					}
					if fault == llmtest.BadRequest {
						if len(sent) < 2 || !bytes.Equal(sent[1], s.had.last()) {
							t.Errorf("sent %d times, the second time not as it came", len(sent))
						}
						tries[i]--
					} else if len(slices.CompactFunc(slices.Clone(sent), bytes.Equal)) != 1 {
						t.Error("another try had other bytes")
					}
				}
				t.Logf("%d tries, status %d", tries[0], statuses[0])
				if tries[0] != tries[1] || statuses[0] != statuses[1] {
					t.Errorf("without: %d tries, status %d; with: %d tries, status %d", tries[0], statuses[0], tries[1],
						statuses[1])
				}
			})
		}
	}
}

// A program that leaves in the middle of an answer ends the provider's work on it.
func TestTransport_whoLeavesCancelsTheRequest(t *testing.T) {
	s := set(t, llmtest.Anthropic, true)
	s.play(t, 30, always)
	p := s.program.(*messages)
	s.provider.Inject(llmtest.HangMidStream)
	ctx, leave := context.WithCancel(t.Context())
	events := p.client.Messages.NewStreaming(ctx, p.params)
	if !events.Next() {
		t.Fatal(events.Err())
	}
	leave()
	for events.Next() {
	}
	if err := events.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("the library says %v", err)
	}
	records, err := s.provider.Settled(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if last := records[len(records)-1]; !last.Aborted {
		t.Error("the provider's answer was not cut off")
	}
	if _, _, err := s.ask(t, true); err != nil { // the conversation goes on
		t.Error(err)
	}
}

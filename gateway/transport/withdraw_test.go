package transport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// A request that no provider accepted leaves nothing behind, whoever sent it.
func TestTransport_whatNobodyAcceptedLeavesNothing(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols() {
		for _, refusal := range []int{400, 401, 404, 413, 422, 429, 500, 529, 0} {
			t.Run(fmt.Sprint(p, " ", refusal), func(t *testing.T) {
				refuses, failed := true, io.ErrUnexpectedEOF
				base := tripper(func(r *http.Request) (*http.Response, error) {
					switch {
					case !refuses:
						return http.DefaultTransport.RoundTrip(r)
					case refusal == 0:
						return nil, failed
					}
					return &http.Response{StatusCode: refusal, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
				})
				s := play(t, p, 40, Options{Base: base})
				steps := s.steps()
				for range 3 {
					a, err := s.transport.RoundTrip(s.request(steps[30])) // some of it is left out
					if err == nil {
						a.Body.Close()
					}
				}
				if list := must(s.store.List(t.Context())); len(list) > 0 {
					t.Fatalf("%d sessions are left", len(list))
				}
				// What is decided about the next one is as if there had been none.
				refuses = false
				for _, at := range steps[30:] {
					if status, answer := s.send(s.request(at)); status != 200 {
						t.Fatalf("%d %s", status, answer)
					}
				}
				plain := play(t, p, 40, Options{})
				for _, at := range steps[30:] {
					plain.send(plain.request(at))
				}
				bodies := func(s *stage) (all []string) {
					for _, r := range s.server.Records() {
						all = append(all, string(r.Body))
					}
					return all
				}
				if diff := cmp.Diff(bodies(plain), bodies(s)); diff != "" && p != llmtest.Chat { // its habits are random
					t.Errorf("it was sent otherwise (-want +got):\n%.2000s", diff)
				}
				s.only()
			})
		}
	}
}

// Of a conversation that is known a refused request takes nothing away, and a rewind that is refused
// leaves no fork.
func TestTransport_aRefusedRewindLeavesNoFork(t *testing.T) {
	sequential(t)
	refuses := false
	s := play(t, llmtest.Anthropic, 40, Options{Base: tripper(func(r *http.Request) (*http.Response, error) {
		if refuses {
			return &http.Response{StatusCode: 401, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
		}
		return http.DefaultTransport.RoundTrip(r)
	})})
	steps := s.steps()
	for _, at := range steps[:30] {
		s.send(s.request(at))
	}
	before, _ := s.only()
	refuses = true
	r := s.request(steps[20])
	text := must(io.ReadAll(r.Body))
	at := bytes.LastIndex(text, []byte(`"tool_result"`))
	text = append(text[:at:at], bytes.Replace(text[at:], []byte(`"content":"`), []byte(`"content":"other `), 1)...)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	s.send(r)
	after, _ := s.only()
	if len(after.Messages) != len(before.Messages) {
		t.Errorf("%d messages, want %d", len(after.Messages), len(before.Messages))
	}
	refuses = false
	for _, at := range steps[30:] {
		s.send(s.request(at))
	}
	s.only()
}

// Two requests that begin the same conversation at once: as long as one may be accepted, what both
// began stays.
func TestTransport_oneOfTwoIsAccepted(t *testing.T) {
	for _, second := range []int{200, 401} {
		arrived, goOn := make(chan int, 2), []chan int{make(chan int), make(chan int)}
		n := 0
		s := play(t, llmtest.Anthropic, 20, Options{Base: tripper(func(r *http.Request) (*http.Response, error) {
			i := n
			n++
			arrived <- i
			status := <-goOn[i]
			body := `{"type":"message","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":1,"output_tokens":1}}`
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})})
		done := make(chan struct{})
		for range 2 {
			go func() {
				defer func() { done <- struct{}{} }()
				a, err := s.transport.RoundTrip(s.request(s.steps()[0]))
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, a.Body)
				a.Body.Close()
			}()
			<-arrived
		}
		goOn[0] <- 401
		<-done
		if got := len(must(s.store.List(t.Context()))); got != 1 {
			t.Errorf("after the first: %d sessions", got)
		}
		goOn[1] <- second
		<-done
		want := map[int]int{200: 1, 401: 0}[second]
		if got := len(must(s.store.List(t.Context()))); got != want {
			t.Errorf("after %d: %d sessions, want %d", second, got, want)
		}
	}
}

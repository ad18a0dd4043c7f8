package tworuns

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// Two runs without anything in between are the same, in every protocol, and the client comes to its
// end without a refusal.
func TestPlay_isTheSameTwice(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			s := Scene{Protocol: p, Steps: 30, CompactAt: 9_000, Thinks: p == llmtest.Anthropic, Binds: true}
			a, b := s.Play(t, nil), s.Play(t, func(Place) http.RoundTripper { return http.DefaultTransport })
			if a.Ended >= 0 || len(a.Refused) > 0 || len(a.Answers) != 30 || len(a.Compactions) == 0 {
				t.Fatalf("ended at %d, refused %q, %d answers, compactions at %v", a.Ended, a.Refused, len(a.Answers),
					a.Compactions)
			}
			if a.Billed <= 0 || math.Abs(a.Billed-b.Billed) > 1e-9 || !slices.Equal(a.Answers, b.Answers) {
				t.Errorf("billed %v and %v", a.Billed, b.Billed)
			}
			if largest := a.Prompt(); largest < 9_000 || largest > 30_000 {
				t.Errorf("the largest prompt has %d tokens", largest)
			}
		})
	}
}

// The bill of a prompt that grows is what the provider's page says: what was sent is read, what is
// new is written, at the price of the lifetime that was asked for.
func TestPlay_billsByTheTable(t *testing.T) {
	short, hour := Scene{Steps: 12}.Play(t, nil), Scene{Steps: 12, Hour: true}.Play(t, nil)
	for i := range short.Requests {
		a, b := short.Requests[i].Usage, hour.Requests[i].Usage
		if a.Cache.Write1h != 0 || b.Cache.Write1h != b.Cache.Write || a.Cache.Write != b.Cache.Write ||
			a.Cache.Read != b.Cache.Read {
			t.Fatalf("request %d: %+v, for an hour %+v", i, a, b)
		}
	}
	dearer := 0.0
	for _, r := range short.Requests {
		dearer += float64(r.Usage.Cache.Write) * (6 - 3.75) / 1e6
	}
	if got := hour.Billed - short.Billed; math.Abs(got-dearer) > 1e-9 || dearer == 0 {
		t.Errorf("an hour costs %v more, want %v", got, dearer)
	}
	if u := short.Requests[11].Usage; u.Cache.Read == 0 || u.Cache.Read < short.Requests[10].Usage.Cache.Read {
		t.Errorf("the last request reads %+v", u)
	}
	idle := Scene{Steps: 12, Pause: func(int) time.Duration { return 6 * time.Minute }}.Play(t, nil)
	for i, r := range idle.Requests {
		if r.Usage.Cache.Read > 0 {
			t.Errorf("request %d reads %d tokens after six minutes", i, r.Usage.Cache.Read)
		}
	}
}

// The provider counts by its own ratio.
func TestPlay_countsByItsRatio(t *testing.T) {
	at := func(ratio float64) int { return Scene{Steps: 20, CharsPerToken: ratio}.Play(t, nil).Prompt() }
	if three, four := at(3), at(4); float64(three)/float64(four) < 1.25 || float64(three)/float64(four) > 1.34 {
		t.Errorf("%d tokens at three characters, %d at four", three, four)
	}
}

// edits changes an early result of a conversation in the requests that pass, from one on.
type edits struct{ from, seen int }

func (e *edits) RoundTrip(r *http.Request) (*http.Response, error) {
	if e.seen++; e.seen > e.from {
		body, err := readAll(r)
		if err != nil {
			return nil, err
		}
		replace(r, strings.Replace(body, `"content":"`, `"content":"changed `, 1))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Thinking behind a changed prompt is refused, with the provider's words.
func TestPlay_bindsThinking(t *testing.T) {
	s := Scene{Steps: 12, Thinks: true, Model: "claude-opus-5-5", Binds: true}
	run := s.Play(t, func(Place) http.RoundTripper { return &edits{from: 6} })
	if run.Ended != 6 || len(run.Refused) != tries || !strings.Contains(run.Refused[0], "bound to a different") {
		t.Errorf("ended at %d: %q", run.Ended, run.Refused)
	}
	s.Binds = false
	if run = s.Play(t, func(Place) http.RoundTripper { return &edits{from: 6} }); run.Ended >= 0 {
		t.Errorf("ended at %d: %q", run.Ended, run.Refused)
	}
}

// A client repeats itself, rewinds, and changes its key, as the scene says.
func TestPlay_repeatsAndRewinds(t *testing.T) {
	run := Scene{Steps: 30, Repeat: 2, Rewind: map[int]int{2: 1},
		Credential: func(n int) string { return fmt.Sprint("key ", n/10) }}.Play(t, nil)
	if len(run.Requests) != 60 || len(run.Answers) != 60 {
		t.Fatalf("%d requests, %d answers", len(run.Requests), len(run.Answers))
	}
	shrunk := 0
	for i := 1; i < 30; i++ {
		if len(run.Requests[i].Messages) < len(run.Requests[i-1].Messages) {
			shrunk++
		}
		if string(run.Requests[i].Body) != string(run.Requests[i+30].Body) {
			t.Errorf("request %d differs the second time", i)
		}
	}
	if shrunk != 1 {
		t.Errorf("the history shrank %d times", shrunk)
	}
	if a, b := run.Requests[9].Header.Get("X-Api-Key"), run.Requests[10].Header.Get("X-Api-Key"); a == b {
		t.Errorf("the key of both requests is %q", a)
	}
}

func readAll(r *http.Request) (string, error) {
	text, err := io.ReadAll(r.Body)
	r.Body.Close()
	return string(text), err
}

func replace(r *http.Request, body string) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
}

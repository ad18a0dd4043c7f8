package transport

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/wire"
)

// refusal is an answer to a request that is wrong by itself.
type refusal struct {
	status, text string
	header       http.Header
}

// mistaken is a client that sends one of its requests with a mistake first.
type mistaken struct {
	way   http.RoundTripper
	at    int // request
	seen  int
	heard refusal
}

func (c *mistaken) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.seen++; c.seen != c.at {
		return c.way.RoundTrip(r)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	wrong := r.Clone(r.Context())
	body := bytes.Replace(text, []byte(`"max_tokens":8192`), []byte(`"max_tokens":399000`), 1)
	wrong.Body, wrong.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer, err := c.way.RoundTrip(wrong)
	if err != nil {
		return nil, err
	}
	said, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	c.heard = refusal{answer.Status, wire.ValueOf(said).Get("error", "message").String(), answer.Header}
	r.Body = io.NopCloser(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return c.way.RoundTrip(r)
}

// A request of a folded conversation that is wrong by itself is refused as it is without the
// gateway, also where the original cannot be accepted: thinking is bound to what was sent. Nothing
// about the conversation changes by it.
func TestTransport_aRefusalThatIsTheClientsReachesIt(t *testing.T) {
	sequential(t)
	for _, bound := range []bool{true, false} {
		s := tworuns.Scene{Steps: 80, Session: "s1", Thinks: bound, Binds: bound, Window: 400_000}
		if bound {
			s.Model = "claude-opus-5-5"
		}
		const at = 70
		alone, behind := &mistaken{way: http.DefaultTransport, at: at}, &mistaken{at: at}
		s.Play(t, func(tworuns.Place) http.RoundTripper { return alone })
		g := &gateway{t: t, foldsAt: 25_000}
		run := s.Play(t, func(p tworuns.Place) http.RoundTripper {
			behind.way = g.between(p)
			return behind
		})
		if run.Ended >= 0 || len(run.Refused) > 0 || g.folds() == 0 {
			t.Fatalf("ended at step %d, refused: %.300q; %d folds", run.Ended, run.Refused, g.folds())
		}
		words := func(r refusal) string { // how long the prompt is stands behind them
			said, _, _ := strings.Cut(r.text, ":")
			return said
		}
		if want, got := alone.heard, behind.heard; got.status != want.status || words(got) != words(want) ||
			!strings.Contains(want.text, "exceed context limit") || got.header.Get("Content-Type") != want.header.Get("Content-Type") {
			t.Errorf("bound %t: the client hears %q, %q; alone %q, %q", bound, got.status, got.text, want.status, want.text)
		}
		last := run.Requests[len(run.Requests)-1]
		if whole := 2*s.Steps - 1; len(last.Messages) >= whole {
			t.Errorf("bound %t: the conversation is sent whole: %d messages", bound, len(last.Messages))
		}
		if got := g.Totals().Resent; got != 1 {
			t.Errorf("%d requests were sent again", got)
		}
	}
}

package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
)

// drip is a response that goes on for ever, a piece at a time. It ends with the request's context,
// as a connection does.
type drip struct {
	ctx   context.Context
	first string
	piece string
	every time.Duration
}

func (d *drip) RoundTrip(r *http.Request) (*http.Response, error) {
	d.ctx = r.Context()
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(d), Request: r}, nil
}

func (d *drip) Read(p []byte) (int, error) {
	if d.first != "" {
		n := copy(p, d.first)
		d.first = d.first[n:]
		return n, nil
	}
	if d.every > 0 {
		select {
		case <-time.After(d.every):
		case <-d.ctx.Done():
			return 0, d.ctx.Err()
		}
	}
	d.first = d.piece
	if d.every == 0 {
		d.first = strings.Repeat(d.piece, 1000)
	}
	return 0, nil
}

// ask makes a call and returns when it ended, and how.
func ask(t *testing.T, c Config, answer http.RoundTripper) (time.Duration, error) {
	t.Helper()
	begun := time.Now()
	c.Transport = answer
	client, err := New(c.With("p", "http://p.test"), &taker{message: Message{Body: []byte("{}")}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Ask(t.Context(), llm.Request{Model: model.Model{ID: "m"}})
	return time.Since(begun), err
}

// A provider that says something every few seconds is never silent, and must come to an end all the
// same.
func TestCall_aDripEnds(t *testing.T) {
	for name, d := range map[string]drip{
		"comments":    {piece: ": still here\n", every: 5 * time.Second},
		"white space": {piece: "\n", every: 5 * time.Second},
		"pings":       {piece: "event: ping\ndata: {\"type\": \"ping\"}\n\n", every: 90 * time.Second},
		"one line":    {first: "data: {\"x\":\"", piece: "x", every: time.Second},
		"a page":      {first: "<html>", piece: "x", every: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			took, err := ask(t, Config{}, &d)
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != llm.Endless || e.Temporary() ||
				!strings.Contains(err.Error(), "not complete after 30m0s") || took != Longest {
				t.Errorf("%s: after %s: %v", name, took, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		if took, err := ask(t, Config{Longest: time.Minute}, &drip{piece: "\n",
			every: time.Second}); llm.KindOf(err) != llm.Endless || took != time.Minute {
			t.Errorf("after %s of one minute: %v", took, err)
		}
		if took, err := ask(t, Config{}, &drip{piece: "\n", every: time.Hour}); llm.KindOf(err) != llm.Stalled ||
			took != Idle {
			t.Errorf("silence after %s: %v", took, err)
		}
		if took, err := ask(t, Config{Idle: time.Hour}, &drip{piece: "\n",
			every: 59 * time.Minute}); llm.KindOf(err) != llm.Endless || took != 10*time.Hour {
			t.Errorf("of a patient configuration after %s: %v", took, err)
		}
	})
}

// Gigabytes end where an answer is longer than any.
func TestCall_aFloodEnds(t *testing.T) {
	for name, d := range map[string]drip{
		"comments":    {piece: ": still here\n"},
		"white space": {piece: " "},
		"events":      {piece: "data: {\"x\": 1}\n\n"},
		"one line":    {first: "data: {\"x\":\"", piece: "x"},
		"names":       {piece: "event: x\n"},
	} {
		_, err := ask(t, Config{MostBytes: 1 << 20}, &d)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.Endless || e.Temporary() ||
			!strings.Contains(err.Error(), "more than 1048576 bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/wire"
)

// settled collects what requests reserve and cost.
type settled struct {
	quotes  []Quote
	charges []Charge
	refuse  error
}

func (s *settled) reserve(_ context.Context, q Quote) (func(Charge), error) {
	s.quotes = append(s.quotes, q)
	return func(c Charge) { s.charges = append(s.charges, c) }, s.refuse
}

// Whatever becomes of a request, what was reserved for it is settled once: with nothing where the
// provider billed nothing, and with the prompt where it may have.
func TestMeter_everyReservationIsSettledOnce(t *testing.T) {
	const asked = `{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"hello"}]}`
	var left func() // has the client leave
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch r.Header.Get("Case") {
		case "refused":
			w.WriteHeader(http.StatusTooManyRequests)
		case "broken":
			panic(http.ErrAbortHandler)
		case "gone":
			left()
			<-r.Context().Done()
		case "half":
			io.WriteString(w, `{"usage":{"input_tokens":100`)
		default:
			io.WriteString(w, `{"content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":1000,"output_tokens":10},"stop_reason":"end_turn"}`)
		}
	}))
	defer up.Close()
	for name, want := range map[string]Charge{
		"answered": {Dollars: 0.00315}, "refused": {}, "broken": {}, "panic": {}, "refused by us": {Dollars: -1},
		"gone": {Dollars: 6e-6, Estimated: true}, "half": {Dollars: 6e-6, Estimated: true},
	} {
		s := &settled{}
		if name == "refused by us" {
			s.refuse = errors.New("no")
		}
		o := Options{Reserve: s.reserve, Mode: Observe}
		if name == "panic" {
			o.Base = tripper(func(*http.Request) (*http.Response, error) { panic("ours") })
		}
		ctx, leave := context.WithCancel(t.Context())
		left = leave
		g := &gateway{t: t, options: o}
		g.place.Now = time.Now
		g.open()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, up.URL+"/v1/messages", strings.NewReader(asked))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Case", name)
		func() {
			defer func() { _ = recover() }()
			if answer, err := g.RoundTrip(r); err == nil {
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			} else if s.refuse != nil && err != s.refuse {
				t.Errorf("%s: %v", name, err)
			}
		}()
		g.Wait()
		leave()
		if want.Dollars < 0 {
			if len(s.charges) > 0 {
				t.Errorf("%s: %v", name, s.charges)
			}
			continue
		}
		if len(s.charges) != 1 || math.Abs(s.charges[0].Dollars-want.Dollars) > 3e-5 || s.charges[0].Estimated != want.Estimated ||
			(want.Dollars > 0) != (s.charges[0].Dollars > 0) {
			t.Errorf("%s: %+v, want %+v", name, s.charges, want)
		}
	}
}

// A quote is the most that a request may cost.
func TestMeter_quotes(t *testing.T) {
	long := strings.Repeat("a", 3_000_000)
	for _, c := range []struct {
		kind       wire.Protocol
		path, text string
		want       float64 // in US dollars; -1: nobody can tell
	}{
		{wire.Anthropic, "", `{"model":"claude-sonnet-4-5","max_tokens":1000}`, 0.015},
		{wire.Anthropic, "", `{"model":"claude-sonnet-4-5","max_tokens":1,"max_tokens":1000}`, 0.015},
		{wire.Anthropic, "", `{"model":"claude-sonnet-4-5","max_tokens":1000000}`, 0.96}, // the model's own limit
		{wire.Anthropic, "", `{"model":"claude-sonnet-4-5","max_tokens":1000,"x":"` + long[:300_000] + `"}`, 0.015 + 0.375},
		{wire.Anthropic, "", `{"model":"claude-sonnet-4-5","max_tokens":1000,"x":"` + long[:300_000] + `","ttl":"1h"}`, 0.015 + 0.6},
		{wire.Chat, "", `{"model":"gpt-4.1","max_tokens":1000}`, 0.008},
		{wire.Chat, "", `{"model":"gpt-4.1","max_completion_tokens":1000,"n":3}`, 0.024},
		{wire.Chat, "", `{"model":"gpt-4.1","max_tokens":1000,"service_tier":"priority"}`, 0.014},
		{wire.Chat, "", `{"model":"gpt-4.1","max_tokens":1000,"service_tier":"quantum"}`, 0.02},
		{wire.Chat, "", `{"model":"gpt-4.1","max_tokens":1000,"service_tier":"flex"}`, 0.008},
		{wire.Responses, "", `{"model":"gpt-4.1","max_output_tokens":1000,"x":"` + long + `"}`, 0.008 + 2},
		{wire.Responses, "", `{"model":"gpt-4.1","max_output_tokens":1000,"previous_response_id":"resp_1"}`, 0.008 + 2.095},
		{wire.Gemini, "/v1beta/models/gemini-2.5-flash:generateContent", `{"generationConfig":{"maxOutputTokens":1000}}`, 0.0025},
		{wire.Chat, "", `{"model":"nobody-knows"}`, -1}, {wire.Chat, "", `{}`, -1}, {wire.Chat, "", `no JSON`, -1},
	} {
		s := &settled{}
		tr := New(nil, Options{Reserve: s.reserve})
		r, err := http.NewRequest(http.MethodPost, "http://localhost"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.meter(incoming{Request: r, protocol: providerProtocols[c.kind], original: []byte(c.text)}); err != nil {
			t.Fatal(err)
		}
		got := s.quotes[0].Most
		if s.quotes[0].Unmetered != "" {
			got = -1
		}
		if math.Abs(got-c.want) > 0.005*math.Abs(c.want)+0.0002 {
			t.Errorf("%.120s: $%.4f, want $%.4f", fmt.Sprint(c.path, c.text), got, c.want)
		}
	}
}

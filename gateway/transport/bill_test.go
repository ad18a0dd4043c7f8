package transport

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
)

// run plays a session to its end and says what the provider billed.
func (s *stage) run() (billed float64) {
	s.t.Helper()
	for i, at := range s.steps() {
		if status, answer := s.send(s.request(at)); status != 200 {
			s.t.Fatalf("step %d: %d %s", i, status, answer)
		}
		s.now = s.now.Add(20 * time.Second)
		if i%20 == 19 {
			s.now = s.now.Add(2 * time.Hour)
		}
	}
	return s.billed()
}

// billed is what the provider billed so far.
func (s *stage) billed() (billed float64) {
	provider := map[llmtest.Protocol]string{llmtest.Anthropic: "anthropic", llmtest.Gemini: "google"}[s.protocol]
	if provider == "" {
		provider = "openai"
	}
	m := model.Default().Lookup(provider + "/" + s.model)
	for _, r := range s.server.Records() {
		cost, _ := m.Cost(bill.Usage(r.Usage))
		billed += cost
	}
	return billed
}

// What the totals say was billed is what the provider billed; what they say it would have been
// otherwise is what it is in a run without us.
func TestTotals_areWhatTheProviderBills(t *testing.T) {
	sequential(t)
	protocols := llmtest.Protocols()
	if testing.Short() {
		protocols = protocols[:1]
	}
	for i, p := range protocols {
		steps := 60
		if i > 0 { // a request's cost grows with what is before it, what differs between protocols does not
			steps = 40
		}
		for _, window := range []int{0, 20_000} {
			if window > 0 && p == llmtest.Responses { // it is as Chat
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", p, window), func(t *testing.T) {
				bills, totals := map[Mode]float64{}, map[Mode]Totals{}
				for _, mode := range []Mode{Off, Observe, Safe, Full} {
					s := play(t, p, steps, Options{Mode: mode})
					s.window = window
					s.restart()
					bills[mode] = s.run()
					totals[mode] = s.transport.Totals()
					t.Logf("%s: billed %.4f, totals %+v", mode, bills[mode], totals[mode])
				}
				observed := 0.05
				if window > 0 { // how much a fold leaves is an estimate in the provider's tokens
					observed = 0.1
				}
				near := func(what string, got, want, within float64) {
					if math.Abs(got-want) > within*want {
						t.Errorf("%s: %.4f, want %.4f", what, got, want)
					}
				}
				for _, mode := range []Mode{Observe, Safe, Full} {
					near(string(mode)+": billed", float64(totals[mode].Billed), bills[mode], 1e-9)
				}
				if window == 0 { // else the run without us is one that cannot be
					near("full: otherwise", totals[Full].Otherwise.Likely, bills[Off], 0.05)
					near("safe: otherwise", totals[Safe].Otherwise.Likely, bills[Off], 0.05)
				}
				near("observe: otherwise", totals[Observe].Otherwise.Likely, bills[Full], observed)
				near("observe: bill", bills[Observe], bills[Off], 1e-9)
			})
		}
	}
}

// What a request costs that belongs to no conversation is counted, and changes nothing.
func TestTotals_countWhatIsBeside(t *testing.T) {
	s := play(t, llmtest.Anthropic, 5, Options{})
	r := s.request(s.steps()[0])
	body := must(io.ReadAll(r.Body))
	body = bytes.Replace(body, []byte(`"tools":`+string(tools[llmtest.Anthropic])), []byte(`"tools":[]`), 1)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if status, answer := s.send(r); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	usage := s.server.Records()[0].Usage
	cost, _ := model.Default().Lookup("anthropic/" + s.model).Cost(bill.Usage(usage))
	if got := s.transport.Totals(); got.Beside != 1 || got.Requests != 0 || float64(got.Billed) != cost || got.Otherwise.Likely != cost || cost == 0 {
		t.Errorf("%+v, the provider billed %v", got, cost)
	}
	if list := must(s.store.List(t.Context())); len(list) != 0 {
		t.Errorf("%d sessions", len(list))
	}
}

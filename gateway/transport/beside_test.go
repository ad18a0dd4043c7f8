package transport

import (
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/report"
)

// answering answers every request with what fits to its path.
type answering struct{}

func (answering) RoundTrip(r *http.Request) (*http.Response, error) {
	text := `{"type":"message","role":"assistant","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn",
		"usage":{"input_tokens":1000,"output_tokens":100}}`
	if strings.Contains(r.URL.Path, "chat") {
		text = `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},
			"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}}`
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(text))}, nil
}

// Requests beside all conversations of a tenant are in sessions of their own, one for each person and
// day, at once and whatever the protocol: the sum of all sessions is what was billed.
func TestBeside_hasSessionsOfItsOwn(t *testing.T) {
	set := settings.Default()
	set.Compaction.Auto = false
	kept := memory.New()
	engine, err := winnow.Open(winnow.Config{Settings: &set, Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 4, 22, 0, 0, 0, time.UTC)
	r := New(engine, Options{Base: answering{}, Now: func() time.Time { return now }})
	const (
		messages = "https://api.anthropic.com/v1/messages"
		chat     = "https://api.openai.com/v1/chat/completions"
		title    = `{"model":"claude-haiku-4-5","max_tokens":9,"messages":[{"role":"user","content":"A title?"}]}`
		question = `{"model":"gpt-4.1","messages":[{"role":"user","content":"Is it?"}]}`
		working  = `{"model":"claude-haiku-4-5","max_tokens":9,"tools":[{"name":"a","input_schema":{"type":"object"}}],
			"messages":[{"role":"user","content":"Work."}]}`
	)
	ask := func(person, url, body string) {
		t.Helper()
		q := must(http.NewRequest(http.MethodPost, url, strings.NewReader(body)))
		q.Header.Set("X-Winnow-Client", "acme")
		q.Header.Set("X-Winnow-Person", person)
		answer := must(r.RoundTrip(q))
		must(io.Copy(io.Discard, answer.Body))
		answer.Body.Close()
	}
	sum := func() report.Relayed {
		t.Helper()
		return report.SumRelayed(must(store.Relayed(t.Context(), kept, 0, nil)), 0, time.UTC, func(string) int { return 0 })
	}
	ask("ann", chat, question)
	ask("ann", messages, title)
	if doc := sum(); len(doc.Sessions) != 1 || doc.Total.Beside != 2 || doc.Sessions[0].Last != session.Millis(now.UnixMilli()) {
		t.Errorf("without any conversation: %+v", doc)
	}
	ask("bob", messages, working)
	ask("ann", messages, title)
	now = now.Add(4 * time.Hour)
	ask("ann", chat, question)
	ask("bob", chat, question)
	doc := sum()
	people := map[string]int{}
	for _, s := range doc.Sessions {
		if s.Requests > 0 && s.Beside > 0 {
			t.Errorf("the session %s has %d requests beside conversations", s.ID, s.Beside)
		}
		people[s.Person]++
	}
	if len(doc.Sessions) != 4 || people["ann"] != 2 || people["bob"] != 2 || len(doc.People) != 2 ||
		doc.People[0].Beside != 4 || doc.People[1].Beside != 1 || doc.People[1].Requests != 1 {
		t.Errorf("sessions %+v, people %+v", doc.Sessions, doc.People)
	}
	billed := bill.Dollars(0)
	for model, n := range map[string]float64{"claude-haiku-4-5": 3, "gpt-4.1": 3} {
		cost, _ := r.models.Lookup(model).Cost(bill.Usage(session.Usage{Input: 1000, Output: 100}))
		billed += bill.Dollars(n * cost)
	}
	if math.Abs(float64(doc.Total.Billed-billed)) > 1e-9 || doc.Total.Unpriced != 0 {
		t.Errorf("billed are %v, want %v", doc.Total.Billed, billed)
	}
	r.Close()
	if after := sum(); after.Total != doc.Total {
		t.Errorf("at the end it is another sum: %+v", after.Total)
	}
}

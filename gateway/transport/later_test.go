package transport

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/store/memory"
)

// What is recorded after an answer has ended for its client is what would have been recorded before,
// also when its next request comes at once and others are under way beside it.
func TestLater_recordsTheSameInOrder(t *testing.T) {
	const sessions, steps = 4, 25
	run := func(later bool) (logs []string, spent int, totals Totals) {
		set := settings.Default()
		set.Compaction.Auto = false
		engine, err := winnow.Open(winnow.Config{Settings: &set, Store: memory.New()})
		if err != nil {
			t.Fatal(err)
		}
		r := New(engine, Options{Base: &echo{kind: "text/event-stream", answer: []byte(sseAnswer)}, Later: later})
		var all sync.WaitGroup
		for n := range sessions {
			all.Go(func() { converse(t, r, n, steps) })
		}
		all.Wait()
		totals = r.Totals()
		for _, id := range totals.Sessions {
			s, state, err := engine.Session(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			log := fmt.Sprintf("%d messages, %d receipts:", len(s.Messages), len(state.Receipts))
			// A request beside the conversations is written down with the next one of any of them.
			spent += len(state.Spent)
			for _, m := range s.Messages {
				log += fmt.Sprintf(" %s %s %d %t", m.ID, m.Role, len(m.Parts), m.Tokens != nil)
			}
			logs = append(logs, log)
		}
		return logs, spent, totals
	}
	logs, spent, totals := run(false)
	laterLogs, laterSpent, laterTotals := run(true)
	// The first request has no tools and could be one for a title: it is beside the session.
	if len(logs) != sessions || !strings.Contains(logs[0], fmt.Sprintf("%d messages, ", steps+1)) || spent != sessions*steps ||
		spent != laterSpent {
		t.Errorf("%d spent, %d later; the logs are %q", spent, laterSpent, logs)
	}
	if diff := cmp.Diff(logs, laterLogs); diff != "" {
		t.Errorf("-at once +later\n%s", diff)
	}
	totals.Billed, laterTotals.Billed = 0, 0 // sums of numbers in another order
	totals.Otherwise, laterTotals.Otherwise = bill.Estimate{}, bill.Estimate{}
	totals.Net, laterTotals.Net = 0, 0
	if diff := cmp.Diff(totals, laterTotals); diff != "" {
		t.Errorf("-at once +later\n%s", diff)
	}
}

// converse sends the requests of a session, each as soon as the answer before it has ended.
func converse(t *testing.T, r *Transport, n, steps int) {
	messages := fmt.Sprintf(`{"role":"user","content":"Look around, %d."}`, n)
	for step := range steps {
		body := `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[` + messages + `]}`
		request, err := http.NewRequest(http.MethodPost, "https://provider.example/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		answer, err := r.RoundTrip(request)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Error(err)
		}
		answer.Body.Close()
		messages += fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"read","input":`+
			`{"file_path":"f%d"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`,
			step, step%3, step, strings.Repeat("words of a file ", 200))
	}
}

package transport

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// Those who watch are told of every request what the totals count: what was answered and decided,
// whose it is, and what failed.
func TestTransport_tellsThoseWhoWatch(t *testing.T) {
	sequential(t)
	var all []Notice
	b := &tap{base: http.DefaultTransport}
	s := play(t, llmtest.Anthropic, 50, Options{Base: b, Watch: func(n Notice) { all = append(all, n) }})
	for _, at := range s.steps() {
		r := s.request(at)
		r.Header.Set("User-Agent", "claude-cli/2.1 (external)")
		r.Header.Set(clientHeader, "ann")
		s.send(r)
	}
	_, state := s.only()
	receipts, answered, net, left := 0, 0, 0.0, 0
	for _, n := range all {
		if n.From.Client != "claude-cli/2.1" || n.From.Tenant != "ann" || n.Session != state.Info.ID || n.Time.IsZero() {
			t.Errorf("a notice of %+v in %s", n.From, n.Session)
		}
		if n.Receipt != nil {
			receipts++
		}
		if n.Spent != nil {
			answered++
			net += n.Spent.Live.Saved()
			left = n.LeftOut
		}
	}
	totals := s.transport.Totals()
	if answered != totals.Requests || receipts != len(state.Receipts) || receipts == 0 || left != totals.LeftOut ||
		fmt.Sprintf("%.6f", net) != fmt.Sprintf("%.6f", totals.Net) {
		t.Errorf("%d answered, %d receipts, %d left out, net %f; the totals: %+v, receipts %d", answered, receipts, left, net, totals, len(state.Receipts))
	}
	all = nil
	s.quiet = true
	s.restart()
	s.server.Down()
	if _, err := s.transport.RoundTrip(s.request(s.steps()[3])); err == nil {
		t.Fatal("a provider that is not there answers")
	}
	if last := all[len(all)-1]; last.Failure != "no answer came" || last.Spent != nil {
		t.Errorf("of no answer it is told %+v", last)
	}
}

func TestFolder_asAgentsTellIt(t *testing.T) {
	for text, want := range map[string]string{
		`{"system":"# Environment\nPrimary working directory: /home/ann/shopd\n - more"}`: "/home/ann/shopd",
		`{"system":"<env>\nWorking directory: /home/ann/my shop\n  Is"}`:                  "/home/ann/my shop",
		`{"text":"I'm currently working in the directory: /repo\nHere"}`:                  "/repo",
		`{"text":"<cwd>\n/repo/shopd\n</cwd>"}`:                                           "/repo/shopd",
		`{"text":"<cwd>/repo</cwd>"}`:                                                     "/repo",
		`{"text":"Working directory: unknown\n"}`:                                         "",
		`{"text":"Working directory: /never ends`:                                         "",
		`{"text":"hello"}`: "",
		``:                 "",
	} {
		if got := folder([]byte(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

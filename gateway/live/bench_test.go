package live_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/store/sqlite"
)

// provider answers everything at once.
type provider struct{}

const said = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"ok"}],` +
	`"stop_reason":"end_turn","usage":{"input_tokens":10,"cache_read_input_tokens":1000,"cache_creation_input_tokens":100,"output_tokens":5}}`

func (provider) RoundTrip(r *http.Request) (*http.Response, error) {
	io.Copy(io.Discard, r.Body)
	r.Body.Close()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(said))}, nil
}

// How much longer requests of 200 KB take with the feed and 32 pages that take nothing in, than
// without a page: the two in turns, each first every other time, as a ratio of medians.
func BenchmarkFeed(b *testing.B) {
	hub := live.NewHub(false, time.Now())
	page := httptest.NewServer(live.New(hub, live.Config{Every: time.Millisecond}))
	defer page.Close()
	defer hub.Close()
	for i := range live.MostSessions { // as many as there may be
		hub.Watch(transport.Notice{Time: time.Now(), Session: fmt.Sprint("live_", i), Title: "a task"})
	}
	for range 32 {
		c, err := net.Dial("tcp", page.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /~/events HTTP/1.1\r\nHost: %s\r\n\r\n", page.Listener.Addr())
	}
	client := func(watch func(transport.Notice)) func() time.Duration {
		set := settings.Default()
		set.Compaction.Auto = false
		engine, err := winnow.Open(winnow.Config{Settings: &set, Store: must(sqlite.Open(b.Context(), sqlite.Config{Path: b.TempDir() + "/s.db"}))})
		if err != nil {
			b.Fatal(err)
		}
		carrier := transport.New(engine, transport.Options{Base: provider{}, Watch: watch})
		var messages bytes.Buffer
		messages.WriteString(`{"role":"user","content":"Look around."}`)
		next := 0
		step := func() {
			next++
			fmt.Fprintf(&messages, `,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"read","input":{"file_path":"f%d"}}]}`+
				`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`, next, next, next,
				strings.Repeat("words of a file, line by line\\n", 60))
		}
		for messages.Len() < 200<<10 {
			step()
		}
		return func() time.Duration {
			step()
			body := `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[` + messages.String() + `]}`
			r, _ := http.NewRequest("POST", "https://provider.example/v1/messages", strings.NewReader(body))
			begun := time.Now()
			answer, err := carrier.RoundTrip(r)
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			return time.Since(begun)
		}
	}
	without, with := client(nil), client(hub.Watch)
	var bare, watched []time.Duration
	for b.Loop() {
		if len(bare)%2 == 0 {
			bare, watched = append(bare, without()), append(watched, with())
		} else {
			watched, bare = append(watched, with()), append(bare, without())
		}
	}
	slices.Sort(bare)
	slices.Sort(watched)
	median := func(all []time.Duration) float64 { return float64(all[len(all)/2]) }
	b.ReportMetric(median(watched)/median(bare), "ratio")
	b.ReportMetric(median(bare)/1e6, "ms-without")
	b.ReportMetric(median(watched)/1e6, "ms-with")
}

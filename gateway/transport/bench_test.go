package transport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/store/sqlite"
)

// What a request takes of which the last two messages are new, beside sending it.
func BenchmarkTransport(b *testing.B) {
	for _, size := range []int{10 << 10, 200 << 10, 1 << 20, 5 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			set := settings.Default()
			set.Compaction.Auto = false
			engine, err := winnow.Open(winnow.Config{Settings: &set, Store: must(sqlite.Open(b.Context(), sqlite.Config{Path: b.TempDir() + "/s.db"}))})
			if err != nil {
				b.Fatal(err)
			}
			up := &drain{}
			t := New(engine, Options{Base: up, Later: true, Behind: true})
			var messages bytes.Buffer
			messages.WriteString(`{"role":"user","content":"Look around."}`)
			next, allocated := 0, uint64(0)
			step := func(result string) {
				next++
				fmt.Fprintf(&messages, `,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"read","input":{"file_path":"f%d"}}]}`+
					`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`, next, next, next, result)
			}
			for messages.Len() < size {
				step(strings.Repeat(`a line of a file that is \"quoted\"\n`, 100))
			}
			send := func() {
				body := `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[` + messages.String() + `]}`
				r, _ := http.NewRequest("POST", "https://provider.example/v1/messages", strings.NewReader(body))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				answer, err := t.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				t.recording.wait()
				runtime.ReadMemStats(&after)
				allocated += after.TotalAlloc - before.TotalAlloc - uint64(len(body))
				if up.got < len(body) {
					allocated -= uint64(up.got) // it was edited
				}
			}
			send()
			t.Wait()
			allocated = 0
			for b.Loop() {
				step(strings.Repeat("words of a file that is new and long, line by line\\n", 60))
				send()
			}
			b.ReportMetric(float64(allocated)/float64(b.N)/1024, "KB-beside-bodies/op")
		})
	}
}

// drain is a provider that keeps nothing.
type drain struct{ got int }

func (d *drain) RoundTrip(r *http.Request) (*http.Response, error) {
	n, err := io.Copy(io.Discard, r.Body)
	d.got = int(n)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(sseAnswer)), Request: r}, err
}

// What the first request of a conversation takes that the gateway has not seen before.
func BenchmarkTransport_cold(b *testing.B) {
	var messages bytes.Buffer
	messages.WriteString(`{"role":"user","content":"Look around."}`)
	for next := 0; messages.Len() < 5<<20; next++ {
		fmt.Fprintf(&messages, `,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"read","input":{"file_path":"f%d"}}]}`+
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`, next, next%500, next,
			strings.Repeat(fmt.Sprintf(`%d: a line of a file that is \"quoted\"\n`, next), 100))
	}
	body := `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[` + messages.String() + `]}`
	set := settings.Default()
	set.Compaction.Auto = false
	for b.Loop() {
		b.StopTimer()
		engine, err := winnow.Open(winnow.Config{Settings: &set, Store: must(sqlite.Open(b.Context(), sqlite.Config{Path: b.TempDir() + "/s.db"}))})
		if err != nil {
			b.Fatal(err)
		}
		t := New(engine, Options{Base: &echo{kind: "text/event-stream", answer: []byte(sseAnswer)}})
		r, _ := http.NewRequest("POST", "https://provider.example/v1/messages", strings.NewReader(body))
		b.StartTimer()
		answer, err := t.RoundTrip(r)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}

// sseAnswer is what the provider always says.
const sseAnswer = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":1000,\"cache_creation_input_tokens\":100,\"output_tokens\":1}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"ok\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// What the last requests of a conversation take that is held again: the ratio of the second time to
// the first, over the last 20 of 200.
func BenchmarkTransport_repeated(b *testing.B) {
	for b.Loop() {
		g := &gateway{t: b, store: must(sqlite.Open(b.Context(), sqlite.Config{Path: b.TempDir() + "/s.db"}))}
		var took [2]time.Duration
		asked := 0
		tworuns.Scene{Steps: 200, Repeat: 2}.Play(b, func(p tworuns.Place) http.RoundTripper {
			g.between(p)
			return tripper(func(r *http.Request) (*http.Response, error) {
				begun := time.Now()
				answer, err := g.RoundTrip(r)
				if asked%200 >= 180 {
					took[asked/200] += time.Since(begun)
				}
				asked++
				return answer, err
			})
		})
		b.ReportMetric(float64(took[1])/float64(took[0]), "second/first")
		b.ReportMetric(float64(g.sessions()), "sessions")
	}
}

package transport

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/store/memory"
)

// echo answers every request with the same bytes.
type echo struct {
	mu           sync.Mutex
	body, answer []byte
	kind         string
}

func (e *echo) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	e.body = body
	e.mu.Unlock()
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {e.kind}}, Body: io.NopCloser(bytes.NewReader(e.answer)),
		Request: r,
	}, nil
}

// Whatever clients and providers say, what is not understood passes both ways to the byte.
func FuzzRoundTrip(f *testing.F) {
	body := []byte(`{"model":"m","tools":[{"name":"read"}],"messages":[{"role":"user","content":"a"},{"role":"assistant",` +
		`"content":[{"type":"tool_use","id":"1","name":"read","input":{"file_path":"f"}}]},{"role":"user","content":` +
		`[{"type":"tool_result","tool_use_id":"1","content":"b"}]}]}`)
	stream := []byte("data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9}}}\n\n" +
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"c\"}}\n\n" +
		"data: {\"type\":\"message_stop\"}\n\n")
	f.Add(uint8(0), body, body, stream, true)
	f.Add(uint8(1), []byte(`{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{}]}`), body,
		[]byte(`{"choices":[{"message":{"content":"b","tool_calls":[{"id":"1","function":{"name":"f"}}]}}],"usage":{"prompt_tokens":3}}`), false)
	f.Add(uint8(2), []byte(`{"model":"m","input":[{"role":"user","content":"a"}],"tools":[{}]}`), []byte(`{"input":"a"}`),
		[]byte(`{"output":[{"type":"message","content":[{"type":"output_text","text":"b"}]}],"usage":{"input_tokens":3}}`), false)
	f.Add(uint8(3), []byte(`{"contents":[{"role":"user","parts":[{"text":"a"}]}],"tools":[{}]}`), []byte(`{}`),
		[]byte(`[{"candidates":[{"content":{"parts":[{"text":"b"}]}}]}]`), false)
	paths := []string{"/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1beta/models/m:generateContent"}
	f.Fuzz(func(t *testing.T, path uint8, first, second, answer []byte, streamed bool) {
		set := settings.Default()
		set.Compaction.Auto = false
		engine, err := winnow.Open(winnow.Config{Settings: &set, Store: memory.New()})
		if err != nil {
			t.Fatal(err)
		}
		provider := &echo{answer: answer, kind: "application/json"}
		if streamed {
			provider.kind = "text/event-stream"
		}
		transport := New(engine, Options{Base: provider, Log: panics(t)})
		for _, body := range [][]byte{first, second, first} {
			r, _ := http.NewRequest("POST", "https://provider.example"+paths[int(path)%len(paths)], bytes.NewReader(body))
			got, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			heard, err := io.ReadAll(got.Body)
			if err != nil || !slices.Equal(heard, answer) {
				t.Fatalf("the client hears %q, %v; the provider said %q", heard, err, answer)
			}
			if transport.Totals().Edited == 0 && !bytes.Equal(provider.body, body) {
				t.Fatalf("sent %q, came %q", provider.body, body)
			}
		}
	})
}

// panics is a log that fails the test for every panic.
func panics(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(complaint{t, "panic="}, nil))
}

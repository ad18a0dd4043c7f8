package transport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/settings"
	"github.com/winnowhq/winnow/store/memory"
)

// What a request takes of which the last two messages are new, beside sending it.
func BenchmarkTransport(b *testing.B) {
	for _, size := range []int{10 << 10, 200 << 10, 1 << 20, 5 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			set := settings.Default()
			set.Compaction.Auto = false
			engine, err := winnow.Open(winnow.Config{Settings: &set, Store: memory.New()})
			if err != nil {
				b.Fatal(err)
			}
			t := New(engine, Options{Base: &recorder{}})
			var messages bytes.Buffer
			messages.WriteString(`{"role":"user","content":"Look around."}`)
			next := 0
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
				answer, err := t.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
			send()
			for b.Loop() {
				step("ok")
				send()
			}
		})
	}
}

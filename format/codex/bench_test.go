package codex

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// generated is a rollout of about that many bytes in the proportions of a recorded one: a third
// outputs, a third the events that repeat them, the rest records of usage.
func generated(size int) []byte {
	var b bytes.Buffer
	ordinal := 0
	put := func(kind, payload string) {
		fmt.Fprintf(&b, `{"timestamp":"2026-03-01T10:%02d:%02d.123Z","ordinal":%d,"type":%q,"payload":%s}`+"\n", ordinal/60%60, ordinal%60, ordinal, kind, payload)
		ordinal++
	}
	put("session_meta", `{"id":"11111111-2222-3333-4444-555555555555","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/home/me/garden","cli_version":"0.169.0","model_provider":"local"}`)
	put("response_item", `{"type":"message","id":"msg_u","role":"user","content":[{"type":"input_text","text":"Read everything."}]}`)
	for step := 0; b.Len() < size; step++ {
		var text strings.Builder
		for i := range 40 + step%7*60 {
			fmt.Fprintf(&text, `%d\tfunc handle%d(w http.ResponseWriter) { fmt.Fprintf(w, \"product %d\") }\n`, i, step, i)
		}
		put("response_item", fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":[{"type":"summary_text","text":"Next, file %d."}],"encrypted_content":"%s"}`, step, step, strings.Repeat("QUJD", 200)))
		put("response_item", fmt.Sprintf(`{"type":"function_call","id":"fc_%d","name":"exec_command","arguments":"{\"cmd\":\"cat file%d.go\"}","call_id":"call_%d"}`, step, step, step))
		put("token_usage_record", `{"thread_id":"t","usage":{"input_tokens":9915,"cached_input_tokens":9000,"cache_write_input_tokens":0,"output_tokens":10,"reasoning_output_tokens":0,"total_tokens":9925},"turn_token_usage":{"input_tokens":9915,"output_tokens":10}}`)
		put("event_msg", fmt.Sprintf(`{"type":"item_completed","item":{"type":"CommandExecution","id":"call_%d","aggregated_output":"%s","exit_code":0}}`, step, text.String()))
		put("response_item", fmt.Sprintf(`{"type":"function_call_output","call_id":"call_%d","output":"Process exited with code 0\nOutput:\n%s"}`, step, text.String()))
		put("event_msg", `{"type":"token_count","info":{"total_token_usage":{"input_tokens":9915,"total_tokens":9925},"last_token_usage":{"input_tokens":9915,"total_tokens":9925}}}`)
	}
	return b.Bytes()
}

func BenchmarkRead(b *testing.B) {
	src := generated(9 << 20)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Format{}).Read(src); err != nil {
			b.Fatal(err)
		}
	}
}

func TestRead_oneLineOfFiftyMegabytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 150 MB of memory")
	}
	line := `{"timestamp":"2026-03-01T10:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"` + strings.Repeat(`a\n`, 25<<20) + `"}]}}`
	doc := read(t, []byte(line))
	if n := len(doc.Session.Messages[0].Parts[0].Text); n != 50<<20 {
		t.Errorf("text has %d bytes, want %d", n, 50<<20)
	}
}

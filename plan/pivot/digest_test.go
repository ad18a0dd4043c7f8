package pivot

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/session"
)

// What a model is told about the facts of its earlier notes comes from the log: what holds, with
// where it was said, what does not, and what nobody said.
func TestDigest_saysOfEachFactWhatTheLogHas(t *testing.T) {
	said := func(role session.Role, text string) session.Message {
		m := session.Message{MessageInfo: session.MessageInfo{Role: role, Finish: "stop"},
			Parts: []session.Part{{Type: session.TextPart, Text: text}}}
		return m
	}
	call := func(tool, input, output string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "tool-calls"},
			Parts: []session.Part{{Type: session.ToolPart, Tool: tool,
				State: &session.ToolState{Status: session.Completed, Input: []byte(input), Output: output}}}}
	}
	past := Past{Log: []session.Message{
		said(session.User, "The service listens on port 7070. We use Memcached."),
		call("write", `{"filePath":"internal/feed/feed.go","content":"package feed"}`, "wrote it"),
		call("bash", `{"command":"go test ./internal/feed"}`, "ok  \tinternal/feed\t0.1s"),
		said(session.Assistant, "The parser lives in internal/feed/feed.go, and MaxLine is its limit."),
		call("bash", `{"command":"rm internal/old/old.go"}`, ""),
		said(session.User, "Use port 8080 instead of 7070, and Redis instead of Memcached."),
	}}
	previous := "## Decisions\n- It listens on port 7070.\n- We use Memcached.\n- `internal/feed/feed.go` has the parser, `MaxLine` its limit; `go test ./internal/feed` worked.\n- `internal/made/up.go` and port 9191 are next.\n"
	got := Digest(previous, past, DigestSize)
	for _, want := range []string{
		"port: 7070 is now 8080: \"Use port 8080 instead of 7070, and Redis instead of Memcached.\"",
		"Memcached is now Redis", "`go test ./internal/feed` ran, and worked the last time",
		"`internal/feed/feed.go`: \"The parser lives in internal/feed/feed.go, and MaxLine is its limit.\"",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	_, not, _ := strings.Cut(got, "Found nowhere")
	not, _, _ = strings.Cut(not, "Confirmed")
	if !strings.Contains(not, "internal/made/up.go") || !strings.Contains(not, "9191") {
		t.Errorf("what was made up is not among what is found nowhere:\n%s", got)
	}
	for _, size := range []int{0, 50, 200, 400, 1000} {
		if n := len(Digest(previous, past, size)); n > size {
			t.Errorf("of %d bytes it takes %d", size, n)
		}
	}
	if got := Digest("", past, DigestSize) + Digest(previous, Past{}, DigestSize); got != "" {
		t.Errorf("without a summary or a log it says %q", got)
	}
}

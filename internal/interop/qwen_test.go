//go:build interop

package interop

import (
	"path/filepath"
	"strconv"
	"testing"
)

func newQwen(t *testing.T) *chat {
	t.Helper()
	up := provider(t, jobs(func(command string) string {
		return `{"command":` + strconv.Quote(command) + `,"is_background":false}`
	}))
	c := newClient(t, "qwen", "OPENAI_API_KEY=none", "OPENAI_BASE_URL="+up.URL+"/v1", "OPENAI_MODEL=scripted",
		"QWEN_TELEMETRY_ENABLED=false", "QWEN_CODE_SUPPRESS_YOLO_WARNING=1")
	return &chat{
		client: c, up: up, pattern: filepath.Join(".qwen", "projects", "*", "chats", "*.jsonl"),
		ask: []string{"--yolo", "-p"}, resume: []string{"--yolo", "-c", "-p"},
		named:    func(id string) (string, []string) { return id + ".jsonl", []string{"--yolo", "--resume", id, "-p"} },
		compress: func(t *testing.T, c *chat) { c.goOn(t, "/compress") },
	}
}

// What winnow writes, Qwen Code resumes as the view says.
func TestQwenCode_resumesFromWhatWasWritten(t *testing.T) { tryChat(t, newQwen) }

//go:build interop

package interop

import (
	"path/filepath"
	"strconv"
	"testing"
)

func newGemini(t *testing.T) *chat {
	t.Helper()
	up := provider(t, jobs(func(command string) string { return `{"command":` + strconv.Quote(command) + `}` }))
	c := newClient(t, "gemini", "GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL="+up.URL,
		"GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_TELEMETRY_ENABLED=false", "NO_BROWSER=1")
	settings := func(model string) {
		putFile(t, filepath.Join(c.Home, ".gemini", "settings.json"),
			`{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},`+
				`"general":{"enableAutoUpdate":false},"model":`+model+`}`)
	}
	settings("{}")
	model := []string{"-m", "gemini-2.5-flash", "--yolo"}
	return &chat{
		client: c, up: up, pattern: filepath.Join(".gemini", "tmp", "*", "chats", "session-*.jsonl"),
		ask: append(model, "-p"), resume: append(model[:3:3], "--resume", "latest", "-p"), twice: true,
		named: func(id string) (string, []string) {
			return "session-2026-03-01T10-00-" + id[:8] + ".jsonl", append(model[:3:3], "--resume", id, "-p")
		},
		compress: func(t *testing.T, c *chat) { // without a person, asking it to compress has no effect
			settings(`{"compressionThreshold":0.001}`)
			c.goOn(t, "And the zebu?")
			settings("{}")
		},
	}
}

// What winnow writes, Gemini CLI resumes as the view says.
func TestGeminiCLI_resumesFromWhatWasWritten(t *testing.T) { tryChat(t, newGemini) }

package command

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Lines that hold next to nothing take little memory, however many there are: what is made of one
// weighs a hundred times as much as it. With LARGE_MB set, the lines are two and a half times as many.
func TestInspect_tinyLinesNeedLittleMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the unit of what a process took is another")
	}
	sequential(t)
	const most = 200 // MB, for a million lines too: see docs/performance.md
	const ofClaude = `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"Light the lamp."}}`
	const ofCodex = `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s","cwd":"/pier","timestamp":"2026-01-01T00:00:00Z"}}`
	const ofPi = `{"type":"session","version":3,"id":"s","cwd":"/pier"}`
	for _, c := range []struct {
		name, head, line string
		lines            int // or pairs of them
	}{
		{"messages of claude-code", ofClaude, `{"type":"user","message":{"role":"user","content":"a"}}`, 40_000},
		{"answers of claude-code", ofClaude, `{"type":"user","uuid":"q%[1]d","parentUuid":"a%[2]d","message":{"role":"user","content":"a"}}
{"type":"assistant","uuid":"a%[1]d","parentUuid":"q%[1]d","message":{"id":"m%[1]d","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":3,"output_tokens":5}}}`, 100_000},
		{"messages of codex", ofCodex, `{"type":"response_item","payload":{"type":"message","role":"user"}}`, 40_000},
		{"messages of pi", ofPi, `{"type":"message","message":{"role":"user","content":"a"}}`, 40_000},
		{"nothing of claude-code", ofClaude, `{}`, 200_000},
		{"nothing of codex", ofCodex, `{}`, 200_000},
		{"nothing of pi", ofPi, `{}`, 200_000},
	} {
		if os.Getenv("LARGE_MB") != "" {
			c.lines = c.lines / 2 * 5
		}
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "tiny.jsonl")
			file, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriter(file)
			w.WriteString(c.head + "\n")
			for i := range c.lines {
				line := c.line
				if strings.Contains(line, "%") { // lines with ids of their own
					line = fmt.Sprintf(line, i+1, i)
				}
				w.WriteString(line + "\n")
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			weight := filepath.Join(dir, "weight")
			cmd := exec.Command("weigh", "inspect", path)
			cmd.Env = append(os.Environ(), "HOME="+dir, "WEIGHT="+weight)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%.2000s", err, out)
			}
			took, err := os.ReadFile(weight)
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(took), "Maxrss:")
			kilobytes := 0
			if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
				t.Fatalf("the system says %s: %v", took, err)
			}
			t.Logf("%d lines: %d MB of memory", c.lines, kilobytes>>10)
			if kilobytes>>10 > most {
				t.Errorf("%d lines took %d MB of memory, more than %d", c.lines, kilobytes>>10, most)
			}
		})
	}
}

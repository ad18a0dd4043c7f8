package command

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// writeLarge writes a session of Claude Code of a size in bytes: turns of a request, a few steps with
// calls, and outputs of half a kilobyte to eight.
func writeLarge(t *testing.T, path string, size int64) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(file, 1<<20)
	parent, n, written := "null", 0, int64(0)
	line := func(kind, message string) {
		n++
		uuid := fmt.Sprintf(`"00000000-0000-4000-8000-%012d"`, n)
		k, err := fmt.Fprintf(w, `{"parentUuid":%s,"isSidechain":false,"cwd":"/home/mira/tides","sessionId":"7d0c1c52-7d5c-4c0e-9f55-3f6b6f1f8a10","version":"2.1.0","type":%q,"uuid":%s,"timestamp":"2026-03-01T08:%02d:%02d.000Z","message":%s}`+"\n",
			parent, kind, uuid, n/60%60, n%60, message)
		if err != nil {
			t.Fatal(err)
		}
		parent, written = uuid, written+int64(k)
	}
	for turn := 1; written < size; turn++ {
		line("user", fmt.Sprintf(`{"role":"user","content":"Look at gauge %d and correct the drift before the spring tide."}`, turn))
		for step := range 4 + turn%5 {
			call := fmt.Sprintf("toolu_%06d_%d", turn, step)
			line("assistant", fmt.Sprintf(`{"id":"msg_%06d_%d","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":80,"cache_read_input_tokens":%d,"cache_creation_input_tokens":900},"content":[{"type":"text","text":"The readings of hour %d next."},{"type":"tool_use","id":%q,"name":"Read","input":{"file_path":"/home/mira/tides/readings/%d-%d.csv"}}]}`,
				turn, step, 20_000+step*900, step, call, turn, step))
			rows := 12 << ((turn + step) % 5)
			var output strings.Builder
			for r := range rows {
				fmt.Fprintf(&output, "%d\\t%04d-%02d\\t%d.%03d m\\tok\\n", r+1, turn, step, r*7%5, (r*131+turn)%1000)
			}
			line("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"%s"}]}`, call, output.String()))
		}
		line("assistant", fmt.Sprintf(`{"id":"msg_%06d_z","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":60,"cache_read_input_tokens":24000,"cache_creation_input_tokens":400},"content":[{"type":"text","text":"Gauge %d drifts by %d mm; corrected."}]}`, turn, turn, turn%40))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// A file that is read a stretch at a time is reported as one that is read whole.
func TestInspect_ofALargeFileSaysWhatTheWholeSays(t *testing.T) {
	sequential(t)
	path := filepath.Join(t.TempDir(), "large.jsonl")
	writeLarge(t, path, 20<<20)
	var whole, skimmed inspection
	memory := debug.SetMemoryLimit(-1)
	for doc, limit := range map[*inspection]int64{&whole: 1 << 40, &skimmed: 1 << 20} {
		var out, complaints bytes.Buffer
		env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &complaints, Dir: filepath.Dir(path), Getenv: func(string) string { return "" }, Now: cli.System().Now, TooLarge: limit}
		if code := (Program{}).Main(t.Context(), []string{"inspect", path, "--json"}, env); code != 0 {
			t.Fatalf("exit %d: %s", code, complaints.String())
		}
		if err := json.Unmarshal(out.Bytes(), doc); err != nil {
			t.Fatal(err)
		}
	}
	if now := debug.SetMemoryLimit(-1); now != memory {
		t.Errorf("it leaves a limit of %d bytes of memory behind, %d before", now, memory)
	}
	if whole.Messages != skimmed.Messages || whole.Steps != skimmed.Steps || whole.Turns != skimmed.Turns || whole.ToolCalls != skimmed.ToolCalls {
		t.Errorf("counts: %d messages, %d steps, %d turns, %d calls; want %d, %d, %d, %d", skimmed.Messages, skimmed.Steps, skimmed.Turns, skimmed.ToolCalls,
			whole.Messages, whole.Steps, whole.Turns, whole.ToolCalls)
	}
	if whole.Window.Messages != skimmed.Window.Messages || !near(whole.Window.Tokens, skimmed.Window.Tokens) || !near(whole.Tokens.Total, skimmed.Tokens.Total) ||
		!near(whole.Window.Overhead, skimmed.Window.Overhead) {
		t.Errorf("window %+v, want %+v; %d tokens in all, want %d", skimmed.Window, whole.Window, skimmed.Tokens.Total, whole.Tokens.Total)
	}
	parts := len(skimmed.Candidates)
	for _, o := range skimmed.Omitted {
		parts += o.Parts
	}
	if parts != len(whole.Candidates) {
		t.Errorf("%d candidates, %d of them listed; want %d", parts, len(skimmed.Candidates), len(whole.Candidates))
	}
	if len(skimmed.Strata) >= len(whole.Strata) {
		t.Errorf("%d strata of %d messages: neighbours were not joined", len(skimmed.Strata), whole.Messages)
	}
}

// near allows for what the counter learned of the newest stretch alone.
func near(a, b int) bool { return max(a, b)-min(a, b) <= max(a, b)/100 }

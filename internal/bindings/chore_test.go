package bindings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/wire"
)

// instruction is the user's first message.
const instruction = "Never touch main.go. Read all files."

const (
	turns = 6
	steps = 25 // of a turn: each is a request
	files = 60
)

// prompts are the user's messages, one for each turn.
func prompts() []string {
	said := []string{instruction}
	for n := 2; n <= turns; n++ {
		said = append(said, fmt.Sprintf("Read all of them once more, time %d.", n))
	}
	return said
}

// folder returns the folder with the packages of a language. Without them it skips the test.
func folder(t *testing.T, language string) string {
	t.Helper()
	path := filepath.Join(os.Getenv("BINDINGS"), language)
	if _, err := os.Stat(path); err != nil || os.Getenv("BINDINGS") == "" {
		t.Skipf("no packages of %s: make bindings installs them", language)
	}
	return path
}

// chore answers like a model that reads and writes files, looks at pages, and now and then asks for a
// missing file or for two things at once.
func chore() llmtest.Answer {
	n := 0
	return func(r llmtest.Request) llmtest.Reply {
		n++
		if n%steps == 0 {
			return llmtest.Reply{Text: "I have read all of it."}
		}
		reply := llmtest.Reply{Text: fmt.Sprintf("Step %d.", n), Reasoning: fmt.Sprintf("File %d comes next.", n)}
		call := func(tool, arguments string) {
			reply.Calls = append(reply.Calls, llmtest.Call{Name: tool, Arguments: arguments,
				ID: fmt.Sprintf("call_%d_%d", n, len(reply.Calls))})
		}
		switch tool := toolOf(n); tool {
		case "look":
			call(tool, fmt.Sprintf(`{"page":"page %d"}`, n))
		case "write":
			call(tool, fmt.Sprintf(`{"path":"f%d.go","content":%q}`, fileOf(n), content(fileOf(n), n)))
		case "missing":
			call("read", fmt.Sprintf(`{"path":"missing%d.go"}`, n))
		default:
			call(tool, fmt.Sprintf(`{"path":"f%d.go"}`, fileOf(n)))
		}
		if n%10 == 3 {
			call("look", fmt.Sprintf(`{"page":"page %d"}`, n))
		}
		return reply
	}
}

// toolOf returns the tool that a step calls, "missing" for a read that fails.
func toolOf(n int) string {
	switch {
	case n%10 == 5:
		return "look"
	case n%10 == 9:
		return "missing"
	case n%3 == 1:
		return "write"
	}
	return "read"
}

// fileOf returns the file that a step reads or writes: first one of a few, later one of many.
func fileOf(n int) int {
	if n < 60 {
		return n % 8
	}
	return n % files
}

// content returns the text of a file after a step wrote it; step 0 is the beginning.
func content(file, step int) string {
	return strings.Repeat(fmt.Sprintf("// A line of file %d since step %d.\n", file, step), 250)
}

// readAt returns the text that a step reads.
func readAt(n int) string {
	for before := n - 1; before > 0; before-- {
		if before%steps != 0 && toolOf(before) == "write" && fileOf(before) == fileOf(n) {
			return content(fileOf(n), before)
		}
	}
	return content(fileOf(n), 0)
}

// work runs a program on a chore, and checks its requests and the history that it prints.
func work(t *testing.T, protocol llmtest.Protocol, command ...string) {
	t.Helper()
	model, window := "claude-sonnet-4-5", 200_000
	if protocol == llmtest.Chat {
		model, window = "gpt-4o", 128_000
	}
	provider := llmtest.Start(t, llmtest.Script{Answer: chore(), Window: window})
	dir := t.TempDir()
	for n := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.go", n)), []byte(content(n, 0)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), command[0], append(append(command[1:], string(protocol), model), prompts()...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "WINNOW_PROGRAM="+filepath.Join(os.Getenv("BINDINGS"), "winnow"),
		"BASE_URL="+provider.URL, "HOME="+dir, "XDG_CONFIG_HOME="+dir,
		"XDG_DATA_HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	history, err := cmd.Output()
	if err != nil {
		said := stderr.String()
		t.Fatalf("%v: …%s\n%.3000s", err, said[max(0, len(said)-3000):], provider.Problems())
	}
	records, err := provider.Settled(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	judge(t, provider, records)
	whole(t, history)
}

// judge checks the requests of a chore.
func judge(t *testing.T, provider *llmtest.Server, records []llmtest.Record) {
	t.Helper()
	for _, problem := range append(provider.Problems(), provider.Others()...) {
		t.Error(problem)
	}
	if len(records) != turns*steps {
		t.Fatalf("%d requests, want %d", len(records), turns*steps)
	}
	var before [][]byte // messages of the request before
	seen := map[string]bool{}
	pruned, folds, broken, smaller, largest, summary := 0, 0, 0, 0, 0, ""
	for i, r := range records {
		if r.TooLong || r.Status != 200 {
			t.Errorf("request %d: %d tokens are refused with %d", i+1, r.Prompt, r.Status)
		}
		if !r.Contains(instruction) || !r.Contains(prompts()[i/steps]) {
			t.Errorf("request %d lacks what the user asked for", i+1)
		}
		if now := summaryOf(r); now != summary {
			folds, summary = folds+1, now
		}
		messages, same := elements(r), 0
		if slices.ContainsFunc(messages, placeholder) {
			pruned++
		}
		for same < min(len(before), len(messages)) && bytes.Equal(before[same], messages[same]) {
			same++
		}
		if i > 0 && same < len(before) {
			broken++
			if r.Prompt >= records[i-1].Prompt {
				t.Errorf("request %d: message %d changed, and %d tokens follow %d", i+1, same, r.Prompt, records[i-1].Prompt)
			}
		}
		if i > 0 && r.Prompt < records[i-1].Prompt/2 {
			smaller++
		}
		for k, m := range messages[:max(0, len(messages)-4)] { // a step adds no more than four
			if !seen[string(m)] && !placeholder(m) && string(m) != summary {
				t.Errorf("request %d: message %d is neither old nor marked: %.300s", i+1, k, m)
			}
		}
		for _, m := range messages {
			seen[string(m)] = true
		}
		before, largest = messages, max(largest, r.Prompt)
	}
	t.Logf("%d requests, at most %d tokens; %d with placeholders, %d summaries; %d are less than half of the request before; "+
		"the beginning changed %d times", len(records), largest, pruned, folds, smaller, broken)
	if pruned == 0 || folds == 0 || smaller == 0 {
		t.Error("nothing was left out or folded")
	}
	if broken > len(records)/10 {
		t.Errorf("the beginning changed in %d of %d requests", broken, len(records))
	}
}

// placeholder reports whether a message shows that something of it was left out.
func placeholder(m []byte) bool {
	return bytes.Contains(m, []byte("[winnow ")) && !bytes.Contains(m, []byte("conversation-summary"))
}

// summaryOf returns the message with the summary of the past, "" without one.
func summaryOf(r llmtest.Record) string {
	for _, m := range elements(r) {
		if bytes.Contains(m, []byte("conversation-summary")) {
			return string(m)
		}
	}
	return ""
}

// elements returns the messages of a request as they were sent.
func elements(r llmtest.Record) (all [][]byte) {
	for at := range wire.ValueOf(r.Body).Get("messages").Values() {
		all = append(all, slices.Clone(at.Bytes()))
	}
	return all
}

// whole checks that a framework's history holds the originals.
func whole(t *testing.T, history []byte) {
	t.Helper()
	for _, mark := range []string{"[winnow ", "conversation-summary"} {
		if !json.Valid(history) || bytes.Contains(history, []byte(mark)) {
			t.Errorf("the history is not JSON, or has %q", mark)
		}
	}
	for n := 1; n < turns*steps; n++ {
		if n%steps == 0 {
			continue
		}
		want := []string{fmt.Sprintf("Step %d.", n)}
		switch toolOf(n) {
		case "look":
			want = append(want, fmt.Sprintf("Below page %d: a footer", n))
		case "write":
			want = append(want, content(fileOf(n), n))
		case "missing":
			want = append(want, fmt.Sprintf("no such file or directory, open 'missing%d.go'", n))
		default:
			want = append(want, readAt(n))
		}
		for _, text := range want {
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(history, bytes.Trim(quoted, `"`)) {
				t.Errorf("the history lacks %.60q of step %d", text, n)
			}
		}
	}
}

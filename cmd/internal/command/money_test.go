package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// Nobody knows what a model without a price costs: whatever prints dollars says so, and no number.
// A session that house/any has written goes through every command that prints a cost, in words and
// as a page.
func TestMoney_ofAModelWithoutAPriceIsUnknownEverywhere(t *testing.T) {
	sequential(t)
	long := strings.Repeat("a line of the loom's log that says nothing new\n", 400)
	replies := []llmtest.Reply{}
	for i := range 6 { // an equal call is left out before it is sent
		replies = append(replies, calling("read", fmt.Sprintf(`{"filePath":"a.txt","limit":%d}`, 9_000+i)))
	}
	replies = append(replies, llmtest.Reply{Text: "All of it is read."}, llmtest.Reply{Text: "## Goal\n\nRead a.txt.\n\n## Progress\n\nIt was read six times, and nothing new stood in it.\n"})
	d, _ := agentDesk(t, llmtest.Sequence(replies...))
	d.put("a.txt", []byte(long))
	dollar := regexp.MustCompile(`\$ ?[0-9]`)
	said := func(name, text string, unknown bool) {
		t.Helper()
		if at := dollar.FindStringIndex(text); at != nil {
			t.Errorf("%s prints dollars: …%s…", name, text[max(0, at[0]-80):min(len(text), at[1]+40)])
		}
		if unknown && !strings.Contains(text, "unknown") {
			t.Errorf("%s does not say that it is unknown:\n%s", name, text)
		}
	}
	runs := func(unknown bool, args ...string) string {
		t.Helper()
		o := d.run(args...)
		if o.code != cli.ExitDone {
			t.Fatalf("%s: %d\n%s%s", strings.Join(args, " "), o.code, o.stdout, o.stderr)
		}
		said(strings.Join(args, " "), o.stdout+o.stderr, unknown)
		return o.stdout
	}
	runs(true, "run", "read a.txt six times")
	id, _, _ := strings.Cut(runs(true, "list"), " ")
	runs(true, "inspect", id)
	runs(true, "show", id)
	runs(false, "explain", id)
	runs(true, "prune", id, "--dry-run", "--policy", "aggressive")
	runs(true, "compact", id, "--dry-run")
	runs(true, "compact", id, "--summarizer", "llm", "--model", "house/any", "--force")
	runs(true, "inspect", id)
	runs(true, "show", id)
	runs(true, "replay", id, "--min-steps", "1")
	for command, args := range map[string][]string{
		"inspect": {"inspect", id}, "show": {"show", id}, "replay": {"replay", id, "--min-steps", "1"},
	} {
		runs(false, append(args, "--html", command+".html")...)
		page := string(d.read(command + ".html"))
		if _, body, ok := strings.Cut(page, "<body"); ok {
			page = regexp.MustCompile(`(?s)<script.*?</script>`).ReplaceAllString(body, "")
		}
		said(command+" --html", page, true)
	}
	file := filepath.Join(d.dir, "..", "home", ".codex", "sessions", "2026", "rollout-b112.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	data := unpacked(t, filepath.Join("testdata", "bills", "codex", "records.jsonl"))
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(data), "gpt-5-codex", "loom-9")), 0o600); err != nil {
		t.Fatal(err)
	}
	runs(true, "list", "--everywhere")
}

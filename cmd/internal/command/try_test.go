package command

import (
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// What docs/try.md says of its prompts happens, with a model that does as it is told.
func TestTry_thePromptsShowTheirStrategies(t *testing.T) {
	sequential(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, numbered("line %d of the page", 40))
	}))
	defer site.Close()
	block := "What does this do?\n\n```go\n" + strings.Repeat("fmt.Println(\"tide\")\n", 12) + "```\n"
	for _, c := range []struct {
		strategy, prompt string
		calls            []llmtest.Reply
		more             int // turns
	}{
		{"files", "Read it twice.", []llmtest.Reply{calling("read", `{"filePath":"log.txt"}`),
			calling("read", `{"filePath":"log.txt","offset":0,"limit":50}`)}, 0},
		{"inputs", "Write it, then read it.", []llmtest.Reply{
			calling("write", `{"filePath":"notes.txt","content":"`+strings.Repeat(`a line of notes\n`, 60)+`"}`),
			calling("read", `{"filePath":"notes.txt"}`)}, 0},
		{"queries", "List twice.", []llmtest.Reply{calling("bash", `{"command":"ls -la"}`),
			calling("bash", `{"command":"ls log.txt"}`)}, 0},
		{"retries", "Read what is not there, create it, read it again.", []llmtest.Reply{
			calling("read", `{"filePath":"data/input.txt"}`),
			calling("write", `{"filePath":"data/input.txt","content":"one line\n"}`),
			calling("read", `{"filePath":"data/input.txt"}`)}, 0},
		{"attachments", "Look at the picture.", []llmtest.Reply{calling("read", `{"filePath":"picture.png"}`)}, 1},
		{"urls", "Fetch it twice.", []llmtest.Reply{calling("webfetch", `{"url":"`+site.URL+`"}`),
			calling("webfetch", `{"url":"`+site.URL+`"}`)}, 0},
		{"errors", "Fetch what is not there.", []llmtest.Reply{
			calling("webfetch", `{"url":"`+site.URL+`/nowhere"}`)}, 6},
		{"code", block, nil, 6},
	} {
		t.Run(c.strategy, func(t *testing.T) {
			script := append(c.calls, llmtest.Reply{Text: "Done."})
			for range c.more {
				script = append(script, llmtest.Reply{Text: "OK."})
			}
			d, _ := agentDesk(t, llmtest.Sequence(script...))
			d.env = append(d.env, "WINNOW_POLICY=aggressive")
			for name, text := range map[string]string{
				"log.txt": numbered("line %d of the log", 400), "code.go": numbered("func f%d() {}", 200),
			} {
				if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			picture(t, filepath.Join(d.dir, "picture.png"))
			d.run("run", "--yes", c.prompt).wants(t, cli.ExitDone)
			for range c.more {
				d.run("run", "--continue", "Say OK.").wants(t, cli.ExitDone)
			}
			listed := d.run("list").stdout
			id := strings.Fields(listed[strings.Index(listed, "ses_"):])[0]
			told := d.run("explain", id, "--rule", c.strategy)
			told.wants(t, cli.ExitDone)
			if !strings.Contains(told.stdout, "left out; a placeholder is shown") {
				t.Errorf("explain says:\n%s", told.stdout)
			}
		})
	}
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

func picture(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, image.NewRGBA(image.Rect(0, 0, 200, 200))); err != nil {
		t.Fatal(err)
	}
}

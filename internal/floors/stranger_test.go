package floors

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

// program finds a program of the documents, with what it is said to print if that follows.
var program = regexp.MustCompile("(?s)```go\n(package main\n.*?)```(?:[^`#]*```\n(.*?)```)?")

// Programs of the documents, and the line of the README in one, run in a module of their own, as a
// stranger has it.
func TestDocuments_theirProgramsRunInAnEmptyModule(t *testing.T) {
	root := outside.Root(t)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(readme), "```go\n")
	line, _, _ = strings.Cut(line, "```")
	run(t, root, `package main

import (
	"context"
	"fmt"

	"github.com/winnowhq/winnow"
)

func main() {
	ctx, history := context.Background(), []map[string]any{{"role": "user", "content": "Fix the parser."}}
	`+line+`
	fmt.Println(len(messages), report.Before == report.After, err)
}
`, "1 true <nil>\n")
	documents, _ := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	found := 0
	for _, name := range documents {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range program.FindAllStringSubmatch(string(text), -1) {
			found++
			run(t, root, p[1], p[2])
		}
	}
	if found == 0 {
		t.Error("the documents have no program")
	}
}

// tokens are sizes, which depend a little on the ids that a session happens to get.
var tokens = regexp.MustCompile(`[0-9]{4,}`)

// run runs a program in a new module, which must print this, but for sizes.
func run(t *testing.T, root, source, prints string) {
	t.Helper()
	folder := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	module := "module example\n\ngo 1.26\n\nrequire github.com/winnowhq/winnow v0.0.0\n\n" +
		"replace github.com/winnowhq/winnow => " + root + "\n"
	for name, text := range map[string]string{"go.mod": module, "go.sum": string(sums), "main.go": source} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", "-mod=mod", ".")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath")
	out, err := cmd.CombinedOutput()
	if same := tokens.ReplaceAllString(string(out), "n") == tokens.ReplaceAllString(prints, "n"); err != nil || !same {
		t.Errorf("%v; it prints\n%s\nand the document says\n%s", err, out, prints)
	}
}

package command

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/gateway/shared"
)

// ofGo are words with which the standard library tells programmers what is wrong.
var ofGo = regexp.MustCompile(`strconv\.|invalid syntax|(^|[ (])json: |jsontext|invalid character|cannot unmarshal|time: invalid|` +
	`(open|stat|read|lstat|mkdir|readdirent) [^ ]+: |no such file or directory|value out of range|%!`)

// Wrong values of flags, settings and files are refused in words for people.
func TestPrinted_noErrorOfGo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	root := root(&cli.App{Env: cli.Env{Getenv: func(string) string { return "" }}, Shared: shared.None(errors.New("no database"))})
	tried := 0
	check := func(args ...string) {
		t.Helper()
		tried++
		o := d.run(args...)
		if words := ofGo.FindString(o.stdout + o.stderr); words != "" || o.code == cli.ExitDone {
			t.Errorf("winnow %s: exit code %d, and it says %q:\n%s%s", strings.Join(args, " "), o.code, words, o.stdout, o.stderr)
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); kind == "string" || strings.HasSuffix(kind, "Array") || strings.HasSuffix(kind, "Slice") || f.Name == "help" {
				return
			}
			for _, value := range []string{"x", "99999999999999999999x", "9e999"} {
				check(append(strings.Fields(c.CommandPath())[1:], "--"+f.Name+"="+value)...)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	for name, text := range map[string]string{"broken.jsonl": "{\"type\":\"user\",\n{", "broken.json": "{\"info\": ]", "empty.jsonl": "", "plain.jsonl": "no JSON"} {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"inspect", "compact", "prune", "explain", "replay", "import", "export", "doctor"} {
			check(command, name)
		}
	}
	for _, line := range []string{
		"ls --since x", "cost --since x", "search a --since x", "search a --limit x", "status --days 99999999999999999999",
		"inspect nofile", "inspect no/file.jsonl", "import no/file.jsonl", "compact no/file.jsonl", "replay no/file.jsonl",
		"config set compaction.protect x", "config set compaction.threshold {", "config set compaction.keep []",
		"config set models.x/y {bad", "config set permissions [{", "config add permissions {", "config set gateway.upstreams 5",
		"config set hooks.timeout 1e99", "config get x", "--config no/file.jsonc ls", "recall abcdef --lines x", "mcp --listen x",
		"doctor originals prune --older-than x", "replay --window x nofile", "replay --prices {x nofile", "wrap --log no/x -- true",
		"wrap --upstream http://%zz claude", "serve --upstream a=http://%zz", "serve --listen x",
	} {
		check(strings.Fields(line)...)
	}
	for _, text := range []string{"{", "{\"compaction\": }", "{\"compaction\": {\"protect\": \"x\"}}", "[]", "{\"compaction\": {\"protect\": 1e99}}"} {
		d.put("own.jsonc", []byte(text))
		check("ls", "--config", "own.jsonc")
	}
	if tried < 100 {
		t.Errorf("only %d wrong values were tried", tried)
	}
}

package command

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// Over HTTP the server answers this computer's user alone, beside other processes that use the
// store, and ends at a signal.
func TestMCP_overHTTP(t *testing.T) {
	d := newDesk(t)
	session, err := os.ReadFile(filepath.Join("testdata", "sessions", "pi.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	d.put("pi.jsonl", session)
	d.run("import", "pi.jsonl").wants(t, cli.ExitDone, "")
	cmd := d.command("mcp", "--listen", "127.0.0.1:0")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(log)
	line, _ := lines.ReadString('\n')
	found := regexp.MustCompile(`address=(http://127\.0\.0\.1:\d+)`).FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("it says %q", line)
	}
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: found[1]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 5 {
		t.Errorf("%+v, %v", list, err)
	}
	for range 2 { // what another process writes in between counts
		r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "recall",
			Arguments: map[string]any{"handle": "pkk3oa", "lines": "1"}})
		if err != nil || r.IsError || !strings.HasSuffix(r.Content[0].(*sdk.TextContent).Text, "horn_0.go\n") {
			t.Errorf("%+v, %v", r, err)
		}
		d.run("prune", "7d1c", "--force").wants(t, cli.ExitDone, "")
		if o := d.run("recall", "pkk3oa", "--lines", "1"); o.code != cli.ExitDone || !strings.HasSuffix(o.stdout, "horn_0.go\n") {
			t.Errorf("beside it recall says %+v", o)
		}
		d.run("undo", "7d1c").wants(t, cli.ExitDone, "")
	}
	for _, wrong := range []struct{ host, origin string }{
		{"evil.example", ""}, {"", "http://evil.example"}, {"", "null"}, {"evil.example:80", "http://evil.example:80"},
	} {
		r, err := http.NewRequest(http.MethodPost, found[1], strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = wrong.host
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if wrong.origin != "" {
			r.Header.Set("Origin", wrong.origin)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden || strings.Contains(string(text), "recall") {
			t.Errorf("%+v: %d %s", wrong, answer.StatusCode, text)
		}
	}
	client.Close()
	cmd.Process.Signal(syscall.SIGTERM)
	wantExit(t, cmd, cli.ExitDone)
}

package command

import (
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/pgtest"
)

// readingA is a request of a conversation in which a file was read.
func readingA(file string) string {
	return `{"model":"claude-sonnet-4-5","max_tokens":10,"tools":[{"name":"Read","input_schema":{"type":"object"}},
		{"name":"mcp__winnow__recall","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"Look."},
		{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"/a/` + file + `.go"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"the ` + file + ` blooms"}]}]}`
}

// withHeaders puts headers into each request.
type withHeaders struct{ headers map[string]string }

func (s withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range s.headers {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// toolsOf is a client of the gateway's own server of tools.
func toolsOf(t *testing.T, url string, headers map[string]string) *sdk.ClientSession {
	t.Helper()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: withHeaders{headers}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func useTool(t *testing.T, s *sdk.ClientSession, tool string, arguments map[string]any) (text string, failed bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError
}

// The agents of a tenant get back what was left out, by their token, from anywhere, and nothing of
// another tenant's; who read what is noted.
func TestTenant_recallsOverHTTP(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { recallsOverHTTP(t, newTeamDesk(t)) })
	t.Run("postgres", func(t *testing.T) {
		d := newTeamDesk(t)
		d.env = append(d.env, "WINNOW_STORE="+pgtest.Start(t))
		recallsOverHTTP(t, d)
	})
}

func recallsOverHTTP(t *testing.T, d *desk) {
	url, _ := billing(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "` + url + `"}}}`)
	for _, name := range []string{"ann", "bob"} {
		d.run("tenant", "add", name).wants(t, cli.ExitDone)
	}
	d.run("tenant", "add", "mute", "--capture", "none").wants(t, cli.ExitDone)
	ann, bob, mute := d.token(t, "ann"), d.token(t, "bob"), d.token(t, "mute")
	reader, relayer := d.token(t, "bob", "--scopes", "read"), d.token(t, "bob", "--scopes", "relay")
	chief := d.token(t, "ann", "--scopes", "read,act,admin")
	g := d.gate()
	for token, file := range map[string]string{ann: "oleander", bob: "heliotrope", mute: "hyssop"} {
		if status, text := ask(t, g.url+"/house/v1/messages", readingA(file), "X-Winnow-Token", token,
			"X-Api-Key", "own"); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		g.figures(token) // it is recorded
	}

	// In each of the ways in which a token is shown.
	bobs := toolsOf(t, g.url+"/mcp", map[string]string{"Authorization": "Bearer " + bob})
	list, err := bobs.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 5 {
		t.Fatalf("%+v, %v", list, err)
	}
	found, failed := useTool(t, bobs, "search", map[string]any{"words": "heliotrope"})
	for range 100 { // PostgreSQL's words are gathered by a job
		if strings.Contains(found, "heliotrope") {
			break
		}
		time.Sleep(100 * time.Millisecond)
		found, failed = useTool(t, bobs, "search", map[string]any{"words": "heliotrope"})
	}
	handle, _, _ := strings.Cut(found, " ")
	if failed || handle == "" || !strings.Contains(found, "heliotrope") {
		t.Fatalf("bob finds %q", found)
	}
	for what, s := range map[string]*sdk.ClientSession{"a bearer": bobs, "a header": toolsOf(t, g.url+"/mcp",
		map[string]string{"X-Winnow-Token": bob}),
		"the path": toolsOf(t, g.url+"/"+bob+"/mcp", nil), "the scope read": toolsOf(t, g.url+"/mcp",
			map[string]string{"X-Winnow-Token": reader})} {
		if text, failed := useTool(t, s, "recall", map[string]any{"handle": handle}); failed ||
			text != "the heliotrope blooms" {
			t.Errorf("with %s bob recalls %q", what, text)
		}
		text, failed := useTool(t, s, "pin", map[string]any{"handle": handle})
		if allowed := what != "the scope read"; failed == allowed || !allowed && !strings.Contains(text,
			"scope act is needed") {
			t.Errorf("with %s bob pins: %q", what, text)
		}
	}

	// ann has another session under the same handle, and sees nothing of bob's in any way.
	for _, s := range []*sdk.ClientSession{toolsOf(t, g.url+"/mcp", map[string]string{"X-Winnow-Token": ann}),
		toolsOf(t, g.url+"/mcp", map[string]string{"X-Winnow-Token": chief})} {
		if text, failed := useTool(t, s, "recall", map[string]any{"handle": handle}); failed ||
			text != "the oleander blooms" {
			t.Errorf("ann recalls %q", text)
		}
		if text, _ := useTool(t, s, "search", map[string]any{"words": "heliotrope"}); !strings.Contains(text,
			"Nothing in this session") {
			t.Errorf("ann finds %q", text)
		}
		var all strings.Builder
		text, _ := useTool(t, s, "context", nil)
		all.WriteString(text)
		r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "winnow://sessions"})
		if err != nil || strings.Count(r.Contents[0].Text, "\n") != 1 {
			t.Fatalf("the sessions of ann: %+v, %v", r, err)
		}
		if strings.Contains(all.String(), "heliotrope") {
			t.Errorf("ann sees %s", all.String())
		}
		own, err := bobs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "winnow://sessions"})
		if err != nil {
			t.Fatal(err)
		}
		theirs := strings.Fields(own.Contents[0].Text)[0]
		if r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: theirs}); err == nil {
			t.Errorf("ann reads bob's session: %+v", r)
		}
	}

	// Who has no token, or not the scope, or comes from another page gets no answer.
	const listing = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, test := range []struct {
		what, path string
		status     int
		headers    []string
	}{
		{"no token", "/mcp", 401, nil},
		{"nobody's token", "/mcp", 401, []string{"X-Winnow-Token", "wt_nobodys"}},
		{"the scope relay", "/mcp", 403, []string{"X-Winnow-Token", relayer}},
		{"another page", "/" + bob + "/mcp", 403, []string{"Origin", "https://evil.example"}},
		{"no page", "/" + bob + "/mcp", 403, []string{"Origin", "null"}},
		{"another tenant's, by who may see it", "/~t/bob/mcp", 404, []string{"X-Winnow-Token", chief}},
		{"a path below", "/mcp/house", 404, []string{"X-Winnow-Token", bob}},
		{"nothing is kept", "/mcp", 404, []string{"X-Winnow-Token", mute}},
	} {
		a, text := send(t, http.MethodPost, g.url+test.path, listing, append(test.headers, "Content-Type",
			"application/json",
			"Accept", "application/json, text/event-stream")...)
		if a.StatusCode != test.status || strings.Contains(text, "handle") {
			t.Errorf("%s: %d %s, want %d", test.what, a.StatusCode, text, test.status)
		}
	}
	g.ends()
	for name, want := range map[string]string{"bob": "pin", "ann": "read"} {
		if o := d.run("tenant", "audit", name); !strings.Contains(o.stdout, want) ||
			!strings.Contains(o.stdout, "tok_") ||
			strings.Contains(o.stdout, "blooms") {
			t.Errorf("the audit log of %s: %s", name, o.stdout)
		}
	}
}

// Without tenants the tools are this computer's user's.
func TestServe_recallsOverHTTP(t *testing.T) {
	d := newTeamDesk(t)
	url, _ := billing(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "` + url + `"}}}`)
	g := d.gate()
	if status, text := ask(t, g.url+"/house/v1/messages", readingA("oleander"), "X-Api-Key", "own"); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	g.figures("")
	s := toolsOf(t, g.url+"/mcp", nil)
	found, failed := useTool(t, s, "search", map[string]any{"words": "oleander"})
	if failed || !strings.Contains(found, "oleander") {
		t.Errorf("it finds %q", found)
	}
	for _, headers := range [][]string{{"Host", "evil.example"}, {"Origin", "https://evil.example"}} {
		r, err := http.NewRequest(http.MethodPost, g.url+"/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(headers[0], headers[1])
		if headers[0] == "Host" {
			r.Host = headers[1]
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != http.StatusNotFound {
			t.Errorf("%v: %d", headers, a.StatusCode)
		}
	}
	g.ends()
}

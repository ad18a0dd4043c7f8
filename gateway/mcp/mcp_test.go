package mcp_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/mcp"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/token"
)

// quay is an engine with a live session of which a read is left out.
func quay(t testing.TB) (e *winnow.Engine, handle string) {
	t.Helper()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	kept, err := sqlite.Open(t.Context(), sqlite.Config{Path: t.TempDir() + "/winnow.db"})
	if err != nil {
		t.Fatal(err)
	}
	e, err = winnow.Open(winnow.Config{Store: kept, Now: func() time.Time { return now }, Model: "anthropic/claude-sonnet-4-5"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(); kept.Close() })
	ctx := context.Background()
	if _, err := e.Create(ctx, session.Info{ID: "live_quay", Title: "Mend the crane"}); err != nil {
		t.Fatal(err)
	}
	user := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: "Why does the crane stop?"}}}
	user.Role = session.User
	log := []session.Message{user}
	for i := range 6 {
		m := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: "I look on."}}}
		m.Role, m.Finish = session.Assistant, "stop"
		if i == 0 {
			m.Parts = []session.Part{{ID: "call_1", CallID: "call_1", Type: session.ToolPart, Tool: "read",
				State: &session.ToolState{Status: session.Completed, Input: jsontext.Value(`{"filePath":"crane.go"}`), Output: craneFile}}}
		}
		log = append(log, m)
	}
	if err := e.Append(ctx, "live_quay", log...); err != nil {
		t.Fatal(err)
	}
	done, err := e.Edit(ctx, "live_quay", edit.Request{Discard: []string{"call_1"}, All: true})
	if err != nil {
		t.Fatal(err)
	}
	return e, done.Targets[0].Handle
}

var craneFile = strings.Repeat("the crane lifts\n", 300) + "the pulley squeaks\n" + strings.Repeat("the crane lowers\n", 300)

// connect is a client of a server over its own transport, and over HTTP.
func connect(t *testing.T, c mcp.Config, each func(t *testing.T, client *sdk.ClientSession)) {
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	t.Run("memory", func(t *testing.T) {
		here, there := sdk.NewInMemoryTransports()
		if _, err := mcp.New(c).Connect(t.Context(), here, nil); err != nil {
			t.Fatal(err)
		}
		s, err := client.Connect(t.Context(), there, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		each(t, s)
	})
	t.Run("http", func(t *testing.T) {
		server := httptest.NewServer(mcp.Handler(mcp.New(c)))
		defer server.Close()
		s, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		each(t, s)
	})
}

func call(t *testing.T, s *sdk.ClientSession, name string, arguments any) (text string, failed bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError
}

type args = map[string]any

// A search of a store that does without an index says so.
func TestServer_searchesWithoutAnIndex(t *testing.T) {
	e, handle := quay(t)
	if err := e.Store().(store.Unindexer).KeepIndex(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	const note = "Note: there is no search index (gateway.searchIndex is false): 7 messages were read.\n"
	connect(t, mcp.Config{Engine: e, Version: "1"}, func(t *testing.T, s *sdk.ClientSession) {
		for words, want := range map[string]string{"pulley": note + handle + " read",
			"zebra": note + "Nothing in this session has these words."} {
			if text, failed := call(t, s, "search", args{"words": words}); failed || !strings.Contains(text, want) {
				t.Errorf("%s: %s", words, text)
			}
		}
	})
}

func TestServer_givesBackWhatWasLeftOut(t *testing.T) {
	e, handle := quay(t)
	connect(t, mcp.Config{Engine: e, Version: "1"}, func(t *testing.T, s *sdk.ClientSession) {
		for _, test := range []struct {
			tool      string
			arguments any
			want      string
			fails     bool
		}{
			{"recall", args{"handle": handle, "lines": "301"}, "the pulley squeaks\n", false},
			{"recall", args{"handle": "[winnow recall " + handle + ": read crane.go]", "words": "Pulley"}, "301: the pulley squeaks", false},
			{"recall", args{"handle": handle, "words": []string{"pulley"}}, "301: the pulley squeaks", false},
			{"recall", args{"handle": handle}, "(Lines 1-400 of 601. Go on with lines 401-.)", false},
			{"recall", args{"handle": handle, "lines": "401-"}, "the crane lowers\n", false},
			{"recall", args{"handle": handle, "lines": 301}, "the pulley squeaks\n", false},
			{"recall", args{"handle": handle, "words": "zebra"}, `no line has "zebra"`, true},
			{"recall", args{"handle": "zzzzzz"}, "no session has a part zzzzzz", true},
			{"recall", args{}, "give the handle", true},
			{"search", args{"words": "pulley"}, handle + " read (left out): ", false},
			{"search", args{"words": "zebra"}, "Nothing in this session has these words.", false},
			{"search", args{"words": "!"}, "give words", true},
			{"context", args{}, "Session live_quay: ", false},
			{"context", args{}, "of 1 part.\n", false},
			{"context", args{}, handle + "  ", false},
			{"pin", args{}, "give either a handle or a text", true},
			{"pin", args{"text": "Never touch the brake."}, "Pinned.", false},
		} {
			text, failed := call(t, s, test.tool, test.arguments)
			if failed != test.fails || !strings.Contains(text, test.want) {
				t.Errorf("%s %v: failed %t, want %q in\n%s", test.tool, test.arguments, failed, test.want, text)
			}
		}
	})
	_, state, err := e.Session(t.Context(), "live_quay")
	if err != nil || len(state.Info.Missed) != 12 || len(state.Pins) != 1 {
		t.Errorf("missed %+v, pinned %+v, %v", state.Info.Missed, state.Pins, err)
	}
}

// What is pinned by its handle is shown again, for good.
func TestServer_pinsByHandle(t *testing.T) {
	e, handle := quay(t)
	connect(t, mcp.Config{Engine: e, Session: "live_quay"}, func(t *testing.T, s *sdk.ClientSession) {
		if text, failed := call(t, s, "pin", args{"handle": handle}); failed || text != "Pinned." {
			t.Errorf("failed %t: %s", failed, text)
		}
	})
	v, err := e.View(t.Context(), "live_quay")
	if err != nil || v.Messages[1].Parts[0].State.Output != craneFile {
		t.Errorf("%v: it is not shown", err)
	}
}

func TestServer_hasSessionsAsResources(t *testing.T) {
	e, handle := quay(t)
	connect(t, mcp.Config{Engine: e}, func(t *testing.T, s *sdk.ClientSession) {
		for uri, want := range map[string]string{
			"winnow://sessions":                      "winnow://sessions/live_quay  2026-01-02 12:00  Mend the crane\n",
			"winnow://sessions/live_quay":            "Session live_quay: ",
			"winnow://sessions/live_quay/" + handle:  "the pulley squeaks",
			"winnow://sessions/live_none":            "",
			"winnow://sessions/live_quay/zzzzzz":     "",
			"winnow://sessions/live_quay/%2e%2e%2fx": "",
			"winnow://else":                          "",
		} {
			r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			switch {
			case want == "" && err == nil:
				t.Errorf("%s: %+v", uri, r)
			case want != "" && (err != nil || !strings.Contains(r.Contents[0].Text, want)):
				t.Errorf("%s: %v", uri, err)
			}
		}
	})
}

// The tools are sent with every request of an agent.
func TestServer_toolsAreShort(t *testing.T) {
	e, _ := quay(t)
	connect(t, mcp.Config{Engine: e, Compact: anybody}, func(t *testing.T, s *sdk.ClientSession) {
		list, err := s.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 5 {
			t.Fatalf("%+v, %v", list, err)
		}
		total := 0
		for _, tool := range list.Tools {
			schema, err := json.Marshal(tool.InputSchema)
			if err != nil {
				t.Fatal(err)
			}
			total += token.Chars4{}.Count(tool.Name + tool.Description + string(schema))
		}
		if total > 280 {
			t.Errorf("they take %d tokens", total)
		}
		t.Logf("%d tokens", total)
	})
}

func FuzzServer_argumentsOfModels(f *testing.F) {
	e, handle := quay(f)
	here, there := sdk.NewInMemoryTransports()
	if _, err := mcp.New(mcp.Config{Engine: e}).Connect(f.Context(), here, nil); err != nil {
		f.Fatal(err)
	}
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(f.Context(), there, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"recall", "search", "context", "pin"} {
		for _, arguments := range []string{
			`{}`, `{"handle":"` + handle + `","lines":"9-"}`, `{"handle":7,"words":["a",null]}`, `[]`, `null`, `{"text":"\ud800"}`,
			`{"words":"\"*\" OR"}`, `{"handle":"` + handle + `","lines":"99999999999999999999-"}`,
		} {
			f.Add(name, arguments)
		}
	}
	f.Fuzz(func(t *testing.T, name, arguments string) {
		if !jsontext.Value(arguments).IsValid() {
			return // no client sends it
		}
		_, _ = client.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
		if err := client.Ping(t.Context(), nil); err != nil {
			t.Errorf("the server is gone: %v", err)
		}
	})
}

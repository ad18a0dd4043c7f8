package mcp_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/mcp"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// anybody may ask for a compaction.
func anybody(string) bool { return true }

// A compaction that an agent asks for is made when its turn ends, with the words that it is to keep.
func TestServer_compactsWhenTheTurnEnds(t *testing.T) {
	e, _ := quay(t)
	for range 20 {
		m := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: strings.Repeat("The crane stops at the pulley. ", 100)}}}
		m.Role, m.Finish = session.Assistant, "stop"
		user := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: "Look again."}}}
		user.Role = session.User
		if err := e.Append(t.Context(), "live_quay", user, m); err != nil {
			t.Fatal(err)
		}
	}
	here, there := sdk.NewInMemoryTransports()
	c := mcp.Config{Engine: e, Compact: anybody, Alone: true}
	if _, err := mcp.New(c).Connect(t.Context(), here, nil); err != nil {
		t.Fatal(err)
	}
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, failed := call(t, s, "compact", args{"session": "live_none"}); !failed {
		t.Errorf("a session that is not there: %s", text)
	}
	text, failed := call(t, s, "compact", args{"keep": "the pulley"})
	if failed || !strings.HasPrefix(text, "Noted. Session live_quay is compacted when ") ||
		!strings.Contains(text, "winnow compact live_quay") {
		t.Fatalf("failed %t: %s", failed, text)
	}
	receipts := func() []pivot.Receipt {
		_, state, err := e.Session(t.Context(), "live_quay")
		if err != nil {
			t.Fatal(err)
		}
		return state.Receipts
	}
	if all := receipts(); all[len(all)-1].Trigger == "asked" {
		t.Fatalf("it is compacted within the turn: %+v", all)
	}
	for range 2 { // the second turn has nothing to do with it
		if _, err := e.EndTurn(t.Context(), "live_quay"); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	for _, r := range receipts() {
		if r.Trigger == "asked" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("%d receipts of what was asked for, want 1: %+v", asked, receipts())
	}
}

// The tool is not offered to clients that compact by themselves, by the name with which they come,
// nor for their sessions.
func TestServer_offersNoCompactionToClientsThatCompact(t *testing.T) {
	e, _ := quay(t)
	own := func(client string) bool { return !bill.Compacts(client) }
	for name, c := range map[string]struct {
		compact func(string) bool
		offers  bool
	}{
		"claude-code": {own, false}, "codex-mcp-client": {own, false}, "opencode": {own, false}, "gemini-cli-mcp-client": {own, false},
		"crush": {own, true}, "picnic": {own, true}, "claude-code always": {anybody, true}, "crush never": {nil, false},
	} {
		here, there := sdk.NewInMemoryTransports()
		if _, err := mcp.New(mcp.Config{Engine: e, Compact: c.compact}).Connect(t.Context(), here, nil); err != nil {
			t.Fatal(err)
		}
		s, err := sdk.NewClient(&sdk.Implementation{Name: name}, nil).Connect(t.Context(), there, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		offered := false
		for _, tool := range list.Tools {
			offered = offered || tool.Name == "compact"
		}
		if offered != c.offers {
			t.Errorf("%s: offered %t, want %t", name, offered, c.offers)
		}
		if c.compact == nil {
			continue
		}
		if text, failed := call(t, s, "compact", args{}); failed == c.offers {
			t.Errorf("%s: failed %t: %s", name, failed, text)
		}
	}
	err := e.Amend(t.Context(), "live_quay", winnow.Amendment{Own: map[string]jsontext.Value{
		"client": jsontext.Value(`{"name":"claude-cli/2.1.330","session":"s"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	_, state, err := e.Session(t.Context(), "live_quay")
	if name, _ := report.Client(state.Info); err != nil || name != "claude-cli/2.1.330" {
		t.Fatalf("%q, %v", name, err)
	}
	connect(t, mcp.Config{Engine: e, Compact: own}, func(t *testing.T, s *sdk.ClientSession) {
		if text, failed := call(t, s, "compact", args{}); !failed || !strings.Contains(text, "compacts this session by itself") {
			t.Errorf("failed %t: %s", failed, text)
		}
	})
}

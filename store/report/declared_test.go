package report_test

import (
	"math"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

// declaring is a session of a client with the given number of requests, each of which reads 900
// tokens from the cache and writes 100.
func declaring(client, tools string, requests int) store.Account {
	a := store.Account{Info: session.Info{ID: client, Unknown: jsontext.Value(`{"client":{"name":"` + client +
		`"},"tools":` + tools + `}`)}}
	for i := range requests {
		a.Spent = append(a.Spent, store.Spend{Time: session.Millis(i), Model: "m", Live: &store.Live{},
			Usage: session.Usage{Cache: session.CacheUsage{Read: 900, Write: 100}}})
	}
	return a
}

// dear bills a token 1 from the cache, and 10 to write.
func dear(_ string, u session.Usage) (float64, bool) {
	return float64(u.Cache.Read + 10*u.Cache.Write), true
}

func TestUncalledTools_byClientAndServer(t *testing.T) {
	cold := declaring("claude-cli/2.1", `{"declared":{"mcp__git__log":40,"mcp__git__push":60,"Read":30},"called":["Read"]}`, 1)
	cold.Spent[0].Usage.Cache = session.CacheUsage{Write: 1000}
	got := report.UncalledTools([]store.Account{
		declaring("claude-cli/2.2", `{"declared":{"mcp__git__log":40,"mcp__git__push":60,"mcp__db__query":50,"mcp__db__drop":20,"Read":30,"Write":25},"called":["Read","mcp__db__query"]}`, 4),
		cold,
		declaring("codex", `{"declared":{"mcp__db__query":50,"shell":10},"called":["shell"]}`, 2),
		declaring("none", `null`, 2), declaring("broken", `{"declared":[1]}`, 2), {Info: session.Info{ID: "other"}},
	}, 1, dear)
	want := report.Uncalled{
		// Of the first session's requests three are new enough; the cold session's is not.
		Sets: []report.Toolset{
			{Client: "claude-cli", Server: "git", Sessions: 1, Requests: 3, Tools: 2, Tokens: 100, Cost: 300, Costs: []float64{300},
				Share: 300.0 / 5700, Uncalled: []report.UncalledTool{{Name: "mcp__git__push", Tokens: 60}, {Name: "mcp__git__log", Tokens: 40}}},
			{Client: "claude-cli", Sessions: 1, Requests: 3, Tools: 2, Tokens: 25, Cost: 75, Costs: []float64{75}, Share: 75.0 / 5700,
				Uncalled: []report.UncalledTool{{Name: "Write", Tokens: 25}}},
			{Client: "claude-cli", Server: "db", Sessions: 1, Requests: 3, Tools: 2, Tokens: 20, Cost: 60, Costs: []float64{60}, Share: 60.0 / 5700,
				Uncalled: []report.UncalledTool{{Name: "mcp__db__drop", Tokens: 20}}},
			{Client: "codex", Server: "db", Sessions: 1, Requests: 1, Tools: 1, Tokens: 50, Cost: 50, Costs: []float64{50}, Share: 50.0 / 1900,
				Uncalled: []report.UncalledTool{{Name: "mcp__db__query", Tokens: 50}}},
		},
		// Another client calls the query, and one session is too little to say that Write is not needed.
		Drop: []string{"mcp__git__*", "mcp__db__drop"},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if diff := cmp.Diff(want, got, near, cmpopts.IgnoreUnexported(report.Toolset{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all := report.UncalledTools([]store.Account{cold}, 0, dear)
	if cost := all.Sets[0].Cost; cost != 1000 {
		t.Errorf("100 tokens that were written to the cache cost %v", cost)
	}
}

// Five sessions of a client without a use for a tool of its own are enough. Names that a command
// line could take for something else are never in the list.
func TestUncalledTools_whatToDrop(t *testing.T) {
	var accounts []store.Account
	for range 5 {
		accounts = append(accounts, declaring("pi", `{"declared":{"Write":25,"it's":5,"mcp__x;y__z":3,"mcp_gh_issue":4},"called":[]}`, 1))
	}
	got := report.UncalledTools(accounts, 0, dear)
	if diff := cmp.Diff([]string{"Write", "mcp_gh_issue"}, got.Drop); diff != "" || len(got.Sets) != 3 {
		t.Errorf("%d sets, (-want +got):\n%s", len(got.Sets), diff)
	}
	if early := report.UncalledTools(accounts[:4], 0, dear); cmp.Diff([]string{"mcp_gh_issue"}, early.Drop) != "" {
		t.Errorf("after four sessions: %v", early.Drop)
	}
}

func TestServer_isInTheNamesThatHaveOne(t *testing.T) {
	for name, want := range map[string]string{"mcp__github__create_issue": "github", "mcp_files_read": "files", "Read": "",
		"github_create": "", "mcp__a": "a", "": "", "mcp__plugin_x_y__z": "plugin_x_y"} {
		if got := report.Server(name); got != want {
			t.Errorf("%q is of %q, want %q", name, got, want)
		}
	}
}

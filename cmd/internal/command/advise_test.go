package command

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/lab/advise"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// Tools that no session called, and who wrote titles, are known from what went through the gateway
// alone.
func TestAdvise_whatTheGatewaySaw(t *testing.T) {
	d := newDesk(t)
	now := time.Date(2026, 3, 4, 15, 0, 0, 0, time.UTC)
	d.now = func() time.Time { return now }
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(d.dir, "s.db")})
	if err != nil {
		t.Fatal(err)
	}
	// Each of four sessions asked five times, with 800 tokens of such declarations as fresh input, at 3
	// dollars a million: 4.8 cents together.
	at := session.Millis(now.Add(-time.Hour).UnixMilli())
	for i := range 4 {
		id := fmt.Sprintf("live_%023d", i)
		info := session.Info{ID: id, Unknown: []byte(`{"client":{"name":"claude-cli/2.1.330"},"tools":{"declared":{"Read":640,` +
			`"mcp__github__create":420,"mcp__github__list":380},"called":["Read"]}}`)}
		asked := store.Spend{Time: at, Kind: "step", Model: "anthropic/claude-sonnet-4-5", Live: &store.Live{},
			Usage: session.Usage{Input: 50_000}}
		title := store.Spend{Time: at, Kind: "left", Model: "anthropic/claude-opus-4-5", Usage: session.Usage{Input: 2000, Output: 20},
			Live: &store.Live{Beside: true}}
		change := store.Change{Create: &info, Spend: []store.Spend{asked, asked, asked, asked, asked, title}}
		if _, err := s.Apply(t.Context(), id, change); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var doc adviceDocument
	decode(t, d.run("advise", "--store", "s.db", "--json"), &doc)
	if len(doc.Findings) != 2 {
		t.Fatalf("it finds %+v", doc.Findings)
	}
	f := doc.Findings[0]
	// Opus asks 5 and 25 dollars a million: 1.05 cents a title.
	small, _ := model.Default().Small(model.Default().Lookup("anthropic/claude-opus-4-5"))
	cheap, _ := small.Cost(model.Usage{Input: 2000, Output: 20})
	if m := doc.Findings[1]; m.Kind != advise.Models || cheap <= 0 || math.Abs(m.Gain-4*(0.0105-cheap)) > 1e-9 ||
		m.Line != `"env": {"ANTHROPIC_DEFAULT_HAIKU_MODEL": "`+small.ID+`"}` {
		t.Errorf("it finds %+v", m)
	}
	if math.Abs(f.Gain-0.048) > 1e-9 || math.Abs(f.Error-0.05*0.048) > 1e-9 || f.Kind != advise.Tools {
		t.Errorf("it finds %+v", f)
	}
	o := d.run("advise", "--store", "s.db", "--apply", "--all")
	for _, want := range []string{"saves $0.0480 ± $0.0024 of $0.0480", `winnow config add gateway.tools.drop 'mcp__github__*'`,
		`gateway.tools.drop: ["mcp__github__*"] instead of []`, "Undo with: rm "} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, o.stdout)
		}
	}
	decode(t, d.run("advise", "--store", "s.db", "--json"), &doc)
	if len(doc.Findings) != 1 || doc.Findings[0].Kind != advise.Models {
		t.Errorf("when it is in force, it finds %+v", doc.Findings)
	}
	if got := d.run("config", "--json").stdout; !strings.Contains(got, "mcp__github__*") {
		t.Error("the configuration does not have it")
	}
}

// What the instructions of a project say is read from its folder; one that is too large, or no file,
// says nothing.
func TestAdvise_whatIsWrittenInAProject(t *testing.T) {
	folder := t.TempDir()
	if got := written(folder); recall.Key(got) != "" {
		t.Errorf("an empty folder says %q", got)
	}
	if err := os.WriteFile(filepath.Join(folder, "CLAUDE.md"), []byte("- Never commit to the main branch.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "AGENTS.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := recall.Key(written(folder)); !strings.HasSuffix(got, " never commit to the main branch") {
		t.Errorf("the folder says %q", got)
	}
	large := strings.Repeat("x", mostWritten+1)
	if err := os.WriteFile(filepath.Join(folder, "GEMINI.md"), []byte(large), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := written(folder); len(got) > 100 {
		t.Errorf("%d bytes were read", len(got))
	}
}

func TestAdvise_belowAFolder(t *testing.T) {
	for folder, want := range map[string]bool{"/work/app": true, "/work/app/sub": true, "/work/apple": false, "/work": false,
		"": false, "/work/app/..hidden": true} {
		if got := source.Below(folder, "/work/app"); got != want {
			t.Errorf("%q below /work/app: %v, want %v", folder, got, want)
		}
	}
}

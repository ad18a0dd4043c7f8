package command

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/tworuns"
)

// receiptsOf are the receipts of the only session of the store.
func (d *desk) receiptsOf() (all []map[string]any) {
	d.t.Helper()
	sessions := d.run("list", "--json").document(d.t)["sessions"].([]any)
	if len(sessions) != 1 {
		d.t.Fatalf("the store has %d sessions", len(sessions))
	}
	doc := d.run("inspect", sessions[0].(map[string]any)["id"].(string), "--log", "--json").document(d.t)
	for _, r := range doc["receipts"].([]any) {
		all = append(all, r.(map[string]any))
	}
	return all
}

// The plugin of Claude Code obeys the policy and the threshold of agents.claude: its compaction is
// made under the one, and its status line measures by the other.
func TestAgents_theSeatOfClaudeCode(t *testing.T) {
	const id = "0c1e2d3c-4b5a-4678-9abc-def012345678"
	d := newDesk(t)
	d.restedAt(id, "claude-opus-4-8", 14, time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), false)
	d.env = append(d.env, `WINNOW_AGENTS={"claude":{"policy":"careful","threshold":100000},"codex":{"threshold":5000}}`)
	ask := func(event string) string {
		o := d.runWith(t.Context(), strings.NewReader(event), new(bytes.Buffer), "shape", "--product", "claude")
		o.wants(t, cli.ExitDone)
		return o.stdout
	}
	if line := ask(`{"event":"status","session":"` + id + `"}`); !strings.Contains(line, `"line":"150% full`) {
		t.Errorf("of 100,000 tokens, the line says %s", line)
	}
	var handles []string
	for n := range 29 {
		handles = append(handles, fmt.Sprintf(`"00000000-0000-4000-8000-%012d"`, n+1))
	}
	ask(`{"event":"compact","session":"` + id + `","trigger":"manual","handles":[` + strings.Join(handles, ",") + `]}`)
	all := d.receiptsOf()
	if len(all) == 0 || all[len(all)-1]["policy"] != "careful" {
		t.Errorf("receipts: %v", all)
	}
}

// A wrapped client is folded by the threshold for all agents.
func TestAgents_wrap(t *testing.T) {
	needsShell(t)
	sequential(t)
	scene := tworuns.Scene{Steps: 40, Pause: func(int) time.Duration { return 0 }}
	for _, c := range []struct {
		agents string
		folds  bool
	}{{`{"*":{"threshold":0.95}}`, false}, {`{"*":{"threshold":5000}}`, true}} {
		d := newDesk(t)
		d.env = append(d.env, "PATH="+os.Getenv("PATH"), "TMPDIR="+filepath.Join(d.dir, ".."), "WINNOW_AGENTS="+c.agents)
		var w *wrapped
		scene.Play(t, func(p tworuns.Place) http.RoundTripper { w = d.wrap(p.URL); return w })
		w.end()
		folds := 0
		for _, r := range d.receiptsOf() {
			if r["kind"] == "compaction" {
				folds++
			}
		}
		if folds > 0 != c.folds {
			t.Errorf("%s: %d folds", c.agents, folds)
		}
	}
}

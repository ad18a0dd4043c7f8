package command

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBills_inspectListAndReplaySayWhatTheRawUsageComesTo(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	home := filepath.Join(d.dir, "..", "home")
	d.env = []string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(d.dir, "..", "cache")}
	made := func(pattern string) string { return filepath.Join("testdata", "bills", filepath.FromSlash(pattern)) }
	recorded := func(pattern string) string {
		return filepath.Join("..", "..", "..", "..", "shared", filepath.FromSlash(pattern))
	}
	want := map[string]figure{}
	var imported []string // of Claude Code's, whose recorded sessions share ids, the made-up ones alone
	compared := 0
	for _, product := range []struct {
		folder   string // in which the product keeps its sessions
		ending   string
		raw      func(data []byte) figure
		made     int
		patterns []string
	}{
		{".claude/projects/-loom", ".jsonl", rawClaude, 2, []string{made("*.jsonl"), recorded("corpus/claude-code/*"), recorded("corpus/claude-code-damaged/*"),
			recorded("corpus/dev/claude-code/*"), recorded("fixtures/claude-code*.jsonl*"), recorded("fixtures/hook-compacted/*.jsonl.gz")}},
		{".pi/agent/sessions/-loom", ".jsonl", rawPi, 1, []string{made("pi/*"), recorded("corpus/pi/*"), recorded("corpus/dev/pi/*")}},
		{".codex/sessions/2026/03/01", ".jsonl", rawCodex, 2, []string{made("codex/*"), recorded("fixtures/codex-rollout*"), recorded("corpus/dev/codex/*")}},
		{"exports", ".json", rawOpenCode, 1, []string{made("opencode/*"), recorded("fixtures/opencode-export*"), recorded("corpus/dev/opencode/*")}},
	} {
		folder := filepath.Join(home, filepath.FromSlash(product.folder))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for i, pattern := range product.patterns {
			files, _ := filepath.Glob(pattern)
			if i == 0 && len(files) != product.made {
				t.Fatalf("%d made-up files are %s, want %d", len(files), pattern, product.made)
			}
			for _, file := range files {
				data := unpacked(t, file)
				name, _, _ := strings.Cut(filepath.Base(file), ".")
				path := filepath.Join(folder, fmt.Sprintf("%d-%s%s", i, name, product.ending))
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				before := time.Now().Add(-time.Hour)
				if err := os.Chtimes(path, before, before); err != nil {
					t.Fatal(err)
				}
				want[path] = product.raw(data)
				if compared += min(i, 1); i == 0 || folder != filepath.Join(home, ".claude", "projects", "-loom") {
					imported = append(imported, path)
				}
			}
		}
	}
	if compared == 0 {
		t.Log("../shared has no recorded sessions: the made-up ones alone are compared")
	}
	check := func(command, path string, got *float64) {
		t.Helper()
		w, known := want[path]
		switch name := filepath.Base(path); {
		case !known:
			t.Errorf("%s tells of %s, which is not there", command, path)
		case w.known == 0 && w.unknown > 0:
			if got != nil {
				t.Errorf("%s: %s says $%.4f, of the raw usage nothing is known", name, command, *got)
			}
		case got == nil:
			t.Errorf("%s: %s says nothing, the raw usage $%.4f", name, command, w.dollars)
		case math.Abs(*got-w.dollars) >= 0.005:
			t.Errorf("%s: %s says $%.4f, the raw usage $%.4f", name, command, *got, w.dollars)
		}
	}
	without := func(command, path string, got int) {
		t.Helper()
		if w := want[path]; got != w.unknown && (!w.more || got < w.unknown) {
			t.Errorf("%s: %s says that the cost of %d requests is unknown, want %d", filepath.Base(path), command, got, w.unknown)
		}
	}
	var everywhere struct {
		Sessions []struct {
			Source   string
			Cost     *float64
			Uncosted int
		}
	}
	decode(t, d.run("list", "--everywhere", "--json"), &everywhere)
	listed := map[string]bool{}
	for _, s := range everywhere.Sessions {
		listed[s.Source] = true
		check("list --everywhere", s.Source, s.Cost)
		without("list --everywhere", s.Source, s.Uncosted)
	}
	var replayed struct {
		Recorded []struct {
			Path string
			Cost *float64
		}
		RecordedBill struct{ Cost *float64 }
	}
	decode(t, d.run("replay", home, "--policy", "nothing", "--min-steps", "1", "--json"), &replayed)
	sum := 0.0
	for _, s := range replayed.Recorded {
		check("replay", s.Path, s.Cost)
		sum += want[s.Path].dollars
	}
	if got := replayed.RecordedBill.Cost; got == nil || math.Abs(*got-sum) >= 0.005 || len(replayed.Recorded) != len(want) {
		t.Errorf("the recorded bill of %d sessions is %v, want $%.4f of %d", len(replayed.Recorded), got, sum, len(want))
	}
	for path := range want {
		if !listed[path] && filepath.Base(filepath.Dir(path)) != "exports" {
			t.Errorf("list --everywhere leaves out %s", path)
		}
		var one struct {
			Cost *float64
			Bill map[string]struct{ Unpriced, Unreported int }
		}
		decode(t, d.run("inspect", path, "--json"), &one)
		unknown := 0
		for _, share := range one.Bill {
			unknown += share.Unpriced + share.Unreported
		}
		check("inspect", path, one.Cost)
		without("inspect", path, unknown)
	}
	var stored struct{ Sessions []struct{ Source, ID string } }
	decode(t, d.run(append([]string{"import", "--json"}, imported...)...), &stored)
	sources := map[string]string{}
	for _, s := range stored.Sessions {
		sources[s.ID] = s.Source
	}
	var list struct {
		Sessions []struct {
			ID       string
			Cost     *float64
			Uncosted int
		}
	}
	decode(t, d.run("list", "--json"), &list)
	if len(list.Sessions) != len(imported) || len(sources) != len(imported) {
		t.Fatalf("%d sessions are in the store, of %d files with %d ids", len(list.Sessions), len(imported), len(sources))
	}
	for _, s := range list.Sessions {
		check("list", sources[s.ID], s.Cost)
		without("list", sources[s.ID], s.Uncosted)
		var shown struct{ Cost *float64 }
		decode(t, d.run("show", s.ID, "--json"), &shown)
		check("show", sources[s.ID], shown.Cost)
	}
}

// unpacked is what a file holds, also one that is compressed.
func unpacked(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(file, ".gz") {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return data
}

// decode reads the JSON document of a command, also of one that was partly done.
func decode(t *testing.T, o outcome, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), into); err != nil {
		t.Fatalf("%v\n%s\n%s", err, o.stdout, o.stderr)
	}
}

// What is said in no model's name leaves the session with the model that answered, and what cannot
// be is unknown and said so.
func TestInspect_ofWhatHasNoPriceOrNoModel(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	mixed, broken := filepath.Join("testdata", "bills", "mixed.jsonl"), filepath.Join("testdata", "bills", "broken.jsonl")
	for from, to := range map[string]string{mixed: "mixed.jsonl", broken: "broken.jsonl"} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d.dir, to), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var of struct {
		Model  string
		Window struct{ Context int }
		Bill   struct{ Agents, Left struct{ Requests int } }
	}
	decode(t, d.run("inspect", "mixed.jsonl", "--json"), &of)
	if of.Model != "anthropic/claude-opus-4-5-20251101" || of.Window.Context != 200_000 {
		t.Errorf("it is judged by %s with a window of %d, want the model that answered last", of.Model, of.Window.Context)
	}
	if of.Bill.Agents.Requests != 3 || of.Bill.Left.Requests != 1 {
		t.Errorf("%d requests of sub-agents and %d of a branch that was left, want 3 and 1", of.Bill.Agents.Requests, of.Bill.Left.Requests)
	}
	text := strings.Join(strings.Fields(d.run("inspect", "broken.jsonl").stdout), " ")
	for _, want := range []string{"at least $0.0088: no price for 2 requests, 4 without a report", "no price known for anthropic/claude-opus-4-5-20251101 (fast), anthropic/llama-loom-70b"} {
		if !strings.Contains(text, want) {
			t.Errorf("inspect does not say %q:\n%s", want, text)
		}
	}
	if o := d.run("inspect", "mixed.jsonl"); !strings.Contains(o.stdout, "of it sub-agents") {
		t.Errorf("inspect does not tell the share of sub-agents:\n%s", o.stdout)
	}
}

// What is kept says what it cost in words as well, and what has no price is unknown, not nothing.
func TestListAndShow_sayWhatASessionCost(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	bills, err := filepath.Abs(filepath.Join("testdata", "bills"))
	if err != nil {
		t.Fatal(err)
	}
	free := filepath.Join(d.dir, "free.jsonl")
	data := unpacked(t, filepath.Join(bills, "codex", "records.jsonl"))
	data = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("gpt-5-codex"), []byte("loom-9")), []byte("0199dddd"), []byte("0199eeee"))
	if err := os.WriteFile(free, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := d.run("import", filepath.Join(bills, "mixed.jsonl"), filepath.Join(bills, "broken.jsonl"), filepath.Join(bills, "codex", "records.jsonl"), free); o.code != 0 {
		t.Fatal(o.stderr)
	}
	list := d.run("list").stdout
	for id, want := range map[string][2]string{
		"b1110000": {"$0.53", "cost $0.53 · of it sub-agents "},
		"b2220000": {"≥$0.0088", "cost at least $0.0088: no price for 2 requests, 4 without a report"},
		"0199dddd": {"$0.0613", "cost $0.0613\n"},
		"0199eeee": {"unknown", "cost unknown: no price for 2 requests\n"},
	} {
		line := ""
		for l := range strings.Lines(list) {
			if strings.HasPrefix(l, id) {
				line = l
			}
		}
		if !strings.Contains(line, " "+want[0]+" ") {
			t.Errorf("list does not say %q of %s:\n%s", want[0], id, line)
		}
		if shown := d.run("show", id).stdout; !strings.Contains(shown, want[1]) {
			t.Errorf("show does not say %q of %s:\n%s", want[1], id, shown)
		}
		if quick := d.run("list", "--quick").stdout; strings.Contains(quick, want[0]) {
			t.Errorf("list --quick says %q:\n%s", want[0], quick)
		}
	}
}

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// listPrices are those of the providers' own pages, in US dollars per million tokens: input and output. Reading from the cache costs a tenth of the input
// price, writing to it for five minutes 1.25 times, for an hour twice.
var listPrices = map[string][2]float64{
	"claude-opus-4-5": {5, 25}, "claude-opus-4-6": {5, 25}, "claude-opus-4-8": {5, 25}, "claude-opus-5-5": {5, 25}, "claude-sonnet-4-5": {3, 15}, "claude-sonnet-4-6": {3, 15}, "claude-haiku-4-5": {1, 5},
}

// billed reads the usage in a file of Claude Code's, line by line, with nothing of ours: what it cost, and of how many requests that is not known.
func billed(data []byte) (dollars float64, unknown int) {
	type object = map[string]any
	of := func(o object, key string) object { v, _ := o[key].(object); return v }
	requests, date := map[string]object{}, regexp.MustCompile(`-20\d{6}$`)
	for line := range bytes.Lines(data) {
		var o object
		if json.Unmarshal(line, &o) != nil {
			continue
		}
		m := of(o, "message")
		if o["type"] == "progress" {
			m = of(of(of(o, "data"), "message"), "message")
		}
		id, _ := m["id"].(string)
		model, _ := m["model"].(string)
		if id == "" || model == "" || model == "<synthetic>" || m["role"] != "assistant" {
			continue
		}
		output := func(m object) float64 { n, _ := of(m, "usage")["output_tokens"].(float64); return n }
		if before, known := requests[id]; !known || output(m) >= output(before) {
			requests[id] = m
		}
	}
	for _, m := range requests {
		u := of(m, "usage")
		n := func(o object, key string) float64 { v, _ := o[key].(float64); return v }
		in, out, read, write, hour := n(u, "input_tokens"), n(u, "output_tokens"), n(u, "cache_read_input_tokens"), n(u, "cache_creation_input_tokens"), n(of(u, "cache_creation"), "ephemeral_1h_input_tokens")
		name := date.ReplaceAllString(m["model"].(string), "")
		price, known := listPrices[name]
		if !known || u == nil || u["speed"] == "fast" || in < 0 || in > 1e9 || out > 1e9 {
			unknown++
			continue
		}
		if name == "claude-sonnet-4-5" && in+read+write > 200_000 {
			price = [2]float64{6, 22.5}
		}
		dollars += (price[0]*(in+0.1*read+1.25*(write-hour)+2*hour)+price[1]*out)/1e6 + 0.01*n(of(u, "server_tool_use"), "web_search_requests")
	}
	return dollars, unknown
}

func TestBills_inspectListAndReplaySayWhatTheRawUsageComesTo(t *testing.T) {
	d := newDesk(t)
	home := filepath.Join(d.dir, "..", "home")
	d.env = []string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(d.dir, "..", "cache")}
	folder := filepath.Join(home, ".claude", "projects", "-loom")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join("testdata", "bills", "*.jsonl"))
	made := len(files)
	for _, pattern := range []string{"corpus/claude-code/*", "corpus/claude-code-damaged/*", "corpus/dev/claude-code/*", "fixtures/claude-code*.jsonl*", "fixtures/hook-compacted/*.jsonl.gz"} {
		more, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", filepath.FromSlash(pattern)))
		files = append(files, more...)
	}
	type figure struct {
		dollars float64
		unknown int
	}
	want := map[string]figure{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".gz") {
			r, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if data, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(folder, strings.TrimSuffix(filepath.Base(file), ".gz"))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		before := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, before, before); err != nil {
			t.Fatal(err)
		}
		dollars, unknown := billed(data)
		want[path] = figure{dollars, unknown}
	}
	if made < 2 {
		t.Fatalf("%d made-up files, want 2", made)
	}
	if len(files) == made {
		t.Log("../shared has no recorded sessions: the made-up ones alone are compared")
	}
	check := func(command, path string, got *float64) {
		t.Helper()
		w, known := want[path]
		switch {
		case !known:
		case got == nil:
			t.Errorf("%s: %s says nothing, the raw usage $%.4f", filepath.Base(path), command, w.dollars)
		case math.Abs(*got-w.dollars) >= 0.005:
			t.Errorf("%s: %s says $%.4f, the raw usage $%.4f", filepath.Base(path), command, *got, w.dollars)
		}
	}
	var listed struct {
		Sessions []struct {
			Source   string
			Cost     *float64
			Uncosted int
		}
	}
	decode(t, d.run("list", "--everywhere", "--json"), &listed)
	if len(listed.Sessions) != len(files) {
		t.Errorf("%d sessions are listed, want %d", len(listed.Sessions), len(files))
	}
	for _, s := range listed.Sessions {
		if check("list --everywhere", s.Source, s.Cost); s.Uncosted != want[s.Source].unknown {
			t.Errorf("%s: of %d requests the cost is unknown, want %d", filepath.Base(s.Source), s.Uncosted, want[s.Source].unknown)
		}
	}
	var replayed struct {
		Recorded []struct {
			Path string
			Cost *float64
		}
		RecordedBill struct{ Cost *float64 }
	}
	decode(t, d.run("replay", folder, "--policy", "nothing", "--min-steps", "1", "--json"), &replayed)
	sum := 0.0
	for _, s := range replayed.Recorded {
		check("replay", s.Path, s.Cost)
		sum += want[s.Path].dollars
	}
	if got := replayed.RecordedBill.Cost; got == nil || math.Abs(*got-sum) >= 0.005 || len(replayed.Recorded) != len(files) {
		t.Errorf("the recorded bill of %d sessions is %v, want $%.4f of %d", len(replayed.Recorded), got, sum, len(files))
	}
	for path := range want {
		var one struct{ Cost *float64 }
		decode(t, d.run("inspect", path, "--json"), &one)
		check("inspect", path, one.Cost)
	}
}

// decode reads the JSON document of a command, also of one that was partly done.
func decode(t *testing.T, o outcome, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), into); err != nil {
		t.Fatalf("%v\n%s\n%s", err, o.stdout, o.stderr)
	}
}

// What is said in no model's name leaves the session with the model that answered, and what cannot be is unknown and said so.
func TestInspect_ofWhatHasNoPriceOrNoModel(t *testing.T) {
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

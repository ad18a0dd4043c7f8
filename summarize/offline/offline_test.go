package offline

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

var update = flag.Bool("update", false, "write the golden files anew")

func example(t testing.TB) *session.Session {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../../examples/long-session.json"))
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

func decode(t testing.TB, text []byte) *session.Session {
	t.Helper()
	var s session.Session
	if err := json.Unmarshal(text, &s, session.ReadOptions()); err != nil {
		t.Fatal(err)
	}
	return &s
}

func summarize(t testing.TB, r pivot.Request) string {
	t.Helper()
	a, err := New().Summarize(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return a.Text
}

func request(s *session.Session, budget int) pivot.Request {
	return pivot.Request{SessionID: s.Info.ID, Log: s.Messages, Directory: s.Info.Directory, Budget: budget}
}

func TestSummarize_longSession(t *testing.T) {
	got := summarize(t, request(example(t), 6000))
	golden := filepath.Join("testdata", "long-session.md")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestSummarize_countsAsAnAnswer(t *testing.T) {
	s := example(t)
	a, err := New().Summarize(context.Background(), request(s, 6000))
	if err != nil {
		t.Fatal(err)
	}
	if a.Model != "offline" || a.Finish != "stop" || a.Usage.Prompt() != 0 || a.Cost != 0 {
		t.Errorf("got model %q, finish %q, %d tokens, cost %v", a.Model, a.Finish, a.Usage.Prompt(), a.Cost)
	}
	if err := pivot.Validate(a, estimate(a.Text), 100000); err != nil {
		t.Errorf("the answer does not count: %v", err)
	}
}

func TestSummarize_keepsBudget(t *testing.T) {
	s := example(t)
	for _, budget := range []int{10, 60, 150, 300, 600, 1000, 2000, 4000, 8000} {
		text := summarize(t, request(s, budget))
		if n := estimate(text); n > budget {
			t.Errorf("budget %d: the summary has %d tokens", budget, n)
		}
		if budget < 300 {
			continue
		}
		for _, heading := range []string{headGoal, headConstraints, headUnresolved, headNext} {
			if !strings.Contains(text, "## "+heading+"\n- ") {
				t.Errorf("budget %d: no %q in\n%s", budget, heading, text)
			}
		}
		if budget >= 600 && !strings.Contains(text, "Never touch the Store type") {
			t.Errorf("budget %d: the user's rule is missing in\n%s", budget, text)
		}
	}
}

func TestSummarize_sameLogSameText(t *testing.T) {
	s := example(t)
	before, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	first := summarize(t, request(s, 3000))
	for range 3 {
		if again := summarize(t, request(s, 3000)); again != first {
			t.Fatalf("two runs differ:\n%s", cmp.Diff(first, again))
		}
	}
	if after, err := json.Marshal(s); err != nil || string(after) != string(before) {
		t.Errorf("the log was changed (%v)", err)
	}
}

func TestSummarize_mergesWithoutForgetting(t *testing.T) {
	s := example(t)
	cut := len(s.Messages) / 3
	first := request(s, 6000)
	first.Log = s.Messages[:cut]
	text := summarize(t, first)
	second := request(s, 6000)
	second.Log, second.Previous = s.Messages[cut:2*cut], text
	text = summarize(t, second)
	third := request(s, 6000)
	third.Log, third.Previous = s.Messages[2*cut:], text
	text = summarize(t, third)
	for _, want := range []string{
		"larder should know when things go off", "Never touch the Store type", "only use the standard library",
		"Always wrap errors with %w",
		"the port stays 8417", "do not push", "pointer-free `BestBefore", "Root cause: `run` increments",
		"`internal/expiry/expiry.go`: created, edited 2 times (+39 −0)", "TestFeed_foldsLongLines",
		"\"Fold lines at 75 octets\"",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("after three pivots %q is missing in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "larder should know when"); n != 1 {
		t.Errorf("the task stands %d times in the summary", n)
	}
	if strings.Contains(text, "At work: \"Add best-before dates") {
		t.Errorf("what was at work two pivots ago still is:\n%s", text)
	}
	if strings.Count(text, "## "+headGoal) != 1 {
		t.Errorf("headings occur twice:\n%s", text)
	}
}

func TestSummarize_mergingNothingKeepsTheSummary(t *testing.T) {
	s := example(t)
	first := summarize(t, request(s, 6000))
	r := request(s, 6000)
	r.Log, r.Previous = nil, first
	again := summarize(t, r)
	for _, heading := range []string{headGoal, headConstraints, headDecisions, headDone, headUnresolved, headNext} {
		a, b := sectionOf(first, heading), sectionOf(again, heading)
		if a != b {
			t.Errorf("%s (-first +again):\n%s", heading, cmp.Diff(a, b))
		}
	}
}

func sectionOf(text, heading string) string {
	_, rest, _ := strings.Cut(text, "## "+heading+"\n")
	body, _, _ := strings.Cut(rest, "\n## ")
	return strings.TrimSpace(body)
}

func TestSummarize_resolvedFailuresAreNotCarried(t *testing.T) {
	first := fixture(t, `[
		{"role":"user","text":"Make the tests pass."},
		{"tool":"bash","input":{"command":"go test ./a"},"output":"--- FAIL: TestX (0.00s)\nFAIL","exit":1},
		{"tool":"bash","input":{"command":"go vet ./b"},"output":"b.go:1:2: undefined: x","exit":1}]`)
	previous := summarize(t, pivot.Request{Log: first, Budget: 2000})
	if !strings.Contains(previous, "`go test ./a` failed") {
		t.Fatalf("the failure is missing in\n%s", previous)
	}
	later := fixture(t, `[{"tool":"bash","input":{"command":"go test ./..."},"output":"ok  \ta\t0.1s","exit":0},{"role":"assistant","text":"Better."}]`)
	text := summarize(t, pivot.Request{Log: later, Previous: previous, Budget: 2000})
	if strings.Contains(sectionOf(text, headUnresolved), "go test ./a") {
		t.Errorf("a failure that a wider run resolved is carried:\n%s", text)
	}
	if !strings.Contains(sectionOf(text, headUnresolved), "go vet ./b") {
		t.Errorf("a failure that nobody resolved is lost:\n%s", text)
	}
}

// What was written under one issue is not told by what was done to another.
func TestSummarize_eachIssueHasItsLine(t *testing.T) {
	log := fixture(t, `[
		{"role":"user","text":"Answer the issues."},
		{"tool":"bash","input":{"command":"gh issue comment 288 --body \"Fixed in the next release.\""},"output":"","exit":0},
		{"tool":"bash","input":{"command":"gh issue create --title \"Untangle the keys\""},"output":"","exit":0},
		{"tool":"bash","input":{"command":"gh issue comment 291 --body \"Which version?\""},"output":"rate limit","exit":1},
		{"tool":"bash","input":{"command":"gh issue comment 291 --body \"Which version is it?\""},"output":"","exit":0}]`)
	got := strings.Split(sectionOf(summarize(t, pivot.Request{Log: log, Budget: 2000}), headCommands), "\n")
	want := []string{"- `gh issue comment 288 --body \"Fixed in the next release.\"`: worked",
		"- `gh issue create --title \"Untangle the keys\"`: worked",
		"- `gh issue comment 291 --body \"Which version is it?\"`: worked (of 2 runs 1 failed)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSummarize_foreignSummaryIsQuotedWithinBounds(t *testing.T) {
	foreign := "# Summary\n\nThe team wants a parser.\n" +
		strings.Repeat("Detail about the grammar of the language.\n", 2000) + "Last word."
	r := pivot.Request{Log: fixture(t, `[{"role":"user","text":"Go on with the parser."}]`), Previous: foreign,
		Budget: 8000}
	text := summarize(t, r)
	if !strings.Contains(text, "The team wants a parser.") || !strings.Contains(text, "Last word.") {
		t.Errorf("head and tail of the earlier summary are missing in\n%s", text)
	}
	if len(text) > 2*earlierSize {
		t.Errorf("the summary has %d bytes", len(text))
	}
	r.Previous = text
	if again := summarize(t, r); !strings.Contains(again, "The team wants a parser.") {
		t.Errorf("the second merge lost it:\n%s", again)
	}
}

func TestSummarize_waitsForTheUser(t *testing.T) {
	log := fixture(t, `[{"role":"user","text":"Write the exporter."},{"role":"assistant","text":"The format is open. Should dates be written in UTC?"}]`)
	text := summarize(t, pivot.Request{Log: log, Budget: 2000})
	if want := "Wait for the user's answer to: \"Should dates be written in UTC?\""; !strings.Contains(sectionOf(text,
		headNext), want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	log = append(log, fixture(t, `[{"role":"user","text":"Yes."}]`)...)
	text = summarize(t, pivot.Request{Log: log, Budget: 2000})
	if want := "\"Yes.\", in answer to \"Should dates be written in UTC?\""; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	if !strings.Contains(sectionOf(text, headNext), "Answer the user's last message") {
		t.Errorf("the request that nobody answered is not a next step:\n%s", text)
	}
}

func TestSummarize_focusKeepsWhatMatchesIt(t *testing.T) {
	s := example(t)
	r := request(s, 1400)
	plain := summarize(t, r)
	r.Focus = "reminders scheduler race"
	focused := summarize(t, r)
	if strings.Contains(plain, "internal/remind/scheduler.go") ||
		!strings.Contains(focused, "internal/remind/scheduler.go") {
		t.Errorf("the file of the focus: without it %v, with it %v; want false, true\n%s",
			strings.Contains(plain, "internal/remind/scheduler.go"),
			strings.Contains(focused, "internal/remind/scheduler.go"), focused)
	}
}

func TestSummarize_pathsAreRelativeToTheFolder(t *testing.T) {
	s := example(t)
	text := summarize(t, request(s, 6000))
	if n := strings.Count(text, s.Info.Directory); n != 1 {
		t.Errorf("the working folder stands %d times in the summary, want once, as a key fact", n)
	}
}

func TestSummarize_neutralisesMarkup(t *testing.T) {
	log := fixture(t, `[{"role":"user","text":"Never print <function_calls><invoke name=\"x\"> or <tool_call> or [TOOL_CALLS] or <|tool_calls|> to users."},
		{"role":"assistant","text":"I decided to escape <INVOKE name=\"bash\"> because models copy it, and <function=bash> too."}]`)
	text := summarize(t, pivot.Request{Log: log, Budget: 2000})
	if err := pivot.Validate(pivot.Answer{Text: text, Finish: "stop"}, 10, 1000); err != nil {
		t.Errorf("%v:\n%s", err, text)
	}
}

func TestSummarize_oddLogs(t *testing.T) {
	giant := strings.Repeat("x", 3<<20)
	for name, log := range map[string][]session.Message{
		"empty":        nil,
		"text only":    fixture(t, `[{"role":"user","text":"hi"},{"role":"assistant","text":"hello"}]`),
		"tools only":   fixture(t, `[{"tool":"read","input":{"filePath":"a"},"output":"x"}]`),
		"unknown tool": fixture(t, `[{"tool":"teleport","input":{"to":[1,2]},"output":"x"},{"tool":"","input":{},"output":""}]`),
		"no parts": {{MessageInfo: session.MessageInfo{Role: session.User}},
			{MessageInfo: session.MessageInfo{Role: session.Assistant}}},
		"no state": {{MessageInfo: session.MessageInfo{Role: session.Assistant},
			Parts: []session.Part{{Type: session.ToolPart}}}},
		"bad bytes": {{MessageInfo: session.MessageInfo{ID: "m", Role: session.User},
			Parts: []session.Part{{Type: session.TextPart, Text: "never \xff\xfe\x00 stop\x1b[31m"}}}},
		"giant line": {{MessageInfo: session.MessageInfo{ID: "m", Role: session.User},
			Parts: []session.Part{{Type: session.TextPart, Text: giant}}}},
		"bad input": {{MessageInfo: session.MessageInfo{Role: session.Assistant},
			Parts: []session.Part{{Type: session.ToolPart, Tool: "bash",
				State: &session.ToolState{Status: session.Completed, Input: jsontext.Value(`{"command":`)}}}}},
	} {
		text := summarize(t, pivot.Request{Log: log, Budget: 1000})
		if !strings.HasPrefix(text, origin) || estimate(text) > 1000 {
			t.Errorf("%s: got %d tokens:\n%s", name, estimate(text), text)
		}
		if strings.Contains(text, "\x00") || strings.Contains(text, "\x1b") || !utf8.ValidString(text) {
			t.Errorf("%s: control characters in %q", name, text)
		}
	}
}

func TestSummarize_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := New().Summarize(ctx, pivot.Request{}); err == nil {
		t.Error("a cancelled request was answered")
	}
}

// countings are what the summary computes: their numbers need not be in the log.
var countings = regexp.MustCompile(`\(\+\d+ −\d+\)|\d+ times|of \d+ runs \d+ failed|\(\d+ failures since|and \d+ more|\(\d+ (?:more|older|earlier)[^)]*\)|exit status \d+`)

// TestSummarize_inventsNothing holds every word with a digit, a slash, a dot or an underscore in it
// to the log.
func TestSummarize_inventsNothing(t *testing.T) {
	s := example(t)
	cut := len(s.Messages) / 2
	first := request(s, 8000)
	first.Log = s.Messages[:cut]
	merged := request(s, 8000)
	merged.Log, merged.Previous = s.Messages[cut:], summarize(t, first)
	source := everything(s)
	for name, text := range map[string]string{"whole": summarize(t, request(s, 8000)), "merged": summarize(t, merged)} {
		_, body, _ := strings.Cut(text, "\n")
		body = countings.ReplaceAllString(body, "")
		for _, word := range strings.Fields(body) {
			word = strings.Trim(word, "`\"'.,:;()[]>‹")
			if !strings.ContainsAny(word, "0123456789/._") || word == "…" {
				continue
			}
			if !strings.Contains(source, word) {
				t.Errorf("%s: %q stands in the summary and not in the log", name, word)
			}
		}
	}
}

// everything is all text of a log, with white space joined and emphasis taken off, as quotes have
// it.
func everything(s *session.Session) string {
	var b strings.Builder
	for i := range s.Messages {
		for j := range s.Messages[i].Parts {
			p := &s.Messages[i].Parts[j]
			fmt.Fprintf(&b, "%s %s %s %s ", p.Text, p.Filename, p.Mime, p.Tool)
			if p.State != nil {
				b.WriteString(p.State.Result() + " ")
				var args any
				if json.Unmarshal(p.State.Input, &args) == nil {
					flatten(&b, args)
				}
			}
		}
	}
	return strings.ReplaceAll(b.String(), "**", "")
}

func flatten(b *strings.Builder, value any) {
	switch v := value.(type) {
	case string:
		b.WriteString(v + " ")
	case []any:
		for _, e := range v {
			flatten(b, e)
		}
	case map[string]any:
		for _, e := range v {
			flatten(b, e)
		}
	default:
		fmt.Fprint(b, v, " ")
	}
}

// fixture builds a log from short descriptions.
func fixture(t testing.TB, text string) []session.Message {
	t.Helper()
	var rows []struct {
		Role   session.Role   `json:"role"`
		Text   string         `json:"text"`
		Tool   *string        `json:"tool"`
		Input  jsontext.Value `json:"input"`
		Output string         `json:"output"`
		Exit   *int           `json:"exit"`
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	var log []session.Message
	for i, row := range rows {
		m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("msg_%d", i), Role: row.Role}}
		p := session.Part{ID: fmt.Sprintf("prt_%d", i), Type: session.TextPart, Text: row.Text}
		if row.Tool != nil {
			m.Role = session.Assistant
			p = session.Part{ID: p.ID, Type: session.ToolPart, Tool: *row.Tool,
				State: &session.ToolState{Status: session.Completed, Input: row.Input, Output: row.Output}}
			if row.Exit != nil {
				p.State.Metadata = jsontext.Value(fmt.Sprintf(`{"exit":%d}`, *row.Exit))
			}
		}
		m.Parts = []session.Part{p}
		log = append(log, m)
	}
	return log
}

func FuzzSummarize(f *testing.F) {
	f.Add([]byte(`{"info":{"id":"s","directory":"/repo"},"messages":[{"info":{"id":"m","role":"user"},"parts":[{"type":"text","text":"never do - this\n## Goal\n- x"}]}]}`), 500, "")
	f.Add([]byte(`{"messages":[{"info":{"role":"assistant"},"parts":[{"type":"tool","tool":"bash","state":{"status":"completed","input":{"command":"cat <<EOF > a\nx"},"output":"a.go:1: error: x"}}]}]}`), 50, origin+"\n\n## Goal\n- x\n  y\n## Done\n- `a`: edited 2 times (+1 −2): b\n")
	f.Add([]byte(`{"messages":[{"info":{"role":"assistant"},"parts":[{"type":"tool","tool":"apply_patch","state":{"status":"error","input":{"patch":"*** Begin Patch\n*** Move to: b"},"error":"Exit code 9"}}]}]}`), 0, "foreign <invoke>")
	f.Fuzz(func(t *testing.T, text []byte, budget int, previous string) {
		var s session.Session
		if json.Unmarshal(text, &s, session.ReadOptions()) != nil {
			return
		}
		r := request(&s, budget)
		r.Previous = previous
		a, err := New().Summarize(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		limit := budget
		if limit <= 0 {
			limit = DefaultBudget
		}
		if n := estimate(a.Text); n > limit {
			t.Errorf("%d tokens for a budget of %d", n, limit)
		}
		if b, _ := New().Summarize(context.Background(), r); b.Text != a.Text {
			t.Error("two runs differ")
		}
	})
}

// BenchmarkSummarize reads about 9 MB of log: the example ten times over.
func BenchmarkSummarize(b *testing.B) {
	s := example(b)
	var log []session.Message
	size := 0
	for range 10 {
		log = append(log, s.Messages...)
	}
	for i := range log {
		for j := range log[i].Parts {
			p := &log[i].Parts[j]
			size += len(p.Text)
			if p.State != nil {
				size += len(p.State.Input) + len(p.State.Result()) + len(p.State.Metadata)
			}
		}
	}
	r := request(s, 6000)
	r.Log = log
	b.SetBytes(int64(size))
	for b.Loop() {
		summarize(b, r)
	}
}

func TestSummarize_tailSettlesWhatTheLogLeftOpen(t *testing.T) {
	log := fixture(t, `[
		{"role":"user","text":"Write the exporter and let its tests pass."},
		{"tool":"todowrite","input":{"todos":[{"content":"Write the exporter","status":"in_progress"}]},"output":""},
		{"tool":"bash","input":{"command":"go test ./export"},"output":"export_test.go:9: got 1, want 2\n--- FAIL: TestExport (0.00s)\nFAIL","exit":1},
		{"role":"assistant","text":"The format is open. Should dates be written in UTC?"}]`)
	tail := fixture(t, `[
		{"role":"user","text":"Yes, in UTC."},
		{"tool":"bash","input":{"command":"go test ./..."},"output":"ok  \texport\t0.1s","exit":0},
		{"tool":"todowrite","input":{"todos":[{"content":"Write the exporter","status":"completed"},{"content":"Document it","status":"pending"}]},"output":""},
		{"role":"assistant","text":"The exporter writes UTC now."}]`)
	r := pivot.Request{Log: log, Budget: 2000}
	alone := summarize(t, r)
	for _, want := range []string{"Wait for the user's answer", "`go test ./export` failed",
		"Finish: \"Write the exporter\""} {
		if !strings.Contains(alone, want) {
			t.Errorf("without a tail: no %q in\n%s", want, alone)
		}
	}
	r.Tail = tail
	text := summarize(t, r)
	for _, gone := range []string{"Wait for the user's answer", "`go test ./export` failed",
		"Finish: \"Write the exporter\"", "The exporter writes UTC now"} {
		if strings.Contains(text, gone) {
			t.Errorf("with a tail: %q stands in\n%s", gone, text)
		}
	}
	if !strings.Contains(text, "Open: \"Document it\"") {
		t.Errorf("the newest todo list is not the one of the tail:\n%s", text)
	}
}

func TestSummarize_manyPivotsDoNotGrow(t *testing.T) {
	s := example(t)
	r := request(s, 6000)
	last := 0
	for pivots := range 12 {
		r.Previous = summarize(t, r)
		last = estimate(r.Previous)
		if last > 6000 {
			t.Fatalf("after %d pivots the summary has %d tokens", pivots+1, last)
		}
	}
	if n := strings.Count(sectionOf(r.Previous, headGoal), "\n- "); n > laterMost {
		t.Errorf("%d requests are carried, want at most %d", n, laterMost)
	}
	for _, want := range []string{"larder should know when things go off", "Never touch the Store type"} {
		if !strings.Contains(r.Previous, want) {
			t.Errorf("after twelve pivots %q is lost:\n%s", want, r.Previous)
		}
	}
}

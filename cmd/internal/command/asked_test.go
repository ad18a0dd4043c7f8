package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/store/report"
)

// notes is a summary with inventions in it: a path and a number that the session has nowhere.
const notes = "## Goal\n\nAdd best-before dates to larder, and leave the Store type alone.\n\n## Relevant files\n\n- `internal/lamp/oil.go`, changed in 48213 places\n- `internal/store/store.go`\n"

// example is a desk with the example session, and an upstream of which the command knows the
// address.
func example(t *testing.T, p llmtest.Protocol, script llmtest.Script) (d *desk, upstream *llmtest.Server, model string) {
	t.Helper()
	upstream = llmtest.Start(t, script)
	d = newDesk(t)
	d.env = d.env[:1] // the usual settings
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "long-session.json"))
	if err != nil {
		t.Fatal(err)
	}
	d.put("long-session.json", data)
	base := upstream.BaseURL(p)
	switch p {
	case llmtest.Anthropic:
		d.env = append(d.env, "ANTHROPIC_API_KEY=sk-planted-1", "ANTHROPIC_BASE_URL="+base)
		return d, upstream, "anthropic/claude-haiku-4-5"
	case llmtest.Responses:
		d.env = append(d.env, "OPENAI_API_KEY=sk-planted-1", "OPENAI_BASE_URL="+base)
		return d, upstream, "openai/gpt-5-mini"
	case llmtest.Gemini:
		d.env = append(d.env, "GEMINI_API_KEY=sk-planted-1", "GOOGLE_GEMINI_BASE_URL="+base)
		return d, upstream, "google/gemini-2.5-flash"
	}
	d.configure(`{
	// a server of ours
	"providers": {"house": {"baseURL": "` + base + `", "keyEnv": "HOUSE_KEY"}},
}`)
	d.env = append(d.env, "HOUSE_KEY=sk-planted-1")
	return d, upstream, "house/llama"
}

// configure writes the user's settings.
func (d *desk) configure(text string) {
	d.t.Helper()
	folder := filepath.Join(d.dir, "..", "home", ".config", "winnow")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "winnow.jsonc"), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// process runs the command as a process of its own.
func (d *desk) process(args ...string) outcome {
	d.t.Helper()
	cmd := d.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Run() // its code says what became of it
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func TestAsked_everyProtocolByTheCommandItself(t *testing.T) {
	for _, protocol := range llmtest.Protocols() {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			d, upstream, name := example(t, protocol, llmtest.Script{Answer: llmtest.Text(notes)})
			args := []string{"compact", "long-session.json", "--summarizer", "llm", "--model", name, "--focus", "the daily report"}
			d.env = append(d.env, `WINNOW_COMPACTION_CONTEXT=["The branch is pantry.","The tide is out."]`)
			o := d.process(append(args, "--json")...)
			doc := folded(t, o)
			r := doc.Receipt
			if r.Summarizer != name || len(r.Usage) != 1 || r.Usage[0].Prompt() < 1000 || r.Usage[0].Output == 0 {
				t.Errorf("written by %s with %+v", r.Summarizer, r.Usage)
			}
			if priced := name != "house/llama"; priced != (r.Cost > 0) {
				t.Errorf("it cost $%g", r.Cost)
			}
			if !strings.HasPrefix(doc.Summary, "## Goal\n\nAdd best-before dates to larder") || !strings.Contains(doc.Summary, "~~`internal/lamp/oil.go`~~") {
				t.Errorf("the summary is %q", doc.Summary)
			}
			var struck []string
			for _, s := range r.Struck {
				struck = append(struck, s.Kind+" "+s.Text)
			}
			if diff := cmp.Diff([]string{"path internal/lamp/oil.go", "number 48213"}, struck); diff != "" {
				t.Errorf("struck (-want +got):\n%s", diff)
			}
			known := name != "house/llama" // of the other its limits are assumed, which is said
			if (o.stderr == "") != known || strings.Contains(o.stdout+o.stderr, "sk-planted-1") {
				t.Errorf("stderr: %s; the key is shown: %v", o.stderr, strings.Contains(o.stdout, "sk-planted-1"))
			}

			records := upstream.Records()
			sent := string(records[0].Body)
			for _, want := range []string{"Write the hand-over notes", "The branch is pantry.\\nThe tide is out.", "dwell on: the daily report", "Use at most about 4000 words."} {
				if strings.Count(sent, want) != 1 {
					t.Errorf("%q is %d times in the request", want, strings.Count(sent, want))
				}
			}
			for _, p := range upstream.Problems() {
				t.Error("the provider would refuse:", p)
			}

			os.Remove(filepath.Join(d.dir, "long-session.compacted.json"))
			d.env = append(d.env, "WINNOW_COMPACTION_PROMPT=Tell it as a tale of the sea, under headings.")
			o = d.process(args...)
			o.wants(t, cli.ExitDone)
			for _, want := range []string{"written by  " + name + ", 1 call, ", " tokens in, ", "made up     path internal/lamp/oil.go, number 48213", "found nowhere in the session, and struck"} {
				if !strings.Contains(strings.Join(strings.Fields(o.stdout), " "), strings.Join(strings.Fields(want), " ")) {
					t.Errorf("the receipt does not say %q:\n%s", want, o.stdout)
				}
			}
			sent = string(upstream.Records()[1].Body)
			if !strings.Contains(sent, "Tell it as a tale of the sea, under headings.") || strings.Contains(sent, "Write the hand-over notes") || strings.Contains(sent, "Use at most") {
				t.Error("the user's own prompt does not take the place of ours")
			}
			if diff := cmp.Diff([]string{"long-session.compacted.json", "long-session.json"}, d.names()); diff != "" {
				t.Errorf("the folder (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAsked_theCheaperModelThatIsConfigured(t *testing.T) {
	d, upstream, _ := example(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Text(notes)})
	d.configure(`{"compaction": {"model": "anthropic/claude-haiku-4-5"}}`)
	if doc := folded(t, d.process("compact", "long-session.json", "--json", "-o", "a.json")); doc.Receipt.Summarizer != "anthropic/claude-haiku-4-5" {
		t.Errorf("written by %s", doc.Receipt.Summarizer)
	}
	if doc := folded(t, d.process("compact", "long-session.json", "--json", "-o", "b.json", "--summarizer", "llm", "--model", "anthropic/claude-opus-4-5")); doc.Receipt.Summarizer != "anthropic/claude-haiku-4-5" {
		t.Errorf("written by %s", doc.Receipt.Summarizer)
	}
	for _, r := range upstream.Records() {
		if r.Model != "claude-haiku-4-5" {
			t.Errorf("%s was asked", r.Model)
		}
	}
}

func TestAsked_theLetterIsSentAndTakenAsItIs(t *testing.T) {
	d, upstream, name := example(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Text(notes)})
	doc := folded(t, d.process("compact", "long-session.json", "--json", "--policy", "classic", "--summarizer", "llm", "--model", name))
	if sent := string(upstream.Records()[0].Body); strings.Contains(sent, "Use at most") {
		t.Error("the letter's instruction has a length")
	}
	if doc.Receipt.Summarizer != name || doc.Summary != notes && doc.Summary != strings.TrimSpace(notes) || len(doc.Receipt.Struck) != 2 {
		t.Errorf("written by %s, %d claims listed: %q", doc.Receipt.Summarizer, len(doc.Receipt.Struck), doc.Summary)
	}
}

// What is wrong with a provider is in the receipt; the summary is there all the same, and the
// session is never between.
func TestAsked_whateverTheProviderDoes(t *testing.T) {
	for _, c := range []struct {
		fault  llmtest.Fault
		always bool // and not only once
		calls  int
		by     string // "" for the model
		says   string
	}{
		{llmtest.Unauthorized, true, 1, "offline", "auth (HTTP 401)"},
		{llmtest.Forbidden, true, 1, "offline", "auth (HTTP 403)"},
		{llmtest.Gone, true, 1, "offline", "HTTP 404"},
		{llmtest.TooLarge, false, 2, "", "tokens too long"},
		{llmtest.TooLarge, true, 7, "offline", "overflow (HTTP 413)"},
		{llmtest.TooLong, false, 2, "", "tokens too long"},
		{llmtest.RateMillis, false, 2, "", "answered after 1 failed call"},
		{llmtest.Status529, false, 2, "", "HTTP 529"},
		{llmtest.CutMidEvent, false, 2, "", "answered after 1 failed call"},
		{llmtest.BadJSON, false, 2, "", "garbage"},
		{llmtest.HTML, false, 2, "", "garbage"},
		{llmtest.Empty, false, 2, "", "the summary is empty; it was asked again"},
		{llmtest.ReasoningOnly, false, 2, "", "reasoned but wrote no summary"},
		{llmtest.MarkupCall, false, 2, "", "tool-call markup"},
		{llmtest.MarkupCall, true, 2, "offline", "tool-call markup"},
		{llmtest.RealCall, false, 2, "", "called a tool"},
		{llmtest.LengthCut, true, 2, "offline", "cut off by the output limit"},
		{llmtest.Refused, true, 2, "offline", "filter"},
	} {
		name := string(c.fault)
		if c.always {
			name += " always"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, upstream, name := example(t, llmtest.Anthropic, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
				reply := llmtest.Reply{Text: notes, RetryAfter: 30 * time.Millisecond}
				if c.always || r.Number == 1 {
					reply.Fault = c.fault
				}
				return reply
			}})
			original := d.read("long-session.json")
			o := d.process("compact", "long-session.json", "--summarizer", "llm", "--model", name, "--json")
			doc := folded(t, o)
			by := c.by
			if by == "" {
				by = name
			}
			if doc.Receipt.Summarizer != by || len(doc.Receipt.Usage) != c.calls || len(upstream.Records()) != c.calls {
				t.Errorf("written by %s, want %s; %d calls in the receipt, %d made, want %d", doc.Receipt.Summarizer, by, len(doc.Receipt.Usage), len(upstream.Records()), c.calls)
			}
			if said := strings.Join(doc.Receipt.Notes, "\n"); !strings.Contains(said, c.says) || strings.Contains(said, "sk-planted") {
				t.Errorf("the receipt does not say %q: %s", c.says, said)
			}
			if !bytes.Equal(original, d.read("long-session.json")) || !slices.Contains(d.names(), "long-session.compacted.json") {
				t.Errorf("the folder has %v", d.names())
			}
			records := upstream.Records()
			for i := 1; i < len(records); i++ {
				if (c.fault == llmtest.TooLong || c.fault == llmtest.TooLarge) && bytes.Equal(records[i].Body, records[i-1].Body) {
					t.Error("the same request was made again after it was too long")
				}
			}
		})
	}
}

// Nothing is known of a server of one's own, whose window may be far smaller than what is assumed.
func TestAsked_aServerWithASmallWindow(t *testing.T) {
	sequential(t)
	for _, window := range []int{32_000, 8_192, 4_096} {
		d, upstream, name := example(t, llmtest.Chat, llmtest.Script{Answer: llmtest.Text(notes), Window: window})
		doc := folded(t, d.process("compact", "long-session.json", "--summarizer", "llm", "--model", name, "--json"))
		if doc.Receipt.Summarizer != name {
			t.Errorf("a window of %d: written by %s; notes %q", window, doc.Receipt.Summarizer, doc.Receipt.Notes)
		}
		for i, r := range upstream.Records() {
			t.Logf("a window of %d: request %d has %d tokens, and asks for %d", window, i+1, r.Prompt, r.MaxTokens)
		}
	}
}

// A session in the store, a provider that says half and then nothing, and an interrupt.
func TestAsked_anInterruptEndsAtOnceAndWhatWasPaidIsKept(t *testing.T) {
	for _, fault := range []llmtest.Fault{llmtest.HangMidStream, llmtest.HangBeforeHeaders, llmtest.RateSeconds} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			d, upstream, name := example(t, llmtest.Anthropic, llmtest.Script{Answer: func(llmtest.Request) llmtest.Reply {
				return llmtest.Reply{Text: notes, Fault: fault, RetryAfter: 20 * time.Second}
			}})
			d.process("import", "long-session.json").wants(t, cli.ExitDone)
			list := d.process("list", "--json")
			var doc struct {
				Sessions *[]struct {
					ID string `json:"id"`
				} `json:"sessions"`
			}
			if err := json.Unmarshal([]byte(list.stdout), &doc); err != nil || doc.Sessions == nil || len(*doc.Sessions) != 1 {
				t.Fatalf("the list: %v\n%s", err, list.stdout)
			}
			id := (*doc.Sessions)[0].ID
			before := d.process("export", id)
			before.wants(t, cli.ExitDone)

			cmd := d.command("compact", id, "--summarizer", "llm", "--model", name)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for begun := time.Now(); len(upstream.Records()) == 0; time.Sleep(5 * time.Millisecond) {
				if time.Since(begun) > 20*time.Second {
					t.Fatal("nothing was asked")
				}
			}
			time.Sleep(2 * time.Second) // what it has to say before it hangs arrives
			at := time.Now()
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			wantExit(t, cmd, cli.ExitInterrupted)
			took := time.Since(at)
			t.Logf("%s: it ended %v after the signal", fault, took.Round(time.Millisecond))
			if took > 10*time.Second { // it would wait for 20
				t.Errorf("it ended %v after the signal", took)
			}
			if !strings.Contains(stderr.String(), "interrupted") || stdout.Len() > 0 {
				t.Errorf("stdout %q, stderr %q", &stdout, &stderr)
			}
			if after := d.process("export", id); after.stdout != before.stdout {
				t.Error("the session was changed")
			}
			var report struct {
				Summaries report.SummaryCalls `json:"summaries"`
			}
			if err := json.Unmarshal([]byte(d.process("inspect", id, "--json").stdout), &report); err != nil {
				t.Fatal(err)
			}
			// Anthropic says at the beginning what the prompt took: that much was paid for.
			if s := report.Summaries; s.Calls != 1 || s.Failed != 1 || (s.Cost != nil && *s.Cost > 0.001) != (fault == llmtest.HangMidStream) {
				t.Errorf("recorded are %+v", s)
			}
		})
	}
}

// The commands of docs/summaries.md are run as they stand, with an upstream in the place of the
// providers.
func TestAsked_theCommandsOfTheDocumentation(t *testing.T) {
	sequential(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "summaries.md"))
	if err != nil {
		t.Fatal(err)
	}
	d, upstream, _ := example(t, llmtest.Anthropic, llmtest.Script{Answer: llmtest.Text(notes)})
	os.Rename(filepath.Join(d.dir, "long-session.json"), filepath.Join(d.dir, "session.json"))
	d.env = append(d.env, "HOUSE_KEY=sk-planted-2")
	var asked []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "winnow ") {
			continue
		}
		command, _, _ := strings.Cut(strings.TrimSpace(line), "  #")
		command = strings.Replace(command, "http://127.0.0.1:9000/v1", upstream.BaseURL(llmtest.Chat), 1)
		var args []string
		for i, piece := range strings.FieldsFunc(strings.ReplaceAll(command, "'", "\x00"), func(r rune) bool { return r == 0 }) {
			if i%2 == 1 { // in quotes
				args = append(args, piece)
				continue
			}
			for j, words := range strings.Split(piece, `"`) {
				if j%2 == 1 {
					args = append(args, words)
				} else {
					args = append(args, strings.Fields(words)...)
				}
			}
		}
		os.Remove(filepath.Join(d.dir, "session.compacted.json"))
		before := len(upstream.Records())
		if o := d.process(args[1:]...); o.code != cli.ExitDone {
			t.Errorf("%q: exit code %d: %s", command, o.code, o.stderr)
		}
		for _, r := range upstream.Records()[before:] {
			asked = append(asked, r.Model)
		}
	}
	if diff := cmp.Diff([]string{"claude-haiku-4-5", "claude-haiku-4-5", "claude-haiku-4-5", "llama-4",
		"llama-4"}, asked); diff != "" {
		t.Errorf("models that were asked (-want +got):\n%s", diff)
	}
}

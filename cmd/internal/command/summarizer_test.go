package command

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
)

// provider is a client that writes a summary, and remembers who was to be asked what.
type provider struct {
	fails  error // that every request ends in
	absent error // that there is no client with
	models []string
	asked  []llm.Request
}

func (p *provider) client(m model.Model) (llm.Client, error) {
	p.models = append(p.models, m.String())
	return p, p.absent
}

func (p *provider) Ask(_ context.Context, r llm.Request) (llm.Answer, error) {
	p.asked = append(p.asked, r)
	if p.fails != nil {
		return llm.Answer{Usage: session.Usage{Input: 50}, Cost: 0.001}, p.fails
	}
	text := "## Goal\n\nFix the lamp."
	for piece := range strings.SplitAfterSeq(text, " ") {
		r.Delta(piece)
	}
	return llm.Answer{
		Parts: []session.Part{{Type: session.TextPart, Text: text}}, Finish: llm.Stop, Usage: session.Usage{Input: 100, Output: 10}, Cost: 0.25,
	}, nil
}

// asking is a desk with a session and a provider.
func asks(t *testing.T, p *provider) (*desk, string) {
	d := newDesk(t)
	d.client = p.client
	return d, d.put("long.jsonl", bigSession(60))
}

func folded(t *testing.T, o outcome) compaction {
	t.Helper()
	o.wants(t, cli.ExitDone)
	var doc compaction
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestCompact_asksTheModelThatIsNamed(t *testing.T) {
	sequential(t)
	for name, c := range map[string]struct {
		args, env, models []string
		by                string
	}{
		"nobody, where nothing is said":   {nil, nil, nil, "offline"},
		"nobody, though a model reads it": {[]string{"--model", "openai/gpt-5"}, nil, nil, "offline"},
		"the one that is configured":      {nil, []string{"WINNOW_COMPACTION_MODEL=anthropic/claude-haiku-4-5"}, []string{"anthropic/claude-haiku-4-5"}, "anthropic/claude-haiku-4-5"},
		"the one that reads it":           {[]string{"--summarizer", "llm", "--model", "openai/gpt-5"}, nil, []string{"openai/gpt-5"}, "openai/gpt-5"},
		"the configured one rather than the one that reads it": {[]string{"--summarizer", "llm", "--model", "openai/gpt-5"}, []string{"WINNOW_COMPACTION_MODEL=anthropic/claude-haiku-4-5"},
			[]string{"anthropic/claude-haiku-4-5"}, "anthropic/claude-haiku-4-5"},
		"nobody, where offline is said":         {[]string{"--summarizer", "offline"}, []string{"WINNOW_COMPACTION_MODEL=anthropic/claude-haiku-4-5"}, nil, "offline"},
		"the one of this agent":                 {nil, []string{`WINNOW_AGENTS={"*":{"summarizer":"anthropic/claude-haiku-4-5"}}`, "WINNOW_COMPACTION_SUMMARIZER=offline"}, []string{"anthropic/claude-haiku-4-5"}, "anthropic/claude-haiku-4-5"},
		"nobody, for this agent":                {nil, []string{`WINNOW_AGENTS={"*":{"summarizer":"offline"}}`, "WINNOW_COMPACTION_MODEL=anthropic/claude-haiku-4-5"}, nil, "offline"},
		"nobody, where another agent has one":   {nil, []string{`WINNOW_AGENTS={"codex":{"summarizer":"anthropic/claude-haiku-4-5"}}`}, nil, "offline"},
		"nobody, said over what the agent has":  {[]string{"--summarizer", "offline"}, []string{`WINNOW_AGENTS={"*":{"summarizer":"anthropic/claude-haiku-4-5","policy":"thrifty"}}`}, nil, "offline"},
		"nobody, though classic is said":        {[]string{"--policy", "classic"}, []string{`WINNOW_AGENTS={"*":{"policy":"thrifty"}}`}, nil, "offline"},
		"the one that reads it, by the setting": {[]string{"--model", "openai/gpt-5"}, []string{"WINNOW_COMPACTION_SUMMARIZER=llm"}, []string{"openai/gpt-5"}, "openai/gpt-5"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &provider{}
			d, file := asks(t, p)
			d.env = append(d.env, c.env...)
			doc := folded(t, d.run(append([]string{"compact", file, "--json"}, c.args...)...))
			if diff := cmp.Diff(c.models, p.models); diff != "" {
				t.Errorf("models (-want +got):\n%s", diff)
			}
			if doc.Receipt.Summarizer != c.by || len(doc.Receipt.Usage) != len(p.asked) || (doc.Receipt.Cost > 0) != (len(p.asked) > 0) {
				t.Errorf("written by %s, want %s; %d calls, $%g", doc.Receipt.Summarizer, c.by, len(doc.Receipt.Usage), doc.Receipt.Cost)
			}
		})
	}
}

func TestCompact_whatTheUserSaysReachesTheModel(t *testing.T) {
	p := &provider{}
	d, file := asks(t, p)
	d.env = append(d.env, "WINNOW_COMPACTION_PROMPT=Write it as a poem.", `WINNOW_COMPACTION_CONTEXT=["The branch is main.","The tide is out."]`)
	doc := folded(t, d.run("compact", file, "--json", "--summarizer", "llm", "--model", "openai/gpt-5", "--focus", "the lamp"))
	if doc.Summary != "## Goal\n\nFix the lamp." {
		t.Errorf("the summary is %q", doc.Summary)
	}
	messages := p.asked[0].Messages
	last := messages[len(messages)-1]
	said := last.Parts[len(last.Parts)-1].Text
	for _, want := range []string{"Write it as a poem.", "The branch is main.\nThe tide is out.", "dwell on: the lamp"} {
		if !strings.Contains(said, want) {
			t.Errorf("the instruction is %q, want %q in it", said, want)
		}
	}
	if strings.Contains(said, "hand-over notes") {
		t.Error("a prompt of the user's does not replace ours")
	}
}

func TestCompact_withoutTheModelThatWasAskedForNothingIsDone(t *testing.T) {
	p := &provider{absent: errors.New("ANTHROPIC_API_KEY is not set")}
	d, file := asks(t, p)
	d.run("compact", file, "--summarizer", "llm", "--model", "anthropic/claude-haiku-4-5").
		wants(t, cli.ExitUsage, "anthropic/claude-haiku-4-5 cannot be asked", "ANTHROPIC_API_KEY is not set", "compaction.summarizer to offline")
	if diff := cmp.Diff([]string{file}, d.names()); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
	d.env = append(d.env, "WINNOW_COMPACTION_MODEL=anthropic/claude-haiku-4-5")
	doc := folded(t, d.run("compact", file, "--json"))
	if notes := strings.Join(doc.Receipt.Notes, "\n"); doc.Receipt.Summarizer != "offline" || !strings.Contains(notes, "ANTHROPIC_API_KEY is not set") {
		t.Errorf("written by %s, notes %s", doc.Receipt.Summarizer, notes)
	}
}

func TestCompact_whatAFailingModelCostIsInTheReceipt(t *testing.T) {
	p := &provider{fails: &llm.Error{Kind: llm.Rejected, Provider: "openai", Model: "gpt-5", Status: 404}}
	d, file := asks(t, p)
	doc := folded(t, d.run("compact", file, "--json", "--summarizer", "llm", "--model", "openai/gpt-5"))
	if doc.Receipt.Summarizer != "offline" || doc.Receipt.Cost != 0.001 || !strings.Contains(strings.Join(doc.Receipt.Notes, "\n"), "HTTP 404") {
		t.Errorf("the receipt is %+v", doc.Receipt)
	}
}

func TestCompact_showsOnATerminalHowMuchIsWritten(t *testing.T) {
	d, file := asks(t, &provider{})
	d.terminal, d.now = true, hasty()
	o := d.run("compact", file, "--summarizer", "llm", "--model", "openai/gpt-5")
	o.wants(t, cli.ExitDone, "folding long.jsonl: ", "tokens written")
	if !strings.HasSuffix(o.stderr, "\r\x1b[K") {
		t.Errorf("it is not wiped away: %q", o.stderr)
	}
	if !strings.Contains(o.stdout, "openai/gpt-5") || !strings.Contains(o.stdout, "$0.25") {
		t.Errorf("the receipt does not say who wrote it for how much:\n%s", o.stdout)
	}
}

func TestConfig_providersAreTheUsersAlone(t *testing.T) {
	d := newDesk(t)
	d.run("config", "set", "providers.local.baseURL", "http://127.0.0.1:8080/v1").wants(t, cli.ExitDone)
	d.run("config", "set", "providers.local.baseURL", "http://127.0.0.1:8080/v1", "--project").wants(t, cli.ExitUsage, "where your keys and sessions are sent", "without --project")
	if o := d.run("config"); !strings.Contains(o.stdout, "http://127.0.0.1:8080/v1") {
		t.Errorf("the settings: %s", o.stdout)
	}
	d.put("winnow.jsonc", []byte(`{"providers": {"local": {"baseURL": "http://10.0.0.1/v1"}}}`))
	if o := d.run("config"); !strings.Contains(o.stdout, "http://127.0.0.1:8080/v1") || strings.Contains(o.stdout, "10.0.0.1") || !strings.Contains(o.stdout, "providers is ignored at winnow.jsonc:1:2: it decides where your keys and sessions are sent") {
		t.Errorf("the settings: %s", o.stdout)
	}
}

// The whole way: a provider of the configuration, its key in the environment, its client, its wire
// format.
func TestCompact_asksAProviderOfTheConfiguration(t *testing.T) {
	sequential(t)
	for _, protocol := range llmtest.Protocols() {
		t.Run(string(protocol), func(t *testing.T) {
			upstream := llmtest.Start(t, llmtest.Script{Answer: llmtest.Text("## Goal\n\nFix the lamp.").Fails(llmtest.NoHeadings)})
			d := newDesk(t)
			file := d.put("long.jsonl", bigSession(60))
			for key, value := range map[string]string{"protocol": string(protocol), "baseURL": upstream.BaseURL(protocol), "keyEnv": "HOUSE_KEY", "headers.X-Team": "tools"} {
				d.run("config", "set", "providers.house."+key, value).wants(t, cli.ExitDone)
			}
			args := []string{"compact", file, "--json", "--summarizer", "llm", "--model", "house/llama"}
			d.env = append(d.env, "HOUSE_KEY=secret")
			doc := folded(t, d.run(args...))
			if doc.Receipt.Summarizer != "house/llama" || doc.Summary != "## Goal\n\nFix the lamp." || len(doc.Receipt.Usage) != 2 {
				t.Errorf("written by %s in %d calls: %q", doc.Receipt.Summarizer, len(doc.Receipt.Usage), doc.Summary)
			}
			for _, r := range upstream.Records() {
				if r.Header.Get("X-Team") != "tools" || r.Model != "llama" {
					t.Errorf("asked for %s with %v", r.Model, r.Header)
				}
			}
			for _, p := range upstream.Problems() {
				t.Error("the provider would refuse:", p)
			}
		})
	}
}

func TestCompact_aMissingKeyIsNamed(t *testing.T) {
	d := newDesk(t)
	file := d.put("long.jsonl", bigSession(60))
	d.run("compact", file, "--summarizer", "llm", "--model", "anthropic/claude-haiku-4-5").wants(t, cli.ExitUsage, "ANTHROPIC_API_KEY")
	d.run("compact", file, "--summarizer", "llm", "--model", "nobody/gpt-5").wants(t, cli.ExitUsage, "nobody")
	d.env = append(d.env, `WINNOW_PROVIDERS={"house":{"protocol":"smoke"}}`)
	d.run("compact", file).wants(t, cli.ExitUsage, "WINNOW_PROVIDERS", "providers.house", "smoke", "openai-chat")
}

// The compaction agent is what the settings say: its model, both prompts, the lines that are added
// and the temperature; a temperature that no provider takes is refused before anything is asked.
func TestCompact_theAgentIsConfigured(t *testing.T) {
	for _, policy := range []string{"classic", "balanced"} {
		p := &provider{}
		d, file := asks(t, p)
		d.env = append(d.env, "WINNOW_POLICY="+policy, "WINNOW_COMPACTION_MODEL=anthropic/claude-haiku-4-5",
			"WINNOW_COMPACTION_SYSTEM=You keep the log of a lighthouse.", "WINNOW_COMPACTION_PROMPT=Write the log.",
			`WINNOW_COMPACTION_CONTEXT=["The tide is out."]`, "WINNOW_COMPACTION_TEMPERATURE=0.2")
		folded(t, d.run("compact", file, "--json"))
		if len(p.asked) != 1 {
			t.Fatalf("%s: %d requests", policy, len(p.asked))
		}
		r := p.asked[0]
		last := r.Messages[len(r.Messages)-1].Parts
		if r.System != "You keep the log of a lighthouse." || r.Temperature == nil || *r.Temperature != 0.2 || len(r.Tools) > 0 ||
			last[len(last)-1].Text != "Write the log.\n\nThe tide is out." {
			t.Errorf("%s: asked %q at %v, with the tools %s, and last %q", policy, r.System, r.Temperature, r.Tools, last[len(last)-1].Text)
		}
		d.env = append(d.env, "WINNOW_COMPACTION_TEMPERATURE=3")
		d.run("compact", file, "--force").wants(t, cli.ExitUsage, "compaction.temperature: 3: give a number from 0 to 2")
		if len(p.asked) != 1 {
			t.Errorf("%s: a model was asked all the same", policy)
		}
	}
}

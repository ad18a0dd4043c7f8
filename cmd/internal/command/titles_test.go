package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
)

// naming answers requests for titles, and everything else with "Done.".
func naming(r llmtest.Request) llmtest.Reply {
	if strings.HasPrefix(r.System, "You name finished pieces of work") {
		return llmtest.Reply{Text: "The lamp in short\n\nIt was lit."}
	}
	return llmtest.Reply{Text: "Done."}
}

func TestTitles_comeFromTheModelThatTheSettingsName(t *testing.T) {
	d, upstream := agentDesk(t, naming)
	d.env = append(d.env, "WINNOW_TITLES=house/small")
	d.run("run", "light the lamp").wants(t, cli.ExitDone)
	records := upstream.Records()
	if len(records) != 2 || records[1].Model != "small" {
		t.Fatalf("%d requests, want one for the work and one of the small model for its title", len(records))
	}
	if list := d.run("list"); !strings.Contains(list.stdout, "The lamp in short") {
		t.Errorf("the session has not the title that was given it: %s", list.stdout)
	}
}

func TestTitles_withoutTheModelAreMadeOffline(t *testing.T) {
	d, upstream := agentDesk(t, naming)
	d.env = append(d.env, "WINNOW_TITLES=nobody/small")
	d.run("run", "light the lamp").wants(t, cli.ExitDone, "! titles are made offline", "nobody")
	if n := len(upstream.Records()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if list := d.run("list"); !strings.Contains(list.stdout, "light the lamp") {
		t.Errorf("the session has not the title of its first sentence: %s", list.stdout)
	}
}

// titled is a client that works and names, and remembers which models were asked for what.
type titled struct {
	fails error // of the requests for titles
	named []string
}

func (c *titled) of(m model.Model) (llm.Client, error) { return titledModel{c, m}, nil }

type titledModel struct {
	*titled
	model model.Model
}

func (c titledModel) Ask(_ context.Context, r llm.Request) (llm.Answer, error) {
	answer := llm.Answer{Finish: llm.Stop, Usage: session.Usage{Input: 1000, Output: 50}}
	text := "Done."
	if strings.HasPrefix(r.System, "You name finished pieces of work") {
		c.named = append(c.named, c.model.String())
		if c.fails != nil {
			return llm.Answer{}, c.fails
		}
		text = "The lamp in short\n\nIt was lit."
	}
	answer.Cost, _ = c.model.Cost(bill.Usage(answer.Usage))
	answer.Parts = []session.Part{{Type: session.TextPart, Text: text}}
	return answer, nil
}

// A small model of the provider that is asked anyway gives titles, where the provider is a known
// one at its own address; nobody else is asked because nothing was said.
func TestTitles_ofASmallModelBesideTheOneThatWorks(t *testing.T) {
	for name, c := range map[string]struct {
		env  []string
		want []string
	}{
		"Anthropic":                {[]string{"WINNOW_MODEL=anthropic/claude-opus-4-7", "ANTHROPIC_API_KEY=k"}, []string{"anthropic/claude-haiku-5-5"}},
		"OpenAI":                   {[]string{"WINNOW_MODEL=openai/gpt-5.5", "OPENAI_API_KEY=k"}, []string{"openai/gpt-6-luna"}},
		"Gemini":                   {[]string{"WINNOW_MODEL=google/gemini-2.5-pro", "GOOGLE_API_KEY=k"}, []string{"google/gemini-flash-lite-latest"}},
		"off":                      {[]string{"WINNOW_MODEL=anthropic/claude-opus-4-7", "ANTHROPIC_API_KEY=k", "WINNOW_TITLES=off"}, nil},
		"another one that is said": {[]string{"WINNOW_MODEL=anthropic/claude-opus-4-7", "ANTHROPIC_API_KEY=k", "OPENAI_API_KEY=k", "WINNOW_TITLES=openai/gpt-5-mini"}, []string{"openai/gpt-5-mini"}},
		"moved by the environment": {[]string{"WINNOW_MODEL=anthropic/claude-opus-4-7", "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=http://proxy.example/v1"}, nil},
		"moved by the settings":    {[]string{"WINNOW_MODEL=anthropic/claude-opus-4-7", "ANTHROPIC_API_KEY=k", `WINNOW_PROVIDERS={"anthropic": {"baseURL": "http://127.0.0.1:1/v1"}}`}, nil},
		"on this computer":         {[]string{"WINNOW_MODEL=ollama/gpt-5-nano"}, nil},
		"no small one is known":    {[]string{"WINNOW_MODEL=moonshotai/kimi-k2.6", "MOONSHOT_API_KEY=k"}, nil},
		"unknown":                  {[]string{"WINNOW_MODEL=house/any", `WINNOW_PROVIDERS={"house": {"baseURL": "http://127.0.0.1:1/v1"}}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			client := &titled{}
			d := newDesk(t)
			d.client, d.env = client.of, append(d.env, c.env...)
			d.run("run", "light the lamp").wants(t, cli.ExitDone)
			if diff := cmp.Diff(c.want, client.named); diff != "" {
				t.Errorf("titles were asked for of (-want +got):\n%s", diff)
			}
			title := "light the lamp"
			if len(c.want) > 0 {
				title = "The lamp in short"
			}
			if list := d.run("list"); !strings.Contains(list.stdout, title) {
				t.Errorf("the title is not %q: %s", title, list.stdout)
			}
		})
	}
}

// What a title costs is the session's; where none comes, nobody is bothered, and a program can see
// it.
func TestTitles_areChargedAndFailQuietly(t *testing.T) {
	client := &titled{}
	d := newDesk(t)
	d.client, d.env = client.of, append(d.env, "WINNOW_MODEL=anthropic/claude-opus-4-7", "ANTHROPIC_API_KEY=k")
	o := d.run("run", "light the lamp", "--json")
	o.wants(t, cli.ExitDone)
	lines := o.lines(t)
	const work, title = (1000*5 + 50*25) / 1e6, (1000*0.1 + 50*0.5) / 1e6 // dollars, by the catalogue
	if got, _ := lines[len(lines)-1]["cost"].(float64); math.Abs(got-work-title) > 1e-9 {
		t.Errorf("it cost $%g, want $%g", got, work+title)
	}
	client.fails = errors.New("overloaded")
	o = d.run("run", "trim the wick")
	o.wants(t, cli.ExitDone)
	if strings.Contains(o.stderr, "overloaded") {
		t.Errorf("people are told: %s", o.stderr)
	}
	if list := d.run("list"); !strings.Contains(list.stdout, "trim the wick") {
		t.Errorf("the session has not the title of its first sentence: %s", list.stdout)
	}
	o = d.run("run", "oil the gear", "--json")
	o.wants(t, cli.ExitDone)
	told := false
	for _, one := range o.lines(t) {
		told = told || one["type"] == "title.failed" && strings.Contains(one["text"].(string), "overloaded")
	}
	if !told {
		t.Error("no event says so")
	}
}

func TestSnapshots_areNotTakenWhereTheSettingsSaySo(t *testing.T) {
	for value, taken := range map[string]bool{"true": true, "false": false} {
		t.Run(value, func(t *testing.T) {
			d, _ := agentDesk(t, llmtest.Sequence(calling("write", `{"filePath":"a.txt","content":"hello\n"}`), llmtest.Reply{Text: "It is written."}))
			d.env = append(d.env, "WINNOW_SNAPSHOTS="+value)
			o := d.run("run", "write hello into a.txt")
			o.wants(t, cli.ExitDone)
			if strings.Contains(o.stderr, "snapshots") {
				t.Errorf("what was asked for is told as trouble: %s", o.stderr)
			}
			found := false
			err := filepath.WalkDir(filepath.Dir(d.dir), func(path string, _ os.DirEntry, err error) error {
				found = found || filepath.Base(path) == "snapshots"
				return err
			})
			if err != nil || found != taken {
				t.Errorf("there are snapshots: %v, want %v (%v)", found, taken, err)
			}
		})
	}
}

func TestRun_saysWhatToDoAboutAProviderThatRefuses(t *testing.T) {
	d, _ := agentDesk(t, llmtest.Answer(naming).Fails(llmtest.Unauthorized, llmtest.Gone))
	o := d.run("run", "light the lamp")
	o.wants(t, cli.ExitFailed, "winnow: house/any: auth", "check providers.house", "continue with: winnow run --session ")
	if strings.Contains(o.stderr, "agent: session") {
		t.Errorf("it says what it says already: %s", o.stderr)
	}
	d.run("run", "light the lamp").wants(t, cli.ExitFailed, "`winnow config models` lists")
}

func TestRun_aCallThatCannotBeMadeIsTold(t *testing.T) {
	d, _ := agentDesk(t, llmtest.Sequence(calling("wombat", `{}`), llmtest.Reply{Text: "Done."}))
	d.run("run", "light the lamp").wants(t, cli.ExitDone, "✗ wombat", `There is no tool called "wombat"`)
}

func TestRun_saysThatItWaits(t *testing.T) {
	d, _ := agentDesk(t, llmtest.Answer(naming).Fails(llmtest.RateMillis))
	d.run("run", "light the lamp").wants(t, cli.ExitDone, "! rate limited: trying again in ")
}

// A session is called by the first words that mean something, the same everywhere, whatever its
// product and a greeting put before them.
func TestTitles_oneEverywhere(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 13, 30, 0, 0, time.UTC)
	const id = "0a000000-0000-4000-8000-000000000001"
	d := newDesk(t)
	home := filepath.Join(filepath.Dir(d.dir), "home")
	d.env, d.now = []string{"HOME=" + home}, func() time.Time { return now }
	moments := make([]time.Time, 5)
	for i := range moments {
		moments[i] = now.Add(time.Duration(i-5) * time.Hour)
	}
	d.worksAt(id, "/work/pears", moments...)
	file := filepath.Join(home, ".claude", "projects", "-work-pears", id+".jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	said := []string{"hi", "<command-name>/model</command-name>\\n<command-args>opus</command-args>",
		"<system-reminder>Use tabs.</system-reminder>\\n/home/ann/pears.go", "/clear", "Hello! Prune the old pear trees"}
	for i, words := range said {
		text = bytes.Replace(text, fmt.Appendf(nil, `"Trim pear %d."`, i), []byte(`"`+words+`"`), 1)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, moments[4], moments[4]); err != nil {
		t.Fatal(err)
	}
	d.run("import", file).wants(t, cli.ExitDone)
	d.run("inspect", file, "--html", "page.html").wants(t, cli.ExitDone)
	d.run("cost", "--html", "week.html").wants(t, cli.ExitDone)
	const want = "Prune the old p" // cost cuts it to the width
	for where, shown := range map[string]string{
		"ls": d.run("ls").stdout, "ls --quick": d.run("ls", "--quick").stdout, "ls --store": d.run("ls", "--store").stdout,
		"cost": d.run("cost").stdout, "inspect": d.run("inspect", file, "--json").stdout,
		"the page of inspect": string(d.read("page.html")), "the page of cost": string(d.read("week.html")),
	} {
		if !strings.Contains(shown, want) || strings.Contains(shown, "command-name>: ") || strings.Contains(shown, "pears: hi") {
			t.Errorf("%s does not call it %q:\n%.2000s", where, want, shown)
		}
	}
}

// The hits of a search are grouped by session: one line says which, with its title, project,
// product and age.
func TestSearch_groupsItsHitsBySession(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 13, 30, 0, 0, time.UTC)
	d := newDesk(t)
	d.env, d.now = []string{"HOME=" + filepath.Join(filepath.Dir(d.dir), "home")}, func() time.Time { return now }
	ids := []string{"0a000000-0000-4000-8000-000000000001", "0b000000-0000-4000-8000-000000000002"}
	for i, id := range ids {
		d.worksAt(id, "/work/pears"+id[:2], now.Add(-time.Duration(i+3)*time.Hour), now.Add(-time.Duration(i+2)*time.Hour))
		d.run("import", "claude-code:"+id).wants(t, cli.ExitDone)
	}
	for _, c := range []struct{ args, head string }{
		{"search pear", "%s  Trim pear 0. · pears%s · claude-code · %d h\n"},
		{"search pear --everywhere", "claude-code:%.8s  Trim pear 0. · pears%s · %d h\n"},
	} {
		shown := d.run(strings.Fields(c.args)...).stdout
		for i, id := range ids {
			head := fmt.Sprintf(c.head, id, id[:2], i+2)
			_, hits, found := strings.Cut("\n"+shown, "\n"+head)
			hits, _, _ = strings.Cut(hits, "\n\n")
			if !found || strings.Count("\n"+hits, "\n  user ") != 2 || strings.Count(shown, id[:8]) != 1 {
				t.Errorf("%s shows no two hits below %q:\n%s", c.args, head, shown)
			}
		}
		if !strings.Contains(shown, "\n\n") {
			t.Errorf("%s puts no empty line between sessions:\n%s", c.args, shown)
		}
	}
}

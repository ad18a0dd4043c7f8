package demo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/agent/tools"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	asking "github.com/winnowhq/winnow/summarize/model"
)

// stage is the demo with an agent on it, as the command puts them together.
type stage struct {
	*Demo
	folder string
	engine *winnow.Engine
	loop   *agent.Loop
	events *winnow.Subscription
}

func open(t *testing.T) *stage {
	t.Helper()
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("the project needs sh and awk")
	}
	s := &stage{folder: t.TempDir()}
	var err error
	if s.Demo, err = Start(s.folder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		for _, p := range s.upstream.problems {
			t.Error("a provider would refuse:", p)
		}
	})
	s.Hurry()
	set, err := providers.New(func(string) string { return "" }, map[string]providers.Provider{
		Provider: {Protocol: s.Protocol(), BaseURL: s.BaseURL(),
			Headers: map[string]string{"x-api-key": "none"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	client, m, err := set.Open(s.Models(), Small)
	if err != nil {
		t.Fatal(err)
	}
	settings := config.Default()
	s.Tighten(&settings)
	s.engine, err = winnow.Open(winnow.Config{Settings: &settings.Settings, Models: s.Models(), Model: Small,
		SummarizerFor: func(model.Model) (pivot.Summarizer, error) {
			return asking.New(llm.Retry(client, llm.RetryOptions{}), m, asking.Options{}), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.engine.Close() })
	s.events = s.engine.Subscribe(1 << 14)
	policy := permission.Policy{Directory: s.folder,
		Rules: []permission.Rule{{Action: "run", Verdict: permission.Allow}}}
	s.loop, err = agent.New(agent.Config{
		Engine: s.engine, Client: client, Model: m, Protocol: s.Protocol(),
		System: "You show what there is.", Directory: s.folder,
		Tools: tools.Standard(tools.Options{Engine: s.engine, Directory: s.folder, Policy: policy}),
		Ask:   policy.Asker(nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTour_showsAllOfIt(t *testing.T) {
	s := open(t)
	turn, err := s.loop.Run(t.Context(), "", "tour")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(turn.Text, "lamp.sh is repaired") || turn.Spent.Cost <= 0 || turn.Spent.Usage.Cache.Read == 0 {
		t.Errorf("it ended with %q after %+v", turn.Text, turn.Spent)
	}
	seen := map[winnow.EventType]bool{}
	s.engine.Close()
	for e := range s.events.C {
		seen[e.Type] = true
	}
	for _, want := range []winnow.EventType{winnow.BudgetWarning, winnow.ElisionCommitted, winnow.Compacted} {
		if !seen[want] {
			t.Errorf("it shows no %s", want)
		}
	}
	if got := s.text(t, "REPORT.md"); strings.Count(got, "\n- 20") != len(months) {
		t.Errorf("the report is\n%s", got)
	}
	test := exec.Command("sh", "test.sh")
	test.Dir = s.folder
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("the test of the project does not pass: %s", out)
	}
	for name, text := range project() {
		if strings.HasPrefix(name, "logs/") && s.text(t, name) != text {
			t.Errorf("%s was changed", name)
		}
	}
}

func TestTopics_eachIsUnderstood(t *testing.T) {
	for _, topic := range Topics {
		t.Run(topic, func(t *testing.T) {
			s := open(t)
			turn, err := s.loop.Run(t.Context(), "", topic)
			if err != nil || turn.Steps < 3 || strings.Contains(turn.Text, "I am a script") {
				t.Errorf("%d steps, %q, %v", turn.Steps, turn.Text, err)
			}
		})
	}
}

func TestScript_saysThatItIsOne(t *testing.T) {
	s := open(t)
	for _, said := range []string{"Why is the sky blue?", strings.Repeat("long ", 1000)} {
		turn, err := s.loop.Run(t.Context(), "", said)
		if err != nil || !strings.Contains(turn.Text, "I am a script") {
			t.Errorf("%.20q: %q, %v", said, turn.Text, err)
		}
	}
	if !strings.Contains(Notice, "no model is asked") {
		t.Error("the notice does not say that no model is asked")
	}
}

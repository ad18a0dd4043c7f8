package tools

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/coverage"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

type args = map[string]any

// place of work: a folder with files, in which tools are called.
type bench struct {
	*testing.T
	folder  string
	asked   []agent.Permission
	refuses error // what asking answers
}

func newBench(t *testing.T, files ...string) *bench {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, folder: folder}
	for i := 0; i < len(files); i += 2 {
		b.put(files[i], files[i+1])
	}
	return b
}

func (b *bench) put(name, text string) {
	b.Helper()
	at := b.at(name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) at(name string) string { return filepath.Join(b.folder, name) }

func (b *bench) text(name string) string {
	b.Helper()
	text, err := os.ReadFile(b.at(name))
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

func input(t testing.TB, in args) jsontext.Value {
	t.Helper()
	v, err := json.Marshal(in, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (b *bench) try(ctx context.Context, tool agent.Tool, in args) (agent.Result, error) {
	b.Helper()
	return tool.Run(ctx, agent.Call{SessionID: "ses_1", ID: "call_1", Input: input(b, in), Directory: b.folder,
		Ask: func(_ context.Context, p agent.Permission) error {
			b.asked = append(b.asked, p)
			return b.refuses
		}})
}

// run is a call that must work.
func (b *bench) run(tool agent.Tool, in args) agent.Result {
	b.Helper()
	r, err := b.try(b.Context(), tool, in)
	if err != nil {
		b.Fatalf("%s %v: %v", tool.Name(), in, err)
	}
	return r
}

// fails is a call that must not, with these words in its error.
func (b *bench) fails(tool agent.Tool, in args, words ...string) {
	b.Helper()
	r, err := b.try(b.Context(), tool, in)
	if err == nil {
		b.Errorf("%s %v: got %q, want an error", tool.Name(), in, r.Output)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			b.Errorf("%s %v: error %q, want %q in it", tool.Name(), in, err, w)
		}
	}
}

// part is a call with its result as a log has it.
func (b *bench) part(tool agent.Tool, in args, r agent.Result) *session.Part {
	b.Helper()
	metadata, err := json.Marshal(r.Metadata)
	if err != nil {
		b.Fatal(err)
	}
	return &session.Part{ID: "prt_1", Type: session.ToolPart, Tool: tool.Name(), CallID: "call_1",
		State: &session.ToolState{
			Status: session.Completed, Input: input(b, in), Output: r.Output, Metadata: metadata,
			Attachments: r.Attachments}}
}

func (b *bench) shown(tool agent.Tool, in args) coverage.Shown {
	b.Helper()
	p := b.part(tool, in, b.run(tool, in))
	c := call.Of(p, b.folder)
	return coverage.OfCall(p, &c, b.folder)
}

// every is all that this package has: the standard tools with a skill among them.
func every(t *testing.T) []agent.Tool {
	t.Helper()
	e, err := winnow.Open(winnow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return Standard(Options{Engine: e, Directory: newBench(t, ".winnow/skills/sail/SKILL.md", sailing).folder})
}

func TestAll_areToldInFormAProviderTakes(t *testing.T) {
	names := map[string]bool{}
	for _, tool := range every(t) {
		if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(tool.Name()) || names[tool.Name()] {
			t.Errorf("name %q", tool.Name())
		}
		names[tool.Name()] = true
		if tool.Description() == "" {
			t.Errorf("%s has no description", tool.Name())
		}
		var schema struct {
			Type       string                    `json:"type"`
			Properties map[string]jsontext.Value `json:"properties"`
			Required   []string                  `json:"required"`
			Additional *bool                     `json:"additionalProperties"`
		}
		if err := json.Unmarshal(tool.Schema(), &schema); err != nil {
			t.Errorf("schema of %s: %v", tool.Name(), err)
			continue
		}
		if schema.Type != "object" || schema.Required == nil || schema.Additional == nil || *schema.Additional {
			t.Errorf("schema of %s: got %s, want a closed object", tool.Name(), tool.Schema())
		}
		for _, name := range schema.Required {
			if _, ok := schema.Properties[name]; !ok {
				t.Errorf("schema of %s requires %q, which it does not have", tool.Name(), name)
			}
		}
	}
}

func TestAll_whatChangesFilesOrTheContextIsSerial(t *testing.T) {
	want := map[string]bool{"write": true, "edit": true, "bash": true, "todowrite": true,
		"context_list": true, "context_discard": true, "context_distill": true, "context_restore": true}
	for _, tool := range every(t) {
		if _, got := tool.(agent.Serial); got != want[tool.Name()] {
			t.Errorf("%s is serial: got %v, want %v", tool.Name(), got, want[tool.Name()])
		}
	}
}

func TestAll_aRefusedCallDoesNothing(t *testing.T) {
	refused := errors.New("no")
	for _, c := range []struct {
		tool   agent.Tool
		in     args
		action string
	}{
		{Read{}, args{"filePath": "a.txt"}, "read"},
		{Write{}, args{"filePath": "a.txt", "content": "new"}, "write"},
		{Write{}, args{"filePath": "deep/b.txt", "content": "new"}, "write"},
		{Edit{}, args{"filePath": "a.txt", "oldString": "old", "newString": "new"}, "write"},
		{Bash{}, args{"command": "echo new > a.txt"}, "run"},
		{Glob{}, args{"pattern": "*"}, "read"},
		{Grep{}, args{"pattern": "old"}, "read"},
		{List{}, args{}, "read"},
	} {
		b := newBench(t, "a.txt", "old\n")
		b.refuses = refused
		if _, err := b.try(t.Context(), c.tool, c.in); !errors.Is(err, refused) {
			t.Errorf("%s: error %v, want that of asking", c.tool.Name(), err)
		}
		if len(b.asked) != 1 || b.asked[0].Action != c.action || b.asked[0].Tool != c.tool.Name() ||
			!b.asked[0].Inside {
			t.Errorf("%s: asked %+v, want once to %s inside", c.tool.Name(), b.asked, c.action)
		}
		if got := b.text("a.txt"); got != "old\n" {
			t.Errorf("%s: the file is now %q", c.tool.Name(), got)
		}
		if _, err := os.Stat(b.at("deep")); err == nil {
			t.Errorf("%s made a folder", c.tool.Name())
		}
	}
}

func TestAll_withoutAnybodyToAskOnlyTheInsideIsOpen(t *testing.T) {
	b := newBench(t, "a.txt", "old\n")
	outside := newBench(t, "secret.txt", "key\n")
	run := func(tool agent.Tool, in args) error {
		_, err := tool.Run(t.Context(), agent.Call{Input: input(t, in), Directory: b.folder})
		return err
	}
	if err := run(Read{}, args{"filePath": "a.txt"}); err != nil {
		t.Errorf("reading inside: %v", err)
	}
	var refused *permission.Refused
	for _, err := range []error{run(Read{}, args{"filePath": outside.at("secret.txt")}),
		run(Bash{}, args{"command": "true"}), run(Write{}, args{"filePath": outside.at("x"), "content": ""})} {
		if !errors.As(err, &refused) {
			t.Errorf("got %v, want it refused", err)
		}
	}
}

func TestAll_argumentsThatAreNone(t *testing.T) {
	b := newBench(t)
	for _, tool := range every(t) {
		for _, in := range []string{`[]`, `{"filePath":`, `"x"`,
			`{"filePath":7,"command":[],"pattern":{},"path":3,"todos":4,"content":null}`} {
			if tool.Name() == "todoread" || rule.SelfPrunes(tool.Name()) {
				continue
			}
			if _, err := tool.Run(t.Context(), agent.Call{Input: jsontext.Value(in), Directory: b.folder}); err == nil {
				t.Errorf("%s %s: no error", tool.Name(), in)
			}
		}
	}
}

func TestAll_areUnderstoodByTheRules(t *testing.T) {
	b := newBench(t, "a.txt", "old\n", ".winnow/skills/sail/SKILL.md", sailing)
	s := site(t, map[string]http.HandlerFunc{"": says("text/plain", "x"), "/": says("text/plain", "x")})
	for _, c := range []struct {
		tool agent.Tool
		in   args
		op   call.Op
	}{
		{Read{}, args{"filePath": "a.txt"}, call.Read},
		{Write{}, args{"filePath": "b.txt", "content": "x"}, call.Create},
		{Edit{}, args{"filePath": "a.txt", "oldString": "old", "newString": "new"}, call.Edit},
		{Bash{}, args{"command": "true"}, call.Run},
		{WebFetch{}, args{"url": s.URL}, call.Fetch},
		{Skill{FindSkills(b.folder)}, args{"name": "sailing"}, call.Load},
		{Glob{}, args{"pattern": "*"}, call.Search},
		{Grep{}, args{"pattern": "new"}, call.Search},
		{List{}, args{"path": "."}, call.Search},
		{TodoWrite{&Lists{}}, args{"todos": []args{{"content": "x", "status": "pending"}}}, call.Plan},
	} {
		did := call.Of(b.part(c.tool, c.in, b.run(c.tool, c.in)), b.folder)
		if len(did.Actions) == 0 || did.Actions[0].Op != c.op || did.Outcome.Failed || !did.Outcome.Known {
			t.Errorf("%s: got %+v, outcome %+v, want %s that worked", c.tool.Name(), did.Actions, did.Outcome, c.op)
		}
	}
}

func agentCall(folder string) agent.Call { return agent.Call{Directory: folder} }

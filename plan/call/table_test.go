package call_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/shelltest"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"

	"github.com/go-json-experiment/json"
)

func TestCases_whatACommandDid(t *testing.T) {
	for _, c := range shelltest.Cases {
		var runs []string
		all := call.Invocations(c.Command)
		for _, v := range all {
			runs = append(runs, v.Name)
		}
		if diff := cmp.Diff(c.Runs, runs); diff != "" {
			t.Errorf("%s: runs (-want +got):\n%s", c.Command, diff)
		}
		main := ""
		if m := call.Main(all); m != nil {
			main = m.Name
		}
		if main != c.Main {
			t.Errorf("%s: is known by %q, want %q", c.Command, main, c.Main)
		}
		input, err := json.Marshal(map[string]string{"command": c.Command})
		if err != nil {
			t.Fatal(err)
		}
		p := &session.Part{Type: session.ToolPart, Tool: "bash", State: &session.ToolState{Status: session.Completed, Input: input}}
		if diff := cmp.Diff(c.Files, files(call.Of(p, "/repo").Actions)); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", c.Command, diff)
		}
	}
}

// files are actions in the short form of the table.
func files(actions []call.Action) (all []string) {
	signs := map[call.Op]string{call.Create: "+", call.Edit: "~", call.Delete: "-", call.Read: "=", call.Move: ""}
	for _, a := range actions {
		if a.Op == call.Run {
			continue
		}
		text := signs[a.Op] + strings.TrimPrefix(a.Path, "/repo/")
		if a.To != "" {
			text += ">" + strings.TrimPrefix(a.To, "/repo/")
		}
		if a.Maybe {
			text += "?"
		}
		all = append(all, text)
	}
	return all
}

// What was sent as a list of words is not taken apart at what is in them.
func TestArguments_wordsStayWords(t *testing.T) {
	for words, want := range map[string]string{
		`["echo","a > b.txt"]`:        `echo 'a > b.txt'`,
		`["rm","it's"]`:               `rm 'it'\''s'`,
		`["wc","-c","a.go"]`:          `wc -c a.go`,
		`["bash","-lc","rm a > b"]`:   `rm a > b`,
		`["git log | head"]`:          `git log | head`,
		`["go","test","-run=^T$x"]`:   `go test '-run=^T$x'`,
		`["apply_patch","*** Begin"]`: `apply_patch *** Begin`,
	} {
		p := &session.Part{Type: session.ToolPart, Tool: "shell", State: &session.ToolState{Status: session.Completed, Input: []byte(`{"command":` + words + `}`)}}
		c := call.Of(p, "/repo")
		if got := c.Command(); got != want {
			t.Errorf("%s: got %s, want %s", words, got, want)
		}
	}
}

// A shell that is not understood is not guessed at.
func TestActions_ofPowerShellAreUnknown(t *testing.T) {
	p := &session.Part{Type: session.ToolPart, Tool: "powershell", State: &session.ToolState{Status: session.Completed, Input: []byte(`{"command":"rm a.go > b.go"}`)}}
	if c := call.Of(p, "/repo"); len(c.Actions) != 1 || c.Main != nil || c.Command() != "rm a.go > b.go" {
		t.Errorf("%+v", c)
	}
}

package call_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

func TestCall_looks(t *testing.T) {
	type args map[string]string
	bash := func(command string) args { return args{"command": command} }
	for _, c := range []struct {
		tool  string
		input args
		want  bool
	}{
		{"bash", bash("ls"), true},
		{"bash", bash("cd /x && ls -la 2>/dev/null | head"), true},
		{"bash", bash("for f in *; do cat $f; done"), true},
		{"bash", bash("git status --short"), true},
		{"bash", bash("git log --oneline | head"), true},
		{"bash", bash("git config user.name"), true},
		{"bash", bash("find . -name x"), true},
		{"read", args{"filePath": "/repo/a.go"}, true},
		{"grep", args{"pattern": "x"}, true},

		{"bash", bash("git config user.name x"), false},
		{"bash", bash("git clean -fdx"), false},
		{"bash", bash("git commit -m x"), false},
		{"bash", bash("find . -name x -delete"), false},
		{"bash", bash("find . -exec rm {} +"), false},
		{"bash", bash("ls | xargs rm"), false},
		{"bash", bash("echo $(rm x)"), false},
		{"bash", bash("cat a > $out"), false},
		{"bash", bash("go test ./..."), false},
		{"bash", bash("python3 -c 'print(1)'"), false},
		{"bash", bash("if ["), false},
		{"write", args{"filePath": "/repo/a.go", "content": "x"}, false},
		{"todowrite", args{}, false},
		{"unheard_of", args{}, false},
	} {
		input, err := json.Marshal(c.input)
		if err != nil {
			t.Fatal(err)
		}
		p := &session.Part{Type: session.ToolPart, Tool: c.tool,
			State: &session.ToolState{Status: session.Completed, Input: input, Output: "x"}}
		if k := call.Of(p, "/repo"); k.Looks() != c.want {
			t.Errorf("%s %v only looks: %v, want %v", c.tool, c.input, k.Looks(), c.want)
		}
	}
}

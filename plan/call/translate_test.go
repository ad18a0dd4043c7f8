package call_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

func TestTranslate(t *testing.T) {
	for _, tt := range []struct {
		product, tool, input string
		name, want           string // no name: it stays as it is
	}{
		{"claude-code", "bash", `{"command":"ls","description":"list"}`, "Bash", `{"command":"ls","description":"list"}`},
		{"codex", "Bash", `{"command":"ls","timeout":5}`, "exec_command", `{"cmd":"ls","timeout":5}`},
		{"pi", "exec_command", `{"cmd":"ls","workdir":"/w"}`, "bash", `{"command":"ls","workdir":"/w"}`},
		{"opencode", "exec_command", `{"cmd":"ls","workdir":"/w"}`, "bash", `{"command":"ls","workdir":"/w"}`},
		{"claude-code", "shell", `{"command":["bash","-lc","go test ./..."]}`, "Bash", `{"command":"go test ./..."}`},
		{"claude-code", "run_shell_command", `{"command":"ls"}`, "Bash", `{"command":"ls"}`},
		{"opencode", "Read", `{"file_path":"/w/a.go","offset":3}`, "read", `{"filePath":"/w/a.go","offset":3}`},
		{"claude-code", "read_file", `{"absolute_path":"/w/a.go"}`, "Read", `{"file_path":"/w/a.go"}`},
		{"claude-code", "view", `{"path":"/w/a.go"}`, "Read", `{"file_path":"/w/a.go"}`},
		{"pi", "Write", `{"file_path":"a","content":"x"}`, "write", `{"path":"a","content":"x"}`},
		{"claude-code", "edit", `{"filePath":"a","oldString":"x","newString":"y"}`, "Edit",
			`{"file_path":"a","old_string":"x","new_string":"y"}`},
		{"pi", "Edit", `{"file_path":"a","old_string":"x","new_string":"y"}`, "edit",
			`{"path":"a","edits":[{"oldText":"x","newText":"y"}]}`},
		{"claude-code", "edit", `{"path":"a","edits":[{"oldText":"x","newText":"y"}]}`, "Edit",
			`{"file_path":"a","old_string":"x","new_string":"y"}`},
		{"opencode", "Grep", `{"pattern":"x","path":"src","glob":"*.go"}`, "grep",
			`{"pattern":"x","path":"src","glob":"*.go"}`},
		{"claude-code", "glob", `{"pattern":"*.go"}`, "Glob", `{"pattern":"*.go"}`},
		{"claude-code", "skill", `{"name":"review"}`, "Skill", `{"skill":"review"}`},
		// Several edits, patches, lists of commands, and tools that the product does not have.
		{"claude-code", "edit", `{"path":"a","edits":[{"oldText":"x","newText":"y"},{"oldText":"z","newText":""}]}`, "", ""},
		{"claude-code", "apply_patch", `{"input":"*** Begin Patch"}`, "", ""},
		{"claude-code", "run_commands", `{"commands":["ls"]}`, "", ""},
		{"codex", "Read", `{"file_path":"a"}`, "", ""},
		{"claude-code", "list_dir", `{"path":"src"}`, "", ""},
		{"opencode", "ToolSearch", `{"query":"x"}`, "", ""},
		{"claude-code", "read", `{"filePath":"a","file_path":"b"}`, "", ""},
		{"claude-code", "bash", `"ls"`, "", ""},
		{"claude-code", "bash", `{"command":`, "", ""},
		{"claude-code", "bash", ``, "", ""},
	} {
		p := &session.Part{Type: session.ToolPart, Tool: tt.tool, State: &session.ToolState{Input: jsontext.Value(tt.input)}}
		name, input, ok := call.Translate(tt.product, p)
		want := tt.want
		if tt.name == "" {
			tt.name, want = tt.tool, tt.input
		}
		if name != tt.name || string(input) != want || ok != (tt.want != "") {
			t.Errorf("%s %s in %s: %s %s, %v; want %s %s", tt.tool, tt.input, tt.product, name, input, ok, tt.name, want)
		}
		if p.Tool != tt.tool || string(p.State.Input) != tt.input {
			t.Errorf("the call itself became %s %s", p.Tool, p.State.Input)
		}
	}
}

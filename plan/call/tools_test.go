package call_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

func TestTools_eachNameIsInTheTableOnceAndEachOperationIsKnown(t *testing.T) {
	text, err := os.ReadFile("tools.txt")
	if err != nil {
		t.Fatal(err)
	}
	ops := []call.Op{call.Read, call.Create, call.Edit, call.Delete, call.Run, call.Search, call.Fetch, call.Plan,
		call.Load, call.Ask, call.Delegate, call.Other}
	forms, seen, section, empty := call.Forms, map[string]bool{}, "", false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "["); ok {
			words := strings.Fields(strings.TrimSuffix(heading, "]"))
			if empty {
				t.Errorf("[%s] has no tools", section)
			}
			if section, empty = heading, true; !slices.Contains(ops, call.Op(words[0])) {
				t.Errorf("[%s: an operation that is not known", heading)
			}
			for _, form := range words[1:] {
				if !slices.Contains(forms, call.Form(form)) {
					t.Errorf("[%s: the form %s is not known", heading, form)
				}
			}
		}
		names, ok := strings.CutPrefix(line, "tools: ")
		if !ok {
			continue
		}
		empty = false
		for _, name := range strings.Split(names, ", ") {
			if seen[name] {
				t.Errorf("%s is in the table twice", name)
			}
			if seen[name] = true; name != strings.ToLower(name) || call.Name(name) != name {
				t.Errorf("%s is found as %s", name, call.Name(name))
			}
		}
	}
	if len(seen) < 100 {
		t.Errorf("the table has %d tools", len(seen))
	}
}

func TestName_takesOffWhatIsPutBeforeIt(t *testing.T) {
	for _, c := range [][2]string{
		{"TodoWrite", "todowrite"}, {"mcp__x__TodoWrite", "todowrite"}, {"server.todo_write", "todo_write"},
		{"server/todo_write", "todo_write"}, {"functions.exec_command", "exec_command"},
		{"mcp_tasks_write_todos", "write_todos"}, {"tasks_todo_write", "todo_write"},
		{"tasks-update_todo_list", "update_todo_list"}, {"mcp__my_tasks__todo_write", "todo_write"},
		{"container.exec", "container.exec"}, {"todo__write", "todo__write"}, {"mcp__files__read_file", "read_file"},
		// Names of other things that end like a tool of ours.
		{"linear_create_todo", "linear_create_todo"}, {"git_search", "git_search"}, {"stripe_update_plan", "stripe_update_plan"},
	} {
		if got := call.Name(c[0]); got != c[1] {
			t.Errorf("%s is %s, want %s", c[0], got, c[1])
		}
	}
}

// What a tool is called in another tool's arguments is what was done.
func TestActions_ofACallWithinACall(t *testing.T) {
	p := &session.Part{Type: session.ToolPart, Tool: "tool_call", State: &session.ToolState{Status: session.Completed,
		Input: []byte(`{"name":"write_file","arguments":{"file_path":"a.go","content":"a\n"}}`)}}
	if c := call.Of(p, "/repo"); len(c.Actions) != 1 || c.Actions[0].Op != call.Create || c.Actions[0].Path != "/repo/a.go" {
		t.Errorf("%+v", c.Actions)
	}
}

// Each tool that a client offered when its traffic was recorded is in the table.
func TestTools_ofRecordedTrafficAreAllKnown(t *testing.T) {
	folder := "../../../shared/fixtures/traffic"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("no recorded traffic:", err)
	}
	offered := map[string]string{}
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(filepath.Base(name), ".json") {
			return err
		}
		for _, tool := range toolsOf(t, name) {
			offered[tool] = name
		}
		return nil
	})
	if err != nil || len(offered) < 50 {
		t.Fatalf("%d tools (%v)", len(offered), err)
	}
	for tool, name := range offered {
		if !call.Known(tool) {
			t.Errorf("%s of %s is not in the table", tool, name)
		}
	}
}

// toolsOf are the names of the tools that a recorded request offers.
func toolsOf(t *testing.T, name string) (names []string) {
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var from io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		if from, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	type tool struct {
		Name                 string
		Function             struct{ Name string }
		FunctionDeclarations []struct{ Name string }
		Tools                []struct{ Name string }
	}
	var recorded struct{ Body string }
	var request struct{ Tools []tool }
	if json.NewDecoder(from).Decode(&recorded) != nil || json.Unmarshal([]byte(recorded.Body), &request) != nil {
		return nil
	}
	for _, one := range request.Tools {
		more := append(one.FunctionDeclarations, one.Tools...)
		for _, m := range more {
			names = append(names, m.Name)
		}
		if len(more) == 0 {
			names = append(names, one.Name, one.Function.Name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

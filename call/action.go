package call

import (
	"strings"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/shell"
)

var pathNames = []string{"filePath", "file_path", "path", "absolute_path", "notebook_path", "target_file",
	"relative_workspace_path", "filename", "file"}

// Actions understands one call.
func Actions(p *session.Part, cwd string) []Action {
	did, _ := actions(p, Parse(p.State.Input), cwd)
	return did
}

// actions gives the script of its command too.
func actions(p *session.Part, a Arguments, cwd string) ([]Action, *shell.Script) {
	switch name := Name(p.Tool); {
	case name == "run_commands": // Cline: each one in a shell of its own
		return command(strings.Join(a.texts("commands"), "\n"), "", cwd)
	case IsShell(name):
		return command(a.argv("command", "cmd", "input", "script"),
			Clean(a.Text("workdir", "cwd", "working_directory"), cwd), cwd)
	}
	return others(p, a, cwd), nil
}

// IsShell reports whether a tool runs commands of a POSIX shell, as the agents in use call theirs.
func IsShell(tool string) bool {
	switch Name(tool) {
	case "bash", "shell", "exec_command", "local_shell", "local_shell_call", "container.exec", "run_command",
		"run_commands", "run_terminal_cmd", "execute_command", "terminal", "exec", "shell_command", "unified_exec",
		"execute_bash", "run_shell_command":
		return true
	}
	return false
}

// others are the actions of a call that runs no command that is understood.
func others(p *session.Part, a Arguments, cwd string) []Action {
	at := func(op Op) []Action {
		name := Clean(a.Text(pathNames...), cwd)
		return []Action{{Op: op, Path: name, Exact: true}}
	}
	switch Name(p.Tool) {
	case "read", "view", "open", "read_file", "read_text_file", "view_file", "view_image", "notebookread", "cat":
		return at(Read)
	case "write", "create", "write_file", "create_file", "write_to_file":
		did := at(Create)
		if text := a.Text("content", "contents", "file_text", "text"); text != "" {
			did[0].New, did[0].Added = Bound(text), LineCount(text)
		}
		return did
	case "edit", "replace", "edit_file", "str_replace", "search_replace", "notebookedit", "multiedit", "multi_edit",
		"insert":
		return edits(a, at(Edit))
	case "delete", "delete_file", "remove_file":
		return at(Delete)
	case "read_files": // Cline
		var did []Action
		for _, file := range a.List("files") {
			did = append(did, Action{Op: Read, Path: Clean(file.Text("path"), cwd), Exact: true})
		}
		if len(did) > 0 {
			return did
		}
	case "editor": // Cline: a file that is not there is made
		if a.Text("old_text") != "" || a.Text("insert_line") != "" {
			return edits(a, at(Edit))
		}
		did := at(Create)
		text := a.Text("new_text")
		did[0].New, did[0].Added = Bound(text), LineCount(text)
		return did
	case "str_replace_editor", "str_replace_based_edit_tool", "text_editor", "file_editor":
		return editor(a, at)
	case "patch", "apply_patch", "applypatch":
		return patched(a.Text("patchText", "patch_text", "patch", "input", "content"), cwd)
	case "powershell":
		return []Action{{Op: Run, Command: a.argv("command", "cmd", "input", "script"), Exact: true}}
	case "grep", "glob", "find", "ls", "list", "search", "rg", "codesearch", "list_dir", "list_directory",
		"search_files",
		"grep_search", "file_search", "search_dir", "search_file", "find_file", "toolsearch", "lsp":
		return []Action{{Op: Search, Query: a.Text("pattern", "query", "regex", "search_term", "name", "path"),
			Path: Clean(a.Text("path", "dir", "dir_path"), cwd), Exact: true}}
	case "webfetch", "web_fetch", "fetch", "fetch_url", "websearch", "web_search", "browser_navigate":
		return []Action{{Op: Fetch, Query: a.Text("url", "query", "q"), Exact: true}}
	case "todowrite", "todo_write", "todo", "update_plan", "todos", "taskcreate", "taskupdate", "manage_todo_list":
		return []Action{{Op: Plan, Exact: true}}
	case "skill", "load_skill", "use_skill":
		return []Action{{Op: Load, Query: a.Text("name", "skill", "command", "skill_name"), Exact: true}}
	case "task", "agent", "dispatch_agent", "subagent", "delegate", "spawn_agent":
		return []Action{{Op: Delegate, Query: a.Text("description", "title", "name", "task", "prompt", "message"),
			Exact: true}}
	case "question", "askuserquestion", "ask_user", "ask_followup_question", "request_user_input":
		return []Action{{Op: Ask, Query: question(a), Exact: true}}
	}
	return unknown(p, a, cwd)
}

// Name is the name of a tool as it is compared: in small letters, without what MCP servers put
// before it ("mcp__files__read_file" is "read_file").
func Name(tool string) string {
	tool = strings.ToLower(tool)
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+2:]
	}
	return tool
}

// unknown makes what can be made of a tool whose name says nothing: a command stays a command; of
// SWE-agent's editors without schema the words of the command line are in the Arguments.
func unknown(p *session.Part, a Arguments, cwd string) []Action {
	if strings.HasPrefix(strings.TrimSpace(a.Text("input", "patch")), "*** Begin Patch") {
		return patched(a.Text("input", "patch"), cwd)
	}
	did := Action{Op: Other, Query: a.Text("query", "url", "pattern", "description", "name", "prompt", "title"),
		Path: Clean(a.Text(pathNames...), cwd), Exact: true}
	if did.Path == "" && did.Query == "" {
		did.Query = Cut(strings.Join(strings.Fields(p.State.Title), " "), 120)
	}
	return []Action{did}
}

// edits counts what an edit put in place of what.
func edits(a Arguments, did []Action) []Action {
	d := &did[0]
	list := a.List("edits", "replacements")
	if len(list) == 0 {
		list = []Arguments{a}
	}
	for _, e := range list {
		before, after := e.Text("oldString", "old_string", "oldText", "old_str", "old_text", "search"),
			e.Text("newString", "new_string", "newText", "new_str", "new_text", "new_source", "replace", "content",
				"code_edit")
		added, removed := changed(before, after)
		d.Added, d.Removed = d.Added+added, d.Removed+removed
		if len(d.Old)+len(d.New) < Examined {
			d.Old, d.New = join(d.Old, Bound(before)), join(d.New, Bound(after))
		}
	}
	return did
}

// editor understands Anthropic's text editor, which SWE-agent took over.
func editor(a Arguments, at func(Op) []Action) []Action {
	switch a.Text("command") {
	case "view":
		return at(Read)
	case "create":
		did := at(Create)
		text := a.Text("file_text")
		did[0].New, did[0].Added = Bound(text), LineCount(text)
		return did
	case "undo_edit":
		return at(Edit)
	case "insert":
		did := at(Edit)
		text := a.Text("new_str", "insert_text")
		did[0].New, did[0].Added = Bound(text), LineCount(text)
		return did
	}
	return edits(a, at(Edit))
}

// question is what a tool asks the user.
func question(a Arguments) string {
	if text := a.Text("question", "prompt", "message"); text != "" {
		return text
	}
	for _, q := range a.List("questions") {
		if text := q.Text("question", "prompt", "header"); text != "" {
			return text
		}
	}
	return ""
}

// LineCount counts the lines of a text; the last one needs no newline.
func LineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// changed counts the lines that differ between two texts, what they share at head and tail taken
// off.
func changed(before, after string) (added, removed int) {
	if before == after {
		return 0, 0
	}
	old, fresh := split(before), split(after)
	for len(old) > 0 && len(fresh) > 0 && old[0] == fresh[0] {
		old, fresh = old[1:], fresh[1:]
	}
	for len(old) > 0 && len(fresh) > 0 && old[len(old)-1] == fresh[len(fresh)-1] {
		old, fresh = old[:len(old)-1], fresh[:len(fresh)-1]
	}
	return len(fresh), len(old)
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// Cut shortens a text to size bytes at the start of a character, with an ellipsis for what went.
func Cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && text[size]&0xC0 == 0x80 {
		size--
	}
	return text[:size] + "…"
}

// FetchesPage reports whether a tool gets a page, by its name; some products put the server's name
// before it: "browser_browser_navigate".
func FetchesPage(tool string) bool {
	name := Name(tool)
	for _, known := range []string{"webfetch", "web_fetch", "fetch", "fetch_url", "browser_navigate"} {
		if server, ok := strings.CutSuffix(name, known); ok && (server == "" || strings.HasSuffix(server, "_")) {
			return true
		}
	}
	return false
}

// SearchesWeb reports whether a tool asks a search engine, by its name.
func SearchesWeb(tool string) bool {
	tool = strings.ToLower(tool)
	return strings.Contains(tool, "search") &&
		ContainsAny(tool, "web", "google", "ddg", "duckduckgo", "brave", "bing", "tavily")
}

package call

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

//go:embed tools.txt
var toolsFile string

// table are the tools of tools.txt by name.
var table = parseTools(toolsFile)

// unknownTool is the entry of tools that are not in the table.
var unknownTool = parseTools("[other]\ntools: unknown\n" + toolsFile[:strings.Index(toolsFile, "\n[")])["unknown"]

// Form says how tools of one operation differ.
type Form string

const (
	inList   Form = "list"     // it takes a list of commands or files
	alien    Form = "foreign"  // its commands are of a shell that is not understood
	makes    Form = "makes"    // it makes a file that is not there
	Paged    Form = "paged"    // it shows so many lines of a file at once
	Bare     Form = "bare"     // it may show a file without numbers
	Commands Form = "commands" // it is an editor whose first argument says what is done
	Window   Form = "window"   // it shows a file in the window of SWE-agent's line editor
	Patch    Form = "patch"    // it takes patches
	Lists    Form = "lists"    // it lists files and does nothing else
	getsPage Form = "page"     // it gets a page by its address
	Whole    Form = "whole"    // it writes a todo list as a whole
	Reads    Form = "reads"    // it reads a todo list
	Adds     Form = "adds"     // it adds an item to a todo list
	Modifies Form = "changes"  // it changes an item of a todo list
	wraps    Form = "wraps"    // it calls another tool
)

// Tool is what the table of tools says of one.
type Tool struct {
	Op    Op // Other for one that is not in the table
	forms []Form
	names map[string][]string
}

// Is reports whether a tool has this form.
func (t *Tool) Is(form Form) bool { return slices.Contains(t.forms, form) }

// Names are the spellings of an argument, as the table names it.
func (t *Tool) Names(argument string) []string { return t.names[argument] }

// Text is the argument of a call of the tool, as a text.
func (t *Tool) Text(a Arguments, argument string) string { return a.Text(t.names[argument]...) }

// List is the argument of a call of the tool, as a list of objects.
func (t *Tool) List(a Arguments, argument string) []Arguments { return a.List(t.names[argument]...) }

// ToolOf is the entry of a tool, by its name in any spelling that [Name] understands.
func ToolOf(name string) *Tool {
	if t := table[Name(name)]; t != nil {
		return t
	}
	return unknownTool
}

// Name is the name of a tool as it is compared: in small letters, without what MCP servers and
// products put before it. "mcp__files__read_file" and "files.read_file" are "read_file". A prefix
// that only an underscore or a hyphen parts off is taken off the tools of todo lists, whose names
// nothing else has, and behind "mcp_".
func Name(tool string) string {
	name := strings.ToLower(tool)
	if table[name] != nil {
		return name
	}
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	if i := strings.LastIndexAny(name, "./:"); i >= 0 && table[name] == nil {
		name = name[i+1:]
	}
	if table[name] != nil {
		return name
	}
	for at, rest := 0, name; ; {
		if at = strings.IndexAny(rest, "_-"); at < 0 {
			return name
		}
		rest = rest[at+1:]
		if t := table[rest]; t != nil && (strings.HasPrefix(name, "mcp_") || t.Op == Plan && distinct(rest)) {
			return rest
		}
	}
}

// distinct reports whether a name says by itself that its tool keeps a todo list.
func distinct(name string) bool {
	return strings.Contains(name, "todo") && strings.ContainsAny(name, "_") || name == "todowrite" || name == "todoread"
}

// used is the tool that a call used, with its arguments: of one that calls another tool the other
// one. members is set where the arguments are the members of the call's input.
func used(p *session.Part) (t *Tool, a Arguments, members bool) {
	a, members = parse(p.State.Input)
	if t = ToolOf(p.Tool); !t.Is(wraps) {
		return t, a, members
	}
	for _, name := range t.Names("arguments") {
		if inner := a.Get(name); inner != nil {
			if text, ok := Unquote(inner); ok {
				inner = jsontext.Value(text)
			}
			return ToolOf(t.Text(a, "name")), Parse(inner), false
		}
	}
	return t, a, members
}

// IsShell reports whether a tool runs commands of a POSIX shell, as the agents in use call theirs.
func IsShell(tool string) bool {
	t := ToolOf(tool)
	return t.Op == Run && !t.Is(alien)
}

// FetchesPage reports whether a tool gets a page, by its name; some products put the server's name
// before it: "browser_browser_navigate".
func FetchesPage(tool string) bool {
	for name := Name(tool); ; {
		if t := table[name]; t != nil && t.Is(getsPage) {
			return true
		}
		_, rest, ok := strings.Cut(name, "_")
		if !ok {
			return false
		}
		name = rest
	}
}

// SearchesWeb reports whether a tool asks a search engine, by its name.
func SearchesWeb(tool string) bool {
	tool = strings.ToLower(tool)
	return strings.Contains(tool, "search") &&
		ContainsAny(tool, "web", "google", "ddg", "duckduckgo", "brave", "bing", "tavily")
}

// parseTools reads a table of tools as tools.txt describes it.
func parseTools(text string) map[string]*Tool {
	tools, common := map[string]*Tool{}, map[string][]string{}
	var section *Tool
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			section = &Tool{names: map[string][]string{}}
			words := strings.Fields(strings.Trim(line, "[]"))
			section.Op = Op(words[0])
			for _, word := range words[1:] {
				section.forms = append(section.forms, Form(word))
			}
			for argument, names := range common {
				section.names[argument] = names
			}
			continue
		}
		key, rest, _ := strings.Cut(line, ":")
		var names []string
		for name := range strings.SplitSeq(rest, ",") {
			names = append(names, strings.TrimSpace(name))
		}
		switch {
		case key == "tools":
			for _, name := range names {
				tools[name] = section
			}
		case section == nil:
			common[key] = names
		default:
			section.names[key] = names
		}
	}
	return tools
}

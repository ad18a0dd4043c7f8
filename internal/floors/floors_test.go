// Package floors checks that the house stands as it is drawn. A package imports packages on
// lower floors, never higher ones; siblings only where it is said here why.
package floors

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/internal/outside"
)

const module = "github.com/winnowhq/winnow"

// floors, from the ground up. A name ending in /* stands for the packages one level below it.
var floors = [][]string{
	{"session", "token", "token/*", "model", "shell", "call", "quantity", "plainfile", "visible", "secret", "span", "wordlist", "process", "job", "trace"},
	{"rule", "budget", "bill", "recall", "pivot/fact", "coverage", "wire", "wire/*", "rule/letter"},
	{"view", "pivot", "schedule", "store", "format", "llm", "tenant"},
	{"policy", "summarize/*", "llm/*", "store/*", "tenant/book", "store/internal/exact", "store/internal/packed", "store/internal/words", "store/internal/kin", "job/*", "format/*", "format/internal/transcript", "format/internal/jsonl", "format/internal/gemini", "settings", "report", "edit"},
	{"", "lab", "advise"}, // the root: the engine, and the lab beside it: both run the planner
	{"config", "display", "tui", "page", "discover", "skim", "selfprune", "snapshot", "inplace", "hook", "seat", "agent", "agent/*", "rpc", "transport", "retrieve", "quality"},
	{"chat/internal/draw", "chat/internal/editor", "chat/internal/panel", "chat/internal/transcript"}, // the rooms of the chat
	{"chat", "chat/demo", "serve", "live", "mcp"},
	{"cmd/winnow/internal/draft"},
	{"cmd/winnow/internal/cli"},
	{"cmd/winnow/internal/source"},
	{"cmd/winnow/internal/output"},
	{"cmd/winnow/internal/change", "cmd/winnow/internal/importing", "cmd/winnow/internal/survey", "cmd/winnow/internal/simulation", "cmd/winnow/internal/workbench", "cmd/winnow/internal/gateway"},
	{"cmd/winnow/internal/shaping"},
	{"cmd/winnow"},
}

// siblings are the imports on one floor that are meant, with the reason.
var siblings = map[string]string{
	"advise lab":                          "replays, and what later steps quoted",
	"edit report":                         "what it is decided from",
	"settings policy":                     "which one is made of them",
	"report policy":                       "what the rules would find now",
	"rule/letter rule":                    "the types of a rule",
	"chat/internal/* chat/internal/draw":  "lines for the terminal",
	"format/* format/internal/transcript": "what the records of runs share",
	"format/* format/internal/jsonl":      "what sessions of a line a message share",
	"format/* format/internal/gemini":     "what contents of the Gemini API share",
	"rule coverage":                       "what newer parts show again",
	"call session":                        "what it understands",
	"call shell":                          "the commands of a text",
	"token/* token":                       "kinds of counters",
	"wire/* wire":                         "what the protocols share",
	"wire/responses wire/openaichat":      "the two share the shape of arguments",
	"agent/tools retrieve":                "what was left out, by its handle",
	"agent/* agent":                       "its tools are the loop's",
	"agent/tools agent/permission":        "what a call may do",
	"agent/tools selfprune":               "the model prunes its own context",
	"pivot view":                          "where to cut is decided on what is shown",
	"store pivot":                         "receipts are kept",
	"store/* store":                       "implementations",
	"store/* store/internal/exact":        "bytes as they were",
	"format/all format/*":                 "the list of all",
	"format/* format/body":                "what plain request bodies share",
	"format/opencodedb format/opencode":   "a database holds what an export prints",
	"llm/* llm/upstream":                  "the connection that all of them have",
	"llm/providers llm/*":                 "by name",
	"tui display":                         "what the page shows too",
	"page display":                        "what the terminal shows too",
	"store/* store/internal/words":        "words as they are looked for",
	"store/* store/internal/kin":          "sessions whose parents SQL does not read",

	"store/* store/internal/packed":              "large texts apart",
	"store/internal/packed store/internal/exact": "how what is left of a part is encoded",

	"format/opencodeserver format/opencode": "a server answers with what an export prints",

	"format/internal/transcript format/internal/jsonl": "times as the products write them",
	"format/internal/gemini format/internal/jsonl":     "arguments on one line",
}

// tools are programs and tests' own packages: they may import anything, nothing imports them but
// tests.
var tools = []string{"internal/", "rule/ruletest", "interop", "examples/", "chat/internal/drawtest"}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestFloors_importsGoDown(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := short(p.ImportPath)
		if tool(name) {
			continue
		}
		at := floor(name)
		if at < 0 {
			t.Errorf("%s stands on no floor: give it one in this test and in docs/design.md", name)
			continue
		}
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported, module) {
				continue
			}
			below := short(imported)
			switch on := floor(below); {
			case tool(below):
				t.Errorf("%s imports %s, which is for tests and tools", name, below)
			case on > at:
				t.Errorf("%s (floor %d) imports %s (floor %d): imports go down", name, at+1, below, on+1)
			case on == at && !meant(name, below):
				t.Errorf("%s imports its sibling %s: say why in this test, or do without", name, below)
			}
		}
	}
}

// docs/design.md says of each package which question it answers; of those that stand beside others
// of their kind, of the kind.
func TestFloors_everyPackageIsInTheBook(t *testing.T) {
	book, err := os.ReadFile(filepath.Join(outside.Root(t), "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, packages := range floors {
		for _, name := range packages {
			if name == "" || strings.HasPrefix(name, "cmd/") || strings.HasSuffix(name, "/*") || strings.Contains(name, "/internal/") {
				continue
			}
			if !strings.Contains(string(book), "\n| `"+name+"` |") {
				t.Errorf("docs/design.md does not say what %s does", name)
			}
		}
	}
}

// The library pulls in no command line, no terminal, no provider's SDK, no vocabulary and no
// database.
func TestFloors_theLibraryStaysLight(t *testing.T) {
	heavy := []string{"spf13", "charm.land", "anthropic-sdk-go", "openai-go", "google.golang.org", "tiktoken", "modernc.org", "goose", "database/sql", "net/http"}
	for _, p := range list(t, module) {
		for _, dep := range p.Deps {
			for _, h := range heavy {
				if strings.Contains(dep, h) {
					t.Errorf("the root package depends on %s", dep)
				}
			}
		}
	}
}

func list(t *testing.T, pattern string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", pattern)
	cmd.Dir = outside.Root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := jsontext.NewDecoder(bytes.NewReader(out)); dec.PeekKind() == '{'; {
		var p pkg
		if err := json.UnmarshalDecode(dec, &p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		t.Fatal("go list found no package")
	}
	return all
}

func short(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

func tool(name string) bool {
	return slices.ContainsFunc(tools, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func floor(name string) int {
	for i, packages := range floors {
		if slices.Contains(packages, name) {
			return i
		}
	}
	for i, packages := range floors {
		if strings.Contains(name, "/") && slices.Contains(packages, path.Dir(name)+"/*") {
			return i
		}
	}
	return -1
}

func meant(name, below string) bool {
	for _, a := range []string{name, path.Dir(name) + "/*"} {
		for _, b := range []string{below, path.Dir(below) + "/*"} {
			if _, ok := siblings[a+" "+b]; ok {
				return true
			}
		}
	}
	return false
}

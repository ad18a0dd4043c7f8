// Package floors checks that the house stands as it is drawn: wings import those below them.
package floors

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/internal/outside"
)

const module = "github.com/winnowhq/winnow"

// wings, from the ground up. A package imports packages of its own wing, and of wings before it.
var wings = []string{
	"text", "session", "model", "token", "wire", "plan", "format", "store", "llm", "summarize",
	"", // the root: the engine
	"lab", "look", "desk", "rpc", "agent", "gateway", "team", "cmd",
}

// tools are programs and tests' own packages: they may import anything, nothing imports them but
// tests.
var tools = []string{"internal/", "plan/rule/ruletest", "examples/", "agent/chat/internal/drawtest"}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestWings_importGoesDown(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := short(p.ImportPath)
		if tool(name) {
			continue
		}
		at := wing(name)
		if at < 0 {
			t.Errorf("%s is in no wing: give it a place in one, see docs/design.md", name)
			continue
		}
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported, module) {
				continue
			}
			below := short(imported)
			switch {
			case tool(below):
				t.Errorf("%s imports %s, which is for tests and tools", name, below)
			case wing(below) > at:
				t.Errorf("%s imports %s: wings import those below them, and %s is above", name, below, wings[wing(below)])
			}
		}
	}
}

// The doc.go of a wing lists its rooms, each once.
func TestWings_listTheirRooms(t *testing.T) {
	rooms := map[string][]string{}
	for _, p := range list(t, "./...") {
		w, room, _ := strings.Cut(short(p.ImportPath), "/")
		if room, _, _ = strings.Cut(room, "/"); room == "internal" || w == "cmd" || tool(short(p.ImportPath)) {
			continue
		}
		if rooms[w] = append(rooms[w], room); !slices.Contains(wings, w) {
			t.Errorf("%s is no wing", w)
		}
	}
	for w, inside := range rooms {
		if w == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(outside.Root(t), w, "doc.go"))
		if err != nil {
			t.Error(err)
		}
		slices.Sort(inside)
		for _, room := range slices.Compact(inside) {
			if room != "" && !regexp.MustCompile(`(?m)^//.*\b`+room+`\b`).Match(text) {
				t.Errorf("%s/doc.go does not list %s", w, room)
			}
		}
		if !strings.Contains(string(text), "\n// Begin with ") {
			t.Errorf("%s/doc.go does not say where to begin", w)
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

// A person's program links nothing that only a team's server needs, and stays small.
func TestPrograms_winnowLinksNothingOfATeam(t *testing.T) {
	deps := func(program string) []string {
		p := list(t, "./cmd/"+program)
		return p[0].Deps
	}
	for _, dep := range deps("winnow") {
		for _, word := range []string{"jackc/pgx", "riverqueue", "prometheus", "go-oidc", "winnow/team", "store/postgres"} {
			if strings.Contains(dep, word) {
				t.Errorf("cmd/winnow depends on %s, which is for cmd/winnowd", dep)
			}
		}
	}
	n := 1
	for _, dep := range deps("winnow") { // the standard library's vary with the version of Go
		if first, _, _ := strings.Cut(dep, "/"); strings.Contains(first, ".") {
			n++
		}
	}
	if n > 254 {
		t.Errorf("cmd/winnow has %d packages besides the standard library's, 254 are the most", n)
	}
	if !slices.Contains(deps("winnowd"), module+"/team") {
		t.Error("cmd/winnowd is no team's server")
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

// wing is the place of a package's wing, -1 if it is in none.
func wing(name string) int {
	w, _, _ := strings.Cut(name, "/")
	return slices.Index(wings, w)
}

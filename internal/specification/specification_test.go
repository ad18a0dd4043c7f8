// Package specification holds the list of what was specified, point by point, against the code.
package specification

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

var update = flag.Bool("update", false, "write docs/specification.md and points.md from points.tsv")

// Verdicts.
const (
	asSpecified = "as specified"
	different   = "different"
)

// points are how many each document has.
var points = map[string]int{"S000": 33, "S001": 62, "S002": 53, "S003": 40, "S004": 29}

// point is a line of points.tsv: one thing that a document asks for.
type point struct {
	id      string   // S001-06: the document, and the point in it
	asks    string   // in our words
	where   []string // pkg.Name, pkg.Type.Member, a package, or a file
	held    []string // pkg.TestName, or a script of a test
	verdict string
	note    string // why it is different; otherwise what is worth knowing
}

// read returns the table.
func read(t *testing.T) (all []point) {
	t.Helper()
	data, err := os.ReadFile("points.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != 6 {
			t.Fatalf("points.tsv:%d has %d cells, want 6", i+2, len(cells))
		}
		all = append(all, point{cells[0], cells[1], strings.Fields(cells[2]), strings.Fields(cells[3]), cells[4], cells[5]})
	}
	return all
}

// Every point of every document is there once, in order, with a verdict; what is different has its
// reason in one sentence.
func TestPoints_areComplete(t *testing.T) {
	var want []string
	for _, seed := range slices.Sorted(maps.Keys(points)) {
		for i := range points[seed] {
			want = append(want, fmt.Sprintf("%s-%02d", seed, i+1))
		}
	}
	var got []string
	for _, p := range read(t) {
		got = append(got, p.id)
		switch {
		case p.asks == "" || len(p.where) == 0 || len(p.held) == 0:
			t.Errorf("%s has an empty cell", p.id)
		case p.verdict != asSpecified && p.verdict != different:
			t.Errorf("%s: the verdict is %q", p.id, p.verdict)
		case p.verdict == different && !strings.HasSuffix(p.note, "."):
			t.Errorf("%s is different, and its reason is no sentence: %q", p.id, p.note)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the points are\n%v\nwant\n%v", got, want)
	}
}

// What the table names is there: packages, files, identifiers and tests.
func TestPoints_nameWhatIsThere(t *testing.T) {
	h := house{root: outside.Root(t), packages: map[string]*names{}}
	for _, p := range read(t) {
		for _, name := range p.where {
			if !h.has(t, name, false) {
				t.Errorf("%s is said to be in %s, which is not there", p.id, name)
			}
		}
		for _, name := range p.held {
			if !h.has(t, name, true) {
				t.Errorf("%s is said to be held by %s, which is not there", p.id, name)
			}
		}
	}
}

// house is what the packages declare, read when it is asked for.
type house struct {
	root     string
	packages map[string]*names // by folder
}

// names are those that a package declares, in its code and in its tests: X, and X.Y for the fields
// and methods of a type X.
type names struct{ code, tests map[string]bool }

// has reports whether there is what a name stands for.
func (h house) has(t *testing.T, name string, test bool) bool {
	t.Helper()
	if h.found(name) != "" {
		return test == strings.HasSuffix(name, ".txtar")
	}
	folder, below := path.Split(name)
	pkg, member, ok := strings.Cut(below, ".")
	if folder += pkg; folder == "winnow" { // the root
		folder = "."
	} else {
		folder = h.found(folder)
	}
	if h.packages[folder] == nil {
		h.packages[folder] = h.parse(t, folder)
	}
	if n := h.packages[folder]; !test {
		return ok && n.code[member]
	} else {
		return ok && n.tests[member] && (strings.HasPrefix(member, "Test") || strings.HasPrefix(member, "Example") ||
			strings.HasPrefix(member, "Fuzz"))
	}
}

// found is where a file or folder is, which is named without its wing; "" if it is nowhere.
func (h house) found(name string) string {
	for _, at := range []string{name, path.Join("*", name), path.Join("*", "*", name)} {
		all, _ := filepath.Glob(filepath.Join(h.root, at))
		all = slices.DeleteFunc(all, func(found string) bool { return strings.HasPrefix(found, filepath.Join(h.root, ".git")) })
		if len(all) == 1 {
			found, _ := filepath.Rel(h.root, all[0])
			return found
		}
	}
	return ""
}

func (h house) parse(t *testing.T, folder string) *names {
	t.Helper()
	n := &names{map[string]bool{}, map[string]bool{}}
	files, err := filepath.Glob(filepath.Join(h.root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		into := n.code
		if strings.HasSuffix(file, "_test.go") {
			into = n.tests
		}
		for _, d := range f.Decls {
			declared(d, into)
		}
	}
	return n
}

// declared notes what a declaration declares.
func declared(d ast.Decl, into map[string]bool) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			of := d.Recv.List[0].Type
			if pointer, ok := of.(*ast.StarExpr); ok {
				of = pointer.X
			}
			if ident, ok := of.(*ast.Ident); ok {
				name = ident.Name + "." + name
			}
		}
		into[name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, ident := range s.Names {
					into[ident.Name] = true
				}
			case *ast.TypeSpec:
				into[s.Name.Name] = true
				for _, field := range fields(s.Type) {
					into[s.Name.Name+"."+field] = true
				}
			}
		}
	}
}

// fields are the names of the fields of a struct and of the methods of an interface.
func fields(of ast.Expr) (all []string) {
	var list *ast.FieldList
	switch of := of.(type) {
	case *ast.StructType:
		list = of.Fields
	case *ast.InterfaceType:
		list = of.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		for _, ident := range f.Names {
			all = append(all, ident.Name)
		}
	}
	return all
}

// titles say what the documents are about.
var titles = map[string]string{
	"S000": "the pruning algorithm", "S001": "the compaction subsystem", "S002": "aggressive pruning, ten strategies",
	"S003": "the portable design", "S004": "research notes on two agents",
}

// begins is the line of a document behind which it is made from the table.
const begins = "<!-- made from internal/specification/points.tsv -->\n"

// docs/specification.md has what is different, and points.md the table, for people.
func TestPoints_areInTheDocuments(t *testing.T) {
	all := read(t)
	for file, want := range map[string]string{
		filepath.Join(outside.Root(t), "docs", "specification.md"): differences(all),
		"points.md": table(all),
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, had, ok := strings.Cut(string(data), begins)
		if !ok {
			t.Fatalf("%s has no line %s", file, begins)
		}
		switch {
		case *update:
			if err := os.WriteFile(file, []byte(head+begins+want), 0o644); err != nil {
				t.Fatal(err)
			}
		case had != want:
			t.Errorf("%s is not what points.tsv says (go test ./internal/specification -update)", file)
		}
	}
}

// differences writes what is different, and how many points each document has.
func differences(all []point) string {
	var b strings.Builder
	var others []point
	as := map[string]int{}
	for _, p := range all {
		if p.verdict == different {
			others = append(others, p)
		} else {
			as[p.id[:4]]++
		}
	}
	b.WriteString("\n| document | subject | points | as specified |\n|---|---|---|---|\n")
	for _, seed := range slices.Sorted(maps.Keys(points)) {
		fmt.Fprintf(&b, "| %s | %s | %d | %d |\n", seed, titles[seed], points[seed], as[seed])
	}
	fmt.Fprintf(&b, "\n## What is different\n\n%d of %d points.\n\n", len(others), len(all))
	b.WriteString("| point | what is specified | what Winnow does, and why |\n|---|---|---|\n")
	for _, p := range others {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.id, p.asks, p.note)
	}
	return b.String()
}

// table writes every point, with the code and the tests that it is held by.
func table(all []point) string {
	var b strings.Builder
	for _, seed := range slices.Sorted(maps.Keys(points)) {
		fmt.Fprintf(&b, "\n## %s: %s\n\n", seed, titles[seed])
		b.WriteString("| point | what is specified | code | tests | verdict |\n|---|---|---|---|---|\n")
		for _, p := range all {
			if !strings.HasPrefix(p.id, seed) {
				continue
			}
			verdict := p.verdict
			if p.note != "" && verdict == asSpecified {
				verdict += ": " + p.note
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", p.id, p.asks, code(p.where), code(p.held), verdict)
		}
	}
	return b.String()
}

// code writes names as code.
func code(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

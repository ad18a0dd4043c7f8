package floors

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/internal/outside"
)

// Of the files of the root package none calls back one that calls it, so that they can be read in
// one order.
func TestFiles_ofTheRootCallInOneDirection(t *testing.T) {
	_, calls := root(t)
	for len(calls) > 0 {
		var done []string
		for file, called := range calls {
			if len(called) == 0 {
				done = append(done, file)
			}
		}
		if len(done) == 0 {
			t.Fatalf("these files call one another in a circle: %v", calls)
		}
		slices.Sort(done)
		t.Log(strings.Join(done, " "))
		for _, file := range done {
			delete(calls, file)
			for _, called := range calls {
				delete(called, file)
			}
		}
	}
}

// root is the root package, and of each of its files which others it calls, with a function that is
// called.
func root(t *testing.T) (*types.Package, map[string]map[string]string) {
	t.Helper()
	fset := token.NewFileSet()
	calls := map[string]map[string]string{}
	var files []*ast.File
	names, err := filepath.Glob(filepath.Join(outside.Root(t), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		calls[filepath.Base(name)] = map[string]string{}
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", exported(t))}
	pkg, err := conf.Check(module, fset, files, &info)
	if err != nil {
		t.Fatal(err)
	}
	for used, object := range info.Uses {
		called, ok := object.(*types.Func)
		if !ok || called.Pkg() != pkg {
			continue
		}
		from, to := filepath.Base(fset.Position(used.Pos()).Filename), filepath.Base(fset.Position(called.Pos()).Filename)
		if from != to {
			calls[from][to] = called.Name()
		}
	}
	return pkg, calls
}

// exported gives what the compiler knows of the packages that the root imports.
func exported(t *testing.T) func(path string) (io.ReadCloser, error) {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", module)
	cmd.Dir = outside.Root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	at := map[string]string{}
	for dec := jsontext.NewDecoder(bytes.NewReader(out)); dec.PeekKind() == '{'; {
		var p struct{ ImportPath, Export string }
		if err := json.UnmarshalDecode(dec, &p); err != nil {
			t.Fatal(err)
		}
		at[p.ImportPath] = p.Export
	}
	if len(at) == 0 {
		t.Fatal("go list found no package")
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(at[path]) }
}

// The root package stays small enough to be held in one's head: few files, few exported names.
func TestFiles_theRootStaysSmall(t *testing.T) {
	pkg, calls := root(t)
	if n := len(calls); n > 15 {
		t.Errorf("the root has %d files, and 15 are the most: %v", n, slices.Sorted(maps.Keys(calls)))
	}
	names, methods := 0, 0
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		names++
		named, ok := object.Type().(*types.Named)
		if _, isType := object.(*types.TypeName); !ok || !isType {
			continue
		}
		for method := range named.Methods() {
			if method.Exported() {
				names++
				if name == "Engine" {
					methods++
				}
			}
		}
	}
	if names > 80 || methods > 25 {
		t.Errorf("the root has %d exported names, 80 are the most; Engine has %d methods, 25 are the most", names, methods)
	}
}

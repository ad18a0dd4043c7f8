// Command size prints how large the program is, one figure a line: `make size`. With -wide it lists
// the lines that are too wide instead, with -large the files and structs that are too large.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// wings are the folders of what exists for tests alone.
var wings = []string{"internal/"}

// Columns that a line may have, a tab counted as four.
const (
	widestCode    = 120
	widestComment = 100
)

// counts are what is counted in the files.
type counts struct {
	program, wings, tests int      // lines
	code, comments        []string // lines of the program and of the wings that are too wide, by file and number
}

func main() {
	log.SetFlags(0)
	wide := flag.Bool("wide", false, "list the lines that are too wide")
	large := flag.Bool("large", false, "list the files and structs that are too large")
	flag.Parse()
	n, err := count(".")
	if err != nil {
		log.Fatal(err)
	}
	if *wide {
		fmt.Println(strings.Join(slices.Concat(n.code, n.comments), "\n"))
		return
	}
	house := shapeOf(".")
	if *large {
		fmt.Println(strings.Join(slices.Concat(house.files, house.structs), "\n"))
		return
	}
	direct, indirect := modules()
	say("lines of Go without tests, the program", n.program)
	say("lines of Go without tests, test wings", n.wings)
	say("lines of Go without tests, both", n.program+n.wings)
	say("lines of Go tests", n.tests)
	say(fmt.Sprintf("code lines above %d columns", widestCode), len(n.code))
	say(fmt.Sprintf("comment lines above %d columns", widestComment), len(n.comments))
	say("packages", lines(run("go", "list", "./...")))
	say("exported names of the root package", exported("."))
	say("direct dependencies", direct)
	say("indirect dependencies", indirect)
	say("folders at the top", folders("."))
	say(fmt.Sprintf("files above %d lines, without tests", longest), len(house.files))
	say(fmt.Sprintf("structs above %d fields, without tests", widest), len(house.structs))
	for _, program := range []string{"winnow", "winnowd"} {
		say("packages in "+program+", the standard library included", lines(run("go", "list", "-deps", "./cmd/"+program)))
		say("bytes of "+program+", stripped", binary(program))
	}
}

func say(what string, n int) { fmt.Printf("%-58s %12d\n", what, n) }

// count reads all Go files below a folder.
func count(root string) (n counts, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		switch total := bytes.Count(text, []byte{'\n'}); {
		case strings.HasSuffix(path, "_test.go"):
			n.tests += total
			return nil
		case slices.ContainsFunc(wings, func(wing string) bool { return strings.HasPrefix(path, wing) }):
			n.wings += total
		default:
			n.program += total
		}
		at := 0
		for line := range strings.Lines(string(text)) {
			at++
			line = strings.TrimSuffix(line, "\n")
			width := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			place := fmt.Sprintf("%s:%d: %d columns", path, at, width)
			if comment := strings.HasPrefix(strings.TrimSpace(line), "//"); comment && width > widestComment {
				n.comments = append(n.comments, place)
			} else if !comment && width > widestCode {
				n.code = append(n.code, place)
			}
		}
		return nil
	})
	return n, err
}

// exported counts the exported names that a package declares, without methods and fields.
func exported(folder string) (n int) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			log.Fatal(err)
		}
		ast.FileExports(file)
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					n++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						n++
					case *ast.ValueSpec:
						n += len(spec.Names)
					}
				}
			}
		}
	}
	return n
}

// modules counts the required modules.
func modules() (direct, indirect int) {
	var mod struct{ Require []struct{ Indirect bool } }
	if err := json.Unmarshal(run("go", "mod", "edit", "-json"), &mod); err != nil {
		log.Fatal(err)
	}
	for _, r := range mod.Require {
		if r.Indirect {
			indirect++
		} else {
			direct++
		}
	}
	return direct, indirect
}

// binary builds a program and returns its size.
func binary(program string) int {
	folder, err := os.MkdirTemp("", "winnow-size-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "winnow")
	run("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/"+program)
	info, err := os.Stat(file)
	if err != nil {
		log.Fatal(err)
	}
	return int(info.Size())
}

func lines(out []byte) int { return bytes.Count(out, []byte{'\n'}) }

func run(name string, args ...string) []byte {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		log.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return out
}

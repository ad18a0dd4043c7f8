// Table prints what the tests of package interop tried with which version of which product. It
// reads folders that internal/interop/run.sh leaves:
//
//	go run ./internal/interop/table FOLDER…
//
// Each has a file `versions` (the name of a command and its version, a line each; the name alone of
// what is not installed) and a file `tests.json`, which `go test -json` wrote. A test names product
// and operations as attributes. It exits 1 when a test failed or nothing was tried.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func main() {
	ok, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

// set is what was tried with one set of products.
type set struct {
	versions [][2]string // of the products: command and version
	tests    []*test
	output   string // of what failed without being a test
	passed   bool   // as a whole: a run that never began has no test that failed
}

// test is one test. What those inside it print is output of the outermost.
type test struct {
	name                 string
	products, operations []string
	result               string // "pass", "fail" or "skip"; "" when it did not end
	output               strings.Builder
}

// holds reports whether another test is inside this one, or is this one.
func (t *test) holds(other *test) bool {
	return t == other || strings.HasPrefix(other.name, t.name+"/")
}

// event is a line of `go test -json`.
type event struct{ Action, Test, Key, Value, Output string }

func run(folders []string, to io.Writer) (ok bool, err error) {
	if len(folders) == 0 {
		return false, errors.New("name the folders that internal/interop/run.sh left")
	}
	ok = true
	var sets []*set
	var operations []string
	var failures strings.Builder
	for _, folder := range folders {
		s, err := read(folder)
		if err != nil {
			return false, err
		}
		for _, t := range s.tests {
			for _, o := range t.operations {
				if !slices.Contains(operations, o) {
					operations = append(operations, o)
				}
			}
			if t.result != "pass" && t.result != "skip" && !strings.Contains(t.name, "/") {
				fmt.Fprintf(&failures, "\n%s: %s\n%s", filepath.Base(folder), t.name, t.output.String())
			}
		}
		if !s.passed {
			ok = false
			failures.WriteString(s.output)
		}
		sets = append(sets, s)
	}
	slices.Sort(operations)
	var rows [][]string
	for _, s := range sets {
		for _, v := range s.versions {
			row := []string{v[0], v[1]}
			for _, o := range operations {
				row = append(row, s.tried(v[0], o))
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 || len(operations) == 0 {
		return false, errors.New("nothing was tried\n" + failures.String())
	}
	head := append([]string{"product", "version"}, operations...)
	fmt.Fprintf(to, "\n| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		fmt.Fprintf(to, "| %s |\n", strings.Join(row, " | "))
	}
	_, err = io.WriteString(to, failures.String())
	return ok, err
}

// tried says how an operation went with a product: "ok" when every test of it passed, "FAILED" when
// one did not, "-" when there is none. A test may name its product in a test inside it, or around
// it.
func (s *set) tried(product, operation string) string {
	result := "-"
	for _, t := range s.tests {
		of := func(other *test) bool {
			return slices.Contains(other.products, product) && (other.holds(t) || t.holds(other))
		}
		if !slices.Contains(t.operations, operation) || !slices.ContainsFunc(s.tests, of) {
			continue
		}
		switch t.result {
		case "skip":
		case "pass":
			if result == "-" {
				result = "ok"
			}
		default:
			result = "FAILED"
		}
	}
	return result
}

func read(folder string) (*set, error) {
	s := &set{}
	versions, err := os.ReadFile(filepath.Join(folder, "versions"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(versions)) {
		if command, version, _ := strings.Cut(strings.TrimSpace(line), " "); command != "" {
			s.versions = append(s.versions, [2]string{command, cmp.Or(version, "not installed")})
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "tests.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: the tests were not run: %w", folder, err)
	} else if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var e event
		if err := json.Unmarshal(line, &e, jsontext.AllowInvalidUTF8(true)); err != nil {
			s.output += string(line) // what go itself says, of a package that does not build
			continue
		}
		s.add(e)
	}
	return s, nil
}

func (s *set) add(e event) {
	if e.Test == "" {
		s.passed = s.passed || e.Action == "pass"
		if e.Action == "build-output" {
			s.output += e.Output
		}
		return
	}
	switch e.Action {
	case "attr":
		t := s.named(e.Test)
		for key, list := range map[string]*[]string{"product": &t.products, "operation": &t.operations} {
			if e.Key == key && !slices.Contains(*list, e.Value) {
				*list = append(*list, e.Value)
			}
		}
	case "output":
		outermost, _, _ := strings.Cut(e.Test, "/")
		s.named(outermost).output.WriteString(e.Output)
	case "pass", "fail", "skip":
		s.named(e.Test).result = e.Action
	}
}

func (s *set) named(name string) *test {
	i := slices.IndexFunc(s.tests, func(t *test) bool { return t.name == name })
	if i < 0 {
		s.tests, i = append(s.tests, &test{name: name}), len(s.tests)
	}
	return s.tests[i]
}

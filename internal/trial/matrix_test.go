package trial

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fmt"

	"github.com/winnowhq/winnow/internal/llmtest"
)

// The list of what is tried: an author who adds a stage or a fault and leaves it out of the suite is told
// so.
func TestMatrix_hasEveryStageAndEveryFaultThereIs(t *testing.T) {
	var stages, faults, upstream []string
	for _, s := range Stages() {
		stages = append(stages, string(s))
	}
	for _, f := range append(Faults(), Good) {
		faults = append(faults, string(f))
	}
	for _, f := range llmtest.Faults() {
		upstream = append(upstream, string(f))
	}
	for _, c := range []struct {
		file, kind string
		listed     []string
	}{{"stage.go", "Stage", stages}, {"trial.go", "Fault", faults}, {"../llmtest/fault.go", "Fault", upstream}} {
		declared := constants(t, c.file, c.kind)
		if slices.Sort(c.listed); len(declared) < 14 || !slices.Equal(declared, c.listed) {
			t.Errorf("%s declares %q, tried are %q", c.file, declared, c.listed)
		}
	}
	for _, f := range Faults() {
		if !slices.Contains(llmtest.Faults(), f.upstream()) {
			t.Errorf("no upstream does %s", f)
		}
	}
}

// constants are the values of the constants of a type.
func constants(t *testing.T, file, kind string) (values []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if of, ok := spec.Type.(*ast.Ident); ok && of.Name == kind {
				for _, v := range spec.Values {
					if literal, ok := v.(*ast.BasicLit); ok {
						value, _ := strconv.Unquote(literal.Value)
						values = append(values, value)
					}
				}
			}
		}
		return true
	})
	slices.Sort(values)
	return values
}

// told keeps what a test would be told.
type told []string

func (s *told) Errorf(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

func TestMatrix_saysWhatWasLeftOut(t *testing.T) {
	m := matrix{met: map[[2]string]int{}, want: map[[2]string]int{}}
	for _, f := range []Fault{Empty, Hang} {
		m.wants(Plain, f)
		m.meets(Plain, f)
	}
	m.wants(Merge, Empty)
	var said told
	m.check(&said, []Stage{Plain, Merge}, []Fault{Empty, Hang})
	if len(said) != 2 || !strings.Contains(said[0], string(Empty)+" was met at "+string(Merge)+" in 0 of 1") || !strings.Contains(said[1], string(Hang)) {
		t.Errorf("it says %q", said)
	}
}

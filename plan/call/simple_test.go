package call

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSimple_isOneProgramAndItsArguments(t *testing.T) {
	for _, c := range []struct {
		command string
		want    []string // nil where it is not simple
	}{
		{"ls", []string{"ls"}},
		{"  ls   -la\tsrc ", []string{"ls", "-la", "src"}},
		{`find . -name '*.go'`, []string{"find", ".", "-name", "*.go"}},
		{`find . -name "a b" \( -type f \)`, []string{"find", ".", "-name", "a b", "(", "-type", "f", ")"}},
		{"ls src/*.go src/{a,b}", []string{"ls", "src/*.go", "src/{a,b}"}},
		{"ls a2>/dev/null", nil},
		{"ls 2>/dev/null", []string{"ls"}},
		{"ls 2>&1 -a", []string{"ls", "-a"}},
		{"ls 2>errors.txt", nil},
		{"ls 2>/dev/nullx", nil},
		{`ls "a;b" 'c|d'`, []string{"ls", "a;b", "c|d"}},
		{"ls; pwd", nil},
		{"ls && pwd", nil},
		{"ls || pwd", nil},
		{"ls | head", nil},
		{"ls &", nil},
		{"ls > files", nil},
		{"ls < files", nil},
		{"ls\npwd", nil},
		{"ls $(pwd)", nil},
		{"ls `pwd`", nil},
		{"ls $HOME", nil},
		{`ls "$HOME"`, nil},
		{`ls "a\"; rm b"`, []string{"ls", `a"; rm b`}},
		{"(ls)", nil},
		{"{ ls; }", nil},
		{"! ls", nil},
		{"ls # all", []string{"ls"}},
		{"ls\r", nil},
		{`ls "open`, nil},
		{"ls 'open", nil},
		{`ls \`, nil},
		{"", nil},
	} {
		got, ok := Simple(c.command)
		if ok != (c.want != nil) {
			t.Errorf("%q is simple: %v, want %v", c.command, ok, c.want != nil)
		} else if diff := cmp.Diff(c.want, got); ok && diff != "" {
			t.Errorf("%q has other words (-want +got):\n%s", c.command, diff)
		}
	}
}

package advise

import (
	"math"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/session"
)

// Reading a prompt of 1,000 tokens from the cache of toy costs $100, whatever else a request does.
func TestFindSerial(t *testing.T) {
	first := read("/work/app/a.go", "package a")
	for name, tt := range map[string]struct {
		between func(*made)
		first   session.Part
		parts   []session.Part
		steps   int
	}{
		"another file":              {nil, first, []session.Part{read("/work/app/b.go", "package b")}, 1},
		"with words":                {nil, first, []session.Part{say("And b."), read("/work/app/b.go", "package b")}, 1},
		"a command that only looks": {nil, first, []session.Part{bash("cat b.go", "package b")}, 1},
		"a word that was shown": {nil, read("/work/app/a.go", "import b.go"),
			[]session.Part{read("/work/app/b.go", "package b")}, 0},
		"the same file on": {nil, first, []session.Part{read("/work/app/a.go", "func main")}, 0},
		"the same file, searched before": {nil, bash("grep -n main a.go", "7: func main"),
			[]session.Part{read("/work/app/a.go", "package a")}, 0},
		"a command that writes":     {nil, first, []session.Part{bash("touch b.go", "")}, 0},
		"a look and something else": {nil, first, []session.Part{read("/work/app/b.go", "b"), bash("touch c.go", "")}, 0},
		"words alone":               {nil, first, []session.Part{say("It is done.")}, 0},
		"behind a failure": {nil, session.Part{Type: session.ToolPart, Tool: "read", CallID: "c", State: &session.ToolState{
			Status: session.Failed, Input: first.State.Input, Error: "no such file"}},
			[]session.Part{read("/work/app/b.go", "package b")}, 0},
		"behind the user": {func(d *made) { d.user("Now b.") }, first, []session.Part{read("/work/app/b.go", "package b")}, 0},
		"behind a fold":   {func(d *made) { d.fold() }, first, []session.Part{read("/work/app/b.go", "package b")}, 0},
		"calls of one answer, apart in the log": {func(d *made) { d.clock -= 3500 }, first,
			[]session.Part{read("/work/app/b.go", "package b")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var d made
			d.user("Look around.")
			d.step(1000, 0, 0, 10, tt.first)
			d.clock += 5000
			if tt.between != nil {
				tt.between(&d)
			}
			d.step(100, 1000, 0, 10, tt.parts...)
			found := findSerial(thrice(t, &d))
			if tt.steps == 0 {
				if len(found) != 0 {
					t.Errorf("found %q", found[0].Title)
				}
				return
			}
			if len(found) != 1 || !strings.HasPrefix(found[0].Title, "3 steps in 3 sessions") {
				t.Fatalf("found %+v", found)
			}
			if f := found[0]; math.Abs(f.Gain-300) > 1e-6 || f.Error != 0 || f.Where != "CLAUDE.md" {
				t.Errorf("gain %g, error %g, for %s", f.Gain, f.Error, f.Where)
			}
		})
	}
}

// A step is held against all steps that it would be asked for with.
func TestFindSerial_aLongRun(t *testing.T) {
	var d made
	d.user("Look around.")
	for i, of := range []string{"a.go", "b.go", "c.go", "d.go"} {
		shows := "package x"
		if i == 1 {
			shows = "see d.go"
		}
		d.step(100, 1000, 0, 10, read("/work/app/"+of, shows))
		d.clock += 5000
	}
	found := findSerial(thrice(t, &d))
	if len(found) != 1 || !strings.HasPrefix(found[0].Title, "6 steps") {
		t.Fatalf("found %+v", found)
	}
	if got := found[0].Evidence[0]; got != "For example: a.go, then b.go." {
		t.Errorf("evidence %q", got)
	}
}

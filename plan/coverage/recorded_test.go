package coverage_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/coverage"
	"github.com/winnowhq/winnow/session"
)

// recorded calls check for every call of recorded sessions, with the folder that it ran in.
func recorded(t *testing.T, paths []string, begin func(format string), check func(p *session.Part, c *call.Call, cwd string)) {
	t.Helper()
	sessions := 0
	for _, path := range paths {
		doc, err := all.Read(outside.Read(t, path))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		sessions++
		begin(doc.Format)
		messages := doc.Session.Messages
		cwd := call.Directory(messages)
		calls := call.Calls(messages)
		for i := range calls {
			m := &messages[calls[i].Message]
			if m.Path != nil && m.Path.Cwd != "" {
				cwd = m.Path.Cwd
			}
			check(&m.Parts[calls[i].Part], &calls[i], cwd)
		}
	}
	if sessions == 0 {
		t.Fatal("no recorded session could be read")
	}
}

// A reader that is told where to begin and how much to show shows that; and what it shows stands in the output.
func TestRecorded_readsShowWhatWasAskedFor(t *testing.T) {
	ranged := 0
	recorded(t, outside.Sessions(t), func(string) {}, func(p *session.Part, c *call.Call, cwd string) {
		s := coverage.Of(p, cwd)
		for _, v := range s.Views {
			if v.Field == coverage.Output && len(v.Lines) > strings.Count(p.State.Output, "\n")+1 {
				t.Errorf("%s: %d lines of an output with %d", p.State.Input, len(v.Lines), strings.Count(p.State.Output, "\n")+1)
			}
		}
		a := call.Parse(p.State.Input)
		if len(s.Views) != 1 || c.Command() != "" || !a.Has("offset") && !a.Has("limit") {
			return
		}
		ranged++
		v := s.Views[0]
		if offset, err := strconv.Atoi(a.Text("offset")); err == nil && v.Start != max(1, offset) {
			t.Errorf("%s %s: begins at line %d", p.Tool, p.State.Input, v.Start)
		}
		if limit, err := strconv.Atoi(a.Text("limit")); err == nil && (len(v.Lines) > limit || v.Full && len(v.Lines) == limit && strings.Contains(p.State.Output, "more lines")) {
			t.Errorf("%s %s: %d lines, full: %v", p.Tool, p.State.Input, len(v.Lines), v.Full)
		}
	})
	if ranged == 0 {
		t.Error("no read with an offset or a limit was recognised")
	}
	t.Logf("%d reads with an offset or a limit", ranged)
}

// A file that was written and then read whole, with nothing between that could have changed it, is the same twice.
func TestRecorded_whatWasWrittenIsRead(t *testing.T) {
	last := map[string]coverage.View{} // the newest whole view of a file that nothing may have changed since
	var writes, reads int
	// In sessions of corpus/dev people and other programs change files between two calls, which no row tells. And how a session goes on that a hook compacted
	// is not known from its rows: a file that it shows again is not the file as it was there.
	paths := slices.DeleteFunc(outside.Spoken(t), func(path string) bool { return filepath.Base(filepath.Dir(path)) == "hook-compacted" })
	recorded(t, paths, func(string) { clear(last) }, func(p *session.Part, c *call.Call, cwd string) {
		s := coverage.Of(p, cwd)
		looks := !slices.ContainsFunc(c.Ran, func(r call.Invocation) bool { return r.Kind != call.Look })
		if !p.State.Final() || c.Command() != "" && len(s.Views) == 0 && !(looks && len(c.Actions) == 1) || slices.ContainsFunc(c.Actions, delegates) {
			clear(last) // a command may change any file, and so may a call that was broken off
		}
		for _, v := range s.Views {
			was, ok := last[v.Path]
			switch {
			case v.Change:
				delete(last, v.Path)
				continue
			case v.Field == coverage.Input:
			case ok && v.Full:
				if diff := cmp.Diff(was.Lines, v.Lines); diff != "" {
					t.Errorf("%s is other than its %s was (%d lines, now %d)", v.Path, was.Field, len(was.Lines), len(v.Lines))
				}
				if was.Field == coverage.Input {
					writes++
				} else {
					reads++
				}
			case ok && v.Start-1+len(v.Lines) <= len(was.Lines):
				// A piece of a file that is as it was has the lines that the whole had there.
				if diff := cmp.Diff(was.Lines[v.Start-1:v.Start-1+len(v.Lines)], v.Lines); diff != "" {
					t.Errorf("lines %d to %d of %s are other than its %s had them", v.Start, v.Start+len(v.Lines)-1, v.Path, was.Field)
				}
				reads++
			}
			if v.Full {
				last[v.Path] = v
			}
		}
	})
	if writes+reads == 0 {
		t.Error("no file was seen whole and then again")
	}
	t.Logf("%d files written and then read whole, %d seen whole and then again", writes, reads)
}

func delegates(a call.Action) bool { return a.Op == call.Delegate }

// Of the calls that read, wrote or edited a file and did not fail, most are understood; which, by product and tool, is in the log of the test.
func TestRecorded_mostCallsAreUnderstood(t *testing.T) {
	type tally struct{ Calls, Understood, Full int }
	tallies := map[string]*tally{}
	product := ""
	// The words by which a product says that a call worked must be its own.
	recorded(t, outside.Spoken(t), func(format string) { product = format }, func(p *session.Part, c *call.Call, cwd string) {
		i := slices.IndexFunc(c.Actions, func(a call.Action) bool {
			return a.Path != "" && (a.Op == call.Read || a.Op == call.Create || a.Op == call.Edit)
		})
		if i < 0 || c.Outcome.Failed || p.State.Status != session.Completed {
			return
		}
		name := fmt.Sprintf("%s %s %s", product, p.Tool, c.Actions[i].Op)
		if tallies[name] == nil {
			tallies[name] = &tally{}
		}
		s := coverage.Of(p, cwd)
		tallies[name].Calls++
		if len(s.Views) > 0 {
			tallies[name].Understood++
		}
		if slices.ContainsFunc(s.Views, func(v coverage.View) bool { return v.Full }) {
			tallies[name].Full++
		}
	})
	var names []string
	for name := range tallies {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		n := tallies[name]
		t.Logf("%-32s %4d calls, %4d understood, %4d of them whole files", name, n.Calls, n.Understood, n.Full)
	}
	for name, least := range map[string]float64{"claude-code Write create": 1, "claude-code Edit edit": 1, "opencode read read": 1, "pi read read": 0.95, "pi edit edit": 1, "codex exec_command read": 0.9} {
		if n := tallies[name]; n == nil || float64(n.Understood) < least*float64(n.Calls) {
			t.Errorf("%s: understood %+v, want at least %.0f %%", name, n, 100*least)
		}
	}
}

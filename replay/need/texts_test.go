package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/replay"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/schedule"
	"github.com/winnowhq/winnow/session"
)

// file is one of twelve lines, each of them told apart.
var file = func() string {
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, "the line number %d says something of its own about subject %d\n", i, i*i)
	}
	return b.String()
}()

// steps is a session of answers that make one call each, "" for one that says something.
func steps(calls ...[3]string) session.Session {
	s := session.Session{Messages: []session.Message{{MessageInfo: session.MessageInfo{Role: session.User}, Parts: []session.Part{{Type: session.TextPart, Text: "go on"}}}}}
	for _, c := range calls {
		p := session.Part{Type: session.TextPart, Text: "hm"}
		if c[0] != "" {
			p = session.Part{Type: session.ToolPart, Tool: c[0], CallID: "c", State: &session.ToolState{Status: session.Completed, Input: jsontext.Value(c[1]), Output: c[2]}}
		}
		s.Messages = append(s.Messages, session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant}, Parts: []session.Part{p}})
	}
	return s
}

func quoted(t *testing.T) *texts {
	t.Helper()
	none := [3]string{}
	third := "the line number 3 says something of its own about subject 9"
	s := steps(
		[3]string{"read", `{"filePath":"/r/a.go"}`, file}, none, none,
		[3]string{"edit", `{"filePath":"/r/a.go","oldString":"` + third + `","newString":"x"}`, "ok"}, none, none,
		[3]string{"read", `{"filePath":"/r/a.go"}`, strings.Replace(file, third, "x", 1)}, none,
		[3]string{"read", `{"filePath":"/r/a.go"}`, strings.Replace(file, third, "x", 1)}, none,
	)
	return newTexts(replay.NewTrace(s, model.Model{}, counter))
}

func TestTexts_followAnOutput(t *testing.T) {
	x := quoted(t)
	output := func(step int) *text {
		return x.all[slices.IndexFunc(x.all, func(t *text) bool { return t.made == step && !t.input })]
	}
	first := output(0)
	if first.op != call.Read || first.tokens < 100 {
		t.Fatalf("the first output is of %s with %d tokens", first.op, first.tokens)
	}
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"quoted at", first.quoted, []int{3}}, {"needed at", first.needed, []int{3}}, {"file changed at", first.edited, []int{3}},
		{"read again at", first.read, []int{6, 8}}, {"the second, the same as the third, covered from", output(6).covered, 8},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
	for _, c := range []struct{ now, idle, refs, edited, read int }{
		{0, 0, 0, never, never}, {2, 2, 0, never, never}, {3, 0, 1, 0, never}, {5, 2, 1, 2, never}, {7, 4, 1, 4, 1},
	} {
		l := x.at(first, c.now)
		if l.idle != c.idle || l.refs != c.refs || l.edited != c.edited || l.read != c.read {
			t.Errorf("after step %d: idle %d, quoted %d, edited %d, read %d; want %+v", c.now, l.idle, l.refs, l.edited, l.read, c)
		}
	}
}

func TestExamples_countEachLaterStepOnce(t *testing.T) {
	x := quoted(t)
	looks, needs := count(x.examples(len(features)))
	want := 0
	for _, text := range x.all {
		want += x.steps - 1 - text.made
	}
	if int(looks) != want || needs != 1 {
		t.Errorf("%v looks and %v needs, want %d and 1", looks, needs, want)
	}
}

func TestChosen_simpleIsTheRuleInUse(t *testing.T) {
	terms := replay.Reference()
	for seed := range uint64(3) {
		trace := replay.NewTrace(workday.Make(seed, 80), model.Model{}, counter)
		var bills []replay.Bill
		for _, idle := range []rule.Rule{&rule.Idle{Outputs: 10, Inputs: 20, Least: least}, newChosen(newTexts(trace), simple(10, 20))} {
			o, err := replay.Run(context.Background(), trace, setup(idle, schedule.DefaultGain), replay.Options{Terms: &terms})
			if err != nil {
				t.Fatal(err)
			}
			if o.Elided == 0 {
				t.Fatal("nothing went")
			}
			bills = append(bills, o.Bill)
		}
		if diff := cmp.Diff(bills[0], bills[1]); diff != "" {
			t.Errorf("session %d (-rule +choice):\n%s", seed, diff)
		}
	}
}

package lab

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
)

// What a step took from an output is a row of six of its words, the old text of an edit, or a name
// that stood there first; each is told by the line where it begins.
func TestOutputs_whatLaterStepsTook(t *testing.T) {
	one, two, three := words("a", 9), words("b", 9), words("c", 9)
	edit := session.Part{Type: session.ToolPart, Tool: "edit", CallID: "e", State: &session.ToolState{Status: session.Completed,
		Input: jsontext.Value(`{"filePath":"/x/y.go","oldString":"short text","newString":"other"}`)}}
	running := looks("later", "")
	running.State.Status = session.Running
	var y toy
	y.user(0, "go")
	y.step(0, looks("first", one+"\n"+two))
	y.step(0, say("Here is "+from(two, 2, 6)+" again"), looks("second", three), looks("third", "x\nshort text\n"))
	y.step(0, looks("fourth", "see lib/named.go there"), looks("fifth", "again lib/named.go"))
	y.step(0, edit, looks("lib/named.go", "done and done with it all"), running)
	got := y.trace().Outputs()
	want := []Taken{
		{Message: 1, Part: 0, Tokens: 18, Lines: []int{1}},
		{Message: 2, Part: 1, Tokens: 9},
		{Message: 2, Part: 2, Tokens: 3, Lines: []int{1}},
		{Message: 3, Part: 0, Tokens: 3, Lines: []int{0}},
		{Message: 3, Part: 1, Tokens: 2},
		{Message: 4, Part: 0},
		{Message: 4, Part: 1, Tokens: 6},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Positions are those of the session, whatever a trace drops of it: a fold, a part that nobody sends.
func TestOutputs_positionsAreThoseOfTheSession(t *testing.T) {
	var y toy
	y.user(0, "go")
	y.add(session.Message{MessageInfo: session.MessageInfo{Role: session.User}}, session.Part{Type: session.CompactionPart})
	y.step(0, session.Part{Type: session.StepStartPart}, say("I look."), looks("first", "seen"))
	got := y.trace().Outputs()
	if len(got) != 1 || got[0].Message != 2 || got[0].Part != 2 {
		t.Errorf("%+v", got)
	}
}

package tools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/coverage"
	"github.com/winnowhq/winnow/session"
)

func numbers(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%d\n", i)
	}
	return b.String()
}

func TestShape_ofAFileShowsNoMoreThanItDoes(t *testing.T) {
	output := agent.Shape(numbers(1, 3000), agent.Limits{}, func() string { return agent.Less })
	p := &session.Part{Type: session.ToolPart, Tool: "bash",
		State: &session.ToolState{Status: session.Completed, Input: []byte(`{"command":"cat a.txt"}`), Output: output,
			Metadata: []byte(`{"exit":0}`)}}
	c := call.Of(p, "/repo")
	s := coverage.OfCall(p, &c, "/repo")
	if len(s.Views) != 1 || s.Views[0].Full || s.Views[0].End || s.Views[0].Start != 1 || len(s.Views[0].Lines) > 200 ||
		s.OutputIsViews {
		t.Errorf("got %+v, want the beginning of the file", s)
	}
}

package transcript

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
	"github.com/winnowhq/winnow/session"
)

// A call, whatever its tool, its arguments and its result are, takes lines that fit.
func FuzzCall(f *testing.F) {
	for _, seed := range [][5]string{
		{"read", `{"filePath":"src/a.go"}`, `{"lines":120,"total":120}`, "x", "a.go"},
		{"edit", `{"filePath":"a","oldString":"x","newString":"y"}`, `{"diff":"@@ -1 +1 @@\n-x\n+y\n","added":1}`,
			"done", ""},
		{"bash", `{"command":"go test"}`, `{"exit":1,"timedOut":true}`, "FAIL\x1b[31m\n\r\x00", "go test"},
		{"x\x1b[2J", `[`, `{"diff":5,"lines":"many"}`, "\xff", "\u202e"}, {"", "", "", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4], uint8(40), uint8(1))
	}
	f.Fuzz(func(t *testing.T, tool, input, metadata, output, title string, width, status uint8) {
		wide := int(width)%120 + 20
		tr := New(draw.NewStyle(false))
		tr.Resize(wide, 20)
		p := session.Part{Type: session.ToolPart, CallID: "c", Tool: tool, State: &session.ToolState{
			Status: []session.Status{session.Completed, session.Failed, session.Running, session.Pending}[status%4],
			Input:  jsontext.Value(input), Metadata: jsontext.Value(metadata), Output: output, Error: output,
			Title: title}}
		m := session.Message{MessageInfo: session.MessageInfo{ID: "m", Role: session.Assistant},
			Parts: []session.Part{p, {Type: session.ReasoningPart, Text: output},
				{Type: session.TextPart, Text: title}}}
		for _, open := range []bool{false, true} {
			lines, _ := tr.layCall(&p, open)
			if !open && len(lines) == 0 {
				t.Error("a call is not shown")
			}
			for _, line := range append(lines, tr.layMessage(&item{message: &m}, open)...) {
				drawtest.Line(t, line, wide, output)
			}
		}
	})
}

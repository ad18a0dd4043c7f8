package rule

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
)

// A path that a call names is protected by its name, wherever its tool puts it.
func TestPaths_ofSeveralFilesAtOnce(t *testing.T) {
	for input, want := range map[string][]string{
		`{"path":"a.go"}`: {"a.go"},
		`{"files":[{"path":"a.go"},{"path":"b.go"}]}`: {"a.go", "b.go"},
		`{"files":["a.go"]}`:                          nil,
		`{"files":[{"path":7},{"start_line":1}]}`:     {"7"},
		`{"files":[],"file_path":"c.go"}`:             {"c.go"},
	} {
		p := session.Part{Type: session.ToolPart, State: &session.ToolState{Input: jsontext.Value(input)}}
		if diff := cmp.Diff(want, Paths(&p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", input, diff)
		}
	}
}

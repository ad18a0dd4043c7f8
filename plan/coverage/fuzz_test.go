package coverage

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/call"
)

func FuzzOf(f *testing.F) {
	for _, seed := range [][3]string{
		{"Read", `{"file_path":"/a","offset":2,"limit":3}`, "     2→x\n     3→y\n\n<system-reminder>z</system-reminder>"},
		{"read", `{"filePath":"/a"}`, "<path>/a</path>\n<type>file</type>\n<content>\n1: x\n\n(End of file - total 1 lines)\n</content>"},
		{"read", `{"path":"a","limit":2}`, "x\n\n[7 more lines in file. Use offset=3 to continue]"},
		{"Edit", `{"file_path":"/a","old_string":"x","new_string":"y"}`, "The file /a has been updated. `cat -n`:\n     1\tx\n"},
		{"Write", `{"file_path":"/a","content":"x\ny"}`, "ok"},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Add File: b\n+x\n*** Update File: c\n@@\n-x\n*** End Patch"}`, "Success"},
		{"exec_command", `{"cmd":"nl -ba a | sed -n '1,9p'"}`, "Exit code: 0\nOutput:\n     1\tx\n     2\ty…9 tokens truncated…z\n     7\tx\n     8\ty\n"},
		{"shell", `{"command":["bash","-lc","sed -n '1,2p;5,9p' a"]}`, `{"output":"x\ny\n","metadata":{"exit_code":0}}`},
		{"bash", `{"command":"open a"}`, "[File: /a (1 lines total)]\n1:x\n"},
		{"str_replace_editor", `{"command":"view","path":"/a","view_range":[1,-1]}`, "`cat -n`\n     1\tx\n"},
		{"read_file", `{"file_path":"/a"}`, "--- FILE CONTENT (truncated) ---\nx"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, tool, input, output string) {
		s := Of(finished(tool, input, output), "/repo")
		shows := false
		for _, v := range s.Views {
			text := output
			if v.Field == Input {
				text = input
			} else {
				shows = true
			}
			switch {
			case v.Path == "" || v.Start < 1:
				t.Fatalf("a view of %q from line %d", v.Path, v.Start)
			case v.Change:
				if len(v.Lines) > 0 || v.Full || v.End {
					t.Fatalf("a change that shows lines: %+v", v)
				}
				continue
			case len(v.Lines) == 0:
				t.Fatalf("a view without lines: %+v", v)
			case v.Full && (v.Start != 1 || !v.End):
				t.Fatalf("a full view from %d, to the end: %v", v.Start, v.End)
			}
			// In the arguments a newline is written as two characters, or as six.
			most := strings.Count(text, "\n") + strings.Count(text, `\n`) + strings.Count(strings.ToLower(text), `\u000a`) + 1
			if len(v.Lines) > most {
				t.Fatalf("%d lines of a %s that has %d: %q", len(v.Lines), v.Field, most, text)
			}
			if !Covered(v, v) {
				t.Fatalf("a view that does not cover itself: %+v", v)
			}
		}
		if s.OutputIsViews && !shows {
			t.Fatalf("an output that is nothing but views has none: %+v", s.Views)
		}
		if c := call.Of(finished(tool, input, output), "/repo"); c.Outcome.Failed && len(s.Views) > 0 {
			t.Fatalf("a call that failed shows %+v", s.Views)
		}
	})
}

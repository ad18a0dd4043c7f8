package call

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
)

func TestSteps_areTheCommandsInTheirOrder(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Step
	}{
		{"cat a", []Step{{Words: []string{"cat", "a"}, Alone: true}}},
		{"cd /repo && cat 'a b' 2>/dev/null | head -n 3", []Step{{Words: []string{"cd", "/repo"}, After: "&&", Alone: true}, {Words: []string{"cat", "a b"}, After: "|", Alone: true}, {Words: []string{"head", "-n", "3"}, Alone: true}}},
		{"cat a > b; ls *", []Step{{Words: []string{"cat", "a"}, Writes: true, After: ";"}, {Words: []string{"ls", "*"}, Alone: true, Looks: true}}},
		{"cat a >> b &", []Step{{Words: []string{"cat", "a"}, Writes: true, After: "&"}}},
		{"bash -lc \"cat a\"", []Step{{Words: []string{"cat", "a"}}}},
		{"bash -lc \"cat a\" > b", []Step{{Words: []string{"bash", "-lc", "cat a"}, Writes: true, Part: true}, {Words: []string{"cat", "a"}}}},
		{"for i in 1 2; do cat a; done", []Step{{Words: []string{"cat", "a"}, After: ";", Part: true}}},
		{"! cat $(ls)", []Step{{Words: []string{"ls"}, Alone: false, Part: true}, {Words: []string{"cat", "$(ls)"}, Looks: true, Part: true}}},
		{"  ", []Step{}},
		{"cat a; 'open", nil},
	} {
		if diff := cmp.Diff(c.want, Steps(c.text)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.text, diff)
		}
	}
}

func TestOf_isOneCallByItself(t *testing.T) {
	l := (&logOf{}).call("mcp__files__Read_File", args{"path": "b/../a.go"}, "package a").run("cat a.go", "no", 2).call("Edit", args{"file_path": "/repo/a.go"}, "!no such text")
	want := []struct {
		path   string
		failed bool
	}{{"/repo/a.go", false}, {"/repo/a.go", true}, {"/repo/a.go", true}}
	for i, m := range l.messages {
		c := Of(&m.Parts[0], "/repo")
		if got := c.Actions[len(c.Actions)-1].Path; got != want[i].path || c.Outcome.Failed != want[i].failed {
			t.Errorf("%s: %q, failed: %v, want %q, %v", m.Parts[0].Tool, got, c.Outcome.Failed, want[i].path, want[i].failed)
		}
	}
	if c := Of(&session.Part{Type: session.TextPart}, ""); c.Actions != nil || c.Outcome.Known {
		t.Errorf("a text is the call %+v", c)
	}
}

// Bytes that are no UTF-8 take more room in small letters, so that places in the two texts differ.
func TestOf_findsTheExitStatusBehindBytesThatAreNoText(t *testing.T) {
	l := (&logOf{}).call("bash", args{"command": "make"}, "\xa4\xcd\xfa\xc5\x15\xd6\xff\xff exit code: 2")
	if c := Of(&l.messages[0].Parts[0], ""); c.Outcome.Exit != 2 {
		t.Errorf("exit status %d, want 2", c.Outcome.Exit)
	}
}

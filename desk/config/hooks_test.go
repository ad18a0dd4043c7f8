package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHooks_programsAreFoundFromTheFileThatNamesThem(t *testing.T) {
	file := write(t, `{"hooks": {"session.compacting": ["hooks/notes.sh", "a b"], "session.compacted": ["notify"], "elision.committed": ["/bin/x"], "timeout": 3}}`)
	l, err := Load(Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	want := Hooks{Compacting: []string{filepath.Join(filepath.Dir(file), "hooks", "notes.sh"), "a b"}, Compacted: []string{"notify"}, Elided: []string{"/bin/x"}, Timeout: 3}
	if diff := cmp.Diff(want, l.Settings.Hooks); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	if got := l.Origins["hooks.session.compacting"]; got != file {
		t.Errorf("it comes from %s", got)
	}
	_, values, err := l.Values()
	if err != nil || string(values["hooks.elision.committed"]) != `["/bin/x"]` {
		t.Errorf("%v: %s", err, values["hooks.elision.committed"])
	}
}

func TestHooks_ofAProjectAreNotAccepted(t *testing.T) {
	for _, key := range []string{"hooks.session.compacting", "hooks.session.compacted", "hooks.elision.committed", "hooks.timeout"} {
		value := `["./evil.sh"]`
		if key == "hooks.timeout" {
			value = "1"
		}
		s := folders(t, `{"hooks": {"session.compacted": ["mine"]}}`, string(nested(key, []byte(value))))
		l, err := Load(s)
		if err != nil {
			t.Fatal(err)
		}
		own := Default().Hooks
		own.Compacted = []string{"mine"}
		if diff := cmp.Diff(own, l.Settings.Hooks); diff != "" {
			t.Errorf("%s: hooks (-want +got):\n%s", key, diff)
		}
		if len(l.Ignored) != 1 || l.Ignored[0].Key != key || l.Ignored[0].Line != 1 {
			t.Errorf("%s: ignored is %+v", key, l.Ignored)
		}
		if err := ProjectMay(key, value, l.Settings); err == nil {
			t.Errorf("%s may be set with --project", key)
		}
	}
}

func TestHooks_areSetLikeOtherLists(t *testing.T) {
	file := write(t, "{\n  // mine\n  \"policy\": \"balanced\"\n}\n")
	for key, value := range map[string]string{"hooks.session.compacting": `["python3", "notes.py"]`, "hooks.elision.committed": "log.sh", "hooks.timeout": "30"} {
		if err := Set(file, key, value); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Load(Sources{File: file, Environ: []string{`WINNOW_HOOKS_SESSION_COMPACTED=["/opt/notify", "x,y"]`}})
	if err != nil {
		t.Fatal(err)
	}
	want := Hooks{Compacting: []string{"python3", "notes.py"}, Compacted: []string{"/opt/notify", "x,y"}, Elided: []string{"log.sh"}, Timeout: 30}
	if diff := cmp.Diff(want, l.Settings.Hooks); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	if text, _ := os.ReadFile(file); !strings.Contains(string(text), `"session.compacting": ["python3", "notes.py"]`) || !strings.Contains(string(text), "// mine") {
		t.Errorf("the file is:\n%s", text)
	}
}

func TestHooks_mistakesAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		file, environ, want string
	}{
		"unknown hook":           {file: `{"hooks": {"session.compactin": ["x"]}}`, want: `did you mean "hooks.session.compacting"?`},
		"one text":               {file: `{"hooks": {"session.compacting": "notes.sh -x"}}`, want: "hooks.session.compacting: it must be a list of texts, not a text"},
		"no program":             {file: `{"hooks": {"session.compacting": [" "]}}`, want: "the program is missing"},
		"no time":                {file: `{"hooks": {"timeout": 0}}`, want: "hooks.timeout: 0: give 1 to 3600 seconds"},
		"relative, from nowhere": {environ: `WINNOW_HOOKS_SESSION_COMPACTED=["./x"]`, want: "depends on the current folder"},
		"relative upwards":       {environ: `WINNOW_HOOKS_SESSION_COMPACTED=["../x"]`, want: "depends on the current folder"},
	} {
		s := Sources{File: write(t, test.file+"{}"[min(2, len(test.file)*2):]), Environ: []string{test.environ}}
		if _, err := Load(s); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q in it", name, err, test.want)
		}
	}
}

// What winnow itself sets for the commands that it runs is no setting, and no mistake.
func TestLoad_withinACommandOfAnAgentOrAHook(t *testing.T) {
	if _, err := Load(Sources{Environ: []string{"WINNOW_HOOK=session.compacted", "WINNOW_COMMAND=a b"}}); err != nil {
		t.Error(err)
	}
}

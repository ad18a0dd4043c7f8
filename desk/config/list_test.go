package config

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/settings"
)

func TestLoad_defaultsOfProtectedListsStayUnlessTheyAreNamed(t *testing.T) {
	s := folders(t, `{"compaction": {"protectedPaths": ["mine/**", "!**/.env*", "!nowhere"], "protectedTools": []}}`,
		`{"compaction": {"protectedPaths": ["theirs/**", "mine/**", "!**/CLAUDE.md"], "protectedTools": ["todo"]}}`)
	s.Environ = []string{"WINNOW_COMPACTION_PROTECTED_PATHS=here/**,!mine/**", "WINNOW_COMPACTION_PROTECTED_TOOLS=!skill"}
	l, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	want := settings.Protected{"**/AGENTS.md", "**/CLAUDE.md", "theirs/**", "here/**"}
	if diff := cmp.Diff(want, l.Settings.Compaction.ProtectedPaths); diff != "" {
		t.Errorf("protected paths (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(settings.Protected{"todo"}, l.Settings.Compaction.ProtectedTools); diff != "" {
		t.Errorf("protected tools (-want +got):\n%s", diff)
	}
	if len(l.Ignored) != 1 || !strings.Contains(l.Ignored[0].Reason, "not less") {
		t.Errorf("of the project's file is ignored %+v", l.Ignored)
	}
	if d := Default().Compaction.ProtectedPaths; len(d) != 3 {
		t.Errorf("the defaults are %v now", d)
	}
}

// A change that would stop every command is taken back: of a file that was there, and of one that was
// not. What was broken before is not held against a change.
func TestKeep_takesBackWhatStopsEveryCommand(t *testing.T) {
	long := "{\n// " + strings.Repeat("x", mostBytes-60) + "\n\"policy\": \"classic\"\n}\n"
	s := folders(t, long, "")
	set := func(s Sources, file, key, value string) error {
		return s.Keep(file, func() error { return Set(file, key, value) })
	}
	err := set(s, s.Own(), "model", "p/"+strings.Repeat("m", 80))
	if text, _ := os.ReadFile(s.Own()); err == nil || !strings.Contains(err.Error(), "taken back") || string(text) != long {
		t.Errorf("the file has %d bytes of %d: %v", len(text), len(long), err)
	}
	if err := set(s, s.Own(), "policy", "balanced"); err != nil {
		t.Error(err)
	}
	s = folders(t, "", "")
	if err := set(s, s.Own(), "titles", "anthropic/m"); err != nil {
		t.Error(err)
	}
	s.Environ = []string{"WINNOW_COMPACTION_KEEP=much"}
	if err := set(s, s.Own(), "policy", "classic"); err != nil {
		t.Error(err)
	}
}

func TestAdd_keepsTheRestOfTheListAndItsComments(t *testing.T) {
	file := write(t, `{
	"compaction": {
		"protectedPaths": [
			"docs/**", // the contract
			"!**/.env*",
		],
	},
}
`)
	added, err := Add(file, "compaction.protectedPaths", "a/{b,c}.go", "docs/**", "**/AGENTS.md", "**/.env*")
	if diff := cmp.Diff([]string{"a/{b,c}.go", "**/.env*"}, added); diff != "" || err != nil {
		t.Errorf("added (-want +got): %s\n%v", diff, err)
	}
	removed, err := Remove(file, "compaction.protectedPaths", true, "docs/**", "**/CLAUDE.md", "**/CLAUDE.md", "nothing")
	if diff := cmp.Diff([]string{"docs/**", "**/CLAUDE.md"}, removed); diff != "" || err != nil {
		t.Errorf("removed (-want +got): %s\n%v", diff, err)
	}
	if removed, err := Remove(file, "compaction.protectedPaths", false, "**/AGENTS.md"); err != nil || len(removed) > 0 {
		t.Errorf("a default was removed: %v, %v", removed, err)
	}
	l, err := Load(Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	want := settings.Protected{"**/.env*", "**/AGENTS.md", "a/{b,c}.go"}
	if diff := cmp.Diff(want, l.Settings.Compaction.ProtectedPaths); diff != "" {
		t.Errorf("protected paths (-want +got):\n%s", diff)
	}

	if added, err := Add(file, "permissions", `{"action": "run", "target": "go test", "verdict": "allow"}`); err != nil || len(added) != 1 {
		t.Fatal(added, err)
	}
	if added, err := Add(file, "permissions", `{"verdict":"allow","target":"go test","action":"run"}`); err != nil || len(added) != 0 {
		t.Errorf("a rule that was there was added: %v, %v", added, err)
	}
	if removed, err := Remove(file, "permissions", true, `{"verdict":"allow","target":"go test","action":"run"}`); err != nil || len(removed) != 1 {
		t.Errorf("the rule was not removed: %v, %v", removed, err)
	}
	if added, err := Add(file, "gateway.tools.drop", "mcp__a__*", "Bash"); err != nil || len(added) != 2 {
		t.Errorf("tools to drop: %v, %v", added, err)
	}
}

func TestAdd_refusesWhatIsNoListAndWhatLoadWouldRefuse(t *testing.T) {
	text := `{"compaction": {"protect": 5}}`
	file := write(t, text)
	for key, value := range map[string]string{"compaction.protect": "6", "compaction.protectedPath": "a", "compaction.protectedPaths": "[",
		"hooks.session.compacting": "x", "permissions": "go test", "providers": "x", "gateway.upstreams.x": "y"} {
		var e *Error
		if _, err := Add(file, key, value); !errors.As(err, &e) {
			t.Errorf("%s: the error is %v", key, err)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != text {
		t.Errorf("the file holds %s, %v", data, err)
	}
}

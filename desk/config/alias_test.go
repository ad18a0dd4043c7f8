package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/policy"
)

// The names that S002 and earlier versions give a switch mean the same as its own name, wherever it
// is set.
func TestAlias_everySwitchIsTakenByItsOtherName(t *testing.T) {
	for _, s := range policy.All() {
		t.Run(s.Name, func(t *testing.T) {
			key, file := "strategies.balancedPruning."+s.Name, filepath.Join(t.TempDir(), Name)
			now := func(environ ...string) string {
				t.Helper()
				l, err := Load(Sources{File: file, Environ: environ})
				if err != nil {
					t.Fatal(err)
				}
				_, values, err := l.Values()
				if err != nil {
					t.Fatal(err)
				}
				if l.Origins[key] == "" {
					t.Errorf("%s was not set", key)
				}
				return string(values[key])
			}
			for _, set := range []string{"true", "false"} {
				text := `{"strategies": {"balancedPruning": {"` + s.Alias + `": ` + set + `}}} // mine` + "\n"
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if got := now(); got != set {
					t.Errorf("in a file: %s, want %s", got, set)
				}
			}
			if got := now(Variable("strategies.balancedPruning."+s.Alias) + "=true"); got != "true" {
				t.Errorf("as a variable: %s, want true", got)
			}
			for _, by := range []string{s.Alias, s.Name} { // the file has it under its other name
				if err := Set(file, "strategies.balancedPruning."+by, "true"); err != nil {
					t.Fatal(err)
				}
				if got := now(); got != "true" {
					t.Errorf("set by the name %s: %s, want true", by, got)
				}
			}
			if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), ": true") != 1 {
				t.Errorf("the file has it twice: %s, %v", text, err)
			}
		})
	}
}

func TestAlias_aMistakeIsShownWhereItIs(t *testing.T) {
	text := `{"strategies": {"balancedPruning": {"pruneToolInputs": false, "pruneTodos": 7}}}`
	file := filepath.Join(t.TempDir(), Name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(Sources{File: file})
	want := file + ":1:77: strategies.balancedPruning.todos: it must be true or false, not this number"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

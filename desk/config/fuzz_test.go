package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// What a file says is settings that are valid, or an error that says where in the file; and a key that is then written into the file changes nothing else that it says.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"{}", "", "null", "[]", "{\"policy\":\"classic\"} // as it was\n", `{"compaction":{"threshold":{"window":"80%"},"protect":1,"protect":2,},}`, "{\"compaction\":\n{\"protect\":\"x\"}}",
		`{"permissions":[{"action":"run","target":"rm","verdict":"deny"}]}`, `{"providers":{"a.b":{"baseURL":"http://x","protocol":"openai"}}}`, `{"models":{"a/{b,c}*":{"limit":{"context":1}}}}`,
		`{"agent":{"model":"a/b"},"compaction":{"userMessages":-1}}`, "\xef\xbb\xbf{}", "{\"policy\":\"\xff\"}", `{"strategies":{"balancedPruning":{"quietSteps":1e9}}}`,
	} {
		f.Add([]byte(seed), "compaction.protect", "2000")
		f.Add([]byte(seed), "policy", "classic")
	}
	f.Fuzz(func(t *testing.T, data []byte, key, value string) {
		dir := t.TempDir()
		file := filepath.Join(dir, "own.jsonc")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := Load(Sources{File: file})
		if err != nil {
			located(t, data, err)
			return
		}
		if err := before.Settings.Validate(); err != nil {
			t.Errorf("what was loaded is not valid: %v", err)
		}
		if Set(file, key, value) != nil {
			if now, _ := os.ReadFile(file); !bytes.Equal(now, data) {
				t.Errorf("%s was not set to %q, and the file is another one:\n%s", key, value, now)
			}
			return
		}
		after, err := Load(Sources{File: file})
		if err != nil {
			t.Fatalf("with %s set to %q the file is not read: %v", key, value, err)
		}
		// Setting the same again changes nothing, and what else was set is as it was.
		first, _ := os.ReadFile(file)
		if err := Set(file, key, value); err != nil {
			t.Fatalf("%s is not set to %q again: %v", key, value, err)
		}
		if second, _ := os.ReadFile(file); !bytes.Equal(first, second) {
			t.Errorf("set twice it is\n%s\nand once\n%s", second, first)
		}
		if diff := cmp.Diff(without(t, before, key), without(t, after, key)); diff != "" {
			t.Errorf("setting %s to %q changed more (-before +after):\n%s", key, value, diff)
		}
	})
}

// located wants each error to name a place that is in the file.
func located(t *testing.T, data []byte, err error) {
	t.Helper()
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			located(t, data, one)
		}
		return
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Error() == "" {
		t.Fatalf("the error %v says no place", err)
	}
	if lines := bytes.Count(data, []byte("\n")) + 1; e.Line < 0 || e.Column < 0 || e.Line > lines {
		t.Errorf("line %d, column %d of a file of %d lines: %v", e.Line, e.Column, lines, err)
	}
}

// without are the settings as JSON by key, but for one key and what is in it or around it.
func without(t *testing.T, l Loaded, key string) map[string]string {
	t.Helper()
	_, values, err := l.Values()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for k, v := range values {
		if k != key && !(len(key) > len(k) && key[:len(k)+1] == k+".") && !(len(k) > len(key) && k[:len(key)+1] == key+".") {
			all[k] = string(v)
		}
	}
	return all
}

// A variable of the environment sets its own key, or is an error; whatever it holds, the others stay as they are.
func FuzzEnvironment(f *testing.F) {
	for _, key := range Keys() {
		f.Add(Variable(key), "1")
	}
	for _, pair := range [][2]string{{"WINNOW_", "x"}, {"WINNOW_COMPACTION_AUTO", "maybe"}, {"OPENCODE_DISABLE_PRUNE", "TRUE"}, {"WINNOW_MODELS", `{"a/*":{"limit":{"context":1}}}`}, {"WINNOW_PERMISSIONS", "["}} {
		f.Add(pair[0], pair[1])
	}
	plain, err := Load(Sources{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		l, err := Load(Sources{Environ: []string{name + "=" + value}})
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok && l.Origins == nil {
				t.Errorf("%s=%q: %v", name, value, err)
			}
			return
		}
		if len(l.Origins) > 1 {
			t.Errorf("%s=%q sets %v", name, value, l.Origins)
		}
		own := ""
		for key := range l.Origins {
			own = key
		}
		if diff := cmp.Diff(without(t, plain, own), without(t, l, own)); diff != "" {
			t.Errorf("%s=%q changed more than %q (-before +after):\n%s", name, value, own, diff)
		}
		if _, err := json.Marshal(l.Settings); err != nil {
			t.Errorf("%s=%q: the settings cannot be shown: %v", name, value, err)
		}
	})
}

package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// riddle is a clause in place of a noun, and other wordings of a translation.
var riddle = regexp.MustCompile(`^(what|where|when|how|who|of|which|that|or|all|something)\b|\b(what|are had|beside|may ask)\b`)

func TestDescribe_everyKeyHasALine(t *testing.T) {
	known := map[string]bool{}
	for _, key := range Keys() {
		known[key] = true
		switch text := Describe(key); {
		case text == "":
			t.Errorf("%s is not described: descriptions.txt", key)
		case strings.HasSuffix(text, "."):
			t.Errorf("%s ends with a full stop: %q", key, text)
		case riddle.MatchString(text):
			t.Errorf("%s has a clause in place of a noun: %q", key, text)
		}
	}
	for line := range strings.Lines(descriptions) {
		if name, _, ok := strings.Cut(line, " "); ok && name != "#" && !known[name] {
			t.Errorf("%s is described and unknown", name)
		}
	}
	if got := Describe("providers.house.baseURL"); got != Describe("providers") {
		t.Errorf("a member is described as %q", got)
	}
	if got := Describe("compaction.kep"); got != "" {
		t.Errorf("an unknown key is described: %q", got)
	}
}

func TestUnset_removesTheKeyAndKeepsTheRest(t *testing.T) {
	for _, c := range []struct{ name, before, key, after string }{
		{"a member among others", "{\n\t// mine\n\t\"policy\": \"classic\", // why\n\t\"counter\": \"linear\"\n}\n", "policy", "{\n\t\"counter\": \"linear\"\n}\n"},
		{"an empty group goes too", "{\"compaction\": {\"keep\": 5000}, \"counter\": \"linear\"}\n", "compaction.keep", "{\"counter\": \"linear\"}\n"},
		{"an entry of a map", "{\"gateway\": {\"upstreams\": {\"house\": \"http://127.0.0.1:1\", \"b\": \"http://127.0.0.1:2\"}}}\n", "gateway.upstreams.house", "{\"gateway\": {\"upstreams\": {\"b\": \"http://127.0.0.1:2\"}}}\n"},
	} {
		file := filepath.Join(t.TempDir(), Name)
		if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
			t.Fatal(err)
		}
		was, err := Unset(file, c.key)
		after, _ := os.ReadFile(file)
		if err != nil || !was || string(after) != c.after {
			t.Errorf("%s: %v %v\n got %q\nwant %q", c.name, was, err, after, c.after)
		}
		if was, err := Unset(file, c.key); was || err != nil {
			t.Errorf("%s, again: %v %v", c.name, was, err)
		}
	}
	if was, err := Unset(filepath.Join(t.TempDir(), Name), "policy"); was || err != nil {
		t.Errorf("without a file: %v %v", was, err)
	}
	if _, err := Unset(filepath.Join(t.TempDir(), Name), "polcy"); err == nil {
		t.Error("an unknown key is taken")
	}
}
